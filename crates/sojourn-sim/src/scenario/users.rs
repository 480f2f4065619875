//! Users whose experience is scored, one file per kind.

mod adaptive;
mod browser;
mod call;
mod gaming;
mod household;
mod page;
mod responsiveness;
mod video;
mod voice;
mod web;

pub use adaptive::{Adaptive, ClipGenerated, ClipSizes, ClipSpec, LowLatency};
pub use browser::Browser;
pub use call::Call;
pub use gaming::{Class, CloudGaming, Gaming};
pub use household::{Household, household};
pub use page::{Http3Server, HttpOfPage, Median, Page};
pub use responsiveness::Responsiveness;
pub use video::{Profile, Resolution, Video};
pub use voice::{CallDirection, Codec, Concealment, DelayModel, Opus, Playout, ScoreMethod, TalkSpurts, Voice};
pub use web::Web;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use sojourn_net::quic::DATAGRAM;
use sojourn_net::{Bytes, Span, refuse_if};

use super::flows::check_rtt;
use super::{Invalid, Path, Tcp, Transport};

/// Declares a kind of users with the keys of all kinds; if they go over TCP, those of [`Tcp`] too.
macro_rules! with_keys_of_users {
    ($(initial_window = $initial_window:literal;)? $(#[$meta:meta])* pub struct $Name:ident { $($own:tt)* }) => {
        crate::scenario::flows::with_tcp_keys! {
            $(initial_window = $initial_window;)?
            $(#[$meta])*
            pub struct $Name {
                /// Names the group's random stream; by default `users-N`, N from 0.
                pub name: Option<String>,
                /// The hops that it crosses, by name, neighbours on the path; all if absent.
                pub over: Option<Vec<String>>,
                $($own)*
            }
        }
    };
}
use with_keys_of_users;

/// A group of users of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[serde(expecting = "a table such as { kind = \"voice\", codec = \"g711a\" }")]
pub enum Users {
    /// Video streams.
    Video(Video),
    /// Telephone calls.
    Voice(Voice),
    /// Page loads.
    Web(Web),
    /// Adaptive video.
    Adaptive(Adaptive),
    /// Browsing.
    Browser(Browser),
    /// Online games.
    Gaming(Gaming),
    /// Games that are streamed.
    CloudGaming(CloudGaming),
    /// The people of a house: one name for several of the others.
    Household(Household),
    /// Tests of responsiveness under load.
    Responsiveness(Responsiveness),
    /// Video calls of today: Google's congestion control.
    Call(Call),
    /// A web page of today.
    Page(Page),
}

fn cubic() -> Transport {
    Transport::Cubic
}

/// The same expression for every kind.
macro_rules! each {
    ($users:expr, $user:ident => $expression:expr) => {
        match $users {
            Users::Video($user) => $expression,
            Users::Voice($user) => $expression,
            Users::Web($user) => $expression,
            Users::Adaptive($user) => $expression,
            Users::Browser($user) => $expression,
            Users::Gaming($user) => $expression,
            Users::CloudGaming($user) => $expression,
            Users::Household($user) => $expression,
            Users::Responsiveness($user) => $expression,
            Users::Call($user) => $expression,
            Users::Page($user) => $expression,
        }
    };
}

/// Checks the TCP of users whose transport is not to be UDP; `said` is how they use it.
fn check_tcp(tcp: &Tcp, said: &str) -> Result<(), Invalid> {
    tcp.check()?;
    refuse_if!(tcp.transport == Transport::Udp, "transport", "{said} TCP; write reno, newreno or cubic");
    Ok(())
}

impl Users {
    /// The name of the group.
    pub fn name(&self) -> Option<&str> {
        each!(self, users => users.name.as_deref())
    }

    /// Number of users in the group.
    pub fn count(&self) -> u32 {
        each!(self, users => users.count)
    }

    /// The hops that it crosses, if it names them.
    pub(crate) fn over(&self) -> Option<&[String]> {
        each!(self, users => users.over.as_deref())
    }

    /// Its own base round-trip time, if it has one.
    pub(crate) fn rtt(&self) -> Option<Span> {
        match self {
            Self::Adaptive(adaptive) => adaptive.rtt,
            Self::Browser(browser) => browser.rtt,
            Self::Call(call) => call.rtt,
            Self::Page(page) => page.rtt,
            Self::Responsiveness(tester) => tester.rtt,
            _ => None,
        }
    }

    /// The settings of its TCP, or of its QUIC, if it has any.
    pub(crate) fn tcp(&self) -> Option<Tcp> {
        Some(match self {
            // Its controllers count full datagrams, and have no habits of Linux, whose kernel has no QUIC.
            Self::Page(page) if page.http == HttpOfPage::Http3 => {
                Page { mss: Bytes(DATAGRAM), stack: None, ..page.clone() }.tcp()
            }
            Self::Page(page) => page.tcp(),
            Self::Web(web) => web.tcp(),
            Self::Adaptive(adaptive) => adaptive.tcp(),
            Self::Browser(browser) => browser.tcp(),
            Self::Responsiveness(tester) => tester.tcp(),
            _ => return None,
        })
    }

    /// Checks what depends on the path.
    pub(crate) fn check_on(&self, path: &Path) -> Result<(), Invalid> {
        let hops = &path.hops[path.crossed(self.over())?];
        check_rtt(self.rtt(), hops.iter().fold(Span::ZERO, |sum, hop| sum + hop.delay))
    }

    /// The name of the group, to fill in.
    pub(crate) fn name_mut(&mut self) -> &mut Option<String> {
        each!(self, users => &mut users.name)
    }

    /// Checks ranges, and keys that must agree with one another.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        each!(self, users => users.check())
    }

    /// Writes out defaults that depend on another key.
    pub(crate) fn settle(&mut self) {
        match self {
            Self::Voice(voice) => voice.settle(),
            Self::Adaptive(adaptive) => adaptive.live.iter_mut().for_each(LowLatency::settle),
            _ => {}
        }
    }

    /// The users that it stands for: itself, or the people of a household.
    pub(crate) fn members(self) -> Vec<Self> {
        if let Self::Household(household) = &self { household.members() } else { vec![self] }
    }

    /// Whether all that the study file names has been read; if not, a sentence.
    pub fn ready(&self) -> Result<(), String> {
        if let Self::Adaptive(adaptive) = self { adaptive.read_clips().map(drop) } else { Ok(()) }
    }
}
