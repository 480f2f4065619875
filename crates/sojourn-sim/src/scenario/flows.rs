//! Groups of background flows: what sends, over which transport, with which settings.
//!
//! The preset `imc14` is the Harpoon load of the IMC 2014 study of buffer sizing and quality of experience: Weibull file sizes (shape 0.35,
//! scale 10039 B) and exponential inter-connection times. The mean of those is printed there as 2 s (1 s in the backbone), but
//! its published utilisations need 0.5 s; `imc14-as-printed` keeps 2 s.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Span};

use super::Invalid;
use crate::distribution::Distribution;

/// Which way data goes, seen from the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From clients to servers.
    Up,
    /// From servers to clients.
    Down,
}

/// TCP with a congestion controller, or UDP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// TCP Reno as Linux counts it, in bytes (RFC 5681); with `sack = false`, without New Reno's partial acknowledgements.
    Reno,
    /// TCP New Reno (RFC 6582) that counts ACKs (RFC 5681 equations 2 and 3) and grows only a window that was used up: ns-2, ns-3, and
    /// older Linux.
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
    /// UDP: the source paces itself.
    Udp,
}

impl Transport {
    /// Queueing delay that it aims at by default, if it aims at any.
    pub(super) fn target(self) -> Span {
        Span::from_millis(if self == Self::LedbatPlusPlus { 60 } else { 100 })
    }
}

/// How CUBIC's slow start ends before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum HyStart {
    /// It does not.
    #[default]
    None,
    /// As in Linux: by delay or by the length of a train of ACKs.
    Linux,
    /// HyStart++ (RFC 9406).
    Rfc9406,
}

/// The TCP settings of a group of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    /// Congestion controller; never [`Transport::Udp`] in a checked scenario.
    pub transport: Transport,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Acknowledge every second segment.
    pub delayed_ack: bool,
    /// Longest time that an acknowledgement is delayed.
    pub ack_delay: Span,
    /// Selective acknowledgements.
    pub sack: bool,
    /// Timestamps, 12 bytes in every header.
    pub timestamps: bool,
    /// Receive window.
    pub receive_window: Bytes,
    /// Least retransmission timeout.
    pub min_rto: Span,
    /// Return to the initial window after an idle time of one retransmission timeout.
    pub idle_restart: bool,
    /// Send new data on the first two duplicate acknowledgements.
    pub limited_transmit: bool,
    /// Queueing delay that [`Transport::Ledbat`] and [`Transport::LedbatPlusPlus`] aim at.
    pub ledbat_target: Span,
    /// How the slow start of [`Transport::Cubic`] and [`Transport::CubicRfc9438`] ends before a loss.
    pub hystart: HyStart,
}

