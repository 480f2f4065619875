//! Sets up those whose experience is scored.

use super::Engine;
use super::hooks::MakePlayer;
use super::hosts::{control, way};
use crate::app::{
    self, Adaptive, Browser, Call, Fetch, Game, Habits, Media, PageReader, Responsiveness, Source, TestRules, Video,
    Voice, Web,
};
use crate::engine::{Direction, Way};
use crate::player::{Algorithm, Clip, Draws, Session, Settings};
use crate::scenario::{self, CallDirection, CloudGaming, Gaming, HttpOfPage, Median, Page, Scenario, Tcp, Users};
use crate::stream::stream;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::{CongestionControl, Counting, Reno};
use sojourn_net::quic::DATAGRAM;
use sojourn_net::{Bytes, Span, Time, tcp};
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
    Habits(Rc<Habits>),
    Objects(Rc<Vec<app::PageObject>>),
    Rules(Rc<TestRules>),
}

/// Prepares what the users of a group share.
fn prepare(users: &Users) -> Group {
    match users {
        Users::Page(page) => Group::Objects(Rc::new(page_objects(page.page, page.hosts, page.scale))),
        Users::Responsiveness(tester) => Group::Rules(Rc::new(TestRules {
            load: directions(tester.direction),
            connections: tester.connections,
            interval: tester.interval,
            averages: tester.averages as usize,
            tolerance: tester.tolerance,
            probes: tester.probes,
            probe_share: tester.probe_share,
            tls: tester.tls,
            trim: tester.trim,
            length: tester.length,
            pause: tester.pause,
        })),
        Users::Adaptive(adaptive) => Group::Clips(adaptive.read_clips().unwrap_or_default()),
        Users::Browser(browser) => Group::Habits(Rc::new(Habits {
            pages: match &browser.objects {
                Some(objects) => vec![app::WebPage::of(objects.iter().map(|object| object.0).collect())],
                None => {
                    let categories = browser.dwell_scales.len();
                    app::pages(browser.pages, browser.page_median.0, browser.page_sigma, categories)
                }
            },
            request: browser.request.0,
            header: browser.response_header.0,
            connections: browser.connections as usize,
            patience: browser.patience,
            dwell_shape: browser.dwell_shape,
            dwell_scales: browser.dwell_scales.clone(),
            dwell_bounds: browser.dwell_bounds,
        })),
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
        mut rng: Pcg64Mcg,
        viewers: &mut Viewers<'_>,
    ) {
        let number = self.next_number();
        let way = way(&scenario.path, users.over(), users.rtt(), None);
        let origin = (scenario.flows.len() as u32 + user) as u16;
        let warmup = Time(scenario.warmup.0);
        let source: Box<dyn Source> = match users {
            Users::Video(video) => Box::new(Video {
                number,
                user,
                group: self.without_tcp(way, origin),
                schedules: video.schedules.clone(),
                gap: video.gap,
                start_within: video.start_within,
                warmup,
                rng,
                shown: Default::default(),
            }),
            Users::Voice(voice) => {
                let group = self.without_tcp(way, origin);
                let directions = directions(voice.direction);
                let packets = (voice.call.0 / app::VOICE_INTERVAL.0).max(1) as u16;
                Box::new(Voice {
                    number,
                    user,
                    group,
                    directions,
                    packets,
                    size: voice.packet(),
                    spurts: voice.talk_spurts.clone(),
                    schedules: voice.schedules.clone(),
                    gap: voice.gap,
                    start_within: voice.start_within,
                    warmup,
                    rng,
                    calls: Default::default(),
                })
            }
            Users::Page(page) => {
                let tcp = match page.http {
                    // Its controllers count full datagrams.
                    HttpOfPage::Http3 => Page { mss: Bytes(DATAGRAM), ..page.clone() }.tcp(),
                    _ => page.tcp(),
                };
                let group = self.with_tcp(&tcp, way, origin, &rng);
                let Group::Objects(objects) = shared else { return };
                Box::new(PageReader {
                    number,
                    user,
                    group,
                    objects: objects.clone(),
                    version: match page.http {
                        HttpOfPage::Http1 => app::HttpOfPage::Http1,
                        HttpOfPage::Http2 => app::HttpOfPage::Http2,
                        HttpOfPage::Http3 => app::HttpOfPage::Http3,
                    },
                    bytes: app::PageBytes {
                        request: page.request.0,
                        header: page.response_header.0,
                        certificate: page.certificate.0,
                    },
                    control: control(&tcp, rng.clone().random()),
                    pause: page.pause,
                    patience: page.patience,
                    start_within: page.start_within,
                    warmup,
                    rng,
                    loads: Default::default(),
                })
            }
            Users::Call(call) => Box::new(Call {
                number,
                user,
                group: self.without_tcp(way, origin),
                directions: directions(call.direction),
                media: Media {
                    height: call.height,
                    fps: call.fps,
                    most: call.most_rate().0 as f64,
                    audio: call.audio.0 as f64,
                    start: call.start_rate.0 as f64,
                },
                start_within: call.start_within,
                warmup,
                rng,
                state: Default::default(),
            }),
            Users::Web(web) => {
                let group = self.with_tcp(&web.tcp(), way, origin, &rng);
                let objects = web.objects.iter().map(|object| object.0 + web.response_header.0).collect();
                let page = app::Page { objects, request: web.request.0, restart: web.object_restart };
                Box::new(Web {
                    number,
                    user,
                    group,
                    page,
                    pause: web.pause,
                    start_within: web.start_within,
                    warmup,
                    rng,
                    loads: Default::default(),
                })
            }
            Users::Adaptive(adaptive) => {
                let group = self.with_tcp(&adaptive.tcp(), way, origin, &rng);
                viewers.start += Span((rng.random::<f64>() * adaptive.start_within.0 as f64) as u64);
                let Some(session) = session(adaptive, shared, viewers.make_player, rng) else { return };
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
            Users::Browser(browser) => {
                let group = self.with_tcp(&browser.tcp(), way, origin, &rng);
                let Group::Habits(habits) = shared else { return };
                Box::new(Browser {
                    number,
                    user,
                    group,
                    habits: habits.clone(),
                    start_within: browser.start_within,
                    warmup,
                    rng,
                    visit: Default::default(),
                })
            }
            Users::Gaming(Gaming { start_within, .. }) | Users::CloudGaming(CloudGaming { start_within, .. }) => {
                let [down, up] = match users {
                    Users::CloudGaming(streamed) => streamed.paces(),
                    Users::Gaming(ticks) => ticks.paces(),
                    _ => return,
                };
                Box::new(Game {
                    number,
                    user,
                    group: self.without_tcp(way, origin),
                    paces: [(Direction::Down, down), (Direction::Up, up)],
                    start_within: *start_within,
                    warmup,
                    rng,
                    played: Default::default(),
                })
            }
            // A point holds its people instead.
            Users::Household(_) => return,
            Users::Responsiveness(tester) => {
                let group = self.with_tcp(&tester.tcp(), way, origin, &rng);
                let Group::Rules(rules) = shared else { return };
                let start = Time((rng.random::<f64>() * tester.start_within.0 as f64) as u64);
                let (rules, test) = (rules.clone(), Default::default());
                Box::new(Responsiveness { number, user, group, rules, start, warmup, rng, test })
            }
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

/// The directions that speech, pictures or loads go in.
fn directions(direction: CallDirection) -> Vec<Direction> {
    match direction {
        CallDirection::Both => vec![Direction::Up, Direction::Down],
        CallDirection::Up => vec![Direction::Up],
        CallDirection::Down => vec![Direction::Down],
    }
}

/// One viewing: a clip by lot, and a player for it. None if the scenario was not checked.
fn session(
    adaptive: &scenario::Adaptive,
    shared: &Group,
    make_player: MakePlayer<'_>,
    mut rng: Pcg64Mcg,
) -> Option<Session> {
    let Group::Clips(clips) = shared else { return None };
    let clip = clips.get(rng.random_range(0..clips.len().max(1)))?;
    let first = rng.random_range(0..clip.len());
    // Divided, since 60 s × 1e-9 is not 60 and rules compare with round numbers.
    let seconds = |span: Span| span.0 as f64 / 1e9;
    let segments = (seconds(adaptive.length) / clip.segment_s() + 1e-9) as usize;
    let clip = clip.looped(if adaptive.start_anywhere { first } else { 0 }, segments.max(1));
    let buffer_s = seconds(adaptive.buffer);
    let player = match &adaptive.algorithm {
        Algorithm::Python(python) => make_player(python, &clip, buffer_s),
        algorithm => algorithm.player(&clip, buffer_s, Draws::Random(rng))?,
    };
    let settings = Settings { buffer_s, initial_s: seconds(adaptive.initial), resume_s: seconds(adaptive.resume) };
    let session = Session::new(Rc::new(clip), player, settings).ok()?;
    if let Some(live) = &adaptive.live {
        return Some(session.of_live(live.settings()));
    }
    Some(if adaptive.give_up { session.giving_up() } else { session })
}
