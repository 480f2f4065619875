use super::path_mtu::PathMtu;
use super::*;
use crate::congestion::{Counting, Cubic, HyStart, Reno};
use crate::{Ecn, Span, Time};

fn endpoint(role: Role) -> Endpoint {
    Endpoint::new(role, Box::new(Reno::new(1452, 14_520, Counting::Bytes)))
}

/// A connection over a path of 50 ms each way that loses some of the packets of the server by their numbers. Runs until
/// nothing happens; when each stream had so many bytes at the client, in ms.
fn run(client: &mut Endpoint, server: &mut Endpoint, lost: &[u64], hello: u64) -> Vec<(u64, StreamId, u64)> {
    let (mut now, mut said, mut asked) = (Time::ZERO, Vec::new(), false);
    let mut under_way: Vec<(Time, Role, Packet)> = Vec::new();
    for _ in 0..10_000 {
        while let Some(packet) = client.poll(now) {
            under_way.push((now + Span::from_millis(50), Role::Server, packet));
        }
        while let Some(packet) = server.poll(now) {
            if !lost.contains(&packet.number) {
                under_way.push((now + Span::from_millis(50), Role::Client, packet));
            }
        }
        let next = under_way.iter().map(|(at, ..)| *at).chain([client.next_timer(), server.next_timer()]).min();
        let Some(next) = next.filter(|at| *at < Time(60_000_000_000)) else { break };
        now = next.max(now);
        under_way.sort_by_key(|(at, ..)| *at);
        while under_way.first().is_some_and(|(at, ..)| *at <= now) {
            let (_, to, packet) = under_way.remove(0);
            if to == Role::Client {
                for (id, bytes) in client.on_packet(now, &packet) {
                    said.push((now.0 / 1_000_000, id, bytes));
                    if id == CRYPTO && bytes == 3000 {
                        client.write(CRYPTO, 80, 0);
                        client.write(4, 300, 3);
                    }
                }
            } else {
                for (id, bytes) in server.on_packet(now, &packet) {
                    if id == CRYPTO && bytes == hello {
                        server.write(CRYPTO, 3000, 0);
                    } else if id == CRYPTO {
                        server.confirm();
                        client.confirm();
                    } else if !asked {
                        asked = true;
                        server.write(4, 100_000, 3);
                        server.write(8, 10_000, 3);
                    }
                }
            }
        }
        if client.next_timer() <= now {
            client.on_timeout(now);
        }
        if server.next_timer() <= now {
            server.on_timeout(now);
        }
    }
    said
}

fn started() -> (Endpoint, Endpoint) {
    let (mut client, server) = (endpoint(Role::Client), endpoint(Role::Server));
    client.write(CRYPTO, 600, 0);
    (client, server)
}

fn done(said: &[(u64, StreamId, u64)], id: StreamId, bytes: u64) -> u64 {
    said.iter().find(|said| said.1 == id && said.2 == bytes).expect("it arrives").0
}

#[test]
fn a_request_is_answered_after_two_round_trips_and_the_first_window_is_ten_packets() {
    let (mut client, mut server) = started();
    let said = run(&mut client, &mut server, &[], 600);
    assert_eq!(done(&said, CRYPTO, 3000), 100);
    let first: u64 = said.iter().filter(|said| said.0 == 200 && said.1 == 8).map(|said| said.2).max().unwrap();
    let other: u64 = said.iter().filter(|said| said.0 == 200 && said.1 == 4).map(|said| said.2).max().unwrap();
    // 14 520 bytes, headers included; streams of one urgency share.
    assert!((13_500..14_520).contains(&(first + other)) && first.abs_diff(other) < 1500, "{first} {other}");
    assert_eq!(done(&said, 8, 10_000), 300);
    assert_eq!(server.retransmits(), 0);
}

#[test]
fn a_loss_holds_up_only_its_own_stream() {
    let (mut client, mut server) = started();
    let free = run(&mut client, &mut server, &[], 600);
    let (mut client, mut server) = started();
    // The server's packets: three of the handshake, then acknowledgements and data. One of data is lost.
    let said = run(&mut client, &mut server, &[6], 600);
    assert!(server.retransmits() >= 1);
    let held: Vec<StreamId> = [4, 8]
        .into_iter()
        .filter(|id| {
            let at_200 = |said: &[(u64, StreamId, u64)]| {
                said.iter().filter(|one| one.0 == 200 && one.1 == *id).map(|one| one.2).max()
            };
            at_200(&said) < at_200(&free)
        })
        .collect();
    assert_eq!(held.len(), 1, "one stream waits, the other does not");
    assert_eq!(said.iter().filter(|said| said.1 == 4).map(|said| said.2).max(), Some(100_000));
}