/// Declares a struct of a study file with the keys of [`Tcp`] beside its own, which serde's `flatten` cannot do without giving up
/// the refusal of unknown keys.
macro_rules! with_tcp_keys {
    (
        initial_window = $initial_window:expr;
        $(#[$meta:meta])* pub struct $Name:ident { $($(#[$field_meta:meta])* pub $field:ident: $Type:ty,)* }
    ) => {
        $(#[$meta])*
        pub struct $Name {
            $($(#[$field_meta])* pub $field: $Type,)*
            /// Payload of a full segment, timestamps not included.
            #[serde(default = "tcp_defaults::mss")]
            pub mss: sojourn_net::Bytes,
            /// Initial window in segments.
            #[serde(default = "tcp_defaults::initial_window")]
            pub initial_window: u32,
            /// Acknowledge every second segment, or after `ack-delay`.
            #[serde(default = "tcp_defaults::yes")]
            pub delayed_ack: bool,
            /// Longest time that an acknowledgement is delayed.
            #[serde(default = "tcp_defaults::ack_delay")]
            pub ack_delay: sojourn_net::Span,
            /// Selective acknowledgements (RFC 2018, RFC 6675).
            #[serde(default = "tcp_defaults::yes")]
            pub sack: bool,
            /// Timestamps (RFC 7323): 12 bytes in every header.
            #[serde(default = "tcp_defaults::yes")]
            pub timestamps: bool,
            /// Receive window.
            #[serde(default = "tcp_defaults::receive_window")]
            pub receive_window: sojourn_net::Bytes,
            /// Least retransmission timeout.
            #[serde(default = "tcp_defaults::min_rto")]
            pub min_rto: sojourn_net::Span,
            /// Return to the initial window after an idle time of one retransmission timeout (RFC 5681 §4.1).
            #[serde(default = "tcp_defaults::yes")]
            pub idle_restart: bool,
            /// Send new data on the first two duplicate acknowledgements (RFC 3042).
            #[serde(default = "tcp_defaults::yes")]
            pub limited_transmit: bool,
            /// Queueing delay that the transports `ledbat` (100 ms if absent) and `ledbat++` (60 ms) aim at; others ignore it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub ledbat_target: Option<sojourn_net::Span>,
            /// How CUBIC's slow start ends before a loss, `none` if absent; others ignore it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub hystart: Option<$crate::scenario::HyStart>,
        }

        /// Defaults: Linux's, but for the initial window.
        mod tcp_defaults {
            use sojourn_net::{Bytes, Span};
            pub(super) fn mss() -> Bytes { Bytes(1448) }
            pub(super) fn initial_window() -> u32 { $initial_window }
            pub(super) fn yes() -> bool { true }
            pub(super) fn ack_delay() -> Span { Span::from_millis(40) }
            pub(super) fn receive_window() -> Bytes { Bytes(16_000_000) }
            pub(super) fn min_rto() -> Span { Span::from_millis(200) }
        }

        impl $Name {
            /// The TCP settings.
            pub fn tcp(&self) -> $crate::scenario::Tcp {
                $crate::scenario::Tcp {
                    transport: self.transport,
                    mss: self.mss,
                    initial_window: self.initial_window,
                    delayed_ack: self.delayed_ack,
                    ack_delay: self.ack_delay,
                    sack: self.sack,
                    timestamps: self.timestamps,
                    receive_window: self.receive_window,
                    min_rto: self.min_rto,
                    idle_restart: self.idle_restart,
                    limited_transmit: self.limited_transmit,
                    ledbat_target: self.ledbat_target.unwrap_or(self.transport.target()),
                    hystart: self.hystart.unwrap_or_default(),
                }
            }
        }
    };
}
pub(super) use with_tcp_keys;

with_tcp_keys! {
    initial_window = 10;
    /// A group of background flows.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "kebab-case", deny_unknown_fields)]
    pub struct Flows {
        /// Names the group's random stream; by default `flows-N`, or `workload-N` in a workload, N from 0.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub name: Option<String>,
        /// What sends.
        pub source: SourceSpec,
        /// `udp` for sources that pace themselves (cbr, poisson), a TCP variant for the others.
        pub transport: Transport,
        /// Which way the data goes.
        pub direction: Direction,
        /// Number of flows, or of sessions.
        #[serde(default = "one")]
        pub count: u32,
        /// This group's own base round-trip time; by default the path's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub rtt: Option<Span>,
        /// Starts are spread uniformly over this time.
        #[serde(default = "start_within")]
        pub start_within: Span,
    }
}

pub(super) fn one() -> u32 {
    1
}

pub(super) fn start_within() -> Span {
    Span::from_secs(1)
}

/// What sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub enum SourceSpec {
    /// One transfer as fast as TCP goes.
    Bulk {
        /// Bytes to send; endless if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        size: Option<Bytes>,
    },
    /// Harpoon sessions: each starts one file transfer after another.
    Sessions(Sessions),
    /// UDP packets at a constant rate.
    Cbr {
        /// Rate of IP packets.
        rate: sojourn_net::Rate,
        /// Size of the IP packet.
        size: Bytes,
    },
    /// UDP packets as a Poisson process.
    Poisson {
        /// Mean rate of IP packets.
        rate: sojourn_net::Rate,
        /// Size of the IP packets: one value or a distribution.
        size: Distribution<Bytes>,
    },
}

/// Sessions in Harpoon's sense: a source and a destination between which connections start, each for one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "SessionsFile")]
pub struct Sessions {
    /// File sizes.
    pub sizes: Distribution<Bytes>,
    /// Time between the starts of connections of one session; with `closed-loop`, from the end of a transfer to the next start.
    pub interconnection: Distribution<Span>,
    /// Wait for a transfer to end before the next connection (Harpoon does not).
    pub closed_loop: bool,
    /// Connections that one session starts at a time.
    pub parallel: u32,
}

/// `source = { kind = "sessions", … }` as study files write it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Sessions")]
struct SessionsFile {
    /// Fills in `sizes` and `interconnection`.
    preset: Option<Preset>,
    /// File sizes.
    sizes: Option<Distribution<Bytes>>,
    /// Time between the starts of connections of one session.
    interconnection: Option<Distribution<Span>>,
    /// Wait for a transfer to end before the next connection (Harpoon does not).
    #[serde(default)]
    closed_loop: bool,
    /// Connections that one session starts at a time.
    #[serde(default = "one")]
    parallel: u32,
}

/// Published settings of sessions.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum Preset {
    /// Weibull sizes of mean 50 kB, exponential inter-connection times of mean 0.5 s, which fit the published utilisations.
    #[serde(rename = "imc14")]
    Imc14,
    /// The same sizes with the printed inter-connection mean of 2 s (the backbone's is 1 s: give `interconnection`).
    #[serde(rename = "imc14-as-printed")]
    Imc14AsPrinted,
}

impl TryFrom<SessionsFile> for Sessions {
    type Error = &'static str;

    fn try_from(file: SessionsFile) -> Result<Self, &'static str> {
        let sizes = || Distribution::Weibull { shape: 0.35, scale: Some(Bytes(10_039)), mean: None };
        let mean = |preset| match preset {
            Preset::Imc14 => Span::from_millis(500),
            Preset::Imc14AsPrinted => Span::from_secs(2),
        };
        let interconnection = |preset| Distribution::Exponential { mean: mean(preset) };
        Ok(Self {
            sizes: file
                .sizes
                .or_else(|| file.preset.map(|_| sizes()))
                .ok_or("sessions need sizes, or preset = \"imc14\"")?,
            interconnection: file
                .interconnection
                .or_else(|| file.preset.map(interconnection))
                .ok_or("sessions need interconnection, or preset = \"imc14\"")?,
            closed_loop: file.closed_loop,
            parallel: file.parallel,
        })
    }
}

impl JsonSchema for Sessions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        SessionsFile::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        SessionsFile::json_schema(generator)
    }
}

