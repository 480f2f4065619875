//! The first process of the process namespace: starts the server and the command, and ends with the command.
//!
//! When it ends, however that comes about, the kernel ends all that was started below it.

use crate::linux::{namespace, processor};
use crate::setup::User;
use nix::errno::Errno;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Gid, Pid, Uid};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a server may take until it listens.
const STARTING: Duration = Duration::from_secs(3);
/// How long a server may take to end by itself once the command has.
const ENDING: Duration = Duration::from_millis(500);

/// What is started.
pub struct Programs<'p> {
    /// The command and its arguments.
    pub command: &'p [OsString],
    /// What runs at the other end, for the shell.
    pub server: Option<&'p OsStr>,
    /// Environment variables beside those that there are.
    pub environment: &'p [(String, String)],
    /// The client's network, and the server's.
    pub networks: [BorrowedFd<'p>; 2],
    /// Who to run as, if not as who calls.
    pub user: Option<&'p User>,
    /// In a user namespace, the user to appear as.
    pub appear_as: Option<(u32, u32)>,
    /// They keep off the emulator's processor, if it has one of its own.
    pub apart: bool,
}

/// How the command ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ended {
    /// The exit code, as a shell says it: 128 and the signal's number if a signal ended it.
    pub exit: i32,
    /// The signal that ended it.
    pub signal: Option<String>,
    /// Why it could not be started.
    pub refused: Option<String>,
    /// How the server ended, if it did before it was told to.
    pub server_exit: Option<i32>,
    /// The server had not begun to listen when the command was started.
    pub server_silent: bool,
    /// How long the command ran.
    pub wall_s: f64,
    /// The time that was set for it was over before it ended; whoever waits for it knows.
    #[serde(default)]
    pub timed_out: bool,
}

/// What is written to `status` once the server listens.
pub const READY: u8 = b'r';

/// Runs as the first process: starts the server, says [`READY`], waits for a byte of `go`, starts the command, and
/// writes how it ended to `status`. Does not return.
pub fn run(programs: &Programs<'_>, go: OwnedFd, status: OwnedFd) -> ! {
    let _ = set_pdeathsig(Signal::SIGKILL);
    let mut status = File::from(status);
    let ended = start(programs, go, &mut status).unwrap_or_else(|error| Ended {
        exit: 125,
        refused: Some(format!("the network of the command cannot be entered: {error}")),
        ..Ended::default()
    });
    let text = serde_json::to_vec(&ended).unwrap_or_default();
    let _ = status.write_all(&text);
    // SAFETY: ends the process at once; what belongs to its parent is not tidied up twice.
    unsafe { libc::_exit(0) }
}

fn start(programs: &Programs<'_>, go: OwnedFd, status: &mut File) -> io::Result<Ended> {
    let watched =
        SigSet::from_iter([Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT]);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&watched), None)?;
    namespace::enter(programs.networks[0])?;
    if namespace::private_mounts().is_ok() {
        let _ = namespace::mount_fresh("proc", "/proc");
        let _ = namespace::mount_fresh("sysfs", "/sys");
    }
    let mut ended = Ended::default();
    let mut server = None;
    if let Some(line) = programs.server {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        let network = programs.networks[1].as_fd().try_clone_to_owned()?;
        prepare(&mut command, programs, Some(network));
        let child = command.spawn()?;
        let pid = Pid::from_raw(child.id() as i32);
        server = Some(pid);
        namespace::enter(programs.networks[1])?;
        ended.server_silent = !listens(pid, &mut ended);
        namespace::enter(programs.networks[0])?;
    }
    status.write_all(&[READY])?;
    let mut byte = [0];
    if File::from(go).read(&mut byte)? == 0 {
        // Whoever started us is gone.
        return Ok(Ended { exit: 125, ..ended });
    }
    let begun = Instant::now();
    let mut command = Command::new(&programs.command[0]);
    command.args(&programs.command[1..]);
    prepare(&mut command, programs, None);
    let child = match command.spawn() {
        Ok(child) => Pid::from_raw(child.id() as i32),
        Err(error) => {
            let exit = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            return Ok(Ended { exit, refused: Some(format!("{}: {error}", programs.command[0].display())), ..ended });
        }
    };
    while !wait(child, server, &mut ended, None) {
        if let Ok(signal @ (Signal::SIGTERM | Signal::SIGHUP)) = watched.wait() {
            let _ = nix::sys::signal::kill(child, signal);
        }
    }
    ended.wall_s = (begun.elapsed().as_secs_f64() * 1e6).round() * 1e-6;
    let until = Instant::now() + ENDING;
    if let Some(server) = server {
        while ended.server_exit.is_none() && Instant::now() < until {
            wait(server, Some(server), &mut ended, Some(Duration::from_millis(5)));
        }
    }
    Ok(ended)
}

