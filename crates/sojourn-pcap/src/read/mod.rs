//! Captures as one stream of frames: files, standard input, compressed or not.
//!
//! Framing is our own and not a crate's because the hot path hands out slices of one large buffer without copying, and
//! because a damaged file has to be told in one sentence with the number of the record. A file is read with plain reads
//! rather than mapped: a mapped file that is cut while it is read ends the process.

mod buffer;
mod compressed;
mod copies;
mod error;
pub mod filter;
mod order;
mod pcap;
mod pcapng;
mod step;
mod waiting;

use buffer::Window;
pub(crate) use copies::Copies;
pub use copies::copies_left_out;
pub use error::ReadError;
pub(crate) use error::{io_error, name_of};
use order::{Order, named_before};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use step::{Place, Step};
pub use waiting::GoOn;
use waiting::Waiting;

/// One captured frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Number of the frame in the whole stream, from 1, as Wireshark counts.
    pub number: u64,
    /// Capture time, nanoseconds since 1970.
    pub time_ns: i64,
    /// Link type (<https://www.tcpdump.org/linktypes.html>).
    pub link: u16,
    /// Length on the wire, bytes.
    pub wire_len: u32,
    /// What was kept of it.
    pub data: &'a [u8],
    /// Its file says that it was dropped where it was captured: it went no further.
    pub dropped: bool,
    /// Of a file of several interfaces: the number of that on which it was captured.
    pub interface: Option<u32>,
}

/// Damage that ended the reading of a file: what came before it was read.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Damage {
    /// One sentence: file, record, what was found.
    pub sentence: String,
    /// The file merely ends in the middle of a record, as a capture that was stopped does.
    pub cut_short: bool,
}

enum Format {
    Pcap(pcap::Pcap),
    Pcapng(Box<pcapng::Pcapng>),
}

type Input = Box<dyn Read + Send>;

struct Open {
    name: String,
    window: Window<Input>,
    compressed: bool,
    format: Format,
    records: u64,
    /// Time of the last frame that was handed out.
    last_ns: i64,
}

/// One stream of frames over several captures, in the order given.
pub struct Capture {
    waiting: std::collections::VecDeque<PathBuf>,
    open: Option<Open>,
    number: u64,
    damage: Vec<Damage>,
    order: Order,
    bytes_before: u64,
    total_bytes: Option<u64>,
    go_on: GoOn,
}

