"""The command line, run as a program."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path


def sojourn(
    *words: str, cwd: str | Path | None = None, before: Sequence[str] = (), seconds: float | None = None
) -> str:
    """Run the command line, behind the words of another command if there are any; return what it printed."""
    ran = subprocess.run(
        [*before, sys.executable, "-m", "sojourn", *words],
        cwd=cwd, timeout=seconds, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode:
        raise SystemExit(f"sojourn {words[0]}: exit code {ran.returncode}: {ran.stderr.strip()[-600:]}")
    return ran.stdout
