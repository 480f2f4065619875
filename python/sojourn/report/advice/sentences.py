"""The advice in sentences. Each says what was found, and how sure it is."""

import re
from collections.abc import Sequence

from sojourn.errors import counted
from sojourn.report.advice.alike import many, not_told, not_worse, other_sizes
from sojourn.report.advice.goals import all_kept, goals
from sojourn.report.advice.names import About, article, between, named, number, under, who
from sojourn.report.answer.cells import listed
from sojourn.report.answer.scores import MATTERS, OWN_SCALE
from sojourn.report.figures.values import upper
from sojourn.study.links import WAYS
from sojourn.study.units import percent

_SCALE = ((4.5, "excellent"), (3.5, "good"), (2.5, "fair"), (1.5, "poor"), (0.0, "bad"))
"""What scores are called (ITU-T P.800), the nearest word."""
_POOR = 2.5
_FLOOR = 1.25
"""Scores below are at the least there is, 1, but for chance."""
_NOT_EVEN = "not even without a load"
_UNUSED = 0.05
"""Of a link that another choice would use and the advice leaves unused: more than this is said."""
_NAMED = 3
"""Loads and users that one sentence names."""


def title(about: About) -> str:
    """Return the question."""
    line = about["line"]
    rates = " and ".join(f"{_spaced(line[way])}/s {way}" for way in WAYS)
    return f"Which queue for {rates}, at {_spaced(line['rtt'])}?"


def _spaced(quantity: str) -> str:
    """Put a space between a number and its unit."""
    digits = quantity.rstrip("abcdefghijklmnopqrstuvwxyzMGµ")
    return f"{digits} {quantity[len(digits) :]}"


def answer(about: About) -> list[str]:
    """Return the answer, the choice first."""
    scores = about["scores"]
    return [
        *_choice(about),
        f"Its worst-off user, {who(scores['user'])}, then gets {_score(scores)}{under(scores['load'])}: "
        f"{_word(scores['worst'])}.{'' if _hopeless(about) else _poor(about)}",
        _sure(about),
        *_transfers(about),
        *at_the_floor(about),
        fifo_only(about),
        *by_load(about),
        *goals(about),
        *without_score(about),
        *first_picture(about),
        *unscored(about),
    ]


def _choice(about: About) -> list[str]:
    """Name the choice; where none is enough, that first, and whether it is more than one among equals."""
    name = f"{article(named(about['recommended']))}{_both(about)}"
    if not _hopeless(about):
        return [_of_what_was_asked_for(about, name) or f"Choose {name}."]
    sizes = about.get("fifos_alike") if about["recommended"]["down"]["kind"] == "fifo" else ()
    of = (
        "Of those that cannot be told apart the advice names"
        if about["alike"] or sizes
        else "The least bad is"
    )
    return [_poor(about).strip(), f"{of} {name}."]


def _of_what_was_asked_for(about: About, name: str) -> str:
    """Say first that a FIFO, which was not asked for, is better for certain; nothing where it is not."""
    fifo = about["fifo_only"]
    better = fifo["loss_within"] is not None and -fifo["loss_mos"] > fifo["loss_within"]
    if about["goals"] or "fifo" in about.get("candidates", ["fifo"]) or not better:
        return ""
    return f"Of what was asked for (`--candidates`) choose {name}; a FIFO is better, for certain."


def _hopeless(about: About) -> bool:
    """Tell whether no queue makes the line enough for anybody's scores, not even without a load."""
    return not about["goals"] and _NOT_EVEN in _poor(about)


def _score(scores: About) -> str:
    """Write a score as what it is."""
    mean = f"{number(scores['worst'])}{between(scores['interval'])}"
    own = scores["user"].split(".")[0] in OWN_SCALE
    return f"{mean} of 5 on sojourn's own scale" if own else f"a MOS of {mean}"


def _both(about: About) -> str:
    return "" if about["recommended"]["down"]["kind"] == "fifo" else ", in both directions"


def _word(score: float) -> str:
    return next(word for least, word in _SCALE if score >= least)


