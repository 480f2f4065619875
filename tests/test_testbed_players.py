"""Players of the testbed: their segments and playlists, what is simulated, refused and given up."""

from __future__ import annotations

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from sojourn import _core
from sojourn.qoe.score import score
from sojourn.sweep import testbed
from sojourn.sweep.testbed.kinds import USERS
from sojourn.sweep.testbed.kinds.adaptive import tables
from sojourn.sweep.testbed.plan import refused
from test_testbed_apps import VIEWERS, place, point

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.segments import Fragment, manifest, media_playlist, playlist


def test_segments_have_their_sizes_numbers_and_times() -> None:
    box = struct.pack(">I4sII", 16, b"mfhd", 0, 1) + struct.pack(">I4sIQ", 20, b"tfdt", 1 << 24, 0)
    fragment = Fragment(4.0, box, 10_240)
    for number, size in ((1, 44), (3, 5000)):
        made = fragment.segment(number, size)
        assert len(made) == size
        assert struct.unpack_from(">I", made, 12)[0] == number
        assert struct.unpack_from(">Q", made, 28)[0] == (number - 1) * 40_960
        fill, kind = struct.unpack_from(">I4s", made, len(box))
        assert (fill, kind) == (size - len(box), b"free")
    assert len(fragment.segment(1, 40)) == len(box)
    text = manifest(4.0, 5, [235.0, 380.5])
    assert 'bandwidth="380500"' in text and 'mediaPresentationDuration="PT20.000S"' in text


def test_playlists_name_what_the_server_has() -> None:
    levels = playlist([235.0, 380.5]).splitlines()
    assert levels[0] == "#EXTM3U" and levels[-1] == "2.m3u8"
    assert levels[-2].startswith("#EXT-X-STREAM-INF:BANDWIDTH=380500,")
    lines = media_playlist(2.5, 3, 2).splitlines()
    assert [line for line in lines if not line.startswith("#")] == ["2/1", "2/2", "2/3"]
    assert "#EXT-X-TARGETDURATION:3" in lines and lines.count("#EXTINF:2.500,") == 3
    assert lines[-1] == "#EXT-X-ENDLIST"


def test_coded_segments_are_a_stream_that_decodes() -> None:
    av = pytest.importorskip("av", reason="PyAV is not installed")
    import io

    from sojourn.sweep.testbed.dash.media import coded

    beginning, fragment, timescale = coded(3.0)
    made = Fragment(3.0, fragment, timescale)
    data = beginning + made.segment(1, 20_000) + made.segment(2, 9_000)
    with av.open(io.BytesIO(data)) as container:
        times = [float(picture.pts * picture.time_base) for picture in container.decode(video=0)]
    assert len(times) == 30
    assert np.allclose(times, np.arange(30) / 5)


def test_viewings_are_those_of_the_simulation() -> None:
    """Starts, clips, and what the players choose on a path that does not matter."""
    found = point(VIEWERS.replace("count = 2", "count = 2\nlength = '40s'").replace("bba2", "festive"))
    simulated = _core.run(found.text)
    viewings = _core.viewings(found.text)
    assert [viewing.user for viewing in viewings] == simulated["viewers"]["user"].tolist() == [0, 1]
    for k, viewing in enumerate(viewings):
        # From the SYN to the connection there is a round trip, and the packets' own time.
        assert 0.0200 < simulated["viewers"]["start_ns"][k] / 1e9 - viewing.start_s < 0.0202
        mine = simulated["adaptive"]["user"] == k
        sizes = viewing.clip()[2]
        came = {name: column[mine] for name, column in simulated["adaptive"].items()}
        begun = simulated["viewers"]["start_ns"][k]
        now = 0.0
        for level, request, first, arrive in zip(
            came["level"], came["request_ns"], came["first_byte_ns"], came["arrive_ns"], strict=True
        ):
            while isinstance(step := viewing.next(now), float):
                now += step + 1e-9
            number, chosen, size = step
            assert chosen == level and sizes[number - 1][level - 1] == size
            assert now == pytest.approx((request - begun) / 1e9, abs=1e-6)
            if arrive < 0:
                break
            now = (arrive - begun) / 1e9
            viewing.arrived((first - begun) / 1e9, now)
        assert viewing.playback(now)[0] is None or simulated["viewers"]["play_ns"][k] > 0