/// More of anything than this is taken for a slip.
const MANY: u32 = 100_000;

/// Refuses a number outside 1 to `MANY`.
pub(super) fn check_count(key: &str, count: u32) -> Result<(), Invalid> {
    match count {
        0 => Err(Invalid::new(key, "must be at least 1; leave the entry out to have none")),
        1..=MANY => Ok(()),
        _ => Err(Invalid::new(key, format!("{count} is more than {MANY}"))),
    }
}

impl Tcp {
    /// Checks the ranges of the settings.
    pub(super) fn check(&self) -> Result<(), Invalid> {
        if !(64..=64_000).contains(&self.mss.0) {
            let message = format!("{} is not a segment size; write 64B to 64kB", self.mss);
            return Err(Invalid::new("mss", message));
        }
        if !(1..=100).contains(&self.initial_window) {
            let message = format!("{} is not an initial window; write 1 to 100 segments", self.initial_window);
            return Err(Invalid::new("initial-window", message));
        }
        if self.receive_window < self.mss {
            let message = format!("{} is less than one segment of {}", self.receive_window, self.mss);
            return Err(Invalid::new("receive-window", message));
        }
        if self.min_rto == Span::ZERO {
            return Err(Invalid::new("min-rto", "a retransmission timeout must be longer than zero"));
        }
        if self.ledbat_target == Span::ZERO {
            return Err(Invalid::new("ledbat-target", "a target must be longer than zero"));
        }
        if self.transport == Transport::Ledbat && !self.timestamps {
            return Err(Invalid::new("timestamps", "ledbat measures delay by timestamps; leave them on"));
        }
        Ok(())
    }
}

/// Refuses sizes that are not those of an IP packet with a UDP header.
fn check_datagram(size: Bytes) -> Result<(), Invalid> {
    if (29..=65_535).contains(&size.0) {
        return Ok(());
    }
    let message = format!("{size} is not the size of a UDP packet; write 29B (28 of them headers) to 65535B");
    Err(Invalid::new("source.size", message))
}

impl Flows {
    /// Checks ranges, and that source and transport go together.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        self.tcp().check()?;
        let udp = self.transport == Transport::Udp;
        let (kind, paces_itself) = match &self.source {
            SourceSpec::Bulk { size } => {
                if *size == Some(Bytes(0)) {
                    return Err(Invalid::new("source.size", "a transfer must have at least one byte"));
                }
                ("bulk", false)
            }
            SourceSpec::Sessions(sessions) => {
                check_count("source.parallel", sessions.parallel)?;
                ("sessions", false)
            }
            SourceSpec::Cbr { size, .. } => {
                check_datagram(*size)?;
                ("cbr", true)
            }
            SourceSpec::Poisson { size, .. } => {
                if let Distribution::Fixed { value } = size {
                    check_datagram(*value)?;
                }
                ("poisson", true)
            }
        };
        match (udp, paces_itself) {
            (true, false) => Err(Invalid::new(
                "transport",
                format!("a {kind} source needs TCP to pace it; write reno, newreno or cubic, not udp"),
            )),
            (false, true) => {
                Err(Invalid::new("transport", format!("a {kind} source paces itself; write transport = \"udp\"")))
            }
            _ => Ok(()),
        }
    }
}
