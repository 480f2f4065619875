"""`sojourn suite`: the cases of an evaluation, for any queues, on any links."""

import json as _json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter, validators

from sojourn.cli.again import again
from sojourn.cli.exit import Exit, resumable, warn
from sojourn.cli.flag import Flag
from sojourn.cli.progress import Progress
from sojourn.errors import SojournError, counted
from sojourn.results.duration import duration
from sojourn.study import assignments
from sojourn.study.suites import (
    Expanded,
    Link,
    Preset,
    Suite,
    expand,
    folder_of,
    read_schemes,
    sized,
    with_baseline,
)
from sojourn.study.suites import (
    knobs as turned,
)
from sojourn.sweep.campaign import Campaign
from sojourn.sweep.workers import cores, open_workers

_AtLeastOne = validators.Number(gte=1)
_MOST_NOTES = 2


def suite(
    name: str,
    /,
    *,
    aqm: list[str] | None = None,
    link: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    seeds: Annotated[int | None, Parameter(validator=_AtLeastOne)] = None,
    case: Annotated[list[str] | None, Parameter(consume_multiple=True)] = None,
    knobs: Flag = False,
    preset: str | None = None,
    set: list[str] | None = None,
    out: Path | None = None,
    jobs: Annotated[int | None, Parameter(validator=_AtLeastOne)] = None,
    scheduler: str | None = None,
    dry_run: Flag = False,
    json: Flag = False,
) -> int:
    """Run every case of an evaluation for some queues on some links, and write its pages and tables.

    `rfc7928`: the guidelines for characterising an AQM, every case that has traffic. `rfc5166`:
    convergence, smoothness and harm. `tcp`: the dumbbells of the common TCP evaluation suite. The cases
    are study files; copy their folder, change it, and name it in place of the suite. Interrupt it at any
    time: the same command goes on.

    Ends with 1 if a run failed, or one of the printed checks does not hold.

    **Example**

    ```
    sojourn suite rfc7928 --aqm fifo,codel --seeds 5
    sojourn suite rfc7928 --aqm '{ kind = "pie", target = "5ms" }' \\
        --link 1Mbit/100ms 20Mbit/40ms
    sojourn suite rfc7928 --preset ns3-suite --case 8.2
    ```

    Parameters
    ----------
    name
        A suite that ships (rfc7928, rfc5166, tcp), or a folder with a suite.toml.
    aqm
        Queues to compare: names and queues as in a study file (inline TOML), with commas between. Repeatable.
        Drop-tail with the common buffer is always in.
        By default fifo,ared,pie,codel,fq-codel; of tcp, fifo alone.
    link
        Rate and base round trip, by default 10Mbit/40ms; several give a page each. Cases of tcp have
        their own.
    seeds
        Number of runs of each case, each with random numbers of its own; by default 5; of tcp 1.
    case
        Only this case, by its section; 8.2 stands for all of 8.2. Repeatable; by default all cases.
    knobs
        Each queue at several settings of its target delay (1 to 50 ms), drop-tail at several buffers.
    preset
        Parameters of another evaluation, in place of the suite's own: ns3-suite.
    set
        KEY=VALUE: replace a key in the studies of all cases, as duration=30s. Repeatable.
    out
        Directory of results and pages, by default results/suite-NAME; a copied suite has its folder's name.
    jobs
        Number of processes; by default the number of cores.
    scheduler
        Address of a Dask scheduler, as tcp://host:8786.
    dry_run
        List the cases, how much of each is done, and what is asked; write nothing.
    json
        Print the numbers of all cases and the checks as JSON.
    """
    chosen = Suite.load(name)
    given = Preset.load(chosen, preset)
    links = _links(chosen, link or ([given.link] if given.link else []))
    schemes = with_baseline(read_schemes(aqm or given.aqm or chosen.aqm))
    seeds = seeds or given.seeds or chosen.seeds
    cases = chosen.choose(case or list(given.cases))
    sets = assignments(set or [], "--set")
    everything = [
        expand(each, on, turned(schemes, sized(each, on, given)[1]) if knobs else schemes, seeds, given, sets)
        for each, on in ((each, each.own_link or on) for on in links for each in cases)
    ]
    folder = folder_of(chosen.called, out)
    campaigns = [Campaign(each.study, folder / each.folder) for each in everything]
    if dry_run:
        return _list(everything, campaigns, json)
    _notes(campaigns)
    failed = _execute(campaigns, jobs, scheduler)
    from sojourn.report.suite import write_suite

    command = again(
        "suite",
        name,
        aqm=aqm,
        case=case,
        set=set,
        link=tuple(link or ()),
        seeds=seeds,
        knobs=knobs,
        preset=preset,
        out=out,
    )
    jobs = jobs or cores()
    with open_workers(jobs=jobs) as workers:  # a process starts when it is given something
        submit = workers.submit if jobs > 1 else None
        written = write_suite(chosen, given, everything, command, folder, submit)
    if json:
        print(_json.dumps(written.told, ensure_ascii=False, allow_nan=False))
    else:
        for line in written.lines:
            print(line)
    return Exit.FAILED if failed or written.broken else Exit.DONE