#[test]
fn a_server_sends_three_times_what_it_got_until_the_address_works() {
    let (mut client, mut server) = started();
    let hello = client.poll(Time::ZERO).unwrap();
    assert_eq!(hello.bytes, 1200);
    assert!(client.poll(Time::ZERO).is_none());
    server.on_packet(Time::ZERO, &hello);
    server.write(CRYPTO, 10_000, 0);
    let sent: u64 = std::iter::from_fn(|| server.poll(Time::ZERO)).map(|packet| packet.bytes).sum();
    assert!(sent <= 3600 && sent > 2000, "{sent}");
    server.confirm();
    assert!(server.poll(Time::ZERO).is_some());
}

#[test]
fn a_lost_handshake_is_repaired_by_the_clients_probe() {
    let (mut client, mut server) = started();
    // All of the server's first flight is lost.
    let said = run(&mut client, &mut server, &[0, 1, 2], 600);
    // The first probe comes after 333 + 4 × 166.5 ms.
    let at = done(&said, CRYPTO, 3000);
    assert!((1099..1200).contains(&at), "{at}");
    assert_eq!(said.iter().filter(|said| said.1 == 4).map(|said| said.2).max(), Some(100_000));
}

#[test]
fn a_window_is_never_less_than_two_full_packets() {
    let mut server = Endpoint::new(Role::Server, Box::new(Reno::new(1000, 1000, Counting::Bytes)));
    server.confirm();
    server.write(4, 10_000, 3);
    let sent: Vec<u64> = std::iter::from_fn(|| server.poll(Time::ZERO)).map(|packet| packet.bytes).collect();
    assert_eq!(sent, [DATAGRAM, DATAGRAM]);
}

#[test]
fn a_window_beyond_the_first_ten_packets_leaves_over_a_round_trip() {
    let mut server = Endpoint::new(Role::Server, Box::new(Reno::new(1452, 30 * 1452, Counting::Bytes)));
    server.confirm();
    server.write(4, 100_000, 3);
    let mut left = Vec::new();
    let mut now = Time::ZERO;
    while left.len() < 30 {
        left.extend(std::iter::from_fn(|| server.poll(now)).map(|_| now.0 / 1_000_000));
        now = server.next_timer();
    }
    // 333 ms are what a round trip is taken for, and thirty packets take four fifths of it.
    assert!(left[..10].iter().all(|at| *at == 0) && left[10] == 8 && left[29] == 177, "{left:?}");
}

const fn ms(ms: u64) -> Time {
    Time(ms * 1_000_000)
}

/// A server with a window of ten packets, past its handshake.
fn server() -> Endpoint {
    let mut server = endpoint(Role::Server);
    server.confirm();
    server
}

/// The same, sending as quinn does, with this knowledge of the path.
fn like_quinn(path_mtu: PathMtu) -> Endpoint {
    let mut server = server().like_quinn();
    server.path_mtu = path_mtu;
    server
}

/// What leaves at an instant.
fn send(server: &mut Endpoint, at: Time) -> Vec<Packet> {
    std::iter::from_fn(|| server.poll(at)).collect()
}

/// An acknowledgement arrives, the client's packet of this number; the window then, in packets.
fn hear(server: &mut Endpoint, at: Time, number: u64, ranges: &[(u64, u64)]) -> u64 {
    hear_of_marks(server, at, number, ranges, None)
}

/// The same with so many packets marked by then.
fn hear_of_marks(server: &mut Endpoint, at: Time, number: u64, ranges: &[(u64, u64)], marked: Option<u64>) -> u64 {
    let frames = vec![Frame::Ack { ranges: ranges.to_vec(), delay: Span::ZERO, marked }];
    server.on_packet(at, &Packet::new(number, frames, 0));
    server.window().cwnd / DATAGRAM
}

/// Bytes of a stream that fill so many packets.
fn full(packets: u64) -> u64 {
    packets * Packet::room(&[], DATAGRAM)
}

