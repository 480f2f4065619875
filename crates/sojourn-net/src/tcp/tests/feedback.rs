//! What a controller hears: samples of the delivery rate, marks, the end of repairs.

use super::*;
use crate::Rate;
use crate::congestion::{Ack, Congestion, Needs};
use std::sync::{Arc, Mutex};

#[derive(Debug, Default)]
struct Heard {
    acks: Vec<(Time, Ack)>,
    congestion: Vec<(Time, Congestion)>,
    recovered: Vec<Time>,
}

/// A fixed window that writes down what it hears.
struct Listener {
    heard: Arc<Mutex<Heard>>,
    cwnd: u64,
    pacing: Option<Rate>,
    samples: bool,
}

impl CongestionControl for Listener {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.heard.lock().unwrap().acks.push((now, *ack));
    }
    fn on_congestion(&mut self, now: Time, what: Congestion, _: u64) {
        self.heard.lock().unwrap().congestion.push((now, what));
    }
    fn on_idle(&mut self, _: Time, _: u64) {}
    fn on_recovered(&mut self, now: Time) {
        self.heard.lock().unwrap().recovered.push(now);
    }
    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: u64::MAX, pacing: self.pacing }
    }
    fn needs(&self) -> Needs {
        Needs { rate_samples: self.samples, no_prr: true, fine_pacing: false }
    }
}

/// A transfer of `segments` with a fixed window of ten.
fn listened(config: &Config, segments: u64, pacing: Option<Rate>, lose: &[u64], mark: &[u64]) -> (Heard, Pair) {
    let (heard, mut pair) = listening(true, config, pacing, lose);
    pair.mark = mark.to_vec();
    pair.ends[0].write(segments * u64::from(MSS));
    pair.run(Time(60_000_000_000));
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    (heard, pair)
}

/// Two ends with fixed windows, one of which is listened to.
fn listening(samples: bool, config: &Config, pacing: Option<Rate>, lose: &[u64]) -> (Arc<Mutex<Heard>>, Pair) {
    let heard = Arc::<Mutex<Heard>>::default();
    let listener =
        |heard: &Arc<Mutex<Heard>>| Box::new(Listener { heard: Arc::clone(heard), cwnd: 10_000, pacing, samples });
    let pair = Pair::with(config, lose, [listener(&heard), listener(&Arc::default())]);
    (heard, pair)
}

#[test]
fn a_window_a_round_trip_is_the_rate_sampled() {
    let (heard, _) = listened(&config(), 40, None, &[], &[]);
    assert_eq!(heard.acks.len(), 40);
    for (i, (_, ack)) in (0..).zip(&heard.acks) {
        let sample = ack.sample.expect("each has one");
        // The first window was sent when nothing had been delivered, later segments each as one was.
        let prior = if i < 10 { 0 } else { (i - 9) * 1000 };
        assert_eq!((ack.total_delivered, sample.prior_delivered), ((i + 1) * 1000, prior));
        assert_eq!((sample.delivered, sample.interval), ((i + 1) * 1000 - prior, Span::from_millis(100)));
        assert_eq!(sample.tx_in_flight, if i < 10 { (i + 1) * 1000 } else { 10_000 });
        assert_eq!((sample.lost, ack.total_lost, ack.ce_bytes, sample.app_limited), (0, 0, 0, false));
        assert_eq!(ack.left_in_flight, ack.in_flight - 1000);
    }
}

#[test]
fn data_sent_after_a_pause_is_known_to_be_limited_by_the_application() {
    let (heard, mut pair) = listening(true, &config(), None, &[]);
    pair.ends[0].write(3000);
    pair.run(Time(150_000_000));
    pair.ends[0].write(20_000);
    pair.run(Time(10_000_000_000));
    let limited: Vec<bool> =
        heard.lock().unwrap().acks.iter().filter_map(|a| a.1.sample).map(|s| s.app_limited).collect();
    assert_eq!(limited, [vec![false; 3], vec![true; 10], vec![false; 10]].concat());
}

#[test]
fn a_round_trip_is_that_of_the_last_of_two_segments_where_rates_are_sampled_and_else_of_the_first() {
    let delayed = Config { ack_delay: Span::from_millis(40), ..config() };
    for (samples, round_trip_ms) in [(true, 100), (false, 110)] {
        let (heard, mut pair) = listening(samples, &delayed, None, &[]);
        pair.run(Time(1_000_000_000));
        for ms in [1000, 1010] {
            pair.now = Time(ms * 1_000_000);
            pair.ends[0].write(1000);
            pair.run(pair.now);
        }
        pair.run(Time(2_000_000_000));
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(heard.acks.last().and_then(|ack| ack.1.rtt), Some(Span::from_millis(round_trip_ms)));
    }
}