def _poor(about: About) -> str:
    best = max(one["worst"] for one in (about["scores"], *about["tried"]))
    if best >= _POOR or _has_gaps(about["scores"]):
        return ""
    idle = about["by_load"].get("idle")
    if idle is not None and idle.get("most", idle["worst"]) < _POOR:
        whom = who(min(idle["users"], key=lambda user: idle["users"][user]))
        return (
            f" No queue that was tried makes this line enough for {whom}, {_NOT_EVEN}. No queue can mend "
            "that: it takes a faster line, a shorter round trip, or users who ask for less (`--users`)."
        )
    return " No queue that was tried makes this line enough for that load."


def at_the_floor(about: About) -> list[str]:
    """Say so where the load that decides leaves every queue at the least score: a tie that tells nothing."""
    if about["goals"] or max(one["worst"] for one in (about["scores"], *about["tried"])) >= _FLOOR:
        return []
    loads = about["by_load"]
    lighter = "idle" not in loads or any(one.get("most", one["worst"]) >= _FLOOR for one in loads.values())
    again = "; ask again with lighter loads (`--load`)" if lighter else ""
    load = under(about["scores"]["load"]).strip()
    return [
        f"{upper(load)} somebody has nearly the least score there is, 1, whatever the queue, so that what "
        f"others lose against the advice tells little{again}."
    ]


def _has_gaps(scores: About) -> bool:
    """Tell whether the user who decides has no score in a run: then a short run may be why it is low."""
    return any(
        (one["load"], one["user"]) == (scores["load"], scores["user"])
        for one in scores.get("without_score", ())
    )


def _sure(about: About) -> str:
    others = about["alike"]
    tried = len(about["tried"])
    if about["goals"]:
        return f"Your goals decided, not the scores.{_scored(about)}" + (
            f" {not_told(about)}" if others else ""
        )
    if about["certain"] and "fifo" not in (asked := about.get("candidates", ["fifo"])):
        # Sizes of a FIFO are tried all the same, for what they lose.
        return (
            "No other discipline was asked for (`--candidates`)."
            if len(asked) == 1
            else "It is better than every other discipline that was asked for (`--candidates`), for certain."
        )
    if about["certain"]:
        return (
            "No other candidate was tried."
            if tried == 1
            else f"It is better than every other candidate, for certain{_by_little(about)}."
        )
    if about.get("decided_by") == "worst":
        fifo = about["recommended"]["down"]["kind"] == "fifo"
        others = f"every other discipline that was tried{'' if fifo else ', and than the best FIFO'}"
        return f"It is better than {others}, for certain.{not_worse(about)}" if tried > 1 else ""
    return not_told(about) if others else ""


def _by_little(about: About) -> str:
    """Say which other candidate is hardly worse than one that is best for certain."""
    others = [one for one in about["tried"] if not _is_advised(about, one)]
    best = max(others, key=lambda one: one["worst"])
    if about["scores"]["worst"] - best["worst"] > MATTERS:
        return ""
    return f", though by little: {article(named(best))} has {number(best['worst'])}"


def _scored(about: About) -> str:
    """Say which queue users would have fared better with, if one for certain; goals may ask for less."""
    best = max(about["tried"], key=lambda one: one["worst"], default=None)
    if best is None or best["loss_mos"] >= -(best["loss_within"] or 0.0):
        return ""
    return (
        f" By the scores {article(named(best))} would be better: its worst-off user gets "
        f"{number(best['worst'])}, {lost(best)}."
    )


def _fuller(about: About) -> About | None:
    """Return the best of those that were tried which use much more of the line than the advice.

    On an idle line there are no transfers to use it.
    """
    if list(about["by_load"]) == ["idle"]:
        return None
    used = about["scores"]["utilisation"] + _UNUSED
    fuller = [one for one in about["tried"] if one["utilisation"] > used and not _is_advised(about, one)]
    return max(fuller, key=lambda one: (one["worst"], one["utilisation"]), default=None)


def _transfers(about: About) -> list[str]:
    """Say what transfers lose by the advice: no score is theirs."""
    if (other := _fuller(about)) is None:
        return []
    used, more = (percent(one["utilisation"]) for one in (about["scores"], other))
    return [
        f"Transfers pay for it: {used} of the busiest link is used on average, with {article(named(other))} "
        f"{more}, where the worst-off user gets {number(other['worst'])}. No score counts what transfers get."
    ]