def test_a_player_that_gives_up_says_what_to_fetch_instead() -> None:
    (viewing, _) = _core.viewings(point(VIEWERS + "give-up = true\n").text)
    for _ in range(8):
        while isinstance(step := viewing.next(1e-3), float):
            pass
        if step[1] > 1:
            break
        viewing.arrived(1e-4, 1e-3)
    assert step[1] > 1
    number, level, size = viewing.progress(2e-3, 30.0, 1000)
    assert number == step[0] and level < step[1] and size < step[2]
    assert viewing.segments()["given_up"].tolist()[-1] == 1


@pytest.mark.parametrize(
    ("algorithm", "name"),
    [
        ("dynamicdash", "dash.js"),
        ("dash.js", "dash.js"),
        ("hls.js", "hls.js"),
        ("shaka", "Shaka Player"),
    ],
)
def test_without_a_browser_players_of_the_web_are_refused(
    algorithm: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sojourn.sweep.testbed.programs import chromium

    monkeypatch.setattr(chromium, "missing", lambda: "no Chromium is installed")
    why = refused(point(VIEWERS.replace("bba2", algorithm)))
    assert why == (
        f"users.0.algorithm: {algorithm} is {name} in a browser on the testbed, and no Chromium is installed"
    )
    assert refused(point(VIEWERS)) is None


@pytest.mark.parametrize(("keys", "said"), [("", False), ("give-up = true\n", True)])
def test_dash_js_gives_up_where_the_study_does(
    keys: str, said: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sojourn.sweep.testbed.dash import library, media

    (tmp_path / "player.js").write_bytes(b"")
    monkeypatch.setattr(media, "coded", lambda _: (b"", b"", 1))
    monkeypatch.setattr(library.Library, "script", lambda _: tmp_path / "player.js")
    (program,) = USERS["adaptive"].programs(place(VIEWERS.replace("bba2", "dash.js") + keys))
    assert program.client["give_up"] is said
    page = program.files["player.html"]
    assert b"abandonRequestsRule: { active: give_up }" in page and b"fastSwitchEnabled: false" in page


def test_viewers_have_the_columns_of_the_simulation() -> None:
    """Also dash.js's, who may fetch a segment again; what did not come is −1."""
    rows = {name: [1.0, 2.0, 3.0] for name in ("rate_kbps", "before_s", "after_s", "estimate_kbps")}
    rows |= {"level": [1, 2, 2], "bytes": [9, 9, 9], "given_up": [0, 1, 0]}
    times = {"request_s": [0.0, 1.0, 2.0], "first_byte_s": [0.1, 1.1, float("inf")]}
    rows |= times | {"arrive_s": [0.5, 1.5, float("inf")]}
    viewer = {"user": 4, "begun_ns": 10**9, "played_s": None, "segments": 2, "segment_s": 4.0}
    made = tables([{**viewer, "stalls": [[1.0, 2.5]], "rows": {**rows, "segment": [1, 1, 2]}}])
    simulated = _core.run(point(VIEWERS).text)
    for name in ("adaptive", "viewers", "stalls"):
        assert set(made[name]) == set(simulated[name])
        for column, values in made[name].items():
            assert values.dtype == simulated[name][column].dtype, (name, column)
    assert made["adaptive"]["arrive_ns"].tolist() == [1_500_000_000, 2_500_000_000, -1]
    assert made["viewers"]["play_ns"].tolist() == made["viewers"]["end_ns"].tolist() == [-1]
    assert made["stalls"]["to_ns"].tolist() == [3_500_000_000]
    # Of a player that fetches each once, the k-th is number k.
    assert made["adaptive"]["segment"].tolist() == [1, 1, 2]
    both = tables([{**viewer, "stalls": [], "rows": rows}] * 2)["adaptive"]["segment"].tolist()
    assert both == [1, 2, 3] * 2 and simulated["adaptive"]["segment"].min() == 1
    whole = tables([{**viewer, "played_s": 0.5, "stalls": [], "rows": {**rows, "segment": [1, 2, 1]}}])
    assert whole["viewers"]["end_ns"].tolist() == [2_500_000_000]
    assert score(point(VIEWERS).document, made)["adaptive"]["given_up"] == 1
    assert tables([]) == {}


def test_a_manifest_counts_from_one_and_keeps_parts_of_seconds() -> None:
    text = manifest(1.5, 4, [250.5, 1000])
    assert 'mediaPresentationDuration="PT6.000S"' in text
    assert '<SegmentTemplate duration="1500" timescale="1000" startNumber="1"' in text
    assert '<Representation id="1" bandwidth="250500"' in text and 'id="2" bandwidth="1000000"' in text
