"""Who starts when the run is over carries nothing, and `sojourn run` says so, of who may do so too."""

from __future__ import annotations

from typing import Any

from conftest import Command
from sojourn.study.starts import too_late


def scenario(start: str | None, duration: str = "60s") -> dict[str, Any]:
    late = {"name": "late"} | ({} if start is None else {"start": start})
    return {"duration": duration, "flows": [{"name": "early", "start": "59999ms"}, late]}


def test_flows_that_start_when_the_run_is_over_are_told_once() -> None:
    assert too_late([scenario(None), {"duration": "1s"}, scenario("59.9s")]) == []
    said = "start is 60000ms, but the run ends after 60s; they carry nothing"
    assert too_late([scenario("60000ms")]) == [f"flows late, every cell: {said}"]
    assert too_late([scenario("60000ms"), scenario("1s")]) == [f"flows late, 1 of 2 cells: {said}"]


def test_starts_that_are_spread_beyond_the_run_are_told() -> None:
    def one(kind: str = "users", **keys: Any) -> list[str]:
        group = {"name": "late", "kind": "voice", "source": {"kind": "bulk"}, "count": 1, **keys}
        return too_late([{"duration": "20s", kind: [group]}])

    chance = "but the run ends after 20s; each has a chance of"
    said = f"every cell: starts are spread over 80s, {chance} 75 % never to start"
    assert one(**{"start-within": "80s"}) == [f"users late, {said}"]
    assert one("flows", **{"start-within": "80s"}) == [f"flows late, {said}"]
    assert one("flows", **{"start-within": "80s", "source": {"kind": "recorded"}}) == []
    assert one("flows", **{"start-within": "10s", "start": "15s"}) == [
        f"flows late, every cell: starts are spread over 10s from 15s on, {chance} 50 % never to start"
    ]
    assert one(**{"start-within": "20s"}) == one("flows", **{"start-within": "5s", "start": "15s"}) == []
    assert one(**{"start-within": "20.001s"})[0].endswith("less than 1 % never to start")


def test_viewers_start_after_one_another() -> None:
    def viewers(*counts: int, within: str = "4s") -> list[str]:
        users = [{"kind": "adaptive", "count": count, "start-within": within} for count in counts]
        return too_late([{"duration": "20s", "users": users}])

    assert viewers(5) == viewers(2, 3) == viewers(1, within="20s") == []
    told = "they start after one another, the last of 10 after 20 s on average, but the run ends after 20s"
    said = [f"viewers of adaptive video, every cell: {told}; some may never start"]
    assert viewers(4, 6) == viewers(10) == said


def test_run_says_so(sojourn: Command) -> None:
    text = (
        'name = "late"\nduration = "2s"\n[path]\nrtt = "50ms"\nqueue = { kind = "fifo", limit = "9pkt" }\n'
        'down.rate = "2mbit"\nup.rate = "2mbit"\n'
        '[[flows]]\nname = "never"\nsource = { kind = "bulk" }\ntransport = "cubic"\ndirection = "down"\n'
    )
    (sojourn.cwd / "late.toml").write_text(text + 'start = "2s"\n')
    assert "note: flows never, every cell: start is 2s, but" in sojourn("run", "late.toml").stderr
    on_time = sojourn("run", "late.toml", "--out", "on-time", "--set", "flows.0.start=1s")
    assert "carry nothing" not in on_time.stderr