#[test]
fn losses_of_one_flight_reduce_the_window_once_though_a_recovery_ends_between_them() {
    let mut server = server();
    server.write(4, full(7), 3);
    assert_eq!(send(&mut server, ms(0)).len(), 7);
    server.write(4, full(100), 3);
    assert_eq!(send(&mut server, ms(90)).len(), 3);
    assert_eq!(hear(&mut server, ms(100), 0, &[(3, 6)]), 5, "what was sent before does not grow it first");
    assert_eq!(send(&mut server, ms(101)).last().unwrap().number, 11);
    // The answer to 10 ends the recovery and shows that 7 is lost; the one to 11 that 8 is.
    assert_eq!(hear(&mut server, ms(180), 1, &[(10, 10), (3, 6)]), 5);
    assert_eq!(hear(&mut server, ms(190), 2, &[(10, 11), (3, 6)]), 5);
    assert_eq!(server.retransmits(), 5);
    // What was sent after it reduces again.
    let last = send(&mut server, ms(191)).last().unwrap().number;
    assert_eq!(hear(&mut server, ms(280), 3, &[(last, last), (10, 11), (3, 6)]), 2);
}

#[test]
fn one_packet_leaves_when_a_recovery_begins_though_more_than_the_window_is_in_flight() {
    let mut server = server();
    server.write(4, full(100), 3);
    assert_eq!(send(&mut server, ms(0)).len(), 10);
    assert_eq!(hear(&mut server, ms(100), 0, &[(3, 3)]), 5);
    let sent = send(&mut server, ms(100));
    let [packet] = &sent[..] else { panic!("{sent:?}") };
    assert!(matches!(
        packet.frames[..],
        [Frame::Ack { .. }, Frame::Stream { offset: 0, .. }] | [Frame::Stream { offset: 0, .. }]
    ));
}

#[test]
fn in_slow_start_a_window_grows_if_more_than_half_of_it_was_used_or_only_the_pacer_held_it_up() {
    for (packets, grown) in [(5, 10), (6, 16)] {
        let mut server = server();
        server.write(4, full(packets), 3);
        assert_eq!(send(&mut server, ms(0)).len() as u64, packets);
        assert_eq!(hear(&mut server, ms(100), 0, &[(0, packets - 1)]), grown);
    }
    let mut server = Endpoint::new(Role::Server, Box::new(Reno::new(DATAGRAM, 40 * DATAGRAM, Counting::Bytes)));
    server.confirm();
    server.write(4, full(100), 3);
    assert_eq!(send(&mut server, ms(0)).len(), 10);
    assert_eq!(hear(&mut server, ms(10), 0, &[(0, 9)]), 50);
}

#[test]
fn a_strict_window_grows_while_data_waits_for_it_only() {
    for (packets, first, second) in [(10, 10, 10), (14, 12, 12), (100, 12, 20)] {
        let mut server = like_quinn(PathMtu::KNOWN);
        server.write(4, full(packets), 3);
        send(&mut server, ms(0));
        assert_eq!(
            hear(&mut server, ms(100), 0, &[(0, 1)]),
            first,
            "{packets}: data waited when two were acknowledged"
        );
        send(&mut server, ms(100));
        assert_eq!(hear(&mut server, ms(100), 1, &[(0, 9)]), second, "{packets}: and when eight more were");
    }
}

#[test]
fn who_answers_the_servers_hello_has_an_address_that_works() {
    let (mut client, mut server) = started();
    // The second of three packets is lost: that is found after nine eighths of a round trip, and it is sent again,
    // beyond the 3600 bytes.
    let said = run(&mut client, &mut server, &[1], 600);
    assert_eq!(done(&said, CRYPTO, 3000), 50 + 100 + 12 + 50);
}

#[test]
fn a_strict_window_is_not_exceeded_when_a_recovery_begins() {
    let mut server = like_quinn(PathMtu::KNOWN);
    server.write(4, full(100), 3);
    assert_eq!(send(&mut server, ms(0)).len(), 10);
    assert_eq!(hear(&mut server, ms(100), 0, &[(3, 3)]), 5);
    let data = send(&mut server, ms(100)).iter().filter(|packet| packet.is_eliciting()).count();
    assert_eq!(data, 0, "eight are in flight");
    // Time shows that two more are lost, and six are in flight; then the probes of a timeout leave all the same.
    for probes in [0, 2] {
        let now = server.next_timer();
        server.on_timeout(now);
        assert_eq!(send(&mut server, now).len(), probes);
    }
}

