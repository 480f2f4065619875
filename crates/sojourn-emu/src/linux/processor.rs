//! The processor: the priority of a thread, where it runs, what a hypervisor took, and what the machine was busy with.

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use serde::Serialize;
use std::fs::{self, File};
use std::io::Write;

/// Priority among `SCHED_FIFO` threads: above what asks for none in particular, below the kernel's own.
const PRIORITY: i32 = 50;

/// Lets this thread run before all that are not `SCHED_FIFO`; false if that is not allowed.
pub fn run_first() -> bool {
    let parameters = libc::sched_param { sched_priority: PRIORITY };
    // SAFETY: the structure is what the call takes; 0 is this thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) == 0 }
}

/// The threads of the kernel that do the work of the receiving hosts for interfaces of this name, by number.
pub fn napi_threads(interface: &str) -> Vec<i32> {
    let begins = format!("napi/{interface}-");
    let numbers = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        fs::read_to_string(entry.path().join("comm")).ok()?.starts_with(&begins).then_some(number)
    });
    numbers.collect()
}

/// Lets such a thread run before ordinary programs, as a network card's interrupt does, but after the emulator.
pub fn run_soon(thread: i32) {
    let parameters = libc::sched_param { sched_priority: PRIORITY - 10 };
    // SAFETY: the structure is what the call takes.
    unsafe { libc::sched_setscheduler(thread, libc::SCHED_FIFO, &parameters) };
}

/// With fewer processors than so many, programs may need each of them.
const ENOUGH: usize = 3;

/// Of these processors the emulator's own, which is the last, and the others; `None` if there are too few.
fn shared_out(allowed: &CpuSet) -> Option<[CpuSet; 2]> {
    let (mut own, mut others) = (CpuSet::new(), *allowed);
    let places = (0..CpuSet::count()).filter(|place| allowed.is_set(*place).unwrap_or(false));
    let last = places.clone().next_back().filter(|_| places.count() >= ENOUGH)?;
    own.set(last).and(others.unset(last)).ok()?;
    Some([own, others])
}

/// Lets a thread run on the emulator's processor alone (0), or on the others (1), if there are enough; 0 is this one.
fn keep(thread: i32, share: usize) {
    let allowed = sched_getaffinity(Pid::from_raw(0)).ok();
    if let Some(shares) = allowed.as_ref().and_then(shared_out) {
        let _ = sched_setaffinity(Pid::from_raw(thread), &shares[share]);
    }
}

/// Keeps this thread on the emulator's processor.
pub fn keep_to_own() {
    keep(0, 0);
}

/// Keeps a thread off the emulator's processor; 0 is this one. Who is woken there otherwise, by a packet, waits until
/// the emulator sleeps, while another processor may be idle.
pub fn leave_own(thread: i32) {
    keep(thread, 1);
}

/// Lets sleeps of this thread end to the nanosecond, not up to 50 µs later.
pub fn wake_punctually() {
    // SAFETY: takes a number.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) };
}

/// Keeps processors from sleeping deeply while it is held; `None` if that is not allowed.
pub fn stay_awake() -> Option<File> {
    let mut file = File::options().write(true).open("/dev/cpu_dma_latency").ok()?;
    file.write_all(&0i32.to_ne_bytes()).ok()?;
    Some(file)
}

/// Keeps the memory of this process where it is, as far as that is allowed.
pub fn lock_memory() -> bool {
    // SAFETY: takes flags.
    unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) == 0 }
}

/// What the processors did up to now, in ticks, all of them together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ticks {
    total: u64,
    idle: u64,
    stolen: u64,
}

/// Shares of the time between two looks, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Shares {
    /// Of all processors together: at work for anybody.
    pub busy_pct: f64,
    /// Taken by the hypervisor for others.
    pub steal_pct: f64,
}

impl Ticks {
    /// Up to now; zeros if the kernel does not tell.
    pub fn now() -> Self {
        Self::read(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn read(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> = first.split_whitespace().skip(1).take(8).filter_map(|word| word.parse().ok()).collect();
        let at = |place: usize| ticks.get(place).copied().unwrap_or(0);
        Self { total: ticks.iter().sum(), idle: at(3) + at(4), stolen: at(7) }
    }

    /// The shares since an earlier look.
    pub fn since(self, earlier: Self) -> Shares {
        let total = self.total.saturating_sub(earlier.total).max(1) as f64;
        let of = |now: u64, before: u64| (now.saturating_sub(before) as f64 / total * 1000.0).round() / 10.0;
        let stolen = of(self.stolen, earlier.stolen);
        Shares { busy_pct: (1000.0 - 10.0 * (of(self.idle, earlier.idle) + stolen)).round() / 10.0, steal_pct: stolen }
    }
}

/// Processor time of this thread in seconds.
pub fn thread_seconds() -> f64 {
    nix::time::clock_gettime(nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID)
        .map_or(0.0, |at| at.tv_sec() as f64 + at.tv_nsec() as f64 * 1e-9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_all_ticks() {
        let before = Ticks::read("cpu  100 0 100 800 0 0 0 0 0 0\ncpu0 1 2\n");
        let after = Ticks::read("cpu  150 0 110 820 10 0 0 10 0 0\n");
        assert_eq!(after.since(before), Shares { busy_pct: 60.0, steal_pct: 10.0 });
        assert_eq!(Ticks::read("").since(Ticks::read("")), Shares { busy_pct: 100.0, steal_pct: 0.0 });
    }

    #[test]
    fn the_emulator_has_the_last_of_three_processors_and_more_and_others_the_rest() {
        let shares = |allowed: &[usize]| {
            let mut set = CpuSet::new();
            allowed.iter().for_each(|place| set.set(*place).unwrap());
            let places = |set: CpuSet| (0..CpuSet::count()).filter(|at| set.is_set(*at).unwrap()).collect::<Vec<_>>();
            shared_out(&set).map(|shares| shares.map(places))
        };
        for few in [&[][..], &[0], &[1, 2]] {
            assert_eq!(shares(few), None);
        }
        assert_eq!(shares(&[0, 1, 2]), Some([vec![2], vec![0, 1]]));
        assert_eq!(shares(&[3, 5, 8, 9]), Some([vec![9], vec![3, 5, 8]]));
    }

    #[test]
    fn the_threads_of_one_interface_are_told_from_those_of_another_whose_name_begins_alike() {
        // Programs that call themselves as the kernel's threads do, until their input ends.
        let mut programs: Vec<_> = ["napi/qz7-1", "napi/qz71-2", "xnapi/qz7-3"]
            .map(|name| {
                let told = format!("printf %s {name} > /proc/$$/comm; echo; read line");
                let mut command = std::process::Command::new("sh");
                command.args(["-c", &told]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
                let mut program = command.spawn().unwrap();
                let mut named = [0];
                std::io::Read::read_exact(program.stdout.as_mut().unwrap(), &mut named).unwrap();
                program
            })
            .into();
        let found = napi_threads("qz7");
        let [first, other, _] = [0, 1, 2].map(|k| programs[k].id() as i32);
        let of_longer = napi_threads("qz71");
        programs.iter_mut().for_each(|program| {
            drop(program.stdin.take());
            program.wait().unwrap();
        });
        assert_eq!((found, of_longer), (vec![first], vec![other]));
    }
}
