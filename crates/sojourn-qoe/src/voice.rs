//! Scores of voice calls: what loss and lateness do to the sound, and delay to the conversation.
//!
//! Per call and direction, z1 rates the sound on the scale of G.107, z2 = Idd of the delay, MOS = the curve of max(0,
//! z1 − z2). By the E-model, z1 = R₀ − Ie-eff of the codec under the call's missing frames and their burst ratio.
//! Whoever listens to the speech (`sojourn.qoe.voice`, by PESQ) has another z1; all else is the same.
//!
//! Differences: a call in which nothing arrives has no delay, and z1 speaks alone.

use crate::calls::{self, Heard, Packet};
use crate::emodel;
use crate::method::Method;
use crate::statistics::{Statistics, rounded, statistics};
use serde::Serialize;
use std::collections::BTreeSet;

/// Name of the model of scores by formulas.
pub const EMODEL: &str = "emodel";
/// Name of the model of scores of speech that was listened to.
pub const PESQ: &str = "pesq";

/// One direction of a call, scored.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// 0: the user talks; 1: the user listens.
    pub direction: u8,
    /// Opinion score; NaN if nobody listened.
    pub mos: f64,
    /// Rating of the sound, 0 to 100; NaN if nobody listened.
    pub z1: f64,
    /// Impairment by the delay; NaN if nothing arrived.
    pub z2: f64,
    /// MOS-LQO that PESQ gave; NaN by formulas.
    pub lqo: f64,
    /// Packets sent.
    pub packets: u64,
    /// Packets that the network lost.
    pub lost: u64,
    /// Packets that arrived and were not played.
    pub late: u64,
    /// Mean delay in the network; NaN if nothing arrived.
    pub delay_ms: f64,
    /// Mean delay from mouth to ear; NaN if nothing arrived.
    pub ta_ms: f64,
    /// PESQ could not score the sound.
    pub unscored: bool,
    /// [`EMODEL`] or [`PESQ`].
    pub model: String,
    /// Whose voices; empty by formulas.
    pub speech: String,
    /// What the score has to say of itself; empty for nothing.
    pub note: String,
}

/// Scores of the calls of one direction, in the shape of results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    mos: Statistics,
    z1: Statistics,
    z2: Statistics,
    #[serde(skip_serializing_if = "Option::is_none")]
    lqo: Option<Statistics>,
    loss: f64,
    late: f64,
    delay_ms: Option<f64>,
    ta_ms: Option<f64>,
    calls: usize,
    unscored: usize,
    model: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    heard: Option<usize>,
    #[serde(skip_serializing_if = "String::is_empty")]
    speech: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// Scores of calls by direction; a direction without calls is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// The user talks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talks: Option<Side>,
    /// The user listens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listens: Option<Side>,
}

/// z1 by the E-model.
pub fn rating(heard: &Heard, method: &Method) -> f64 {
    let erased = &heard.played.erased;
    let missing = erased.iter().filter(|erased| **erased).count();
    if missing == erased.len() {
        return 0.0;
    }
    method.listening(100.0 * (missing as f64 / erased.len() as f64), emodel::burst_ratio(erased))
}

/// z2: what the delay takes away; NaN if nothing arrived.
pub fn delay_impairment(heard: &Heard) -> f64 {
    if heard.ta_ms.is_nan() { f64::NAN } else { emodel::idd(heard.ta_ms, 100.0, 1.0) }
}

/// Opinion score of a call whose sound is rated z1; NaN if it is not.
pub fn opinion(heard: &Heard, z1: f64) -> f64 {
    let z2 = delay_impairment(heard);
    if z1.is_nan() { f64::NAN } else { emodel::r_to_mos((z1 - if z2.is_nan() { 0.0 } else { z2 }).max(0.0)) }
}

/// Scores every call of one entry of users in each direction by the E-model.
pub fn calls(packets: Vec<Packet>, method: &Method) -> Result<Vec<Call>, String> {
    let count = |flags: &[bool]| flags.iter().filter(|flag| **flag).count() as u64;
    let scored = |heard: Heard| {
        let z1 = rating(&heard, method);
        Call {
            direction: heard.direction,
            mos: opinion(&heard, z1),
            z1,
            z2: delay_impairment(&heard),
            lqo: f64::NAN,
            packets: heard.packets() as u64,
            lost: count(&heard.played.lost),
            late: count(&heard.played.late),
            delay_ms: heard.delay_ms,
            ta_ms: heard.ta_ms,
            unscored: false,
            model: EMODEL.to_owned(),
            speech: String::new(),
            note: method.note(),
        }
    };
    Ok(calls::heard(packets, method, &[])?.into_iter().map(scored).collect())
}

