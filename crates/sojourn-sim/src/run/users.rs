//! Sets up those whose experience is scored.

use super::Engine;
use super::hosts::{config, control, delays};
use crate::scenario::{CallDirection, Scenario, Users};
use crate::source::{self, Source, Voice, Web};
use crate::wire::Way;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;
use sojourn_net::congestion::{CongestionControl, Counting, Reno};
use sojourn_net::{Time, tcp};

impl Engine {
    /// Adds one user; `user` counts over all users of the scenario.
    pub(super) fn add_user(&mut self, scenario: &Scenario, users: &Users, user: u32, rng: Pcg64Mcg) {
        let number = self.next_number();
        let (client, server) = delays(&scenario.path, None);
        let warmup = Time(scenario.warmup.0);
        let source: Box<dyn Source> = match users {
            Users::Voice(voice) => {
                let config = tcp::Config::default();
                let (mss, initial) = (u64::from(config.mss), config.initial_window());
                let unused = move || Box::new(Reno::new(mss, initial, Counting::Bytes)) as Box<dyn CongestionControl>;
                let group = self.network.add_group(config, Box::new(unused), client, server, false);
                let ways = match voice.direction {
                    CallDirection::Both => vec![Way::Up, Way::Down],
                    CallDirection::Up => vec![Way::Up],
                    CallDirection::Down => vec![Way::Down],
                };
                let packets = (voice.call.0 / source::VOICE_INTERVAL.0).max(1) as u16;
                Box::new(Voice {
                    number,
                    user,
                    group,
                    ways,
                    packets,
                    gap: voice.gap,
                    start_within: voice.start_within,
                    warmup,
                    rng,
                    calls: Default::default(),
                })
            }
            Users::Web(web) => {
                let settings = web.tcp();
                let seed = rng.clone().random();
                let group = self.network.add_group(config(&settings), control(&settings, seed), client, server, false);
                let objects = web.objects.iter().map(|object| object.0 + web.response_header.0).collect();
                let page = source::Page { objects, request: web.request.0, restart: web.object_restart };
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
        };
        self.sources.push(source);
    }
}