#[test]
fn who_searches_begins_with_1200_bytes_and_probes_beside_the_window() {
    let mut server = like_quinn(PathMtu::SEARCHED);
    server.write(4, full(100), 3);
    let first = send(&mut server, ms(0));
    let sizes: Vec<u64> = first.iter().map(|packet| packet.bytes).collect();
    assert_eq!(
        sizes,
        [vec![1200; 10], vec![1326]].concat(),
        "ten of the pacer's, and a probe that it does not hold up"
    );
    assert_eq!(first[10].frames, [Frame::Ping]);
    // The probe got through: what follows is as long.
    hear(&mut server, ms(100), 0, &[(0, 10)]);
    let sizes: Vec<u64> = send(&mut server, ms(100)).iter().map(|packet| packet.bytes).collect();
    assert_eq!((sizes[0], sizes.last()), (1326, Some(&1389)));
}

#[test]
fn a_lost_probe_of_the_path_is_no_congestion() {
    let mut server = like_quinn(PathMtu::SEARCHED);
    server.write(4, full(4), 3);
    let packets = send(&mut server, ms(0));
    let probe = packets.iter().position(|packet| packet.bytes == 1326).expect("nothing else left");
    server.write(4, full(4), 3);
    let after = send(&mut server, ms(1)).len() as u64;
    let probe = probe as u64;
    let window = server.window();
    let ranges = [(probe + 1, probe + after), (0, probe - 1)];
    hear(&mut server, ms(100), 0, &ranges);
    assert_eq!((server.window().cwnd >= window.cwnd, server.retransmits()), (true, 0));
    let again: Vec<u64> = send(&mut server, ms(100)).iter().map(|packet| packet.bytes).collect();
    assert_eq!(again.last(), Some(&1326), "it is tried again: {again:?}");
}

#[test]
fn handshakes_are_not_held_up_by_the_search() {
    let (mut client, server) = started();
    let mut server = server.like_quinn();
    let said = run(&mut client, &mut server, &[], 600);
    assert_eq!(said.iter().filter(|said| said.1 == 4).map(|said| said.2).max(), Some(100_000));
    assert_eq!(server.retransmits(), 0);
}

#[test]
fn a_window_grows_by_bytes_however_small_the_packets_are() {
    let control = Cubic::new(DATAGRAM, 20 * DATAGRAM, HyStart::None, true);
    let mut server = Endpoint::new(Role::Server, Box::new(control)).like_quinn();
    server.confirm();
    server.write(4, full(100), 3);
    let bytes: u64 = send(&mut server, ms(0)).iter().map(|packet| packet.bytes).sum();
    assert_eq!(bytes, 10 * 1200 + 1326);
    for last in 0..=10 {
        hear(&mut server, ms(100), last, &[(0, last)]);
    }
    assert_eq!(server.window().cwnd, (20 + bytes / DATAGRAM) * DATAGRAM);
}

#[test]
fn a_path_is_probed_when_the_handshake_is_over_and_a_timeout_sends_what_gets_through_any() {
    let mut server = endpoint(Role::Server).like_quinn();
    server.on_packet(ms(0), &Packet::new(0, vec![Frame::Ping], 1200));
    assert!(send(&mut server, ms(1)).iter().all(|packet| packet.bytes < 1200), "acknowledgements alone");
    server.confirm();
    assert_eq!(send(&mut server, ms(1)).iter().map(|packet| packet.bytes).collect::<Vec<_>>(), [1326]);
    let mut server = like_quinn(PathMtu::SEARCHED);
    server.write(4, full(100), 3);
    send(&mut server, ms(0));
    hear(&mut server, ms(100), 0, &[(0, 10)]);
    assert_eq!(send(&mut server, ms(100))[0].bytes, 1326);
    // Nothing is heard again.
    let mut now = ms(100);
    let probes = loop {
        now = server.next_timer().max(now);
        server.on_timeout(now);
        let sent = send(&mut server, now);
        if now > ms(300) && !sent.is_empty() {
            break sent;
        }
    };
    assert_eq!(probes.iter().map(|packet| packet.bytes).collect::<Vec<_>>(), [1200, 1200]);
}

