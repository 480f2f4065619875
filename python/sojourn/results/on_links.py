"""Which links a sentence about several results is of, and in how many of the runs it is true."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sojourn.study.links import called


def on_links(
    results: Iterable[Mapping[str, Any]], holds: Callable[[Mapping[str, Any]], Any]
) -> tuple[str, str] | None:
    """Name the links of which something holds in any result, and say in how many; None if of none.

    >>> lossy = [{"links": {"up": {"loss": 1.3}, "down": {"loss": 1.0}}}, {}]
    >>> on_links(lossy, lambda link: link["loss"] > 1)
    ('the uplink', ' in 1 of 2 runs')
    """
    met = [{link for link, of in (result.get("links") or {}).items() if holds(of)} for result in results]
    if not (links := set().union(*met)):
        return None
    runs = sum(map(bool, met))
    names = " and ".join(f"the {called(link)}" for link in sorted(links))
    return names, f" in {runs} of {len(met)} runs" if runs < len(met) else ""
