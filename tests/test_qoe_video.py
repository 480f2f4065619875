"""Video scores: from rows of packets to SSIM, PSNR and MOS, under each profile."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from conftest import Command, sentence
from conftest import user as shown_to
from sojourn import StudyError, _core
from sojourn.qoe import video
from sojourn.qoe.media.video import MissingVideo, clips, coding, library
from sojourn.qoe.media.video.coding import Coding, Encoded
from sojourn.qoe.runs import unpacked
from sojourn.qoe.score import score
from sojourn.qoe.worst import again

MS = 1_000_000
SHORT = Coding(720, 576, 25, 50, 4000, 32, 25)


def made(name: str, how: Coding) -> Encoded:
    """An encoding; a test that needs it is skipped where it cannot be had."""
    try:
        return coding.encoded(name, how)
    except MissingVideo as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def film() -> Encoded:
    """Two seconds of a real clip in SD."""
    return made("film", SHORT)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every picture size is SD of one second, so that tests are quick; the codec must be there."""
    try:
        library()
    except MissingVideo as missing:
        pytest.skip(str(missing))
    monkeypatch.setattr(video, "_FORMATS", dict.fromkeys(("sd", "hd", "cif"), (720, 576, 25, 25, 4000)))


def patterns(film: Encoded) -> dict[str, np.ndarray]:
    count = len(film.sizes)
    send = film.schedule(1_000_000_000)
    one = np.zeros(count, dtype=bool)
    one[20] = True  # in the middle of the first picture, an intra picture
    return {
        "none": np.zeros(count, dtype=bool),
        "one I-slice": one,
        "0.1 %": np.random.default_rng(5).random(count) < 0.001,
        "1 %": np.random.default_rng(1).random(count) < 0.01,
        "5 %": np.random.default_rng(1).random(count) < 0.05,
        "50 ms": (send >= 500 * MS) & (send < 550 * MS),
    }


# Two seconds of the clip `film` as PyAV 18.1.0 codes them: mean SSIM and PSNR by pattern and profile.
STREAM = "3318c268aa659c78e3b28081e79203b022704c6212755c8a66a90f2932c5a603"
PINNED = {
    "none": {"aligned": (0.992943, 45.688), "paper": (1.000000, 100.000), "freeze": (1.000000, 100.000)},
    "one I-slice": {"aligned": (0.987935, 42.926), "paper": (0.985608, 61.349), "freeze": (0.713163, 57.310)},
    "0.1 %": {"aligned": (0.985645, 41.038), "paper": (0.982984, 60.881), "freeze": (0.801998, 58.617)},
    "1 %": {"aligned": (0.975901, 37.308), "paper": (0.950062, 25.585), "freeze": (0.482507, 16.842)},
    "5 %": {"aligned": (0.912049, 29.547), "paper": (0.767230, 19.334), "freeze": (0.402671, 14.759)},
    "50 ms": {"aligned": (0.974613, 41.467), "paper": (0.959642, 84.423), "freeze": (0.937962, 84.315)},
}


@pytest.mark.parametrize("profile", ["aligned", "paper", "freeze"])
def test_known_losses_give_known_scores(film: Encoded, profile: str) -> None:
    # Another build of the libraries may code the clip differently: then about the same is expected.
    same = film.about["digest"] == STREAM
    for name, lost in patterns(film).items():
        seen = video.watch(film, video.PROFILES[profile], lost, 5)
        ssim, psnr = PINNED[name][profile]
        assert seen.ssim.mean() == pytest.approx(ssim, abs=2e-6 if same else 0.08), name
        assert seen.psnr_db.mean() == pytest.approx(psnr, abs=2e-3 if same else 4.0), name


def test_more_loss_is_no_better(film: Encoded) -> None:
    for profile in ("aligned", "paper", "freeze"):
        lost = patterns(film)
        scores = [
            video.watch(film, video.PROFILES[profile], lost[k], 5).ssim.mean() for k in ("none", "1 %", "5 %")
        ]
        assert scores == sorted(scores, reverse=True), profile
    # Concealment helps, and so does showing damaged pictures at all.
    for share in ("1 %", "5 %"):
        chosen = video.PROFILES["aligned"]
        helped, bare = (
            video.watch(film, replace(chosen, conceal=c), lost[share], 5).ssim.mean() for c in (True, False)
        )
        assert helped > bare


