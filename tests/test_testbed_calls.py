"""Video calls of the testbed: what browsers noted as the simulation's tables, and one over the emulator."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import between_real_programs
from sojourn import _core
from sojourn.errors import SojournError
from sojourn.qoe.score import score
from sojourn.study import Point, Study
from sojourn.sweep import testbed
from sojourn.sweep.testbed import webrtc
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import USERS
from sojourn.sweep.testbed.kinds.call import most_rate
from sojourn.sweep.testbed.plan import refused
from sojourn.sweep.testbed.program import Left
from sojourn.sweep.testbed.programs import chromium

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.call import addressed, tuned

STUDY = """
name = "s"
duration = "5s"
warmup = "1s"
[path]
rtt = "20ms"
down = { rate = "2Mbit", queue = { kind = "fifo", limit = "300ms" } }
up = { rate = "2Mbit", queue = { kind = "fifo", limit = "300ms" } }
[[users]]
kind = "call"
direction = "down"
height = 180
start-within = "0s"
"""
AHEAD_NS = 1_000_000_000_000
MS = 1_000_000


def point(more: str = "", *sets: tuple[str, str]) -> Point:
    (found,) = Study(_core.parse(STUDY + more, "s.toml", list(sets), []), "s.toml", (), Path()).select({})
    return found


def wall(ms: float) -> float:
    return AHEAD_NS / MS + ms


def page(**noted: Any) -> dict[str, Any]:
    return {"began": wall(0), "encoded": [], "drawn": [], "looks": [], "state": "connected"} | noted


def look(ms: float, **of: Any) -> dict[str, Any]:
    return {"at": wall(ms), "streams": [{"kind": "video", "at": wall(ms), **of}]}


def gathered(sender: dict[str, Any], receiver: dict[str, Any]) -> Any:
    left = [{"calls": [page], "ahead_ns": AHEAD_NS, "browser": "1"} for page in (receiver, sender)]
    return USERS["call"].gather(Place(point(), "users", 0), [Left(*left, Path())])


def test_pictures_are_matched_by_their_time_stamps() -> None:
    encoded = [[stamp, wall(stamp), 500, stamp == 900, 180] for stamp in range(900, 4900, 100)]
    # One is never drawn, and one at 4.8 s may have come after the end.
    drawn = [[stamp, wall(stamp + 70)] for stamp in range(900, 4800, 100) if stamp != 2000]
    freezes = [
        look(at, type="inbound-rtp", freezeCount=count, totalFreezesDuration=length)
        for at, count, length in ((1000, 0, 0.0), (3000, 0, 0.0), (3200, 1, 0.35), (5000, 1, 0.35))
    ]
    found = gathered(page(encoded=encoded), page(drawn=drawn, looks=freezes))
    table = found.tables["call"]
    assert table["captured_ns"].tolist() == [ms * MS for ms in range(1000, 4800, 100)], "of the measured time"
    missing = table["captured_ns"] == 2000 * MS
    assert table["delay_ns"][missing].tolist() == [-1] and set(table["delay_ns"][~missing]) == {70 * MS}
    # What ended the freeze is the last picture that was drawn before it was told of: taken at 3100.
    (row,) = np.flatnonzero(table["frozen"])
    assert (table["captured_ns"][row], table["gap_ns"][row]) == (3100 * MS, 350 * MS)
    assert table["gap_ns"][table["captured_ns"] == 2100 * MS].tolist() == [200 * MS]
    simulated = _core.run(point().text)
    for name in ("call", "call_rates"):
        assert {column: values.dtype for column, values in found.tables[name].items()} == {
            column: values.dtype for column, values in simulated[name].items()
        }
    scored = score(point().document, found.tables)["call"]["receives"]
    assert scored["delay_ms"]["median"] == 70 and scored["freezes_per_min"] == 15
    assert scored["frozen"] == pytest.approx(0.35 / 4)


def test_bytes_are_those_at_ip() -> None:
    looks = [
        look(
            ms,
            type="inbound-rtp",
            bytesReceived=100 * ms,
            headerBytesReceived=10 * ms,
            packetsReceived=ms,
        )
        for ms in range(0, 5001, 250)
    ]
    for seen in looks:
        seen["streams"].append({"type": "transport", "at": seen["at"], "srtpCipher": "AEAD_AES_128_GCM"})
    rates = gathered(page(), page(looks=looks)).tables["call_rates"]
    assert rates["time_ns"].tolist() == [ms * MS for ms in range(200, 5001, 200)]
    assert set(rates["received_bytes"].tolist()) == {200 * (100 + 10 + 28 + 16)}


def test_a_call_that_had_not_begun_is_no_call_and_is_said() -> None:
    found = gathered(page(began=None), page(began=None))
    assert found.tables == {}
    assert found.notes == ["call 0 had not begun by the end of the run, and is not in the results"]


def test_a_short_processor_is_said() -> None:
    looks = [
        look(ms, type="outbound-rtp", qualityLimitationDurations={"cpu": cpu, "none": 1.0})
        for ms, cpu in ((1500, 0.5), (4000, 2.0))
    ]
    assert gathered(page(looks=looks), page()).notes == [
        "receives: for 1.5 s the encoder was short of processor time"
    ]


def test_only_the_programs_own_addresses_are_candidates() -> None:
    lines = (
        "v=0",
        "a=candidate:1 1 udp 2122260223 198.18.0.1 4000 typ host generation 0",
        "a=candidate:2 1 udp 2122260222 198.18.1.0 4001 typ host generation 0",
        "a=candidate:3 1 tcp 1518280447 198.18.1.0 9 typ host tcptype active",
        "a=mid:0",
    )
    sdp = "\r\n".join([*lines, ""])
    assert addressed(sdp, "198.18.1.0") == "\r\n".join([lines[0], lines[2], lines[4], ""])
    assert addressed(sdp, None) == "\r\n".join([lines[0], lines[4], ""])
    with pytest.raises(ValueError, match=r"no candidate at 198\.18\.1\.7, but at 198\.18\.0\.1, 198"):
        addressed(sdp, "198.18.1.7")


def test_opus_is_asked_for_at_the_studys_rate() -> None:
    sdp = "a=rtpmap:111 opus/48000/2\r\na=fmtp:111 minptime=10;useinbandfec=1\r\na=fmtp:11 apt=1\r\n"
    assert tuned(sdp, 24_000).splitlines()[1:] == [
        "a=fmtp:111 minptime=10;useinbandfec=1;maxaveragebitrate=24000;cbr=1",
        "a=fmtp:11 apt=1",
    ]
    assert tuned(sdp, 0) == sdp and tuned("v=0\r\n", 24_000) == "v=0\r\n"


@pytest.mark.parametrize("height", [90, 180, 240, 720, 1080])
def test_video_takes_at_most_what_the_simulated_call_does(height: int) -> None:
    """Over a path that limits nothing the simulated encoder has all that it is allowed."""
    text = (
        STUDY.replace("height = 180", f"height = {height}").replace("2Mbit", "500Mbit").replace("5s", "40s")
    )
    (found,) = Study(_core.parse(text, "s.toml", [], []), "s.toml", (), Path()).select({})
    frames = _core.run(found.text)["call"]
    late = frames["captured_ns"] >= 25_000 * MS
    video = frames["bytes"][late].mean() * 8 * found.document["users"][0]["fps"]
    most = most_rate(found.document["users"][0])
    # Pictures of 90 lines do not take as much at the finest quantiser.
    assert video < most / 2 if height == 90 else video == pytest.approx(most, rel=0.03)
    assert most_rate({"height": height, "max-rate": "1Mbit"}) == 1_000_000


def test_what_a_browser_cannot_be_told_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "missing", lambda: None)
    assert refused(point()) is None
    assert refused(point("start-rate = '1Mbit'\n")) == (
        "users.0.start-rate: a browser begins at 300 kbit/s, not at 1Mbit"
    )
    monkeypatch.setattr(chromium, "missing", lambda: "no Chromium is installed")
    assert "calls are held by browsers on the testbed, and no Chromium is installed" in str(refused(point()))


def test_a_camera_has_pictures_of_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av", reason="PyAV is not installed")
    monkeypatch.setattr(webrtc, "CLIP", "synthetic")
    made = webrtc.camera(180, 29.97)
    head, rest = made.split(b"\n", 1)
    assert head == b"YUV4MPEG2 W320 H180 F29970:1000 Ip A1:1 C420jpeg"
    assert len(rest) == 58 * (6 + 320 * 180 * 3 // 2) and rest[:6] == b"FRAME\n"


@pytest.mark.real_time
def test_two_browsers_hold_a_call_over_the_emulator() -> None:
    if why := chromium.missing():
        pytest.skip(why)

    def lasting(duration: str) -> Point:
        return point("", ("duration", duration))

    def enough(real: dict[str, Any]) -> bool:
        receives = real.get("call", {}).get("receives", {"fps": 0})
        return receives["fps"] > 5 and receives["rate_kbps"]["mean"] > 60

    try:
        real = between_real_programs(lasting, ("5s", "15s", "45s"), enough)
    except SojournError as error:
        if "the clip" not in str(error):
            raise
        pytest.skip(str(error))
    ran = _core.run(point().text)
    simulated = score(point().document, ran, json.loads(ran["summary"])["links"])
    assert sorted(real["call"]) == sorted(simulated["call"]) == ["receives"]
    assert sorted(real["call"]["receives"]) == sorted(simulated["call"]["receives"])
    assert real["call"]["receives"]["calls"] == 1
    assert 60 < real["call"]["receives"]["rate_kbps"]["mean"] < 600
    assert real["call"]["receives"]["fps"] > 5
