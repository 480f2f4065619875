//! Deficit round robin with new flows first: the turns that FQ-CoDel, FQ-PIE and CAKE give to lines of packets.
//!
//! Source: RFC 8290 section 4.2, as in Linux `sch_fq_codel.c`. A line that becomes active gets one quantum and joins the
//! new lines; one whose deficit is spent gets another quantum and joins the old ones; a new line that runs empty stays
//! for one more round among the old ones, unless there are none.

use super::inspect::Inspector;

/// No line.
const NONE: u32 = u32::MAX;

/// A list of lines in the order in which they are served. `next` is shared: a line is in one list at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(super) fn append(&mut self, line: u32, turns: &mut [Turn]) {
        turns[line as usize].next = NONE;
        match self.tail {
            NONE => self.head = line,
            tail => turns[tail as usize].next = line,
        }
        self.tail = line;
    }

    #[inline]
    pub(super) fn remove_first(&mut self, turns: &[Turn]) {
        if self.head == self.tail {
            *self = Self::EMPTY;
        } else {
            self.head = turns[self.head as usize].next;
        }
    }
}

/// What a line is owed, and its place in the lists.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    pub(super) deficit: i64,
    next: u32,
    pub(super) active: bool,
    new: bool,
}

impl Turn {
    pub(super) const IDLE: Self = Self { deficit: 0, next: NONE, active: false, new: false };
}

/// The lines that take turns.
pub(super) struct Rounds {
    turns: Vec<Turn>,
    new: List,
    old: List,
    quantum: i64,
}

impl Rounds {
    pub(super) fn new(lines: u32, quantum: u32) -> Self {
        Self {
            turns: vec![Turn::IDLE; lines as usize],
            new: List::EMPTY,
            old: List::EMPTY,
            quantum: i64::from(quantum.max(1)),
        }
    }

    #[inline]
    pub(super) fn is_active(&self, line: u32) -> bool {
        self.turns[line as usize].active
    }

    /// A packet arrived on this line.
    #[inline]
    pub(super) fn join(&mut self, line: u32) {
        let turn = &mut self.turns[line as usize];
        if !turn.active {
            (turn.active, turn.new, turn.deficit) = (true, true, self.quantum);
            self.new.append(line, &mut self.turns);
        }
    }

    /// The line whose turn it is, if any is active.
    #[inline]
    pub(super) fn turn(&mut self) -> Option<u32> {
        loop {
            let list = if self.new.first().is_some() { &mut self.new } else { &mut self.old };
            let line = list.first()?;
            let turn = &mut self.turns[line as usize];
            if turn.deficit > 0 {
                return Some(line);
            }
            turn.deficit += self.quantum;
            turn.new = false;
            list.remove_first(&self.turns);
            self.old.append(line, &mut self.turns);
        }
    }

    /// The line whose turn it is sent so many bytes.
    #[inline]
    pub(super) fn sent(&mut self, line: u32, bytes: u32) {
        self.turns[line as usize].deficit -= i64::from(bytes);
    }

    /// The line whose turn it is has nothing to send.
    #[inline]
    pub(super) fn ran_empty(&mut self, line: u32) {
        let turn = &mut self.turns[line as usize];
        let was_new = std::mem::take(&mut turn.new);
        let list = if was_new { &mut self.new } else { &mut self.old };
        list.remove_first(&self.turns);
        if was_new && self.old.first().is_some() {
            self.old.append(line, &mut self.turns);
        } else {
            self.turns[line as usize].active = false;
        }
    }

    /// The line whose turn it is has nothing to send, and leaves the rounds at once (CAKE).
    #[inline]
    pub(super) fn leave(&mut self, line: u32) {
        let turn = &mut self.turns[line as usize];
        let list = if std::mem::take(&mut turn.new) { &mut self.new } else { &mut self.old };
        turn.active = false;
        list.remove_first(&self.turns);
    }

    pub(super) fn inspect(&mut self, line: u32, inspector: &mut Inspector<'_>) {
        let turn = &mut self.turns[line as usize];
        inspector.see("deficit", &mut turn.deficit);
        inspector.tell("active", f64::from(u8::from(turn.active)));
        inspector.tell("new", f64::from(u8::from(turn.active && turn.new)));
    }
}