def test_without_loss_every_reference_that_was_decoded_is_met(film: Encoded) -> None:
    none = np.zeros(len(film.sizes), dtype=bool)
    for name, profile in video.PROFILES.items():
        seen = video.watch(film, replace(profile, reference="decoded"), none, 5)
        assert (seen.ssim == 1.0).all() and (seen.psnr_db == 100.0).all(), name
        assert seen.picture.tolist() == list(range(0, 50, 5))


def test_nothing_arrives(film: Encoded) -> None:
    lost = np.ones(len(film.sizes), dtype=bool)
    for name, profile in video.PROFILES.items():
        seen = video.watch(film, profile, lost, 10)
        assert len(seen.ssim) == 5, name
        assert seen.ssim.max() < 0.5 and seen.psnr_db.max() < 20, name


def test_a_missing_picture_shows_the_one_before() -> None:
    class Half:
        coding = Coding(16, 16, 25, 6, 100, 1, 25)

        def at(self, pts: int) -> int:
            return pts

    grey = [np.full((16, 16), 10 * k, dtype=np.uint8) for k in range(6)]
    came = [(1, grey[1]), (1, grey[5]), (3, grey[3]), (2, grey[2]), (9, grey[5])]
    shown = [(number, int(picture[0, 0])) for number, picture in video._in_time(Half(), came)]  # type: ignore[arg-type]
    assert shown == [(0, 16), (1, 10), (2, 10), (3, 30), (4, 30), (5, 30)]
    ranked = [(number, int(p[0, 0])) for number, p in video._in_order(Half(), came)]  # type: ignore[arg-type]
    assert ranked == [(0, 10), (1, 50), (2, 30), (3, 20), (4, 50)]


def test_mos_tables() -> None:
    ssim = {1.0: 5, 0.99: 5, 0.9899: 4, 0.95: 4, 0.949: 3, 0.88: 3, 0.87: 2, 0.5: 2, 0.49: 1, -0.2: 1}
    assert video.mos_of_ssim(list(ssim)).tolist() == list(ssim.values())
    psnr = {100.0: 5, 37.1: 5, 37.0: 4, 31.0: 4, 30.9: 3, 25.0: 3, 24.9: 2, 20.0: 2, 19.9: 1}
    assert video.mos_of_psnr(list(psnr)).tolist() == list(psnr.values())


# From the table of packets


def rows(packets: int, *delays_ms: Any, clip: int = 0) -> dict[str, np.ndarray]:
    """Rows of showings, each given as its packets' delays in ms (−1 = lost)."""
    parts = []
    for showing, delay in enumerate(delays_ms):
        ms = np.broadcast_to(np.asarray(delay, dtype=float), packets)
        seq = np.arange(packets)
        columns = [np.full(packets, x) for x in (0, showing, clip)]
        sent = (seq + showing * 10 * packets) * MS
        parts.append(np.stack([*columns, seq, sent, np.where(ms < 0, -1, ms * MS).astype(np.int64)]))
    names = ("user", "showing", "clip", "seq", "sent_ns", "delay_ns")
    return dict(zip(names, np.concatenate(parts, axis=1), strict=True))


