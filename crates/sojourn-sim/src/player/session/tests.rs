//! Live viewings by hand: what is ready to be sent at a time comes when the test says.

use super::{Next, Session, Settings};
use crate::player::live::{CatchUp, Live};
use crate::player::{Algorithm, Clip, Draws, TICK_S};
use std::rc::Rc;

const LIVE: Live = Live { latency_s: 3.0, chunk_s: 0.5, catch_up: CatchUp::DashJs, rates: (0.5, 1.5), seek_s: 12.0 };

/// Segments of 2 s and 1 Mbit/s, so a chunk is of 62 500 bytes.
fn session(live: Live) -> Session {
    let clip = Clip::new(2.0, vec![1000.0], &vec![[250_000]; 60]).unwrap();
    let fixed: Algorithm = serde_json::from_str("\"fixed\"").unwrap();
    let player = fixed.player(&clip, 60.0, Draws::Given(vec![1.0])).unwrap();
    Session::new(Rc::new(clip), player, Settings { buffer_s: 60.0, initial_s: 12.0, resume_s: 4.0 })
        .unwrap()
        .of_live(live)
}

/// Watches up to `until_s`, having joined at 10 s of the stream; what is ready to be sent at t comes at `comes(t)`.
fn watch(session: &mut Session, until_s: f64, comes: impl Fn(f64) -> f64) {
    session.join(10.0);
    let (mut looks, mut come, mut now_s, mut asked_s) = (1, 4, 0.0, 0.0);
    let mut ask_s = 0.0;
    while now_s < until_s {
        let look_s = f64::from(looks) * TICK_S;
        let next_s = if come < 4 {
            let begins_s = session.live.as_ref().unwrap().begins_s(session.rows().len() - 1);
            comes((begins_s + 0.5 * f64::from(come + 1)).max(asked_s))
        } else {
            ask_s
        };
        now_s = next_s.min(look_s);
        if look_s < next_s {
            session.look(now_s);
            looks += 1;
        } else if come < 4 {
            come += 1;
            session.progress(now_s, now_s, 62_500 * u64::try_from(come).unwrap());
            if come == 4 {
                session.arrived(now_s, now_s);
                ask_s = now_s;
            }
        } else {
            match session.next(now_s) {
                Next::Wait(seconds) => ask_s = now_s + seconds + 1e-9,
                _ => (come, asked_s) = (0, now_s),
            }
        }
    }
}

fn rate(behind_s: f64) -> f64 {
    0.5 + 1.0 / (1.0 + libm::exp(-5.0 * (behind_s * 1e3).round() / 1e3))
}

#[test]
fn alone_the_latency_settles_on_the_target() {
    let mut session = session(LIVE);
    watch(&mut session, 60.0, |ready_s| ready_s + 0.1);
    // Joined at 10 s, 3 s behind: from 7 s on, in the segment that begins at 6 s and is whole. It comes after 0.1
    // s, so 3.1 s behind; the next one, up to 10 s, is whole too.
    let [first, second, third, ..] = session.looks() else { panic!() };
    assert_eq!((first.time_s, first.rate), (0.25, 1.0));
    assert!((first.latency_s - 3.1).abs() < 1e-9 && (first.buffer_s - 2.85).abs() < 1e-9);
    assert!((second.rate - rate(0.1)).abs() < 1e-12 && (second.rate - 1.122_459_331).abs() < 1e-9);
    assert!((second.latency_s - (3.1 - 0.25 * 0.122_459_331)).abs() < 1e-9);
    assert!((third.rate - rate(second.latency_s - 3.0)).abs() < 1e-12);
    assert_eq!(session.playback().stalls(), []);
    assert_eq!(session.playback().started_s(), Some(0.1));
    let settled: Vec<f64> = session.looks()[20..].iter().map(|look| look.latency_s).collect();
    assert!(settled.iter().all(|latency_s| (latency_s - 3.0).abs() < 0.025), "{settled:?}");
    // A segment is asked for when its first chunk is there: 10.5 s, 12.5 s, …
    let asked: Vec<f64> = session.rows()[2..5].iter().map(|row| row.segment.request_s).collect();
    assert!(asked.iter().zip([0.5, 2.5, 4.5]).all(|(found, expected)| (found - expected).abs() < 1e-6), "{asked:?}");
}

