"""Readers of segment sizes."""

import json

import numpy as np
import pytest
import sojourn
from hypothesis import given, settings
from hypothesis import strategies as st
from sojourn.parts import clip_files
from sojourn.parts.clips import ENDINGS, open_clip, read_clip

MPD = """<?xml version="1.0"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" mediaPresentationDuration="PT0H0M8.0S">
 <Period>
  <AdaptationSet mimeType="audio/mp4"><Representation bandwidth="64000"/></AdaptationSet>
  <AdaptationSet mimeType="video/mp4">
   <Representation bandwidth="500000"><SegmentList timescale="1000" duration="4000">
     <SegmentURL mediaRange="800-1299"/><SegmentURL mediaRange="1300-1899"/></SegmentList></Representation>
   <Representation bandwidth="200000"><SegmentList timescale="1000" duration="4000">
     <SegmentURL mediaRange="800-999"/><SegmentURL mediaRange="1000-1299"/></SegmentList></Representation>
  </AdaptationSet>
 </Period>
</MPD>"""
TEMPLATE = """<MPD mediaPresentationDuration="PT1M0S"><Period><AdaptationSet contentType="video">
<SegmentTemplate timescale="90000" duration="360000"/>
<Representation bandwidth="1000000"/><Representation bandwidth="2000000"/></AdaptationSet></Period></MPD>"""
SABRE = {
    "segment_duration_ms": 4000,
    "bitrates_kbps": [200, 500],
    "segment_sizes_bits": [[1600, 4000], [2400, 4800]],
}


def read(tmp_path, name, text, **options):
    (tmp_path / name).write_text(text)
    return read_clip(tmp_path / name, **options)


FORMS = (
    ("clip.json", json.dumps(SABRE)),
    ("clip_4s.csv", "segment,bytes_200kbps,bytes_500kbps\n1,200,500\n2,300,600\n"),
    ("clip_4s.csv", "500k,200k\n500,200\n600,300\n"),
    ("clip-4s.txt", "200 2\n200\n300\n500 2\n500\n600\n"),
    ("clip.mpd", MPD),
)


@pytest.mark.parametrize(("name", "text"), FORMS)
def test_every_form_reads_the_same(tmp_path, name, text):
    clip = read(tmp_path, name, text)
    assert (clip.segment_s, clip.rates_kbps) == (4.0, (200.0, 500.0))
    np.testing.assert_array_equal(clip.sizes, [[200, 500], [300, 600]])


@pytest.mark.parametrize(("name", "text"), FORMS)
def test_a_clip_has_as_many_segments_as_it_may_and_not_one_more(tmp_path, monkeypatch, name, text):
    # Each form has two.
    monkeypatch.setattr(clip_files, "_MOST_SEGMENTS", 2)
    assert len(read(tmp_path, name, text).sizes) == 2
    monkeypatch.setattr(clip_files, "_MOST_SEGMENTS", 1)
    with pytest.raises(sojourn.SojournError, match=r"(more than|at most|expected 1 to) 1( segments)?$"):
        read(tmp_path, name, text)


def test_forms_without_rates_take_the_mean(tmp_path):
    matrix = read(tmp_path, "pensieve.txt", "4000 6000 5000\n1000 1500 2000\n", segment_s=2)
    assert matrix.rates_kbps == (6.0, 20.0)
    np.testing.assert_array_equal(matrix.sizes[1], [1500, 6000])
    listed = read(tmp_path, "dashc_2s.txt", "1 2\n200\n300\n2 2\n500\n600\n")
    assert listed.rates_kbps == (1.0, 2.2)