impl Capture {
    /// Open captures; `-` is standard input. The first is looked into at once, so that what is no capture is told
    /// before any work is done.
    ///
    /// # Errors
    /// A file cannot be opened or is named twice, or the first is no capture.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ReadError> {
        Self::open_while(paths, Arc::new(|| true))
    }

    /// Open captures as [`Self::open`] does. Where they keep the reader waiting, as pipes do, `go_on` is asked several
    /// times a second, and reading fails if it says no.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_while(paths: &[PathBuf], go_on: GoOn) -> Result<Self, ReadError> {
        if let Some(place) = named_before(paths.iter().map(|path| if is_stdin(path) { Path::new("-") } else { path })) {
            let why = "is named twice; captures are read as one stream: expected each once, in order of time";
            return Err(ReadError::Refused(name_of(&paths[place]), why));
        }
        let sizes: Vec<_> = paths.iter().map(|path| file_size(path)).collect::<Result<_, _>>()?;
        let total_bytes = sizes.into_iter().sum();
        let mut waiting: std::collections::VecDeque<PathBuf> = paths.iter().cloned().collect();
        let open = waiting.pop_front().map(|first| start(&first, &go_on)).transpose()?;
        let (number, bytes_before, damage, order) = Default::default();
        Ok(Self { waiting, open, number, damage, order, bytes_before, total_bytes, go_on })
    }

    /// Read a capture from any stream, as `name` in sentences.
    ///
    /// # Errors
    /// It is no capture.
    pub fn from_stream(input: impl Read + Send + 'static, name: &str) -> Result<Self, ReadError> {
        let open = Some(start_stream(Box::new(input), name.to_owned())?);
        Ok(Self { open, total_bytes: None, ..Self::open(&[])? })
    }

    /// The next frame, or `None` after the last.
    ///
    /// # Errors
    /// A later file cannot be opened or is no capture, or reading failed. Damage inside a file is no error: see
    /// [`Capture::damage`].
    #[inline]
    pub fn next_frame(&mut self) -> Result<Option<Frame<'_>>, ReadError> {
        let Some(place) = self.place()? else { return Ok(None) };
        self.begins(place.time_ns);
        self.number += 1;
        let Some(open) = &mut self.open else { return Ok(None) };
        open.records += 1;
        open.last_ns = place.time_ns;
        Ok(Some(place.frame(self.number, &open.window)))
    }

    /// Hand the next frames to `take`, as many as are at hand and at most `most`; false after the last.
    ///
    /// # Errors
    /// What `take` returned, and as of [`Self::next_frame`].
    #[inline]
    pub fn frames<E: From<ReadError>>(
        &mut self,
        most: usize,
        mut take: impl FnMut(&Frame<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        let Some(place) = self.place()? else { return Ok(false) };
        self.begins(place.time_ns);
        let Self { open: Some(Open { format, window, records, last_ns, .. }), number, .. } = self else {
            return Ok(false);
        };
        let (mut count, before, mut time) = (*number, *number, *last_ns);
        let first = place.frame(0, window);
        let mut others = if let Format::Pcap(format) = format { format.records(window) } else { pcap::Records::none() };
        // One loop over all: what `take` does is then part of it, and not called for each.
        let mut taken = Ok(());
        for frame in std::iter::once(first).chain(&mut others).take(most.max(1)) {
            (count, time) = (count + 1, frame.time_ns);
            taken = take(&Frame { number: count, ..frame });
            if taken.is_err() {
                break;
            }
        }
        (*number, *last_ns) = (count, time);
        *records += count - before;
        if let Format::Pcap(format) = format {
            let end = others.end();
            format.pass(window, end);
        }
        taken.map(|()| true)
    }

    /// A frame of such a time is the next: if it is its file's first, look whether the file follows the one before.
    #[inline]
    fn begins(&mut self, time_ns: i64) {
        if let Some(Open { name, records: 0, .. }) = &self.open {
            self.order.begins(name, time_ns);
        }
    }

    /// Where the next frame is, or `None` after the last.
    #[inline]
    fn place(&mut self) -> Result<Option<Place>, ReadError> {
        self.at_hand().map_or_else(|| self.step(), |place| Ok(Some(place)))
    }

    /// The next frame where nothing has to be read or told for it.
    #[inline]
    fn at_hand(&mut self) -> Option<Place> {
        let Some(Open { format: Format::Pcap(format), window, .. }) = &mut self.open else { return None };
        format.at_hand(window)
    }

    fn step(&mut self) -> Result<Option<Place>, ReadError> {
        loop {
            let Some(open) = &mut self.open else { return Ok(None) };
            let step = match &mut open.format {
                Format::Pcap(format) => format.step(&mut open.window),
                Format::Pcapng(format) => format.step(&mut open.window),
            };
            let ended = |error| match compressed::ended(&error).filter(|_| open.compressed) {
                Some(ended) => Ok(ended),
                None => Err(ReadError::Io(open.name.clone(), error)),
            };
            match step.or_else(ended)? {
                Step::Frame(place) => return Ok(Some(place)),
                Step::End => {}
                Step::Damaged { what, cut_short } => {
                    let (record, name) = (open.records + 1, &open.name);
                    let sentence =
                        format!("record {record} of {name} {what}; the {} before it were read", open.records);
                    self.damage.push(Damage { sentence, cut_short });
                }
            }
            self.bytes_before += open.window.consumed_input();
            if open.records > 0 {
                self.order.ended(open.last_ns);
            }
            self.open = None;
            if let Some(path) = self.waiting.pop_front() {
                self.open = Some(start(&path, &self.go_on)?);
            }
        }
    }

    /// Number of the last frame that was handed out.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Files that could not be read to their end.
    pub fn damage(&self) -> &[Damage] {
        &self.damage
    }

    /// Files that were given after one that began when they do, or later, or was not over: a sentence for each.
    pub fn out_of_order(&self) -> &[String] {
        &self.order.sentences
    }

    /// Share of the input that has been read, or `None` where its size is not known.
    pub fn progress(&self) -> Option<f64> {
        let read = self.bytes_before + self.open.as_ref().map_or(0, |open| open.window.consumed_input());
        self.total_bytes.map(|total| if total == 0 { 1.0 } else { (read as f64 / total as f64).min(1.0) })
    }
}

