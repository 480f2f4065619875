"""Readers of a page of today: Chromium without a window, and a real server of HTTP/1.1, HTTP/2 or HTTP/3.

The page is that of the simulated readers, object by object.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from sojourn import _core
from sojourn.errors import counted
from sojourn.study.units import bytes_of, nanoseconds
from sojourn.sweep.testbed import tcp
from sojourn.sweep.testbed.certificate import LEAST, certificate
from sojourn.sweep.testbed.kind import Gathered, Place
from sojourn.sweep.testbed.kinds.browser import FATES, unset, without_browser
from sojourn.sweep.testbed.program import Left, Program, Settings
from sojourn.sweep.testbed.programs import https

_CONTROLLERS = {"cubic": "cubic", "cubic-rfc9438": "cubic", "reno": "reno", "newreno": "reno"}
"""Of quinn, by the study's transport: its CUBIC follows RFC 8312, its NewReno RFC 9002."""
_PACKET = 1452
"""Bytes of a full packet, in which the window that a connection begins with is counted."""
_LEAST_HEADER = 200
_MS = 1e6


class Page:
    """See :class:`.kind.Kind`."""

    def refused(self, entry: Mapping[str, Any]) -> str | None:
        """Return why an entry cannot be run."""
        if (reason := without_browser()) is not None:
            return reason
        if (reason := https.missing()) is not None:
            return f"kind: {reason}"
        if find_spec("cryptography") is None:
            how = "pip install 'sojourn[testbed]'"
            return f"kind: cryptography, which makes the server's certificate, is not installed ({how})"
        if (size := bytes_of(entry["certificate"])) < LEAST:
            return f"certificate: {size} bytes are less than a first flight has; expected {LEAST}B or more"
        if (size := bytes_of(entry["response-header"])) < _LEAST_HEADER:
            least = f"expected {_LEAST_HEADER}B or more"
            return f"response-header: {size} bytes are less than a browser needs; {least}"
        return _not_by_quic(entry) if entry["http"] == "3" else tcp.refused(entry)

    def programs(self, place: Place) -> list[Program]:
        """Return one program for all readers of the entry."""
        entry = place.entry

        signed = certificate(bytes_of(entry["certificate"]))
        both = {"objects": objects(entry), "http": entry["http"]}
        client = {
            "starts_ns": [place.start_ns(k) for k in range(entry["count"])],
            "pause_ns": nanoseconds(entry["pause"]),
            "patience_ns": nanoseconds(entry["patience"]),
            "spki": signed.spki,
        }
        server = {"program": https.found(), "header": bytes_of(entry["response-header"])}
        if entry["http"] == "3":
            server["controller"] = _CONTROLLERS[entry["transport"]]
            server["initial_window"] = _PACKET * entry["initial-window"]
            settings = Settings(delay_ns=place.delay_ns)
        else:
            settings = tcp.settings(entry, place.delay_ns)
        files = {"certificate.pem": signed.chain, "key.pem": signed.key}
        return [Program("page", place.key, both | client, both | server, settings, files)]

    def gather(self, place: Place, left: Sequence[Left]) -> Gathered:
        """Return a row for each load that began in the measured period, or had not ended with the run."""
        (found,) = left
        rows = [
            row for row in found.client["loads"] if row["start_ns"] >= place.warmup_ns or row["fate"] is None
        ]
        if not rows:
            return Gathered()
        sizes = [size for _, _, size, *_ in objects(place.entry)]

        def since(row: Mapping[str, Any], what: str) -> int:
            return -1 if row.get(what) is None else round((row[what] - row["from"]) * _MS)

        complete = np.array([row["fate"] == "complete" for row in rows])
        table = {
            "user": np.array([place.first_user + row["user"] for row in rows], dtype=np.uint32),
            "start_ns": np.array([row["start_ns"] for row in rows], dtype=np.uint64),
            "load_ns": np.array([row["load_ns"] for row in rows], dtype=np.uint64),
            "fate": np.array([FATES[row["fate"]] for row in rows], dtype=np.uint8),
            "first_paint_ns": np.array([since(row, "first") for row in rows], dtype=np.int64),
            "largest_paint_ns": np.array([since(row, "largest") for row in rows], dtype=np.int64),
            "requests": np.array([row.get("parts", 0) for row in rows], dtype=np.uint32),
            "connections": np.array([row.get("connections", 0) for row in rows], dtype=np.uint32),
            "bytes": np.where(complete, sum(sizes), 0).astype(np.uint64),
        }
        spoken = Counter(word for row in rows for word in row.get("protocols", ()) if word)
        facts = {
            "browser": f"Chromium {found.client['browser']} without a window",
            "server": f"{https.NAME} ({'quinn' if place.entry['http'] == '3' else 'hyper'})",
            "protocols": sorted(spoken),
        }
        if "computed_s" in found.server:
            facts["server_computed_s"] = found.server["computed_s"]
        return Gathered(tables={"page": table}, notes=_notes(place.entry, rows, len(sizes)), facts=facts)


def objects(entry: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Return the objects of an entry's page: those of the simulated readers; see ``_core.page_objects``."""
    return [list(each) for each in _core.page_objects(entry["page"], entry["hosts"], entry["scale"])]


def _not_by_quic(entry: Mapping[str, Any]) -> str | None:
    """Return why a page cannot be loaded over quinn's QUIC as an entry asks."""
    if entry["transport"] not in _CONTROLLERS:
        had = f"no {entry['transport']!r}; it has {', '.join(_CONTROLLERS)}"
        return f"transport: HTTP/3 is quinn's on the testbed, which has {had}"
    if entry.get("hystart") not in (None, "none"):
        return f"hystart: {entry['hystart']!r} cannot be asked of quinn, which has no HyStart"
    return None


def _notes(entry: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], number: int) -> list[str]:
    """Return what should be known of loads, in sentences."""
    found = [] if entry["http"] == "3" else unset(entry)
    ended = [row for row in rows if row["fate"] == "complete"]
    if failed := [row["failed"] for row in rows if "failed" in row]:
        count = "counts" if len(failed) == 1 else "count"
        said = f"{counted(len(failed), 'load')} failed, which {count} as given up"
        found.append(f"{said}; at first: {failed[0]}")
    if short := sum(row["parts"] < number for row in ended):
        said = f"had fewer than {number} objects by the browser's own count"
        found.append(f"{short} of {len(ended)} complete loads {said}")
    if unseen := sum(not row["hero"] for row in ended):
        found.append(
            f"in {unseen} of {len(ended)} complete loads the largest picture was not seen to be painted"
        )
    return found
