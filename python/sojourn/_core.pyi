"""The engine: study files in, simulations out; captures in, delays out. Only `measure` reads files."""

import os
from collections.abc import Callable
from typing import Any

class StudyError(ValueError):
    """One clear sentence: file, line or key, what was found, what was expected."""

class CaptureError(ValueError):
    """One clear sentence: which capture, what was found, what was expected."""

class MisfitError(CaptureError):
    """Two captures do not belong together, or not in this order: one clear sentence."""

def measure(
    paths: list[str | os.PathLike[str]],
    options: str = "{}",
    on_samples: Callable[[dict[str, Any]], object] | None = None,
    progress: Callable[[float | None], object] | None = None,
    filter: Callable[[int], list[tuple[int, int, int, int]]] | None = None,
    on_rows: Callable[[bytes], object] | None = None,
) -> tuple[str, list[str]]:
    """Measure captures as one stream; return the summary (JSON) and its hosts' lines. Releases the GIL.

    `options` (JSON): `estimator` (auto, observer, reported), `local` (prefixes), `min_samples`, `most_flows`,
    `log_packets`, `from_s`, `to_s`, `jobs` (threads; 0: one a core), `uncertainty` (a column of rows),
    `arrow` (the schema of rows that are Parquet). `on_rows` is given bytes of a file: Parquet, or CSV without
    its head. The summary's `not_measured` are the places of hosts of which nothing was told.
    `on_samples` is given dicts of columns `frame`, `time_ns`, `flow` (place in `flows`:
    remote, local, name), `protocol` (place in `protocols`), `queue_delay_ns`, `uncertainty_ns`.
    """

class Follower:
    """Measures frames as they come."""

    def __init__(
        self,
        link: int = 1,
        options: str = "{}",
        filter: Callable[[int], list[tuple[int, int, int, int]]] | None = None,
    ) -> None: ...
    def feed(self, frames: list[tuple[int, int, bytes]]) -> None:
        """Take in frames: time (ns since 1970), length on the wire, bytes."""

    def settle(self) -> tuple[str, list[str]]:
        """Return the summary (JSON) with rows of remote, protocol, samples, mean, maximum (ms) of late.

        `recent` has those of the way from the hosts, `recent_to_remote` of the way to them. And the hosts'
        lines.
        """

def workload(paths: list[str | os.PathLike[str]], clients: list[tuple[Any, int]]) -> dict[str, Any]:
    """Read captures as one stream; return the workload in them (columns). Releases the GIL.

    Keys: `connections` (a row for each), `turns` (of all of them, one after the other), `length_ns`,
    `frames`, `other_frames`, `beyond_bound`, `sides_by_ttl`, `near_are_clients`, `busy` (bytes in bins of
    100 ms), `damage`. `clients` are prefixes (address, bits).
    """

def controller(setup: str, events: str) -> str:
    """Drive one congestion controller by events (JSON); return what it says after each (JSON list)."""

def clip(name: str) -> tuple[float, list[float], list[list[int]]]:
    """Return a clip that ships: seconds of a segment, rates in kb/s, and bytes by segment and level."""

def clips() -> list[str]:
    """Return the names of the clips that ship."""

def replay(
    queue: str,
    at: Any,
    size: Any,
    flow: Any,
    ecn: Any,
    rate: str | None,
    times: Any,
    seed: int,
    draws: Any | None,
    drawn: str,
    state: list[tuple[str, int | None, float]],
    trace: bool,
) -> dict[str, Any]:
    """Send packets through a queue (JSON, as in a study). See `sojourn.parts.queue.replay`."""

