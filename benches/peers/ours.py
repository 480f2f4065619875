"""Read a point (JSON) from standard input, simulate it, and print what the peers' scripts print."""

import json
import sys
import time
from pathlib import Path

from sojourn import _core

text = sys.stdin.read()
began = time.perf_counter()
summary = json.loads(_core.run(text)["summary"])
wall_s = time.perf_counter() - began

# Not getrusage: its maximum is inherited from the process that started this one.
status = Path("/proc/self/status").read_text(encoding="ascii")
peak_kb = int(status.split("VmHWM:")[1].split()[0])
# The summary counts after the warm-up; the rate of packets is taken to be the same before.
series = summary["links"]["down"]["series"]
measured_s = series["bin_s"] * len(series["utilisation"])
scale = max(1.0, summary["engine"]["simulated_s"] / measured_s)
found = {
    "peer": "sojourn",
    "wall_s": round(wall_s, 4),
    "rss_mb": round(peak_kb / 1024, 1),
    "simulated_s": summary["engine"]["simulated_s"],
    "events": summary["engine"]["events"],
}
for name, link in summary["links"].items():
    found[name] = {
        "arrived_pkts": link["arrived_pkts"],
        "dropped_pkts": link["dropped_pkts"],
        "departed_pkts": link["departed_pkts"],
        "whole_run_data_pkts": round(link["departed_data_pkts"] * scale),
        "delay_ms": link["queue_delay_ms"]["mean"],
        "utilisation": link["utilisation"],
        "loss": link["loss"],
    }
print(json.dumps(found))