impl Place {
    #[inline]
    fn frame<'a>(&self, number: u64, window: &'a Window<Input>) -> Frame<'a> {
        let Self { at, len, time_ns, link, wire_len, dropped, interface } = *self;
        Frame { number, time_ns, link, wire_len, data: window.slice(at, len), dropped, interface }
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-" || path.as_os_str() == "/dev/stdin"
}

/// Bytes of a regular file; `None` of a pipe or a device, whose end is not known.
pub(crate) fn file_size(path: &Path) -> Result<Option<u64>, ReadError> {
    if is_stdin(path) {
        return Ok(None);
    }
    let about = std::fs::metadata(path).map_err(|error| io_error(path, error))?;
    if about.is_dir() {
        return Err(ReadError::Refused(name_of(path), "is a directory, not a capture"));
    }
    Ok(about.is_file().then_some(about.len()))
}

fn start(path: &Path, go_on: &GoOn) -> Result<Open, ReadError> {
    let go_on = go_on.clone();
    if is_stdin(path) {
        let input = Waiting::new(|| Ok(std::io::stdin()), go_on);
        return start_stream(Box::new(input), "standard input".to_owned());
    }
    let name = name_of(path);
    if file_size(path)?.is_none() {
        let path = path.to_owned();
        return start_stream(Box::new(Waiting::new(|| File::open(path), go_on)), name);
    }
    let file = File::open(path).map_err(|error| io_error(path, error))?;
    start_stream(Box::new(file), name)
}

