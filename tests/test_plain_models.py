"""Disciplines held against plain models in Python, written from the rules alone, on random traffic.

A model is a function of arrivals [(ns, bytes, flow, ecn)], times of departures (ns) and random numbers; it
returns the numbers of the packets that were dropped, in order.
"""

import math
from collections import deque

import numpy as np
import pytest
import sojourn

MS = 1_000_000


def events(packets, departures):
    """Arrivals before departures of the same time."""
    both = [(at, 0, i) for i, (at, *_) in enumerate(packets)] + [(at, 1, -1) for at in departures]
    return [(at, packets[i] if kind == 0 else None, i) for at, kind, i in sorted(both)]


def pie(packets, departures, draw, *, target=15e-3, update=15 * MS, mean=1000):
    """RFC 8033: sections 4.1 to 4.4, 5.4 and 5.5."""
    queue, dropped = deque(), []
    p = old = accumulated = 0.0
    burst, due = 150 * MS, update
    for now, arrival, number in events(packets, departures):
        while due <= now:
            delay = (due - queue[0][0]) / 1e9 if queue else 0.0
            step = 0.125 * (delay - target) + 1.25 * (delay - old)
            scales = ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (0.1, 2))
            step /= next((divisor for below, divisor in scales if p < below), 1)
            p += min(step, 0.02) if p >= 0.1 else step
            p = min(max(p * 0.98 if delay == old == 0 else p, 0.0), 1.0)
            burst = max(0, burst - update)
            if p == 0 and max(delay, old) < target / 2:
                burst = 150 * MS
            old, due = delay, due + update
        if arrival is None:
            queue and queue.popleft()
            continue
        hit = False
        if not (burst or (old < target / 2 and p < 0.2) or sum(size for _, size in queue) <= 2 * mean):
            accumulated = accumulated + p if p else 0.0
            hit = accumulated >= 8.5 or (accumulated >= 0.85 and p > 0 and draw(number) <= p)
        if hit:
            accumulated = 0.0
            dropped.append(number)
        else:
            queue.append(arrival[:2])
    return dropped


