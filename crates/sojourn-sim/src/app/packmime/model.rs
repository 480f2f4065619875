//! PackMime's random variables: when connections start, and what is asked for and answered on each.
//!
//! Source: Cao et al., INFOCOM 2004, in the form and with the constants of ns-2.35's `packmime/`. With L = log2 of the
//! connections a second, most parameters are logitinv(c₀ + c₁ L). All draws of a connection are made when it starts, so
//! that what is sent does not depend on what the network does.

use super::noise::Noise;
use super::tables::TABLES;
use crate::app::source::{normal, uniform};
use crate::scenario::HttpVersion;
use rand_pcg::Pcg64Mcg;
use sojourn_net::Span;

/// One request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// From the end of the answer before to this request.
    pub gap: Span,
    /// Bytes asked with.
    pub request: u64,
    /// From the request's arrival to the answer.
    pub delay: Span,
    /// Bytes answered.
    pub response: u64,
}

/// A stream of connections.
pub struct Model {
    http: HttpVersion,
    /// Responses are so many times what the tables say.
    scale: f64,
    shape: f64,
    mean_gap_scale: f64,
    arrivals: Noise,
    requests: Noise,
    /// Shapes of the runs of cached and of downloaded responses.
    runs: [f64; 2],
    downloads: bool,
    left: u64,
    pub(super) rng: Pcg64Mcg,
}

/// Scales of the runs of cached and of downloaded responses.
const RUN_SCALES: [f64; 2] = [0.775, 3.11];

fn logitinv(x: f64) -> f64 {
    let e = libm::exp(x);
    e / (1.0 + e)
}

fn weibull(shape: f64, scale: f64, rng: &mut Pcg64Mcg) -> f64 {
    scale * libm::pow(-libm::log(uniform(rng)), 1.0 / shape)
}

/// Φ(−y): the probability of more than `y`.
fn above(y: f64) -> f64 {
    libm::erfc(y / std::f64::consts::SQRT_2) / 2.0
}

/// Gamma of mean 1 (Marsaglia and Tsang 2000; the shape is above 1).
fn gamma(shape: f64, rng: &mut Pcg64Mcg) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(rng);
        let v = 1.0 + c * x;
        let v = v * v * v;
        if v > 0.0 && libm::log(uniform(rng)) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v / shape;
        }
    }
}

/// Powers of two whose exponents scatter about a place of their own in each connection.
struct Powers {
    place: f64,
    spread: f64,
}

impl Powers {
    fn draw(mean: f64, variance: f64, shape: f64, error: f64, rng: &mut Pcg64Mcg) -> Self {
        let place = mean + libm::sqrt(variance) * normal(rng);
        Self { place, spread: libm::sqrt(gamma(shape, rng) * error) }
    }

    fn next(&self, rng: &mut Pcg64Mcg) -> f64 {
        libm::exp2(self.place + self.spread * normal(rng))
    }
}

fn seconds(s: f64) -> Span {
    Span::from_secs_f64(s.min(1e6))
}

impl Model {
    /// `rate` connections a second; responses scaled so that they would have a mean of `response_mean` bytes within the
    /// tables, or as they are.
    pub fn new(rate: f64, http: HttpVersion, response_mean: Option<f64>, rng: Pcg64Mcg) -> Self {
        let log = libm::log2(rate);
        let shape = logitinv(0.352 + 0.388 * log);
        let runs = [logitinv(0.718 + 0.357 * log), logitinv(1.293 + 0.316 * log)];
        let mut model = Self {
            http,
            scale: 1.0,
            shape,
            mean_gap_scale: 1.0 / (rate * libm::tgamma(1.0 + 1.0 / shape)),
            arrivals: Noise::new(0.33, logitinv(0.333 + 0.414 * log)),
            requests: Noise::new(0.31, logitinv(0.123 + 0.494 * log)),
            runs,
            downloads: false,
            left: 0,
            rng,
        };
        model.scale = response_mean.map_or(1.0, |mean| mean / model.mean_response(false));
        model
    }

    /// Shape and scale of the Weibull distribution of the times between connections.
    pub fn gaps(&self) -> (f64, f64) {
        (self.shape, self.mean_gap_scale)
    }

    /// How much of the variance behind the times between connections is white noise.
    #[cfg(test)]
    pub(super) fn white_share(&self) -> f64 {
        self.arrivals.white_share()
    }

