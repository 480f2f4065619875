//! The ideal link: a rate over time, and a latency that is spent once a request before the first bit. No TCP, no header
//! bytes.
//!
//! Source: the link of the player simulator sabre (K. Spiteri, R. Sitaraman, D. Sparacio, "From Theory to Practice:
//! Improving Bitrate Adaptation in the DASH Reference Player", MMSys 2018), written from its behaviour: periods are
//! played in order and started over at the end; the trace goes on during latencies and waits.

use super::session::{Next, Session};

/// More laps of a trace than this are not walked one by one.
const MANY_LAPS: f64 = 100.0;

/// A time of constant rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Period {
    /// How long it lasts; may be infinite.
    pub duration_s: f64,
    /// Rate in kb/s.
    pub rate_kbps: f64,
    /// Latency of a request.
    pub latency_s: f64,
}

/// A link whose rate follows a trace.
#[derive(Clone, Debug)]
pub struct Link {
    periods: Vec<Period>,
    at: usize,
    left_s: f64,
    lap_s: f64,
    lap_kbit: f64,
}

impl Link {
    /// A link that begins with the first period. The error is a sentence.
    pub fn new(periods: Vec<Period>) -> Result<Self, String> {
        if periods.is_empty() {
            return Err("a trace must have at least one period".to_owned());
        }
        for (i, Period { duration_s, rate_kbps, latency_s }) in periods.iter().enumerate() {
            if duration_s.is_nan() || *duration_s <= 0.0 {
                return Err(format!("period {} of the trace lasts {duration_s} s: expected more than 0", i + 1));
            }
            if !(0.0..1e9).contains(rate_kbps) {
                return Err(format!("period {} of the trace has a rate of {rate_kbps} kb/s", i + 1));
            }
            if !(0.0..=60.0).contains(latency_s) {
                return Err(format!("period {} of the trace has a latency of {latency_s} s: expected 0 to 60", i + 1));
            }
            if duration_s.is_infinite() && *rate_kbps == 0.0 {
                return Err(format!("period {} of the trace sends nothing for ever", i + 1));
            }
        }
        let lap_s: f64 = periods.iter().map(|p| p.duration_s).sum();
        let lap_kbit = periods.iter().map(|p| p.duration_s * p.rate_kbps).sum();
        if lap_s < 0.001 {
            return Err(format!("a trace of {lap_s} s: expected at least 1 ms"));
        }
        if !(lap_kbit / lap_s >= 1e-3 || lap_kbit == f64::INFINITY) {
            return Err("the trace sends nothing".to_owned());
        }
        let left_s = periods[0].duration_s;
        Ok(Self { periods, at: 0, left_s, lap_s, lap_kbit })
    }

    fn next_period(&mut self) {
        self.at = (self.at + 1) % self.periods.len();
        self.left_s = self.periods[self.at].duration_s;
    }

    /// Lets time pass.
    pub fn wait(&mut self, mut seconds: f64) {
        if seconds > MANY_LAPS * self.lap_s {
            seconds %= self.lap_s;
        }
        while seconds > self.left_s {
            seconds -= self.left_s;
            self.next_period();
        }
        self.left_s -= seconds;
    }

    /// Downloads; returns the seconds before the first bit and those from the first to the last.
    pub fn fetch(&mut self, bytes: u64) -> (f64, f64) {
        (self.latency(), self.transfer(bytes as f64 * 8e-3))
    }

    /// A latency may change while it is spent: each period uses up its share of it.
    fn latency(&mut self) -> f64 {
        let (mut share, mut spent) = (1.0, 0.0);
        loop {
            let latency = self.periods[self.at].latency_s;
            let wanted = share * latency;
            if wanted <= self.left_s {
                self.left_s -= wanted;
                return spent + wanted;
            }
            spent += self.left_s;
            share -= self.left_s / latency;
            self.next_period();
        }
    }

    fn transfer(&mut self, mut kbit: f64) -> f64 {
        let mut spent = 0.0;
        if kbit > MANY_LAPS * self.lap_kbit {
            let laps = (kbit / self.lap_kbit - 1.0) as u64 as f64;
            kbit -= laps * self.lap_kbit;
            spent += laps * self.lap_s;
        }
        loop {
            let rate = self.periods[self.at].rate_kbps;
            if kbit <= self.left_s * rate {
                let time = kbit / rate;
                self.left_s -= time;
                return spent + time;
            }
            spent += self.left_s;
            kbit -= self.left_s * rate;
            self.next_period();
        }
    }
}

/// Plays a whole clip over an ideal link; the session's rows tell what became of it.
pub fn play(session: &mut Session, link: &mut Link) {
    let mut now = 0.0;
    loop {
        match session.next(now) {
            Next::Wait(seconds) => {
                link.wait(seconds);
                now += seconds;
            }
            Next::Request { bytes, .. } => {
                let (latency, transfer) = link.fetch(bytes);
                let first_byte = now + latency;
                now += latency + transfer;
                session.arrived(first_byte, now);
            }
            Next::Done => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(duration_s: f64, rate_kbps: f64, latency_s: f64) -> Period {
        Period { duration_s, rate_kbps, latency_s }
    }

    #[test]
    fn downloads_cross_periods_and_start_over() {
        let mut link = Link::new(vec![period(1.0, 8.0, 0.5), period(2.0, 0.0, 0.5), period(1.0, 80.0, 0.5)]).unwrap();
        // 0.5 s of latency, 500 bytes in the first period's rest, 5000 in the third.
        assert_eq!(link.fetch(5500), (0.5, 0.5 + 2.0 + 0.5));
        // Latency over the end of the trace.
        link.wait(0.25);
        assert_eq!(link.fetch(250), (0.5, 0.25));
        // One lap is 11 000 bytes in 4 s; 1000 laps and 500 bytes from the start of the second period on.
        assert_eq!(link.fetch(11_000_000 + 500), (0.5, 4000.0 + 2.0 + 0.05));
    }

    #[test]
    fn latency_is_spent_in_shares() {
        let mut link = Link::new(vec![period(1.0, 8.0, 4.0), period(9.0, 8.0, 2.0)]).unwrap();
        assert_eq!(link.fetch(1000), (1.0 + 0.75 * 2.0, 1.0));
    }

    #[test]
    fn impossible_traces_are_refused() {
        let wrong = |periods: &[Period]| Link::new(periods.to_vec()).unwrap_err();
        assert!(wrong(&[]).contains("at least one"));
        assert!(wrong(&[period(0.0, 1.0, 0.0)]).contains("lasts 0 s"));
        assert!(wrong(&[period(1.0, f64::NAN, 0.0)]).contains("NaN"));
        assert!(wrong(&[period(1.0, 0.0, 0.0)]).contains("sends nothing"));
        assert!(wrong(&[period(f64::INFINITY, 0.0, 0.0)]).contains("for ever"));
        assert!(wrong(&[period(1.0, 1.0, -1.0)]).contains("latency"));
        assert!(Link::new(vec![period(f64::INFINITY, 1.0, 0.0)]).is_ok());
    }
}
