"""Small rules of studies and of what they name: times, links, limits, files, voice, paths."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from sojourn.errors import SojournError
from sojourn.losses.response import long_groups
from sojourn.losses.traffic import _groups
from sojourn.qoe import spoken
from sojourn.qoe.media import cache
from sojourn.results import limits, show
from sojourn.results.path import flatten, link_of, look_up, paths
from sojourn.results.sizes import sizes
from sojourn.study import links, replications
from sojourn.study.inputs import recorded, trace, video, voice
from sojourn.study.suites.catalogue import Case
from sojourn.study.suites.presets import Preset
from sojourn.study.units import bits_per_second, bytes_of, nanoseconds, seconds, seconds_if_bare


def test_times_rates_and_sizes_have_the_scales_of_their_units() -> None:
    for text, ns in (
        ("1ns", 1), ("1us", 1000), ("1µs", 1000), ("1.5ms", 1_500_000), (".5s", 500_000_000),
        ("2min", 120 * 10**9), ("1h", 3600 * 10**9), (" 3 s ", 3 * 10**9), ("0.3ns", 0),
    ):  # fmt: skip
        assert nanoseconds(text) == ns
    assert seconds("250ms") == 0.25 and nanoseconds("4611686018s") == 4_611_686_018 * 10**9
    with pytest.raises(SojournError, match="at most 146 years"):
        nanoseconds("4611686019s")
    with pytest.raises(SojournError, match=r"^here: '5' is not a time; expected a number with one of ns, us"):
        nanoseconds("5", "here")
    assert [seconds_if_bare(text, "--x") for text in ("5", "0.5", "500ms", "2min")] == [5, 0.5, 0.5, 120]
    with pytest.raises(SojournError, match=r"^--x: '5x' is not a time; expected"):
        seconds_if_bare("5x", "--x")
    for text, bps in (("9bit", 9), ("1.5kbit", 1500), ("16Mbit", 16 * 10**6), ("2.5Gbit", 25 * 10**8)):
        assert bits_per_second(text) == bps
    for text, size in (
        ("9B", 9), ("1.5kB", 1500), ("2MB", 2 * 10**6), ("1GB", 10**9),
        ("1KiB", 1024), ("2MiB", 2**21), ("1GiB", 2**30),
    ):  # fmt: skip
        assert bytes_of(text) == size
    for read, text in (
        (bytes_of, "xB"),
        (bytes_of, "nanB"),
        (bytes_of, "B"),
        (bytes_of, "1e3B"),
        (bits_per_second, "xMbit"),
        (bits_per_second, "infbit"),
        (bits_per_second, "unlimited"),
    ):
        with pytest.raises(ValueError, match=f"^{text}$"):
            read(text)


def test_links_have_a_way_a_hop_and_a_name() -> None:
    for link, way, hop, called in (
        ("up", "up", None, "uplink"),
        ("down", "down", None, "downlink"),
        ("home.up", "up", "home", "home uplink"),
        ("a.b.down", "down", "a.b", "a.b downlink"),
        ("long.access", "access", "long", "long access links"),
    ):
        assert (links.way_of(link), links.hop_of(link), links.called(link)) == (way, hop, called)
    path = {"client-delay": "1ms", "server-delay": "2ms", "down": {"a": 1}, "up": {"a": 2}}
    hops = [{"name": "h", "delay": "4ms", "down": {"a": 3}, "up": {"a": 4}}, {"name": "i", "delay": "8ms"}]
    assert list(links.links({"path": path})) == [("down", {"a": 1}), ("up", {"a": 2})]
    document = {"path": {**path, "hop": hops}}
    assert [name for name, _ in links.links(document)] == ["down", "up", "h.down", "h.up"]
    assert links.base_rtt_ns({"path": path}) == 6_000_000
    assert links.base_rtt_ns(document) == 30_000_000
    flows = [{"access": {"rate": "1Mbit"}}, {}, {"access": None}]
    assert list(links.access_links({"flows": flows})) == [{"rate": "1Mbit"}]
    for over, link, does in (
        (None, "h.up", True), (["h"], "h.up", True), (["i"], "h.up", False), (["i"], "up", True),
        ([], "h.up", False),
    ):  # fmt: skip
        assert links.crosses({"over": over}, link) is does
    assert links.crosses({}, "h.up")


def test_numbers_are_found_by_paths_whose_names_may_have_dots() -> None:
    result = {
        "links": {"home": {"up": {"loss": None}}, "home.up": {"loss": 0.5, "cdf": [1]}},
        "n": 0,
        "b": True,
    }
    assert look_up(result, "links.home.up.loss") == 0.5 and look_up(result, "n") == 0
    assert look_up(result, "links.home.down.loss") is None and look_up(result, "n.x") is None
    for path, link in (
        ("links.up.loss", "up"), ("links.home.up.loss", "home.up"), ("losses.down.bursts", "down"),
        ("links.g.access.loss", "g.access"), ("flows.up.x", None), ("links", None), ("links.a.b.up", None),
        ("links.a.b", None),
    ):  # fmt: skip
        assert link_of(path) == link
    assert list(paths(result)) == ["links.home.up.loss", "links.home.up.cdf", "n"]
    assert flatten(result) == {"links.home.up.loss": 0.5, "n": 0, "b": True}


def test_sizes_are_the_least_and_most_of_each_link() -> None:
    def limit(packets: int, size: int, ms: float | None) -> dict[str, Any]:
        return {"limit": {"packets": packets, "bytes": size, "ms": ms}}

    both = [
        {"links": {"down": limit(8, 12_000, 6.0), "up": limit(1000, 1_500_000, None)}},
        {"links": {"down": limit(2000, 3_000_000, 1500.4), "up": limit(1000, 1_500_000, 9.0), "x": {}}},
        {},
    ]
    down, up = sizes(both)
    assert down.text == "8 to 2 000 packets, 12 000 to 3 000 000 bytes, 6 to 1 500 ms"
    assert down.row() == ["down", "8 to 2 000", "12 000 to 3 000 000", "6 to 1 500"]
    # A time is said only where every run has one.
    assert up.text == "1 000 packets, 1 500 000 bytes" and up.row()[-1] == "–"
    assert sizes(both[:1])[0].text == "8 packets, 12 000 bytes, 6 ms"


def held(*rows: tuple[str, dict[str, tuple[float | None, float, float | None]]]) -> dict[Any, Any]:
    units = ("limit_pkts", "limit_bytes", "limit_ms")
    return {
        (("path.down.queue.limit", label),): {
            link: dict(zip(units, numbers, strict=True)) for link, numbers in those.items()
        }
        for label, those in rows
    }


def test_labels_of_limits_stand_on_the_first_scale_on_which_each_means_one_number() -> None:
    same = (5.0, 7500.0, 6.0)
    packets = held(("8pkt", {"down": (8, 1, 1), "up": same}), ("1BDP", {"down": (40, 2, 1), "up": same}))
    assert limits.places(packets, "path.down.queue.limit") == ({"8pkt": 8, "1BDP": 40}, "packets of 1500 B")
    # Two labels of one number are not told apart by it.
    ms = held(("8pkt", {"down": (8, 1, 3)}), ("x", {"down": (8, 2, 4)}))
    assert limits.places(ms, "path.down.queue.limit") == ({"8pkt": 3, "x": 4}, "ms at the link's rate")
    size = held(("8pkt", {"down": (None, 1, 3)}), ("x", {"down": (8, 2, 3)}))
    assert limits.places(size, "path.down.queue.limit") == ({"8pkt": 1, "x": 2}, "bytes")
    assert limits.places(held(("a", {"down": same}), ("b", {"down": same})), "path.down.queue.limit") is None
    assert limits.places(packets, "path.down.rate") is None and limits.places(packets, "queue.limit") is None
    # An axis of all links must mean the same on each of them.
    one = {((("path.queue.limit", "8pkt")),): {"down": {"limit_pkts": 8}, "up": {"limit_pkts": 8}}}
    assert limits.places(one, "path.queue.limit") == ({"8pkt": 8}, "packets of 1500 B")
    two = {((("path.queue.limit", "1BDP")),): {"down": {"limit_pkts": 8}, "up": {"limit_pkts": 9}}}
    assert limits.places(two, "path.queue.limit") is None


def test_only_limits_that_differ_are_columns() -> None:
    rows = held(("a", {"down": (8, 1, 1), "h.up": (5, 5, 5)}), ("b", {"down": (9, 1, 1), "h.up": (5, 5, 5)}))
    found = limits.columns(rows)
    assert list(found[(("path.down.queue.limit", "b"),)]) == [
        f"path.down.queue.limit_{unit}" for unit in limits.UNITS
    ]
    assert found[(("path.down.queue.limit", "b"),)]["path.down.queue.limit_pkts"] == 9
    other = held(("a", {"h.up": (8, 1, 1)}), ("b", {"h.up": (9, 1, 1)}))
    assert next(iter(limits.columns(other)[(("path.down.queue.limit", "a"),)])).startswith(
        "path.hop.h.up.queue."
    )


def test_links_of_a_path_of_hops_are_shown_that_are_busy_or_lose() -> None:
    def result(**used: tuple[float, float]) -> dict[str, Any]:
        return {"links": {name: {"utilisation": u, "loss": loss} for name, (u, loss) in used.items()}}

    def busy(*results: dict[str, Any]) -> tuple[list[str], list[str]]:
        return show._busy_links([flatten(each) for each in results], list(results))

    assert busy(result(down=(0.1, 0), up=(0.0, 0))) == (["down", "up"], [])
    one = result(a=(0.5, 0), b=(0.51, 0), c=(0.1, 0.001), down=(0.2, 0))
    assert busy(one) == (["b", "c"], ["a", "down"])
    assert busy(one, result(a=(0.6, 0))) == (["a", "b", "c"], ["down"])


def test_limits_that_are_not_in_packets_are_told_in_words() -> None:
    def result(label: str, packets: int) -> dict[str, Any]:
        limit = {"packets": packets, "bytes": 1500 * packets, "ms": None}
        return {"point": {"path.down.queue.limit": label, "x": "1BDP"}, "links": {"down": {"limit": limit}}}

    runs = [result("8pkt", 8), result("1BDP", 40), result("2BDP", 80), result("1BDP", 41)]
    assert show._sizes(runs, ["x", "path.down.queue.limit"]) == [
        ("1BDP", "down 40 to 41 packets, 60 000 to 61 500 bytes"),
        ("2BDP", "down 80 packets, 120 000 bytes"),
    ]
    found = SimpleNamespace(captured=False, record={"command": "sojourn run s.toml"})
    told = {**result("1 BDP", 1), "replication": 2}
    assert show.reproduce(found, told) == (  # type: ignore[arg-type]
        "sojourn run s.toml --only 'path.down.queue.limit=1 BDP' --only x=1BDP --only replication=2 "
        "--out reproduced"
    )
    assert [show._number(0.1234, kind) for kind in ("percent", "number", "score")] == [
        "12.3 %",
        "0.1234",
        "0.12",
    ]
    assert (
        show._number(None, "score") == "–" and show._plain(1 / 3) == "0.333333" and show._plain("ä") == '"ä"'
    )


def test_traces_of_links_access_links_and_video_are_files_of_a_scenario() -> None:
    document = {
        "path": {"down": {"rate": {"trace": "a"}}, "up": {"rate": "1Mbit"}},
        "flows": [
            {"access": {"rate": {"trace": "b"}}, "source": {"kind": "bulk"}},
            {"source": {"kind": "video", "trace": "c"}},
        ],
    }
    assert [(kind, table["trace"]) for kind, table in trace._tables(document)] == [
        ("link", "a"), ("link", "b"), ("video", "c"),
    ]  # fmt: skip
    bare = trace.identity(document)["document"]
    assert "trace" not in json.dumps(bare) and document["flows"][1]["source"]["trace"] == "c"  # type: ignore[index]


TURN = pl.Struct({"accepted": pl.Boolean, "bytes": pl.UInt64, "wait_ns": pl.UInt64})
SCHEMA = {
    "tcp": pl.Boolean, "client_opens": pl.Boolean, "concurrent": pl.Boolean, "start_ns": pl.UInt64,
    "rtt_ns": pl.UInt64, "length_ns": pl.UInt64, "turns": pl.List(TURN),
}  # fmt: skip
WINDOWS = dict.fromkeys(("a_bytes", "b_bytes", "a_initial_window", "b_initial_window"), pl.UInt64)


def test_what_is_written_by_the_clock_is_told_apart(tmp_path: Path) -> None:
    def text(**each: Any) -> str:
        turns = [{"accepted": True, "bytes": 9, "wait_ns": 4, **each}]
        schema = {**SCHEMA, "turns": pl.List(pl.Struct({name: type(its) for name, its in turns[0].items()}))}
        row = (True, True, False, 50, 7, 900, turns)
        pl.DataFrame([row], schema=schema, orient="row").write_parquet(tmp_path / "w")
        return recorded.text_of(tmp_path / "w").split(" ")[-1]

    assert [text(), text(streamed=False), text(streamed=True)] == ["b9+4", "b9+4", "b9~4"]
    assert text(heard=3, writes=2, streamed=True) == "b9*2~4<3"


def test_a_workload_whose_columns_are_others_is_told_in_a_sentence(tmp_path: Path) -> None:
    row = (True, True, False, 50, 7, 900, [{"accepted": True, "bytes": 9, "wait_ns": 4}])
    plain = pl.DataFrame([row], schema=SCHEMA, orient="row")
    # Nothing is known of what a connection was opened after: a column of nothing is a column.
    after = {name: pl.Series([None]) for name in ("after", "after_bytes", "after_ns")}
    plain.with_columns(number=pl.lit(1), opener=pl.lit("x"), **after).write_parquet(tmp_path / "w")
    assert recorded.text_of(tmp_path / "w").splitlines() == ["length 900", "s c 50 7 b9+4"]
    for name, other in (("turns", pl.lit(3)), ("tcp", pl.lit("yes"))):
        plain.with_columns(other.alias(name)).write_parquet(tmp_path / "w")
        with pytest.raises(SojournError, match="is no workload; expected a file that"):
            recorded.text_of(tmp_path / "w")


def test_a_workload_s_text_has_a_line_for_each_connection_in_order_of_time(tmp_path: Path) -> None:
    def turns(*each: tuple[bool, int, int]) -> list[dict[str, Any]]:
        return [{"accepted": a, "bytes": b, "wait_ns": w} for a, b, w in each]

    rows = [
        (True, True, False, 50, 7, 900, turns((False, 1, 0), (True, 9, 4))),
        (False, False, False, 20, None, 900, turns((False, 3, 0))),
        (True, False, True, 30, 8, 900, turns((True, 5, 2))),
        (True, True, False, 10, 7, 900, []),
    ]
    plain = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    plain.write_parquet(tmp_path / "w")
    assert recorded.text_of(tmp_path / "w").splitlines() == [
        "length 900", "u s 20 - a3+0", "c s 30 8 b5+2", "s c 50 7 a1+0 b9+4",
    ]  # fmt: skip
    more = [(10, 9, 3, 4), (0, 0, 3, 4), (9, 10, 3, None), (1, 1, 1, 1)]
    pl.concat([plain, pl.DataFrame(more, schema=WINDOWS, orient="row")], how="horizontal").write_parquet(
        tmp_path / "x"
    )
    # Ends in whose turn the captures ended stand beside the side that opens.
    goes_on = {"a_goes_on": [False, True, True, False], "b_goes_on": [True, False, True, False]}
    plain.with_columns(**{end: pl.Series(said) for end, said in goes_on.items()}).write_parquet(
        tmp_path / "y"
    )
    ends = [line.split(" ")[1] for line in recorded.text_of(tmp_path / "y").splitlines()[1:]]
    assert ends == ["sa", "sab", "cb"]
    # And behind them which end closed first.
    closes = {"a_closes_first": [False, True, False, False], "b_closes_first": [False, False, True, True]}
    for also, said in ((goes_on, ["sa/a", "sab/b", "cb"]), ({}, ["s/a", "s/b", "c"])):
        columns = {name: pl.Series(its) for name, its in {**also, **closes}.items()}
        plain.with_columns(**columns).write_parquet(tmp_path / "y")
        ends = [line.split(" ")[1] for line in recorded.text_of(tmp_path / "y").splitlines()[1:]]
        assert ends == said
    # What each was opened after is named by its line and the end that sends; not what is left out or
    # later, no datagrams, and nothing by a number that two have.
    after = {
        "number": [4, 9, 2, 7], "after": [2, None, 7, None], "after_bytes": [800, None, 5, None],
        "after_ns": [30, None, 6, None], "opener": ["x", "y", "x", "x"],
    }  # fmt: skip
    cases: list[tuple[dict[str, list[Any]], str]] = [
        ({}, "50@1b800+30"),
        ({"opener": ["z", "y", "x", "x"]}, "50@1a800+30"),
        ({"number": [4, 2, 2, 7]}, "50@1b800+30"),
        ({"number": [2, 9, 2, 7]}, "50"),
        *(({"after": [other, None, 7, None]}, "50") for other in (4, 7, 9)),
    ]
    for changed, said in cases:
        its = [pl.Series(name, of) for name, of in {**after, **changed}.items()]
        plain.with_columns(its).write_parquet(tmp_path / "z")
        starts = [line.split(" ")[2] for line in recorded.text_of(tmp_path / "z").splitlines()[1:]]
        assert starts == ["20", "30", said], changed
    # The window is that of the end that sends more: of b where both send as much; none where it is not known.
    assert [line.split(" ")[3] for line in recorded.text_of(tmp_path / "x").splitlines()[1:]] == [
        "-/4",
        "8",
        "7/3",
    ]
    assert (
        recorded.length_s.__doc__
        and list(recorded._sources({"flows": [{"source": {"kind": "bulk"}}, {}]})) == []
    )


def test_what_scores_voice_is_settled_by_what_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    def settled(why: str | None, auto: str | None = None, **keys: Any) -> tuple[str | None, str | None]:
        monkeypatch.setattr(voice, "missing", lambda recordings, codec: why)
        user: dict[str, Any] = {"kind": "voice", **keys}
        note = voice.settle({"users": [{"kind": "web"}, user]}, auto)
        return user.get("score"), note

    assert settled(None) == ("pesq", None) and settled(None, score="auto") == ("pesq", None)
    assert settled("no", score="emodel") == ("emodel", None)
    score, note = settled("no package")
    assert score == "emodel" and note is not None and note.endswith("those of PESQ: no package")
    for insists in ({"score": "pesq"}, {"recordings": "mine"}):
        with pytest.raises(SojournError, match=r"^no package$"):
            settled("no package", **insists)
    assert settled("no", "emodel") == ("emodel", None) and settled("no", "pesq", score="auto")[0] == "pesq"
    assert settled("no", "emodel", score="pesq") == ("pesq", None)


def test_sound_is_named_by_all_that_makes_it_differ() -> None:
    plain = {"codec": "g711a", "concealment": "itu"}
    assert spoken.method(plain, 0.1) == ("itu",) and spoken.method({**plain, "codec": "g729a"}, 0) == (
        "g729a",
    )
    opus = {"codec": "opus", "concealment": "zero", "opus": {"bitrate": "24kbit", "fec": True}}
    assert spoken.method(opus, 0.066) == ("opus", "24kbit", "7", "fec", "zero")
    assert spoken.method(opus, 0.5)[2] == "20" and spoken.method(opus, 0.0)[2] == "0"
    opus["opus"] = {"bitrate": "24kbit", "fec": False, "dtx": True}
    assert spoken.method(opus, 0.0)[3:] == ("", "zero", "dtx")
    assert spoken.pauses(opus) and not spoken.pauses({**opus, "codec": "g722"})
    # Frames of 20 ms.
    assert [spoken.frames({"call": call}) for call in ("8s", "39ms", "40ms", "1ms")] == [400, 1, 2, 1]


def test_sound_heard_before_is_not_heard_again() -> None:
    sound = SimpleNamespace(digest="d")
    seen: dict[Any, Any] = {}

    class Cache(dict[Any, Any]):
        def get(self, key: Any, /, default: Any = None) -> Any:
            seen[key] = True
            return (1.0, True)

    def key(how: tuple[str, ...] = ("itu",), sample: int = 0, **columns: list[int]) -> Any:
        seen.clear()
        names = ("erased", "ahead", "silent")
        piece = {name: np.array(columns.get(name, [0, 0, 0]), dtype=bool) for name in names}
        piece["carried"] = np.array(columns.get("carried", [4, 5, 6]))
        assert spoken.listen(sound, sample, piece, how, Cache()) == (1.0, True)  # type: ignore[arg-type]
        return next(iter(seen))

    whole = key()
    assert whole == ("d", 0, 4, 3, "itu", b"")
    others = [
        key(sample=1), key(carried=[5, 6, 7]), key(carried=[4, 5]), key(("zero",)), key(erased=[1, 0, 0]),
        key(erased=[0, 1, 0]), key(("fec",), erased=[0, 1, 0], ahead=[0, 1, 0]),
        key(("fec",), erased=[0, 1, 0], ahead=[1, 0, 1]), key(erased=[1, 0, 0], silent=[0, 1, 0]),
    ]  # fmt: skip
    assert len({whole, *others}) == 10
    # Successors count only where a packet can repair the one before.
    assert key(erased=[0, 1, 0], ahead=[0, 1, 0]) == key(erased=[0, 1, 0])


def test_what_is_kept_is_made_once_and_where_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def make(place: Path) -> None:
        made.append(place)
        place.write_text("x")

    for _ in range(2):
        assert cache.kept(tmp_path / "a" / "b", make).read_text() == "x"
    assert len(made) == 1 and made[0].parent.parent == tmp_path / "a" and not made[0].exists()
    assert cache.sha256(tmp_path / "a" / "b").startswith("2d711642b726b044")
    for name in ("SOJOURN_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache.cache_directory() == Path.home() / ".cache/sojourn"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert cache.cache_directory() == Path("/x/sojourn")
    monkeypatch.setenv("SOJOURN_CACHE", "/y")
    assert cache.cache_directory() == Path("/y")


def test_what_a_point_shows_is_named_by_each_clip_in_each_coding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sojourn.qoe.media.video.coding.key", lambda name, how: f"{name} {how}")
    video._key.cache_clear()
    users = [
        {"kind": "video", "clips": ["a", "b"], "resolution": resolution, "profile": profile}
        for resolution in ("sd", "hd")
        for profile in ("aligned", "paper")
    ]
    together = video.identity({"users": users})["clips"]
    assert len(set(together)) == 8
    assert together == [key for user in users for key in video.identity({"users": [user]})["clips"]]
    assert video.identity({"users": [{"kind": "voice"}]}) == {}
    video._key.cache_clear()


def test_places_are_among_all_entries_whatever_stands_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sojourn.qoe.media.video.coding.encoded", lambda *_: SimpleNamespace(schedule=id, sizes=0)
    )
    talks = {"kind": "voice", "codec": "opus", "count": 1, "opus": {"dtx": True}}
    plain = {**talks, "opus": {"dtx": False}}
    shown = {
        "kind": "video",
        "count": 1,
        "clips": [],
        "smoothing": "1s",
        "resolution": "sd",
        "profile": "paper",
    }
    bulk = {"source": {"kind": "bulk"}, "transport": "cubic", "direction": "down"}
    reads, udp = {"kind": "web", "count": 3}, {**bulk, "transport": "udp"}

    def keyed(part: str) -> Callable[[Any], list[int]]:
        return lambda keys: [int(key.split(".")[1]) for key, _ in keys if key.startswith(part)]

    told = Preset(set={"flows.*.mss": 700})
    case = Case("c", Path(), "", "")
    for entry, other, places in (
        (talks, reads, lambda users: [place for place, _ in voice._without_pauses({"users": users})]),
        (talks, plain, lambda users: [place for place, _ in voice._without_pauses({"users": users})]),
        (shown, reads, lambda users: list(video.packets({"users": users}))),
        (talks, reads, lambda users: keyed("users")(replications.to_precision({"users": users}, 0.1))),
        (bulk, udp, lambda flows: list(long_groups(flows, "down", 1))),
        (bulk, {**bulk, "direction": "up"}, lambda flows: list(long_groups(flows, "down", 1))),
        (bulk, udp, lambda flows: keyed("flows")(told.keys(case, {"flows": flows}))),
    ):
        assert places([entry]) == [0]
        assert places([other, entry, other, other, entry]) == [1, 4]
        assert places([]) == places([other]) == []
    # Users are numbered one by one, through all entries.
    names, group_of, _ = _groups({"users": [reads, talks, reads]}, ["flows"])
    assert (names, group_of) == (["flows", "users-0", "users-1", "users-2"], [0, 1, 1, 1, 2, 3, 3, 3])
