"""The live part of `sojourn explore`: a page gives what `run` gives, and follows its controls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Command, sentence
from sojourn import _core
from sojourn.report.explore import live as part
from sojourn.report.explore.live import live_part, offers
from test_page_browser import CONTRASTS, PHONE, STRUCTURE, WIDE, browser, opened, until

__all__ = ["browser"]

needs_engine = pytest.mark.skipif(not live_part().module, reason=live_part().without or "there is an engine")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page of the engine alone, on a path so slow that it is quick to run."""
    sojourn = Command(tmp_path_factory.mktemp("live"))
    told = sojourn.json("explore", "-o", "live.html")[0]
    assert told["live"] and told["bytes"] < 3_000_000
    return sojourn.cwd / "live.html"


def answered(tab: Any, state: str = "answered") -> None:
    """Wait until what was asked last is there."""
    tab.wait_for_timeout(200)
    until(tab, f"document.getElementById('live').dataset.state === '{state}'")


def slide(tab: Any, key: str, way: str, times: int = 1) -> None:
    """Move a slider by the keyboard."""
    tab.locator(f'[data-key="{key}"]').focus()
    for _ in range(times):
        tab.keyboard.press(way)
    answered(tab)


def shown(tab: Any) -> dict[str, Any]:
    """Return the result that the page shows."""
    return json.loads(tab.locator('[data-part="result"]').text_content())


@needs_engine
def test_the_page_gives_the_bytes_of_run(page: Path, browser: Any, sojourn: Command) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        answered(tab)
        slide(tab, "down", "ArrowLeft", 6)
        slide(tab, "b", "ArrowRight")
        tab.locator('[data-part="controls"]').get_by_label("Queue discipline").first.select_option("fq-codel")
        answered(tab)
        study, result = (tab.locator(f'[data-part="{name}"]').text_content() for name in ("study", "result"))
        digest, file = (tab.locator(f'[data-part="{name}"]').text_content() for name in ("hash", "file"))
    assert 'kind = "fq-codel"' in study and 'rate = "12Mbit"' in study and 'transport = "bbr"' in study
    (sojourn.cwd / "explored.toml").write_text(study)
    sojourn("run", "explored.toml")
    stored = (sojourn.cwd / file).read_text()
    assert stored == result
    assert json.loads(stored)["sha256"] == digest
    assert {"voice", "web", "groups"} <= set(json.loads(stored))


@needs_engine
@pytest.mark.parametrize(("codec", "playout"), [("opus", "neteq"), ("g722", "adaptive"), ("g711a", "neteq")])
def test_wide_band_speech_and_neteq_are_scored_as_by_run(
    page: Path, browser: Any, sojourn: Command, codec: str, playout: str
) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        answered(tab)
        slide(tab, "down", "ArrowLeft", 10)
        controls = tab.locator('[data-part="controls"]')
        rate = controls.get_by_label("Rate of Opus")
        assert not rate.is_visible(), "another codec has no such rate"
        controls.get_by_label("The caller's codec").select_option(codec)
        controls.get_by_label("Playout buffer").select_option(playout)
        answered(tab)
        if codec == "opus":
            slide(tab, "opus", "ArrowLeft", 2)
        study, result, file = (
            tab.locator(f'[data-part="{name}"]').text_content() for name in ("study", "result", "file")
        )
        users = tab.locator('[data-part="users"]').inner_text()
        tab.locator('[data-key="voice"]').click()
        answered(tab)
        assert not controls.get_by_label("Playout buffer").is_visible(), "nobody calls"
    assert f'codec = "{codec}"' in study and ("neteq" in study) == (playout == "neteq")
    wide = codec != "g711a"
    assert ('bitrate = "24kbit"' in study) == (codec == "opus")
    assert ("wide band" in users) == ("not to be put beside" in users) == wide
    (sojourn.cwd / "explored.toml").write_text(study)
    sojourn("run", "explored.toml")
    assert (sojourn.cwd / file).read_text() == result
    voice = json.loads(result)["voice"]["listens"]
    assert ("note" in voice) == wide and 1 < voice["mos"]["median"] < 4.5


@needs_engine
def test_sliders_are_followed_and_a_link_keeps_them(page: Path, browser: Any) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        answered(tab)
        before = shown(tab)
        assert tab.locator("canvas").count() >= 3
        slide(tab, "length", "ArrowLeft", 2)
        slide(tab, "down", "ArrowLeft", 10)
        after = shown(tab)
        assert after["engine"]["simulated_s"] == 2.0 and after["links"]["down"]["rate_bps"] == 5_000_000
        assert before["links"]["down"]["rate_bps"] == 50_000_000
        rows = tab.locator('[data-part="links"] tbody tr').all_inner_texts()
        assert len(rows) == 2 and rows[0].startswith("Downlink")
        assert "Seed 1" in tab.locator('[data-part="status"]').inner_text()
        users = tab.locator('[data-part="users"]').inner_text()
        assert "Reader of web pages" in users and "Caller" in users, "who got nothing is shown, too"
        slide(tab, "a", "ArrowLeft", 2)
        assert "groups" not in shown(tab)
        assert "No long transfers" in tab.locator('[data-part="shares"]').inner_text()
        slide(tab, "a", "ArrowRight", 2)
        # The same study again gives the same bytes; a link brings it back.
        assert shown(tab) == after
        until(tab, "location.hash.includes('live.down=5')")
        tab.reload()
        answered(tab)
        assert shown(tab) == after


