//! Units are read exactly, printed so that they read back, and refused in sentences.

use proptest::prelude::*;
use sojourn_net::units::LONGEST;
use sojourn_net::{Bytes, Limit, Rate, Span};
use std::fmt::Display;
use std::str::FromStr;

fn error<T: FromStr<Err: Display>>(text: &str) -> String {
    match text.parse::<T>() {
        Ok(_) => panic!("{text} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn numbers_are_read_exactly() {
    for (text, rate) in [
        ("16Mbit", 16_000_000),
        ("149.76Mbit", 149_760_000),
        ("0.5kbit", 500),
        ("2.50Gbit", 2_500_000_000),
        ("1000000bit", 1_000_000),
        (" 16 Mbit ", 16_000_000),
    ] {
        assert_eq!(text.parse(), Ok(Rate(rate)), "{text}");
    }
    for (text, ns) in [("20ms", 20_000_000), ("0.5us", 500), ("2min", 120_000_000_000), ("1h", 3_600_000_000_000)] {
        assert_eq!(text.parse(), Ok(Span(ns)), "{text}");
    }
    for (text, bytes) in [("96kB", 96_000), ("5.8KiB", 0), ("15KiB", 15_360), ("1448", 1448), ("16MB", 16_000_000)] {
        match bytes {
            0 => assert!(text.parse::<Bytes>().is_err(), "{text} is not a whole number of bytes"),
            _ => assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}"),
        }
    }
}

#[test]
fn every_unit_counts_as_its_name_says() {
    for (unit, scale) in [("bit", 1), ("kbit", 1000), ("Mbit", 1_000_000), ("Gbit", 1_000_000_000)] {
        assert_eq!(format!("3{unit}").parse(), Ok(Rate(3 * scale)));
    }
    for (unit, scale) in [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000), ("min", 60_000_000_000)] {
        assert_eq!(format!("3{unit}").parse(), Ok(Span(3 * scale)));
    }
    let binary = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];
    for (unit, scale) in [("B", 1), ("kB", 1000), ("MB", 1_000_000), ("GB", 1_000_000_000)].into_iter().chain(binary) {
        assert_eq!(format!("3{unit}").parse(), Ok(Bytes(3 * scale)));
    }
    assert_eq!(Rate(9).bytes_in(Span::from_secs(3)), 3, "27 bits are 3 bytes and a part");
}

#[test]
fn limits_have_five_forms() {
    for (text, limit) in [
        ("64pkt", Limit::Packets(64)),
        ("96kB", Limit::Bytes(96_000)),
        ("100ms", Limit::Time(Span::from_millis(100))),
        ("2BDP", Limit::Bdp(2.0)),
        ("0.5BDP", Limit::Bdp(0.5)),
        ("unlimited", Limit::Unlimited),
    ] {
        assert_eq!(text.parse(), Ok(limit), "{text}");
        assert_eq!(limit.to_string(), text);
    }
}

#[test]
fn limits_resolve_to_packets_or_bytes() {
    let (rate, rtt) = (Rate(149_760_000), Span::from_millis(60));
    assert_eq!(Limit::Bdp(1.0).resolve(rate, rtt), (749, u64::MAX));
    assert_eq!(Limit::Bdp(10.0).resolve(rate, rtt), (7488, u64::MAX));
    assert_eq!(Limit::Bdp(0.0001).resolve(rate, rtt), (1, u64::MAX));
    assert_eq!(Limit::Time(Span::from_millis(100)).resolve(Rate(1_000_000), rtt), (u32::MAX, 12_500));
    assert_eq!(Limit::Time(Span(1)).resolve(rate, rtt), (u32::MAX, 1500));
    assert_eq!(Limit::Unlimited.resolve(rate, rtt), (u32::MAX, u64::MAX));
}

#[test]
fn transmission_takes_its_time() {
    assert_eq!(Rate(1_000_000).transmission(1500), Span::from_millis(12));
    assert_eq!(Rate(u64::MAX).transmission(1500), Span(1));
    assert_eq!(Rate(1).transmission(u64::MAX), Span(u64::MAX));
}

