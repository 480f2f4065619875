//! The command, in a process namespace of its own: started, told to end, and waited for.

use crate::ends::bed::Bed;
use crate::ends::init::{self, Ended, Programs};
use crate::setup::{Addresses, Setup};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::Pid;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long a command may take to end after it was told to.
const GRACE: Duration = Duration::from_secs(3);

/// Signals that end the command, not this process: they are read from a descriptor. Hang-ups that whoever called
/// ignores are none.
///
/// # Errors
/// The kernel refuses.
pub fn blocked_signals() -> io::Result<SignalFd> {
    let mut signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGQUIT]);
    if !init::ignores_hang_up() {
        signals.add(Signal::SIGHUP);
    }
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)?;
    Ok(SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// A signal that has come and was not looked at yet.
pub fn pending(signals: &SignalFd) -> Option<Signal> {
    let found = signals.read_signal().ok().flatten()?;
    Signal::try_from(found.ssi_signo as i32).ok()
}

/// Where the ends are, as variables for the command and the server: addresses that they have.
fn environment([client, server]: [Addresses; 2], mtu: u32) -> Vec<(String, String)> {
    let of = |name: &'static str, end: Addresses| {
        end.within(mtu).map(move |address| {
            let version = if address.is_ipv6() { "6" } else { "" };
            (format!("SOJOURN_{name}{version}"), address.to_string())
        })
    };
    of("CLIENT", client).chain(of("SERVER", server)).collect()
}

/// The first process of the command's process namespace.
pub struct Child {
    pid: Pid,
    go: File,
    status: File,
    begun: Instant,
    told_to_end: bool,
}