/// Takes in the children that have ended; true once `whom` has.
fn wait(whom: Pid, server: Option<Pid>, ended: &mut Ended, pause: Option<Duration>) -> bool {
    let mut found = false;
    loop {
        let (pid, exit, signal) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, exit)) => (pid, exit, None),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, 128 + signal as i32, Some(signal)),
            Ok(WaitStatus::StillAlive) | Err(_) => break,
            Ok(_) => continue,
        };
        if server == Some(pid) {
            ended.server_exit = Some(exit);
        } else if pid == whom {
            (ended.exit, ended.signal) = (exit, signal.map(|signal| signal.as_str().to_owned()));
        }
        found |= pid == whom;
    }
    if let (false, Some(pause)) = (found, pause) {
        std::thread::sleep(pause);
    }
    found
}

/// Waits until a server has a socket that takes connections or datagrams; false if it has none in time, or nothing of
/// it is left. This process is in the server's network: what was first started there may end and leave a daemon.
fn listens(server: Pid, ended: &mut Ended) -> bool {
    let until = Instant::now() + STARTING;
    while Instant::now() < until {
        // In /proc/net/tcp, 0A is LISTEN; UDP sockets that wait for anybody are 07.
        for (table, state) in [("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")] {
            let text = std::fs::read_to_string(format!("/proc/self/net/{table}")).unwrap_or_default();
            if text.lines().skip(1).any(|line| line.split_whitespace().nth(3) == Some(state)) {
                return true;
            }
        }
        wait(server, Some(server), ended, Some(Duration::from_millis(5)));
        if !has_children() {
            return false;
        }
    }
    false
}

/// Whether anything that this process has started, or taken in, is not yet waited for.
fn has_children() -> bool {
    waitid(Id::All, WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT) != Err(Errno::ECHILD)
}

