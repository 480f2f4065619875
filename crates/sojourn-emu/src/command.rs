//! The command, in a process namespace of its own: started, told to end, and waited for.

use crate::bed::Bed;
use crate::init::{self, Ended, Programs};
use crate::setup::Setup;
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

/// Signals that end the command, not this process: they are read from a descriptor.
///
/// # Errors
/// The kernel refuses.
pub fn blocked_signals() -> io::Result<SignalFd> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&signals), None)?;
    Ok(SignalFd::with_flags(&signals, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
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
        let [client, server] = bed.ends.each_ref().map(|end| end.addresses);
        let environment = [
            ("SOJOURN_CLIENT", client.v4.to_string()),
            ("SOJOURN_SERVER", server.v4.to_string()),
            ("SOJOURN_CLIENT6", client.v6.to_string()),
            ("SOJOURN_SERVER6", server.v6.to_string()),
        ]
        .map(|(name, value)| (name.to_owned(), value));
        let programs = Programs {
            command: &setup.command,
            server: setup.server.as_deref(),
            environment: &environment,
            networks: bed.ends.each_ref().map(|end| end.network.as_fd()),
            user: setup.user.as_ref().filter(|_| !bed.rights.rootless),
            appear_as: bed.rights.rootless.then_some(setup.caller),
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

    /// Waits until the server listens, or has had the time to.
    ///
    /// # Errors
    /// The process has ended.
    pub fn ready(&mut self) -> io::Result<()> {
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
                return Ok(Some(serde_json::from_slice(&text).unwrap_or_else(|_| killed())));
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
