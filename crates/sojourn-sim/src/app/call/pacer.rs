//! The pacer: packets leave at a rate, in bursts, audio and what is sent again first, with probes between them.
//!
//! Source: libwebrtc `pacing_controller.cc`, `bitrate_prober.cc`, with the burst interval of 40 ms that Chromium sets.
//! What is sent is a debt that the pacing rate pays; packets go while the debt is less than 40 ms of it. What then
//! waits goes when all of the debt is paid, and the next 40 ms with it. Audio waits for nothing, but is a debt too,
//! since it has a part of the target (`audio_send_stream.cc`): it puts the next burst off, and begins none. So Chromium
//! 156 does it, whose bursts beside a full queue begin when 0.996 to 1.007 of what it sent since the one before is paid
//! (quartiles); the source of January 2026 lets video follow a packet of sound when less than 40 ms are owed. A queue
//! that would last longer than two seconds, RTP's own headers not counted, is drained faster. A probe takes what waits,
//! and fills up with padding; nothing else leaves meanwhile. The first ones begin with the first picture.
//! Differences: no keep-alive; probes need no media packet in front of them but the first.

use super::gcc::Probe;
use super::packet::{AUDIO_RTP, MOST_PAYLOAD, Payload, Rtp, VIDEO_HEADERS, VIDEO_RTP};
use sojourn_net::{Span, Time};
use std::collections::VecDeque;

const BURST: Span = Span::from_millis(40);
const MOST_BURST_BYTES: f64 = 63_000.0;
/// The longest that a queue is to last.
pub(super) const LONGEST_QUEUE: Span = Span::from_secs(2);
const MOST_DEBT: Span = Span::from_millis(500);
const PROBE_TIMEOUT: Span = Span::from_secs(5);
/// A probe that is later than this is given up.
const LATEST_PROBE: Span = Span::from_millis(10);
/// Padding of the packet in front of a probe (`rtp_sender.cc`).
const MARK: u32 = 224;
/// Padding of a probe comes in packets of this size.
const PADDING: u32 = MOST_PAYLOAD + VIDEO_HEADERS;

#[derive(Clone, Copy, Debug)]
struct Waiting {
    rtp: Rtp,
    since: Time,
}

#[derive(Clone, Copy, Debug)]
struct Cluster {
    probe: Probe,
    started: Option<Time>,
    bytes: f64,
    sendings: u32,
}

/// The pacer of one sender.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    /// By priority: audio, what is sent again, video.
    queues: [VecDeque<Waiting>; 3],
    /// What waits, without RTP's own headers.
    bytes: u64,
    /// Sum of the times since which the packets wait, in seconds.
    since: f64,
    debt: f64,
    rate: f64,
    paid: Time,
    clusters: VecDeque<Cluster>,
    next_probe: Option<Time>,
    begun: bool,
}

impl Pacer {
    /// Paces at a rate in bit/s.
    pub(super) fn new(rate: f64) -> Self {
        Self { rate, ..Self::default() }
    }

    /// Paces at another rate.
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Takes a packet.
    pub(super) fn push(&mut self, rtp: Rtp, now: Time) {
        let queue = match rtp.payload {
            Payload::Audio => 0,
            _ if rtp.again => 1,
            _ => 2,
        };
        if self.queues.iter().all(VecDeque::is_empty) {
            self.pay(now);
        }
        // A packet of sound is too small to begin a probe with; the first picture is in one.
        self.begun |= rtp.payload != Payload::Audio;
        self.queues[queue].push_back(Waiting { rtp, since: now });
        self.bytes += queued(&rtp);
        self.since += now.as_secs();
    }

    /// Is to send a probe.
    pub(super) fn add_probe(&mut self, probe: Probe, now: Time) {
        self.clusters.retain(|cluster| now.since(cluster.probe.asked) <= PROBE_TIMEOUT);
        self.clusters.push_back(Cluster { probe, started: None, bytes: 0.0, sendings: 0 });
        self.next_probe.get_or_insert(now);
    }

    /// How long the packets that wait will take.
    pub(super) fn expected(&self, now: Time) -> Span {
        Span::from_secs_f64(self.bytes as f64 * 8.0 / self.adjusted(now))
    }

    /// The pacing rate, or as much more as drains the queue in time.
    fn adjusted(&self, now: Time) -> f64 {
        let packets = self.queues.iter().map(VecDeque::len).sum::<usize>() as f64;
        if packets == 0.0 {
            return self.rate;
        }
        let waited = now.as_secs() - self.since / packets;
        let left = (LONGEST_QUEUE.as_secs() - waited).max(1e-3);
        self.rate.max(self.bytes as f64 * 8.0 / left)
    }

