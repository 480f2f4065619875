//! What a page of today is made of.
//!
//! Source: HTTP Archive, crawl of July 2025 (Web Almanac 2025, page weight and third parties): for home pages the
//! median bytes of each type and the median numbers of scripts (23), pictures (19 desktop, 14 mobile), style sheets (8)
//! and fonts (4), in one document and 16 other hosts. The largest script, style sheet and picture have the sizes of the
//! 90th percentile (165, 50, 183 kB); the rest share what is left. Medians of types do not add up to the median page
//! (2862 kB desktop, 2559 mobile): video and others are left out. Urgencies are Chromium's (fetch priorities, as
//! `u = 5 - RequestPriority`).
//!
//! Differences: which object is on which host and which names it is a choice, since no archive says: the document,
//! style sheets, blocking scripts, the largest picture and every second of the others are the first host's; fonts are
//! found in the first style sheet, every second script that does not block in the one before it.

use sojourn_net::named;

named! {
    /// Sorts of objects.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[allow(missing_docs, reason = "types of content")]
    pub enum ObjectKind {
        Document = "document",
        Style = "style",
        Script = "script",
        Font = "font",
        /// The largest picture, whose showing is the largest paint.
        Hero = "hero",
        Picture = "picture",
    }
}

/// An object of a page.
#[derive(Clone, Debug, PartialEq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its host, from 0.
    pub host: u16,
    /// Transfer size.
    pub bytes: u64,
    /// From 0, the most urgent, to 7 (RFC 9218).
    pub urgency: u8,
    /// The object that names it; the document is named by the user.
    pub after: Option<usize>,
    /// Nothing is painted before it is here.
    pub blocks: bool,
}

/// How much there is of each type.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// Bytes of the document.
    pub document: u64,
    /// Bytes and number of style sheets, scripts, fonts and pictures.
    pub styles: (u64, u32),
    /// As above.
    pub scripts: (u64, u32),
    /// As above.
    pub fonts: (u64, u32),
    /// As above.
    pub pictures: (u64, u32),
    /// Scripts that block painting, of all.
    pub blocking_scripts: u32,
    /// Hosts of all objects.
    pub hosts: u16,
}

const LARGEST_STYLE: u64 = 50_000;
const LARGEST_SCRIPT: u64 = 165_000;
const LARGEST_PICTURE: u64 = 183_000;

/// Sizes of `number` objects of so many bytes together, the first `largest` bytes or an equal share if that is more.
fn sizes(bytes: u64, number: u32, largest: u64) -> Vec<u64> {
    let n = u64::from(number);
    if n == 0 {
        return Vec::new();
    }
    // A largest one that would leave the others nothing is no page's.
    let first = if n == 1 { bytes } else { largest.min(bytes / 2).max(bytes / n) };
    let mut all = vec![first];
    let left = bytes - first;
    all.extend((1..n).map(|i| left / (n - 1) + u64::from(i <= left % (n - 1))));
    all
}

/// The objects of a page, its document first.
pub fn site(weights: &Weights) -> Vec<Object> {
    let hosts = weights.hosts.max(1);
    let mut others = (0..).map(|i: u16| if hosts > 1 { 1 + i % (hosts - 1) } else { 0 });
    let mut other = || others.next().unwrap_or(0);
    let document =
        Object { kind: ObjectKind::Document, host: 0, bytes: weights.document, urgency: 0, after: None, blocks: true };
    let mut objects = vec![document];
    let style = objects.len();
    for bytes in sizes(weights.styles.0, weights.styles.1, LARGEST_STYLE) {
        objects.push(Object { kind: ObjectKind::Style, host: 0, bytes, urgency: 0, after: Some(0), blocks: true });
    }
    let mut before = None;
    for (i, bytes) in sizes(weights.scripts.0, weights.scripts.1, LARGEST_SCRIPT).into_iter().enumerate() {
        let blocks = (i as u32) < weights.blocking_scripts;
        let (host, urgency) = if blocks { (0, 1) } else { (other(), 3) };
        let after = if blocks { Some(0) } else { before.take().or(Some(0)) };
        if !blocks && after == Some(0) {
            before = Some(objects.len());
        }
        objects.push(Object { kind: ObjectKind::Script, host, bytes, urgency, after, blocks });
    }
    let named_by = if weights.styles.1 > 0 { style } else { 0 };
    let font_host = other();
    for bytes in sizes(weights.fonts.0, weights.fonts.1, 0) {
        let after = Some(named_by);
        objects.push(Object { kind: ObjectKind::Font, host: font_host, bytes, urgency: 0, after, blocks: false });
    }
    for (i, bytes) in sizes(weights.pictures.0, weights.pictures.1, LARGEST_PICTURE).into_iter().enumerate() {
        let (kind, urgency) = if i == 0 { (ObjectKind::Hero, 2) } else { (ObjectKind::Picture, 3) };
        let host = if i % 2 == 0 { 0 } else { other() };
        objects.push(Object { kind, host, bytes, urgency, after: Some(0), blocks: false });
    }
    objects
}

#[cfg(test)]
mod tests {
    use super::*;

    fn desktop() -> Weights {
        Weights {
            document: 22_000,
            styles: (82_000, 8),
            scripts: (697_000, 23),
            fonts: (139_000, 4),
            pictures: (1_058_000, 19),
            blocking_scripts: 5,
            hosts: 17,
        }
    }

    #[test]
    fn a_page_has_the_bytes_and_numbers_of_each_type() {
        let page = site(&desktop());
        let of = |kind: &[ObjectKind]| {
            let chosen: Vec<&Object> = page.iter().filter(|object| kind.contains(&object.kind)).collect();
            (chosen.iter().map(|object| object.bytes).sum::<u64>(), chosen.len())
        };
        assert_eq!(of(&[ObjectKind::Document]), (22_000, 1));
        assert_eq!(of(&[ObjectKind::Style]), (82_000, 8));
        assert_eq!(of(&[ObjectKind::Script]), (697_000, 23));
        assert_eq!(of(&[ObjectKind::Font]), (139_000, 4));
        assert_eq!(of(&[ObjectKind::Hero, ObjectKind::Picture]), (1_058_000, 19));
        assert_eq!(of(&[ObjectKind::Hero]), (183_000, 1));
        let hosts: std::collections::BTreeSet<u16> = page.iter().map(|object| object.host).collect();
        assert!(hosts.into_iter().eq(0..17));
        assert!(page.iter().skip(1).all(|object| object.after.is_some_and(|after| after < page.len())));
    }

    #[test]
    fn an_odd_page_is_one_too() {
        let few = Weights { styles: (10_000, 1), scripts: (0, 0), fonts: (0, 0), pictures: (7, 3), ..desktop() };
        let page = site(&Weights { hosts: 1, ..few });
        assert_eq!(page.len(), 5);
        assert!(page.iter().all(|object| object.host == 0 && object.bytes > 0));
        assert_eq!(page[1].bytes, 10_000);
    }
}
