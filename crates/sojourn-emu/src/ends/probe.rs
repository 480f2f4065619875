//! The base round trip that was got: echo requests through the idle path, before the command starts.

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrIn, recvmsg, sendto,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use sojourn_pcap::write::{folded, sum};
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Bytes of a probe at IP: 20 of IP, 8 of ICMP, and 56 as `ping` sends them.
pub const PROBE: u32 = 84;

/// A socket for echo requests in the network namespace of this thread.
///
/// # Errors
/// Raw sockets are not allowed here.
pub fn open_prober() -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let prober = socket(AddressFamily::Inet, SockType::Raw, flags, SockProtocol::Icmp)?;
    setsockopt(&prober, sockopt::ReceiveTimestampns, &true)?;
    Ok(prober)
}

/// Sends echo requests one after another and returns the round trips of those that were answered, in order: from just
/// before the call that sends until the kernel has the answer, however late this thread reads it.
///
/// # Errors
/// They cannot be sent.
pub fn round_trips(
    prober: &OwnedFd,
    to: Ipv4Addr,
    count: u16,
    apart: Duration,
    patience: Duration,
) -> io::Result<Vec<Duration>> {
    let mut sent = Vec::new();
    let mut found = vec![None; usize::from(count)];
    let to = SockaddrIn::from(SocketAddrV4::new(to, 0));
    let begun = Instant::now();
    let until = begun + apart * u32::from(count) + patience;
    while found.iter().any(Option::is_none) && Instant::now() < until {
        let due = begun + apart * sent.len() as u32;
        if sent.len() < usize::from(count) && Instant::now() >= due {
            let request = request(sent.len() as u16);
            sent.push(SystemTime::now());
            sendto(prober.as_raw_fd(), &request, &to, MsgFlags::empty())?;
            continue;
        }
        let wake = if sent.len() < usize::from(count) { due } else { until };
        let left = wake.saturating_duration_since(Instant::now()).as_millis().min(1000) as u16;
        let _ = poll(&mut [PollFd::new(prober.as_fd(), PollFlags::POLLIN)], PollTimeout::from(left));
        let mut answer = [0; 256];
        while let Some((length, at)) = read_answer(prober, &mut answer) {
            if let Some(number) = answered(&answer[..length])
                && let (Some(sent), Some(place)) = (sent.get(usize::from(number)), found.get_mut(usize::from(number)))
            {
                place.get_or_insert(at.duration_since(*sent).unwrap_or_default());
            }
        }
    }
    Ok(found.into_iter().flatten().collect())
}

/// A packet that has come, and when the kernel had it.
fn read_answer(prober: &OwnedFd, answer: &mut [u8]) -> Option<(usize, SystemTime)> {
    let mut parts = [IoSliceMut::new(answer)];
    let mut control = nix::cmsg_space!(TimeSpec);
    let read = recvmsg::<()>(prober.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty()).ok()?;
    let stamp = read.cmsgs().ok()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(at) => Some(UNIX_EPOCH + Duration::from(at)),
        _ => None,
    });
    Some((read.bytes, stamp.unwrap_or_else(SystemTime::now)))
}

/// "sj": marks our requests.
const MARK: [u8; 2] = [0x73, 0x6a];

fn request(number: u16) -> [u8; PROBE as usize - 20] {
    let mut bytes = [0; PROBE as usize - 20];
    bytes[0] = 8;
    bytes[4..6].copy_from_slice(&MARK);
    bytes[6..8].copy_from_slice(&number.to_be_bytes());
    let sum = !folded(sum(&bytes));
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The number of the request that a packet answers.
fn answered(packet: &[u8]) -> Option<u16> {
    let icmp = packet.get(usize::from(packet.first()? & 15) * 4..)?;
    let is_ours = icmp.len() >= 8 && icmp[0] == 0 && icmp[4..6] == MARK;
    is_ours.then(|| u16::from_be_bytes([icmp[6], icmp[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_its_request() {
        let mut packet = vec![0x45; 20];
        packet.extend(request(300));
        assert_eq!(answered(&packet), None, "a request is no answer");
        packet[20] = 0;
        assert_eq!(answered(&packet), Some(300));
        assert_eq!(crate::tests::sum(&request(9)), 0xffff);
        assert_eq!(answered(&packet[..24]), None);
    }

    #[test]
    fn an_answer_is_an_echo_reply_of_ours_behind_a_header_of_any_length() {
        let packet = |words: u8, icmp: &[u8]| [&vec![0x40 | words; usize::from(words) * 4][..], icmp].concat();
        let mut reply = request(0xabcd);
        assert_eq!((reply.len(), reply[0], reply[1]), (64, 8, 0), "an echo request as long as ping's");
        reply[0] = 0;
        assert_eq!([5, 6].map(|words| answered(&packet(words, &reply))), [Some(0xabcd); 2]);
        assert_eq!(answered(&packet(5, &reply[..8])), Some(0xabcd));
        assert_eq!((answered(&packet(5, &reply[..7])), answered(&[])), (None, None));
        for (at, other) in [(0, 8), (4, 0x72), (5, 0x6b)] {
            let mut wrong = reply;
            wrong[at] = other;
            assert_eq!(answered(&packet(5, &wrong)), None, "byte {at}");
        }
    }

    #[test]
    fn a_network_s_own_host_answers_each_probe_and_a_host_that_is_none_does_not() {
        use crate::linux::{namespace, netlink::Routing};
        // Of this thread only; without the right to it there is nothing to look at.
        let (Ok(_), Ok(prober)) = (namespace::new_network(), open_prober()) else { return };
        Routing::open().unwrap().up(1, None).unwrap();
        let (apart, patience) = (Duration::from_millis(8), Duration::from_secs(5));
        let begun = Instant::now();
        let found = round_trips(&prober, Ipv4Addr::LOCALHOST, 5, apart, patience).unwrap();
        assert!(begun.elapsed() >= apart * 4, "the last is sent after four pauses");
        assert!(begun.elapsed() < patience, "nothing is waited for when all are there");
        assert!(found.len() == 5 && found.iter().all(|trip| *trip > Duration::ZERO && *trip < patience), "{found:?}");
        let begun = Instant::now();
        let to_nobody = round_trips(&prober, Ipv4Addr::LOCALHOST, 0, apart, patience).unwrap();
        assert!(to_nobody.is_empty() && begun.elapsed() < patience);
        assert!(round_trips(&prober, Ipv4Addr::new(198, 18, 0, 9), 1, apart, patience).is_err(), "no way there");
    }
}