def fifo_only(about: About) -> str:
    """Say what it costs to have nothing but a FIFO, and which sizes cannot be told from the best."""
    said = _fifo_only(about)
    return said + other_sizes(about) if said else ""


def _fifo_only(about: About) -> str:
    best = about["fifo_only"]
    if about["recommended"]["down"]["kind"] == "fifo":
        disciplines = [one for one in about["tried"] if one["down"]["kind"] != "fifo"]
        if not disciplines:
            return ""
        no_better = "no discipline that was tried is better for certain"
        other = [one for one in about["by_load"].values() if not one["same"]]
        if any(one["recommended"]["down"]["kind"] != "fifo" for one in other):
            return f"Under the load that decides {no_better} than this FIFO; under other loads one is."
        if about["goals"]:
            if all_kept(about):
                return f"By your goals a FIFO is enough: {no_better}."
            return f"By your goals {no_better} than this FIFO."
        if _poor(about):
            return f"{upper(no_better)} than this FIFO."
        if about.get("decided_by") == "worst":
            no_better = "every other discipline that was tried is worse for certain"
        return f"{'By the scores a' if _fuller(about) else 'A'} FIFO is enough: {no_better}."
    best_is = "one of the best is" if about.get("fifos_alike") else "the best is"
    gets = f"With nothing but a FIFO, {best_is} {named(best).removeprefix('FIFO of ')}"
    used = [one["utilisation"] for one in (best, about["scores"])]
    less = f"; {percent(used[0])} of the busiest link is used, not {percent(used[1])}"
    return (
        f"{gets}: the worst-off user gets {number(best['worst'])}{between(best['interval'])}, {lost(best)}"
        f"{less if used[1] - used[0] > _UNUSED else ''}."
    )


def lost(one: About) -> str:
    """Say what a choice loses against the advice."""
    size, within = one["loss_mos"], one["loss_within"]
    way = "less" if size >= 0 else "more"
    if within is not None and number(size) == number(within) == number(0.0):
        return "as with the advice"
    said = f"{number(abs(size))} {way} than with the advice"
    if within is None:
        return f"{said} in the one run"
    if abs(size) > within:
        return f"{said} (±{number(within)})"
    return f"{said}, which is within chance (±{number(within)})"


def read_by_user(about: About) -> str:
    """Say what the scores of all users are, and on which scale each is."""
    users = dict.fromkeys(user for one in about["by_load"].values() for user in one["users"])
    own = [who(user) for user in users if user.split(".")[0] in OWN_SCALE]
    what = "with the advice, the mean over calls, pages or viewers, and replications"
    if not own:
        return f"MOS {what}."
    if len(own) == len(users):
        return f"Scores of 1 to 5 on sojourn's own scale {what}."
    return f"Scores of 1 to 5 {what}: of {listed(own)} on sojourn's own scale, of the others MOS."


def by_load(about: About) -> list[str]:
    """Say under which loads another queue would be better."""
    other = {load: one for load, one in about["by_load"].items() if not one["same"]}
    if not other:
        if len(about["by_load"]) == 1:
            [load] = about["by_load"]
            if load == "idle":
                return ["Nothing but the users was on the line: under a load another queue may be better."]
            return [f"No other load than “{load}” was tried."]
        if not about["by_load"]:
            return []
        asked = about.get("candidates", ["fifo"])
        if asked != ["fifo"] and len(asked) == 1:
            return []  # There was no other to ask for.
        asks = "By your goals no load asks" if about["goals"] else "No load asks"
        other = "another queue" if "fifo" in asked else "another of these disciplines"
        return [f"{asks} for {other}: under each of them {no_better(about)}."]
    better = "keep your goals better, and the worst-off user get" if about["goals"] else "be better:"
    return [
        f"{under(load).strip().capitalize()} alone, {article(named(one['recommended']))} would {better} "
        f"{number(one['worst'])} in place of {number(one['with_advice'])}{_elsewhere(about, load, one)}."
        for load, one in other.items()
    ]