fn start_stream(input: Input, name: String) -> Result<Open, ReadError> {
    let counter = buffer::Counter::default();
    let window = Window::new(Box::new(buffer::Counted::new(input, counter.clone())) as Input, counter.clone());
    let opened = compressed::plain(window, counter);
    let (mut window, compressed) = opened.map_err(|error| ReadError::Io(name.clone(), error))?;
    if let Err(error) = window.fill(24) {
        return Err(if compressed { compressed::refused(name, error) } else { ReadError::Io(name, error) });
    }
    let head = window.slice(0, window.filled().min(24));
    let format = if let Some(format) = pcap::Pcap::recognise(head) {
        window.advance(pcap::HEADER);
        Format::Pcap(format)
    } else if pcapng::recognise(head) {
        Format::Pcapng(Box::default())
    } else {
        let found = match head {
            [] => "nothing (it is empty)".to_owned(),
            // All but the magic number may be zeros.
            _ if pcap::Pcap::recognise(&[head, &[0; pcap::HEADER]].concat()[..pcap::HEADER]).is_some() => {
                format!("{} of the {} bytes of a pcap header", head.len(), pcap::HEADER)
            }
            _ => format!("the bytes {}", head.iter().take(4).map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")),
        };
        return Err(ReadError::Unknown(name, found));
    };
    Ok(Open { name, window, compressed, format, records: 0, last_ns: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of frames of 60 bytes, one a second; of the last so many bytes are missing.
    fn pcap(frames: u32, missing: usize) -> Vec<u8> {
        let mut bytes = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0]);
        for second in 0..frames {
            for field in [second, 0, 60, 60] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend([7; 60]);
        }
        bytes.truncate(bytes.len() - missing);
        bytes
    }

    #[test]
    fn files_that_do_not_follow_one_another_are_told() {
        let folder = std::env::temp_dir().join(format!("sojourn-order-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let [early, again, none, late, next] =
            ["early", "again", "none", "late", "next"].map(|name| folder.join(format!("{name}.pcap")));
        std::fs::write(&early, pcap(3, 0)).unwrap();
        std::fs::copy(&early, &again).unwrap();
        std::fs::write(&none, pcap(0, 0)).unwrap();
        // Without the first of three frames, and without the first three of four.
        for (file, of) in [(&late, 3), (&next, 4)] {
            let mut bytes = pcap(of, 0);
            bytes.drain(24..24 + 76 * (if of == 3 { 1 } else { 3 }));
            std::fs::write(file, bytes).unwrap();
        }
        for by_frame in [true, false] {
            let said = |files: &[&PathBuf]| {
                let mut capture = Capture::open(&files.iter().map(|&file| file.clone()).collect::<Vec<_>>()).unwrap();
                if by_frame {
                    while capture.next_frame().unwrap().is_some() {}
                } else {
                    while capture.frames(2, |_| Ok::<_, ReadError>(())).unwrap() {}
                }
                capture.out_of_order().to_vec()
            };
            assert!(said(&[&early, &none, &next]).is_empty());
            let overlaps = said(&[&early, &none, &late, &next]);
            assert!(overlaps.len() == 1 && overlaps[0].contains(" begins before the end of "), "{overlaps:?}");
            for [first, second] in [[&late, &early], [&early, &again]] {
                let sentences = said(&[first, &none, second]);
                assert!(sentences.len() == 1, "{sentences:?}");
                let [first, second] = [first, second].map(|file| name_of(file));
                assert!(sentences[0].starts_with(&format!("{second} begins no later than {first}, ")), "{sentences:?}");
            }
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_header_that_is_cut_is_told_from_what_is_no_capture() {
        let refused =
            |bytes: Vec<u8>| Capture::from_stream(std::io::Cursor::new(bytes), "x").err().unwrap().to_string();
        assert!(refused(pcap(0, 4)).contains("it begins with 20 of the 24 bytes of a pcap header; expected"));
        assert!(refused(b"GET /".to_vec()).contains("it begins with the bytes 47 45 54 20; expected"));
    }

    #[test]
    fn frames_and_progress_go_on_over_several_files_and_damage_names_its_own() {
        let folder = std::env::temp_dir().join(format!("sojourn-several-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        // The second ends inside of its third frame; the last has none.
        let files: Vec<_> = [pcap(4000, 0), pcap(3, 10), pcap(2000, 0), pcap(0, 0)]
            .iter()
            .zip(["a", "b", "c", "d"])
            .map(|(bytes, name)| {
                let file = folder.join(format!("{name}.pcap"));
                std::fs::write(&file, bytes).unwrap();
                file
            })
            .collect();
        let mut capture = Capture::open(&files).unwrap();
        let (mut count, mut last, mut at) = (0, 0.0, Vec::new());
        while let Some(number) = capture.next_frame().unwrap().map(|frame| frame.number) {
            count += 1;
            assert_eq!((number, capture.number()), (count, count));
            let progress = capture.progress().unwrap();
            assert!(progress >= last && progress <= 1.0, "{progress} after {last}");
            last = progress;
            if [1, 4000, 4001, 4002, 6002].contains(&count) {
                at.push(progress);
            }
        }
        assert_eq!((count, capture.progress()), (6002, Some(1.0)));
        let total = (4000 * 76 + 3 * 76 - 10 + 2000 * 76 + 4 * 24) as f64;
        // Read is what was taken in, some of it ahead of its frame.
        for (progress, frames) in at.iter().zip([1, 4000, 4001, 4002, 6002]) {
            let frames = f64::from(frames) * 76.0 / total;
            assert!(*progress >= frames - 1e-3 && *progress <= frames + 0.6, "{progress} for {frames}");
        }
        assert!(at[1] > 0.66 && at[2] > 0.66 && at[4] > 0.99, "{at:?}");
        let damage: Vec<_> = capture.damage().iter().map(|each| (each.sentence.as_str(), each.cut_short)).collect();
        assert!(damage.len() == 1 && damage[0].1 && damage[0].0.contains("record 3 of "), "{damage:?}");
        assert!(damage[0].0.contains("b.pcap") && damage[0].0.ends_with("the 2 before it were read"), "{damage:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
