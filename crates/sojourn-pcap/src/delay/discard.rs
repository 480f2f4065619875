//! Why a packet gave no sample.

use sojourn_net::named;

named! {
    /// Why a packet gave no sample.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Discard {
        /// TCP without the timestamps option.
        NoTimestamps = "no_timestamps",
        /// Its options were cut by the snap length.
        OptionsCut = "options_cut_by_snap_length",
        /// It was overtaken: its stamp is older than one that came before.
        Reordered = "reordered",
        /// The same packet again, as captures on several interfaces have it.
        Duplicate = "duplicate",
        /// The tick of the sender's clock could not be found.
        TickUnknown = "tick_unknown",
        /// uTP: it reported nothing yet (difference 0).
        NoReport = "no_report_yet",
        /// Acknowledged while a hole was open, so that its arrival is not known.
        DuringHole = "during_hole",
        /// Acknowledged together with a later one.
        CoveredByLater = "acknowledged_with_a_later_one",
        /// Its flow had one packet only.
        Alone = "only_packet_of_its_flow",
        /// Its capture time was years from the first.
        TimeOutOfRange = "time_out_of_range",
        /// The estimator gave a delay that no queue has.
        Implausible = "implausible_delay",
        /// To the host: its acknowledgement may have been a delayed one.
        DelayedAck = "acknowledgement_perhaps_delayed",
        /// To the host: it paused before it echoed the packet's stamp.
        Paused = "echoed_after_a_pause",
    }
}
