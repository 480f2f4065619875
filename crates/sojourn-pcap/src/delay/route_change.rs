//! Changes of route, by the hop limit.
//!
//! A longer path looks like a standing queue, and nothing but the hop limit tells them apart for sure. A new hop limit
//! that stays for [`PERSISTS`] packets is a new route, with a base delay of its own; balanced paths, whose packets
//! alternate, are left alone.

const PERSISTS: u8 = 8;

/// The hop limit of one direction of a flow.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Route {
    current: u8,
    other: u8,
    others: u8,
}

impl Route {
    /// Count a packet; true if the route changed for good.
    #[inline]
    pub(crate) fn changed(&mut self, ttl: u8) -> bool {
        if ttl == self.current {
            self.others = 0;
            return false;
        }
        self.other_limit(ttl)
    }

    fn other_limit(&mut self, ttl: u8) -> bool {
        if self.current == 0 {
            self.current = ttl;
            return false;
        }
        self.others = if ttl == self.other { self.others + 1 } else { 1 };
        self.other = ttl;
        if self.others < PERSISTS {
            return false;
        }
        *self = Self { current: ttl, other: 0, others: 0 };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lasting_change_counts() {
        let mut route = Route::default();
        assert!(!(0..100).any(|i| route.changed(60 + i % 2)));
        assert!(!route.changed(60));
        assert_eq!((0..20).filter(|_| route.changed(58)).count(), 1);
    }

    #[test]
    fn the_eighth_packet_in_a_row_makes_a_new_route() {
        let mut route = Route::default();
        assert!(!route.changed(64));
        assert_eq!((0..9).map(|_| route.changed(60)).position(|changed| changed), Some(7));
        // Another one between, or a packet of the present route, and the count begins anew.
        for between in [61, 60] {
            let seen: Vec<bool> = [[64; 7], [between; 7]].concat()[..8].iter().map(|ttl| route.changed(*ttl)).collect();
            assert_eq!(seen, [false; 8], "{between}");
            assert_eq!((0..9).map(|_| route.changed(64)).position(|changed| changed), Some(7));
            assert_eq!((0..9).map(|_| route.changed(60)).position(|changed| changed), Some(7));
        }
    }
}
