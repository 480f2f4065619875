//! The throughput of a segment that comes in chunks: that of the line, even where the encoder is slower.
//!
//! Source: dash.js 5.1, `FetchLoader.js`, its default way (by `moof` and `mdat`). A chunk is timed from the word that
//! its `moof` box has come whole to the word that its `mdat` box has; its bytes over this time are one throughput, and
//! the segment's is the mean over its chunks but the last. What took no longer than 1 ms is put together with what
//! follows. Fewer than two chunks besides the last have none: then the whole answer counts, from the request on.
//!
//! Differences: words of bytes come for each packet that is in order, a browser's for what it has read meanwhile; a
//! `moof` box has 200 bytes, whatever the number of pictures.

/// Bytes of a `moof` box, an assumption: one entry of 8 to 12 bytes a picture, and 60 to 100 bytes besides.
const MOOF: u64 = 200;
/// What took no longer, s, is no sample of its own.
const SHORTEST_S: f64 = 1e-3;

/// Times the chunks of one segment.
#[derive(Clone, Debug, Default)]
pub(in crate::player) struct ChunkRate {
    /// When the `moof` of the chunk under way had come.
    moof_s: Option<f64>,
    /// Bytes of the chunks that have come.
    done: u64,
    /// Begin, end and bytes of those that were timed.
    timed: Vec<(f64, f64, u64)>,
}

impl ChunkRate {
    /// Takes the word that so many bytes of the segment have come; `ends` are the bytes at which its chunks end.
    pub(in crate::player) fn come(&mut self, now_s: f64, bytes: u64, ends: impl Iterator<Item = u64>) {
        // As in dash.js, a `moof` is looked for before the ends of chunks, and only when none is under way.
        if self.moof_s.is_none() && bytes >= self.done + MOOF {
            self.moof_s = Some(now_s);
        }
        let Some(end) = ends.take_while(|end| *end <= bytes).last().filter(|end| *end > self.done) else { return };
        if let Some(from_s) = self.moof_s.take() {
            self.timed.push((from_s, now_s, end - self.done));
        }
        self.done = end;
    }

    /// The throughput in kb/s, when all has come.
    pub(in crate::player) fn kbps(&self) -> Option<f64> {
        let timed = &self.timed[..self.timed.len().saturating_sub(1)];
        if timed.len() <= 1 {
            return None;
        }
        let (mut sum, mut samples) = (0.0, 0u32);
        // What was too short: since when, and its bytes.
        let mut short: Option<(f64, u64)> = None;
        for (from_s, to_s, bytes) in timed {
            let (mut since_s, mut carried) = (*from_s, *bytes);
            if to_s - from_s <= SHORTEST_S {
                let (before_s, before) = short.unwrap_or((*from_s, 0));
                (since_s, carried) = (before_s, before + bytes);
                if to_s - since_s <= SHORTEST_S {
                    short = Some((since_s, carried));
                    continue;
                }
            }
            short = None;
            sum += carried as f64 * 8e-3 / (to_s - since_s);
            samples += 1;
        }
        (samples > 0).then(|| sum / f64::from(samples))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four chunks of 62 500 bytes every 0.5 s, in packets of 1250 bytes, 1 ms each: 10 Mbit/s.
    fn four_chunks(gap_s: f64) -> ChunkRate {
        let mut rate = ChunkRate::default();
        for chunk in 0..4 {
            for packet in 0..50 {
                let now_s = gap_s * f64::from(chunk) + 1e-3 * f64::from(packet);
                rate.come(now_s, 62_500 * chunk as u64 + 1250 * (packet as u64 + 1), (1..=4).map(|k| k * 62_500));
            }
        }
        rate
    }

    #[test]
    fn an_encoder_of_1_mbit_on_a_line_of_10_has_the_lines_throughput() {
        // From the first packet, which has the moof, to the last: 49 ms for 500 kbit, three chunks of four.
        let rate = four_chunks(0.5);
        assert_eq!(rate.timed.len(), 4);
        assert!((rate.kbps().unwrap() - 500.0 / 0.049).abs() < 1e-6);
        // The same bytes over the time of the segment: 2 Mbit in 1.55 s.
        assert!(rate.kbps().unwrap() > 7.0 * 2000.0 / 1.55);
    }

    #[test]
    fn two_chunks_are_too_few_and_one_word_may_end_several() {
        let mut rate = ChunkRate::default();
        for (now_s, bytes) in [(0.0, 500), (0.1, 1000), (0.5, 1500), (0.6, 2000)] {
            rate.come(now_s, bytes, [1000, 2000].into_iter());
        }
        assert_eq!((rate.timed.len(), rate.kbps()), (2, None));
        let mut rate = ChunkRate::default();
        for (now_s, bytes) in [(0.0, 300), (0.1, 2300), (0.2, 3300), (0.3, 4000)] {
            rate.come(now_s, bytes, [1000, 2000, 3000, 4000].into_iter());
        }
        // Up to 0.1 s two chunks at once; the moof of the third is seen with the next word, as its end is.
        assert_eq!(rate.timed, [(0.0, 0.1, 2000), (0.2, 0.2, 1000), (0.3, 0.3, 1000)]);
        // 160 kb/s; the third took no time and has nothing to be put together with.
        assert_eq!(rate.kbps(), Some(160.0));
    }

    #[test]
    fn what_is_too_short_is_put_together() {
        let timed = vec![(0.0, 0.0005, 100), (0.0008, 0.0012, 100), (0.5, 0.6, 1000), (1.0, 1.1, 9000)];
        let rate = ChunkRate { timed, ..ChunkRate::default() };
        // 200 bytes in 1.2 ms, 1000 in 100 ms; the last is left out.
        let expected = (1.6 / 0.0012 + 8.0 / 0.1) / 2.0;
        assert!((rate.kbps().unwrap() - expected).abs() < 1e-9);
    }
}