def _notes(campaigns: Sequence[Campaign]) -> None:
    notes = list(dict.fromkeys(note for campaign in campaigns for note in campaign.notes))
    for note in notes[:_MOST_NOTES]:
        warn(f"note: {note}")
    if len(notes) > _MOST_NOTES:
        warn(f"note: {len(notes) - _MOST_NOTES} more such notes, on other cases")


def _links(suite: Suite, words: Sequence[str]) -> list[Link]:
    """Return the links that were asked for, or the suite's own."""
    if not suite.link:
        if words:
            raise SojournError(f"--link: every case of {suite.name} has a link of its own; leave it out")
        return [Link.read("1Mbit/1ms")]  # in the place of which each case puts its own
    links = [Link.read(text, suite.packet_bytes) for text in words or [suite.link]]
    if len({each.name for each in links}) < len(links):
        raise SojournError("--link names a link twice")
    return links


def _execute(campaigns: list[Campaign], jobs: int | None, scheduler: str | None) -> int:
    """Run what is missing; return how many runs failed."""
    started = time.monotonic()
    missing = sum(len(campaign.todo) for campaign in campaigns)
    before = sum(len(campaign.done) for campaign in campaigns)
    failures = 0
    with (
        resumable(lambda: f"{sum(each.stored() for each in campaigns)} of {before + missing} runs"),
        open_workers(
            jobs=min(jobs or cores(), max(missing, 1)), scheduler=scheduler if missing else None
        ) as workers,
        Progress(before + missing, before, "runs") as progress,
    ):
        if workers.note:
            warn(f"note: {workers.note}")
        for campaign in campaigns:
            campaign.prepare()
            for outcome in campaign.execute(workers) if campaign.todo else ():
                if outcome.error is not None:
                    failures += 1
                    progress.note(f"sojourn: {campaign.study.name}, {outcome.point} failed: {outcome.error}")
                progress.advance()
    took = duration(time.monotonic() - started)
    were = "was" if before == 1 else "were"
    warn(
        f"{counted(missing - failures, 'run')} in {took}, {before} {were} there already"
        + (f", {failures} failed" if failures else "")
    )
    return failures


def _list(everything: list[Expanded], campaigns: list[Campaign], as_json: bool) -> int:
    for each, campaign in zip(everything, campaigns, strict=True):
        total, done = campaign.planned, len(campaign.done)
        if as_json:
            entry = {"case": each.case.name, "link": each.link.name, "runs": total, "done": done}
            entry |= {"schemes": [scheme.name for scheme in each.schemes], "command": each.study.command}
            print(_json.dumps(entry, ensure_ascii=False))
        else:
            print(
                f"{each.link.name:16} {each.case.name:16} {done:5} of {total:5} runs done  {each.case.title}"
            )
    if not as_json:
        runs = sum(campaign.planned for campaign in campaigns)
        schemes = ", ".join(scheme.name for scheme in everything[0].schemes)
        print(f"{counted(runs, 'run')}; schemes: {schemes}")
    return Exit.DONE
