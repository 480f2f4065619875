"""`sojourn recommend`: which queue for a line and its users."""

from __future__ import annotations

import json as _json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter, validators

from sojourn.cli.exit import resumable, warn
from sojourn.cli.flag import Flag

if TYPE_CHECKING:
    from sojourn.sweep.advice import Question


def recommend(
    *,
    down: str,
    up: str,
    rtt: str,
    users: str = "voice=1,web=2",
    load: list[str] | None = None,
    workload: Path | None = None,
    candidates: str | None = None,
    goal: list[str] | None = None,
    precision: float = 0.1,
    out: Path | None = None,
    jobs: Annotated[int | None, Parameter(validator=validators.Number(gte=1))] = None,
    json: Flag = False,
) -> None:
    """Say which queue, of which size, suits a line and its users, and what every other choice costs.

    It simulates the line under loads from none to many transfers, with few short runs first and more where
    candidates cannot be told apart. Interrupt it at any time: the same command goes on where it stopped.

    **Example**

    ```
    sojourn recommend --down 16Mbit --up 1Mbit --rtt 40ms
    sojourn recommend --down 16Mbit --up 1Mbit --rtt 40ms \\
        --goal "voice.mos.p5>=3.6" --json
    sojourn recommend --down 50Mbit --up 10Mbit --rtt 30ms \\
        --users voice=1,adaptive=1 --goal bufferbloat-a
    ```

    Parameters
    ----------
    down
        Rate towards the users, as 16Mbit.
    up
        Rate from the users.
    rtt
        Base round-trip time, without queues, as 40ms.
    users
        Whose experience counts, and how many of each: voice, video, call, web, page, browser, adaptive,
        gaming, cloud-gaming, responsiveness, or household (docs/household.md).
    load
        Background load: idle, download, upload, both, many (by default all of these), or one that ships.
        Repeatable.
    workload
        Take the background traffic from a workload (see `sojourn workload`) instead.
    candidates
        Disciplines to choose from, by default fifo,codel,fq-codel,cake,pie.
    goal
        What users are owed: VALUE>=NUMBER or VALUE<=NUMBER, as voice.mos.p5>=3.6, or a threshold that
        operators quote, as bufferbloat-a, qoo-conferencing, iqb-gaming (docs/household.md). Repeatable.
    precision
        Differences need not be known better than this, in MOS.
    out
        Folder for the page, the studies and their results, by default results/advice-DOWN-UP-RTT.
    jobs
        Number of processes; by default the number of cores.
    json
        Print the advice as one JSON object.
    """
    from sojourn.cli.progress import Progress
    from sojourn.report.advice import sentences, write_advice
    from sojourn.sweep.advice import Question, Search
    from sojourn.sweep.advice.verdict import Verdict
    from sojourn.sweep.workers import cores, open_workers

    asked = Question.read(
        down,
        up,
        rtt,
        users,
        load=load or (),
        workload=workload,
        candidates=candidates,
        precision=precision,
        goals=goal or (),
    )
    search = Search(asked, out)
    done = planned = 0
    with (
        resumable(lambda: f"{done} of at least {planned} points"),
        open_workers(jobs=jobs or cores()) as workers,
        Progress(0) as progress,
    ):
        for done, planned in search.run(workers):
            progress.at(done, planned)
    for note in search.notes:
        warn(f"note: {note}")
    about = Verdict(search.found()).as_json()
    page = write_advice(about, search.out, _command(asked, goal or [], load or [], workload), search.notes)
    if json:
        print(_json.dumps(about, ensure_ascii=False))
        return
    for sentence in sentences.answer(about):
        if sentence:
            print(sentence)
    print(f"The setting, with the lines for routers, is in {page}")


def _command(asked: Question, goals: list[str], loads: list[str], workload: Path | None) -> str:
    """Return the command that computes an advice again, without where it is kept."""
    from sojourn.cli.again import again

    return again(
        "recommend",
        down=asked.line.down,
        up=asked.line.up,
        rtt=asked.line.rtt,
        users=",".join(f"{kind}={count}" for kind, count in asked.users.items()),
        candidates=",".join(asked.kinds),
        precision=f"{asked.precision:g}",
        load=loads,
        workload=workload,
        goal=goals,
    )
