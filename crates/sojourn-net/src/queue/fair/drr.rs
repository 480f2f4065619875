//! Deficit round robin with new flows first (DRR++): the order in which FQ-CoDel, FQ-PIE and CAKE serve their queues.
//!
//! Source: RFC 8290 section 4.2, as in Linux `sch_fq_codel.c`. A queue that becomes active gets one quantum and joins
//! the new queues; one whose deficit is spent gets another quantum and joins the old ones; a new queue that runs empty
//! stays for one more round among the old ones, unless there are none: so a flow that sends one packet whenever it ran
//! empty cannot starve the others.

use crate::queue::inspect::Inspector;

/// No queue.
const NONE: u32 = u32::MAX;

/// A list of queues in the order in which they are served. `next` is shared: a queue is in one list at most.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct ActiveList {
    head: u32,
    tail: u32,
}

impl ActiveList {
    pub(in crate::queue) const EMPTY: Self = Self { head: NONE, tail: NONE };

    #[inline]
    pub(in crate::queue) fn first(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    #[inline]
    pub(in crate::queue) fn append(&mut self, queue: u32, slots: &mut [DrrSlot]) {
        slots[queue as usize].next = NONE;
        match self.tail {
            NONE => self.head = queue,
            tail => slots[tail as usize].next = queue,
        }
        self.tail = queue;
    }

    #[inline]
    pub(in crate::queue) fn remove_first(&mut self, slots: &[DrrSlot]) {
        if self.head == self.tail {
            *self = Self::EMPTY;
        } else {
            self.head = slots[self.head as usize].next;
        }
    }
}

/// What a queue may still send, and its place in the lists.
#[derive(Clone, Copy, Debug)]
pub(in crate::queue) struct DrrSlot {
    /// Bytes that the queue may send before the next one's turn; below zero what it sent too much.
    pub(in crate::queue) deficit: i64,
    next: u32,
    /// The queue is in one of the lists.
    pub(in crate::queue) active: bool,
    /// … in that of the new ones.
    new: bool,
}

impl DrrSlot {
    pub(in crate::queue) const IDLE: Self = Self { deficit: 0, next: NONE, active: false, new: false };
}

/// Deficit round robin over queues, new ones first.
pub(in crate::queue) struct DrrScheduler {
    slots: Vec<DrrSlot>,
    new: ActiveList,
    old: ActiveList,
    quantum: i64,
}

impl DrrScheduler {
    pub(in crate::queue) fn new(queues: u32, quantum: u32) -> Self {
        Self {
            slots: vec![DrrSlot::IDLE; queues as usize],
            new: ActiveList::EMPTY,
            old: ActiveList::EMPTY,
            quantum: i64::from(quantum.max(1)),
        }
    }

    #[inline]
    pub(in crate::queue) fn is_active(&self, queue: u32) -> bool {
        self.slots[queue as usize].active
    }

    /// A packet arrived at this queue.
    #[inline]
    pub(in crate::queue) fn activate(&mut self, queue: u32) {
        let slot = &mut self.slots[queue as usize];
        if !slot.active {
            (slot.active, slot.new, slot.deficit) = (true, true, self.quantum);
            self.new.append(queue, &mut self.slots);
        }
    }

    /// The queue whose turn it is, if any is active.
    #[inline]
    pub(in crate::queue) fn next(&mut self) -> Option<u32> {
        loop {
            let list = if self.new.first().is_some() { &mut self.new } else { &mut self.old };
            let queue = list.first()?;
            let slot = &mut self.slots[queue as usize];
            if slot.deficit > 0 {
                return Some(queue);
            }
            slot.deficit += self.quantum;
            slot.new = false;
            list.remove_first(&self.slots);
            self.old.append(queue, &mut self.slots);
        }
    }

    /// The queue whose turn it is sends so many bytes.
    #[inline]
    pub(in crate::queue) fn charge(&mut self, queue: u32, bytes: u32) {
        self.slots[queue as usize].deficit -= i64::from(bytes);
    }

    /// The queue whose turn it is has nothing to send: a new one goes behind the old ones first (RFC 8290 section 4.2).
    #[inline]
    pub(in crate::queue) fn ran_empty(&mut self, queue: u32) {
        let was_new = self.slots[queue as usize].new;
        self.leave(queue);
        if was_new && self.old.first().is_some() {
            self.slots[queue as usize].active = true;
            self.old.append(queue, &mut self.slots);
        }
    }

    /// The queue whose turn it is has nothing to send, and leaves at once (CAKE).
    #[inline]
    pub(in crate::queue) fn leave(&mut self, queue: u32) {
        let slot = &mut self.slots[queue as usize];
        let list = if std::mem::take(&mut slot.new) { &mut self.new } else { &mut self.old };
        slot.active = false;
        list.remove_first(&self.slots);
    }

    pub(in crate::queue) fn inspect(&mut self, queue: u32, inspector: &mut Inspector<'_>) {
        let slot = &mut self.slots[queue as usize];
        inspector.see("deficit", &mut slot.deficit);
        inspector.tell("active", f64::from(u8::from(slot.active)));
        inspector.tell("new", f64::from(u8::from(slot.active && slot.new)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Serves packets of 1000 bytes from queues of these lengths, and has queue `sparse` get a packet whenever it ran
    /// empty.
    fn order(drr: &mut DrrScheduler, lengths: &mut [u32], sparse: u32, packets: usize) -> Vec<u32> {
        let mut served = Vec::new();
        while served.len() < packets {
            let Some(queue) = drr.next() else { break };
            if lengths[queue as usize] == 0 {
                drr.ran_empty(queue);
                continue;
            }
            lengths[queue as usize] -= 1;
            drr.charge(queue, 1000);
            served.push(queue);
            if lengths[sparse as usize] == 0 {
                lengths[sparse as usize] = 1;
                drr.activate(sparse);
            }
        }
        served
    }

    /// RFC 8290 section 4.2: a queue that empties while new must go behind the old ones, or it could starve them.
    #[test]
    fn a_flow_with_one_packet_whenever_it_ran_empty_is_served_once_per_round() {
        let mut drr = DrrScheduler::new(3, 1000);
        let mut lengths = [100, 100, 1];
        (0..3).for_each(|queue| drr.activate(queue));
        let served = order(&mut drr, &mut lengths, 2, 60);
        let rounds = |queue: u32| served.iter().filter(|served| **served == queue).count();
        assert_eq!([0, 1, 2].map(rounds), [20, 20, 20], "{served:?}");
    }

    #[test]
    fn a_new_queue_goes_before_the_old_ones_once() {
        let mut drr = DrrScheduler::new(3, 1000);
        let mut lengths = [9, 9, 0];
        (0..2).for_each(|queue| drr.activate(queue));
        assert_eq!(order(&mut drr, &mut lengths.clone(), 0, 4), [0, 1, 0, 1]);
        lengths[2] = 9;
        drr.activate(2);
        // Queue 1 was served last, and so comes behind the two others.
        assert_eq!(order(&mut drr, &mut lengths, 0, 4), [2, 0, 2, 1]);
    }

    #[test]
    fn a_queue_that_empties_alone_is_new_again_with_its_next_packet() {
        let mut drr = DrrScheduler::new(2, 1000);
        drr.activate(0);
        assert_eq!(drr.next(), Some(0));
        drr.ran_empty(0);
        assert!(!drr.is_active(0) && drr.next().is_none());
        drr.activate(0);
        assert!(drr.slots[0].new);
    }
}
