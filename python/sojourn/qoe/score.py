"""From the tables of one run to the scores in its result.

The entries of a scenario's `users` stand for `count` individuals each, who are numbered in the order of
the document; the tables carry that number in their column `user`. All voice users of a scenario are
summarised together, and so are all of any other kind; voice and web users are scored with the options of
their own entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.qoe import adaptive, browser, voice, web
from sojourn.qoe.columns import columns_of
from sojourn.study.units import seconds

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
        The run's tables by name: `voice`, `video`, `web`, `browser`, and `adaptive` with `viewers` and
        `stalls`; absent ones have nothing to score.
    links : mapping, optional
        The links of the run's summary; the rate of "down" is what utilisation by video is a share of.

    Returns
    -------
    dict
        "voice", "video", "web", "adaptive" and "browser" as far as there are such users and tables, to be
        merged into the result.

    Raises
    ------
    MissingSpeech
        If a user insists on PESQ and it, or recordings, are missing.
    MissingVideo
        If the codec or a clip is missing.
    ValueError
        If a table is not as expected.
    """
    found: dict[str, list[Any]] = {"voice": [], "video": [], "web": []}
    first = 0
    for user in document.get("users") or ():
        last, kind = first + user["count"], user["kind"]
        if kind in found and (table := tables.get(kind)) is not None:
            user_of = columns_of(kind, table, ("user",))["user"]
            mine = (user_of >= first) & (user_of < last)
            rows = {name: np.asarray(column)[mine] for name, column in table.items()}
            scored = _scorer(kind)(rows, user)
            found[kind] += scored if kind == "voice" else [scored]
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
        warmup_s, end_s = (seconds(document[key]) for key in ("warmup", "duration"))
        rate_bps = (links or {}).get("down", {}).get("rate_bps")
        out["adaptive"] = adaptive.score_adaptive(tables, warmup_s, end_s, rate_bps)
    if "browser" in tables:
        out["browser"] = browser.score_browser(tables["browser"])
    return {name: scores for name, scores in out.items() if scores}


def _scorer(kind: str) -> Callable[[Table, Mapping[str, Any]], Any]:
    if kind == "video":
        from sojourn.qoe import video  # the codec is loaded where there is video to look at

        return video.showings
    return voice.calls if kind == "voice" else web.loads
