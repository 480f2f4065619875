//! What sends in the background.
//!
//! The preset `imc14` is the Harpoon load of the IMC 2014 study of buffer sizing and quality of experience: Weibull
//! file sizes (shape 0.35, scale 10039 B) and exponential inter-connection times. The mean of those is printed there as
//! 2 s (1 s in the backbone), but its published utilisations need 0.5 s; `imc14-as-printed` keeps 2 s.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Span, refuse_if};

use super::check_count;
use super::packmime::{Packmime, PackmimeFile};
use super::recorded::Recorded;
use super::video::Video;
use crate::distribution::Distribution;
use crate::scenario::Invalid;
use crate::scenario::defaults::{bytes, count, millis, secs};

/// What sends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
#[serde(expecting = "a table such as { kind = \"bulk\" }")]
pub enum SourceSpec {
    /// One transfer as fast as TCP goes.
    Bulk {
        /// Bytes to send; endless if absent.
        size: Option<Bytes>,
    },
    /// Harpoon sessions: each starts one file transfer after another.
    #[schemars(with = "SessionsFile")]
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
    /// Web connections that start whatever becomes of the earlier ones (PackMime-HTTP).
    #[schemars(with = "PackmimeFile")]
    Packmime(Packmime),
    /// Packets of variable-bit-rate video over UDP.
    Video(Video),
    /// The traffic of a capture.
    Recorded(Recorded),
    /// TCP bursts of 1, 2, 4, … segments, again and again on one connection.
    Chirp {
        /// Bursts of a chirp, the first of one segment.
        #[serde(default = "count::<10>")]
        bursts: u32,
        /// Time between bursts.
        #[serde(default = "secs::<1>")]
        gap: Span,
        /// Time between the beginnings of chirps.
        #[serde(default = "secs::<30>")]
        every: Span,
    },
    /// A small TCP message again and again on one connection.
    Heartbeat {
        /// Bytes of a message.
        #[serde(default = "bytes::<64>")]
        size: Bytes,
        /// Time between messages.
        #[serde(default = "millis::<200>")]
        every: Span,
    },
    /// UDP packets at a constant rate for a random time, then none for another.
    OnOff {
        /// Rate of IP packets while it is on.
        rate: sojourn_net::Rate,
        /// Size of the IP packet.
        size: Bytes,
        /// How long it is on.
        on: Distribution<Span>,
        /// How long it is off.
        off: Distribution<Span>,
    },
}

/// Sessions in Harpoon's sense: a source and a destination between which connections start, each for one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", try_from = "SessionsFile")]
pub struct Sessions {
    /// File sizes.
    pub sizes: Distribution<Bytes>,
    /// Time between the starts of connections of one session; with `closed-loop`, from the end of a transfer to the
    /// next start.
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
    #[serde(default = "count::<1>")]
    parallel: u32,
}

/// Published settings of sessions.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
enum Preset {
    /// Weibull sizes of mean 50 kB, exponential inter-connection times of mean 0.5 s, which fit the published
    /// utilisations.
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

/// Refuses sizes that are not those of an IP packet with a UDP header.
fn check_datagram(size: Bytes) -> Result<(), Invalid> {
    if (29..=65_535).contains(&size.0) {
        return Ok(());
    }
    let message = format!("{size} is not the size of a UDP packet; write 29B (28 of them headers) to 65535B");
    Err(Invalid::new("source.size", message))
}

impl SourceSpec {
    /// Checks ranges. Returns the kind, and whether it paces itself and so goes over UDP.
    pub(super) fn check(&self) -> Result<(&'static str, bool), Invalid> {
        Ok(match self {
            Self::Bulk { size } => {
                refuse_if!(*size == Some(Bytes(0)), "source.size", "a transfer must have at least one byte");
                ("bulk", false)
            }
            Self::Sessions(sessions) => {
                check_count("source.parallel", sessions.parallel)?;
                ("sessions", false)
            }
            Self::Cbr { size, .. } => check_datagram(*size).map(|()| ("cbr", true))?,
            Self::Poisson { size, .. } => {
                if let Distribution::Fixed { value } = size {
                    check_datagram(*value)?;
                }
                ("poisson", true)
            }
            Self::Packmime(packmime) => packmime.check().map(|()| ("packmime", false))?,
            Self::Video(video) => video.check().map(|()| ("video", true))?,
            Self::Recorded(recorded) => recorded.check().map(|()| ("recorded", false))?,
            Self::Chirp { bursts, gap, every } => {
                refuse_if!(!(1..=24).contains(bursts), "source.bursts", "{bursts} bursts; write 1 to 24");
                let fit = *every > Span::ZERO && *every >= *gap * u64::from(*bursts);
                refuse_if!(!fit, "source.every", "{bursts} bursts {gap} apart do not fit in every = \"{every}\"");
                ("chirp", false)
            }
            Self::Heartbeat { size, every } => {
                let small = *size == Bytes(0) || *every < Span(1000);
                refuse_if!(small, "source.every", "a heartbeat has at least one byte, and at least 1us between two");
                ("heartbeat", false)
            }
            Self::OnOff { size, .. } => check_datagram(*size).map(|()| ("on-off", true))?,
        })
    }

    /// The file whose content must be filled in before a run, if it is not.
    pub(in crate::scenario) fn missing(&self) -> Option<&str> {
        match self {
            Self::Video(video) => video.missing(),
            Self::Recorded(recorded) => recorded.missing(),
            _ => None,
        }
    }
}
