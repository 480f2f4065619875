"""Cost of scoring, measured in one run: python -m benches.qoe

Prints times per call and their ratios to one PESQ of the same sound, which is the floor of scoring with PESQ.
Ratios compare machines; times do not.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sojourn.qoe import pesq, voice, web
from sojourn.qoe.media import concealment, speech

CALLS, FRAMES, MS = 100, 400, 1_000_000


def table(loss: float) -> dict[str, np.ndarray]:
    """Calls in both directions with jitter and random loss."""
    rng = np.random.default_rng(1)
    seq = np.tile(np.arange(FRAMES), CALLS * 2)
    delay = ((30 + rng.exponential(10, seq.size)) * MS).astype(np.int64)
    return {
        "user": np.zeros(seq.size, np.uint32),
        "call": np.repeat(np.arange(CALLS), FRAMES * 2),
        "direction": np.tile(np.repeat([0, 1], FRAMES), CALLS),
        "seq": seq,
        "sent_ns": seq * 20 * MS,
        "delay_ns": np.where(rng.random(seq.size) < loss, -1, delay),
    }


def best(work: Callable[[], Any], times: int = 3) -> float:
    """Shortest of some runs, in seconds."""
    took = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        took.append(time.perf_counter() - start)
    return min(took)


def main() -> None:
    """Measure and print."""
    sound = speech.samples()
    rng = np.random.default_rng(2)
    erased = rng.random((20, FRAMES)) < 0.05
    received = [concealment.conceal(c, e) for c, e in zip(sound.coded, erased, strict=True)]

    def listen() -> None:
        for signal, heard in zip(sound.signals, received, strict=True):
            pesq.mos_lqo(signal, heard)

    floor = best(listen) / 20
    rows: list[tuple[str, float]] = [("PESQ of 8 s", floor)]

    def conceal() -> None:
        for c, e in zip(sound.coded, erased, strict=True):
            concealment.conceal(c, e)

    rows.append(("concealment, 5 % loss", best(conceal) / 20))
    lossy, clean = table(0.05), table(0.0)

    calls = 2 * CALLS
    wide = {"kind": "voice", "codec": "g711a", "score": "pesq", "concealment": "plc"}
    wide |= {"playout": {"kind": "fixed", "delay": "400ms"}}
    rows.append(("call, 5 % loss, PESQ", best(lambda: voice.score_voice(lossy, wide, cache={}), 1) / calls))
    rows.append(("call, undamaged, PESQ", best(lambda: voice.score_voice(clean, wide, cache={}), 1) / calls))
    kept: dict[Any, Any] = {}
    voice.score_voice(lossy, wide, cache=kept)
    rows.append(("call, sound known", best(lambda: voice.score_voice(lossy, wide, cache=kept)) / calls))
    rows.append(("call, E-model", best(lambda: voice.score_voice(lossy, wide | {"score": "emodel"})) / calls))

    loads = {
        "plt_ns": rng.integers(MS, 10**10, 500),
        "complete": rng.random(500) < 0.9,
        "rtt_ns": rng.integers(MS, 10**8, 500),
        "repair_ns": rng.integers(0, 10**9, 500),
    }
    rows.append(("web, 500 loads", best(lambda: web.score_web(loads, {}))))

    for name, seconds in rows:
        print(f"{name:24} {1e3 * seconds:9.3f} ms {seconds / floor:9.4f} of one PESQ")


if __name__ == "__main__":
    main()