def test_a_manifest_without_ranges_has_the_nominal_sizes(tmp_path):
    clip = read(tmp_path, "clip.mpd", TEMPLATE)
    assert clip.sizes.shape == (15, 2)
    assert clip.sizes[3].tolist() == [500_000, 1_000_000]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "segment,bytes_1kbps\n1,2\n", "how long a segment is"),
        ("a_4s.csv", "segment\n1\n", "no column of sizes"),
        ("a_4s.csv", "a,b\n1,2\n3\n", "row 3 has 1 columns"),
        ("a_4s.csv", "a,b\n1,x\n", "found 'x'"),
        ("a_4s.csv", "1k,2k\n1,0\n", "0 to 1 bytes"),
        ("a_4s.csv", "a,b\n1,nan\n", "finite"),
        ("a_4s.csv", "bytes_5kbps,bytes_5kbps\n1,1\n", "same nominal rate"),
        ("a.json", "[", "not JSON"),
        ("a.json", "{}", "expected an object"),
        ("a.json", json.dumps({**SABRE, "segment_sizes_bits": [[1]]}), "a list of 2 sizes"),
        ("a.json", json.dumps({**SABRE, "segment_duration_ms": 0}), "0.1 to 60 s"),
        ("a_4s.txt", "", "nothing in it"),
        ("a_4s.txt", "5\n6\n", "level count"),
        ("a_4s.txt", "5 2\n6\n", "lacks 1"),
        ("a_4s.txt", "5 1\n6\n7\n", "line 3"),
        ("a.mpd", "<x/>", "expected the element MPD"),
        ("a.mpd", "<MPD", "not XML"),
        ("a.mpd", "<!DOCTYPE x [<!ENTITY a 'b'>]><MPD/>", "document type"),
        ("a.mpd", "<MPD/>", "no adaptation set"),
        ("a.xyz", "", "expected a file that ends in"),
    ],
)
def test_what_is_wrong_in_a_file_is_said(tmp_path, name, text, says):
    with pytest.raises(sojourn.SojournError, match=says) as error:
        read(tmp_path, name, text)
    assert name in str(error.value)
    assert "\n" not in str(error.value)


def test_a_byte_order_mark_is_no_part_of_a_file(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(SABRE), encoding="utf-8-sig")
    assert sojourn.read_clip(tmp_path / "a.json").segment_s == 4.0


def test_a_folder_in_the_place_of_a_clip_is_said_in_words(tmp_path):
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(sojourn.SojournError, match=r"a\.csv cannot be read: Is a directory$"):
        sojourn.read_clip(tmp_path / "a.csv")


PIECES = st.sampled_from(
    [
        *("<MPD>", "</MPD>", "<Period>", "<AdaptationSet>", "<Representation bandwidth='9'>", "SegmentList"),
        *("[", "]", "{", "}", ":", ",", '"segment_duration_ms"', '"bitrates_kbps"', "4000", "1e999", "-1"),
        *("segment,", "bytes_5kbps", "\n", " ", "5 2", "nan", "\x00", '"', "٣", "é"),
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(ENDINGS),
    st.one_of(st.binary(max_size=200), st.lists(PIECES, max_size=30).map("".join), st.text(max_size=100)),
)
def test_no_file_breaks_its_reader(tmp_path_factory, ending, content):
    reads(tmp_path_factory.mktemp("clip") / f"clip_4s{ending}", content)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(FORMS), st.lists(st.tuples(st.floats(0, 1), st.integers(0, 9), PIECES), max_size=3))
def test_no_damage_to_a_file_breaks_its_reader(tmp_path_factory, form, damage):
    name, text = form
    for place, gone, piece in damage:
        at = int(place * len(text))
        text = text[:at] + piece + text[at + gone :]
    assert reads(tmp_path_factory.mktemp("clip") / name, text) or damage


def reads(file, content):
    """Whether a file is read, as a clip that can be played; if not, one sentence says why."""
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    try:
        clip = read_clip(file)
    except sojourn.SojournError as error:
        assert "\n" not in str(error)
        return False
    assert clip.sizes.min() >= 1
    assert list(clip.rates_kbps) == sorted(clip.rates_kbps)
    return True


def test_the_clips_that_ship_are_whole():
    shapes = {name: open_clip(name).sizes.shape for name in ("bbb-x264-4s", "bbb-3s", "envivio-4s")}
    assert shapes == {"bbb-x264-4s": (149, 10), "bbb-3s": (199, 10), "envivio-4s": (48, 6)}
    with pytest.raises(sojourn.SojournError, match="3 rates for a clip of 10 levels"):
        open_clip("bbb-3s").with_rates([1, 2, 3])
