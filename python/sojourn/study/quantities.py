"""What numbers the results of a study will have, as far as the study tells: checked before anything runs.

A figure or a goal names a number by its path (``voice.talks.mos.p5``). One that no result can have, since
the study has no such user, link or number, is refused with what could be meant. Parts of results whose
names depend on the run (groups, losses) are not checked further than their beginning.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from sojourn.errors import SojournError, quoted
from sojourn.qoe.quantiles import STATISTICS
from sojourn.study import library
from sojourn.study.bounds import beyond
from sojourn.study.thresholds import thresholds


def _each(names: Iterable[str], ends: Iterable[str] = STATISTICS) -> tuple[str, ...]:
    ends = tuple(ends)
    return tuple(f"{name}.{end}" for name in names for end in ends)


_VIDEO_CALL = (
    *_each(("rate_kbps", "delay_ms", "ssim", "height")), "picture_kbps", "frozen", "freezes_per_min", "fps",
    "not_shown", "calls",
)  # fmt: skip
_CALL = (*_each(("mos", "z1", "z2", "lqo")), "loss", "late", "delay_ms", "ta_ms", "calls", "unscored")
_USERS = {
    "voice": _each(("talks", "listens"), _CALL),
    "video": (*_each(("ssim", "psnr_db", "mos", "vmaf")), "loss", "late", "showings", "undamaged"),
    "web": (*_each(("plt_s", "mos")), "rtt_dominated", "loss_dominated", "loads", "unfinished"),
    "page": (
        *_each(("load_s", "first_paint_s", "largest_paint_s")), "good", "poor", "abandoned",
        "loads", "unfinished", "connections", "requests", "bytes", "made_of",
    ),
    "call": _each(("sends", "receives"), _VIDEO_CALL),
    "browser": (*_each(("plt_s",)), "completed_mb", "abandoned", "loads", "unfinished"),
    "gaming": (*_each(("late", "late_up", "rtt_ms")), "lost", "windows"),
    "cloud-gaming": (*_each(("late", "late_up", "rtt_ms", "mos")), "lost", "windows", "beyond"),
    "adaptive": (
        "instability", "instability_carried", "instability_segments", "unfairness", "unfairness_carried",
        "utilisation_fetching", "utilisation", "average_rate_kbps", "carried_rate_kbps", "stalls", "stall_s",
        "clients_stalled_pct", "switches", "finished", "given_up", "per_client_rate_kbps",
        *_each(("startup_delay_ms",)),
        *_each(("live.latency_s", "live.rate")), "live.rate_deviation", "live.jumps", "live.jumped_s",
    ),
    "responsiveness": (
        *_each(("rpm", "foreign_rpm", "self_rpm", "tcp_foreign_ms", "tls_foreign_ms", "http_foreign_ms")),
        *_each(("http_self_ms", "foreign_get_ms", "test_s")), "goodput_bps", "connections", "tests", "probes",
        "unanswered",
        *_each(("confidence",), ("high", "medium", "low")),
        *_each(("qoo",), ("qoo", "latency", "loss", "throughput")),
    ),
}  # fmt: skip
"""By kind of user, the numbers that its scores have."""
_SMALL_FLOWS = ("gaming",)
"""Users for whose sake results say what the path is to a small flow (`qoe/network.py`)."""
_NETWORK = (
    *_each(("rtt_ms", "added_ms.down", "added_ms.up"), ("mean", "p50", "p90", "p95", "p99")), "loss",
    "echoes", "down_mbps", "up_mbps",
    *_each(("qoo",), (name.removeprefix("qoo-") for name in thresholds() if name.startswith("qoo-"))),
)  # fmt: skip
_LINK = (
    "rate_bps", "limit.packets", "limit.bytes", "limit.ms", "arrived_pkts", "dropped_pkts", "departed_pkts",
    "departed_data_pkts", "marked_pkts", "departed_bytes", "backlog_pkts", "loss", "utilisation",
    "utilisation_sd_1s", *_each(("utilisation_quantiles",), ("p5", "p25", "p50", "p75", "p95")),
    *_each(("queue_delay_ms",), ("mean", "p50", "p95", "p99", "max")), "occupancy_delay_ms", "occupancy_pkts",
    *_each(("queue_delay_cdf",), ("ms", "share")),
    *_each(("series",), ("bin_s", "utilisation", "queue_delay_ms", "dropped_pkts")),
)  # fmt: skip
_FLOWS = ("completed", "mean_concurrent", "goodput_bps", "retransmits", "timeouts", "timeout_wait_s")
_ENGINE = ("packets", "events", "simulated_s")
_OPEN = ("groups", "fairness", "losses", "traffic", "engine")
"""Parts of a result that are checked no further."""


def quantities(documents: Iterable[Mapping[str, Any]]) -> tuple[set[str], list[str]]:
    """Return the paths of the numbers that results of these scenarios have, and their kinds of users."""
    kinds: dict[str, None] = {}
    links: dict[str, None] = {}
    for document in documents:
        kinds.update(dict.fromkeys(user["kind"] for user in document.get("users") or () if "kind" in user))
        path = document.get("path") or {}
        hops = path.get("hop") or ()
        named = [f"{hop.get('name')}.{way}" for hop in hops for way in ("up", "down")] or ["down", "up"]
        links.update(dict.fromkeys(named))
    found = {f"links.{link}.{name}" for link in links for name in _LINK}
    found |= {f"flows.{name}" for name in _FLOWS} | {f"engine.{name}" for name in _ENGINE}
    if kinds.keys() & set(_SMALL_FLOWS):
        found |= {f"network.{name}" for name in _NETWORK}
    return found | {f"{kind}.{name}" for kind in kinds for name in _USERS.get(kind, ())}, list(kinds)


def unknown(document: Mapping[str, Any], scenarios: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return what no result can have of the numbers that the figures and goals of a study name.

    Parameters
    ----------
    document
        The study.
    scenarios
        The documents of its points.

    Returns
    -------
    list of str
        For each a clause: which figure or goal, what it names, what could be meant.
    """
    figures, goals = document.get("figures") or (), document.get("goals") or ()
    if not figures and not goals:
        return []
    known, kinds = quantities(scenarios)
    wrong = partial(_wrong, known=known, kinds=kinds, scenarios=scenarios)
    axes = (document.get("sweep") or {}).keys()
    return [*_of_figures(figures, axes, wrong), *_of_goals(goals, known, wrong)]


