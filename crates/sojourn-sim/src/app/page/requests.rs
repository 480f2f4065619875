//! Which objects a browser asks for now, and which wait.
//!
//! Source: Chromium 156, as its connections and requests come in captures ([docs/testbed.md]); the rules are those of
//! its tight mode (web.dev, Fetch Priority, 2023; Optimize WebFont loading and rendering) and of
//! `resource_scheduler.cc`: of requests below medium priority ten are under way at most, six to a host. Those to a
//! host that is known to send the most urgent first neither wait nor count: HTTP/2's from its first handshake on,
//! HTTP/3's from its first answer on (which names HTTP/3 in `Alt-Svc`).
//! Differences: what waits is looked at when an object is complete or a connection has been opened, by urgency.

use super::site::{Object, ObjectKind};

/// While the page cannot be painted, what is of low priority is asked for if fewer requests are under way.
const TIGHT: usize = 2;
/// From this urgency on an object is of low priority.
const LOW: u8 = 3;
/// From this urgency on a request is delayable (`kDelayablePriorityThreshold`).
const DELAYED: u8 = 2;
/// Delayable requests under way: in all, and to a host.
const DELAYABLE: usize = 10;
const DELAYABLE_TO_A_HOST: usize = 6;

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing names it yet.
    Unknown,
    /// It is to be asked for.
    Known,
    Asked {
        delayable: bool,
    },
    Here,
}

impl State {
    pub(super) fn is_asked(self) -> bool {
        matches!(self, Self::Asked { .. })
    }
}

/// Nothing can be painted yet.
pub(super) fn is_blocked(objects: &[Object], states: &[State]) -> bool {
    objects.iter().zip(states).any(|(object, state)| object.blocks && *state != State::Here)
}

/// Whether a request made now is delayable; its host may be `known` to send the most urgent first.
pub(super) fn is_delayable(object: &Object, known: bool) -> bool {
    object.urgency >= DELAYED && !known
}

/// Whether an object that is known may be asked for now.
pub(super) fn may_be_made(object: &Object, delayable: bool, objects: &[Object], states: &[State]) -> bool {
    let blocked = is_blocked(objects, states);
    // Text is laid out, which finds fonts, when all is here that painting waits for.
    if object.kind == ObjectKind::Font {
        return !blocked;
    }
    let under_way = || objects.iter().zip(states).filter(|(_, state)| state.is_asked());
    if blocked && object.urgency >= LOW {
        return under_way().count() < TIGHT;
    }
    let others = || under_way().filter(|(_, state)| **state == State::Asked { delayable: true });
    let to_its_host = others().filter(|(other, _)| other.host == object.host).count();
    !delayable || (others().count() < DELAYABLE && to_its_host < DELAYABLE_TO_A_HOST)
}

#[cfg(test)]
mod tests {
    use super::State::Here;
    use super::*;

    const ASKED: State = State::Asked { delayable: false };

    /// A document and two style sheets that block, a font, and pictures of low priority on two hosts.
    fn page() -> Vec<Object> {
        let object = |kind, host, urgency, blocks| Object { kind, host, bytes: 1, urgency, after: None, blocks };
        let mut objects = vec![
            object(ObjectKind::Document, 0, 0, true),
            object(ObjectKind::Style, 0, 0, true),
            object(ObjectKind::Style, 0, 0, true),
            object(ObjectKind::Font, 1, 0, false),
            object(ObjectKind::Hero, 0, 2, false),
        ];
        objects.extend((0..16).map(|i| object(ObjectKind::Picture, i % 2, 3, false)));
        objects
    }

    /// Which objects are asked for when all are known but those in the given states; some hosts send the most urgent
    /// first.
    fn asked(states: &[State], knows: fn(u16) -> bool) -> Vec<usize> {
        let objects = page();
        let mut all = states.to_vec();
        all.resize(objects.len(), State::Known);
        let known: Vec<usize> = (0..objects.len()).filter(|i| all[*i] == State::Known).collect();
        let ask = |i: &usize| {
            let delayable = is_delayable(&objects[*i], knows(objects[*i].host));
            let now = may_be_made(&objects[*i], delayable, &objects, &all);
            if now {
                all[*i] = State::Asked { delayable };
            }
            now
        };
        known.into_iter().filter(ask).collect()
    }

    #[test]
    fn what_is_of_low_priority_waits_until_little_is_under_way_while_the_page_cannot_be_painted() {
        for knows in [|_| false, |_| true] {
            assert_eq!(asked(&[Here, ASKED, ASKED], knows), [4], "the largest picture only");
            assert_eq!(asked(&[Here, Here, ASKED, State::Unknown, Here], knows), [5], "two under way then");
            assert!(asked(&[Here, Here, ASKED, State::Unknown, ASKED], knows).is_empty());
        }
    }

    #[test]
    fn fonts_are_asked_for_when_nothing_blocks_painting() {
        assert!(!asked(&[Here, Here, ASKED], |_| true).contains(&3));
        assert_eq!(asked(&[Here, Here, Here], |_| true), Vec::from_iter(3..21), "and all the rest");
    }

    #[test]
    fn ten_delayable_requests_are_under_way_and_six_to_a_host() {
        assert_eq!(asked(&[Here, Here, Here], |_| false), Vec::from_iter(3..14), "a font, the largest and nine more");
        let mut one_host = vec![Here; 5];
        one_host.extend((0..16).map(|i| if i % 2 == 0 { State::Known } else { Here }));
        assert_eq!(asked(&one_host, |_| false), [5, 7, 9, 11, 13, 15]);
    }

    #[test]
    fn requests_to_a_host_that_sends_the_most_urgent_first_neither_wait_nor_count() {
        let expected = Vec::from_iter((3..15).chain([16, 18, 20]));
        assert_eq!(asked(&[Here, Here, Here], |host| host == 1), expected, "six of the first host, all of the other");
    }
}
