//! Tables as Parquet (parquet-format 2.x): columns of numbers as they are, columns of names by a dictionary in each row
//! group, no value missing. Nothing is compressed: LZ4 would halve tables of samples.
//!
//! Own because a row of samples has to take a fraction of what its estimate takes: names are known by the number of
//! their flow, so that no text is looked at for a row. Writers of libraries look at each value.

mod compact;
mod packed;

use compact::Compact;

/// What is in a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers that are not negative.
    Unsigned,
    /// Numbers.
    Double,
    /// Texts.
    Name,
}

/// The values of a column in a row group.
#[derive(Debug)]
pub enum Values<'a> {
    /// Of [`Kind::Unsigned`] or [`Kind::Double`]: the bytes of each, the lowest first.
    Number(&'a [[u8; 8]]),
    /// Of [`Kind::Name`]: different names; which of them belongs to each place; the place of each row.
    Name {
        /// Names.
        names: &'a [String],
        /// Index of a name, by place.
        of: &'a [u32],
        /// By row.
        places: &'a [u32],
    },
}

/// Physical types, encodings and kinds of pages, as parquet.thrift numbers them.
const INT64: i32 = 2;
const DOUBLE: i32 = 5;
const BYTE_ARRAY: i32 = 6;
const PLAIN: i32 = 0;
const RLE: i32 = 3;
const RLE_DICTIONARY: i32 = 8;
const DATA_PAGE: i32 = 0;
const DICTIONARY_PAGE: i32 = 2;
const MAGIC: &[u8; 4] = b"PAR1";

/// Where a column of a row group is.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    dictionary: Option<u64>,
    data: u64,
    bytes: u64,
}

/// Writes a table, row group by row group.
#[derive(Debug, Default)]
pub struct Writer {
    columns: Vec<(String, Kind)>,
    groups: Vec<(u64, Vec<Chunk>)>,
    written: u64,
}

impl Writer {
    /// A table of these columns.
    pub fn new(columns: impl IntoIterator<Item = (String, Kind)>) -> Self {
        Self { columns: columns.into_iter().collect(), groups: Vec::new(), written: 0 }
    }

