//! People who browse. Defaults follow the [has] study: 250 pages of ten categories, read for a Weibull time, given up
//! after 15 s.

use sojourn_net::{Bytes, Span, refuse_if};

use crate::scenario::defaults::{bytes, count, secs};
use crate::scenario::flows::check_count;
use crate::scenario::{Invalid, Transport};

use super::{check_tcp, cubic, with_keys_of_users};

with_keys_of_users! {
    initial_window = "count::<10>";
    /// Users who load a page at random over parallel connections, read it, and go on to the next.
    pub struct Browser {
        /// Number of users; 0 has none.
        pub count: u32 = "count::<1>",
        /// Sizes of the objects of the one page that is loaded again and again, the HTML first; if absent, pages are
        /// drawn.
        pub objects: Option<Vec<Bytes>>,
        /// Number of pages in the set, which is the same for all users and runs.
        pub pages: u32 = "count::<250>",
        /// Median size of a page.
        pub page_median: Bytes = "bytes::<4_058_000>",
        /// S.d. of the logarithm of sizes below the median, and above.
        pub page_sigma: (f64, f64) = "page_sigma",
        /// Most parallel connections for a page.
        pub connections: u32 = "count::<6>",
        /// A load that takes longer is given up.
        pub patience: Span = "secs::<15>",
        /// Shape of the Weibull distribution of reading times.
        pub dwell_shape: f64 = "dwell_shape",
        /// Its scale for each category of pages.
        pub dwell_scales: Vec<Span> = "dwell_scales",
        /// Reading times are drawn again until they lie between these.
        pub dwell_bounds: (Span, Span) = "dwell_bounds",
        /// Size of a request.
        pub request: Bytes = "bytes::<300>",
        /// Bytes of header in front of each object.
        pub response_header: Bytes = "bytes::<300>",
        /// Congestion controller.
        pub transport: Transport = "cubic",
        /// This group's own base round-trip time; by default the path's.
        pub rtt: Option<Span>,
        /// First loads are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
    }
}

/// Quartiles of 939.5, 4058 and 13007 kB.
fn page_sigma() -> (f64, f64) {
    (2.169, 1.727)
}

/// Placeholder: the values by category were published as plots only; 80 % of times lie between the bounds.
fn dwell_shape() -> f64 {
    0.85
}

/// Placeholders for science, travel, recreation, computers, entertainment, finance, relationships, education, society,
/// vehicles.
fn dwell_scales() -> Vec<Span> {
    [26, 24, 24, 25, 22, 26, 21, 30, 26, 24].map(Span::from_secs).to_vec()
}

fn dwell_bounds() -> (Span, Span) {
    (Span::from_secs(2), Span::from_secs(70))
}

impl Browser {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count.max(1))?;
        check_count("pages", self.pages)?;
        check_tcp(&self.tcp(), "pages are loaded over")?;
        refuse_if!(!(1..=100).contains(&self.connections), "connections", "{}: expected 1 to 100", self.connections);
        refuse_if!(self.request.0 == 0, "request", "a request must have at least one byte");
        if let Some(objects) = &self.objects {
            refuse_if!(objects.is_empty() || objects.len() > 10_000, "objects", "a page has 1 to 10000 objects");
            if let Some(i) = objects.iter().position(|size| size.0 == 0) {
                return Err(Invalid::new(format!("objects.{i}"), "an object must have at least one byte"));
            }
        }
        refuse_if!(self.patience == Span::ZERO, "patience", "must be longer than zero");
        let above_zero = |value: f64| value > 0.0 && value < 100.0;
        let known = above_zero(self.page_sigma.0) && above_zero(self.page_sigma.1);
        refuse_if!(!known, "page-sigma", "must be two numbers above 0 and below 100");
        refuse_if!(!above_zero(self.dwell_shape), "dwell-shape", "{}: expected above 0, below 100", self.dwell_shape);
        let lacking = self.dwell_scales.is_empty() || self.dwell_scales.contains(&Span::ZERO);
        refuse_if!(lacking, "dwell-scales", "must be one time above zero for each category");
        let (low, high) = self.dwell_bounds;
        refuse_if!(low >= high, "dwell-bounds", "{low} is not below {high}");
        Ok(())
    }
}
