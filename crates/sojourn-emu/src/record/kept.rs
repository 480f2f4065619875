//! Files that take records until one is refused, as where a disk is full.
//!
//! The run goes on, and what was counted is told all the same: records are beside it.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

/// Why a file took no more, once it did not.
pub type Refused = Arc<OnceLock<String>>;

/// A file that is written to up to the first error, which `refused` then has.
pub struct Kept<W> {
    file: W,
    refused: Refused,
}

impl<W: Write> Kept<W> {
    /// Writes to a file until it refuses.
    pub fn new(file: W, refused: &Refused) -> Self {
        Self { file, refused: Arc::clone(refused) }
    }

    /// What became of writing; nothing is any more after an error.
    fn unless<T>(&mut self, then: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.refused.get().is_some() {
            return Ok(then);
        }
        match write(&mut self.file) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                let _ = self.refused.set(error.to_string());
                Ok(then)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for Kept<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.unless(bytes.len(), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.unless((), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has room for so many bytes, and is interrupted before each write.
    struct Disk(usize, bool);

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let takes = bytes.len().min(self.0);
            self.0 -= takes;
            if takes == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(takes) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_a_full_disk_does_not_take_is_no_error_and_why_is_kept() {
        let refused = Refused::default();
        let mut kept = Kept::new(Disk(5, false), &refused);
        kept.write_all(b"four").unwrap();
        assert_eq!((refused.get(), kept.file.0), (None, 1));
        kept.write_all(b"four").unwrap();
        assert_eq!((refused.get().map(String::as_str), kept.file.0), (Some("no storage space"), 0));
        // Nothing behind a hole.
        kept.file.0 = 9;
        kept.write_all(b"more").unwrap();
        kept.flush().unwrap();
        assert_eq!(kept.file.0, 9);
    }
}
