"""The part of a report that is heard: the call of each cell that sounded worst, beside the original."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sojourn.report.answer.cells import cell_name
from sojourn.report.html import data_link

MOST_BYTES = 3_000_000
"""Bytes of sound inside one page. Where there is more to hear, the worst cells are heard."""

SECONDS = 5.0
"""The length of a piece: the part of the call in which most packets are missing."""

_NAMES = {"talks": "user talks", "listens": "user listens"}


@dataclass(frozen=True)
class Sound:
    """A call as it sounded: its cell, what is said beside it, and both sounds as links that need no file."""

    cell: str
    direction: str
    words: str
    heard: str
    said: str


@dataclass(frozen=True)
class Listening:
    """What can be heard of a study, the worst first, and why not more."""

    sounds: list[Sound] = field(default_factory=list)
    note: str = ""


def listen(results: Sequence[Mapping[str, Any]], most_bytes: int | None = None) -> Listening:
    """Make the calls again that sounded worst, one for each cell and direction, up to so many bytes."""
    if not any(result.get("voice") for result in results):
        return Listening()
    most_bytes = MOST_BYTES if most_bytes is None else most_bytes
    found = _worst(results)
    if not found:
        return Listening(note=_why_not(results))
    # Slow to import: speech, codecs.
    from sojourn.qoe.media.speech import MissingSpeech
    from sojourn.qoe.worst_call import again, rate_hz, wav, worst_part

    sounds, used = [], 0
    hurt = {place: about for place, about in found.items() if about["missing"]}
    ranked = sorted(hurt.items(), key=lambda item: (item[1]["z1"], item[0]))
    for (cell, direction), about in ranked:
        try:
            said, heard = again(about)
        except MissingSpeech as error:
            return Listening(note=f"No call can be heard again: {error}.")
        part = worst_part(about, SECONDS)
        links = [data_link(wav(signal[part], rate_hz(about)), "audio/wav") for signal in (heard, said)]
        used += sum(map(len, links))
        if used > most_bytes:
            break
        sounds.append(Sound(cell, _NAMES[direction], _words(about), *links))
    notes = []
    if len(sounds) < len(ranked):
        notes.append(
            f"Of {len(ranked)} cells and directions the {len(sounds)} that sound worst are here; more than "
            f"{most_bytes / 1e6:.2g} MB of sound would make the page too large to mail."
        )
    if not hurt:
        notes.append(
            "No packet is missing in the worst call of any cell: there is nothing to hear but speech."
        )
    elif len(hurt) < len(found):
        notes.append(
            f"Of {len(found)} cells and directions {len(found) - len(hurt)} are not here: their worst call "
            "lacks no packet and sounded as it was said."
        )
    return Listening(sounds, " ".join(notes))


def _worst(results: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return what is known of the worst call by (cell, direction), of all replications."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for result in results:
        cell = cell_name(result, "the one cell")
        for direction, about in ((result.get("voice") or {}).get("worst") or {}).items():
            known = found.get((cell, direction))
            if known is None or (about["z1"], about["mos"]) < (known["z1"], known["mos"]):
                found[cell, direction] = about
    return found


def _words(about: Mapping[str, Any]) -> str:
    lost, late, packets = about["lost"], about["late"], about["packets"]
    gone = f"{lost} lost and {late} late" if lost and late else f"{lost} lost" if lost else f"{late} late"
    missing = f"{gone} of {packets} packets" if lost or late else f"none of {packets} packets missing"
    return (
        f"Call {about['call'] + 1} of user {about['user'] + 1}, {about['began_s']:.0f} s into the run: "
        f"{missing}. "
        f"MOS {about['mos']:.2f} with its delay; by its sound alone {about['lqo']:.2f} (MOS-LQO)."
    )


def _why_not(results: Sequence[Mapping[str, Any]]) -> str:
    sides = [side for result in results for side in (result.get("voice") or {}).values()]
    notes = sorted({side["note"] for side in sides if side.get("note")})
    if any(side.get("model") == "emodel" for side in sides):
        why = f": {notes[0].split(': ', 1)[-1]}" if notes else " instead of recordings"
        return f"No call can be heard: calls were scored by the E-model{why}."
    return "No call can be heard: these results do not say which call sounded worst; run the study again."
