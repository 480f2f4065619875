"""What the numbers of a result are called, in what unit they are shown, and which way is better."""

import re
from dataclasses import dataclass
from math import isfinite

from sojourn.results.path import link_of
from sojourn.study.links import called, hop_of
from sojourn.study.units import alike, decimals_of, written

_WHO = {
    "links.up": "uplink",
    "links.down": "downlink",
    "flows": "background connections",
    "fairness.up": "flows up",
    "fairness.down": "flows down",
    "voice.talks": "voice, user talks",
    "voice.listens": "voice, user listens",
    "video": "video",
    "web": "web",
    "browser": "browser",
    "page": "page of today",
    "call.sends": "video call, user sends",
    "call.receives": "video call, user receives",
    "adaptive": "adaptive video",
    "adaptive.live": "live video",
    "responsiveness": "responsiveness",
    "gaming": "online game",
    "cloud-gaming": "streamed game",
    "network": "small flow",
    "network.qoo": "QoO",
    "engine": "engine",
    "losses.up": "uplink",
    "losses.down": "downlink",
}

# Path ending → name, unit, kind, better. The longest ending that fits wins.
_KINDS = {
    "occupancy_delay_ms": ("queueing delay (from mean occupancy)", "ms", "delay", "low"),
    "queue_delay_ms.mean": ("mean queueing delay", "ms", "delay", "low"),
    "queue_delay_ms.p50": ("median queueing delay", "ms", "delay", "low"),
    "queue_delay_ms.p95": ("queueing delay, 95th percentile", "ms", "delay", "low"),
    "queue_delay_ms.p99": ("queueing delay, 99th percentile", "ms", "delay", "low"),
    "queue_delay_ms.max": ("largest queueing delay", "ms", "delay", "low"),
    "queue_delay_cdf": ("queueing delay", "ms", "delay", "low"),
    "series.queue_delay_ms": ("queueing delay per time bin", "ms", "delay", "low"),
    "series.utilisation": ("utilisation per time bin", "%", "utilisation", "high"),
    "occupancy_pkts": ("mean occupancy", "pkt", "plain", "low"),
    "utilisation_quantiles": ("utilisation, 1 s bins", "%", "utilisation", "high"),
    "utilisation_sd_1s": ("s.d. of utilisation, 1 s bins", "%", "share", ""),
    "utilisation": ("utilisation", "%", "utilisation", "high"),
    "loss": ("loss", "%", "loss", "low"),
    "mos": ("MOS", "", "mos", "high"),
    "mos.median": ("median MOS", "", "mos", "high"),
    "mos.p5": ("MOS of the worst 5 %", "", "mos", "high"),
    "mos.p95": ("MOS of the best 5 %", "", "mos", "high"),
    "z1.median": ("median R from the signal (z1)", "", "plain", "high"),
    "z2.median": ("median impairment by delay (z2)", "", "plain", "low"),
    "ssim.median": ("median SSIM", "", "ssim", "high"),
    "ssim.p5": ("SSIM of the worst 5 %", "", "ssim", "high"),
    "ssim": ("SSIM", "", "ssim", "high"),
    "psnr_db.median": ("median PSNR", "dB", "plain", "high"),
    "psnr_db.mean": ("mean PSNR", "dB", "plain", "high"),
    "mos.mean": ("mean MOS", "", "mos", "high"),
    "vmaf.median": ("median VMAF", "", "plain", "high"),
    "vmaf.mean": ("mean VMAF", "", "plain", "high"),
    "late.mean": ("share lost or too late", "%", "share", "low"),
    "late.median": ("share lost or too late, median of ten seconds", "%", "share", "low"),
    "late.p95": ("share lost or too late, worst 5 % of the time", "%", "share", "low"),
    "plt_s.median": ("median page load time", "s", "seconds", "low"),
    "plt_s.p95": ("page load time, 95th percentile", "s", "seconds", "low"),
    "load_s.median": ("median load time", "s", "seconds", "low"),
    "load_s.p95": ("load time, 95th percentile", "s", "seconds", "low"),
    "first_paint_s.median": ("median first paint", "s", "seconds", "low"),
    "largest_paint_s.median": ("median largest paint", "s", "seconds", "low"),
    "largest_paint_s.p75": ("largest paint, 75th percentile", "s", "seconds", "low"),
    "good": ("loads with a good largest paint", "%", "share", "high"),
    "poor": ("loads with a poor largest paint", "%", "share", "low"),
    "rate_kbps.mean": ("mean rate", "kb/s", "plain", "high"),
    "rate_kbps.median": ("median rate", "kb/s", "plain", "high"),
    "picture_kbps": ("rate of pictures", "kb/s", "plain", "high"),
    "delay_ms.median": ("median delay of pictures", "ms", "delay", "low"),
    "delay_ms.p95": ("delay of pictures, 95th percentile", "ms", "delay", "low"),
    "frozen": ("time frozen", "%", "share", "low"),
    "freezes_per_min": ("freezes a minute", "", "plain", "low"),
    "fps": ("pictures a second", "", "plain", "high"),
    "not_shown": ("frames not shown", "%", "share", "low"),
    "rtt_dominated": ("loads dominated by round trips", "%", "share", ""),
    "loss_dominated": ("loads dominated by repair of losses", "%", "share", "low"),
    "abandoned": ("pages abandoned", "%", "share", "low"),
    "carried_rate_kbps": ("bits carried a second of video", "kb/s", "plain", "high"),
    "switches": ("switches a client", "", "plain", "low"),
    "instability": ("instability", "", "index", "low"),
    "instability_carried": ("instability of bits carried", "", "index", "low"),
    "instability_segments": ("instability from segment to segment", "", "index", "low"),
    "unfairness_carried": ("unfairness of bits carried", "", "index", "low"),
    "unfairness": ("unfairness", "", "index", "low"),
    "average_rate_kbps": ("average rate", "kb/s", "plain", "high"),
    "per_client_rate_kbps": ("rate of each client", "kb/s", "plain", "high"),
    "clients_stalled_pct": ("clients that stalled", "%", "percent", "low"),
    "stalls": ("stalls", "", "plain", "low"),
    "stall_s": ("time stalled", "s", "seconds", "low"),
    "startup_delay_ms.median": ("median wait for the first picture", "ms", "plain", "low"),
    "startup_delay_ms.mean": ("mean wait for the first picture", "ms", "plain", "low"),
    "startup_delay_ms.p95": ("wait for the first picture, 95th percentile", "ms", "plain", "low"),
    "latency_s.mean": ("mean latency", "s", "seconds", "low"),
    "latency_s.median": ("median latency", "s", "seconds", "low"),
    "latency_s.p95": ("latency, 95th percentile", "s", "seconds", "low"),
    "rate_deviation": ("distance of the playback rate from 1", "%", "share", "low"),
    "jumps": ("jumps of playback", "", "plain", "low"),
    "jumped_s": ("video jumped over", "s", "seconds", "low"),
    "rpm.median": ("median round trips a minute", "RPM", "plain", "high"),
    "foreign_rpm.median": ("median of new connections", "RPM", "plain", "high"),
    "self_rpm.median": ("median of load connections", "RPM", "plain", "high"),
    "qoo.qoo": ("Quality of Outcome, the draft's example", "", "plain", "high"),
    "goodput_per_flow_bps": ("goodput of a flow", "Mb/s", "rate", "high"),
    "share": ("share of the goodput", "%", "share", ""),
    "jain": ("Jain's index", "", "index", "high"),
    "rtt_ms.mean": ("mean RTT", "ms", "plain", "low"),
    "rtt_ms.p50": ("median RTT", "ms", "plain", "low"),
    "rtt_ms.p95": ("RTT, 95th percentile", "ms", "plain", "low"),
    "rtt_ms.p90": ("RTT, 90th percentile", "ms", "plain", "low"),
    "rtt_ms.p99": ("RTT, 99th percentile", "ms", "plain", "low"),
    "added_ms.down.mean": ("mean delay added down", "ms", "delay", "low"),
    "added_ms.up.mean": ("mean delay added up", "ms", "delay", "low"),
    "down_mbps": ("rate down", "Mbit/s", "plain", "high"),
    "up_mbps": ("rate up", "Mbit/s", "plain", "high"),
    "base_rtt_ms": ("base RTT", "ms", "plain", ""),
    "sent_pkts": ("packets sent", "pkt", "plain", ""),
    "goodput_bps": ("goodput", "Mb/s", "rate", "high"),
    "mean_concurrent": ("mean number open", "", "plain", ""),
    "retransmits": ("retransmissions", "", "plain", "low"),
    "timeouts": ("timeouts", "", "plain", "low"),
    "timeout_wait_s": ("silence before timeouts", "s", "seconds", "low"),
    "completed": ("completed", "", "plain", "high"),
    "dropped_pkts": ("dropped packets", "pkt", "plain", "low"),
    "by_protocol.tcp.loss": ("loss of TCP", "%", "loss", "low"),
    "by_protocol.udp.loss": ("loss of UDP probes", "%", "loss", "low"),
    "utilisation.quantiles": ("utilisation, 1 s bins", "%", "utilisation", "high"),
    "bursts.ccdf": ("loss bursts", "", "plain", ""),
    "bursts.stitched_ccdf": ("loss bursts, stitched", "", "plain", ""),
    "bursts.ratio_of_medians": ("stitched over plain burst length", "", "index", ""),
    "occupancy.density": ("backlog at arrivals", "", "plain", ""),
    "occupancy.udp_density": ("backlog that UDP probes find", "", "plain", ""),
    "sizes.ccdf": ("flow sizes", "", "plain", ""),
    "per_flow.boxes": ("loss of flows by size", "%", "loss", "low"),
    "windows.by_size": ("mean congestion window by flow size", "", "plain", ""),
    "ssthresh.cdf": ("initial slow-start threshold", "", "plain", ""),
    "scaling.diagram": ("log-scale diagram of losses", "", "plain", ""),
    "scaling.haar": ("log-scale diagram of losses (Haar)", "", "plain", ""),
    "scaling.over_time": ("log-scale diagram of losses over time", "", "plain", ""),
    "scaling.below_rtt.alpha": ("slope of the log-scale diagram below the RTT", "", "index", ""),
}


