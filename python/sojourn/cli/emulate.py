"""`sojourn emulate`: a command behind a bottleneck that does not exist."""

import json as _json
import os
import shlex
import sys
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from pathlib import Path
from signal import SIGTERM
from tempfile import TemporaryFile
from typing import Annotated, Any, NamedTuple

from cyclopts import Parameter

from sojourn.cli.exit import Exit, warn
from sojourn.cli.flag import Flag
from sojourn.errors import SojournError, StoreError
from sojourn.study.units import percent

_NO_BED = 125
"""Exit code: no bed for the command, or no room for its records (as of `env` and `timeout`)."""


def emulate(
    study: Path | None = None,
    /,
    *,
    down: str | None = None,
    up: str | None = None,
    rtt: str | None = None,
    queue: str | None = None,
    limit: str | None = None,
    set: list[str] | None = None,
    only: list[str] | None = None,
    duration: str | None = None,
    server: str | None = None,
    host: Flag = False,
    shell: Flag = False,
    congestion: str | None = None,
    ecn: Flag = False,
    sysctl: list[str] | None = None,
    mtu: int = 1500,
    no_offload: Flag = False,
    access_rate: str | None = None,
    log: Path | None = None,
    pcap: Path | None = None,
    report: Path | None = None,
    live: Flag = False,
    prometheus: int | None = None,
    check: Flag = False,
    strict: Flag = False,
    quiet: Flag = False,
    json: Flag = False,
    command: Annotated[str | None, Parameter(show=False)] = None,
) -> int:
    """Run a command behind the path of a study, or behind one that is written here (Linux).

    The command is in a network of its own, and so is what `--server` runs at the other end. Their addresses
    are in `$SOJOURN_CLIENT` and `$SOJOURN_SERVER` (IPv6: `$SOJOURN_CLIENT6`, `$SOJOURN_SERVER6`). It keeps
    its terminal; sojourn ends when it does, with its exit code, or with 125 if there can be no such network
    on this machine. Nothing is left behind. Root is not needed where the kernel allows user namespaces, but
    keeps better time; then the command runs as the user who called sudo.

    How late packets were, and whether the simulator would have decided alike about each, is said at the end.

    **Example**

    ```
    sojourn emulate --down 16Mbit --up 1Mbit --rtt 40ms \\
        --queue fifo --limit 64pkt \\
        --server 'iperf3 -s -1' -- sh -c 'iperf3 -R -c $SOJOURN_SERVER'
    ```

    Parameters
    ----------
    study
        Study file (TOML), or the name of one that ships; its path is emulated, its flows and users are not.
    down
        Rate towards the command, as 16Mbit.
    up
        Rate from the command.
    rtt
        Base round-trip time, without queues, as 40ms.
    queue
        Queue discipline, both ways: fifo, codel, fq-codel, cake, pie, dualpi2, red, …; fifo if absent.
    limit
        How much each queue holds, as 64pkt, 96kB, 40ms or 1BDP; if absent 1BDP for fifo,
        and what Linux has for others that have a default there.
    set
        KEY=VALUE: any key of the study, as path.down.queue.target=5ms. Repeatable.
    only
        AXIS=VALUE: choose among the points of a study. Repeatable.
    duration
        Tell the command to end after this time (TERM), and kill it three seconds later if it has not. What it
        ends with is the exit code; that its time was over is said at the end, and by `timed_out` in JSON.
    server
        Command line that runs at the other end, in a shell; the command is started once it listens.
    host
        The other end is this machine's own network (root only); so it is without `--server`.
    shell
        Run an interactive shell instead of a command.
    congestion
        TCP's congestion control at both ends, as cubic: any that the kernel has, for unmodified programs.
    ecn
        TCP asks for ECN at both ends.
    sysctl
        NAME=VALUE: set a variable of the kernel at both ends, as net.ipv4.tcp_ecn=3. Repeatable.
    mtu
        Largest packet, in bytes.
    no_offload
        Hosts send single packets. By default they hand over super-packets, cut as by a network card.
    access_rate
        Rate of the hosts' network cards; by default 1Gbit, or four times the path's where that is more.
    log
        Write the packet log (.parquet).
    pcap
        Write a capture (.pcapng): an interface for each queue, why a packet was dropped as its comment.
    report
        Make a page (`.html`) of the run, with figures, also beside it.
    live
        Show the queues while the command runs: rate, backlog, time in the queue, drops. The command's
        output is shown above, and is no terminal then.
    prometheus
        Serve metrics of the queues on this TCP port of localhost while the command runs.
    check
        Run no command: tell in about three seconds what this machine can hold.
    strict
        Exit with 1 if the command did not fail but something was not held, or no packet crossed the path.
    quiet
        Say nothing at the end if all was held.
    json
        Print an object at the end; the command's output goes to standard error.
    """
    from sojourn.study import assignments, selection
    from sojourn.study.units import nanoseconds
    from sojourn.sweep.emulation import BedError, Options, point_of, probes_of

    if check:
        if study is not None or command is not None or shell:
            raise SojournError("--check runs no command and takes no study: leave them out")
        return _check(json=json, strict=strict)
    words = _command(command, shell)
    if host and server is not None:
        raise SojournError("--host and --server both say what the other end is; expected one of them")
    files = _Files(log, pcap, report)
    files.check()
    named = {"down": down, "up": up, "rtt": rtt, "queue": queue, "limit": limit}
    labels = selection(only or [])
    written = {name: value for name, value in named.items() if value is not None}
    point = point_of(study, written, assignments(set or [], "--set"), labels)
    variables = assignments(sysctl or [], "--sysctl")
    options = Options(
        command=words,
        server=server,
        host=server is None,
        mtu=mtu,
        offload=not no_offload,
        access=access_rate,
        congestion=congestion,
        variables=(*([("net.ipv4.tcp_ecn", "1")] if ecn else []), *variables),
        duration_s=None if duration is None else nanoseconds(duration, "--duration") / 1e9,
        probes=probes_of(point.document),
    )
    changing = _changing(point.document)
    try:
        came, whole, kept = _recorded(
            point, options, files, changing, live=live, prometheus=prometheus, json=json
        )
    except BedError as error:
        warn(str(error))
        return _NO_BED
    if options.duration_s is not None and came["command"]["timed_out"]:
        warn(_of_time_over(came["command"], str(duration), options.duration_s))
    code = _end(came, point, changing, json=json, quiet=quiet, strict=strict)
    if not whole:
        return _NO_BED
    return code if kept else code or Exit.FAILED