#[test]
fn a_stall_of_2_s_is_caught_up_at_the_fastest_rate() {
    // What is ready from 20 s on comes at 24.5 s: 2.5 s were in the buffer.
    let mut session = session(LIVE);
    watch(&mut session, 60.0, |ready_s| if (19.9..24.4).contains(&ready_s) { 24.5 } else { ready_s + 0.1 });
    let [stall] = session.playback().stalls() else { panic!() };
    assert!((stall.to_s - 24.5).abs() < 1e-9 && (stall.to_s - stall.from_s - 2.0).abs() < 0.03, "{stall:?}");
    let looks = session.looks();
    let during: Vec<_> = looks.iter().filter(|look| (22.75..24.5).contains(&look.time_s)).collect();
    assert!(during.len() == 7 && during.iter().all(|look| look.rate == 0.0));
    // From then on every quarter of a second takes off a quarter of what the rate is above 1.
    let after: Vec<_> = looks.iter().filter(|look| look.time_s >= 24.5).collect();
    assert!((after[0].latency_s - 5.0).abs() < 0.03);
    for pair in after.windows(2) {
        assert!((pair[0].latency_s - pair[1].latency_s - TICK_S * (pair[1].rate - 1.0)).abs() < 1e-9);
    }
    // 1.49995 is kept until another rate is 2 % off, at 0.778 s behind: (2 - 0.778) / 0.125 looks.
    let fastest = after.iter().filter(|look| look.rate > 1.4999).count();
    assert!((9..=11).contains(&fastest), "{fastest}");
    assert!(after[36..].iter().all(|look| (look.latency_s - 3.0).abs() < 0.025));
}

#[test]
fn without_catching_up_what_is_lost_stays_lost() {
    let mut session = session(Live { catch_up: CatchUp::None, ..LIVE });
    watch(&mut session, 60.0, |ready_s| if (19.9..24.4).contains(&ready_s) { 24.5 } else { ready_s + 0.1 });
    // 3.1 s at first; 2.4 s of the outage are in the buffer then.
    let last = session.looks().last().unwrap();
    assert!((last.latency_s - 5.0).abs() < 1e-6 && last.rate == 1.0, "{last:?}");
}

#[test]
fn beyond_the_limit_playback_jumps_as_far_as_the_buffer_goes() {
    let mut session = session(Live { seek_s: 4.0, ..LIVE });
    watch(&mut session, 60.0, |ready_s| if (19.9..29.4).contains(&ready_s) { 29.5 } else { ready_s + 0.1 });
    // The outage puts it 10 s back; at 29.5 s only a chunk is there. The next segments come 0.1 s apart, up to 34 s
    // of the stream by the next look, when 30 s and 0.15 s have been played.
    let jumps: Vec<_> = session.looks().iter().filter(|look| look.jumped_s > 0.0).collect();
    let [first, second] = jumps[..] else { panic!("{jumps:?}") };
    assert!((first.latency_s - 10.0).abs() < 0.03 && (first.jumped_s - 0.5).abs() < 1e-9, "{first:?}");
    assert!((second.latency_s - 9.6).abs() < 1e-6 && (second.jumped_s - 3.85).abs() < 1e-6, "{second:?}");
    assert!(session.looks().last().unwrap().latency_s - 3.0 < 0.025);
}

#[test]
fn a_chunk_longer_than_the_segments_is_a_whole_segment() {
    // Shaka's rule counts the latency from a chunk behind the encoder.
    let looks = |chunk_s| {
        let catch_up = CatchUp::Shaka;
        let mut session = session(Live { chunk_s, catch_up, rates: catch_up.rates(), ..LIVE });
        watch(&mut session, 60.0, |ready_s| if (19.9..26.9).contains(&ready_s) { 27.0 } else { ready_s + 0.1 });
        session.looks().to_vec()
    };
    let segment = looks(2.0);
    assert!(segment.iter().any(|look| look.rate > 1.0) && segment.iter().any(|look| look.rate == 1.0));
    assert_eq!(looks(5.0), segment);
    assert_ne!(looks(0.5), segment);
}
