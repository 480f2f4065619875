"""How fast `sojourn wild` counts: rows per second and memory, beside reading the same columns alone.

Run as ``python -m benches.wild [ROWS]``; ROWS is 20 million unless given. The table is drawn at random,
seeded, in a temporary folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tools.program import program

CHUNK = 5_000_000


def make(rows: int, folder: Path) -> None:
    """Write a table of connections in files of `CHUNK` rows."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(1)
    classes = np.array(["adsl", "cable", "ftth", "unknown"])
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        low = 10 ** rng.normal(1.4, 0.4, count)
        wait = 10 ** rng.normal(1.2, 0.7, count)
        pl.DataFrame(
            {
                "min_rtt_ms": low.astype("f4"),
                "avg_rtt_ms": (low + wait / 3).astype("f4"),
                "max_rtt_ms": (low + wait).astype("f4"),
                "rtt_samples": rng.geometric(0.02, count).astype("i4"),
                "access": classes[rng.integers(0, len(classes), count)],
            }
        ).write_parquet(folder / f"{start:012}.parquet")


_COUNT = "from sojourn.capture.tcp_stats.access import by_column; survey(table, by_column())"
_READ = "table.select(pl.all().null_count()).collect(engine='streaming')"
_TIMED = """
import sys, time, resource
import polars as pl
from pathlib import Path

from sojourn.capture.tcp_stats import open_table, survey

table = open_table(sorted(Path(sys.argv[1]).iterdir()))
start = time.perf_counter()
{work}
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def timed(work: str, folder: Path) -> tuple[float, float]:
    """Return seconds and GB of a fresh process that does `work`."""
    argv = [sys.executable, "-c", _TIMED.format(work=work), str(folder)]
    seconds, gigabytes = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(gigabytes)


def main(rows: float = 2e7, /) -> None:
    """Print both, and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(int(rows), folder)
        read = min(timed(_READ, folder)[0] for _ in range(2))
        counted, gigabytes = min(timed(_COUNT, folder) for _ in range(2))
    print(
        f"{rows:,} rows: counted in {counted:.1f} s, {rows / counted / 1e6:.1f} M rows/s, {gigabytes:.2f} GB"
    )
    print(f"reading alone {read:.1f} s: counting costs {counted / read:.1f} x reading")


if __name__ == "__main__":
    program(__doc__, main)
