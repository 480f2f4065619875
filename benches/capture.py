"""Packets per CPU second of `sojourn measure`, beside tcpdump that only reads: ratios within one run.

python -m benches.capture CAPTURE.pcap[.gz] … [--packets 4000000] [--rounds 3]

Each capture (pcap, IPv4 over Ethernet) is repeated until there are enough packets, every copy with its own
addresses, forty at a time interleaved. tcpdump, tcptrace and tstat take part if they are installed.
"""

import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from sojourn.errors import SojournError

from tools.program import program

TOGETHER = 40
MAGIC = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
"""What a pcap file of this byte order begins with, its stamps in µs or in ns."""


def repeat(source: Path, target: Path, packets: int) -> int:
    """Write copies of a capture until there are as many packets; return their number."""
    plain = source.read_bytes()
    if plain[:2] == b"\x1f\x8b":
        plain = gzip.decompress(plain)
    if plain[:4] not in MAGIC:
        raise SojournError(f"{source}: no pcap file; tcpdump -r {source} -w NEW.pcap makes one of pcapng")
    records, at = [], 24
    while at + 16 <= len(plain):
        seconds, _, kept, _ = struct.unpack_from("<IIII", plain, at)
        records.append((seconds, bytearray(plain[at : at + 16 + kept])))
        at += 16 + kept
    length = records[-1][0] - records[0][0] + 1
    written = 0
    with target.open("wb", buffering=1 << 20) as file:
        file.write(plain[:24])
        round_ = 0
        while written < packets:
            for seconds, record in records:
                struct.pack_into("<I", record, 0, seconds + round_ * length)
                ip = record[28:30] == b"\x08\x00"
                for copy in range(TOGETHER if ip else 1):
                    if ip:
                        # The first two octets of both addresses tell copies apart; ports stay.
                        record[42] = record[46] = round_ % 250 + 1
                        record[43] = record[47] = copy + 1
                    file.write(record)
                    written += 1
            round_ += 1
    return written


def cpu_s(argv: list[str]) -> float:
    """Return the CPU time of a command."""
    before = os.times()
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main(*captures: Path, packets: int = 4_000_000, rounds: int = 3) -> None:
    """Print a row for each capture and program."""
    with tempfile.TemporaryDirectory() as scratch:
        for source in captures:
            big = Path(scratch) / "big.pcap"
            written = repeat(source, big, packets)
            sojourn = [sys.executable, "-m", "sojourn", "measure", str(big)]
            commands = {
                "sojourn measure": [*sojourn, "--json"],
                "sojourn --samples, CSV": [*sojourn, "--samples", f"{scratch}/samples.csv"],
                "sojourn --samples, Parquet": [*sojourn, "--samples", f"{scratch}/samples.parquet"],
                "tcpdump -w /dev/null": ["tcpdump", "-r", str(big), "-w", "/dev/null"],
                "tcptrace -n": ["tcptrace", "-n", str(big)],
                "tstat": ["tstat", f"-s{scratch}/tstat", str(big)],
            }
            present = {name: argv for name, argv in commands.items() if shutil.which(argv[0])}
            best = {name: min(cpu_s(argv) for _ in range(rounds)) for name, argv in present.items()}
            with big.open("rb") as file:
                (empty := Path(scratch) / "empty.pcap").write_bytes(file.read(24))
            start = min(cpu_s([*sojourn[:-1], str(empty), "--json"]) for _ in range(rounds))
            for name in [name for name in best if name.startswith("sojourn")]:
                best[f"{name}, without starting Python"] = best[name] - start
            floor = best.get("tcpdump -w /dev/null")
            for name, seconds in best.items():
                row = {"capture": source.name, "packets": written, "what": name}
                row["packets_per_cpu_s"] = round(written / seconds)
                row["of_tcpdump"] = round(floor / seconds, 3) if floor else None
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    program(__doc__, main)
