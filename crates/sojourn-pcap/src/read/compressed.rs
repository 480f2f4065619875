//! Captures in gzip or zstd. Where the compression of a file ends too early or is damaged, the file is cut short or
//! damaged there, as a plain one would be: what came before is read.

use std::io;

use super::Input;
use super::buffer::{Counter, Window};
use super::error::ReadError;
use super::step::Step;

/// What is read of a file, without its compression, and whether there was one.
///
/// # Errors
/// The file cannot be read.
pub(super) fn plain(mut window: Window<Input>, counter: Counter) -> io::Result<(Window<Input>, bool)> {
    window.fill(4)?;
    let input: Input = match window.slice(0, window.filled().min(4)) {
        [0x1f, 0x8b, ..] => Box::new(flate2::read::MultiGzDecoder::new(window.into_reader())),
        [0x28, 0xb5, 0x2f, 0xfd] => {
            let mut plain = zstd::stream::read::Decoder::new(window.into_reader())?;
            // 128 MiB, what the zstd command itself accepts: a stranger's file cannot ask for more memory.
            plain.window_log_max(27)?;
            Box::new(plain)
        }
        _ => return Ok((window, false)),
    };
    Ok((Window::new(input, counter), true))
}

/// How a compressed file ended, if an error says something of its compression and not of the disk.
pub(super) fn ended(error: &io::Error) -> Option<Step> {
    let (what, cut_short) = match error.kind() {
        io::ErrorKind::UnexpectedEof => ("is not there: the compressed file ends before it", true),
        // Of gzip alone: zstd's errors have no kind.
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            ("cannot be read: its compression is damaged", false)
        }
        _ => return None,
    };
    Some(Step::Damaged { what: what.to_owned(), cut_short })
}

/// Why a compressed file has no header of a capture.
pub(super) fn refused(name: String, error: io::Error) -> ReadError {
    match ended(&error) {
        Some(Step::Damaged { cut_short: true, .. }) => {
            ReadError::Refused(name, "ends within its compression, before the first record: it is cut short")
        }
        Some(_) => ReadError::Refused(name, "cannot be read: its compression is damaged from the start"),
        None => ReadError::Io(name, error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Capture, Damage};
    use std::io::{Cursor, Write};

    /// A capture of frames of 60 bytes that compress badly, in gzip or zstd.
    fn capture(gzip: bool) -> Vec<u8> {
        let mut bytes = 0xa1b2_c3d4u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0]);
        let mut state = 1u32;
        for second in 0..20_000u32 {
            for field in [second, 0, 60, 60] {
                bytes.extend(field.to_le_bytes());
            }
            bytes.extend((0..60).map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            }));
        }
        if !gzip {
            return zstd::encode_all(Cursor::new(bytes), 1).unwrap();
        }
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&bytes).unwrap();
        packed.finish().unwrap()
    }

    fn read(bytes: Vec<u8>) -> (u64, Vec<Damage>) {
        let mut capture = Capture::from_stream(Cursor::new(bytes), "x.gz").unwrap();
        while capture.next_frame().unwrap().is_some() {}
        (capture.number(), capture.damage().to_vec())
    }

    #[test]
    fn what_came_before_the_end_of_a_compression_that_is_cut_is_read() {
        for gzip in [true, false] {
            let whole = capture(gzip);
            assert_eq!(read(whole.clone()).0, 20_000);
            let (frames, damage) = read(whole[..whole.len() / 2].to_vec());
            assert!((5_000..15_000).contains(&frames), "{frames}");
            let expected = format!("record {} of x.gz is not there: the compressed file ends before it", frames + 1);
            assert!(damage.len() == 1 && damage[0].cut_short, "{damage:?}");
            assert_eq!(damage[0].sentence, format!("{expected}; the {frames} before it were read"));
        }
    }

    #[test]
    fn a_checksum_that_is_wrong_is_damage_and_no_cut() {
        let mut bytes = capture(true);
        let end = bytes.len();
        bytes[end - 6] ^= 1;
        let (frames, damage) = read(bytes);
        assert!(frames == 20_000 && damage.len() == 1 && !damage[0].cut_short, "{damage:?}");
        assert!(damage[0].sentence.contains("cannot be read: its compression is damaged; the 20000"), "{damage:?}");
    }

    #[test]
    fn without_a_record_it_is_no_capture() {
        for gzip in [true, false] {
            let bytes = capture(gzip)[..12].to_vec();
            let error = Capture::from_stream(Cursor::new(bytes), "x.gz").err().unwrap().to_string();
            assert_eq!(error, "x.gz ends within its compression, before the first record: it is cut short");
        }
    }
}
