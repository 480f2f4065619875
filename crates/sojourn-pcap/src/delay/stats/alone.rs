//! How many packets nothing tells of, and what they may have waited.

/// Packets of which nothing tells, and no others beside them; and by how much what was placed beside others is open.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Alone {
    pub(crate) packets: u64,
    /// What they waited at the most, all together, ns: no more than their answers say, than leaves them before those
    /// that were sent later, and than anyone is known to have waited.
    pub(crate) most: f64,
    /// Those beside others waited as these did; so much longer they may have waited, all together, ns.
    pub(crate) longer: f64,
    /// Others, of which nothing tells whether they arrived, and what all of them waited if they did, ns.
    pub(crate) doubted: (u64, f64),
}

impl Alone {
    pub(super) fn add(&mut self, packets: u32, most: f64) {
        self.packets += u64::from(packets);
        self.most += f64::from(packets) * most;
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.packets += other.packets;
        self.most += other.most;
        self.longer += other.longer;
        self.doubted.0 += other.doubted.0;
        self.doubted.1 += other.doubted.1;
    }
}
