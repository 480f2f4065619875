//! Whether a sender probes for the round trip without queues, as BBR does every 10 s: for 200 ms it has four segments
//! under way, and then what it had before (draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.5). The limits are
//! sojourn's own.

/// A probe: at most so many segments under way, and before it at least so many.
const FEW: i64 = 5;
const MANY: i64 = 10;
/// So many segments pass in it, and it lasts so long, 200 ms but for the first of them; a round trip more if that is
/// longer.
const LEAST_SEGMENTS: u32 = 6;
const PROBE_NS: std::ops::RangeInclusive<i64> = 150_000_000..=1_000_000_000;
/// From one to the next: 10 s, the probe itself, and until it is sent.
const EVERY_NS: std::ops::RangeInclusive<i64> = 9_800_000_000..=11_500_000_000;
/// After a loss few segments are under way, whoever sends.
const CALM_NS: i64 = 1_000_000_000;
/// What of that is seen.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Few segments are under way, how many passed since, and since when; no time if there had not been many, or none.
    few: Option<(u32, Option<i64>)>,
    probed_at: Option<i64>,
    seen: bool,
}

impl Probes {
    pub(super) fn are_seen(&self) -> bool {
        self.seen
    }

    /// A segment was sent with which so much is under way, as there had been before; when a loss was found last.
    pub(super) fn sent(&mut self, [flight, before]: [i64; 2], segment: i64, lost_at: Option<i64>, now: i64) {
        if flight <= FEW * segment {
            let many = before >= MANY * segment;
            let (segments, since) = self.few.unwrap_or((0, (many && flight > segment).then_some(now)));
            self.few = Some((segments.saturating_add(1), since));
            return;
        }
        let Some((segments, Some(since))) = self.few.take() else { return };
        let calm = lost_at.is_none_or(|at| since.saturating_sub(at) > CALM_NS);
        if calm && segments >= LEAST_SEGMENTS && PROBE_NS.contains(&now.saturating_sub(since)) {
            let before = self.probed_at.replace(since);
            self.seen |= before.is_some_and(|before| EVERY_NS.contains(&since.saturating_sub(before)));
        }
    }
}
