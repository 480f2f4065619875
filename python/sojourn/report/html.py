"""Pages of HTML that stand by themselves, from the templates beside the code that fills them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2

from sojourn.results import atomic


def write(page: Path, template: str, **values: Any) -> Path:
    """Fill a template and write the page, whole or not at all.

    Parameters
    ----------
    page
        File to write; its directory is there.
    template
        Where the template lies in this package, as ``report/page.html.jinja``.
    **values
        What the template names; one that it names and that is not here is an error.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    OSError
        The page cannot be written.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sojourn", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    html = environment.get_template(template).render(**values)
    atomic.write(page, lambda file: file.write(html.encode()))
    return page
