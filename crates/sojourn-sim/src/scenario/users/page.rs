//! Readers of a web page of today: HTTP Archive's medians by type (July 2025), over HTTP/1.1, HTTP/2 or HTTP/3.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sojourn_net::{Bytes, Span, refuse_if};

use crate::scenario::defaults::{bytes, count, number, secs};
use crate::scenario::flows::check_count;
use crate::scenario::{Invalid, Transport};

use super::{cubic, with_keys_of_users};

with_keys_of_users! {
    initial_window = "count::<10>";
    /// Users who load a page of today again and again, each time as a first visit: new connections to all of its hosts.
    pub struct Page {
        /// Number of users.
        pub count: u32 = "count::<1>",
        /// Version of HTTP. The transport's keys are those of TCP. Of them HTTP/3 takes the controller, `hystart` and
        /// `initial-window`, and nothing of `stack`.
        pub http: HttpOfPage = "HttpOfPage::default",
        /// How servers of HTTP/3 send.
        pub server: Http3Server = "Http3Server::default",
        /// What the page is: HTTP Archive's median home page by type, of desktop or mobile.
        pub page: Median = "Median::default",
        /// Hosts that its objects are on.
        // Its own and the median number of others, 16.
        pub hosts: u16 = "number::<17, u16>",
        /// All its bytes are multiplied by this.
        pub scale: f64 = "number::<1, f64>",
        /// Size of a request.
        pub request: Bytes = "bytes::<300>",
        /// Bytes of header in front of each object.
        pub response_header: Bytes = "bytes::<300>",
        /// The server's first flight of the TLS handshake; a choice, as certificates differ.
        pub certificate: Bytes = "bytes::<3000>",
        /// Time between a page's end and the next one's beginning.
        pub pause: Span = "secs::<5>",
        /// A load that takes longer is given up.
        pub patience: Span = "secs::<60>",
        /// Congestion controller.
        pub transport: Transport = "cubic",
        /// This group's own base round-trip time; by default the path's.
        pub rtt: Option<Span>,
        /// First loads are spread uniformly over this time.
        pub start_within: Span = "secs::<1>",
    }
}

/// Versions of HTTP that pages are loaded over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum HttpOfPage {
    /// At most six TCP connections a host, a request on each at a time.
    #[serde(rename = "1.1")]
    Http1,
    /// Streams over one TCP connection a host.
    #[default]
    #[serde(rename = "2")]
    Http2,
    /// Streams over one QUIC connection a host.
    #[serde(rename = "3")]
    Http3,
}

/// How a server of HTTP/3 sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Http3Server {
    /// Streams by urgency (RFC 9218); in slow start a window grows that was more than half used (Chromium's QUIC).
    #[default]
    Rfc,
    /// quinn 0.11 below h3: all streams in turn, a window that grows while data waits for it and is never exceeded,
    /// bursts of ten packets, and packets of 1200 bytes until path MTU discovery has found 1452.
    Quinn,
}

/// HTTP Archive's median home pages of July 2025.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Median {
    /// 22 kB of HTML, 82 kB of CSS, 697 kB of scripts, 139 kB of fonts, 1058 kB of pictures in 55 objects.
    #[default]
    Desktop,
    /// 22 kB of HTML, 77 kB of CSS, 632 kB of scripts, 122 kB of fonts, 911 kB of pictures in 50 objects.
    Mobile,
}

impl Page {
    pub(super) fn check(&self) -> Result<(), Invalid> {
        check_count("count", self.count)?;
        self.tcp().check()?;
        let by_window =
            matches!(self.transport, Transport::Cubic | Transport::CubicRfc9438 | Transport::Reno | Transport::NewReno);
        let other = self.http == HttpOfPage::Http3 && !by_window;
        refuse_if!(other, "transport", "HTTP/3 goes by windows here; write cubic, cubic-rfc9438, reno or newreno");
        let other = self.http != HttpOfPage::Http3 && self.server != Http3Server::Rfc;
        refuse_if!(other, "server", "only HTTP/3 has a choice of servers; leave it out, or write http = \"3\"");
        let udp = self.transport == Transport::Udp;
        refuse_if!(udp, "transport", "pages are loaded over TCP or QUIC; write cubic, or http = \"3\"");
        refuse_if!(!(1..=200).contains(&self.hosts), "hosts", "{}: expected 1 to 200", self.hosts);
        refuse_if!(!(0.01..=100.0).contains(&self.scale), "scale", "{}: expected 0.01 to 100", self.scale);
        refuse_if!(self.request.0 == 0 || self.request.0 > 100_000, "request", "a request must have 1 to 100000 bytes");
        refuse_if!(!(100..=100_000).contains(&self.certificate.0), "certificate", "expected 100B to 100kB");
        refuse_if!(self.patience == Span::ZERO, "patience", "must be longer than zero");
        Ok(())
    }
}
