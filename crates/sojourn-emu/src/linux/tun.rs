//! TUN interfaces: packets of a network namespace as reads and writes of a descriptor.

use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};

const TUNSETIFF: libc::Ioctl = 0x4004_54ca;
const TUNSETOFFLOAD: libc::Ioctl = 0x4004_54d0;
const SIOCETHTOOL: libc::Ioctl = 0x8946;
const ETHTOOL_SGRO: u32 = 0x2c;
const IFF_TUN: u16 = 0x1;
const IFF_NAPI: u16 = 0x10;
const IFF_NO_PI: u16 = 0x1000;
const IFF_VNET_HDR: u16 = 0x4000;
/// Checksums left to compute, and TCP super-packets over IPv4, over IPv6 and with ECN …
const CSUM_TSO: libc::c_ulong = 0x1 | 0x2 | 0x4 | 0x8;
/// … and UDP ones, which older kernels do not know.
const USO: libc::c_ulong = 0x20 | 0x40;

#[repr(C)]
struct InterfaceRequest {
    name: [u8; 16],
    flags: u16,
    rest: [u8; 22],
}

/// What `SIOCETHTOOL` takes: an interface's name, and where the question is.
#[repr(C)]
struct EthtoolRequest {
    name: [u8; 16],
    question: *mut [u32; 2],
    rest: [u8; 16],
}

/// Makes an interface in the network namespace of this thread, which lives as long as its descriptor. `%d` in the name
/// becomes a number. Returns the descriptor, which does not block, and the name.
///
/// # Errors
/// The kernel has no TUN, or does not allow it.
pub fn open_tun(name: &str) -> io::Result<(OwnedFd, String)> {
    let fd = open("/dev/net/tun", OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC, Mode::empty())?;
    let mut request =
        InterfaceRequest { name: [0; 16], flags: IFF_TUN | IFF_NO_PI | IFF_VNET_HDR | IFF_NAPI, rest: [0; 22] };
    request.name[..name.len().min(15)].copy_from_slice(&name.as_bytes()[..name.len().min(15)]);
    // SAFETY: the request takes a pointer to this structure, and writes the name into it.
    if unsafe { libc::ioctl(fd.as_raw_fd(), TUNSETIFF, &mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let length = request.name.iter().position(|byte| *byte == 0).unwrap_or(request.name.len());
    Ok((fd, String::from_utf8_lossy(&request.name[..length]).into_owned()))
}

/// Lets the host hand over super-packets, or not.
///
/// # Errors
/// The kernel does not know them.
pub fn set_offload(tun: &OwnedFd, on: bool) -> io::Result<()> {
    let wanted = if on { &[CSUM_TSO | USO, CSUM_TSO][..] } else { &[0] };
    let mut last = Ok(());
    for flags in wanted {
        // SAFETY: the request takes a number.
        last = match unsafe { libc::ioctl(tun.as_raw_fd(), TUNSETOFFLOAD, *flags) } {
            0 => return Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
    }
    last
}

/// Lets the host join packets that came together before its TCP sees them (GRO), or not.
///
/// # Errors
/// The kernel cannot, or there is no such interface in this thread's network.
pub fn set_receive_offload(interface: &str, on: bool) -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut question = [ETHTOOL_SGRO, u32::from(on)];
    let mut request = EthtoolRequest { name: [0; 16], question: &raw mut question, rest: [0; 16] };
    let length = interface.len().min(15);
    request.name[..length].copy_from_slice(&interface.as_bytes()[..length]);
    // SAFETY: the request takes a pointer to this structure, and reads the question that it points to.
    match unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::namespace;

    const TUNGETIFF: libc::Ioctl = 0x8004_54d2_u32 as libc::Ioctl;

    #[test]
    fn an_interface_has_plain_packets_their_headers_and_its_work_done_by_napi() {
        // Of this thread only; without the right to it, or without TUN, there is nothing to look at.
        let (Ok(_), Ok((fd, name))) = (namespace::new_network(), open_tun("t%d")) else { return };
        assert_eq!(name, "t0");
        let mut found = InterfaceRequest { name: [0; 16], flags: 0, rest: [0; 22] };
        // SAFETY: the request writes into this structure.
        assert_eq!(unsafe { libc::ioctl(fd.as_raw_fd(), TUNGETIFF, &mut found) }, 0);
        assert_eq!(found.flags, IFF_TUN | IFF_NAPI | IFF_NO_PI | IFF_VNET_HDR);
        assert!(set_receive_offload(&name, false).is_ok() && set_receive_offload("nowhere", false).is_err());
        assert!(open_tun("of-far-too-many-letters").is_ok_and(|(_, name)| name == "of-far-too-many"));
    }
}
