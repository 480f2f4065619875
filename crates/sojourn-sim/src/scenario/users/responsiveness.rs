//! Those who test the responsiveness of the path under load. Defaults are those of draft-ietf-ippm-responsiveness-06.

use sojourn_net::{Span, refuse_if};

use crate::scenario::defaults::{count, secs, yes};
use crate::scenario::flows::check_count;
use crate::scenario::{CallDirection, Invalid, Transport};

use super::{check_tcp, cubic, with_keys_of_users};

with_keys_of_users! {
    initial_window = "count::<10>";
    /// Users who load the path with connections of their own and probe how quickly it answers: round trips a minute.
    pub struct Responsiveness {
        /// Number of users.
        pub count: u32 = "count::<1>",
        /// Which way the load goes; `both` at once has one score.
        pub direction: CallDirection = "down",
        /// Load connections each way: at the beginning (INP), more with each interval (INC), at most (MNP).
        pub connections: (u32, u32, u32) = "connections",
        /// Length of an interval (ID).
        pub interval: Span = "secs::<1>",
        /// Number of moving averages that decide whether goodput is stable, and of intervals that are scored (MAD).
        pub averages: u32 = "count::<4>",
        /// Stable: the standard deviation of the moving averages is within this share of the newest (SDT).
        pub tolerance: f64 = "twentieth",
        /// Share of the slowest probes that is left out of the means (100 % less TMP).
        pub trim: f64 = "twentieth",
        /// Most probes a second (MPS).
        pub probes: u32 = "count::<100>",
        /// Most of the goodput that probes may cost (PTC).
        pub probe_share: f64 = "twentieth",
        /// Foreign probes have a TLS handshake, of one round trip.
        pub tls: bool = "yes",
        /// How long a test lasts that is not stable before.
        pub length: Span = "secs::<20>",
        /// Time from the end of a test to the next.
        pub pause: Span = "secs::<5>",
        /// Congestion controller.
        pub transport: Transport = "cubic",
        /// This group's own base round-trip time; by default the path's.
        pub rtt: Option<Span>,
        /// First tests are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
    }
}

fn down() -> CallDirection {
    CallDirection::Down
}

fn connections() -> (u32, u32, u32) {
    (1, 1, 16)
}

fn twentieth() -> f64 {
    0.05
}

impl Responsiveness {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        check_tcp(&self.tcp(), "load and probes are")?;
        let (first, more, most) = self.connections;
        if first == 0 || first > most || most > 1000 || more > most {
            let message =
                format!("[{first}, {more}, {most}] must be first, more and most: at least 1, and at most 1000");
            return Err(Invalid::new("connections", message));
        }
        refuse_if!(!(1..=100).contains(&self.averages), "averages", "{}: expected 1 to 100", self.averages);
        check_count("probes", self.probes)?;
        for (key, share) in [("tolerance", self.tolerance), ("trim", self.trim), ("probe-share", self.probe_share)] {
            let least = if key == "probe-share" { "more than 0" } else { "0 or more" };
            let known = (0.0..1.0).contains(&share) && (key != "probe-share" || share > 0.0);
            refuse_if!(!known, key, "{share} is not a share; write {least} and less than 1");
        }
        let (averages, interval, length) = (self.averages, self.interval, self.length);
        refuse_if!(interval < Span::from_millis(10), "interval", "{interval} is too short; write 10ms or more");
        let short = length < interval * u64::from(averages);
        refuse_if!(short, "length", "{length} does not hold {averages} intervals of {interval}");
        Ok(())
    }
}
