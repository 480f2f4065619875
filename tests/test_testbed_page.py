"""Pages of today on the testbed: their files, their server's certificate, and two loads over the emulator."""

from __future__ import annotations

import io
import re
import ssl
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest
from conftest import between_real_programs
from sojourn import _core
from sojourn.qoe.score import score
from sojourn.study import Point, Study
from sojourn.sweep import testbed
from sojourn.sweep.testbed.kind import Place
from sojourn.sweep.testbed.kinds import USERS, browser, page
from sojourn.sweep.testbed.plan import refused
from sojourn.sweep.testbed.program import Left

# As the agent has it.
sys.path.append(str(Path(testbed.__file__).parent))
from programs.site import Object, _picture, content

PATH = """
name = "s"
duration = "5s"
warmup = "0s"
[path]
rtt = "20ms"
down = { rate = "20Mbit", queue = { kind = "fifo", limit = "200pkt" } }
up = { rate = "20Mbit", queue = { kind = "fifo", limit = "200pkt" } }
"""
PAGE = '[[users]]\nkind = "page"\nstart-within = "100ms"\nstack = "linux"\n'


def point(text: str = PAGE, *sets: tuple[str, str]) -> Point:
    (found,) = Study(_core.parse(PATH + text, "s.toml", list(sets), []), "s.toml", (), Path()).select({})
    return found


def had() -> None:
    if (why := USERS["page"].refused(point().document["users"][0])) is not None:
        pytest.skip(why)


def test_how_the_real_server_of_http3_sends_is_told_unless_it_is_simulated_so() -> None:
    three = PAGE + 'http = "3"\n'
    (note,) = testbed.notes(point(three))
    assert note.startswith("HTTP/3 is quinn's, which sends streams in turn")
    assert not testbed.notes(point(three + 'server = "quinn"\n')) and not testbed.notes(point())


@pytest.mark.parametrize("which", ["desktop", "mobile"])
def test_the_page_is_that_of_simulated_readers(which: str) -> None:
    found = point(PAGE + f"page = '{which}'\nscale = 0.3\nhosts = 5\npause = '10s'\n")
    loaded = _core.run(found.text)["page"]
    objects = page.objects(found.document["users"][0])
    assert loaded["requests"].tolist() == [len(objects)]
    assert loaded["bytes"].tolist() == [sum(size for _, _, size, *_ in objects)]
    # One for each host, and one for the fonts.
    assert loaded["connections"].tolist() == [len({host for _, host, *_ in objects}) + 1] == [6]


@pytest.mark.parametrize(("which", "scale"), [("desktop", 1.0), ("mobile", 0.3)])
def test_objects_have_their_sizes_and_name_what_they_are_to_name(which: str, scale: float) -> None:
    objects = [Object(*each) for each in _core.page_objects(which, 17, scale)]
    urls = [f"https://198.19.1.0:{7000 + each.host}/{k}" for k, each in enumerate(objects)]
    for number, each in enumerate(objects):
        made = content(objects, urls, number)
        assert len(made) == each.bytes, each
        named = {urls.index(url) for url in re.findall(r"https://[\d.:]+/\d+", made.decode("latin-1"))}
        assert named == {k for k, other in enumerate(objects) if other.after == number}
        if named:
            assert made.index(b"https://") > 0.4 * len(made), "what is named is known when nearly all is here"


def test_pictures_are_pictures() -> None:
    av = pytest.importorskip("av", reason="PyAV is not installed")
    objects = [Object(kind, 0, 5000, 3, 0, False) for kind in ("document", "hero", "picture")]
    for number, size in ((1, (800, 600)), (2, (64, 64))):
        with av.open(io.BytesIO(content(objects, ["", "/1", "/2"], number)), format="png_pipe") as opened:
            (picture,) = opened.decode(video=0)
            assert (picture.width, picture.height) == size


def test_a_row_of_a_picture_ends_with_a_part_of_a_byte() -> None:
    for width, row in ((8, 2), (9, 3), (15, 3), (16, 3)):
        made = _picture(0, width, 5)
        at = made.index(b"IDAT")
        length = int.from_bytes(made[at - 4 : at], "big")
        assert len(zlib.decompress(made[at + 4 : at + 4 + length])) == 5 * row


@pytest.mark.parametrize("asked", [1000, 3000, 9000])
def test_a_servers_first_flight_has_the_studys_length(asked: int, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    from sojourn.sweep.testbed.certificate import certificate

    signed = certificate(asked)
    (tmp_path / "chain").write_bytes(signed.chain)
    (tmp_path / "key").write_bytes(signed.key)
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "chain", tmp_path / "key")
    client = ssl.create_default_context()
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = (client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True))
    for end in ends:
        with pytest.raises(ssl.SSLWantReadError):
            end.do_handshake()
    assert to_client.pending == pytest.approx(asked, abs=25)


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ("certificate = '300B'", "users.0.certificate: 300 bytes are less than a first flight has"),
        ("response-header = '60B'", "users.0.response-header: 60 bytes are less than a browser needs"),
        ("transport = 'newreno'", "users.0.transport: 'newreno' has no real counterpart"),
        ("http = '3'\nhystart = 'linux'", "users.0.hystart: 'linux' cannot be asked of quinn"),
    ],
)
def test_what_cannot_be_done_is_refused(keys: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    had()
    why = refused(point(PAGE + keys + "\n"))
    assert why is not None and why.startswith(sentence), why
    assert refused(point(PAGE + "http = '3'\ntransport = 'newreno'\n")) is None


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.chromium, "missing", lambda: None)
    monkeypatch.setattr(page, "find_spec", lambda name: None if name == "cryptography" else name)
    monkeypatch.setattr(page.https, "found", lambda: "/server")
    assert refused(point()) == (
        "users.0.kind: cryptography, which makes the server's certificate, is not installed "
        "(pip install 'sojourn[testbed]')"
    )
    monkeypatch.setattr(page.https, "found", lambda: None)
    for http in ("1.1", "2", "3"):
        assert refused(point(PAGE + f"http = '{http}'\n")) == (
            "users.0.kind: sojourn-http, which serves pages, is not installed (build it with `make http`, or "
            "`cargo install --path crates/sojourn-http`, in the repository)"
        )


