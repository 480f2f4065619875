//! Readers of web pages. Defaults follow the IMC 2014 study of buffer sizing and quality of experience: a page of 15,
//! 5.8, 30 and 30 KB fetched one object after another over one connection.

use sojourn_net::{Bytes, Span, refuse_if};

use crate::scenario::defaults::{bytes, count, millis, secs};
use crate::scenario::flows::check_count;
use crate::scenario::{Invalid, Transport};

use super::{check_tcp, cubic, with_keys_of_users};

with_keys_of_users! {
    initial_window = "count::<3>";
    /// Users who load one page after another: the objects in turn over one persistent connection.
    pub struct Web {
        /// Sizes of the page's objects, in order.
        pub objects: Vec<Bytes> = "page",
        /// Size of a request.
        pub request: Bytes = "bytes::<300>",
        /// Bytes of header in front of each object.
        pub response_header: Bytes = "bytes::<300>",
        /// Number of users.
        pub count: u32 = "count::<1>",
        /// Time between a page's end and the next one's beginning.
        pub pause: Span = "secs::<1>",
        /// Page load time that is scored 5: the least that the path allows.
        pub plt_min: Span = "millis::<560>",
        /// Page load time from which on a load is scored 1.
        pub plt_max: Span = "secs::<6>",
        /// Round trips of one load on an empty path: a load is dominated by them if they make up most of its time.
        pub round_trips: u32 = "count::<14>",
        /// Congestion controller.
        pub transport: Transport = "cubic",
        /// Start every object with the initial window again, as stacks and servers did that pause between objects.
        pub object_restart: bool = "bool::default",
        /// First loads are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
    }
}

/// The page of the IMC 2014 study: HTML, CSS and two pictures (1 KB = 1024 bytes).
fn page() -> Vec<Bytes> {
    [15 * 1024, 5939, 30 * 1024, 30 * 1024].map(Bytes).to_vec()
}

impl Web {
    /// Bytes of the response that carries an object.
    pub(crate) fn response(&self, object: usize) -> u64 {
        self.objects[object].0 + self.response_header.0
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        check_tcp(&self.tcp(), "pages are loaded over")?;
        refuse_if!(self.objects.is_empty() || self.objects.len() > 10_000, "objects", "a page has 1 to 10000 objects");
        if let Some(i) = self.objects.iter().position(|size| size.0 == 0) {
            return Err(Invalid::new(format!("objects.{i}"), "an object must have at least one byte"));
        }
        refuse_if!(self.request.0 == 0, "request", "a request must have at least one byte");
        check_count("round-trips", self.round_trips)?;
        if self.plt_min == Span::ZERO || self.plt_min >= self.plt_max {
            let message = format!(
                "scores fall from 5 at {} to 1 at plt-max = \"{}\"; plt-min must be above zero and below plt-max",
                self.plt_min, self.plt_max
            );
            return Err(Invalid::new("plt-min", message));
        }
        Ok(())
    }
}