@dataclass(frozen=True)
class Value:
    """How one number of a result is shown."""

    path: str
    name: str
    unit: str
    kind: str
    better: str
    """``"low"``, ``"high"``, or nothing where neither is better."""
    phrase: str = ""
    """The name inside a sentence."""

    @property
    def factor(self) -> float:
        """From the stored number to the one shown."""
        if self.kind in ("utilisation", "loss", "share", "harm"):
            return 100.0
        return 1e-6 if self.kind == "rate" else 1.0

    @property
    def title(self) -> str:
        """Name and unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name

    def text(self, number: float | None) -> str:
        """Write a stored number, in the unit shown but without it."""
        if number is None or not isfinite(number):
            return "–"
        shown = number * self.factor
        if self.kind in ("ssim", "mos"):
            return written(shown, ".2f")
        if self.kind == "index":
            return written(shown, ".3g")
        if self.kind == "seconds":
            return written(shown, ".1f" if abs(shown) < 100 else ".0f")
        if shown and abs(shown) < 0.095 and self.kind != "delay":
            return written(shown, ".1g")
        return written(shown, ".1f" if abs(shown) < 10 else ".0f")

    def alike(self, *numbers: float) -> list[str]:
        """Write stored numbers of one cell, a mean and its interval, with the same decimals."""
        return alike(
            [number * self.factor for number in numbers], lambda shown: self.text(shown / self.factor)
        )

    def as_printed(self, number: float | None) -> str:
        """Write a published number with the digits that it was printed with."""
        return "–" if number is None else f"{number * self.factor:.4g}"

    def finer(self, number: float, decimals: int) -> str:
        """Write a stored number with so many decimals at least."""
        text = self.text(number)
        return text if decimals_of(text) >= decimals else written(number * self.factor, f".{decimals}f")

    def difference(self, number: float | None) -> str:
        """Write a difference of stored numbers, with its sign."""
        text = self.text(number)
        return f"+{text}" if number is not None and number > 0 and text.strip("0.–") else text

    def with_unit(self, number: float | None) -> str:
        """Write a stored number with its unit."""
        return f"{self.text(number)} {self.unit}".strip()


def value(path: str, unit_if_unknown: str | None = None) -> Value:
    """Describe the number at a path of the result, such as ``links.up.occupancy_delay_ms``."""
    parts = path.split(".")
    start, found = _known(parts)
    if found is None:
        found = (parts[-1].replace("_", " "), unit_if_unknown or "", "plain", "")
        if path.endswith("_ms"):
            found = (parts[-1][:-3].replace("_", " "), "ms", "plain", "")
    name, unit, kind, better = found
    prefix = ".".join(parts[:start])
    who = _link_name(path) or next((_WHO[key] for key in (prefix, *_prefixes(prefix)) if key in _WHO), prefix)
    named = prefix.startswith("groups.")
    if named:
        who = prefix.removeprefix("groups.").replace(".reverse", ", against its data")
    full = f"{who}: {name}" if who else name
    phrase = f"{name} ({who})" if who else name
    return Value(path, full if named else upper(full), unit, kind, better, phrase)


def has_name(path: str) -> bool:
    """Say whether the number at a path has a name of its own, and not only that of its key."""
    return _known(path.split("."))[1] is not None


def _known(parts: list[str]) -> tuple[int, tuple[str, str, str, str] | None]:
    """Return where the longest ending that has a name begins, and what it is; the last part if none has."""
    for start in range(len(parts)):
        if found := _KINDS.get(".".join(parts[start:])):
            return start, found
    return max(len(parts) - 1, 0), None


def _link_name(path: str) -> str | None:
    """Name a link of a path with hops: ``home uplink`` for ``links.home.up.loss``."""
    link = link_of(path)
    return called(link) if link and hop_of(link) else None


def _prefixes(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[:end]) for end in range(len(parts) - 1, 0, -1)]


_AXES = {
    "workload": "Workload",
    "replication": "Replication",
    "queue.limit": "Buffer",
    "buffer": "Playback buffer",
    "algorithm": "Algorithm",
    "queue.kind": "Queue discipline",
    "queue.target": "Target delay",
    "queue.delay": "Delay in the queue",
    "queue": "Queue",
    "rate": "Rate",
    "rtt": "Base RTT",
    "transport": "Transport",
    "count": "Number",
    "resolution": "Resolution",
    "profile": "Profile",
}
_UNITS = {"pkt": "packets", "bdp": "× BDP"}
_LABEL = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z%][A-Za-z/%]*)")


_WORDS = {
    "http": "HTTP",
    "hystart": "HyStart",
    "ecn": "ECN",
    "rtt": "RTT",
    "tls": "TLS",
    "sack": "SACK",
    "dtx": "DTX",
    "fec": "FEC",
}
"""Words of keys that are abbreviations."""


def _place(parts: list[str]) -> tuple[str, list[str]]:
    """Say whose key an axis is, as far as it is a part's alone, and return what is left of it."""
    match parts:
        case ["users" | "flows" as whose, number, *key] if number.isdigit() and key:
            entry = f" (entry {int(number) + 1})" if int(number) else ""
            return f"{whose.capitalize()}{entry}:", key
        case ["path", "hop", hop, "up" | "down" as way, *key] if key:
            return called(f"{hop}.{way}"), key
        case ["path", "up" | "down" as way, *key] if key:
            return called(way), key
        case ["path", "hop", hop, *key] if key:
            return hop, key
    return "", parts


