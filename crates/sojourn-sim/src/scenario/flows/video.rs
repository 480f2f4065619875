//! Video packets in study files: a model of frames, or a file of them.

use std::sync::Arc;

use rand_pcg::Pcg64Mcg;
use sojourn_net::{Bytes, Rate, refuse_if};

use crate::app::{Clip, FRAME_HEADERS};
use crate::scenario::Invalid;
use crate::scenario::content::filled_in;
use crate::scenario::defaults::{bits, count, keys, number};

keys! {
    /// A clip of video, sent again and again over RTP and UDP. Defaults are CIF at 450 kbit/s.
    #[schemars(rename = "VideoTraffic")]
    pub struct Video {
        /// Mean rate of the frames, headers not counted; not with a trace.
        // The fastest load of the access testbed of the IMC 2014 study.
        pub rate: Rate = "bits::<450_000>",
        /// Frames a second; not with a trace.
        pub fps: f64 = "number::<24, f64>",
        /// Frames of the clip; not with a trace.
        pub frames: u32 = "count::<1065>",
        /// Largest IP packet, of which 40 bytes are headers.
        pub packet: Bytes = "packet",
        /// A file with a line for each frame: number, type (H, I, P or B), bytes, packets and time in seconds, as an
        /// EvalVid sender writes them. Relative to the study's file.
        pub trace: Option<String>,
        /// SHA-256 of the file, in hexadecimal: filled in when the study is read, and part of what names a result.
        sha256: Option<String>,
        /// The text of the file: filled in when the point is run.
        #[serde(default, skip_serializing, deserialize_with = "filled_in")]
        #[schemars(skip)]
        content: Option<Arc<Clip>>,
    }
}

fn packet() -> Bytes {
    Bytes(1024 + FRAME_HEADERS as u64)
}

impl Video {
    /// The clip: the file's, or one made with draws from `rng`.
    pub(crate) fn clip(&self, rng: &mut Pcg64Mcg) -> Arc<Clip> {
        match &self.content {
            Some(clip) => Arc::clone(clip),
            None => Arc::new(Clip::model(self.rate, self.fps, self.frames, rng)),
        }
    }

    /// The file whose content must be filled in before a run, if it is not.
    pub(super) fn missing(&self) -> Option<&str> {
        self.trace.as_deref().filter(|_| self.content.is_none())
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        refuse_if!(!(1.0..=1000.0).contains(&self.fps), "source.fps", "{} frames a second; write 1 to 1000", self.fps);
        let known = (1..=1_000_000).contains(&self.frames);
        refuse_if!(!known, "source.frames", "{} frames; write 1 to 1000000", self.frames);
        if !(u64::from(FRAME_HEADERS) + 1..=65_535).contains(&self.packet.0) {
            let message =
                format!("{} is not the size of a packet; write 41B (40 of them headers) to 65535B", self.packet);
            return Err(Invalid::new("source.packet", message));
        }
        Ok(())
    }
}