/// Whether whoever called ignores hang-ups, as `nohup` does: then they end nothing here either.
pub fn ignores_hang_up() -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set, and what there is goes into a place that is made for it.
    let (asked, action) =
        unsafe { (libc::sigaction(libc::SIGHUP, std::ptr::null(), action.as_mut_ptr()), action.assume_init()) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// A program starts as an ordinary one: default signals (but hang-ups that its caller ignores), its user, its network,
/// its variables.
fn prepare(command: &mut Command, programs: &Programs<'_>, network: Option<OwnedFd>) {
    command.envs(programs.environment.iter().map(|(name, value)| (name, value)));
    let user = programs.user.cloned();
    let (appear_as, apart) = (programs.appear_as, programs.apart);
    let enter = move || -> io::Result<()> {
        if let Some(network) = &network {
            namespace::enter(network)?;
            if namespace::private_mounts().is_ok() {
                let _ = namespace::mount_fresh("sysfs", "/sys");
            }
        }
        if apart {
            processor::leave_own(0);
        }
        if let Some(User { uid, gid, groups }) = &user {
            let groups: Vec<Gid> = groups.iter().map(|group| Gid::from_raw(*group)).collect();
            let (uid, gid) = (Uid::from_raw(*uid), Gid::from_raw(*gid));
            nix::unistd::setgroups(&groups)?;
            nix::unistd::setresgid(gid, gid, gid)?;
            nix::unistd::setresuid(uid, uid, uid)?;
        }
        if let Some((user, group)) = appear_as {
            // Where namespaces may not be nested, the command sees itself as root of its own.
            let _ = namespace::new_user((0, 0), (user, group));
        }
        let kept = if ignores_hang_up() { Signal::SIGHUP } else { Signal::SIGKILL };
        let ours = |signal: &Signal| !matches!(signal, Signal::SIGKILL | Signal::SIGSTOP) && *signal != kept;
        for signal in Signal::iterator().filter(ours) {
            // SAFETY: sets the default action, which is always allowed.
            unsafe { libc::signal(signal as i32, libc::SIG_DFL) };
        }
        sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)?;
        Ok(())
    };
    // SAFETY: this process has one thread, so that anything may be done between fork and exec.
    unsafe { command.pre_exec(enter) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};

    /// What is started, each for a shell.
    #[derive(Clone, Copy, Default)]
    struct Case<'c> {
        command: &'c [&'c str],
        server: Option<&'c str>,
        user: Option<&'c User>,
        go: Option<u8>,
    }

    fn shell(line: &str) -> [&str; 3] {
        ["/bin/sh", "-c", line]
    }

    /// Runs it as the first process would, in a copy of this one; `None`: this machine does not allow it.
    fn ended(case: Case<'_>) -> Option<Ended> {
        let network = namespace::network().unwrap();
        namespace::enter(&network).ok()?;
        let command: Vec<OsString> = case.command.iter().map(OsString::from).collect();
        let environment = [("SOJOURN_X".to_owned(), "x y".to_owned())];
        let networks = [network.as_fd(); 2];
        let programs = Programs {
            command: &command,
            server: case.server.map(OsStr::new),
            environment: &environment,
            networks,
            user: case.user,
            appear_as: None,
            apart: false,
        };
        let pipe = || nix::unistd::pipe2(nix::fcntl::OFlag::O_CLOEXEC).unwrap();
        let ((waits, go), (status, tells)) = (pipe(), pipe());
        // SAFETY: the copy runs what the emulator's copy does, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            drop((go, status));
            // As the first process of a namespace, it takes in what daemons leave.
            nix::sys::prctl::set_child_subreaper(true).unwrap();
            run(&programs, waits, tells);
        }
        drop((waits, tells));
        let (mut go, mut status, mut ready, mut text) = (File::from(go), File::from(status), [0], Vec::new());
        status.read_exact(&mut ready).unwrap();
        assert_eq!(ready, [READY]);
        if let Some(byte) = case.go {
            go.write_all(&[byte]).unwrap();
        }
        drop(go);
        status.read_to_end(&mut text).unwrap();
        waitpid(Pid::from_raw(pid), None).unwrap();
        Some(serde_json::from_slice(&text).unwrap())
    }

    fn command(line: &str) -> Option<Ended> {
        ended(Case { command: &shell(line), go: Some(1), ..Case::default() })
    }

    #[test]
    fn a_command_ends_with_its_code_or_by_a_signal_or_is_refused() {
        let Some(seven) = command("sleep 0.05; exit 7") else { return };
        assert_eq!((seven.exit, seven.signal, seven.refused, seven.server_exit), (7, None, None, None));
        assert!((0.05..5.0).contains(&seven.wall_s) && !seven.server_silent, "{}", seven.wall_s);
        let killed = command("kill -9 $$").unwrap();
        assert_eq!((killed.exit, killed.signal.as_deref()), (137, Some("SIGKILL")));
        for (program, exit) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
            let refused = ended(Case { command: &[program], go: Some(1), ..Case::default() }).unwrap();
            assert!(refused.exit == exit && refused.refused.is_some_and(|why| why.starts_with(program)));
        }
        let not_told = ended(Case { command: &shell("exit 7"), ..Case::default() }).unwrap();
        assert_eq!((not_told.exit, not_told.refused), (125, None), "who was to tell it to go is gone");
    }

    #[test]
    fn a_command_has_its_variables_its_user_and_the_signals_of_any_other_program() {
        let Some(variables) = command(r#"[ "$SOJOURN_X" = "x y" ]"#) else { return };
        assert_eq!(variables.exit, 0);
        // Signals from 32 on are the C library's own; whoever runs the tests may ignore hang-ups, as nohup does.
        let changed = if ignores_hang_up() { 0x7fff_fffe } else { 0x7fff_ffff };
        let signals = format!(
            "while read -r name value; do case $name in SigBlk:|SigIgn:) \
             [ $((0x$value & {changed})) = 0 ] || exit 9;; esac; done < /proc/self/status"
        );
        assert_eq!(command(&signals).unwrap().exit, 0);
        let user = User { uid: 1003, gid: 1004, groups: vec![1004, 1005] };
        let line = shell(r#"[ "$(id -u) $(id -g) $(id -G)" = "1003 1004 1004 1005" ]"#);
        let case = Case { command: &line, user: Some(&user), go: Some(1), ..Case::default() };
        assert_eq!(ended(case).unwrap().exit, 0);
    }

    #[test]
    fn a_server_that_ends_before_or_soon_after_the_command_has_a_code() {
        if namespace::new_network().is_err() {
            return;
        }
        let with = |server, line| {
            let case = Case { command: &shell(line), server: Some(server), go: Some(1), ..Case::default() };
            let Ended { exit, server_exit, server_silent, .. } = ended(case).unwrap();
            (exit, server_exit, server_silent)
        };
        // Nobody listens here.
        assert_eq!(with("exit 3", "exit 4"), (4, Some(3), true));
        assert_eq!(with("kill -15 $$", "exit 4"), (4, Some(143), true));
        let _listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert_eq!(with("sleep 0.1; exit 3", "exit 4"), (4, Some(3), false));
        assert_eq!(with("exec sleep 9", "exit 4"), (4, None, false), "it is not waited for for ever");
        assert_eq!(with("exec sleep 9", "sleep 0.1; exit 5"), (5, None, false));
    }

    #[test]
    fn a_server_that_is_a_daemon_is_waited_for_though_what_started_it_has_ended() {
        if namespace::new_network().is_err() {
            return;
        }
        let with = |server| {
            let case = Case { command: &shell("exit 4"), server: Some(server), go: Some(1), ..Case::default() };
            let Ended { exit, server_exit, server_silent, .. } = ended(case).unwrap();
            (exit, server_exit, server_silent)
        };
        // Nobody listens here: once the daemon has ended, too, nobody will.
        let begun = Instant::now();
        assert_eq!(with("sleep 0.3 & exit 0"), (4, Some(0), true));
        let took = begun.elapsed();
        assert!((Duration::from_millis(300)..STARTING).contains(&took), "{took:?}");
        let listens = std::thread::spawn(|| {
            std::thread::sleep(Duration::from_millis(150));
            let _listens = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            std::thread::sleep(Duration::from_millis(300));
        });
        assert_eq!(with("sleep 0.4 & exit 0"), (4, Some(0), false));
        listens.join().unwrap();
    }

    #[test]
    fn a_server_listens_once_it_takes_connections_or_datagrams_of_either_version() {
        type Listening = Option<Box<dyn std::any::Any>>;
        let after = |listening: fn() -> Listening| {
            namespace::new_network().ok()?;
            let _listening = listening()?;
            // A server that lives as long as the command.
            let over = std::env::temp_dir().join(format!("sojourn-over-{}", std::process::id()));
            let over = over.display();
            let (line, server) =
                (format!("touch {over}"), format!("until [ -e {over} ]; do sleep 0.01; done; rm {over}"));
            let case = Case { command: &shell(&line), server: Some(&server), go: Some(1), ..Case::default() };
            ended(case).map(|ended| ended.server_silent)
        };
        let tcp4 = || -> Listening { Some(Box::new(TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?)) };
        let tcp6 = || -> Listening { Some(Box::new(TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?)) };
        let udp4 = || -> Listening { Some(Box::new(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?)) };
        let udp6 = || -> Listening { Some(Box::new(UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).ok()?)) };
        for listening in [tcp4, tcp6, udp4, udp6] {
            assert!(matches!(after(listening), None | Some(false)));
        }
    }
}
