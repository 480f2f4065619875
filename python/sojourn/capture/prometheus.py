"""Metrics of a followed interface in Prometheus' text format (version 0.0.4), on localhost."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from sojourn.capture import CaptureError

_QUANTILES = {"0.5": "p50_ms", "0.95": "p95_ms", "0.99": "p99_ms", "1": "max_ms"}


def metrics(summary: Mapping[str, Any]) -> str:
    """Return a summary as metrics; delays in seconds, as is the custom."""
    delay = [
        "# HELP sojourn_queue_delay_seconds Queueing delay of packets from a remote host.",
        "# TYPE sojourn_queue_delay_seconds summary",
    ]
    recent = [
        "# HELP sojourn_recent_queue_delay_seconds Mean queueing delay since the last look.",
        "# TYPE sojourn_recent_queue_delay_seconds gauge",
    ]
    for host in summary["hosts"]:
        if not host["samples"]:
            continue
        who = f'remote="{host["remote"]}",protocol="{host["protocol"]}"'
        for quantile, key in _QUANTILES.items():
            if key not in host:
                continue
            delay.append(f'sojourn_queue_delay_seconds{{{who},quantile="{quantile}"}} {host[key] / 1e3:.9g}')
        total = host["mean_ms"] * host["samples"] / 1e3
        delay.append(f"sojourn_queue_delay_seconds_sum{{{who}}} {total:.9g}")
        delay.append(f"sojourn_queue_delay_seconds_count{{{who}}} {host['samples']}")
    for remote, protocol, _, mean, _ in summary["recent"]:
        labels = f'remote="{remote}",protocol="{protocol}"'
        recent.append(f"sojourn_recent_queue_delay_seconds{{{labels}}} {mean / 1e3:.9g}")
    packets = [
        "# HELP sojourn_packets_total Packets seen.",
        "# TYPE sojourn_packets_total counter",
        f"sojourn_packets_total {summary['packets']}",
    ]
    return "\n".join([*delay, *recent, *packets]) + "\n"


class Server:
    """Holds a port, and serves the latest metrics at ``/metrics`` from `start` until `close`."""

    def __init__(self, port: int) -> None:
        self._text = b""
        outer = self

        class Handler(BaseHTTPRequestHandler):
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
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except OSError as error:
            raise CaptureError(f"port {port} cannot be served: {error.strerror or error}") from None
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def start(self) -> None:
        """Answer what asks."""
        self._thread.start()

    def publish(self, summary: Mapping[str, Any]) -> None:
        """Serve a newer summary."""
        self._text = metrics(summary).encode()

    def close(self) -> None:
        """Stop serving."""
        if self._thread.is_alive():
            self._server.shutdown()
        self._server.server_close()
