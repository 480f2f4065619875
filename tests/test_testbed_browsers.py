"""Users of the testbed who have a browser: what they are told, and what pages noted becomes of results."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sojourn.sweep import testbed
from sojourn.sweep.testbed import webrtc
from sojourn.sweep.testbed.dash import library
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import USERS, browser, call
from sojourn.sweep.testbed.kinds.adaptive import tables
from sojourn.sweep.testbed.kinds.page import _not_by_quic, _notes
from sojourn.sweep.testbed.program import Left
from sojourn.sweep.testbed.programs import chromium
from test_testbed_kinds import S, point

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.dash import _made

MS = 1_000_000
BROWSER = '[[users]]\nkind = "browser"\ncount = 2\npages = 3\npage-median = "90kB"\n'


def place(text: str, first: int = 0) -> Place:
    return Place(point(text), "users", 0, first)


def test_browsers_load_the_rehearsal_s_pages_after_its_pauses() -> None:
    at = place(BROWSER)
    (program,) = USERS["browser"].programs(at)
    alone = at.rehearse().tables["browser"]
    for k, user in enumerate(program.client["users"]):
        mine = alone["user"] == k
        starts, lengths = (alone[name][mine].astype(np.int64) for name in ("start_ns", "plt_ns"))
        assert (
            user["start_ns"] == starts[0]
            and [page for page, _ in user["loads"]] == alone["page"][mine].tolist()
        )
        dwells = [dwell for _, dwell in user["loads"]]
        assert dwells == [*(starts[1:] - starts[:-1] - lengths[:-1]).tolist(), 0]
    assert program.client["patience_ns"] == 15 * S and program.server["header"] == 300
    nobody = place(BROWSER.replace("count = 2", "count = 0"))
    assert USERS["browser"].programs(nobody) == []


def test_loads_of_browsers_have_the_bytes_of_their_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = place(BROWSER, 7)
    load = {"user": 1, "page": 2, "plt_ns": 5, "fate": "complete"}
    loads = [{**load, "start_ns": 2 * S - 1}, {**load, "start_ns": 2 * S}]
    loads += [{**load, "start_ns": 3 * S, "fate": fate} for fate in ("abandoned", None)]
    table = USERS["browser"].gather(at, [Left({"loads": loads}, {}, tmp_path)]).tables["browser"]
    assert table["user"].tolist() == [8] * 3 and table["fate"].tolist() == [1, 2, 0]
    assert set(table["bytes"]) == {sum(browser.pages(at.entry)[2])}
    assert USERS["browser"].gather(at, [Left({"loads": loads[:1]}, {}, tmp_path)]).tables == {}
    monkeypatch.setattr(chromium, "missing", lambda: None)
    why = USERS["browser"].refused({**at.entry, "connections": 5})
    assert why is not None and "6 to a host, not 5" in why
    monkeypatch.setattr(chromium, "missing", lambda: "it is not here")
    why = USERS["browser"].refused({**at.entry, "connections": 5})
    assert why == "kind: pages are loaded by a browser on the testbed, and it is not here"


def test_players_of_the_web_are_seen_from_when_they_began() -> None:
    viewing = SimpleNamespace(user=3, clip=lambda: (4.0, [100.0, 200.0], [[10, 20], [30, 40]]))
    request = {
        "url": "http://h/3/1/1",
        "request": 1100.0,
        "first": 1150.0,
        "arrive": 1200.0,
        "before": 0.5,
        "after": 4.5,
    }
    seen = {
        "begun": 1000.0, "now": 9000.0, "playing": 1500.0, "heard": ["x"],
        "stalls": [[2000.0, 2500.0], [8000.0, None]],
        "requests": [
            request,
            {**request, "url": "/3/2/2", "given_up": True},
            {"url": "/3/1/2", "request": 3000.0, "before": 4.0},
        ],
    }  # fmt: skip
    made = _made(seen, viewing, 400 * MS)
    assert made is not None
    assert (made["user"], made["begun_ns"], made["segments"], made["played_s"]) == (3, 600 * MS, 2, 0.5)
    assert made["stalls"] == [[1.0, 1.5], [7.0, 8.0]] and made["heard"] == ["x"]
    rows = made["rows"]
    assert (rows["segment"], rows["level"], rows["bytes"]) == ([1, 2], [1, 1], [10, 30])
    # What was given up counts with the next that was not.
    assert rows["given_up"] == [0, 1] and rows["rate_kbps"] == [100.0, 100.0]
    assert rows["request_s"] == [pytest.approx(0.1), 2.0] and rows["after_s"] == [4.5, 0.0]
    assert rows["first_byte_s"][0] == pytest.approx(0.15) and np.isinf(rows["arrive_s"][1])
    watched = tables([made])["viewers"]
    assert watched["end_ns"].tolist() == [-1] and watched["play_ns"].tolist() == [1100 * MS]
    assert _made({**seen, "begun": None}, viewing, 0) is None
    assert _made({**seen, "requests": []}, viewing, 0)["rows"] == {}  # type: ignore[index]
    assert _made({**seen, "playing": None}, viewing, 0)["played_s"] is None  # type: ignore[index]


def test_players_are_told_the_study_s_buffer_without_a_segment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from sojourn.sweep.testbed.dash import media

    (tmp_path / "x.js").write_bytes(b"js")
    monkeypatch.setattr(media, "coded", lambda _: (b"", b"", 90))
    monkeypatch.setattr(library.Library, "script", lambda _: tmp_path / "x.js")
    text = '[[users]]\nkind = "adaptive"\nbuffer = "30s"\ninitial = "6s"\nalgorithm = "shaka"\n'
    (program,) = USERS["adaptive"].programs(place(text))
    assert program.name == "dash" and program.server["timescales"] == {"4": 90}
    told = {key: program.client[key] for key in ("player", "buffer_s", "initial_s", "give_up", "request")}
    assert told == {"player": "shaka", "buffer_s": 26.0, "initial_s": 6.0, "give_up": False, "request": 300}
    (own,) = USERS["adaptive"].programs(place(text.replace("shaka", "bba2")))
    assert own.name == "adaptive" and list(own.files) == ["point.json"]
    live = place(text.replace('initial = "6s"\n', "live = {}\n").replace("shaka", "bba2"))
    why = USERS["adaptive"].refused(live.entry)
    assert why is not None and why.startswith("live: streams with low latency are simulated only")


CALL = '[[users]]\nkind = "call"\nstart-within = "0s"\nheight = 360\ndirection = "{}"\n'


@pytest.mark.parametrize(
    ("direction", "client", "server"),
    [
        ("up", (True, False), (False, True)),
        ("down", (False, True), (True, False)),
        ("both", (True,) * 2, (True,) * 2),
    ],
)
def test_who_calls_sends_up_and_receives_down(
    direction: str, client: tuple[bool, bool], server: tuple[bool, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webrtc, "camera", lambda *_: b"")
    (program,) = USERS["call"].programs(place(CALL.format(direction)))
    for told, ways, offers in ((program.client, client, True), (program.server, server, False)):
        assert (told["sends"], told["receives"], told["offers"]) == (*ways, offers)
        assert (told["width"], told["height"], told["audio"], told["calls"]) == (640, 360, 32_000, [0])


def test_counts_are_how_much_they_grew_while_it_was_measured() -> None:
    looks = [(1, {"n": 5, "m": 2}), (2, {"n": 7}), (3, {"n": 11, "m": 6}), (4, {})]
    assert call._grown(looks, "n") == 6 and call._grown(looks, "x") == 0 and call._grown([], "n") == 0
    assert call._share(looks, "n", "m") == 1.5 and call._share(looks, "n", "m", 1e3) == 1500.0
    assert call._share(looks, "n", "x") is None and call._median([]) is None and call._median([1, 2]) == 1.5


@pytest.mark.parametrize(
    ("cipher", "tag"),
    [("AEAD_AES_128_GCM", 16), ("AES_CM_128_HMAC_SHA1_80", 10), ("AES_CM_128_HMAC_SHA1_32", 4), (None, 16)],
)
def test_bytes_of_all_streams_count_with_headers_and_tags(cipher: str | None, tag: int) -> None:
    def look(ms: int, packets: int, **more: Any) -> dict[str, Any]:
        one = {
            "type": "outbound-rtp",
            "bytesSent": 100 * packets,
            "headerBytesSent": 10 * packets,
            "packetsSent": packets,
        }
        other = {"type": "inbound-rtp", "bytesSent": 10**6}
        return {"at": ms, "streams": [one, one, other, {"type": "transport", "srtpCipher": cipher}]}

    page = {"looks": [look(100, 1), look(200, 3), look(300, 2)]}
    grid = np.array([0, 50, 100, 200, 300, 400]) * MS
    each = 2 * (110 + 28 + tag)
    # Counts do not fall: what a stream that ended had sent stays.
    assert call.Heard._bytes(page, 0, "outbound-rtp", "Sent", grid).tolist() == [
        0,
        each / 2,
        each,
        3 * each,
        3 * each,
        3 * each,
    ]


def test_what_browsers_say_of_a_call_is_of_the_measured_period() -> None:
    def look(ms: int, n: int) -> dict[str, Any]:
        streams = [
            {"type": "outbound-rtp", "kind": "video", "at": ms, "framesEncoded": n, "qpSum": 30 * n,
             "targetBitrate": 1000 * n,
             "encoderImplementation": "vp8", "qualityLimitationDurations": {"cpu": n / 10}},
            {"type": "outbound-rtp", "kind": "audio", "at": ms, "framesEncoded": 999},
            {"type": "inbound-rtp", "kind": "video", "at": ms, "freezeCount": n,
             "jitterBufferDelay": 0.02 * n,
             "jitterBufferEmittedCount": n},
            {"type": "candidate-pair", "at": ms, "currentRoundTripTime": 0.05,
             "availableOutgoingBitrate": 2e6},
            {"type": "codec", "at": ms, "mimeType": "video/VP8"},
        ]  # fmt: skip
        return {"at": ms, "streams": streams}

    page = {"looks": [look(500, 1), look(1000, 10), look(2000, 40)], "drawn": [[1, 900.0], [2, 1000.0]]}
    facts = call.Heard((page, 0), (page, 0)).facts(1000 * MS)
    assert (facts["frames_encoded"], facts["freezes"], facts["frames_drawn"]) == (30, 30, 1)
    assert (facts["quantiser"], facts["jitter_buffer_ms"], facts["target_kbps"]) == (30.0, 20.0, 25.0)
    assert (facts["rtt_ms"], facts["available_kbps"], facts["codecs"]) == (50.0, 2000.0, ["video/VP8"])
    assert facts["limited_s"] == {"cpu": 3.0} and facts["encoder"] == "vp8"


def test_loads_that_were_not_as_they_should_be_are_counted() -> None:
    entry = {"http": "2", "receive-window": "16MB"}
    whole = {"fate": "complete", "parts": 5, "hero": True}
    rows = [whole, {**whole, "parts": 4}, {**whole, "hero": False}, {"fate": "abandoned", "failed": "no"}]
    assert _notes(entry, [whole], 5) == []
    failed, short, unseen = _notes(entry, rows, 5)
    assert failed == "1 load failed, which counts as given up; at first: no"
    assert short.startswith("1 of 3 complete loads had fewer than 5 objects") and unseen.startswith(
        "in 1 of 3 complete"
    )
    assert len(_notes({**entry, "receive-window": "9kB"}, [whole], 5)) == 1
    assert _notes({"http": "3", "receive-window": "9kB"}, [whole], 5) == []


def test_quinn_has_two_controllers_and_no_hystart() -> None:
    for transport, hystart, key in (
        ("cubic", None, None), ("newreno", "none", None), ("bbr", None, "transport"),
        ("cubic", "linux", "hystart"),
    ):  # fmt: skip
        why = _not_by_quic({"transport": transport, "hystart": hystart})
        assert (why or "None").partition(":")[0] == str(key)


def test_a_library_is_there_or_can_be_fetched(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SOJOURN_CACHE", str(tmp_path))
    monkeypatch.setattr(library.shutil, "which", lambda _: None)
    assert library.HLS_JS.missing() == "hls.js 1.7.4 is fetched by npm, which is not installed"
    kept = tmp_path / "hls.js-1.7.4" / "hls.min.js"
    kept.parent.mkdir()
    kept.write_bytes(b"x")
    assert library.HLS_JS.missing() is None and library.HLS_JS.script() == kept
    monkeypatch.setattr(library.shutil, "which", lambda _: "/npm")
    assert library.SHAKA.missing() is None