def red(packets, departures, draw, *, by_size, wait, gentle, weight=0.02, low=5, high=15, top=0.1, mean=1000):
    """ns-2's RED in packets, at 250 packets of mean size a second."""
    queue, dropped = deque(), []
    average, count, count_bytes, above, idle = 0.0, 0, 0, False, 0
    for now, arrival, number in events(packets, departures):
        if arrival is None:
            if queue:
                queue.popleft()
            elif idle is None:
                idle = now
            continue
        small = 0 if idle is None else math.floor(250 * (now - idle) * 1e-9)
        idle = None
        average = average * (1 - weight) ** (small + 1) + weight * len(queue)
        size = arrival[1]
        count, count_bytes, hit = count + 1, count_bytes + size, False
        if average < low or len(queue) <= 1:
            above = False
        elif not above:
            above, count, count_bytes = True, 1, size
        else:
            p = top * (average - low) / (high - low) if average < high else 1.0
            if average >= high and gentle:
                p = (1 - top) / high * average + 2 * top - 1
            p = min(p, 1.0)
            passed = (count_bytes // mean if by_size else count) * p
            if wait:
                p = 0.0 if passed < 1 else p / (2 - passed) if passed < 2 else 1.0
            else:
                p = min(1.0, p / (1 - passed)) if passed < 1 else 1.0
            p = min(1.0, p * size / mean) if by_size and p < 1 else p
            hit = p > 0 and draw(number) <= p
        if hit:
            count = count_bytes = 0
            dropped.append(number)
        else:
            queue.append(number)
    return dropped


class Codel:
    """RFC 8289 for one line of (ns, number, bytes)."""

    def __init__(self, target=5 * MS, interval=100 * MS, mtu=1500):
        self.target, self.interval, self.mtu = target, interval, mtu
        self.line, self.dropping = deque(), False
        self.first_above = self.drop_next = self.count = self.last_count = 0

    def control(self, at):
        return at + int(self.interval / math.sqrt(self.count))

    def take(self, now):
        if not self.line:
            self.first_above = 0
            return None, False
        packet = self.line.popleft()
        if now - packet[0] < self.target or sum(size for *_, size in self.line) <= self.mtu:
            self.first_above = 0
        elif not self.first_above:
            self.first_above = now + self.interval
        else:
            return packet, now >= self.first_above
        return packet, False

    def dequeue(self, now, dropped):
        packet, late = self.take(now)
        if self.dropping:
            self.dropping = late
            while self.dropping and now >= self.drop_next:
                dropped.append(packet[1])
                self.count += 1
                packet, late = self.take(now)
                self.dropping = late
                if late:
                    self.drop_next = self.control(self.drop_next)
        elif late:
            dropped.append(packet[1])
            packet, _ = self.take(now)
            self.dropping = True
            delta = self.count - self.last_count
            recent = now - self.drop_next < 16 * self.interval
            self.count = self.last_count = delta if delta > 1 and recent else 1
            self.drop_next = self.control(now)
        return packet


def fq_codel(packets, departures, _, *, quantum=1514):
    """RFC 8290 with the CoDel of RFC 8289 in each line."""
    lines, deficit, dropped = {}, {}, []
    new, old = deque(), deque()
    for now, arrival, number in events(packets, departures):
        if arrival is not None:
            flow = arrival[2]
            lines.setdefault(flow, Codel()).line.append((now, number, arrival[1]))
            if flow not in new and flow not in old:
                new.append(flow)
                deficit[flow] = quantum
            continue
        while new or old:
            turn = new or old
            flow = turn[0]
            if deficit[flow] <= 0:
                deficit[flow] += quantum
                old.append(turn.popleft())
                continue
            packet = lines[flow].dequeue(now, dropped)
            if packet:
                deficit[flow] -= packet[2]
                break
            turn.popleft()
            if turn is new and old:
                old.append(flow)
    return dropped


def cobalt(packets, departures, draw, *, target=5 * MS, interval=100 * MS, limit=60):
    """One queue of CAKE's COBALT, with BLUE."""
    queue, dropped = deque(), []
    count, drop_next, dropping, blue, moved = 0, 0, False, 0.0, 0

    def control(at):
        return at + int(interval / math.sqrt(max(count, 1)))

    for now, arrival, number in events(packets, departures):
        if arrival is not None:
            if len(queue) < limit:
                queue.append((now, number))
                continue
            dropped.append(number)
            if now - moved > target:
                blue, moved = min(blue + 1 / 256, 1.0), now
            dropping, drop_next, count = True, now, max(count, 1)
            continue
        while queue:
            since, number = queue.popleft()
            hit = False
            sched = now - drop_next
            due = count > 0 and sched >= 0
            if now - since > target:
                if not dropping:
                    dropping, drop_next = True, control(now)
                count = max(count, 1)
            else:
                dropping = False
            if due and dropping:
                hit, count = True, count + 1
                drop_next = control(drop_next)
                sched = now - drop_next
            else:
                while due:
                    count -= 1
                    drop_next = control(drop_next)
                    sched = now - drop_next
                    due = count > 0 and sched >= 0
            if blue and not hit:
                hit = draw(None) < blue
            if count == 0:
                drop_next = now + interval
            elif sched > 0 and not hit:
                drop_next = now
            if not hit:
                break
            dropped.append(number)
        else:
            if blue and now - moved > target:
                blue, moved = max(blue - 1 / 4096, 0.0), now
            dropping = False
            if count and now >= drop_next:
                count -= 1
                drop_next = control(drop_next)
    return dropped


def dualpi2(packets, departures, draw, *, target=15e-3, update=16 * MS, step=MS, mtu=1514):
    """The rules of Linux's DualPI2; ECN bits 1 and 3 go to the low-latency queue."""
    classic, low, dropped = deque(), deque(), []
    p, old, due, credit = 0.0, 0.0, update, mtu * (100 - 900)
    for now, arrival, number in events(packets, departures):
        while due <= now:
            delay = max((due - line[0][0]) / 1e9 if line else 0.0 for line in (classic, low))
            p = min(max(p + 0.16 * (delay - target) + 3.2 * (delay - old), 0.0), 1.0)
            old, due = delay, due + update
        if arrival is not None:
            (low if arrival[3] in (1, 3) else classic).append((now, number, arrival[1], arrival[3]))
            continue
        while classic or low:
            is_low = bool(low) and (not classic or credit <= 0)
            _, number, size, ecn = (low if is_low else classic).popleft()
            hit = False
            if sum(entry[2] for line in (classic, low) for entry in line) >= 2 * mtu and p:
                if is_low and 2 * p <= 1:
                    draw(None)
                else:
                    hit = draw(None) <= p and draw(None) <= p and (is_low or 2 * p > 1 or ecn == 0)
            if hit:
                dropped.append(number)
                continue
            if is_low:
                credit += 100 * size
            elif low:
                credit -= 900 * size
            break
        else:
            credit = mtu * (100 - 900)
    return dropped


CASES = [
    ("pie", pie, {}, {}, 1.0),
    *(
        ("red", red, {"by_size": by_size, "wait": wait, "gentle": gentle},
         {"min": 5.0, "max": 15.0, "weight": 0.02, "mean-packet": "1000B", "rate": "2Mbit", "max-p": 0.1,
          "by-size": by_size, "wait": wait, "gentle": gentle}, 4.0)
        for by_size in (False, True) for wait in (False, True) for gentle in (False, True)
    ),
    ("fq-codel", fq_codel, {}, {"variant": "rfc8289", "ecn": False, "hash": "plain"}, 3.0),
    ("cobalt", cobalt, {}, {"limit": "60pkt"}, 1.0),
    ("dualpi2", dualpi2, {}, {}, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "model", "options", "keys", "gap"), CASES)
def test_every_fate_is_the_models(kind, model, options, keys, gap):
    total = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        load = (0.9, 1.1, 1.4)[seed % 3]
        times = np.cumsum(random.exponential(gap * MS / load, 1500)).astype(int).tolist()
        sizes, flows = random.integers(100, 1500, 1500).tolist(), random.integers(0, 6, 1500).tolist()
        ecn = (random.integers(0, 4, 1500) if kind == "dualpi2" else np.zeros(1500, int)).tolist()
        departures = (np.arange(1, 1400) * int(gap * MS) + 1).tolist()
        numbers = random.random(20_000).tolist()
        by_packet = kind == "red"
        taken = iter(numbers)
        packets = [*zip(times, sizes, flows, ecn, strict=True)]
        expected = model(
            packets, departures, numbers.__getitem__ if by_packet else lambda _, it=taken: next(it), **options
        )
        draws = {"by_packet": numbers[:1500]} if by_packet else numbers
        queue = {"kind": kind, "limit": "unlimited", **keys}
        found = sojourn.replay(queue, packets, departures, draws=draws, trace=False)
        assert found.dropped.tolist() == expected, f"seed {seed}"
        total += len(expected)
    assert total > 100, "too little was dropped to say anything"
