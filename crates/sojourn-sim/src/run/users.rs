//! Sets up those whose experience is scored.

use super::Engine;
use super::hooks::MakePlayer;
use super::hosts::{control, way};
use crate::app::{
    self, Adaptive, Browser, Call, Fetch, Game, Media, Pace, PageReader, Responsiveness, Source, User, Video, Voice,
    Web,
};
use crate::engine::{Direction, Way};
use crate::player::Clip;
use crate::scenario::{self, Median, Scenario, Tcp, Users};
use crate::stream::stream;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::{CongestionControl, Counting, Reno};
use sojourn_net::{Span, Time, tcp};
use std::rc::Rc;

/// What viewers of adaptive video share, whichever group they belong to.
struct Viewers<'a> {
    make_player: MakePlayer<'a>,
    /// When the last one so far starts.
    start: Time,
}

/// What the users of one group share.
enum Group {
    Nothing,
    Clips(Vec<Clip>),
    Pages(Rc<scenario::Browser>, Rc<Vec<app::WebPage>>),
    Objects(Rc<Vec<app::PageObject>>),
    Rules(Rc<scenario::Responsiveness>),
}

/// Prepares what the users of a group share.
fn prepare(users: &Users) -> Group {
    match users {
        Users::Page(page) => Group::Objects(Rc::new(page_objects(page.page, page.hosts, page.scale))),
        Users::Responsiveness(tester) => Group::Rules(Rc::new(tester.clone())),
        Users::Adaptive(adaptive) => Group::Clips(adaptive.read_clips().unwrap_or_default()),
        Users::Browser(browser) => {
            let categories = browser.dwell_scales.len();
            let pages = match &browser.objects {
                Some(objects) => vec![app::WebPage::of(objects.iter().map(|object| object.0).collect())],
                None => app::pages(browser.pages, browser.page_median.0, browser.page_sigma, categories),
            };
            Group::Pages(Rc::new(browser.clone()), Rc::new(pages))
        }
        _ => Group::Nothing,
    }
}

impl Engine {
    /// Adds all users of a scenario, each with a random stream of its own.
    pub(super) fn add_users(&mut self, scenario: &Scenario, seed: u64, replication: u32, make_player: MakePlayer<'_>) {
        let mut viewers = Viewers { make_player, start: Time::ZERO };
        let mut user = 0;
        for (i, users) in scenario.users.iter().enumerate() {
            let name = users.name().map_or_else(|| format!("users-{i}"), str::to_owned);
            let shared = prepare(users);
            for k in 0..users.count() {
                let rng = stream(seed, replication, &format!("{name}.{k}"));
                self.add_user(scenario, users, &shared, user, rng, &mut viewers);
                user += 1;
            }
        }
    }

