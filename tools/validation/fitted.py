"""What was chosen by looking at the figures that it is now held against: readings, parameters, and bounds."""

from tools.validation import recorded

HEAD = """## Fitted

These choices were made by looking at the published or measured figures that this page compares with. Where
the same figures are compared again, agreement is no evidence for the choice. Each is stated in the
file named.
"""

BOUNDS = """\
Bounds: those of the findings of buffer sizing were set when first results had been seen, and the rule of its
table 1 when the table's figures were known. The rows `square-root-5ms` were added when `square-root-40ms` had
missed the rule. It is not recorded that the bounds of video, of active queue management, of adaptive
streaming, of the two simulators and of Linux were set before any result was seen. Only those of who loses in
a router buffer are known to have been set before their studies were run, and their tests were completed
later.
"""


def entries() -> list[dict[str, str]]:
    """Return the choices: what was chosen, by which figures, and the file that says so."""
    return recorded.entries("fitted")


def section() -> list[str]:
    """Return the paragraphs of the page."""
    lines = [f"- {each['choice']}. Chosen by: {each['by']}. (`{each['where']}`)" for each in entries()]
    return [HEAD, "\n".join(" ".join(line.split()) for line in lines) + "\n", BOUNDS]