    /// When there is something to do next.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        if let Some(at) = self.next_probe.filter(|_| self.begun) {
            return Some(at.max(now));
        }
        if !self.queues[0].is_empty() {
            return Some(now);
        }
        if self.queues.iter().all(VecDeque::is_empty) {
            return None;
        }
        Some(self.due(now).max(now))
    }

    /// When the debt lets the next packet go.
    fn due(&self, now: Time) -> Time {
        self.paid + self.wait(now)
    }

    /// How long the debt is to be paid until the next packet goes.
    fn wait(&self, now: Time) -> Span {
        let rate = self.adjusted(now);
        let burst = BURST.as_secs().min(MOST_BURST_BYTES * 8.0 / rate);
        let drain = self.debt * 8.0 / rate;
        // A nanosecond more, so that rounding leaves no debt behind.
        if drain < burst { Span::ZERO } else { Span::from_secs_f64(drain) + Span(1) }
    }

    /// Hands out what may leave now.
    pub(super) fn send(&mut self, now: Time, out: &mut Vec<(Rtp, Option<Probe>)>) {
        if let Some(at) = self.next_probe.filter(|_| self.begun) {
            if at <= now {
                self.pay(now);
                self.send_probe(now, out);
            }
            return;
        }
        while let Some(waiting) = self.queues[0].pop_front() {
            self.taken(&waiting);
            self.owe(&waiting.rtp, now);
            out.push((waiting.rtp, None));
        }
        if self.due(now) > now {
            return;
        }
        self.pay(now);
        while self.wait(now) == Span::ZERO {
            let Some(rtp) = self.pop() else { break };
            self.owe(&rtp, now);
            out.push((rtp, None));
        }
    }

    fn send_probe(&mut self, now: Time, out: &mut Vec<(Rtp, Option<Probe>)>) {
        if self.next_probe.is_some_and(|at| now.since(at) > LATEST_PROBE) {
            self.clusters.pop_front();
        }
        let Some(mut cluster) = self.clusters.pop_front() else {
            self.next_probe = None;
            return;
        };
        let probe = cluster.probe;
        let least = probe.rate / 8.0 * probe.spacing.as_secs();
        let mut bytes = 0.0;
        // A small packet in front marks where the probe begins.
        if cluster.started.is_none() {
            let rtp = Rtp { payload: Payload::Padding, bytes: VIDEO_HEADERS + MARK, again: false };
            bytes += f64::from(rtp.bytes);
            self.owe(&rtp, now);
            out.push((rtp, Some(probe)));
        }
        while bytes < least {
            let padding = Rtp { payload: Payload::Padding, bytes: PADDING, again: false };
            let rtp = self.pop().unwrap_or(padding);
            bytes += f64::from(rtp.bytes);
            self.owe(&rtp, now);
            out.push((rtp, Some(probe)));
        }
        let started = *cluster.started.get_or_insert(now);
        cluster.bytes += bytes;
        cluster.sendings += 1;
        let due = started + Span::from_secs_f64(cluster.bytes * 8.0 / probe.rate);
        if cluster.bytes < probe.bytes || cluster.sendings < probe.sendings {
            self.clusters.push_front(cluster);
        }
        self.next_probe = (!self.clusters.is_empty()).then_some(due);
    }

    fn pop(&mut self) -> Option<Rtp> {
        let waiting = self.queues.iter_mut().find_map(VecDeque::pop_front)?;
        self.taken(&waiting);
        Some(waiting.rtp)
    }

    fn taken(&mut self, waiting: &Waiting) {
        self.bytes -= queued(&waiting.rtp);
        self.since -= waiting.since.as_secs();
    }

    /// Time passes: the rate pays the debt.
    fn pay(&mut self, now: Time) {
        let paid = self.adjusted(now) / 8.0 * now.since(self.paid).as_secs();
        self.debt = (self.debt - paid).max(0.0);
        self.paid = now;
    }

    fn owe(&mut self, rtp: &Rtp, now: Time) {
        let most = self.adjusted(now) / 8.0 * MOST_DEBT.as_secs();
        self.debt = (self.debt + f64::from(rtp.bytes)).min(most);
    }
}