@pytest.mark.usefixtures("short")
def test_summary_of_showings() -> None:
    user = shown_to("video", clips=[clips.SYNTHETIC], playout="500ms")
    packets = len(made(clips.SYNTHETIC, video.coding("sd", "aligned")).sizes)
    some = np.where(np.arange(packets) % 40 == 7, -1.0, 30.0)
    late = np.where(np.arange(packets) % 40 == 7, 531.0, 30.0)
    table = rows(packets, 30.0, some, late)
    got = score({"users": [user]}, {"video": table})["video"]
    gaps = int((some < 0).sum())
    assert (got["showings"], got["undamaged"], got["profile"], got["resolution"]) == (3, 1, "aligned", "sd")
    assert got["loss"] == got["late"] == pytest.approx(gaps / packets / 3, abs=1e-6)
    assert got["note"].startswith("synthetic")
    assert got["ssim"]["p5"] <= got["ssim"]["median"] <= got["ssim"]["p95"]
    worst = got["worst"]
    assert unpacked(worst["missing"], packets).sum() == gaps
    assert len(worst["series"]["ssim"]) == 5 and worst["series"]["time_s"] == [0, 0.2, 0.4, 0.6, 0.8]
    assert worst["ssim"] == pytest.approx(np.mean(worst["series"]["ssim"]), abs=1e-6)
    showing = again(worst)
    assert len(showing.ts) == int((showing.clip.sizes[some >= 0].astype(int) - 40).sum())
    pictures = showing.pictures([0, 24])
    assert [p.shape for pair in pictures for p in pair] == [(576, 720, 3)] * 4
    with pytest.raises(MissingVideo, match="other libraries"):
        again(worst | {"encoding": "0"})
    # PSNR from losses only: what comes late counts as seen.
    evalvid = {**user, "resolution": "cif", "profile": "evalvid"}
    few = len(made(clips.SYNTHETIC, video.coding("cif", "evalvid")).sizes)
    got = score({"users": [evalvid]}, {"video": rows(few, np.where(np.arange(few) == 9, 9e3, 30))})["video"]
    assert got["late"] > 0 and got["worst"]["missing"] == [] and got["mos"]["median"] == 5
    assert score({"users": [user]}, {}) == {}


def test_lateness_counts_from_the_first_packet_to_arrive_of_the_showing() -> None:
    delays = np.array([-1, 200, 30, 700, 701, -1, 100]) * MS
    lost, late = video.missing(delays, 500 * MS)
    assert lost.tolist() == [True, False, False, False, False, True, False]
    # From the least delay (30 ms) the one of 700 ms would be late as well.
    assert np.flatnonzero(late).tolist() == [4]
    lost, late = video.missing(np.array([-1, -1]), 500 * MS)
    assert lost.all() and not late.any()


@pytest.mark.usefixtures("short")
def test_bad_tables_and_options() -> None:
    user = shown_to("video", clips=[clips.SYNTHETIC])
    with pytest.raises(ValueError, match="lacks showing"):
        video.showings({"user": np.zeros(3)}, user)
    with pytest.raises(ValueError, match="has 3 packets: expected"):
        video.showings(rows(3, 30.0), user)
    for key, value, says in (("profile", "vlc", "vlc"), ("clips", "movie", "movie"), ("every", 0, "every")):
        with pytest.raises(StudyError, match=says):
            shown_to("video", **{key: value})


# Through the engine

STUDY = """name = "seen"
seed = 1
duration = "{duration}"
warmup = "1s"
[path]
client-delay = "5ms"
server-delay = "20ms"
down = {{ rate = "16Mbit", queue = {{ kind = "fifo", limit = "{limit}" }} }}
up = {{ rate = "1Mbit", queue = {{ kind = "fifo", limit = "64pkt" }} }}
[[users]]
kind = "video"
{user}
[[workload.long-few]]
source = {{ kind = "bulk" }}
transport = "cubic"
direction = "down"
count = 8
[[workload.long-many]]
source = {{ kind = "bulk" }}
transport = "cubic"
direction = "down"
count = 64
[sweep]
workload = {workloads}
"""


def study(user: str = "", duration: str = "10s", limit: str = "64pkt", workloads: str = '["none"]') -> str:
    return STUDY.format(user=user, duration=duration, limit=limit, workloads=workloads)


def points(text: str) -> list[str]:
    return _core.points(_core.parse(text, "seen.toml", []))


