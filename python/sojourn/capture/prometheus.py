"""Metrics in Prometheus' text format (version 0.0.4), on localhost: of a followed interface by default."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sojourn.capture import CaptureError

_QUANTILES = {"0.5": "p50_ms", "0.95": "p95_ms", "0.99": "p99_ms", "1": "max_ms"}
_PATIENCE_S = 10.0
"""Who asks nothing for so long is not waited for."""


def metrics(summary: Mapping[str, Any]) -> str:
    """Return a summary as metrics; delays in seconds, as is the custom."""
    hosts = summary["hosts"]
    lines = _delays("queue_delay", "from a remote host", [(host, host) for host in hosts], summary["recent"])
    toward = [(host, host["to_remote"]) for host in hosts if isinstance(host.get("to_remote"), Mapping)]
    if toward:
        recent = summary["recent_to_remote"]
        lines += _delays("queue_delay_to_remote", "to a remote host", toward, recent)
    lines += [
        "# HELP sojourn_packets_total Packets seen.",
        "# TYPE sojourn_packets_total counter",
        f"sojourn_packets_total {summary['packets']}",
    ]
    return "\n".join(lines) + "\n"


def _delays(
    name: str,
    way: str,
    found: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    recent: Sequence[tuple[str, str, int, float, float]],
) -> list[str]:
    """Return the metrics of one direction; `found`: the host, and what was found of that direction."""
    lines = [
        f"# HELP sojourn_{name}_seconds Queueing delay of packets {way}.",
        f"# TYPE sojourn_{name}_seconds summary",
    ]
    for host, delay in found:
        if not delay["samples"]:
            continue
        who = f'remote="{host["remote"]}",protocol="{host["protocol"]}"'
        for quantile, key in _QUANTILES.items():
            if key in delay:
                lines.append(f'sojourn_{name}_seconds{{{who},quantile="{quantile}"}} {delay[key] / 1e3:.9g}')
        total = delay["mean_ms"] * delay["samples"] / 1e3
        lines.append(f"sojourn_{name}_seconds_sum{{{who}}} {total:.9g}")
        lines.append(f"sojourn_{name}_seconds_count{{{who}}} {delay['samples']}")
    lines += [
        f"# HELP sojourn_recent_{name}_seconds Mean queueing delay since the last look"
        + ("." if name == "queue_delay" else f", of packets {way}."),
        f"# TYPE sojourn_recent_{name}_seconds gauge",
    ]
    for remote, protocol, _, mean, _ in recent:
        labels = f'remote="{remote}",protocol="{protocol}"'
        lines.append(f"sojourn_recent_{name}_seconds{{{labels}}} {mean / 1e3:.9g}")
    return lines


class _Scraped(ThreadingHTTPServer):
    """Takes many that ask at once, and says nothing of those that hang up before they are answered."""

    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Server:
    """Holds a port, and serves the latest metrics at ``/metrics`` from `start` until `close`."""

    def __init__(self, port: int, write: Callable[[Mapping[str, Any]], str] = metrics) -> None:
        self._text, self._write = b"", write
        outer = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE_S

            def do_GET(self) -> None:
                if self.path.split("?")[0] != "/metrics":
                    self.send_error(404, "the metrics are at /metrics")
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
                self.send_header("Content-Length", str(len(outer._text)))
                self.end_headers()
                self.wfile.write(outer._text)

            def log_message(self, *_: Any) -> None:
                """Say nothing of every scrape."""

        if not 1 <= port <= 65_535:
            raise CaptureError(f"--prometheus is {port}; expected a port from 1 to 65535")
        try:
            self._server = _Scraped(("127.0.0.1", port), Handler)
        except OSError as error:
            raise CaptureError(f"port {port} cannot be served: {error.strerror or error}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def start(self) -> None:
        """Answer what asks."""
        self._thread.start()

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Serve a newer summary."""
        self._text = self._write(summary).encode()

    def close(self) -> None:
        """Stop serving."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