def test_the_server_is_told_what_the_study_says() -> None:
    keys = "http = '3'\ninitial-window = 32\ntransport = 'reno'\nresponse-header = '500B'\n"
    place = Place(point(PAGE + keys), "users", 0)
    (program,) = USERS["page"].programs(place)
    told = {name: program.server[name] for name in ("controller", "initial_window", "header")}
    assert told == {"controller": "reno", "initial_window": 32 * 1452, "header": 500}


def test_loads_are_gathered_from_the_browsers_times(tmp_path: Path) -> None:
    place = Place(point(PAGE.replace("[[users]]", "[[users]]\ncount = 2")), "users", 0)
    whole: dict[str, Any] = {
        "user": 1,
        "start_ns": 5,
        "load_ns": 900_000_000,
        "fate": "complete",
        "from": 3.0,
        "first": 403.0,
        "largest": 703.0,
        "hero": True,
        "parts": 55,
        "connections": 18,
        "protocols": ["h2"],
    }
    given_up = {"user": 0, "start_ns": 7, "load_ns": 60_000_000_000, "fate": "abandoned"}
    under_way = {"user": 0, "start_ns": 9, "load_ns": 1_000_000, "fate": None}
    left = Left({"loads": [whole, given_up, under_way], "browser": "9"}, {}, tmp_path)
    found = USERS["page"].gather(place, [left])
    table = found.tables["page"]
    simulated = _core.run(point(PAGE + "scale = 0.1\n").text)["page"]
    assert set(simulated) - set(table) == {"retransmits"}, "a browser does not tell them"
    for name, column in table.items():
        assert column.dtype == simulated[name].dtype, name
    assert table["fate"].tolist() == [1, 2, 0]
    assert table["first_paint_ns"].tolist() == [400_000_000, -1, -1]
    assert table["largest_paint_ns"].tolist() == [700_000_000, -1, -1]
    assert table["bytes"].tolist() == [sum(size for _, _, size, *_ in page.objects(place.entry)), 0, 0]
    assert not found.notes and found.facts["protocols"] == ["h2"]
    scored = score(place.point.document, found.tables, {})["page"]
    assert (scored["loads"], scored["unfinished"], scored["abandoned"]) == (3, 1, 0.5)
    fewer = Left({"loads": [{**whole, "parts": 54, "hero": False}], "browser": "9"}, {}, tmp_path)
    assert [note.split(" ")[0:4] for note in USERS["page"].gather(place, [fewer]).notes] == [
        ["1", "of", "1", "complete"],
        ["in", "1", "of", "1"],
    ]


def test_loads_of_the_warm_up_are_left_out_unless_they_never_ended(tmp_path: Path) -> None:
    place = Place(point(PAGE, ("warmup", "1s")), "users", 0)
    rows = [
        {"user": 0, "start_ns": at, "load_ns": 60_000_000_000, "fate": fate}
        for at, fate in [(5, "abandoned"), (6, None), (1_000_000_000, "abandoned")]
    ]
    table = USERS["page"].gather(place, [Left({"loads": rows, "browser": "9"}, {}, tmp_path)]).tables["page"]
    assert table["start_ns"].tolist() == [6, 1_000_000_000] and table["fate"].tolist() == [0, 2]


@pytest.mark.real_time
def test_pages_come_over_the_emulator() -> None:
    had()
    two = PAGE + "scale = 0.05\nhosts = 2\npause = '200ms'\n"
    versions = {"2": "h2", "1.1": "http/1.1", "3": "h3"}
    users = "".join(two.replace("[[users]]", f"[[users]]\nhttp = '{http}'") for http in versions)
    found = point(users)

    def spoken(real: dict[str, Any]) -> list[list[str]]:
        return [real["engine"]["programs"][f"users.{k}"]["protocols"] for k in range(len(versions))]

    def lasting(duration: str) -> Point:
        return point(users, ("duration", duration))

    real = between_real_programs(lasting, ("5s", "15s", "45s"), lambda real: all(spoken(real)))
    assert spoken(real) == [[name] for name in versions.values()]
    programs = real["engine"]["programs"]
    assert all(programs[f"users.{k}"]["server_computed_s"] > 0 for k in range(len(versions)))
    assert real["page"]["loads"] >= 2 and real["page"]["requests"] == 55
    assert real["page"]["largest_paint_s"]["median"] > 0.06, "three round trips at least"
    simulated = score(found.document, _core.run(found.text), {})["page"]
    assert set(real["page"]) - {"bounded"} == set(simulated) - {"bounded"}
