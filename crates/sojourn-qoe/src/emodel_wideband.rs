//! The wide-band E-model: what loss does to wide-band speech, on the scale of 129.
//!
//! Implements R = Ro − Ie,eff of ITU-T G.107.1 (06/2019), with Ro = 129, and Rx = R / 1.29 on the scale of G.107. The
//! equipment impairments are those of G.113 Appendix IV, and those of Opus the ones that Al-Ahmadi, Počta and Melvin
//! fitted to instrumental scores.
//!
//! Source: not the Recommendation's own text but transcriptions of it, as far as they agree with each other.
//! [`REMEMBERED`] says what stands here from memory or from one witness only; a score that goes by this model says so
//! in its note.
//!
//! Differences: the delay's impairment is that of G.107 on its own scale, which 1.29 brings to this one; echo is that
//! of `sojourn.qoe.emodel_wideband`, which has the rest of the model.

use crate::emodel::{self, Plan};

/// Basic signal-to-noise ratio: the best rating that there is.
pub const RO: f64 = 129.0;
/// R of the wide-band scale over R of G.107's.
pub const SCALE: f64 = 1.29;

/// What has no source that was read.
pub const REMEMBERED: &str = "the factor 1.29 on Idd (one transcription), the impairments of AMR-WB, G.722 and G.711 \
                              (G.113 Appendix IV), and that those of Opus belong to the scale of 129";

/// G.722 at 64 kbit/s.
pub const G722: Plan = Plan { ie: 13.0, bpl: 4.9 };

/// Codecs by name, but for Opus, on the scale of 129; all from memory.
pub const CODECS: [(&str, Plan); 3] =
    [("amr-wb-12.65", Plan { ie: 13.0, bpl: 4.3 }), ("amr-wb-23.05", Plan { ie: 1.0, bpl: 4.6 }), ("g722-64", G722)];

/// Opus by its rate in kbit/s, losses independent.
pub const OPUS: [(u32, Plan); 12] = [
    (11, Plan { ie: 28.41, bpl: 23.94 }),
    (12, Plan { ie: 23.30, bpl: 22.22 }),
    (13, Plan { ie: 19.96, bpl: 19.50 }),
    (14, Plan { ie: 38.06, bpl: 16.51 }),
    (16, Plan { ie: 30.16, bpl: 11.83 }),
    (19, Plan { ie: 23.81, bpl: 10.67 }),
    (22, Plan { ie: 20.22, bpl: 10.47 }),
    (25, Plan { ie: 20.21, bpl: 11.28 }),
    (28, Plan { ie: 18.48, bpl: 10.63 }),
    (31, Plan { ie: 16.83, bpl: 10.44 }),
    (34, Plan { ie: 14.76, bpl: 10.12 }),
    (40, Plan { ie: 10.67, bpl: 9.79 }),
];

/// Impairments of Opus at the rate nearest to one in kbit/s of those that were measured; the lower of two as near.
pub fn opus(rate_kbps: f64) -> Plan {
    let apart = |rate: u32| (f64::from(rate) - rate_kbps).abs();
    OPUS.into_iter().min_by(|(a, _), (b, _)| apart(*a).total_cmp(&apart(*b))).map_or(OPUS[0].1, |(_, plan)| plan)
}

/// Listening quality on the scale of G.107, 0 to 100, of speech of which `ppl` percent is missing with a burst ratio.
pub fn listening(plan: Plan, ppl: f64, burst_r: f64) -> f64 {
    ((RO - emodel::ie_eff(plan, ppl, burst_r)) / SCALE).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undamaged_speech_has_its_codecs_impairment_alone() {
        let sound = Plan { ie: 0.0, bpl: 1.0 };
        assert!((listening(sound, 0.0, 1.0) - 100.0).abs() < 1e-12);
        assert_eq!(listening(G722, 0.0, 1.0), 116.0 / 1.29);
        assert!(listening(G722, 5.0, 2.0) < listening(G722, 5.0, 1.0));
    }

    #[test]
    fn rates_of_opus_between_those_measured_are_those_of_the_nearest() {
        for (rate, like) in [(6.0, 11), (24.0, 25), (32.0, 31), (37.0, 34), (510.0, 40)] {
            let of = OPUS.iter().find(|(measured, _)| *measured == like).unwrap().1;
            assert_eq!(opus(rate), of, "{rate}");
        }
    }
}
