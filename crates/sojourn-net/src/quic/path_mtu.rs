//! How long a datagram may be: known beforehand, or searched for by probes that carry nothing but padding.
//!
//! Source: RFC 8899 §5 (DPLPMTUD), RFC 9000 §14.3. The search is quinn's (0.11): from 1200 bytes the middle of what is
//! still possible, until a step is below 20 bytes, and then the most. A size is given up when three probes of it are
//! lost, which is no sign of congestion. Differences: a path that has become narrower is not noticed (quinn takes four
//! bursts of losses for that, and did in 2 of 307 connections through a full queue), and no search begins again later.

use super::packet::{DATAGRAM, INITIAL};

/// Probes of a size that are lost before it is given up (`MAX_PROBES`, RFC 8899 §5.1.2).
const MOST_PROBES: u32 = 3;
/// Fewer bytes are not worth another probe.
const LEAST_STEP: u64 = 20;

/// What is known of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PathMtu {
    /// What gets through, as far as is known.
    current: u64,
    /// What may get through.
    most: u64,
    /// What gets through any path.
    least: u64,
    /// The size that was tried last.
    tried: u64,
    probe: Option<Probe>,
}

/// A size that is being tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    bytes: u64,
    /// The packet under way that has it.
    number: Option<u64>,
    lost: u32,
}

impl PathMtu {
    /// Full datagrams get through: there is nothing to search.
    pub(super) const KNOWN: Self = Self::known(DATAGRAM);
    /// Those of the handshake do; more is to be found.
    pub(super) const SEARCHED: Self = Self::between(INITIAL, DATAGRAM);

    /// Datagrams of so many bytes do, and no longer ones.
    pub(super) const fn known(bytes: u64) -> Self {
        Self::between(bytes, bytes)
    }

    const fn between(least: u64, most: u64) -> Self {
        Self { current: least, most, least, tried: least, probe: None }
    }

    /// Payload of a full datagram now.
    pub(super) fn current(&self) -> u64 {
        self.current
    }

    /// Payload of one that has to get through, whatever has become of the path.
    pub(super) fn least(&self) -> u64 {
        self.least
    }

    /// The size of a probe, if the packet of this number is to be one.
    pub(super) fn probes(&mut self, number: u64) -> Option<u64> {
        if self.probe.is_none() {
            self.probe = self.next().map(|bytes| Probe { bytes, number: None, lost: 0 });
        }
        let probe = self.probe.as_mut().filter(|probe| probe.number.is_none())?;
        (probe.number, self.tried) = (Some(number), probe.bytes);
        Some(probe.bytes)
    }

    /// Half of the way to the most; all of it if that is too near to the last size, and this is not.
    fn next(&self) -> Option<u64> {
        let middle = (self.current + self.most) / 2;
        let halves = middle.abs_diff(self.tried) >= LEAST_STEP;
        let ends = self.most >= self.tried + LEAST_STEP;
        if halves { Some(middle) } else { ends.then_some(self.most) }
    }

    /// A packet was acknowledged.
    pub(super) fn acknowledged(&mut self, number: u64) {
        if let Some(probe) = self.probe.take_if(|probe| probe.number == Some(number)) {
            self.current = probe.bytes;
        }
    }

    /// A packet was lost; whether it was a probe.
    pub(super) fn lost(&mut self, number: u64) -> bool {
        let Some(probe) = self.probe.as_mut().filter(|probe| probe.number == Some(number)) else { return false };
        (probe.number, probe.lost) = (None, probe.lost + 1);
        if probe.lost == MOST_PROBES {
            self.most = probe.bytes - 1;
            self.probe = None;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that a search tries on a path that lets so many bytes through, and what it has found.
    fn search(through: u64) -> (Vec<u64>, u64) {
        let (mut mtu, mut tried) = (PathMtu::SEARCHED, Vec::new());
        for number in 0..100 {
            let Some(bytes) = mtu.probes(number) else { break };
            assert_eq!(mtu.probes(number + 1), None, "one at a time");
            tried.push(bytes);
            if bytes > through {
                assert!(mtu.lost(number));
            } else {
                mtu.acknowledged(number);
            }
        }
        (tried, mtu.current())
    }

    #[test]
    fn a_search_halves_what_is_left_and_ends_with_the_most() {
        assert_eq!(search(1452), (vec![1326, 1389, 1420, 1452], 1452));
    }

    #[test]
    fn a_size_is_given_up_after_three_losses() {
        assert_eq!(search(1400), (vec![1326, 1389, 1420, 1420, 1420], 1389));
        assert_eq!(search(1388).0, [1326, 1389, 1389, 1389, 1357, 1388]);
        assert_eq!(search(1199).1, 1200);
    }

    #[test]
    fn other_packets_change_nothing_and_a_known_path_is_not_searched() {
        let mut mtu = PathMtu::SEARCHED;
        assert_eq!(mtu.probes(5), Some(1326));
        mtu.acknowledged(4);
        assert!(!mtu.lost(6));
        assert_eq!(mtu.current(), 1200);
        assert!(mtu.lost(5) && mtu.probes(9) == Some(1326));
        mtu.acknowledged(5);
        assert_eq!(mtu.current(), 1200, "it was lost before");
        mtu.acknowledged(9);
        assert_eq!(mtu.current(), 1326);
        let mut known = PathMtu::KNOWN;
        assert_eq!((known.probes(0), known.current(), known.least()), (None, 1452, 1452));
    }
}
