"""The hosts of a drawn run between real TCP: each captures what it sees, one serves, the other connects.

Run by `benches.passive.both_ends` at either end of the emulator, as ``loaded.py FOLDER END SECONDS``. The
folder's `plan.json` has a row for each connection: "up" (who sends), "control", "start_s", and "pattern" (as
`peers.py` has them: backlogged, heartbeat).
"""

import os
import sys
import threading
import time
from json import loads
from pathlib import Path

from capturing import capture
from peers import PATTERNS, connect, serve

_PORT = 8100


def main(folder: str, end: str, seconds: str) -> None:
    """Run what the plan has at one end, then leave without a word."""
    watched = capture(Path(folder), end, "tcp")
    other = os.environ["SOJOURN_SERVER"]

    def run(port: int, row: dict) -> None:
        control = row["control"].encode()
        if end == "servers":
            serve(port, control, None if row["up"] else PATTERNS[row["pattern"]])
            return
        time.sleep(row["start_s"])
        connect(other, port, control, sends=row["up"])

    for place, row in enumerate(loads((Path(folder) / "plan.json").read_text())):
        threading.Thread(target=run, args=(_PORT + place, row), daemon=True).start()
    time.sleep(float(seconds))
    watched.terminate()
    watched.wait()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
