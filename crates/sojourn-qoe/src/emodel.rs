//! The E-model: impairments by delay and loss, and the opinion score of a rating.
//!
//! Implements ITU-T G.107 (narrow band): the delay impairment Idd, the effective equipment impairment Ie-eff with burst
//! ratio, and the R/MOS curve of Annex B; G.113's provisional planning values of codecs. Source: ITU-T G.107 (06/2015),
//! §7.4 and §7.5; G.113 Appendix I.
//!
//! Differences: MOS is clamped to [1, 4.5] (the printed cubic dips to 0.989 below R = 6.5). Transcendental functions
//! are those of the `libm` crate, so that a score is the same number on every machine, in Python and in a page.

/// Rating of a connection with all of G.107's defaults, from which a call's score starts.
pub const R_DEFAULT: f64 = 93.206_207_723_275_71;

/// Equipment impairment of a codec: without loss, in R units, and its robustness against loss, in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Ie.
    pub ie: f64,
    /// Bpl.
    pub bpl: f64,
}

/// Codecs by name. The measured PESQ of concealed G.711 is far below the parametric value from 3 % of loss on (Bpl
/// belongs to 10 ms packets), so that the two models must not be mixed in one figure.
pub const CODECS: [(&str, Plan); 5] = [
    ("g711", Plan { ie: 0.0, bpl: 4.3 }),
    ("g711-plc", Plan { ie: 0.0, bpl: 25.1 }),
    ("g729a", Plan { ie: 11.0, bpl: 19.0 }),
    ("g723.1", Plan { ie: 15.0, bpl: 16.1 }),
    ("gsm-efr", Plan { ie: 5.0, bpl: 10.0 }),
];
/// G.711 whose missing packets are silence.
pub const G711: Plan = CODECS[0].1;
/// G.711 with packet loss concealment.
pub const G711_PLC: Plan = CODECS[1].1;
/// G.729 Annex A.
pub const G729A: Plan = CODECS[2].1;

/// Impairment by too long an absolute delay in milliseconds, in R units from 0 to 50; 0 up to `least_ms`, the least
/// delay that is perceived. `sensitivity` is 1 in the default class of conversation.
pub fn idd(ta_ms: f64, least_ms: f64, sensitivity: f64) -> f64 {
    if ta_ms.is_nan() || ta_ms <= least_ms {
        return 0.0;
    }
    let x = libm::log2(ta_ms / least_ms);
    let e = 6.0 * sensitivity;
    let root = |x: f64| libm::pow(1.0 + libm::pow(x, e), 1.0 / e);
    (25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)).max(0.0)
}

/// Effective equipment impairment under `ppl` percent of packet loss whose burst ratio is `burst_r`.
pub fn ie_eff(plan: Plan, ppl: f64, burst_r: f64) -> f64 {
    plan.ie + (95.0 - plan.ie) * ppl / (ppl / burst_r + plan.bpl)
}

/// Mean length of the observed bursts of missing frames over the one expected of random loss at the same rate: 1 when
/// nothing or everything is missing, else at least 1.
pub fn burst_ratio(erased: &[bool]) -> f64 {
    let lost = erased.iter().filter(|erased| **erased).count();
    if lost == 0 || lost == erased.len() {
        return 1.0;
    }
    let begins = erased.windows(2).filter(|pair| pair[1] && !pair[0]).count();
    let bursts = usize::from(erased[0]) + begins;
    (lost as f64 / bursts as f64 * (1.0 - lost as f64 / erased.len() as f64)).max(1.0)
}

/// MOS of a rating, in [1, 4.5].
pub fn r_to_mos(r: f64) -> f64 {
    let x = r.clamp(0.0, 100.0);
    (1.0 + 0.035 * x + x * (x - 60.0) * (100.0 - x) * 7e-6).clamp(1.0, 4.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_impairs_as_the_recommendation_prints_it() {
        // G.107, Idd at 100, 150, 200, 400 ms.
        for (ta, expected) in [(100.0, 0.0), (150.0, 0.163_531), (200.0, 3.044_414), (400.0, 24.070_089)] {
            assert!((idd(ta, 100.0, 1.0) - expected).abs() < 1e-5, "{ta}: {}", idd(ta, 100.0, 1.0));
        }
        assert_eq!(idd(f64::NAN, 100.0, 1.0), 0.0);
    }

    #[test]
    fn loss_impairs_more_in_bursts() {
        assert_eq!(ie_eff(G711, 0.0, 1.0), 0.0);
        assert!((ie_eff(G711, 4.3, 1.0) - 47.5).abs() < 1e-9);
        assert!(ie_eff(G711_PLC, 2.0, 2.0) > ie_eff(G711_PLC, 2.0, 1.0));
        let erased = |text: &str| text.bytes().map(|byte| byte == b'x').collect::<Vec<_>>();
        assert_eq!(burst_ratio(&erased("....")), 1.0);
        assert_eq!(burst_ratio(&erased("xxxx")), 1.0);
        assert_eq!(burst_ratio(&erased("x.x.x.x.")), 1.0);
        assert_eq!(burst_ratio(&erased("xxxx....")), 2.0);
    }

    #[test]
    fn the_curve_stays_on_its_scale() {
        assert_eq!((r_to_mos(-5.0), r_to_mos(3.0), r_to_mos(100.0)), (1.0, 1.0, 4.5));
        assert!((r_to_mos(R_DEFAULT) - 4.409).abs() < 1e-3);
    }
}
