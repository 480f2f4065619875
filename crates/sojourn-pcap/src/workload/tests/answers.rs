//! Which answers are turns of their own, where both ends send at once: a page's, over one connection.

use super::*;

/// By whom, how many bytes, and what it had heard, of the turns of [`SECURE`] from the first answer on. Its end has
/// answered in part, with a last segment of so much payload that passes at `at` ms, when another request comes, and
/// sends on; beside the opener, or the other end.
fn turns_of(beside_opener: bool, last: u16, at: i64) -> Vec<(bool, u64, u64)> {
    let mut lines = SECURE[..9].to_vec();
    lines.extend([
        (at, false, ACK, 6900, 1590, last),
        (150, true, ACK, 1590, 6900, 300),
        (190, false, ACK, 6900 + u32::from(last), 1890, 1500),
        (191, false, ACK, 8400 + u32::from(last), 1890, 700),
    ]);
    if !beside_opener {
        // The other end is 20 ms away.
        lines.iter_mut().for_each(|(at, opener, ..)| *at += if *opener { 20 } else { -20 });
    }
    lines.sort_by_key(|(at, ..)| *at);
    let [both] = &taken(&frames(&lines)).connections[..] else { panic!("one connection") };
    assert!(both.concurrent);
    let turns = heard(both).into_iter().skip_while(|(by, .., heard)| !by || *heard < 1280);
    turns.map(|(by, bytes, _, heard)| (by, bytes, heard)).collect()
}

#[test]
fn who_had_sent_all_and_hears_more_answers_that() {
    let apart = [(true, 3900, 1280), (false, 300, 5900), (true, 2200, 1880)];
    assert_eq!([true, false].map(|beside_opener| turns_of(beside_opener, 900, 145)), [apart; 2]);
    // What comes after it at once was to be sent anyway, as is seen beside it; a queue brings together what was not.
    assert_eq!(turns_of(true, 900, 188), apart);
    assert_eq!(turns_of(false, 900, 188)[0], (true, 6100, 1280));
    assert_eq!(turns_of(false, 900, 187), apart);
}

#[test]
fn who_had_more_to_send_goes_on() {
    for beside_opener in [true, false] {
        assert_eq!(turns_of(beside_opener, 1500, 145)[0], (true, 6700, 1280), "{beside_opener}");
    }
}