    /// Adds one user; `user` counts over all users of the scenario.
    fn add_user(
        &mut self,
        scenario: &Scenario,
        users: &Users,
        shared: &Group,
        user: u32,
        rng: Pcg64Mcg,
        viewers: &mut Viewers<'_>,
    ) {
        if matches!(users, Users::Household(_)) {
            return;
        }
        let way = way(&scenario.path, users.over(), users.rtt(), None);
        let origin = (scenario.flows.len() as u32 + user) as u16;
        let tcp = users.tcp();
        let group = match &tcp {
            Some(tcp) => self.with_tcp(tcp, way, origin, &rng),
            None => self.without_tcp(way, origin),
        };
        let mut who = User { source: self.next_number(), number: user, group, warmup: Time(scenario.warmup.0), rng };
        let game = |who, start_within, [down, up]: [Pace; 2]| {
            let paces = [(Direction::Down, down), (Direction::Up, up)];
            Box::new(Game { who, paces, start_within, played: Default::default() })
        };
        let source: Box<dyn Source> = match (users, shared) {
            (Users::Video(video), _) => Box::new(Video { who, settings: video.clone(), shown: Default::default() }),
            (Users::Voice(voice), _) => Box::new(Voice {
                who,
                settings: voice.clone(),
                directions: voice.direction.ways(),
                packets: (voice.call.0 / app::VOICE_INTERVAL.0).max(1) as u16,
                size: voice.packet(),
                calls: Default::default(),
            }),
            (Users::Page(page), Group::Objects(objects)) => {
                let Some(tcp) = &tcp else { return };
                let control = control(tcp, who.rng.clone().random());
                let (settings, objects) = (page.clone(), objects.clone());
                Box::new(PageReader { who, settings, objects, control, loads: Default::default() })
            }
            (Users::Call(call), _) => {
                let media = Media {
                    height: call.height,
                    fps: call.fps,
                    most: call.most_rate().0 as f64,
                    audio: call.audio.0 as f64,
                    start: call.start_rate.0 as f64,
                };
                let (directions, start_within) = (call.direction.ways(), call.start_within);
                Box::new(Call { who, directions, media, start_within, state: Default::default() })
            }
            (Users::Web(web), _) => Box::new(Web { who, settings: web.clone(), loads: Default::default() }),
            (Users::Adaptive(adaptive), Group::Clips(clips)) => {
                viewers.start += Span((who.rng.random::<f64>() * adaptive.start_within.0 as f64) as u64);
                let (number, user) = (who.source, who.number);
                let Ok(session) = adaptive.session(clips, viewers.make_player, who.rng) else { return };
                Box::new(Adaptive {
                    number,
                    user,
                    group,
                    session,
                    request: adaptive.request.0,
                    header: adaptive.response_header.0,
                    start: viewers.start,
                    fetch: Fetch::default(),
                })
            }
            (Users::Browser(_), Group::Pages(settings, pages)) => {
                let (settings, pages) = (settings.clone(), pages.clone());
                Box::new(Browser { who, settings, pages, visit: Default::default() })
            }
            (Users::Gaming(ticks), _) => game(who, ticks.start_within, ticks.paces()),
            (Users::CloudGaming(streamed), _) => game(who, streamed.start_within, streamed.paces()),
            (Users::Responsiveness(_), Group::Rules(rules)) => {
                Box::new(Responsiveness { who, rules: rules.clone(), test: Default::default() })
            }
            _ => return,
        };
        self.sources.push(source);
    }

    /// Adds a user's hosts. What their controllers draw comes from a copy of the user's stream.
    fn with_tcp(&mut self, settings: &Tcp, way: Way, origin: u16, rng: &Pcg64Mcg) -> u16 {
        let control = control(settings, rng.clone().random());
        self.network.add_group(settings.endpoint.clone(), control, way, origin, false)
    }

    /// Adds hosts that send datagrams only.
    fn without_tcp(&mut self, way: Way, origin: u16) -> u16 {
        let config = tcp::Config::default();
        let (mss, initial) = (u64::from(config.mss), config.initial_window());
        let unused = move || Box::new(Reno::new(mss, initial, Counting::Bytes)) as Box<dyn CongestionControl>;
        self.network.add_group(config, Box::new(unused), way, origin, false)
    }
}

/// The objects of a page, sizes scaled, on so many hosts: HTTP Archive's medians of home pages by type, July 2025 (Web
/// Almanac 2025, page weight).
pub fn page_objects(page: Median, hosts: u16, scale: f64) -> Vec<app::PageObject> {
    let kb = |kb: u32| (f64::from(kb) * 1e3 * scale + 0.5).max(1.0) as u64;
    let (styles, scripts, fonts, pictures) = match page {
        Median::Desktop => ((82, 8), (697, 23), (139, 4), (1058, 19)),
        Median::Mobile => ((77, 8), (632, 23), (122, 4), (911, 14)),
    };
    let of = |(bytes, number): (u32, u32)| (kb(bytes), number);
    app::site(&app::PageWeights {
        document: kb(22),
        styles: of(styles),
        scripts: of(scripts),
        fonts: of(fonts),
        pictures: of(pictures),
        blocking_scripts: 5,
        hosts,
    })
}