class _Files(NamedTuple):
    """The files that are to be written of a run."""

    log: Path | None
    pcap: Path | None
    report: Path | None

    def check(self) -> None:
        """Raise SojournError if one of them cannot be written."""
        suffixes = (".parquet", ".pcapng", ".html")
        _check_outputs(*zip(("--log", "--pcap", "--report"), self, suffixes, strict=True))


def _recorded(
    point: Any, options: Any, files: _Files, changing: list[str], **shown: Any
) -> tuple[dict[str, Any], bool, bool]:
    """Run the command and write its files; return what came, whether all was recorded, and all written."""
    from sojourn.sweep.emulation import RecordsError

    log, pcap, report = files
    with ExitStack() as stack:
        # Where there is room for the file, there is for what it is made from.
        rows = stack.enter_context(TemporaryFile(dir=log.absolute().parent)) if log else None
        frames = stack.enter_context(TemporaryFile(dir=pcap.absolute().parent)) if pcap else None
        try:
            came = _run(point, options, rows, frames, **shown)
            whole = True
        except RecordsError as error:
            # What was counted stands; log and capture have holes, and are not kept.
            warn(str(error))
            came, whole = error.came, False
        kept = _written(
            (log if whole else None, lambda file: _write_log(rows, file, point.document)),
            (pcap if whole else None, lambda file: _write_capture(frames, file)),
            (report, lambda file: _write_page(came, file, changing)),
        )
    return came, whole, kept


def _of_time_over(ended: Mapping[str, Any], duration: str, duration_s: float) -> str:
    """Say how a command ended whose time was over: by TERM, by KILL, or in its own way once told to."""
    says = "as --duration says (SIGTERM)"
    if ended["signal"] == "SIGTERM" or ended["exit"] == 128 + SIGTERM:
        return f"the command was ended after {duration}, {says}"
    after_s = max(ended["wall_s"] - duration_s, 0.0)
    later = "at once" if after_s < 0.05 else f"{after_s:.1f} s later"
    told = f"the command was told to end after {duration}, {says}"
    if ended["signal"] == "SIGKILL":
        return f"{told}; it did not, and was killed {later}"
    how = f"by {ended['signal']}" if ended["signal"] else f"with exit code {ended['exit']}"
    return f"{told}; it ended in its own way {later}, {how}"


def _run(
    point: Any, options: Any, rows: Any, frames: Any, *, live: bool, prometheus: int | None, json: bool
) -> dict[str, Any]:
    """Run the command, and show the queues meanwhile to whoever is to see them."""
    from sojourn.sweep.emulation import run

    outputs = {"stdout": sys.stderr.fileno() if json else None, "stderr": None}
    looks: list[Callable[[dict[str, Any]], None]] = []

    def look(seen: dict[str, Any]) -> None:
        for shows in looks:
            shows(seen)

    with ExitStack() as shown:
        if prometheus is not None:
            from sojourn.capture.prometheus import Server
            from sojourn.sweep.emulation.live import metrics

            served = Server(prometheus, metrics)
            shown.callback(served.close)
            served.start()
            looks.append(served.publish)
        if live:
            from sojourn.sweep.emulation.live import View

            view = shown.enter_context(View())
            outputs = {name: view.pipe() for name in outputs}
            looks.append(view)
        return run(point, options, log=rows, capture=frames, look=look if looks else None, **outputs)