def axis_name(axis: str, labels: list[str] | None = None) -> str:
    """Name an axis of a sweep, with the unit that all its labels share.

    The direction is always said of what one link has, so that no two axes have one name.
    """
    parts = axis.split(".")
    name = next(
        (_AXES[end] for start in range(len(parts)) if (end := ".".join(parts[start:])) in _AXES), None
    )
    place, key = _place(parts)
    # What only the first entry has goes without saying whose it is, where it has a name.
    if name is None or (place and not (parts[0] in ("users", "flows") and parts[1] == "0")):
        words = " ".join(_WORDS.get(word, word) for part in key for word in part.split("-"))
        name = upper(f"{place} {lower(name) if name else words}".strip())
    unit = shared_unit(labels or [])
    return f"{name} ({_UNITS.get(unit.lower(), unit)})" if unit else name


def shared_unit(labels: list[str]) -> str:
    """Return the unit that all labels end in, as ``pkt`` of ``8pkt`` and ``64pkt``, or nothing."""
    found = [_LABEL.fullmatch(label) for label in labels]
    units = {match[2] if match else "" for match in found}
    return units.pop() if len(units) == 1 else ""


def tick(label: str, unit: str) -> str:
    """Write an axis label under an axis that already names the unit."""
    return label[: -len(unit)].strip() if unit and label.endswith(unit) else label


