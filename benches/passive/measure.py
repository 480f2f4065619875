"""`sojourn measure` against the exact delays of the emulator's queue, as the passive study validated it.

python -m benches.passive.measure [CASE …] [--seconds 60] [--folder DIR] [--figure STEM] [--json]

A case is SEEN+HIDDEN+UP: what B sends to A, what B sends to a C of whom the observer sees nothing, and
whether A uploads: utp++, backlogged++, chirp++, heartbeat+chirp+, and each with +up. The path is the
study's: about 1 Mbit/s, here in both directions. Needs what `sojourn emulate` needs, and libtorrent for utp.

With a folder the errors of each case are kept there, so that cases may be run one by one; `--figure` draws
the distributions of all that the folder has.
"""

import sys
import tempfile
from importlib.util import find_spec
from json import dumps, loads
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sojourn.errors import SojournError

from benches.command import sojourn
from benches.passive.drawn import draw
from benches.passive.observed import observe
from benches.passive.peers import HIDDEN, offer
from tools.program import program

SEEN = ("utp++", "backlogged++", "chirp++", "heartbeat+chirp+", "utp+chirp+", "backlogged+backlogged+")
CASES = (*SEEN, *(f"{case}up" for case in SEEN[:4]))
BOUND_MS = {"tcp": 0.6, "utp": 0.15}
"""Medians of the error that the method is to stay below."""

ERRORS = "errors.npz"

# Not the study's 1 Mbit/s to the bit: full packets would leave every 12.000 ms, at one phase of the
# sender's ticks of 1 ms for ever, and the error would be whatever that phase happens to be.
_PATH = ("--down", "1010kbit", "--up", "1010kbit", "--rtt", "60ms", "--queue", "fifo", "--limit", "365kB")
# The study's shaper. A packet has arrived when its transmission begins: it waits for those before it, and not
# for its own bits, which a line would add to the delay of large packets (11 ms here) and not to the base.
_SHAPER = ("--set", "path.down.rule=htb", "--set", "path.up.rule=htb")
_GRACE_S = 60


def errors(case: str, seconds: float, folder: Path) -> dict[str, Any]:
    """Run one case, measure what the observer has, and compare.

    Returns
    -------
    dict
        "samples", "truth_ms" and "error_ms" (absolute) with quantiles, "bias_ms" (median signed error),
        "bound_ms", "held", "at_least" (directions whose delays `measure` says are lower bounds), and the
        emulator's "verdict" with its "reasons". The errors themselves are written to the folder's errors.npz.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if "utp" in case:
        offer(folder)
    words = [sys.executable, str(Path(__file__).with_name("peers.py").absolute()), str(folder)]
    ends = {end: [*words, end, case, str(seconds)] for end in ("server", "client")}
    pcapng, log, capture = folder / "run.pcapng", folder / "run.parquet", folder / "observer.pcap"
    came = loads(
        sojourn(
            *("emulate", *_PATH, *_SHAPER, "--json", "--pcap", str(pcapng), "--log", str(log)),
            *("--server", " ".join(ends["server"]), "--", *ends["client"]),
            seconds=seconds + _GRACE_S,
        )
    )
    truth_ms = observe(pcapng, log, HIDDEN, capture)
    samples = folder / "samples.csv"
    told = sojourn("measure", str(capture), "--samples", str(samples), "--json", seconds=_GRACE_S)
    hosts = [loads(line) for line in told.splitlines()]
    protocol = "utp" if case.startswith("utp") else "tcp"
    table = pl.read_csv(samples).filter(
        (pl.col("protocol") == protocol) & (pl.col("direction") == "from-remote")
    )
    true = truth_ms[table["frame"].to_numpy() - 1]
    known = ~np.isnan(true)
    signed = table["queue_delay_ms"].to_numpy()[known] - true[known]
    found: dict[str, Any] = {"case": case, "protocol": protocol, "samples": int(known.sum())}
    np.savez(folder / ERRORS, case=case, protocol=protocol, signed_ms=signed)
    if known.any():
        found |= {
            "truth_ms": _quantiles(true[known]),
            "error_ms": _quantiles(np.abs(signed)),
            "bias_ms": round(float(np.median(signed)), 4),
        }
    median = found.get("error_ms", {}).get("p50")
    bound = BOUND_MS[protocol]
    held = median is not None and median < bound
    verdict = came["verdict"]
    return found | {
        "bound_ms": bound,
        "held": held,
        "at_least": [host["direction"] for host in hosts if host.get("lower_bound")],
        "verdict": verdict["held"],
        "reasons": verdict.get("reasons", []),
    }


def drawn(folder: Path, stem: Path) -> None:
    """Draw the distributions of the errors that a folder has, cases in their order here."""
    kept = [np.load(file) for file in folder.glob(f"*/{ERRORS}")]
    order = {case: place for place, case in enumerate(CASES)}
    kept.sort(key=lambda one: order.get(str(one["case"]), len(order)))
    of: dict[str, list[tuple[str, np.ndarray]]] = {}
    for one in kept:
        if len(one["signed_ms"]):
            of.setdefault(str(one["protocol"]), []).append((said(str(one["case"])), np.abs(one["signed_ms"])))
    draw(of, BOUND_MS, stem)


def said(case: str) -> str:
    """Return a case in words.

    >>> said("utp+chirp+up")
    'µTP, hidden chirp, uploads'
    """
    seen, hidden, up = case.split("+")
    words = ["µTP" if seen == "utp" else seen, f"hidden {hidden}" if hidden else "", "uploads" if up else ""]
    return ", ".join(filter(None, words))


def _quantiles(values: np.ndarray) -> dict[str, float]:
    return {f"p{q}": round(float(np.percentile(values, q)), 4) for q in (25, 50, 75, 90, 95, 99)}


def main(
    *cases: str,
    seconds: float = 60.0,
    folder: Path | None = None,
    figure: Path | None = None,
    json: bool = False,
) -> int:
    """Run the cases; 1 if a median is beyond its bound."""
    cases = cases or CASES
    if any("utp" in case for case in cases) and not find_spec("libtorrent"):
        raise SojournError("cases with utp need libtorrent: pip install libtorrent")
    rows = []
    with tempfile.TemporaryDirectory(prefix="sojourn-passive-") as made:
        kept = folder or Path(made)
        for case in cases:
            row = errors(case, seconds, kept / case.replace("+", "-"))
            rows.append(row)
            print(dumps(row) if json else sentence(row), flush=True)
        if figure:
            drawn(kept, figure)
    return int(not all(row["held"] for row in rows))


def sentence(row: dict[str, Any]) -> str:
    """Return a row as the paper has its distributions: quantiles of the error."""
    if "error_ms" not in row:
        return f"{row['case']:>24}: no sample"
    error = " ".join(f"{name} {value:.3f}" for name, value in row["error_ms"].items())
    truth = row["truth_ms"]
    at_least = f"; said to be lower bounds: {', '.join(row['at_least'])}" if row["at_least"] else ""
    verdict = "" if row["verdict"] else f"; the bed did not hold: {'; '.join(row['reasons'])}"
    return (
        f"{row['case']:>24}: {row['samples']:6d} samples, "
        f"true delay p50 {truth['p50']:.1f} p95 {truth['p95']:.1f} ms, "
        f"error {error} ms, bound {row['bound_ms']} {'held' if row['held'] else 'NOT held'}"
        f"{at_least}{verdict}"
    )


if __name__ == "__main__":
    program(__doc__, main)
