"""The loss analyses on small packet logs that can be checked by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sojourn import _core
from sojourn.losses import Period, analyse, of_point
from sojourn.losses.bursts import bursts, of_places, runs
from sojourn.losses.flows import flows_of
from sojourn.losses.occupancy import occupancy
from sojourn.losses.of_flows import per_flow, sizes, ssthresh, windows
from sojourn.losses.period import UDP
from sojourn.losses.scaling import loss_counts, scaling
from sojourn.losses.tcp_udp import tcp_udp
from sojourn.losses.utilisation import utilisation
from sojourn.losses.wavelet import diagram, fit
from sojourn.results.packet_log import schema, table
from sojourn.study.units import nanoseconds

SECOND = 10**9


def log_of(
    fates: str, kinds: str = "", gap_ns: int = 100_000_000, backlog: list[int] | None = None
) -> pl.LazyFrame:
    """Make a log of one link: `x` a drop, `.` a packet that leaves at once; kind `u` is a datagram."""
    n = len(fates)
    arrive = np.arange(n) * gap_ns
    lost = np.array([fate == "x" for fate in fates])
    columns = {
        "link": ["down"] * n,
        "packet": np.arange(n),
        "flow": [2 if kind == "u" else 1 for kind in (kinds or "t" * n)],
        "kind": ["datagram" if kind == "u" else "data" for kind in (kinds or "t" * n)],
        "size_bytes": [1000] * n,
        "arrive_ns": arrive,
        "depart_ns": [None if gone else int(at) for gone, at in zip(lost, arrive, strict=True)],
        "drop_cause": ["full" if gone else None for gone in lost],
        "backlog_pkts": backlog or [0] * n,
        "backlog_bytes": [0] * n,
        "seq": [0] * n,
    }
    return pl.LazyFrame(columns, schema=schema())


def test_kinds_and_causes_have_the_codes_that_logs_were_written_with() -> None:
    kinds = ["data", "ack", "control", "datagram", "voice", "video", "rtcp", "quic"]
    assert schema()["kind"].categories.to_list() == kinds
    causes = ["full", "early", "sojourn", "path", "forced", "blue", "overload", "unknown", "policed"]
    assert schema()["drop_cause"].categories.to_list() == causes
    for kind in schema()["kind"].categories:
        is_udp = log_of(".").with_columns(pl.lit(kind).alias("kind")).select(UDP).collect().item()
        assert is_udp == (kind in {"datagram", "voice", "video", "rtcp", "quic"}), kind


def test_video_over_rtp_counts_as_udp() -> None:
    study = """name = "seen"
    duration = "5s"
    [path]
    rtt = "50ms"
    down = { rate = "1Mbit", queue = { kind = "fifo", limit = "4pkt" } }
    up = { rate = "1Mbit", queue = { kind = "fifo", limit = "4pkt" } }
    [[users]]
    kind = "video"
    """
    point = json.loads(_core.points(_core.parse(study, "seen.toml", []))[0])
    point["document"]["users"][0]["clips"] = ["a"]
    send, size = np.arange(1000, dtype=np.uint64) * 1_000_000, np.full(1000, 1356, np.uint16)
    log = table(_core.run(json.dumps(point), True, clips={0: [(send, size)]})["packets"])
    found = tcp_udp(log.lazy())
    assert list(found) == ["udp"]
    assert found["udp"]["packets"] == log.height > 1000
    assert found["udp"]["lost"] == log["drop_cause"].is_not_null().sum() > 100


def test_bursts_and_stitching() -> None:
    found = bursts(log_of("x.xx...xxx.x..x"))
    assert found["lengths"] == {"1": 3, "2": 1, "3": 1}
    # 1+2 across one delivered packet, 3+1 likewise; two delivered packets part bursts.
    assert found["stitched_lengths"] == {"1": 1, "3": 1, "4": 1}
    assert found["ccdf"] == {"length_pkts": [1, 2, 3], "share": [1.0, 0.4, 0.2]}
    assert (found["count"], found["max_pkts"], found["mean_pkts"]) == (5, 3, 8 / 5)
    # Over dropped packets: plain 1 1 1 2 2 3 3 3, stitched 1 3 3 3 4 4 4 4.
    assert (found["median_pkts"], found["stitched_median_pkts"], found["ratio_of_medians"]) == (2, 3, 1.5)


def test_no_losses_are_no_bursts() -> None:
    assert bursts(log_of("....")) == of_places(np.zeros(0))
    assert of_places(np.zeros(0))["ratio_of_medians"] is None
    assert runs(np.array([5], dtype=np.uint32), 1).tolist() == [1]


def test_tcp_beside_udp() -> None:
    found = tcp_udp(log_of("x.x..x", "tttuuu"))
    assert found["tcp"] == {"packets": 3, "lost": 2, "loss": 2 / 3}
    assert found["udp"] == {"packets": 3, "lost": 1, "loss": 1 / 3}
    assert "udp" not in tcp_udp(log_of("x."))


def test_density_of_the_backlog() -> None:
    found = occupancy(log_of("....", "tttu", backlog=[0, 2, 2, 4]))
    assert found["density"] == {"backlog_pkts": [0, 1, 2, 3, 4], "share": [0.25, 0.0, 0.5, 0.0, 0.25]}
    assert found["udp_density"]["share"] == [0.0, 0.0, 0.0, 0.0, 1.0]
    assert found["mean_pkts"] == 2.0
    deep = occupancy(log_of("..", backlog=[0, 2047]))
    assert len(deep["density"]["share"]) == 512 and deep["density"]["backlog_pkts"][1] == 4
    assert sum(deep["density"]["share"]) * 4 == pytest.approx(1)


def test_utilisation_counts_whole_seconds_after_the_warm_up() -> None:
    # Ten packets of 1000 bytes a second at 160 kbit/s: one half; none in the last second but drops.
    log = log_of("." * 30 + "x" * 10 + "." * 5)
    found = utilisation(log, Period(SECOND, 4 * SECOND + 500_000_000), 160_000)
    assert found["bins"] == 3
    assert found["mean"] == pytest.approx(1 / 3)
    assert found["sd"] == pytest.approx(np.std([0.5, 0.5, 0], ddof=1))
    assert found["quantiles"]["p50"] == 0.5
    assert utilisation(log, Period(0, SECOND), None)["mean"] is None
    assert utilisation(log, Period(0, 1000), None)["bins"] == 0


def test_flows_from_the_log_and_from_the_table() -> None:
    log = log_of("x.x.", "ttuu")
    period = Period(0, SECOND)
    made = flows_of(log, None, None, period)
    assert made.select("flow", "bytes", "packets", "lost").rows() == [(1, 2000, 2, 1)]
    table = pl.DataFrame(
        {
            "flow": [1, 2, 3, 4],
            "link": ["down", "down", "up", "down"],
            "bytes": [5000, 6000, 7000, 0],
            "packets": [4, 5, 6, 1],
            "lost": [1, 0, 0, 1],
            "start_ns": [10, 20, 30, 40],
            "end_ns": [99, None, 99, 99],
        }
    )
    assert flows_of(log, table, "down", period)["flow"].to_list() == [1]
    assert flows_of(log, table, "down", Period(11, SECOND)).height == 0


def table_of(sizes_: list[int], lost: list[int]) -> pl.DataFrame:
    n = len(sizes_)
    frame = pl.DataFrame(
        {
            "flow": range(n),
            "link": ["down"] * n,
            "bytes": sizes_,
            "packets": [10] * n,
            "lost": lost,
            "start_ns": [0] * n,
            "end_ns": [1] * n,
            "mean_cwnd_pkts": [float(size) / 100 for size in sizes_],
            "initial_ssthresh_pkts": [4.0 if gone else None for gone in lost],
        }
    )
    return flows_of(log_of("."), frame, "down", Period(0, SECOND))


def test_who_loses_by_size() -> None:
    flows = table_of([1024] * 10 + [1500] * 10 + [5000] * 12 + [40_000], [0] * 10 + [2] * 10 + [1] * 12 + [9])
    found = per_flow(flows)
    boxes = found["boxes"]
    assert boxes["from_bytes"] == [1024, 4096, 32768] and boxes["flows"] == [20, 12, 1]
    assert boxes["happy_share"] == [0.5, 0.0, 0.0]
    assert boxes["mean"] == pytest.approx([0.1, 0.1, 0.9]) and boxes["p50"] == pytest.approx([0.2, 0.1, 0.9])
    assert found["happy_share"] == 10 / 33
    assert found["most_lossy_bytes"] in (1024, 4096)  # the one big flow is too few to say
    largest = windows(flows)
    assert largest["by_size"]["from_bytes"] == [1024, 4096] and largest["largest_pkts"] == 50.0
    threshold = ssthresh(flows)
    assert threshold["set_share"] == 23 / 33 and threshold["median_pkts"] == 4.0
    assert ssthresh(table_of([100], [0]))["median_pkts"] is None


def test_sizes() -> None:
    found = sizes(table_of([1000, 2000, 4000, 8000], [0] * 4))
    assert (found["flows"], found["mean_bytes"], found["max_bytes"]) == (4, 3750, 8000)
    share = dict(zip(found["ccdf"]["bytes"], found["ccdf"]["share"], strict=True))
    assert share[2**11] == 0.5 and min(share.values()) == 0.25
    assert sizes(table_of([], []))["flows"] == 0


def test_losses_in_bins_of_a_millisecond() -> None:
    log = log_of("xx.x", gap_ns=600_000)
    assert loss_counts(log, Period(0, 3_000_000)).tolist() == [2, 1, 0]
    # From the warm-up on, and never beyond the end.
    log = log.filter(pl.col("arrive_ns") >= 600_000)
    assert loss_counts(log, Period(600_000, 1_600_000)).tolist() == [1]


def test_everything_of_a_log_without_losses() -> None:
    found = analyse(log_of("." * 50), Period(0, 5 * SECOND), link="down", rate_bps=1e6, rtt_ns=150_000_000)
    assert found["loss"] == 0.0 and found["scaling"]["fit"] is None and found["scaling"]["below_rtt"] is None
    assert found["scaling"]["independence"]["p"] is None
    nothing = analyse(log_of("...").filter(pl.lit(False)), Period(0, SECOND), link="down")
    assert nothing["loss"] is None and nothing["per_flow"]["happy_share"] is None


def test_octaves_below_the_round_trip() -> None:
    counts = np.random.default_rng(2).poisson(0.5, 120_000)
    found = scaling(counts, 150_000_000)
    assert (found["below_rtt"]["j1"], found["below_rtt"]["j2"]) == (1, 7)
    assert abs(found["below_rtt"]["alpha"]) < 0.03 and found["below_rtt"]["range"] < 0.2
    assert found["over_time"]["start_s"] == [0.0, 30.0, 60.0]
    assert len(found["over_time"]["log2_energy"]) == 3


@pytest.mark.parametrize(
    ("text", "ns"), [("150ms", 150_000_000), ("37.5ms", 37_500_000), ("2min", 120 * SECOND)]
)
def test_times(text: str, ns: int) -> None:
    assert nanoseconds(text) == ns


def test_quantiles_deviation_and_bins_of_utilisation_by_hand() -> None:
    # Of n bins the p-th quantile is the one at place p·n/100, counted from 0; the deviation is over n − 1.
    fates = "".join("." * (1 + second) + "x" * (9 - second) for second in range(10))
    found = utilisation(log_of(fates), Period(0, 10 * SECOND), 80_000)
    assert found["quantiles"] == pytest.approx({"p5": 0.1, "p25": 0.3, "p50": 0.6, "p75": 0.8, "p95": 1.0})
    assert found["sd"] == pytest.approx(np.std(np.arange(1, 11) / 10, ddof=1))
    two = utilisation(log_of("." * 10 + "x" * 10), Period(0, 2 * SECOND), 80_000)
    assert two["sd"] == pytest.approx(2**0.5 / 2)
    # A warm-up shifts the bins: each second counts from its end.
    shifted = utilisation(log_of(fates), Period(SECOND // 2, SECOND // 2 + 9 * SECOND), 80_000)
    assert shifted["bins"] == 9 and shifted["quantiles"]["p5"] == pytest.approx(0.2)


def test_quantiles_and_means_of_flows_by_hand() -> None:
    flows = table_of([1024] * 6, [0, 1, 2, 3, 4, 5]).with_columns(
        packets=pl.Series([10, 10, 10, 10, 10, 50]), mean_cwnd_pkts=pl.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    )
    flows = flows.with_columns(loss=pl.col("lost") / pl.col("packets"))
    boxes = per_flow(flows)["boxes"]
    # Unhappy flows lost 0.1 0.1 0.2 0.3 0.4; linear between neighbours.
    wanted = {"p5": 0.1, "p25": 0.1, "p50": 0.2, "p75": 0.3, "p95": 0.38}
    assert {name: boxes[name][0] for name in wanted} == pytest.approx(wanted)
    assert boxes["mean"] == pytest.approx([1.1 / 6]) and boxes["pooled"] == pytest.approx([15 / 100])
    assert per_flow(flows)["most_lossy_bytes"] is None and windows(flows)["largest_pkts"] is None
    ten = table_of([1024] * 10 + [2048] * 9, [0] * 19).with_columns(
        mean_cwnd_pkts=pl.Series([float(n) for n in range(19)])
    )
    by_size = windows(ten)["by_size"]
    assert by_size == {"from_bytes": [1024.0], "mean_cwnd_pkts": [4.5], "low": [2.25], "high": [6.75]}


def test_the_octave_that_loses_most_is_that_of_the_greatest_mean_over_flows() -> None:
    flows = table_of([1024] * 10 + [4096] * 10, [2] * 10 + [1] * 10)
    # Of the small ones one is large enough to bring the pooled loss below that of the others.
    flows = flows.with_columns(packets=pl.Series([10] * 9 + [10_000] + [10] * 10))
    flows = flows.with_columns(loss=pl.col("lost") / pl.col("packets"))
    assert per_flow(flows)["most_lossy_bytes"] == 1024


@pytest.mark.parametrize(("size", "octave"), [(1, 0), (1023, 9), (1024, 10), (1025, 10), (2**40, 40)])
def test_octaves_of_sizes(size: int, octave: int) -> None:
    assert table_of([size], [0])["bin"].to_list() == [octave]


def test_sizes_are_larger_and_not_as_large() -> None:
    found = sizes(table_of([1024, 1024, 4096, 8192], [0] * 4))["ccdf"]
    assert dict(zip(found["bytes"], found["share"], strict=True))[1024] == 0.5


def test_first_thresholds() -> None:
    flows = table_of([100] * 5, [1, 1, 1, 1, 0]).with_columns(
        initial_ssthresh_pkts=pl.Series([2.0, 4.0, 8.0, 16.0, None])
    )
    found = ssthresh(flows)
    at = dict(zip(found["cdf"]["share"], found["cdf"]["initial_ssthresh_pkts"], strict=True))
    assert (found["set_share"], found["median_pkts"], at[0.5]) == (0.8, 6.0, 6.0)
    assert at[0.01] < 3 < 15 < at[0.999]


def test_a_period_holds_its_start_and_not_its_end() -> None:
    log = log_of("...", gap_ns=SECOND)
    found = Period(SECOND, 2 * SECOND).arrivals(log).collect()
    assert found["arrive_ns"].to_list() == [SECOND]
    made = flows_of(log_of("..", "tt"), None, None, Period(1, SECOND))
    assert made.height == 0  # it began before the period


def test_backlogs_of_exactly_as_many_as_there_are_bins() -> None:
    assert len(occupancy(log_of("..", backlog=[0, 511]))["density"]["share"]) == 512
    wide = occupancy(log_of("..", backlog=[0, 512]))["density"]
    assert wide["backlog_pkts"][1] == 2 and wide["share"][0] == 0.25


def test_octaves_below_the_round_trip_end_below_it() -> None:
    counts = np.random.default_rng(4).poisson(0.5, 40_000)
    # 2⁷ ms is below 250 ms, 2⁸ ms is not.
    found = scaling(counts, 250_000_000)
    assert found["below_rtt"]["j2"] == 7 and found["independence"]["lags"] == 250
    haar, smooth = diagram(counts, 1), diagram(counts, 3)
    assert found["haar"]["log2_energy"] == haar.y.tolist()
    assert found["diagram"]["log2_energy"] == smooth.y.tolist()
    assert found["below_rtt"]["alpha"] == fit(haar, 1, 7).alpha
    assert found["below_rtt"]["range"] == pytest.approx(haar.y[:7].max() - haar.y[:7].min())


def test_the_round_trip_of_a_point_is_both_ways(tmp_path: Path) -> None:
    file = tmp_path / "log.parquet"
    rng = np.random.default_rng(1)
    fates = "".join("x" if lost else "." for lost in rng.random(40_000) < 0.3)
    log_of(fates, gap_ns=1_000_000).collect().write_parquet(file)
    document = {"duration": "40s", "warmup": "2s", "path": {"client-delay": "5ms", "server-delay": "20ms"}}
    found = of_point(str(file), None, document, {"down": 1e6})["down"]
    assert found["scaling"]["below_rtt"]["j2"] == 5  # 2⁵ ms is below 50 ms
    assert found["packets"] == 38_000 and found["utilisation"]["bins"] == 38