#[test]
fn a_client_like_chromiums_probes_early_and_acknowledges_seldom() {
    let mut client = endpoint(Role::Client).like_chromium();
    client.write(CRYPTO, 300, 0);
    assert_eq!((send(&mut client, ms(0)).len(), client.next_timer()), (1, ms(300)));
    let hello = Frame::Ack { ranges: vec![(0, 0)], delay: Span::ZERO, marked: None };
    client.on_packet(ms(40), &Packet::new(0, vec![hello], 0));
    client.confirm();
    let mut acknowledgements = 0;
    for number in 1..200 {
        let data = Frame::Stream { id: 4, offset: number * 1000, len: 1000 };
        client.on_packet(ms(40 + number), &Packet::new(number, vec![data], 0));
        acknowledgements += send(&mut client, ms(40 + number)).len();
    }
    // Of every second of the first hundred, and every tenth of the other.
    assert!((59..=61).contains(&acknowledgements), "{acknowledgements}");
}

#[test]
fn marks_are_told_of_and_reduce_the_window_once_for_each_flight() {
    let mut server = server().with_ecn();
    server.write(4, full(100), 3);
    let sent = send(&mut server, ms(0));
    assert!(sent.len() == 10 && sent.iter().all(|packet| packet.ecn == Ecn::Ect0));
    // Two of ten are marked on their way; the client says so.
    let mut client = endpoint(Role::Client);
    let marked = |packet: &Packet| if packet.number % 5 == 3 { Ecn::Ce } else { packet.ecn };
    let mut told = None;
    for packet in sent {
        client.on_packet(ms(50), &Packet { ecn: marked(&packet), ..packet });
        told = client.poll(ms(50)).or(told);
    }
    let told = told.expect("ten ask for acknowledgements");
    assert!(matches!(told.frames[..], [Frame::Ack { marked: Some(2), .. }]), "{told:?}");
    assert_eq!(
        (told.ecn, told.bytes),
        (Ecn::NotEct, 27 + 8 + 4 + 5),
        "the client's own are not; three counts are added"
    );
    assert_eq!(hear_of_marks(&mut server, ms(100), 0, &[(0, 3)], Some(1)), 5);
    assert_eq!(hear_of_marks(&mut server, ms(101), 1, &[(0, 9)], Some(2)), 5, "of the same flight");
    assert_eq!(server.retransmits(), 0);
    // What was sent before it reduced grows no window; what was sent after it does, and a mark of it reduces again.
    let next = send(&mut server, ms(101)).last().expect("five fit").number;
    assert!(hear_of_marks(&mut server, ms(200), 2, &[(0, next)], Some(2)) >= 5);
    let next = send(&mut server, ms(201)).last().expect("five fit").number;
    assert!(hear_of_marks(&mut server, ms(300), 3, &[(0, next)], Some(3)) < 5);
}

#[test]
fn who_sees_no_packet_that_may_be_marked_tells_of_none() {
    let mut client = endpoint(Role::Client);
    (0..2).for_each(|number| _ = client.on_packet(ms(50), &Packet::new(number, vec![Frame::Ping], 0)));
    let told = client.poll(ms(50)).expect("an acknowledgement");
    assert!(matches!(told.frames[..], [Frame::Ack { marked: None, .. }]) && told.bytes == 27 + 8 + 4);
    let mut quinn = like_quinn(PathMtu::KNOWN);
    quinn.write(4, 10, 3);
    assert_eq!(quinn.poll(ms(0)).map(|packet| packet.ecn), Some(Ecn::Ect0), "quinn uses it");
}

#[test]
fn what_has_come_counts_each_byte_once_whatever_its_order() {
    let mut client = endpoint(Role::Client);
    let come = |client: &mut Endpoint, number, id, offset| {
        client.on_packet(ms(0), &Packet::new(number, vec![Frame::Stream { id, offset, len: 100 }], 0));
        client.arrived()
    };
    assert_eq!(come(&mut client, 0, 4, 200), 100);
    assert_eq!(come(&mut client, 2, 4, 0), 200);
    assert_eq!(come(&mut client, 2, 4, 0), 200, "the same packet again");
    assert_eq!(come(&mut client, 3, 8, 0), 300, "of another stream");
    assert_eq!(come(&mut client, 4, 4, 150), 350, "half of it had come");
}

#[test]
fn datagrams_are_as_long_as_the_path_is_known_to_take() {
    let mut server = server().in_datagrams_of(1350);
    server.write(4, 5000, 3);
    let sent = send(&mut server, ms(0));
    assert_eq!(sent.iter().map(|packet| packet.bytes).collect::<Vec<_>>()[..3], [1350; 3]);
    assert!(sent.len() == 4 && !server.is_idle());
    hear(&mut server, ms(100), 0, &[(0, 3)]);
    assert!(server.is_idle());
}