#[test]
fn refusals_say_what_to_write() {
    assert_eq!(
        error::<Rate>("10Mbps"),
        "\"10Mbps\" is not a rate: Mbps is megabits to some tools and megabytes to others; write \"10Mbit\""
    );
    assert!(error::<Rate>("8kb/s").contains("write \"8kbit\""));
    assert!(error::<Rate>("0Mbit").contains("above zero"));
    assert!(error::<Rate>("-5Mbit").contains("negative"));
    assert!(error::<Rate>("Mbit").contains("write a number and bit"));
    assert!(error::<Rate>(&format!("1.{}1Gbit", "0".repeat(18))).contains("too many decimals"));
    assert!(error::<Rate>("0.5bit").contains("not a whole number"));
    assert!(error::<Rate>("1e6").contains("\"e6\" is not a unit"));
    assert!(error::<Rate>("99999999999999999999Gbit").contains("too large"));
    assert!(
        error::<Rate>("16").contains("it has no unit; write a number and bit, kbit, Mbit or Gbit, as in \"10Mbit\"")
    );
    assert!(error::<Span>("20").contains("no unit"));
    assert_eq!("8784h".parse(), Ok(LONGEST));
    for text in ["8784.000000001h", "100000h", "18000000000s"] {
        assert!(error::<Span>(text).contains("it is longer than a year; write at most \"8784h\""), "{text}");
    }
    assert!(error::<Span>("32000000000s").contains("too large"));
    assert!(error::<Limit>("100000h").contains("longer than a year"));
    assert!(error::<Rate>(&"9".repeat(10_000)).len() < 200);
    assert!(error::<Rate>(&format!("{}bps", "9".repeat(10_000))).len() < 300);
    assert!(error::<Bytes>(&format!("{}KB", "9".repeat(10_000))).len() < 300);
    assert!(error::<Span>("20\u{1b}[31m").contains("\\u{1b}"));
    assert!(error::<Span>("0.1ns").contains("not a whole number"));
    assert!(error::<Bytes>("64KB").contains("write \"64kB\" or \"64KiB\""));
    assert!(error::<Limit>("64").contains("no unit"));
    assert!(error::<Limit>("64pakets").contains("write packets (\"64pkt\")"));
    assert!(error::<Limit>("0pkt").contains("must hold something"));
    assert!(error::<Limit>("0.0BDP").contains("must hold something"));
    assert!(error::<Limit>(&format!("{}BDP", "9".repeat(400))).contains("is not a limit"));
    assert!(error::<Limit>("5000000000pkt").contains("too large"));
}

#[test]
fn what_others_write_is_read_where_it_means_one_thing() {
    for text in ["10mbit", "10Mbit", "10MBIT", "10Mbit/s", "10 mbit/s", "0.01gbit", "10000Kbit"] {
        assert_eq!(text.parse(), Ok(Rate(10_000_000)), "{text}");
    }
    for text in ["64p", "64pkts", "64 packets", "64packet"] {
        assert_eq!(text.parse(), Ok(Limit::Packets(64)), "{text}");
    }
    assert_eq!("2bdp".parse(), Ok(Limit::Bdp(2.0)));
    for (text, ns) in [("5msec", 5_000_000), ("5usecs", 5_000), ("5µs", 5_000), ("5sec", 5_000_000_000)] {
        assert_eq!(text.parse(), Ok(Span(ns)), "{text}");
    }
    assert_eq!("10mbit/s".parse::<Rate>().unwrap().to_string(), "10Mbit", "it is written out in one way");
    assert_eq!("64p".parse::<Limit>().unwrap().to_string(), "64pkt");
}

#[test]
fn what_means_two_things_is_refused_with_both() {
    for text in ["10Mbps", "10mbps", "10Mb/s", "10MB/s", "10Mibit", "10m", "10Mbit/h", "10Mbit/s/s"] {
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
    for (text, wanted) in [
        ("150kb", "kb is 1024 bytes to tc, and a thousand-fold or bits to others; write \"150kB\" or \"150KiB\""),
        ("150k", "write \"150kB\" or \"150KiB\""),
        ("150Kb", "write \"150kB\" or \"150KiB\""),
        ("2mb", "mb is 1048576 bytes to tc"),
        ("32Mb", "write \"32MB\" or \"32MiB\""),
        ("1g", "write \"1GB\" or \"1GiB\""),
        ("1514b", "b is bytes to tc and bits to others; write \"1514B\""),
    ] {
        assert!(error::<Bytes>(text).contains(wanted), "{}", error::<Bytes>(text));
        let limit = error::<Limit>(text);
        assert!(limit.contains(wanted) && limit.contains("is not a limit"), "{limit}");
    }
    assert!(error::<Limit>("12mbit").contains("\"mbit\" is not a unit of it"));
    assert!(error::<Limit>("12P").contains("is not a unit"), "{}", error::<Limit>("12P"));
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        (1..u32::MAX).prop_map(Limit::Packets),
        (1..u64::MAX).prop_map(Limit::Bytes),
        (1..LONGEST.0).prop_map(|ns| Limit::Time(Span(ns))),
        (1e-300..1e300_f64).prop_map(Limit::Bdp),
        Just(Limit::Unlimited),
    ]
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(rate in 1..u64::MAX, ns in 0..LONGEST.0, bytes: u64, round in 0..1_000_000_u64, limit in limit()) {
        prop_assert_eq!(Rate(rate).to_string().parse(), Ok(Rate(rate)));
        prop_assert_eq!(Span(ns).to_string().parse(), Ok(Span(ns)));
        prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        for unit in [1_000, 1_024, 1_000_000, 1 << 20] {
            prop_assert_eq!(Bytes(round * unit).to_string().parse(), Ok(Bytes(round * unit)));
            prop_assert_eq!(Span(round * unit).to_string().parse(), Ok(Span(round * unit)));
        }
        prop_assert_eq!(limit.to_string().parse(), Ok(limit));
    }

    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*|-?[0-9.]{0,30} ?[a-zA-Zµ/]{0,8}") {
        let _ = text.parse::<Rate>();
        let _ = text.parse::<Span>();
        let _ = text.parse::<Bytes>();
        let _ = text.parse::<Limit>();
    }
}