/// What a packet counts for in the length of the queue: payload, and what IP and UDP put around it.
fn queued(rtp: &Rtp) -> u64 {
    u64::from(rtp.bytes - if rtp.payload == Payload::Audio { AUDIO_RTP } else { VIDEO_RTP })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn video(number: u32) -> Rtp {
        Rtp { payload: Payload::Video { frame: 0, number }, bytes: 1250, again: false }
    }

    /// What leaves until everything has, with the times in ms.
    fn run(pacer: &mut Pacer) -> Vec<(u64, Rtp, Option<u32>)> {
        let mut all = Vec::new();
        let mut now = Time::ZERO;
        while let Some(at) = pacer.next(now) {
            now = at;
            let mut out = Vec::new();
            pacer.send(now, &mut out);
            all.extend(out.into_iter().map(|(rtp, probe)| (now.0 / 1_000_000, rtp, probe.map(|probe| probe.id))));
        }
        all
    }

    #[test]
    fn packets_leave_at_the_rate_in_bursts_of_40_ms() {
        let mut pacer = Pacer::new(1e6);
        (0..100).for_each(|i| pacer.push(video(i), Time::ZERO));
        let sent = run(&mut pacer);
        // 10 ms a packet: four at once, and one more that the debt may exceed the burst by.
        assert_eq!(sent.iter().filter(|(ms, ..)| *ms == 0).count(), 4);
        let last = sent.last().unwrap().0;
        assert!((920..=1000).contains(&last), "{last}");
        assert!(sent.iter().map(|(_, rtp, _)| rtp).eq((0..100).map(video).collect::<Vec<_>>().iter()));
    }

    #[test]
    fn audio_goes_at_once_and_what_is_sent_again_before_the_rest() {
        let mut pacer = Pacer::new(1e6);
        (0..10).for_each(|i| pacer.push(video(i), Time::ZERO));
        let again = Rtp { again: true, ..video(77) };
        let audio = Rtp { payload: Payload::Audio, bytes: 138, again: false };
        pacer.push(again, Time::ZERO);
        pacer.push(audio, Time::ZERO);
        let sent: Vec<Rtp> = run(&mut pacer).into_iter().map(|(_, rtp, _)| rtp).collect();
        assert_eq!(sent[..3], [audio, again, video(0)]);
    }

    #[test]
    fn audio_is_a_debt_that_video_waits_for() {
        let mut pacer = Pacer::new(100e3);
        (0..4).for_each(|_| pacer.push(Rtp { payload: Payload::Audio, bytes: 500, again: false }, Time::ZERO));
        pacer.push(video(0), Time::ZERO);
        // 2000 bytes go at once, and are paid at 100 kbit/s in 160 ms.
        let sent = run(&mut pacer);
        assert!(sent[..4].iter().all(|(ms, ..)| *ms == 0));
        assert_eq!((sent[4].0, sent[4].1), (160, video(0)));
    }

    #[test]
    fn sound_puts_the_next_burst_off_and_begins_none() {
        let mut pacer = Pacer::new(92_840.0);
        (0..40).for_each(|i| pacer.push(Rtp { bytes: 190, ..video(i) }, Time::ZERO));
        let mut bursts: Vec<(u64, u32)> = Vec::new();
        for ms in 0..1500 {
            let now = Time(ms * 1_000_000);
            if ms % 20 == 0 {
                pacer.push(Rtp { payload: Payload::Audio, bytes: 136, again: false }, now);
            }
            let mut out = Vec::new();
            pacer.send(now, &mut out);
            let videos = out.iter().filter(|(rtp, _)| rtp.payload != Payload::Audio).count() as u32;
            bursts.extend((videos > 0).then_some((ms, videos)));
        }
        // 464 bytes are 40 ms: three pictures, or two behind a packet of sound; and what they owe with that of sound
        // meanwhile is paid in a tenth of a second.
        assert!(bursts[1..].iter().all(|(_, videos)| [2, 3].contains(videos)), "{bursts:?}");
        let gaps: Vec<u64> = bursts.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps[1..].iter().all(|gap| (80..=125).contains(gap)), "{gaps:?}");
    }

    #[test]
    fn a_queue_is_drained_within_two_seconds() {
        let mut pacer = Pacer::new(100e3);
        (0..100).for_each(|i| pacer.push(video(i), Time::ZERO));
        assert_eq!(pacer.expected(Time::ZERO), LONGEST_QUEUE);
        let last = run(&mut pacer).last().unwrap().0;
        // RTP's own headers are not in the queue's length, and take their share of the time.
        let most = 2000 * 1250 / (1250 - u64::from(VIDEO_RTP));
        assert!((1500..=most).contains(&last), "{last}");
    }

    #[test]
    fn a_probe_sends_its_rate_with_what_waits_and_padding() {
        let mut pacer = Pacer::new(300e3);
        let spacing = Span::from_millis(20);
        let probe = Probe { id: 7, rate: 1e6, bytes: 12_500.0, sendings: 5, spacing, asked: Time::ZERO };
        pacer.add_probe(probe, Time::ZERO);
        assert_eq!(pacer.next(Time::ZERO), None, "no probe before the first packet");
        (0..6).for_each(|i| pacer.push(video(i), Time::ZERO));
        let sent: Vec<_> = run(&mut pacer).into_iter().filter(|(.., probe)| probe.is_some()).collect();
        let bytes: u32 = sent.iter().map(|(_, rtp, _)| rtp.bytes).sum();
        let (first, last) = (sent[0].0, sent.last().unwrap().0);
        assert!(bytes >= 12_500 && sent.iter().any(|(_, rtp, _)| rtp.payload == Payload::Padding));
        assert!((80..=110).contains(&(last - first)), "{first} to {last}");
    }
}