def play(
    algorithm: Any,
    clip: tuple[float, list[float], list[list[int]]],
    periods: list[tuple[float, float, float]],
    buffer: float,
    initial: float | None = None,
    resume: float | None = None,
    draws: list[float] | None = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Play a clip over an ideal link; a row for each segment. See `sojourn.parts.player.play`."""

class Viewing:
    """One viewing of a clip, driven from outside; times in seconds since its session began."""

    entry: int
    user: int
    start_s: float

    def next(self, now_s: float) -> float | tuple[int, int, int] | None:
        """Return what to do: wait so long, request (segment, level, bytes), or no more."""

    def progress(self, first_byte_s: float, now_s: float, done: int) -> tuple[int, int, int] | None:
        """Return what to request in place of a segment of which so many bytes have come, if at all."""

    def arrived(self, first_byte_s: float, now_s: float) -> None:
        """Hear that the segment has come."""

    def segments(self) -> dict[str, Any]:
        """Return a row for each segment asked for; times that have not come are infinite."""

    def playback(self, now_s: float) -> tuple[float | None, list[tuple[float, float]]]:
        """Return when playing began, and the stalls."""

    def clip(self) -> tuple[float, list[float], list[list[int]]]:
        """Return seconds of a segment, rates in kb/s, and bytes by segment and level."""

def viewings(point: str) -> list[Viewing]:
    """Return the viewers of adaptive video of a point: the simulator's own clips, players and starts."""

def page_objects(page: str, hosts: int, scale: float) -> list[tuple[str, int, int, int, int | None, bool]]:
    """Return the objects of a page of today, its document first: what `page` users load.

    Each is its kind, its host from 0, its bytes, its urgency (RFC 9218), the object that names it, and
    whether nothing is painted before it is here. `page` is "desktop" or "mobile".
    """

def parse(text: str, name: str, sets: list[tuple[str, str]], extended: list[tuple[str, str]] = ...) -> str:
    """Read a study file (TOML) and return the study document (JSON); `name` is used in errors.

    `extended` are the texts and names of the studies that it extends, nearest first.
    """

def extends(text: str, name: str) -> str | None:
    """Return the study file that a study says that it extends, if it does."""

def check_trace(kind: str, text: str) -> None:
    """Check the text of a trace; StudyError names the line that is wrong.

    `kind` is "link" (mahimahi), "video" (the frames of an EvalVid sender) or "recorded" (a workload).
    """

def mahimahi(text: str) -> list[tuple[float, float]]:
    """Return a mahimahi trace as periods of (seconds, kb/s); StudyError names the line that is wrong."""

def points(document: str) -> list[str]:
    """Expand a study document into its points, every replication of each, in study order."""

def run(
    point: str,
    log: bool = False,
    progress: Callable[[float], object] | None = None,
    packets: Callable[[dict[str, Any]], object] | None = None,
    clips: dict[int, Any] | None = None,
) -> dict[str, Any]:
    """Simulate one point: `summary` (JSON text) and tables of NumPy columns. Releases the GIL.

    With `packets`, the packet log is handed to it in pieces while the simulation runs, and is not returned.
    `clips` are the packets of what users send, by their entry's place (see `sojourn.study.inputs`).
    """

def export(point: str, at: str, path: str | os.PathLike[str], tick_ns: int) -> dict[str, Any]:
    """Simulate one point and write what is seen at `at` to `path` (pcapng); return the true delays (columns).

    `at` is `clients`, `servers` or the name of a hop; `tick_ns` the tick of TCP timestamps. Keys: `packets`,
    the packet log as `run` returns it; and of each packet seen `frame` (number in the capture, from 1),
    `link` (code of the last link that it crossed) and `packet` (row of the log).
    """

def links(point: str) -> list[str]:
    """Return the names of a point's links, in the order of their codes in the packet log."""

def packet_kinds() -> list[str]:
    """Return the names of the kinds of packets, in the order of their codes in the packet log."""

def drop_causes() -> list[str]:
    """Return the names of the causes of drops, in the order of their codes in the packet log (255: none)."""

def udp_kinds() -> list[str]:
    """Return the names of the kinds of packets that are UDP; all others are TCP."""

def buffers(scenario: str) -> str:
    """Return what the queues of a scenario hold (JSON), by link: `limit_pkts`, `limit_bytes`, `limit_ms`."""

def quantity(text: str) -> str | None:
    """Return a time, rate, size or limit as results write it, however it was written; None if it is none."""

def queue(given: str) -> str | None:
    """Return a queue of a study (JSON) as results have it, with its defaults; None if it is no queue."""

def thresholds() -> str:
    """Return the thresholds that goals may name (JSON): what each is, its limits, its source."""

def provenance() -> str:
    """Return where the loads and the household that ship come from (JSON)."""

def schema() -> str:
    """Return the JSON Schema of study files."""

def version() -> str:
    """Return the version of the engine."""

def engine() -> str:
    """Return the hash of the engine's sources: 32 hexadecimal digits, the same for the same sources."""

def r_default() -> float:
    """Return R of a connection with G.107's defaults."""

def codecs() -> list[tuple[str, float, float]]:
    """Return name, Ie and Bpl of G.113's codecs."""

def wideband() -> tuple[float, float, list[tuple[str, float, float]], str]:
    """Return of the wide-band E-model Ro, its scale over G.107's, codecs, and what is from memory."""

def opus_impairment(rate_kbps: float) -> tuple[float, float]:
    """Return Ie and Bpl of Opus at a rate."""

def statistics(values: Any, digits: int) -> list[float | None]:
    """Return median, mean, and the percentiles 5, 25, 75, 95 of the values that are not NaN, rounded."""

class Heard:
    """One direction of a call, as it came out of the playout buffer."""

    direction: int
    user: int
    call: int
    sample: int
    packets: int
    lost: int
    late: int
    delay_ms: float
    ta_ms: float
    z2: float

    def by_formula(self) -> tuple[float, str]:
        """Return the E-model's rating of the sound, and what the score has to say of itself."""

    def opinion(self, z1: float) -> float:
        """Return the opinion score of the call, its sound rated so."""

    def pieces(self) -> list[dict[str, Any]]:
        """Return the pieces that are listened to alone: `began_ns`, and columns of their frames."""

def heard(
    entry: str,
    user: Any,
    call: Any,
    direction: Any,
    seq: Any,
    sent_ns: Any,
    delay_ns: Any,
    talk: list[Any],
) -> list[Heard]:
    """Return what every direction of every call heard; ValueError if table and user do not go together."""

def carried(count: int, talk: Any) -> tuple[Any, list[tuple[int, int]]]:
    """Return which frame of a sample each frame of a call carries, and the pieces that are scored alone."""

def voice_summary(scored: list[Any]) -> str:
    """Return statistics over calls (JSON)."""

def idd(ta_ms: Any, mt_ms: float, st: float) -> Any: ...
def ie_eff(ie: float, bpl: float, ppl: Any, burst_r: Any) -> Any: ...
def burst_ratio(erased: Any) -> float: ...
def r_to_mos(r: Any) -> Any: ...
def mos_of_plt(plt_s: Any, best_s: float, worst_s: float) -> Any: ...
def lower_bound(samples: int, lacking: int) -> bool:
    """Say whether delays are lower bounds: more than a few may lack something."""

def compare_pictures(reference: Any, received: Any) -> tuple[float, float]:
    """Return SSIM and mean squared error of two pictures: arrays of uint8 of shape (height, width)."""

def match_captures(
    ingress: str | os.PathLike[str],
    egress: str | os.PathLike[str],
    as_given: bool,
    packets: Callable[[dict[str, Any]], object],
) -> str:
    """Compare captures in front of a queue and behind it; hand out the packet log, return the summary (JSON).

    Raises CaptureError if a capture cannot be read, MisfitError if they do not belong together.
    """

class Stream:
    """A named random stream of a study: the simulator's own draws, for real sources."""

    def __init__(self, seed: int, replication: int, name: str) -> None: ...
    def uniform(self) -> float:
        """Return a number in [0, 1)."""

    def size(self, distribution: str) -> int:
        """Draw a size in bytes from a distribution as a point has it (JSON)."""

    def time(self, distribution: str) -> int:
        """Draw a time in nanoseconds, likewise."""

def emulate(setup: str) -> str:
    """Run the emulator (JSON in, JSON out); the process must have one thread, and be started for this alone.

    Raises OSError with a sentence if there can be no bed for it.
    """

def end_on_interrupt(whom: int | None = None) -> None:
    """Have interrupts that processes send to this one end another one; without a number, wait for them."""