impl Child {
    /// Makes it; it starts the server, and waits to be told to go.
    ///
    /// # Errors
    /// There is no process to be had.
    pub fn start(setup: &Setup, bed: &Bed) -> io::Result<Self> {
        let (waits, go) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        let (status, tells) = nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC)?;
        let environment = environment(bed.ends.each_ref().map(|end| end.addresses), setup.mtu);
        let programs = Programs {
            command: &setup.command,
            server: setup.server.as_deref(),
            environment: &environment,
            networks: bed.ends.each_ref().map(|end| end.network.as_fd()),
            user: setup.user.as_ref().filter(|_| !bed.rights.rootless),
            appear_as: bed.rights.rootless.then_some(setup.caller),
            apart: !bed.rights.rootless,
        };
        // The flags make it the first process of a new process namespace; this process stays where it is, as it must if
        // it is to have threads.
        // SAFETY: this process has one thread, so that the copy is whole.
        let pid = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_NEWPID | libc::SIGCHLD, 0, 0, 0, 0) };
        if pid == 0 {
            drop((go, status));
            init::run(&programs, waits, tells);
        }
        if pid < 0 {
            return Err(io::Error::last_os_error());
        }
        let (go, status, begun) = (File::from(go), File::from(status), Instant::now());
        Ok(Self { pid: Pid::from_raw(pid as i32), go, status, begun, told_to_end: false })
    }

    /// Waits until the server listens or has had the time to, or a signal has come.
    ///
    /// # Errors
    /// The process has ended.
    pub fn ready(&mut self, signals: &SignalFd) -> io::Result<()> {
        let mut watched = [self.status.as_fd(), signals.as_fd()].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        let _ = poll(&mut watched, PollTimeout::NONE);
        if watched[1].any().unwrap_or(false) {
            return Ok(());
        }
        let mut byte = [0];
        self.status.read_exact(&mut byte)
    }

    /// Starts the command.
    ///
    /// # Errors
    /// It cannot be told to go.
    pub fn go(&mut self) -> io::Result<()> {
        self.begun = Instant::now();
        self.go.write_all(&[1])
    }

    /// Lets the command run until it has ended, its time is over, it is told to end, or whoever started us is gone.
    /// `None`: it says through `word` that it is ready.
    ///
    /// # Errors
    /// It cannot be waited for.
    pub fn run(
        &mut self,
        setup: &Setup,
        signals: &SignalFd,
        parent: &OwnedFd,
        word: Option<&File>,
    ) -> io::Result<Option<Ended>> {
        let begun = self.begun;
        let mut timed_out = false;
        let mut end_at = setup.duration_s.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
        loop {
            let left = end_at.map_or(1000, |at| at.saturating_duration_since(Instant::now()).as_millis().min(1000));
            let (status, word_or_status) = (self.status.as_fd(), word.map_or(self.status.as_fd(), AsFd::as_fd));
            let mut watched =
                [status, signals.as_fd(), parent.as_fd(), word_or_status].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let _ = poll(&mut watched, PollTimeout::from(left as u16));
            let [ended, signalled, orphaned, worded] = watched.map(|fd| fd.any().unwrap_or(false));
            if ended {
                let mut text = Vec::new();
                self.status.read_to_end(&mut text)?;
                let _ = nix::sys::wait::waitpid(self.pid, None);
                let killed = || Ended {
                    exit: 137,
                    signal: Some("SIGKILL".to_owned()),
                    wall_s: begun.elapsed().as_secs_f64(),
                    ..Ended::default()
                };
                let ended = serde_json::from_slice(&text).unwrap_or_else(|_| killed());
                return Ok(Some(Ended { timed_out, ..ended }));
            }
            if let (true, Some(mut word)) = (worded, word) {
                if word.read(&mut [0])? == 1 {
                    return Ok(None);
                }
                // The command has closed its end, and will end itself.
                std::thread::sleep(Duration::from_millis(10));
            }
            if orphaned {
                let _ = kill(self.pid, Signal::SIGKILL);
                continue;
            }
            let mut send = None;
            while let Some(found) = signalled.then(|| signals.read_signal().ok().flatten()).flatten() {
                let number = found.ssi_signo as i32;
                // An interrupt of the terminal reaches the command by itself.
                send = [Signal::SIGTERM, Signal::SIGHUP].into_iter().find(|signal| *signal as i32 == number).or(send);
            }
            if end_at.is_some_and(|at| at <= Instant::now()) {
                timed_out |= !self.told_to_end;
                send = Some(if self.told_to_end { Signal::SIGKILL } else { Signal::SIGTERM });
                end_at = None;
            }
            if let Some(signal) = send {
                let _ = kill(self.pid, signal);
                self.told_to_end = true;
                end_at = end_at.or(Some(Instant::now() + GRACE));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{LINK, one_hop, setup};
    use nix::fcntl::OFlag;
    use nix::unistd::pipe2;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    /// Says how it ended by the number of the signal that ended it, once it has said that it is there.
    const TOLD: &str = r#"
        say() { printf '{"exit": %s, "signal": null, "refused": null, "server_exit": null, "server_silent": false,
            "wall_s": 0.5}' $1; exit; }
        for signal in 1 2 3 15; do trap "say $signal" $signal; done
        printf r
        while :; do sleep 0.01; done"#;

    fn pipe() -> (OwnedFd, OwnedFd) {
        pipe2(OFlag::O_CLOEXEC).unwrap()
    }

    /// A program of a shell in the place of the first process, and who started us, as long as the second is open.
    fn child(program: &str) -> (Child, [OwnedFd; 2]) {
        let (status, tells) = pipe();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", program]).stdin(Stdio::null()).stdout(tells);
        let pid = Pid::from_raw(command.spawn().unwrap().id() as i32);
        let (parent, lives) = pipe();
        let (status, go) = (File::from(status), File::from(pipe().1));
        (Child { pid, go, status, begun: Instant::now(), told_to_end: false }, [parent, lives])
    }

    /// How a command ends for which this much time is set; `signal` is sent to this thread before.
    fn ends(child: &mut Child, parent: &OwnedFd, duration: &str, signal: Option<Signal>) -> Ended {
        // Threads of their own: what is blocked stays so.
        let setup = setup(&one_hop(LINK), duration);
        let signals = blocked_signals().unwrap();
        if let Some(signal) = signal {
            // SAFETY: the signal is blocked, and waits for who reads it.
            unsafe { libc::pthread_kill(libc::pthread_self(), signal as i32) };
        }
        child.run(&setup, &signals, parent, None).unwrap().unwrap()
    }

    #[test]
    fn a_command_ends_by_itself_and_what_is_said_of_it_is_handed_on() {
        let text = serde_json::json!({
            "exit": 7, "signal": "SIGUSR1", "refused": "no", "server_exit": 4, "server_silent": true, "wall_s": 1.25,
            "timed_out": false
        });
        let (mut child, [parent, _lives]) = child(&format!("printf r; printf '{text}'"));
        child.ready(&blocked_signals().unwrap()).unwrap();
        let ended = ends(&mut child, &parent, "", None);
        assert_eq!(serde_json::to_value(&ended).unwrap(), text);
        assert!(child.ready(&blocked_signals().unwrap()).is_err(), "it has ended");
    }

    #[test]
    fn who_says_nothing_was_killed_and_ran_until_then() {
        let (mut child, [parent, _lives]) = child("kill -9 $$");
        child.begun -= Duration::from_secs(3);
        let begun = child.begun;
        let Ended { exit, signal, wall_s, .. } = ends(&mut child, &parent, "", None);
        assert_eq!((exit, signal.as_deref()), (137, Some("SIGKILL")));
        assert!(wall_s >= 3.0 && wall_s <= begun.elapsed().as_secs_f64());
    }

    #[test]
    fn a_command_is_asked_to_end_when_its_time_is_over_and_then_made_to() {
        let time = r#", "duration_s": 0.15"#;
        let (mut asked, [parent, _lives]) = child(TOLD);
        asked.ready(&blocked_signals().unwrap()).unwrap();
        let begun = Instant::now();
        let Ended { exit, timed_out, .. } = ends(&mut asked, &parent, time, None);
        assert_eq!((exit, timed_out), (Signal::SIGTERM as i32, true));
        assert!(begun.elapsed() >= Duration::from_millis(150));
        assert!(asked.told_to_end);
        let (mut deaf, [parent, _lives]) = child(TOLD);
        deaf.ready(&blocked_signals().unwrap()).unwrap();
        deaf.told_to_end = true;
        assert_eq!(ends(&mut deaf, &parent, time, None).exit, 137, "who has been told once is not told again");
    }

    #[test]
    fn a_hang_up_and_a_wish_to_end_are_handed_on_and_an_interrupt_comes_by_itself() {
        let after = |signal, seconds: f64| {
            let (mut child, [parent, _lives]) = child(TOLD);
            child.ready(&blocked_signals().unwrap()).unwrap();
            ends(&mut child, &parent, &format!(r#", "duration_s": {seconds}"#), Some(signal))
        };
        // Who started the tests may have them ignore a hang-up, and so every child of theirs.
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
        let heard = |signal: &Signal| ignored >> (*signal as i32 - 1) & 1 == 0;
        for signal in [Signal::SIGHUP, Signal::SIGTERM].into_iter().filter(heard) {
            let Ended { exit, timed_out, .. } = after(signal, 60.0);
            assert_eq!((exit, timed_out), (signal as i32, false));
        }
        for left_to_the_terminal in [Signal::SIGINT, Signal::SIGQUIT] {
            assert_eq!(after(left_to_the_terminal, 0.15).exit, Signal::SIGTERM as i32, "its time was over");
        }
    }

    #[test]
    fn a_signal_before_the_command_is_not_waited_for_and_is_there_to_be_seen_once() {
        let signals = blocked_signals().unwrap();
        let (mut child, _alive) = child("exec sleep 9");
        for signal in [Signal::SIGTERM, Signal::SIGINT] {
            assert_eq!(pending(&signals), None);
            // SAFETY: the signal is blocked, and waits for who reads it.
            unsafe { libc::pthread_kill(libc::pthread_self(), signal as i32) };
            child.ready(&signals).unwrap();
            assert_eq!(pending(&signals), Some(signal));
        }
        kill(child.pid, Signal::SIGKILL).unwrap();
        assert!(child.ready(&signals).is_err(), "it has ended");
    }

    #[test]
    fn when_who_started_us_is_gone_all_is_over_at_once() {
        let (mut child, [parent, lives]) = child(TOLD);
        child.ready(&blocked_signals().unwrap()).unwrap();
        drop(lives);
        assert_eq!(ends(&mut child, &parent, "", None).exit, 137);
    }

    #[test]
    fn a_command_may_say_that_it_is_ready_and_runs_on() {
        let (mut child, [parent, _lives]) = child(TOLD);
        child.ready(&blocked_signals().unwrap()).unwrap();
        let (word, says) = pipe();
        let (word, mut says) = (File::from(word), File::from(says));
        let setup = setup(&one_hop(LINK), "");
        let signals = blocked_signals().unwrap();
        says.write_all(&[1]).unwrap();
        assert_eq!(child.run(&setup, &signals, &parent, Some(&word)).unwrap(), None);
        // It ends without a word.
        drop(says);
        kill(child.pid, Signal::SIGTERM).unwrap();
        let ended = child.run(&setup, &signals, &parent, Some(&word)).unwrap();
        assert_eq!(ended.map(|ended| ended.exit), Some(Signal::SIGTERM as i32));
    }

    #[test]
    fn programs_find_both_ends_among_their_variables() {
        let found = |mtu| {
            let words = environment([1, 2].map(|end| Addresses::of(0, end)), mtu);
            words.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
        };
        let all = [
            "SOJOURN_CLIENT=198.18.0.1",
            "SOJOURN_CLIENT6=fd50:6a6f:7572::1",
            "SOJOURN_SERVER=198.18.0.2",
            "SOJOURN_SERVER6=fd50:6a6f:7572::2",
        ];
        assert_eq!(found(1500), all);
        assert_eq!(found(1279), [all[0], all[2]], "what does not carry IPv6 has no such addresses");
    }
}