    /// Share of the responses that are downloads.
    pub fn share_of_downloads(&self) -> f64 {
        let mean = |i: usize| {
            // E⌈X⌉ = Σ P(X > n).
            let terms = (0..).map(|n: u32| libm::exp(-libm::pow(f64::from(n) / RUN_SCALES[i], self.runs[i])));
            terms.take_while(|p| *p > 1e-15).sum::<f64>()
        };
        mean(1) / (mean(0) + mean(1))
    }

    /// The mean of responses on connections with one request. The tail (Pareto, index 1.23) is so heavy that no run
    /// sees the mean of the `whole` distribution: one response in 300 000 lies beyond the table's end, 61 MB, and these
    /// make 9 % of the mean.
    pub fn mean_response(&self, whole: bool) -> f64 {
        let share = self.share_of_downloads();
        self.scale
            * (share * TABLES.response_download.mean_of_powers(whole) + (1.0 - share) * TABLES.response_cached.mean())
    }

    /// Time to the next connection.
    pub fn gap(&mut self) -> Span {
        let p = above(self.arrivals.next(&mut self.rng)).max(f64::MIN_POSITIVE);
        seconds(self.mean_gap_scale * libm::pow(-libm::log(p), 1.0 / self.shape))
    }

    /// Everything that happens on the next connection.
    pub fn connection(&mut self) -> Vec<Exchange> {
        let first = Exchange { gap: Span::ZERO, request: self.request(), response: 0, delay: Span::ZERO };
        let size = self.response();
        let mut exchanges = vec![Exchange { response: self.scaled(size), ..first }];
        if self.http == HttpVersion::V1_1 && uniform(&mut self.rng) <= 0.09 {
            self.persist(&mut exchanges, size);
        }
        for exchange in &mut exchanges {
            exchange.delay = seconds(1.0 / weibull(0.63, 305.0, &mut self.rng).max(10.0));
        }
        exchanges
    }

    /// Adds the further exchanges of a persistent connection, all with the first one's request.
    fn persist(&mut self, exchanges: &mut Vec<Exchange>, first: f64) {
        let rng = &mut self.rng;
        let more = |mean: f64, rng: &mut Pcg64Mcg| libm::ceil(1.0 - mean * libm::log(uniform(rng))).max(2.0) as u32;
        let pages = if uniform(rng) <= 0.82 { 1 } else { more(0.417, rng) };
        let inside = Powers::draw(-4.15, 3.12, 2.35, 1.57, rng);
        let between = Powers::draw(3.22, 0.73, 1.85, 1.21, rng);
        let sizes = Powers::draw(10.62, 0.94, 3.22, 2.43, rng);
        for page in 0..pages {
            let objects = if pages > 1 && uniform(rng) <= 0.69 { 1 } else { more(1.578, rng) };
            for object in 0..objects {
                if (page, object) == (0, 0) {
                    continue;
                }
                let gap = seconds(if object > 0 { inside.next(rng) } else { between.next(rng) });
                let size = if first > 275.0 { sizes.next(rng) } else { first };
                let response = scaled(size, self.scale);
                exchanges.push(Exchange { gap, response, ..exchanges[0] });
            }
        }
    }

    fn scaled(&self, size: f64) -> u64 {
        scaled(size, self.scale)
    }

    fn request(&mut self) -> u64 {
        let above = above(self.requests.next(&mut self.rng));
        let size = if above >= 0.5 {
            TABLES.request_low.at(2.0 * (1.0 - above))
        } else {
            libm::exp2(TABLES.request_high.at(libm::log2((2.0 * above).max(f64::MIN_POSITIVE))))
        };
        scaled(size, 1.0)
    }

    /// Runs of downloads and of answers out of a cache take turns, downloads first.
    fn response(&mut self) -> f64 {
        while self.left == 0 {
            self.downloads = !self.downloads;
            let i = usize::from(self.downloads);
            self.left = libm::ceil(weibull(self.runs[i], RUN_SCALES[i], &mut self.rng)) as u64;
        }
        self.left -= 1;
        let u = uniform(&mut self.rng);
        if self.downloads {
            libm::exp2(TABLES.response_download.at(libm::log2(u)))
        } else {
            TABLES.response_cached.at(u)
        }
    }
}

/// Whole bytes, at least one; more than a terabyte is none of the model's.
fn scaled(size: f64, scale: f64) -> u64 {
    ((size * scale) as u64).clamp(1, 1 << 40)
}
