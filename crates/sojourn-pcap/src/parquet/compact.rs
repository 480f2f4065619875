//! Thrift's compact protocol (thrift-compact-protocol.md of Apache Thrift), as far as Parquet's metadata needs it.

/// Types of fields and of elements of lists.
const I8: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A structure that is being written.
pub(super) struct Compact<'a> {
    bytes: &'a mut Vec<u8>,
    /// Number of the last field.
    last: u8,
}

/// A whole number in groups of seven bits, the lowest first.
pub(super) fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn zigzag(bytes: &mut Vec<u8>, number: i64) {
    varint(bytes, (number << 1 ^ number >> 63) as u64);
}

impl<'a> Compact<'a> {
    /// Write a structure, whose fields `write` adds in the order of their numbers.
    pub(super) fn structure(bytes: &'a mut Vec<u8>, write: impl FnOnce(&mut Compact<'_>)) {
        let mut fields = Compact { bytes, last: 0 };
        write(&mut fields);
        fields.bytes.push(0);
    }

    fn head(&mut self, field: u8, kind: u8) {
        // All structures of Parquet have fewer than 15 fields between two that are there.
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    pub(super) fn i8(&mut self, field: u8, value: i8) -> &mut Self {
        self.head(field, I8);
        self.bytes.push(value as u8);
        self
    }

    pub(super) fn no(&mut self, field: u8) -> &mut Self {
        self.head(field, 2);
        self
    }

    pub(super) fn i32(&mut self, field: u8, value: i32) -> &mut Self {
        self.head(field, I32);
        zigzag(self.bytes, value.into());
        self
    }

    pub(super) fn i64(&mut self, field: u8, value: i64) -> &mut Self {
        self.head(field, I64);
        zigzag(self.bytes, value);
        self
    }

    pub(super) fn text(&mut self, field: u8, text: &str) -> &mut Self {
        self.head(field, BINARY);
        self.string(text);
        self
    }

    fn string(&mut self, text: &str) {
        varint(self.bytes, text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    pub(super) fn inner(&mut self, field: u8, write: impl FnOnce(&mut Compact<'_>)) -> &mut Self {
        self.head(field, STRUCT);
        Compact::structure(self.bytes, write);
        self
    }

    fn list(&mut self, field: u8, kind: u8, count: usize) {
        self.head(field, LIST);
        if count < 15 {
            self.bytes.push((count as u8) << 4 | kind);
        } else {
            self.bytes.push(0xf0 | kind);
            varint(self.bytes, count as u64);
        }
    }

    pub(super) fn numbers(&mut self, field: u8, numbers: &[i32]) -> &mut Self {
        self.list(field, I32, numbers.len());
        numbers.iter().for_each(|&number| zigzag(self.bytes, number.into()));
        self
    }

    pub(super) fn texts(&mut self, field: u8, texts: &[&str]) -> &mut Self {
        self.list(field, BINARY, texts.len());
        texts.iter().for_each(|text| self.string(text));
        self
    }

    pub(super) fn structures<T>(
        &mut self,
        field: u8,
        of: &[T],
        mut write: impl FnMut(&mut Compact<'_>, &T),
    ) -> &mut Self {
        self.list(field, STRUCT, of.len());
        of.iter().for_each(|one| Compact::structure(self.bytes, |fields| write(fields, one)));
        self
    }
}