/// Statistics over calls, of one or more entries of users.
pub fn summary(scored: &[Call]) -> Summary {
    Summary { talks: side(scored, 0), listens: side(scored, 1) }
}

fn side(scored: &[Call], direction: u8) -> Option<Side> {
    let here: Vec<_> = scored.iter().filter(|call| call.direction == direction).collect();
    if here.is_empty() {
        return None;
    }
    let sent = here.iter().map(|call| call.packets).sum::<u64>() as f64;
    let of = |field: fn(&Call) -> f64, digits| statistics(here.iter().map(|call| field(call)), digits);
    let share = |field: fn(&Call) -> u64| rounded(here.iter().map(|call| field(call)).sum::<u64>() as f64 / sent, 6);
    let said = |field: for<'a> fn(&'a Call) -> &'a str, between: &str| {
        let texts: BTreeSet<_> = here.iter().map(|call| field(call)).filter(|text| !text.is_empty()).collect();
        texts.into_iter().collect::<Vec<_>>().join(between)
    };
    let heard = here.iter().filter(|call| call.mos.is_finite()).count();
    // The worst of a few calls is not the worst 5 % of all.
    let told = |found: Statistics| if heard < here.len() { found.without_tails() } else { found };
    Some(Side {
        mos: told(of(|call| call.mos, 4)),
        z1: told(of(|call| call.z1, 3)),
        z2: of(|call| call.z2, 3),
        lqo: here.iter().any(|call| call.model == PESQ).then(|| told(of(|call| call.lqo, 4))),
        loss: share(|call| call.lost),
        late: share(|call| call.late),
        delay_ms: of(|call| call.delay_ms, 3).mean,
        ta_ms: of(|call| call.ta_ms, 3).mean,
        calls: here.len(),
        unscored: here.iter().filter(|call| call.unscored).count(),
        model: said(|call| &call.model, "+"),
        heard: (heard < here.len()).then_some(heard),
        speech: said(|call| &call.speech, "; "),
        note: said(|call| &call.note, "; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::{Buffer, Scale};

    const METHOD: Method = Method {
        plan: emodel::G711_PLC,
        scale: Scale::Narrow,
        packetisation_ms: 20.0,
        buffer: Buffer::Fixed(60_000_000),
        half_rtt: true,
        frames: None,
    };

    fn call(direction: u8, delay_ms: i64) -> impl Iterator<Item = Packet> {
        (0..400).map(move |seq| Packet {
            direction,
            user: 0,
            call: 0,
            seq,
            sent_ns: u64::from(seq) * 20_000_000,
            delay_ns: if delay_ms < 0 { -1 } else { delay_ms * 1_000_000 },
        })
    }

    #[test]
    fn half_the_round_trip_impairs_both_directions() {
        let found = calls(call(1, 200).chain(call(0, 20)).collect(), &METHOD).unwrap();
        assert_eq!(found.iter().map(|call| call.ta_ms).collect::<Vec<_>>(), [190.0, 190.0]);
        let own = calls(call(1, 200).chain(call(0, 20)).collect(), &Method { half_rtt: false, ..METHOD }).unwrap();
        assert_eq!(own.iter().map(|call| call.ta_ms).collect::<Vec<_>>(), [100.0, 280.0]);
        assert!(own[1].mos < found[1].mos && found[0].mos < own[0].mos);
    }

    #[test]
    fn a_call_that_never_arrives_is_the_worst_and_has_no_delay() {
        let found = summary(&calls(call(0, -1).collect(), &METHOD).unwrap());
        let side = found.talks.unwrap();
        assert_eq!((side.mos.median, side.loss, side.delay_ms, side.z2.median), (Some(1.0), 1.0, None, None));
        assert_eq!(found.listens, None);
    }

    #[test]
    fn wide_band_speech_says_what_its_model_has_from_memory() {
        let wide = Method { plan: crate::emodel_wideband::G722, scale: Scale::Wide, ..METHOD };
        let side = summary(&calls(call(0, 20).collect(), &wide).unwrap()).talks.unwrap();
        assert_eq!(side.z1.median, Some(89.922));
        assert!(side.note.contains("from memory"));
    }

    #[test]
    fn of_calls_that_nobody_heard_the_loss_is_known_and_the_tails_are_not() {
        let mut some = calls(call(0, 20).collect(), &METHOD).unwrap();
        some[0].model = PESQ.to_owned();
        some.push(Call { mos: f64::NAN, z1: f64::NAN, lost: 100, ..some[0].clone() });
        let side = side(&some, 0).unwrap();
        assert_eq!((side.heard, side.calls, side.loss), (Some(1), 2, 0.125));
        assert_eq!((side.mos.p5, side.z1.p95, side.mos.median.is_some()), (None, None, true));
        assert!(side.z2.p5.is_some() && side.lqo.is_some());
    }
}