@needs_engine
def test_what_cannot_be_run_is_a_sentence(page: Path, browser: Any) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        answered(tab)
        slide(tab, "length", "ArrowLeft", 2)
        tab.locator('[data-part="controls"]').get_by_label("Queue discipline").first.select_option("codel")
        answered(tab)
        tab.locator("summary", has_text="Parameters of codel").click()
        target = tab.locator('[data-key="down.codel.target"]')
        target.fill("5 apples")
        target.press("Tab")
        answered(tab, "refused")
        assert "5 apples" in tab.locator('[data-part="error"]').inner_text()
        target.fill("20ms")
        target.press("Tab")
        answered(tab)
        assert not tab.locator('[data-part="error"]').is_visible()
        assert 'target = "20ms"' in tab.locator('[data-part="study"]').text_content()
        # Too much for a page is refused before it is tried.
        for key in ("down", "length"):
            tab.locator(f'[data-key="{key}"]').focus()
            tab.keyboard.press("End")
        answered(tab, "refused")
        assert "million packets" in tab.locator('[data-part="error"]').inner_text()
        # The charts are still those of the settings before, which is said.
        assert tab.locator('[data-part="status"]').inner_text().endswith("is of the run before.")


@needs_engine
def test_a_queue_is_watched(page: Path, browser: Any) -> None:
    with opened(browser, page, *WIDE, "light") as tab:
        answered(tab)
        clock = tab.locator('[data-part="clock"]')
        first = clock.inner_text()
        # Nothing moves by itself.
        tab.wait_for_timeout(300)
        assert clock.inner_text() == first
        tab.get_by_role("button", name="Step").click()
        second = clock.inner_text()
        assert second != first and "wait" in second
        tab.get_by_role("button", name="Play").click()
        until(tab, f"document.querySelector('[data-part=clock]').textContent !== {json.dumps(second)}")
        tab.get_by_role("button", name="Pause").click()
        still = clock.inner_text()
        tab.wait_for_timeout(200)
        assert clock.inner_text() == still
        assert "packets of the downlink" in tab.locator('[data-part="about"]').inner_text()
        tab.locator('[data-part="link"] select').select_option("up")
        until(tab, "document.querySelector('#watch [data-part=about]').textContent.includes('uplink')")


@needs_engine
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [WIDE, PHONE])
def test_the_live_part_is_read_everywhere(
    page: Path, browser: Any, width: int, height: int, scheme: str
) -> None:
    with opened(browser, page, width, height, scheme) as tab:
        answered(tab)
        tab.evaluate("document.querySelectorAll('details').forEach((fold) => fold.open = true)")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.evaluate(CONTRASTS) == []
        assert tab.evaluate(STRUCTURE) == []


def test_without_an_engine_a_page_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "MODULE", "nothing.wasm")
    assert "built without it" in live_part().without and not live_part().module
    # Any file that does not name this engine's sources.
    monkeypatch.setattr(part, "MODULE", "live.py")
    assert "other sources" in live_part().without and not live_part().module


def test_an_engine_of_other_sources_does_not_run_in_a_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = tmp_path / "engine.wasm"
    monkeypatch.setattr(part, "MODULE", str(module))
    for named, runs in ((_core.engine(), True), (_core.engine()[::-1], False)):
        module.write_bytes(b"...sojourn-engine" + named.encode() + b"...")
        assert (bool(live_part().module), "other sources" in live_part().without) == (runs, not runs)


def test_neither_results_nor_engine_is_bad_input(sojourn: Command) -> None:
    code = (
        "import sys; from sojourn.report.explore import live; live.MODULE = 'nothing.wasm'\n"
        "from sojourn.cli import call; sys.exit(call(['explore', '-o', 'x.html']))"
    )
    (sojourn.cwd / "without.py").write_text(code)
    done = subprocess.run([sys.executable, "without.py"], cwd=sojourn.cwd, capture_output=True, text=True)
    assert done.returncode == 2 and "no results were named" in sentence(done.stderr)
    assert not (sojourn.cwd / "x.html").exists()


def test_controls_offer_what_the_schema_knows() -> None:
    found = offers(json.loads(_core.schema()))
    queues = {queue["kind"]: queue for queue in found["queues"]}
    assert {"fifo", "codel", "fq-codel", "pie", "red", "cake"} <= set(queues)
    parameters = {one["name"]: one for one in queues["codel"]["parameters"]}
    assert parameters["target"]["initial"] == "5ms" and "options" not in parameters["target"]
    assert "linux" in parameters["variant"]["options"] and parameters["ecn"]["options"] == ["true", "false"]
    assert "cubic" in found["transports"] and "udp" not in found["transports"]
    assert {"g711a", "g722", "opus"} <= set(found["codecs"])
    assert {"fixed", "adaptive", "neteq", "none"} == set(found["playouts"])
