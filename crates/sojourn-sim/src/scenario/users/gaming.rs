//! Players: of online games that their own machine draws, and of games that are streamed to them.
//!
//! The sizes of ticks, the interpolation of two ticks, the rate of input and the patience of two pictures are from
//! memory; tick rates are those that games publish (64 and 128).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Rate, Span, refuse_if};

use crate::app::Pace;
use crate::scenario::Invalid;
use crate::scenario::defaults::{bits, bytes, count, millis, secs};
use crate::scenario::flows::check_count;

use super::with_keys_of_users;

with_keys_of_users! {
    /// Players of an online game that their own machine draws: a datagram a tick in both directions, scored by the
    /// share of ticks that come too late. No opinion score: none has a published source.
    pub struct Gaming {
        /// Number of players.
        pub count: u32 = "count::<1>",
        /// Ticks a second, either way.
        pub tick_rate: u32 = "count::<64>",
        /// Size at IP of a tick to the player. From memory.
        pub down: Bytes = "bytes::<300>",
        /// Size at IP of a tick from the player. From memory.
        pub up: Bytes = "bytes::<100>",
        /// Ticks that the game waits for one that is late. From memory.
        pub interpolation: u32 = "count::<2>",
        /// Playing starts within this time.
        pub start_within: Span = "secs::<1>",
    }
}

with_keys_of_users! {
    /// Players of a game that is streamed to them at a constant rate, scored by ITU-T G.1072.
    pub struct CloudGaming {
        /// Number of players.
        pub count: u32 = "count::<1>",
        /// Rate of the video, without headers. It does not adapt, which services do.
        pub rate: Rate = "bits::<25_000_000>",
        /// Pictures a second.
        pub frame_rate: u32 = "count::<60>",
        /// Width and height of a picture.
        pub pixels: [u32; 2] = "pixels",
        /// Class of the game's video in G.1072.
        pub complexity: Class = "Class::default",
        /// Class in G.1072 of how much the player depends on timing.
        pub interaction: Class = "Class::default",
        /// Inputs a second, of 100 bytes. From memory.
        pub input_rate: u32 = "count::<125>",
        /// A packet that takes so much longer than the median one of its ten seconds counts as lost. From memory.
        pub patience: Span = "millis::<33>",
        /// Playing starts within this time.
        pub start_within: Span = "secs::<1>",
    }
}

/// A class of G.1072; by default the most demanding one, as there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Low.
    Low,
    /// Medium.
    Medium,
    /// High.
    #[default]
    High,
}

fn pixels() -> [u32; 2] {
    [1920, 1080]
}

/// Payload of a full packet of video, and what headers add: RTP, UDP and IP.
const PAYLOAD: u64 = 1200;
const HEADERS: u64 = 40;
/// Bytes of an input at IP.
const INPUT: u16 = 100;
/// More messages a second than this are taken for a slip.
const FASTEST: u32 = 1000;

fn check_pace(key: &str, per_second: u32) -> Result<(), Invalid> {
    refuse_if!(!(1..=FASTEST).contains(&per_second), key, "{per_second} a second; write 1 to {FASTEST}");
    Ok(())
}

impl Gaming {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        check_pace("tick-rate", self.tick_rate)?;
        for (key, size) in [("down", self.down), ("up", self.up)] {
            let known = (29..=1500).contains(&size.0);
            refuse_if!(!known, key, "{size} is not the size of a tick; write 29B (28 of them headers) to 1500B");
        }
        Ok(())
    }

    /// To the player, and from it.
    pub(crate) fn paces(&self) -> [Pace; 2] {
        [self.down, self.up].map(|size| Pace { per_second: self.tick_rate, sizes: vec![size.0 as u16] })
    }
}

impl CloudGaming {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        check_pace("frame-rate", self.frame_rate)?;
        check_pace("input-rate", self.input_rate)?;
        let known = (100_000..=1_000_000_000).contains(&self.rate.0);
        refuse_if!(!known, "rate", "{} is not a game's rate; write 100kbit to 1Gbit", self.rate);
        refuse_if!(self.pixels.contains(&0), "pixels", "a picture has a width and a height, as in [1920, 1080]");
        Ok(())
    }

    /// To the player, and from it: a picture's packets, all full but the last.
    pub(crate) fn paces(&self) -> [Pace; 2] {
        let bytes = (self.rate.0 / 8 / u64::from(self.frame_rate)).max(1);
        let full = std::iter::repeat_n(PAYLOAD, (bytes / PAYLOAD) as usize);
        let rest = Some(bytes % PAYLOAD).filter(|rest| *rest > 0);
        let sizes = full.chain(rest).map(|payload| (payload + HEADERS) as u16).collect();
        [Pace { per_second: self.frame_rate, sizes }, Pace { per_second: self.input_rate, sizes: vec![INPUT] }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &str) -> CloudGaming {
        serde_json::from_str(keys).unwrap()
    }

    #[test]
    fn a_picture_is_as_many_packets_as_its_rate_asks_for() {
        let [picture, input] = read("{}").paces();
        assert_eq!(picture.sizes.iter().map(|size| u64::from(*size) - HEADERS).sum::<u64>(), 25_000_000 / 8 / 60);
        assert_eq!((picture.sizes.len(), picture.sizes[0], input.per_second), (44, 1240, 125));
        let [small, _] = read("{\"rate\": \"100kbit\", \"frame-rate\": 60}").paces();
        assert_eq!(small.sizes, [248]);
    }

    #[test]
    fn settings_have_ranges() {
        for (keys, key) in [
            ("{\"frame-rate\": 0}", "frame-rate"),
            ("{\"rate\": \"1kbit\"}", "rate"),
            ("{\"pixels\": [0, 1]}", "pixels"),
        ] {
            assert_eq!(read(keys).check().unwrap_err().key, key);
        }
        let ticks: Gaming = serde_json::from_str("{\"down\": \"9B\"}").unwrap();
        assert_eq!(ticks.check().unwrap_err().key, "down");
    }
}
