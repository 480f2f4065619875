//! Numbers as text, for rows of samples: the same digits as Polars writes, without looking at a format for each.

/// Two digits of each number below 100.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[b'0'; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// The last `N` decimal digits of a number, two at a time.
#[inline]
pub fn digits<const N: usize>(bytes: &mut Vec<u8>, mut number: u64) {
    let mut text = [b'0'; N];
    for pair in text.rchunks_mut(2) {
        let two = PAIRS[(number % 100) as usize];
        pair.copy_from_slice(&two[2 - pair.len()..]);
        number /= 100;
    }
    bytes.extend_from_slice(&text);
}

/// A whole number.
#[inline]
pub fn whole(bytes: &mut Vec<u8>, mut number: u64) {
    let (mut text, mut at) = ([b'0'; 20], 20);
    while number >= 10 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number > 0 || at == 20 {
        at -= 1;
        text[at] += number as u8;
    }
    bytes.extend_from_slice(&text[at..]);
}

/// Milliseconds with up to six decimals, and one at least; the few below 0.00001 as `7e-6`.
#[inline]
pub fn milliseconds(bytes: &mut Vec<u8>, ns: f64) {
    // From here on doubles no longer tell six decimals apart.
    const MOST: f64 = 1e15;
    // Doubles of this size are whole: adding it rounds, ties to even, and subtracting it leaves what was rounded.
    const WHOLE: f64 = (1u64 << 52) as f64;
    if !(0.0..MOST).contains(&ns) {
        return bytes.extend_from_slice(format!("{:?}", ns / 1e6).as_bytes());
    }
    // As in the columns of other formats, where Polars divides by multiplying.
    let parts = (ns * (1.0 / 1e6) * 1e6 + WHOLE - WHOLE) as u64;
    if (1..10).contains(&parts) {
        return bytes.extend_from_slice(&[b'0' + parts as u8, b'e', b'-', b'6']);
    }
    whole(bytes, parts / 1_000_000);
    bytes.push(b'.');
    digits::<6>(bytes, parts % 1_000_000);
    let (mut rest, mut kept) = (parts % 1_000_000, bytes.len());
    while rest.is_multiple_of(10) && kept > bytes.len() - 5 {
        (rest, kept) = (rest / 10, kept - 1);
    }
    bytes.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_numbers_have_all_their_digits_and_no_more() {
        for number in [0, 7, 10, 99, 100, 101, 999, 1000, 65_536, 1_700_000_000, 99_999_999_999, u64::MAX] {
            let mut bytes = Vec::new();
            whole(&mut bytes, number);
            assert_eq!(String::from_utf8(bytes).unwrap_or_default(), number.to_string());
            let mut bytes = Vec::new();
            digits::<9>(&mut bytes, number);
            assert_eq!(String::from_utf8(bytes).unwrap_or_default(), format!("{:09}", number % 1_000_000_000));
        }
    }

    #[test]
    fn numbers_are_written_as_polars_writes_them() {
        let of = |ns: f64| {
            let mut bytes = Vec::new();
            milliseconds(&mut bytes, ns);
            String::from_utf8(bytes).unwrap_or_default()
        };
        let all = [0.0, 1e6, 12.5e6, 1.2, 15.0, 123.0, 299_999_123_456.0, 20.0, 100_000e6, 419_207.5].map(of);
        let written = "0.0 1.0 12.5 1e-6 0.000015 0.000123 299999.123456 0.00002 100000.0 0.419207";
        assert_eq!(all.join(" "), written);
        assert_eq!(of(f64::INFINITY), "inf");
    }

    proptest! {
        #[test]
        fn milliseconds_read_back_as_what_polars_has_rounded_to_six_decimals(whole in 0u64..2_000_000_000_000, part in 0u32..1000) {
            let ns = whole as f64 + f64::from(part) / 1000.0;
            let mut bytes = Vec::new();
            milliseconds(&mut bytes, ns);
            let read: f64 = String::from_utf8(bytes).unwrap().parse().unwrap();
            prop_assert_eq!(read, (ns * (1.0 / 1e6) * 1e6).round_ties_even() / 1e6);
        }
    }
}