def number_of(label: str) -> float | None:
    """Return the number that a label begins with, or None when it is a name."""
    match = re.match(r"\d+(?:\.\d+)?", label)
    whole = re.fullmatch(r"\d+(?:\.\d+)?", label) or _LABEL.fullmatch(label)
    if not match or not whole:
        return None
    unit = whole[2].lower() if whole.re is _LABEL else ""
    scale = {"k": 1e3, "m": 1e6, "g": 1e9}.get(unit[:1], 1.0) if unit.endswith(("bit", "bit/s", "b")) else 1.0
    scale *= {"ns": 1e-6, "us": 1e-3, "s": 1e3, "min": 6e4, "h": 3.6e6}.get(unit, 1.0)
    return float(match[0]) * scale


def numbers_of(labels: list[str]) -> list[float] | None:
    """Return the numbers of labels that stand on one scale; None if they are names, or of several units."""
    numbers = [number for label in labels if (number := number_of(label)) is not None]
    units = {_dimension(match[2]) if (match := _LABEL.fullmatch(label)) else "" for label in labels}
    alike = len(numbers) == len(labels) and len(units) <= 1 and len(set(numbers)) == len(numbers)
    return numbers if alike else None


def _dimension(unit: str) -> str:
    """Return what a unit measures: limits in packets, bytes and BDP are not on one scale by their numbers."""
    unit = unit.lower()
    if unit.endswith(("bit", "bit/s")):
        return "bit"
    return "time" if unit in ("ns", "us", "ms", "s", "min", "h") else "byte" if unit[-1:] == "b" else unit


def lower(words: str) -> str:
    """Begin a name with a small letter, for the middle of a sentence; an abbreviation stays as it is."""
    return words if words[:2].isupper() else words[:1].lower() + words[1:]


def upper(words: str) -> str:
    """Begin a sentence or a title with a capital letter."""
    return words[:1].upper() + words[1:]