def absent_tables(document: Mapping[str, Any], folder: Path) -> list[str]:
    """Return a clause for each figure of a study that names a published table which is not there."""
    found = []
    for number, figure in enumerate(document.get("figures") or (), start=1):
        try:
            if figure.get("published"):
                library.table(figure["published"], [folder])
        except SojournError as error:
            found.append(f"figure {number} ({_title(figure)}): {error}")
    return found


def _of_figures(
    figures: Iterable[Mapping[str, Any]], axes: Collection[str], wrong: Callable[..., str | None]
) -> Iterator[str]:
    for number, figure in enumerate(figures, start=1):
        named = [figure["value"]] if figure.get("value") else []  # a sawtooth shows no number
        if figure.get("kind") == "scatter" and figure.get("x") and figure["x"] not in axes:
            named.append(figure["x"])
        for path in named:
            if why := wrong(path, whole=False):
                yield f"figure {number} ({_title(figure)}) shows {quoted(path)}, but {why}"


def _of_goals(
    goals: Iterable[Mapping[str, Any]], known: Collection[str], wrong: Callable[..., str | None]
) -> Iterator[str]:
    for number, goal in enumerate(goals, start=1):
        if "threshold" in goal:
            threshold = thresholds()[goal["threshold"]]
            for limit in threshold.judged(known.__contains__, ()):
                if why := wrong(limit.value, whole=True):
                    yield f"goal {number} ({threshold.name}) is about {limit.value}, but {why}"
            continue
        if why := wrong(goal["value"], whole=True):
            yield f"goal {number} is about {quoted(goal['value'])}, but {why}"
        for way in ("at-least", "at-most"):
            if way in goal and (why := beyond(goal["value"], goal[way])):
                asked = f"{way.replace('-', ' ')} {goal[way]:g}"
                yield f"goal {number} asks for {goal['value']} of {asked}, but {why}"


def _wrong(
    path: str, known: set[str], kinds: Sequence[str], scenarios: Sequence[Mapping[str, Any]], *, whole: bool
) -> str | None:
    """Say why no result has a number at a path, nothing if one may."""
    head, _, rest = path.partition(".")
    if head == "losses" and not any((s.get("record") or {}).get("losses") for s in scenarios):
        return "the study keeps no losses: set record.losses to the links whose losses are analysed"
    if head in _OPEN and (rest or not whole):
        return None
    if path in known or (not whole and any(each.startswith(f"{path}.") for each in known)):
        if whole and path.endswith(("per_client_rate_kbps", "series.utilisation", "series.queue_delay_ms")):
            return "that is a list; a goal is about one number"
        return None
    if head == "network" and not set(kinds) & set(_SMALL_FLOWS):
        return f"nobody sends small packets all the time: the study has no users of kind {_either()}"
    if head in _USERS and head not in kinds:
        users = f"its users are {', '.join(kinds)}" if kinds else "it has no users"
        return f"the study has no users of kind {head}; {users}"
    if head == "links" and path.count(".") > 1 and "drops_by_cause" in path:
        return None
    inside = sorted(each for each in known if each.startswith(f"{path}."))
    if inside:
        return f"that is not one number; expected one of {', '.join(inside[:6])}"
    near = get_close_matches(path, sorted(known), n=3, cutoff=0.6)
    meant = (
        f"; did you mean {' or '.join(near)}?" if near else f"; results begin with {', '.join(_heads(known))}"
    )
    return f"results have no such number{meant}"


def _either() -> str:
    return " or ".join(_SMALL_FLOWS)


def _heads(known: set[str]) -> list[str]:
    return sorted({each.partition(".")[0] for each in known} | set(_OPEN))


def _title(figure: Mapping[str, Any]) -> str:
    return str(figure.get("title") or figure.get("kind", "figure"))