    /// Append a row group, of so many rows and the values of all columns, to what is to be written next.
    pub fn group(&mut self, rows: usize, columns: &[Values<'_>], bytes: &mut Vec<u8>) {
        let begin = bytes.len();
        self.begin(bytes);
        let before = self.written - begin as u64;
        let mut chunks = Vec::new();
        for values in columns {
            let start = bytes.len();
            let mut dictionary = None;
            let mut data = start;
            match values {
                Values::Number(numbers) => page(bytes, DATA_PAGE, rows, PLAIN, numbers.as_flattened()),
                Values::Name { names, of, places } => {
                    dictionary = Some(before + start as u64);
                    let mut body = Vec::new();
                    for name in *names {
                        body.extend_from_slice(&(name.len() as u32).to_le_bytes());
                        body.extend_from_slice(name.as_bytes());
                    }
                    page(bytes, DICTIONARY_PAGE, names.len(), PLAIN, &body);
                    data = bytes.len();
                    body.clear();
                    packed::pack(&mut body, names.len(), rows, places.iter().map(|&place| of[place as usize]));
                    page(bytes, DATA_PAGE, rows, RLE_DICTIONARY, &body);
                }
            }
            chunks.push(Chunk { dictionary, data: before + data as u64, bytes: (bytes.len() - start) as u64 });
        }
        self.written = before + bytes.len() as u64;
        self.groups.push((rows as u64, chunks));
    }

    /// The file begins with its magic number.
    fn begin(&mut self, bytes: &mut Vec<u8>) {
        if self.written == 0 {
            bytes.extend_from_slice(MAGIC);
        }
    }

    /// Append the end of the file: what is in it and where. `arrow` is its Arrow schema (base64 of the message), by
    /// which readers know categories from texts.
    pub fn finish(mut self, arrow: &str, bytes: &mut Vec<u8>) {
        self.begin(bytes);
        let start = bytes.len();
        let rows: u64 = self.groups.iter().map(|(rows, _)| rows).sum();
        Compact::structure(bytes, |file| {
            let mut elements: Vec<Option<&(String, Kind)>> = vec![None];
            elements.extend(self.columns.iter().map(Some));
            file.i32(1, 2).structures(2, &elements, |element, column| match column {
                None => _ = element.text(4, "root").i32(5, self.columns.len() as i32),
                Some((name, kind)) => {
                    // Every value is there.
                    element.i32(1, physical(*kind)).i32(3, 0).text(4, name);
                    match kind {
                        Kind::Unsigned => {
                            element.i32(6, 14).inner(10, |logical| {
                                logical.inner(10, |integer| _ = integer.i8(1, 64).no(2));
                            });
                        }
                        Kind::Double => {}
                        Kind::Name => {
                            element.i32(6, 0).inner(10, |logical| {
                                logical.inner(1, |_| ());
                            });
                        }
                    }
                }
            });
            file.i64(3, rows as i64);
            file.structures(4, &self.groups, |group, (rows, chunks)| self.row_group(group, *rows, chunks));
            file.structures(5, &[("ARROW:schema", arrow)], |pair, (key, value)| {
                pair.text(1, key).text(2, value);
            });
            file.text(6, "sojourn");
        });
        let length = (bytes.len() - start) as u32;
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
    }

    fn row_group(&self, group: &mut Compact<'_>, rows: u64, chunks: &[Chunk]) {
        let all: Vec<_> = self.columns.iter().zip(chunks).collect();
        let total: u64 = chunks.iter().map(|chunk| chunk.bytes).sum();
        group
            .structures(1, &all, |column, ((name, kind), chunk)| {
                column.i64(2, 0).inner(3, |about| {
                    let encodings: &[i32] = if *kind == Kind::Name { &[PLAIN, RLE_DICTIONARY] } else { &[PLAIN] };
                    about.i32(1, physical(*kind)).numbers(2, encodings).texts(3, &[name]).i32(4, 0);
                    about.i64(5, rows as i64).i64(6, chunk.bytes as i64).i64(7, chunk.bytes as i64);
                    about.i64(9, chunk.data as i64);
                    if let Some(dictionary) = chunk.dictionary {
                        about.i64(11, dictionary as i64);
                    }
                });
            })
            .i64(2, total as i64)
            .i64(3, rows as i64);
    }
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Unsigned => INT64,
        Kind::Double => DOUBLE,
        Kind::Name => BYTE_ARRAY,
    }
}

fn page(bytes: &mut Vec<u8>, kind: i32, count: usize, encoding: i32, body: &[u8]) {
    Compact::structure(bytes, |head| {
        head.i32(1, kind).i32(2, body.len() as i32).i32(3, body.len() as i32);
        let field = if kind == DATA_PAGE { 5 } else { 7 };
        head.inner(field, |page| {
            page.i32(1, count as i32).i32(2, encoding);
            if kind == DATA_PAGE {
                page.i32(3, RLE).i32(4, RLE);
            }
        });
    });
    bytes.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields of a page's head that are numbers, and where its body begins.
    fn head(bytes: &[u8]) -> (Vec<u8>, usize) {
        // Heads of so few values have no number of more than one byte, and structures no more than one inside.
        let (mut found, mut at, mut depth) = (Vec::new(), 0, 1);
        while depth > 0 {
            match bytes[at] & 15 {
                0 => depth -= 1,
                5 => (found, at) = ([found, vec![bytes[at + 1] / 2]].concat(), at + 1),
                12 => depth += 1,
                other => panic!("a field of type {other}"),
            }
            at += 1;
        }
        (found, at)
    }

    #[test]
    fn a_page_says_its_kind_the_bytes_of_its_body_and_how_many_values_are_there_in_which_encoding() {
        let bytes_of = |kind, encoding| {
            let mut bytes = Vec::new();
            page(&mut bytes, kind, 3, encoding, b"of ten byt");
            bytes
        };
        // Both sizes are of the body, as nothing is compressed; a page of data has encodings of levels besides.
        for (kind, encoding, more) in [(DATA_PAGE, RLE_DICTIONARY, &[RLE as u8; 2][..]), (DICTIONARY_PAGE, PLAIN, &[])]
        {
            let bytes = bytes_of(kind, encoding);
            let (found, body) = head(&bytes);
            assert_eq!(found, [&[kind as u8, 10, 10, 3, encoding as u8], more].concat());
            assert_eq!(&bytes[body..], b"of ten byt");
        }
    }
}