def no_better(about: About) -> str:
    """Say when a load asks for no other queue, and among which ones that was looked at."""
    much = "a twentieth of the way to a limit" if about["goals"] else f"{MATTERS:g}"
    if "fifo" not in about.get("candidates", ["fifo"]):
        who = "no discipline that was asked for (`--candidates`)"
    elif all(one["down"]["kind"] == "fifo" for one in about["tried"]):
        who = "no other size of a FIFO"
    elif about["recommended"]["down"]["kind"] == "fifo":
        who = "no discipline"
    else:
        who = "neither another discipline nor the best FIFO"
    return f"{who} is better than this for certain by more than {much}"


def _elsewhere(about: About, load: str, one: About) -> str:
    """Say where a queue that is better under the load that decides is worse itself."""
    queues = one["recommended"]
    for tried in about["tried"] if load == about["scores"]["load"] else ():
        if {way: tried[way] for way in queues} == queues and tried["load"] != load:
            return f"; but{under(tried['load'])} it has {number(tried['worst'])}"
    return ""


def first_picture(about: About) -> list[str]:
    """Say how long viewers of adaptive video wait for the first picture: their score does not count it."""
    waits = about["scores"].get("first_picture_ms")
    if not waits:
        return []
    load, longest = max(waits.items(), key=lambda item: item[1]["median"])
    least = "at least " if longest["at_least"] else ""
    return [
        f"The first picture of {who('adaptive')} comes after {least}{longest['median'] / 1e3:.1f} s (median)"
        f"{under(load)}, which no score counts."
    ]


def without_score(about: About) -> list[str]:
    """Say in how many runs which user has no score: none is held for the worst, not left out."""
    found = about["scores"].get("without_score", ())
    runs = [
        f"in {_of_runs(one['runs'], one['of'])}{under(one['load'])} for {who(one['user'])}"
        for one in found[:_NAMED]
    ]
    if (more := len(found) - _NAMED) > 0:
        runs.append(f"in runs of {counted(more, 'more pair')} of load and user")
    said = []
    if runs:
        said = [
            f"There is no score {listed(runs)}, as when nothing is finished in time: each of these counts as "
            "the worst, 1."
        ]
    others = [one for one in about["tried"] if one.get("without_score") and not _is_advised(about, one)]
    if others:
        also = "also " if said else ""
        said.append(f"Runs without a score {also}count as the worst, 1, with {many(map(named, others))}.")
    return said


def _of_runs(runs: int, of: int) -> str:
    if runs == of:
        return "the one run" if of == 1 else f"all {of} runs"
    return f"{runs} of {of} runs"


def _is_advised(about: About, one: About) -> bool:
    return {way: one[way] for way in WAYS} == about["recommended"]


def unscored(about: About) -> list[str]:
    """Say which of the users have no score in any run."""
    if not about.get("unscored"):
        return []
    whom = listed([who(kind) for kind in about["unscored"]])
    return [
        f"Nothing here says how {whom} would fare: no run has a score of theirs, as when nothing is finished "
        "in time."
    ]


def rule_row(one: About) -> list[str]:
    """Return a row of the table of rules of thumb."""
    size = "–" if one["loss_within"] is None else f"{number(one['loss_mos'])} ±{number(one['loss_within'])}"
    where = "idle" if one["load"] == "idle" else one["load"]
    return [
        one["rule"],
        re.sub(r"\b1 packets", "1 packet", one["limit"].replace("pkt", " packets")),
        number(one["worst"]),
        size,
        f"{who(one['user'])}, {where}",
    ]


def read_front(front: Sequence[About], chosen: About) -> str:
    """Say what the front shows."""
    if len(front) == 1:
        best = named(front[0])
        if best == named(chosen):
            return f"{best} is best in both; there is nothing to trade."
        return f"{best} has the best mean of both; why {article(named(chosen))} is advised is said above."
    first, last = front[0], front[-1]
    ends = {(number(one["worst"]), percent(one["utilisation"])) for one in front}
    if len(ends) == 1:
        [(score, used)] = ends
        return f"All of these have {score} at {used}; there is nothing to trade."
    return (
        f"From {named(first)} ({number(first['worst'])} at {percent(first['utilisation'])}) "
        f"to {named(last)} ({number(last['worst'])} at {percent(last['utilisation'])})."
    )