def test_the_engine_carries_exactly_the_packets_given() -> None:
    send = np.array([0, 0, 5, 9, 1000], dtype=np.uint64) * MS
    size = np.array([1356, 1356, 600, 44, 1356], dtype=np.uint16)
    other = (np.array([0, 2], dtype=np.uint64) * MS, np.array([100, 200], dtype=np.uint16))
    text = points(study('clips = ["a", "b"]\ngap = "500ms"'))[0]
    ran = _core.run(text, True, clips={0: [(send, size), other]})
    table = ran["video"]
    parts = video._parts(table)
    assert [int(p["clip"][0]) for p in parts[:3]] == [
        int(parts[0]["clip"][0]),
        int(parts[1]["clip"][0]),
        int(parts[0]["clip"][0]),
    ]
    for part in parts:
        times = (send, other[0])[int(part["clip"][0])]
        assert np.array_equal(part["sent_ns"] - part["sent_ns"][0], times - times[0])
        assert part["sent_ns"][0] >= 1_000 * MS
    for before, after in pairwise(parts):
        assert after["sent_ns"][0] - before["sent_ns"][-1] == 500 * MS
    # 25 ms on the way and the transmission: 1356 bytes take 678 µs, and the second waits for the first.
    first = next(part for part in parts if part["clip"][0] == 0)
    assert first["delay_ns"].tolist() == [25_678_000, 26_356_000, 25_300_000, 25_022_000, 25_678_000]
    log = ran["packets"]
    seen = log["size_bytes"][log["kind"] == _core.packet_kinds().index("video")]
    assert set(seen.tolist()) == {1356, 600, 44, 100, 200}


def test_lost_packets_agree_with_the_link() -> None:
    send = np.arange(4000, dtype=np.uint64) * 2 * MS
    size = np.full(4000, 1356, dtype=np.uint16)
    text = points(study("", "30s", "8pkt", '["long-many"]'))[0].replace(
        '"kind":"video"', '"clips":["a"],"kind":"video"'
    )
    ran = _core.run(text, True, clips={0: [(send, size)]})
    log = ran["packets"]
    is_video = log["kind"] == _core.packet_kinds().index("video")
    table = ran["video"]
    assert (table["delay_ns"] == -1).sum() > 20
    assert (table["delay_ns"] != -2).all()
    span = is_video & (log["arrive_ns"] >= table["sent_ns"][0] + 20 * MS)
    dropped = (log["depart_ns"][span] < 0).mean()
    assert (table["delay_ns"] < 0).mean() == pytest.approx(dropped, abs=0.02)


def test_a_run_without_its_packets_is_refused() -> None:
    text = points(study())[0]
    with pytest.raises(_core.StudyError, match=r"users\.0 is shown video, and the packets"):
        _core.run(text)
    send, size = np.zeros(2, np.uint64), np.ones(2, np.uint16)
    with pytest.raises(_core.StudyError, match=r"clips were given for users\.3, which needs none"):
        _core.run(text, clips={0: [(send, size)], 3: [(send, size)]})
    with pytest.raises(_core.StudyError, match="2 send times and 1 sizes"):
        _core.run(text, clips={0: [(send, size[:1])]})
    with pytest.raises(_core.StudyError, match="packet 1 is sent before packet 0"):
        _core.run(text, clips={0: [(np.array([5, 4], np.uint64), size)]})


@pytest.mark.parametrize(
    ("user", "says"),
    [
        ('resolution = "cif"', "evalvid goes with resolution"),
        ('profile = "evalvid"', "evalvid goes with resolution"),
        ('profile = "vlc"', "unknown variant `vlc`"),
        ('clips = [""]', "a clip must have a name"),
        ('gap = "0s"', "is too short; write 1ms or more"),
        ("every = 0", "must be at least 1"),
        ('codec = "vp8"', "unknown field `codec`"),
    ],
)
def test_bad_users_are_named(user: str, says: str) -> None:
    with pytest.raises(_core.StudyError, match=says):
        _core.parse(study(user), "seen.toml", [])


def test_a_missing_clip_is_a_sentence(sojourn: Command) -> None:
    (sojourn.cwd / "seen.toml").write_text(study('clips = ["soccer"]'))
    done = sojourn("run", "seen.toml", code=2)
    assert "the clip 'soccer' is neither a file nor built in" in sentence(done.stderr)
    assert not (sojourn.cwd / "results").exists()


