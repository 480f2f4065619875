"""From the tables of one run to the scores in its result.

The entries of a scenario's `users` stand for `count` individuals each, who are numbered in the order of
the document; the tables carry that number in their column `user`. All voice users of a scenario are
summarised together, and so are all of any other kind; voice and web users are scored with the options of
their own entry.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe import adaptive, browser, call, games, network, page, qoo, responsiveness, voice, web
from sojourn.study.links import base_rtt_ns, crosses, way_of
from sojourn.study.units import nanoseconds, seconds

Table = Mapping[str, NDArray[Any]]


def score(
    document: Mapping[str, Any], tables: Mapping[str, Table], links: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Score the users of one scenario.

    Parameters
    ----------
    document : mapping
        The complete scenario; its `users`, `duration` and `warmup` are read.
    tables : mapping
        The run's tables by name: `voice`, `video`, `web`, `browser`, `game`, `call` with `call_rates`, and
        `adaptive` with `viewers` and `stalls`; absent ones have nothing to score.
    links : mapping, optional
        The links of the run's summary; the rate down, of the slowest hop that viewers have on their way, is
        what utilisation by video is a share of.

    Returns
    -------
    dict
        "voice", "video", "web", "adaptive", "browser", "gaming", "cloud-gaming", "call", "page" and
        "responsiveness" as far as there are such users and tables, and "network", the path as small flows
        find it, where somebody plays; to be merged into the result.

    Raises
    ------
    MissingSpeech
        If a user insists on PESQ and it, or recordings, are missing.
    MissingVideo
        If the codec or a clip is missing.
    ValueError
        If a table is not as expected.
    """
    found: dict[str, list[Any]] = {"voice": [], "video": [], "web": [], "gaming": [], "cloud-gaming": []}
    heard: list[network.Echoes] = []
    first = 0
    plays = any(user["kind"] in network.PLAYERS for user in document.get("users") or ())
    for user in document.get("users") or ():
        last, kind = first + user["count"], user["kind"]
        name = "game" if kind in games.KINDS else kind
        if kind in found and (table := tables.get(name)) is not None:
            rows = _rows(table, name, first, last)
            scored = _scorer(kind)(rows, user)
            found[kind] += scored if kind in ("voice", *games.KINDS) else [scored]
            if plays and kind in network.SENDERS and not user.get("over"):
                echoes = network.echoes(rows, _base_rtt_ns(document, user) // 2)
                heard += [] if echoes is None else [echoes]
        first = last
    out: dict[str, Any] = {}
    if found["voice"]:
        out["voice"] = voice.summary(found["voice"])
    if found["video"]:
        from sojourn.qoe import video

        out["video"] = video.summary(found["video"])
    if found["web"]:
        out["web"] = web.summary(found["web"])
    if "adaptive" in tables:
        rate_bps = _rate_down(document, links or {})
        out["adaptive"] = adaptive.score_adaptive(tables, *_measured(document), rate_bps)
    for kind in games.KINDS:
        if found[kind]:
            out[kind] = games.summary(kind, found[kind])
    if "browser" in tables:
        out["browser"] = browser.score_browser(tables["browser"])
    if "intervals" in tables:
        out["responsiveness"] = _responsiveness(document, tables, links or {})
    if "page" in tables:
        out["page"] = page.score_page(tables["page"])
    if "call" in tables:
        out["call"] = call.score_call(tables["call"], tables["call_rates"], *_measured(document))
    out["network"] = network.score_network(heard, links or {})
    return {name: scores for name, scores in out.items() if scores}


def _base_rtt_ns(document: Mapping[str, Any], user: Mapping[str, Any]) -> int:
    return nanoseconds(user["rtt"]) if user.get("rtt") else base_rtt_ns(document)


def _measured(document: Mapping[str, Any]) -> tuple[float, float]:
    """Return when what is measured begins and ends, s."""
    return seconds(document["warmup"]), seconds(document["duration"])


def _responsiveness(
    document: Mapping[str, Any], tables: Mapping[str, Table], links: Mapping[str, Any]
) -> dict[str, Any]:
    """Score the tests of responsiveness, and what the path that they load is to the example of QoO."""
    users = [user for user in document["users"] for _ in range(user["count"])]
    probes, intervals = tables["probes"], tables["intervals"]
    found = responsiveness.score_responsiveness(probes, intervals, users)
    latencies = responsiveness.scored_latencies(probes, intervals, users)
    if not found or not latencies.size:
        return found
    testers = [user for user in users if user["kind"] == "responsiveness"]
    kept = 1.0
    for name, summary in links.items():
        ways = {user["direction"] for user in testers if crosses(user, name)}
        if way_of(name) in ways or "both" in ways:
            # More may be dropped than came in the measured time.
            kept *= max(0.0, 1 - summary["loss"])
    measured = {q: float(np.percentile(latencies, q)) for q in qoo.MEASURED}
    outcome = qoo.qoo(qoo.EXAMPLE, measured, 1 - kept, found["goodput_bps"])
    return {**found, "qoo": {name: round(part, 3) for name, part in outcome._asdict().items()}}


def _rate_down(document: Mapping[str, Any], summaries: Mapping[str, Any]) -> float | None:
    """Return the rate of the slowest link down on the way of all viewers; None if none is limited."""
    viewers = [user for user in document.get("users", []) if user["kind"] == "adaptive"]
    shared = [
        summary.get("rate_bps")
        for name, summary in summaries.items()
        if way_of(name) == "down" and all(crosses(user, name) for user in viewers)
    ]
    return min((rate for rate in shared if rate), default=None)


def _scorer(kind: str) -> Callable[[Table, Mapping[str, Any]], Any]:
    if kind == "video":
        from sojourn.qoe import video  # the codec is loaded where there is video to look at

        return video.showings
    if kind in games.KINDS:
        return games.windows
    return voice.calls if kind == "voice" else web.loads


def _rows(table: Table, kind: str, first: int, last: int) -> dict[str, NDArray[Any]]:
    """Rows of the users numbered from `first` up to but not including `last`."""
    if "user" not in table:
        raise ValueError(f"the {kind} table lacks the column user")
    user = np.asarray(table["user"])
    mine = (user >= first) & (user < last)
    return {name: np.asarray(column)[mine] for name, column in table.items()}
