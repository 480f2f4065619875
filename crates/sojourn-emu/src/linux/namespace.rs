//! Namespaces that are held by descriptors alone: nothing has a name, so nothing is left behind.

use nix::fcntl::{OFlag, open};
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// The network namespace that this thread is in.
///
/// # Errors
/// There is no /proc.
pub fn network() -> io::Result<OwnedFd> {
    Ok(open("/proc/thread-self/ns/net", OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?)
}

/// Puts this thread into a network namespace.
///
/// # Errors
/// It may not.
pub fn enter(network: impl AsFd) -> io::Result<()> {
    Ok(setns(network, CloneFlags::CLONE_NEWNET)?)
}

/// A network namespace of its own for this thread, with nothing in it.
///
/// # Errors
/// It may not.
pub fn new_network() -> io::Result<OwnedFd> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    network()
}

/// A user namespace of its own, in which this process, which must have one thread, may do everything: `inner` is the
/// user that it is inside.
///
/// # Errors
/// The system does not allow it.
pub fn new_user((user, group): (u32, u32), (inner_user, inner_group): (u32, u32)) -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/gid_map", format!("{inner_group} {group} 1"))?;
    fs::write("/proc/self/uid_map", format!("{inner_user} {user} 1"))
}

/// A mount namespace of its own: what is mounted from now on, nobody else sees.
///
/// # Errors
/// It may not.
pub fn private_mounts() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    Ok(mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>)?)
}

/// Mounts the `/sys` (`sysfs`) of the network namespace that this thread is in, or the `/proc` (`proc`) of the process
/// namespace.
///
/// # Errors
/// It may not.
pub fn mount_fresh(kind: &str, at: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some(kind), at, Some(kind), flags, None::<&str>)?)
}

/// Sets a variable of the kernel, such as `net.ipv4.tcp_ecn`, in the network namespace that this thread is in.
///
/// # Errors
/// There is none of this name, it does not take the value, or it may not be set here.
pub fn set_variable(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
}

/// A variable of the kernel.
pub fn variable(name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/sys/{}", name.replace('.', "/"))).ok()?;
    Some(text.trim().to_owned())
}

/// Packets that an interface of this thread's network namespace has dropped: those that it was given by the emulator,
/// and those that were to be given to the emulator.
pub fn dropped(interface: &str) -> Option<[u64; 2]> {
    dropped_in(&fs::read_to_string("/proc/thread-self/net/dev").ok()?, interface)
}

fn dropped_in(table: &str, interface: &str) -> Option<[u64; 2]> {
    let (_, counts) =
        table.lines().filter_map(|line| line.split_once(':')).find(|(name, _)| name.trim() == interface)?;
    let counts: Vec<u64> = counts.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Some([*counts.get(3)?, *counts.get(11)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_are_in_the_fourth_column_of_each_half() {
        let table = "Inter-|   Receive\n face |bytes packets errs drop\n  lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n\
                     t0:100 2 0 7 0 0 0 0 200 3 0 9 0 0 0 0\n";
        assert_eq!(dropped_in(table, "t0"), Some([7, 9]));
        assert_eq!(dropped_in(table, "t1"), None);
    }
}
