"""What Prometheus is given: the text of a fixed summary, and seconds throughout."""

from __future__ import annotations

import re

from sojourn.capture.prometheus import metrics

SUMMARY = {
    "packets": 4321,
    "hosts": [
        {
            "remote": "192.0.2.7",
            "protocol": "tcp",
            "samples": 200,
            "mean_ms": 12.5,
            "p50_ms": 10.0,
            "p95_ms": 40.0,
            "max_ms": 81.25,
        },
        {"remote": "2001:db8::1", "protocol": "utp", "samples": 0},
    ],
    "recent": [["192.0.2.7", "tcp", 20, 7.5, 31.0]],
}
TEXT = """\
# HELP sojourn_queue_delay_seconds Queueing delay of packets from a remote host.
# TYPE sojourn_queue_delay_seconds summary
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="0.5"} 0.01
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="0.95"} 0.04
sojourn_queue_delay_seconds{remote="192.0.2.7",protocol="tcp",quantile="1"} 0.08125
sojourn_queue_delay_seconds_sum{remote="192.0.2.7",protocol="tcp"} 2.5
sojourn_queue_delay_seconds_count{remote="192.0.2.7",protocol="tcp"} 200
# HELP sojourn_recent_queue_delay_seconds Mean queueing delay since the last look.
# TYPE sojourn_recent_queue_delay_seconds gauge
sojourn_recent_queue_delay_seconds{remote="192.0.2.7",protocol="tcp"} 0.0075
# HELP sojourn_packets_total Packets seen.
# TYPE sojourn_packets_total counter
sojourn_packets_total 4321
"""


def test_the_text_of_a_summary() -> None:
    assert metrics(SUMMARY) == TEXT


def test_rate_of_the_sum_over_rate_of_the_count_is_the_mean_between_two_looks() -> None:
    later = {**SUMMARY["hosts"][0], "samples": 300, "mean_ms": 15.0}

    def sum_and_count(summary: dict) -> tuple[float, float]:
        text = metrics(summary)
        return tuple(float(re.search(rf"_{name}{{.*}} (\S+)", text)[1]) for name in ("sum", "count"))

    before, after = sum_and_count(SUMMARY), sum_and_count({**SUMMARY, "hosts": [later]})
    # 100 samples more, whose mean is (300 × 15 − 200 × 12.5) / 100 = 20 ms.
    assert (after[0] - before[0]) / (after[1] - before[1]) == 0.02
