//! The TCP settings of a group of connections, as keys of a study file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::tcp::{Config, EcnMode};
use sojourn_net::{Bytes, Span, refuse_if};

use crate::scenario::Invalid;

pub use sojourn_net::congestion::HyStart;
pub use sojourn_net::tcp::{Recovery, Stack};

/// TCP with a congestion controller, or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP Reno as Linux counts it, in bytes (RFC 5681); with `sack = false`, without New Reno's partial
    /// acknowledgements.
    Reno,
    /// TCP New Reno (RFC 6582) that counts ACKs (RFC 5681 equations 2 and 3) and grows only a window that was used up:
    /// ns-2, ns-3, and older Linux.
    NewReno,
    /// TCP CUBIC as Linux counts it, in whole segments.
    Cubic,
    /// TCP CUBIC to the letter of RFC 9438, in fractions of segments.
    #[serde(rename = "cubic-rfc9438")]
    CubicRfc9438,
    /// TCP BIC with Linux's constants.
    Bic,
    /// Compound TCP.
    Compound,
    /// LEDBAT (RFC 6817), a background transport; see `ledbat-target`.
    Ledbat,
    /// LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus); see `ledbat-target`.
    #[serde(rename = "ledbat++")]
    LedbatPlusPlus,
    /// CUBIC as in ns-2: that of Linux 2.6.22.
    #[serde(rename = "cubic-ns2")]
    CubicNs2,
    /// Compound TCP as in ns-2: in whole segments.
    #[serde(rename = "compound-ns2")]
    CompoundNs2,
    /// LEDBAT as in ns-2, after its first draft; see `ledbat-target`.
    #[serde(rename = "ledbat-ns2")]
    LedbatNs2,
    /// µTP's own controller, 100 ms.
    Utp,
    /// BBR version 1 as in Linux: a model of the path instead of losses.
    Bbr,
    /// BBR version 3 (draft-ietf-ccwg-bbr): a model of the path that losses bound.
    Bbr3,
    /// DCTCP (RFC 8257): a window cut by the share of marks.
    Dctcp,
    /// TCP Prague, of L4S.
    Prague,
    /// UDP: the source paces itself.
    Udp,
}

impl Transport {
    /// Queueing delay that it aims at by default, if it aims at any.
    pub(crate) fn target(self) -> Span {
        Span::from_millis(if self == Self::LedbatPlusPlus { 60 } else { 100 })
    }

    /// Cuts its window at each loss, and regains it as Reno or CUBIC do.
    pub(crate) fn cuts_at_losses(self) -> bool {
        matches!(self, Self::Reno | Self::NewReno | Self::Cubic | Self::CubicRfc9438 | Self::CubicNs2)
    }

    /// How it uses ECN when it does; only transports that are made for ECN use another than the classic one.
    pub(crate) fn ecn_mode(self) -> EcnMode {
        match self {
            Self::Dctcp => EcnMode::Dctcp,
            Self::Prague => EcnMode::Accurate,
            _ => EcnMode::Classic,
        }
    }
}

/// What the TCP keys of a group of connections come to: how their endpoints behave, and which controller they have.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// How the endpoints behave.
    pub endpoint: Config,
    /// Payload of a full segment, as it was written: a checked one is that of `endpoint`.
    pub mss: Bytes,
    /// Congestion controller; never [`Transport::Udp`] in a checked scenario.
    pub transport: Transport,
    /// Queueing delay that [`Transport::Ledbat`] and [`Transport::LedbatPlusPlus`] aim at.
    pub ledbat_target: Span,
    /// How many segments [`Transport::Ledbat`] moves towards it in a round trip at most.
    pub ledbat_gain: f64,
    /// How the slow start of [`Transport::Cubic`] and [`Transport::CubicRfc9438`] ends before a loss.
    pub hystart: HyStart,
    /// CUBIC never grows slower than Reno would.
    pub reno_friendly: bool,
}