#[test]
fn selective_news_is_heard_and_so_is_the_end_of_a_repair() {
    for (sampling, heard_acks) in [(true, 40), (false, 29)] {
        let (heard, mut pair) = listening(sampling, &config(), None, &[12]);
        pair.ends[0].write(40_000);
        pair.run(Time(60_000_000_000));
        let heard = std::mem::take(&mut *heard.lock().unwrap());
        assert_eq!(heard.acks.len(), heard_acks, "samples {sampling}");
        assert_eq!(heard.congestion, [(Time(300_000_000), Congestion::Loss)]);
        assert_eq!(heard.recovered, [Time(400_000_000)]);
        let last = heard.acks.last().expect("there are some").1;
        assert_eq!((last.total_delivered, last.total_lost), (40_000, 1000));
        assert_eq!(pair.ends[0].sender().statistics().retransmits, 1);
        if sampling {
            // The window is kept full while one segment is missing.
            let lossy: Vec<_> = heard.acks.iter().filter_map(|a| a.1.sample).filter(|s| s.lost > 0).collect();
            assert!(!lossy.is_empty() && lossy.iter().all(|s| s.lost == 1000));
        }
    }
}

#[test]
fn marks_are_told_once_a_window_and_byte_by_byte() {
    // Marked: two of the second window, one of the third.
    let mark = [12, 13, 25];
    for (ecn, bytes) in [
        (EcnMode::Off, 0),
        // The echo lasts until the sender's answer has come, a window later.
        (EcnMode::Classic, 20_000),
        (EcnMode::Dctcp, 3000),
        (EcnMode::Accurate, 3000),
    ] {
        let (heard, pair) = listened(&Config { ecn, ..config() }, 40, None, &[], &mark);
        let told: u64 = heard.acks.iter().map(|a| a.1.ce_bytes).sum();
        assert_eq!(told, bytes, "{ecn:?}");
        let marks = if ecn == EcnMode::Off { vec![] } else { vec![300, 400] };
        let times: Vec<u64> = heard.congestion.iter().map(|c| c.0.0 / 1_000_000).collect();
        assert_eq!(times, marks, "{ecn:?}");
        assert!(heard.congestion.iter().all(|c| c.1 == Congestion::Mark));
        assert_eq!(pair.ends[0].sender().statistics().marks as usize, marks.len());
        assert!(heard.recovered.is_empty());
    }
}

#[test]
fn with_delayed_acknowledgements_dctcp_still_counts_each_mark_exactly() {
    let delayed = Config { ack_delay: Span::from_millis(40), ..config() };
    for (ecn, want) in [(EcnMode::Dctcp, 4000), (EcnMode::Accurate, 4000)] {
        let (heard, _) = listened(&Config { ecn, ..delayed.clone() }, 40, None, &[], &[11, 14, 20, 27]);
        assert_eq!(heard.acks.iter().map(|a| a.1.ce_bytes).sum::<u64>(), want, "{ecn:?}");
    }
}

#[test]
fn reno_halves_its_window_for_a_mark_as_for_a_loss_but_retransmits_nothing() {
    let mut pair = Pair::new(&Config { ecn: EcnMode::Classic, ..config() }, &[]);
    pair.mark = vec![25];
    pair.ends[0].write(200_000);
    pair.run(Time(60_000_000_000));
    let statistics = pair.ends[0].sender().statistics();
    assert_eq!((statistics.marks, statistics.retransmits, statistics.recoveries), (1, 0, 0));
    let ssthresh = pair.ends[0].sender().window().ssthresh;
    assert!((13_000..=20_000).contains(&ssthresh), "{ssthresh}");
    assert_eq!(pair.ends[1].receiver().delivered(), 200_000);
}

#[test]
fn a_paced_sender_spreads_its_window_and_repairs_at_its_rate() {
    // 1000 bytes every 5 ms, two at a time; the first ten segments (the SYN is one) are free, and half of a wait is
    // made up for.
    let rate = Rate(1_600_000);
    let (_, pair) = listened(&config(), 60, Some(rate), &[30], &[]);
    let times: Vec<u64> = pair.log.iter().map(|l| l.0.0 / 1_000_000).collect();
    assert_eq!(times[..9], [100; 9]);
    assert_eq!(times[9..16], [100, 200, 200, 205, 205, 215, 215]);
    let again = pair.log.iter().position(|l| l.2).expect("one was lost");
    assert!(times[9..].windows(3).all(|w| w[2] - w[0] >= 5), "{times:?}");
    assert!(again > 30);
    assert_eq!(pair.ends[1].receiver().delivered(), 60_000);
}

#[test]
fn a_loss_while_a_mark_is_answered_is_told_if_marks_are_answered_in_proportion() {
    use Congestion::{Loss, Mark};
    for (ecn, want) in
        [(EcnMode::Classic, &[Mark][..]), (EcnMode::Dctcp, &[Mark, Loss]), (EcnMode::Accurate, &[Mark, Loss])]
    {
        let (heard, _) = listened(&Config { ecn, ..config() }, 40, None, &[14], &[11]);
        let told: Vec<_> = heard.congestion.iter().map(|(_, what)| *what).collect();
        assert_eq!(told, want, "{ecn:?}");
    }
}
