//! The page of today that simulated users load, for real ones.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_sim::app::{ObjectKind, PageObject, PageWeights, site};

/// What it is, its host, bytes, urgency, the object that names it, and whether nothing is painted before.
type Told = (&'static str, u16, u64, u8, Option<usize>, bool);

/// The objects of a page, its document first. Raises ValueError for a page that is not known.
///
/// The medians are those of the engine's users, which keep them to themselves; a test loads both.
#[pyfunction]
pub(crate) fn page_objects(page: &str, hosts: u16, scale: f64) -> PyResult<Vec<Told>> {
    let kb = |kb: u32| (f64::from(kb) * 1e3 * scale + 0.5).max(1.0) as u64;
    let (styles, scripts, fonts, pictures) = match page {
        "desktop" => ((82, 8), (697, 23), (139, 4), (1058, 19)),
        "mobile" => ((77, 8), (632, 23), (122, 4), (911, 14)),
        _ => return Err(PyValueError::new_err(format!("{page:?} is no page; expected desktop or mobile"))),
    };
    let of = |(bytes, number): (u32, u32)| (kb(bytes), number);
    let weights = PageWeights {
        document: kb(22),
        styles: of(styles),
        scripts: of(scripts),
        fonts: of(fonts),
        pictures: of(pictures),
        blocking_scripts: 5,
        hosts,
    };
    Ok(site(&weights).iter().map(told).collect())
}

fn told(object: &PageObject) -> Told {
    let kind = match object.kind {
        ObjectKind::Document => "document",
        ObjectKind::Style => "style",
        ObjectKind::Script => "script",
        ObjectKind::Font => "font",
        ObjectKind::Hero => "hero",
        ObjectKind::Picture => "picture",
    };
    (kind, object.host, object.bytes, object.urgency, object.after, object.blocks)
}