/// Declares a struct of a study file with the keys of [`Tcp`] beside its own, which serde's `flatten` cannot do without
/// giving up the refusal of unknown keys. Defaults are Linux's, but for the initial window; without one it has none of
/// these keys.
macro_rules! with_tcp_keys {
    ($(#[$meta:meta])* pub struct $Name:ident { $($own:tt)* }) => {
        crate::scenario::defaults::keys! { $(#[$meta])* pub struct $Name { $($own)* } }
    };
    (
        initial_window = $initial_window:literal;
        $(#[$meta:meta])* pub struct $Name:ident { $($own:tt)* }
    ) => {
        crate::scenario::defaults::keys! {
            $(#[$meta])*
            pub struct $Name {
                $($own)*
                /// Payload of a full segment, timestamps not included.
                pub mss: sojourn_net::Bytes = "crate::scenario::defaults::bytes::<1448>",
                /// Initial window in segments.
                pub initial_window: u32 = $initial_window,
                /// Acknowledge every second segment, or after `ack-delay`.
                pub delayed_ack: bool = "crate::scenario::defaults::yes",
                /// Longest time that an acknowledgement is delayed.
                pub ack_delay: sojourn_net::Span = "crate::scenario::defaults::millis::<40>",
                /// Selective acknowledgements (RFC 2018, RFC 6675).
                pub sack: bool = "crate::scenario::defaults::yes",
                /// Timestamps (RFC 7323): 12 bytes in every header.
                pub timestamps: bool = "crate::scenario::defaults::yes",
                /// Receive window.
                pub receive_window: sojourn_net::Bytes = "crate::scenario::defaults::bytes::<16_000_000>",
                /// What the receiver of `stack = "linux"` has for data at first (the second number of `tcp_rmem`),
                /// 131072B if absent. It grows with what is read in a round trip; what arrives while the window follows
                /// it is acknowledged segment by segment. `receive-window` bounds it; other receivers ignore it.
                pub receive_buffer: Option<sojourn_net::Bytes>,
                /// Least retransmission timeout.
                pub min_rto: sojourn_net::Span = "crate::scenario::defaults::millis::<200>",
                /// Least 4·RTTVAR, which the retransmission timeout adds to the smoothed round trip. If absent, 200 ms,
                /// or `min-rto` where that is less: so Linux has it, whatever the `stack`; "0ms" is RFC 6298 to the
                /// letter.
                pub min_rttvar: Option<sojourn_net::Span>,
                /// Retransmission timeout before the first round trip has been measured, 1 s if absent (RFC 6298; 3 s
                /// before 2011, RFC 2988, and in ns-2).
                pub initial_rto: Option<sojourn_net::Span>,
                /// Return to the initial window after an idle time of one retransmission timeout (RFC 5681 §4.1).
                pub idle_restart: bool = "crate::scenario::defaults::yes",
                /// Send new data on the first two duplicate acknowledgements (RFC 3042).
                pub limited_transmit: bool = "crate::scenario::defaults::yes",
                /// Fast recovery reduces the window in proportion to what arrives (RFC 6937, with SACK), `true` if
                /// absent; `false`: at once, as in RFC 6675 alone and in ns-2.
                pub prr: Option<bool>,
                /// After a timeout the timer stays backed off until data that was first sent after it has been
                /// acknowledged (Karn's rule, RFC 6298 §5.7; so ns-2, timestamps or not). `false` if absent: until the
                /// next sample of the round trip, which with timestamps any advance is (RFC 7323, Linux).
                pub karn_backoff: Option<bool>,
                /// Queueing delay that the transports `ledbat`, `ledbat-ns2` (100 ms if absent) and `ledbat++` (60 ms)
                /// aim at; others ignore it.
                pub ledbat_target: Option<sojourn_net::Span>,
                /// GAIN of the transport `ledbat`, 1 if absent (RFC 6817 wants no more; RFC 7928 §5.4 has 10); others
                /// ignore it.
                pub ledbat_gain: Option<f64>,
                /// How CUBIC's slow start ends before a loss. If absent, `none`, but `linux` for the TCP of
                /// `stack = "linux"`; others ignore it.
                pub hystart: Option<$crate::scenario::HyStart>,
                /// CUBIC never grows slower than Reno would (RFC 9438 §4.3), `true` if absent; others ignore it.
                pub reno_friendly: Option<bool>,
                /// Packets leave at a rate: `true` as Linux's fq does it, at 2 (in slow start) or 1.2 × window / round
                /// trip unless the transport has a rate of its own; `false` never. If absent, as the transport asks.
                pub pacing: Option<bool>,
                /// Explicit congestion notification (RFC 3168): queues that mark may mark instead of dropping. If
                /// absent, off, but on for transports that are made for it.
                pub ecn: Option<bool>,
                /// How losses are found: `rfc6675`, or `rack-tlp` (RFC 8985: by time, with probes for losses at the
                /// tail). If absent, `rfc6675`, but `rack-tlp` with `stack = "linux"`.
                pub recovery: Option<$crate::scenario::Recovery>,
                /// Whose habits the endpoints have, `plain` if absent.
                pub stack: Option<$crate::scenario::Stack>,
            }
        }

        impl $Name {
            /// The TCP settings.
            pub fn tcp(&self) -> $crate::scenario::Tcp {
                use $crate::scenario::{HyStart, Recovery, Stack, Tcp, Transport};
                use sojourn_net::{Span, tcp};
                let stack = self.stack.unwrap_or_default();
                let (recovery, hystart) = match stack {
                    Stack::Plain => (Recovery::Rfc6675, HyStart::None),
                    Stack::Linux => (Recovery::RackTlp, HyStart::Linux),
                };
                let ecn_mode = self.transport.ecn_mode();
                Tcp {
                    endpoint: tcp::Config {
                        mss: self.mss.0 as u32,
                        initial_segments: self.initial_window,
                        ack_delay: if self.delayed_ack { self.ack_delay } else { Span::ZERO },
                        sack: self.sack,
                        timestamps: self.timestamps,
                        receive_window: self.receive_window.0,
                        receive_buffer: self.receive_buffer.map_or(128 << 10, |size| size.0),
                        min_rto: self.min_rto,
                        min_rttvar: self.min_rttvar.unwrap_or(self.min_rto.min(Span::from_millis(200))),
                        initial_rto: self.initial_rto.unwrap_or(Span::from_secs(1)),
                        idle_restart: self.idle_restart,
                        limited_transmit: self.limited_transmit,
                        grow_half_used: self.transport != Transport::NewReno,
                        partial_acks: self.transport != Transport::Reno,
                        prr: self.prr.unwrap_or(true),
                        karn_backoff: self.karn_backoff.unwrap_or(false),
                        pacing: match self.pacing {
                            None => tcp::Pacing::AsAsked,
                            Some(true) => tcp::Pacing::On,
                            Some(false) => tcp::Pacing::Off,
                        },
                        ecn: match self.ecn {
                            Some(false) => tcp::EcnMode::Off,
                            None if ecn_mode == tcp::EcnMode::Classic => tcp::EcnMode::Off,
                            _ => ecn_mode,
                        },
                        recovery: self.recovery.unwrap_or(recovery),
                        stack,
                    },
                    mss: self.mss,
                    transport: self.transport,
                    ledbat_target: self.ledbat_target.unwrap_or(self.transport.target()),
                    ledbat_gain: self.ledbat_gain.unwrap_or(1.0),
                    hystart: self.hystart.unwrap_or(hystart),
                    reno_friendly: self.reno_friendly.unwrap_or(true),
                }
            }
        }
    };
}
pub(in crate::scenario) use with_tcp_keys;

impl Tcp {
    /// Checks the ranges of the settings.
    pub(in crate::scenario) fn check(&self) -> Result<(), Invalid> {
        let endpoint = &self.endpoint;
        let (mss, initial, window) = (self.mss, endpoint.initial_segments, Bytes(endpoint.receive_window));
        refuse_if!(!(64..=64_000).contains(&mss.0), "mss", "{mss} is not a segment size; write 64B to 64kB");
        let known = (1..=100).contains(&initial);
        refuse_if!(!known, "initial-window", "{initial} is not an initial window; write 1 to 100 segments");
        refuse_if!(window < mss, "receive-window", "{window} is less than one segment of {mss}");
        let buffer = Bytes(endpoint.receive_buffer);
        let known = (1..1 << 31).contains(&buffer.0);
        refuse_if!(!known, "receive-buffer", "{buffer} is not a receive buffer; write 1B to 2147483647B");
        for (key, timeout) in [("min-rto", endpoint.min_rto), ("initial-rto", endpoint.initial_rto)] {
            refuse_if!(timeout == Span::ZERO, key, "a retransmission timeout must be longer than zero");
        }
        refuse_if!(self.ledbat_target == Span::ZERO, "ledbat-target", "a target must be longer than zero");
        let gain = self.ledbat_gain;
        let known = gain > 0.0 && gain <= 1000.0;
        refuse_if!(!known, "ledbat-gain", "{gain} is not a gain; write more than 0, up to 1000");
        refuse_if!(endpoint.recovery == Recovery::RackTlp && !endpoint.sack, "recovery", "rack-tlp needs sack = true");
        let by_timestamps = [Transport::Ledbat, Transport::LedbatNs2, Transport::Utp].contains(&self.transport);
        let lacking = by_timestamps && !endpoint.timestamps;
        refuse_if!(lacking, "timestamps", "this transport measures delay by timestamps; leave them on");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Flows;

    #[test]
    fn four_times_the_variance_is_200_ms_or_the_least_timeout_unless_the_study_says_otherwise() {
        let least = |keys: &str| {
            let flow = format!(r#"{{"source": {{"kind": "bulk"}}, "transport": "reno", "direction": "down"{keys}}}"#);
            serde_json::from_str::<Flows>(&flow).expect("the test's own flows").tcp().endpoint.min_rttvar
        };
        for (keys, want) in [
            ("", 200),
            (r#", "min-rto": "1s""#, 200),
            (r#", "min-rto": "100ms""#, 100),
            (r#", "min-rttvar": "0ms""#, 0),
            (r#", "min-rttvar": "500ms", "stack": "linux""#, 500),
        ] {
            assert_eq!(least(keys), Span::from_millis(want), "{keys}");
        }
    }
}
