//! Proportional rate reduction: how much each acknowledgement may release during fast recovery.
//!
//! Source: RFC 6937 (2013) §3 with the slow-start reduction bound, as RFC 9937 makes it depend on whether the ACK is
//! "safe" (it advances and brings no news of further losses). Counted in bytes. Linux differs: the share is of the
//! window, not of what was outstanding, and is rounded up to whole segments; an ACK always releases what it delivered.

/// State of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Prr {
    /// Bytes outstanding when recovery began.
    recover_fs: u64,
    delivered: u64,
    out: u64,
    /// Below the threshold even an ACK that is not safe releases what it delivered, as in Linux.
    conserves: bool,
}

impl Prr {
    /// Recovery begins with so many bytes outstanding (in Linux: with this window).
    pub(in crate::tcp) fn begin(outstanding: u64, conserves: bool) -> Self {
        Self { recover_fs: outstanding.max(1), conserves, ..Self::default() }
    }

    /// So many bytes count as delivered, though no acknowledgement says so.
    pub(in crate::tcp) fn credit(&mut self, bytes: u64) {
        self.delivered += bytes;
    }

    /// So many bytes were sent.
    pub(in crate::tcp) fn sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// An acknowledgement delivered so many bytes and left `pipe` in the network: bytes that may be sent now.
    pub(in crate::tcp) fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64, safe: bool) -> u64 {
        self.delivered += delivered;
        if pipe > ssthresh {
            let due = (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.recover_fs)) as u64;
            let due = if self.conserves { due.next_multiple_of(mss) } else { due };
            due.saturating_sub(self.out)
        } else {
            let owed = self.delivered.saturating_sub(self.out);
            let kept = if safe || self.conserves { owed.max(delivered) } else { owed };
            let bound = if safe { kept + mss } else { kept };
            bound.min(ssthresh - pipe)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One ACK each delivering one segment; everything released is sent.
    fn released(ssthresh: u64, recover_fs: u64, pipes: impl Iterator<Item = u64>, safe: bool) -> Vec<u64> {
        let mut prr = Prr::begin(recover_fs, false);
        pipes
            .map(|pipe| {
                let count = prr.on_ack(1, pipe, ssthresh, 1, safe);
                prr.sent(count);
                count
            })
            .collect()
    }

    #[test]
    fn half_the_acks_release_a_segment_until_pipe_is_at_the_threshold() {
        assert_eq!(released(10, 20, (8..20).rev(), true), [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2]);
    }

    #[test]
    fn below_the_threshold_an_unsafe_ack_releases_what_was_delivered() {
        assert_eq!(released(5, 10, (1..10).rev(), false), [1, 0, 1, 0, 0, 1, 2, 3, 1]);
    }

    #[test]
    fn linux_rounds_the_share_up_to_segments_and_always_releases_what_was_delivered() {
        let mut rfc = Prr::begin(2000, false);
        let mut linux = Prr::begin(2000, true);
        assert_eq!(rfc.on_ack(300, 1900, 1000, 100, true), 150);
        assert_eq!(linux.on_ack(300, 1900, 1000, 100, true), 200);
        // Below the threshold, nothing owed, and not safe.
        for (conserves, released) in [(false, 0), (true, 100)] {
            let mut prr = Prr::begin(2000, conserves);
            prr.sent(1000);
            assert_eq!(prr.on_ack(100, 500, 1000, 100, false), released);
        }
    }

    #[test]
    fn what_counts_as_delivered_before_any_acknowledgement_brings_the_releases_forward() {
        // After its timer for reordering, with a window of 11 and a threshold of 7, Linux 6.18 was seen to send new
        // data at the second, fourth, fifth, seventh and eighth duplicate, of which the first came before the timer.
        let released = |credit| {
            let mut prr = Prr::begin(11, true);
            prr.credit(credit);
            prr.sent(1);
            let mut ack = |pipe| {
                let count = prr.on_ack(1, pipe, 7, 1, true);
                prr.sent(count);
                count
            };
            [11, 11, 10, 10, 10, 9, 9, 9].map(&mut ack)
        };
        assert_eq!(released(1), [1, 0, 1, 1, 0, 1, 1, 0]);
        assert_eq!(released(0), [0, 1, 0, 1, 1, 0, 1, 1]);
    }

    #[test]
    fn at_the_threshold_nothing_is_released_and_never_more_than_up_to_it() {
        let mut prr = Prr::begin(2000, false);
        assert_eq!(prr.on_ack(500, 1000, 1000, 100, true), 0);
        assert_eq!(prr.on_ack(500, 950, 1000, 100, true), 50);
    }
}
