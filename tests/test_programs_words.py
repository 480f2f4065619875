"""Programs of the repository that are started with what they cannot use say in a sentence what they need."""

import subprocess
import sys
from pathlib import Path


def test_rules_of_players_are_asked_of_three_folders() -> None:
    said = _started("tools.players", "one").stderr
    assert "python -m tools.players DASHJS" in said and "Traceback" not in said


def test_speed_is_measured_of_captures_in_pcap_alone(tmp_path: Path) -> None:
    (tmp_path / "new.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a" + bytes(60))
    said = _started("benches.capture", str(tmp_path / "new.pcapng")).stderr
    assert "no pcap file; tcpdump -r" in said and "Traceback" not in said


def _started(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