def test_an_unfit_clip_is_a_sentence_and_nothing_is_written(sojourn: Command) -> None:
    (sojourn.cwd / "text.mp4").write_text("no pictures here")
    (sojourn.cwd / "seen.toml").write_text(study('clips = ["text.mp4"]'))
    said = sentence(sojourn("run", "seen.toml", code=2).stderr)
    assert said.endswith("text.mp4 cannot be read as video: it is damaged, or no file of moving pictures")
    with library().open(str(sojourn.cwd / "small.avi"), "w") as out:
        made = out.add_stream("mpeg4", rate=25)
        made.width, made.height, made.pix_fmt = 64, 48, "yuv420p"
        frame = library().VideoFrame.from_ndarray(np.zeros((72, 64), np.uint8), format="yuv420p")
        for packet in [*made.encode(frame), *made.encode(None)]:
            out.mux(packet)
    (sojourn.cwd / "seen.toml").write_text(study('clips = ["small.avi"]'))
    said = sentence(sojourn("run", "seen.toml", code=2).stderr)
    assert "small.avi are 64×48, too small to judge: expected 128×96 or more" in said
    assert not (sojourn.cwd / "results").exists()


def test_a_missing_codec_is_a_sentence(sojourn: Command) -> None:
    (sojourn.cwd / "av.py").write_text("raise ImportError\n")
    sojourn.env["PYTHONPATH"] = str(sojourn.cwd)
    (sojourn.cwd / "seen.toml").write_text(study())
    done = sojourn("run", "seen.toml", code=2)
    assert "video needs PyAV, which is not installed" in sentence(done.stderr)


def test_access_line_as_in_figure_9(sojourn: Command) -> None:
    """The published order of workloads, quality that is there or not, and all that a study writes."""
    made("film", video.coding("sd", "aligned"))
    user = 'clips = ["film"]\nevery = 10\nstart-within = "1ms"'
    workloads = '["none", "long-few", "long-many"]'
    text = study(user, "36s", workloads=workloads).replace(
        "[sweep]", '[sweep]\n"users.0.profile" = ["aligned", "freeze"]'
    )
    (sojourn.cwd / "seen.toml").write_text(text)
    results = sojourn.json("run", "seen.toml", "--keep-media", "--jobs", "2")
    found = {tuple(r["point"].values()): r["video"] for r in results}
    by = {
        profile: [found[profile, w]["ssim"]["median"] for w in ("none", "long-few", "long-many")]
        for profile in ("aligned", "freeze")
    }
    clear, few, many = by["aligned"]
    assert clear > few > many and clear > 0.99
    # A little loss is enough, and much more makes this clip no worse.
    clear, few, many = by["freeze"]
    assert clear == 1.0 and few < 0.9 and many < 0.9
    assert {v["profile"] for v in found.values()} == {"aligned", "freeze"}
    assert [found["aligned", w]["loss"] > 0 for w in ("none", "long-few", "long-many")] == [False, True, True]
    media = sorted((sojourn.cwd / "results" / "seen" / "media").glob("*.ts"))
    assert len(media) == 6 and all(file.stat().st_size % 188 == 0 for file in media)
    sojourn("report", "results/seen")
    page = (sojourn.cwd / "results" / "seen" / "report.html").read_text()
    assert "Video at its worst" in page
    assert (sojourn.cwd / "results" / "seen" / "figures" / "video-sd-strip.png").is_file()
    stored = {f.name: f.read_bytes() for f in (sojourn.cwd / "results" / "seen" / "points").iterdir()}
    only = ("--only", "workload=long-many", "--only", "users.0.profile=aligned")
    sojourn("run", "seen.toml", "--jobs", "1", "--out", "again", *only)
    again = {f.name: f.read_bytes() for f in (sojourn.cwd / "again" / "points").iterdir()}
    assert len(again) == 1 and again.items() <= stored.items()
    assert json.loads(next(iter(stored.values())))["video"]["showings"] == 1
