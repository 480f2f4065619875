"""From a case, a link and the schemes to a study: the case's own file, with keys set as by ``--set``."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from sojourn.errors import SojournError
from sojourn.study import Study
from sojourn.study.suites.catalogue import Case, Under
from sojourn.study.suites.link import Link, rate_bps
from sojourn.study.suites.presets import Preset
from sojourn.study.suites.schemes import Queue, Scheme
from sojourn.study.toml import toml_value
from sojourn.study.units import nanoseconds


@dataclass(frozen=True)
class Expanded:
    """A case on a link, as the study that it comes to.

    Attributes
    ----------
    case : Case
    link : Link
        As it was asked for.
    study : Study
        Its labels of the first queue are, in order, the schemes'.
    schemes : tuple of Scheme
    buffer_pkts : int
        The buffer that all schemes without a limit of their own have.
    folder : str
        Where its results go, below the suite's folder.
    sets : tuple of (str, str)
        Keys that were set besides.
    size_pkts : float
        S of RFC 7928 §8.2.1: BDP and buffer in packets.
    """

    case: Case
    link: Link
    study: Study
    schemes: tuple[Scheme, ...]
    buffer_pkts: int
    folder: str
    sets: tuple[tuple[str, str], ...] = ()
    size_pkts: float = 0.0

    @property
    def scheme_of(self) -> dict[str, str]:
        """The name of the scheme for each label of the axis of queues."""
        axis = self.case.queues[0].key
        labels = dict.fromkeys(point.labels[axis] for point in self.study.points)
        return dict(zip(labels, (scheme.name for scheme in self.schemes), strict=True))


def sized(case: Case, link: Link, preset: Preset) -> tuple[Link, int]:
    """Return the link as it counts for a case, and the buffer of its schemes in packets."""
    about = preset.of(case, link)
    if case.capacity and not preset.name:
        about = replace(about, rate_bps=rate_bps(case.capacity))
    return about, about.buffer(nanoseconds(case.buffer) if case.buffer else None)


def expand(
    case: Case,
    link: Link,
    schemes: Sequence[Scheme],
    seeds: int,
    preset: Preset,
    sets: Sequence[tuple[str, str]] = (),
) -> Expanded:
    """Return the study of a case on a link.

    Parameters
    ----------
    case
        The case.
    link
        Rate, round trip, packet and, if it is given, the buffer.
    schemes
        What is compared.
    seeds
        Number of replications.
    preset
        Keys that it sets, and what it says of this case's link.
    sets
        Further keys to set, as of ``--set``.

    Raises
    ------
    SojournError, StudyError
        One sentence: the study file cannot be read, or a key of it cannot be set.
    """
    about, buffer = sized(case, link, preset)
    keys = {key: about.value(formula) for key, formula in case.scale.items()}
    keys["repeat"] = str(seeds)
    keys |= _queues(case, schemes, buffer)
    file = case.named
    for key, value in preset.keys(case, Study.load(file).document):
        keys.pop(key, None)
        keys[key] = value
    study = Study.load(file, [*keys.items(), *sets])
    folder = f"{link.name.replace('/', '-')}/{case.name}"
    size = float(about.size_pkts)
    return Expanded(case, link, study, tuple(schemes), buffer, folder, tuple(sets), size)


def _queues(case: Case, schemes: Sequence[Scheme], buffer: int) -> dict[str, str]:
    """Return the keys that put the schemes in their places: an axis, and what is tied to it."""
    first, *others = case.queues

    def size(under: Under) -> int:
        return max(1, ceil(buffer * under.buffer))

    keys = {
        f'sweep."{first.key}"': toml_value([scheme.table(size(first), ecn=case.ecn) for scheme in schemes])
    }
    for under in others:
        tables = [_second(under.scheme, scheme, size(under)) for scheme in schemes]
        keys[f'tie.0.set."{under.key}"'] = toml_value(tables)
    return keys


def _second(which: str, scheme: Scheme, packets: int) -> Queue:
    """Return what stands at another queue beside a scheme."""
    if which == "same":
        return scheme.table(packets)
    if which == "other-values":
        return scheme.other_values(packets)
    if which == "fifo":
        return {"kind": "fifo", "limit": f"{packets}pkt"}
    raise SojournError(f"a queue of a case has the scheme same, other-values or fifo, not {which!r}")


def folder_of(suite: str, out: Path | None) -> Path:
    """Return where the results of a suite go."""
    return out if out is not None else Path("results") / f"suite-{suite}"