def _command(command: str | None, shell: bool) -> tuple[str, ...]:
    words = tuple(shlex.split(command or ""))
    if shell and words:
        raise SojournError("--shell runs a shell, and a command is given too; expected one of them")
    if shell:
        return (os.environ.get("SHELL") or "/bin/sh", "-i")
    if not any(words[:1]):
        raise SojournError(
            "no command is given; expected one after --, as in: sojourn emulate … -- ping 198.18.0.2"
        )
    return words


def _check(*, json: bool, strict: bool) -> int:
    from sojourn.sweep.emulation import BedError
    from sojourn.sweep.emulation.check import sentence, trials

    tried = []
    try:
        for trial in trials():
            tried.append(trial)
            if not json and trial["p99_us"] is not None:
                late = f"p99 {trial['p99_us'] / 1e3:.2f} ms late, {percent(trial['used'], 0)} used"
                print(f"{trial['rate']:>9}: {'held' if trial['held'] else 'not held'}, {late}", flush=True)
    except BedError as error:
        warn(str(error))
        return _NO_BED
    if json:
        holds = next((trial["rate"] for trial in reversed(tried) if trial["held"]), None)
        print(_json.dumps({"holds": holds, "trials": tried}, ensure_ascii=False))
    else:
        for what in tried[0]["without"]:
            print(f"without {what}")
        print(sentence(tried))
    return Exit.FAILED if strict and not tried[0]["held"] else Exit.DONE


def _check_outputs(*outputs: tuple[str, Path | None, str]) -> None:
    """Raise SojournError if a file cannot be written: better before an hour's run than after it."""
    from sojourn.results import atomic

    for name, file, suffix in outputs:
        if file is None:
            continue
        folder = file.absolute().parent
        if file.suffix != suffix or not folder.is_dir() or file.is_dir():
            raise SojournError(
                f"{name} is {str(file)!r}; expected a file that ends in {suffix}, in a folder that exists"
            )
        with atomic.writing(file):
            atomic.probe(folder)


def _written(*outputs: tuple[Path | None, Callable[[Path], None]]) -> bool:
    """Write what was asked for, and say what could not be: what the run came to is told all the same."""
    failed = False
    for file, write in outputs:
        try:
            if file is not None:
                write(file)
        except StoreError as error:
            warn(str(error))
            failed = True
    return not failed


def _write_log(rows: Any, log: Path, document: dict[str, Any]) -> None:
    from sojourn.capture.output import output
    from sojourn.sweep.emulation.log import write

    with output(log) as file:
        write(rows, file, _links(document))


def _links(document: dict[str, Any]) -> tuple[str, ...]:
    from sojourn.study.links import links

    return tuple(name for name, _ in links(document))


def _write_capture(frames: Any, pcap: Path) -> None:
    import shutil

    from sojourn.capture.output import output

    frames.seek(0)
    with output(pcap) as file:
        shutil.copyfileobj(frames, file)


def _changing(document: dict[str, Any]) -> list[str]:
    """Return the links whose rate has steps, a trace or the like."""
    from sojourn.study.links import links

    return [name for name, spec in links(document) if not isinstance(spec["rate"], str)]


def _write_page(came: dict[str, Any], report: Path, changing: list[str]) -> None:
    from sojourn.capture.output import printable
    from sojourn.sweep.emulation.page import write_page

    write_page(came, printable(shlex.join(["sojourn", *sys.argv[1:]])), report, changing)


def _end(
    came: dict[str, Any], point: Any, changing: Collection[str] = (), *, json: bool, quiet: bool, strict: bool
) -> int:
    from sojourn import _core
    from sojourn.study.identity import engine
    from sojourn.sweep.emulation.words import holds, said

    ended = came["command"]
    if ended["refused"]:
        warn(ended["refused"])
    if ended["server_silent"]:
        code = ended["server_exit"]
        warn(
            "the server had not begun to listen after 3 s"
            if code is None
            else f"the server ended before it listened (exit code {code})"
        )
    if not (quiet and holds(came)):
        for line in said(came, changing):
            warn(line)
    if json:
        came["engine"] = {"version": _core.version(), "build": engine(), **came["engine"]}
        result = {"study": point.study, "point": point.labels, "replication": point.replication, **came}
        print(_json.dumps(result, ensure_ascii=False), flush=True)
    if strict and ended["exit"] == 0 and not holds(came):
        return Exit.FAILED
    return int(ended["exit"])
