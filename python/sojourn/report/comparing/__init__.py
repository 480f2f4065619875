"""Two folders of results side by side: which differences are larger than chance makes them.

>>> from sojourn.report.comparing import compare                       # doctest: +SKIP
>>> found = compare(open_results("before"), open_results("after"))     # doctest: +SKIP
>>> [d for d in found.differences if d.larger]                         # doctest: +SKIP
"""

from sojourn.report.comparing.cells import Comparison, Difference, compare
from sojourn.report.comparing.page import write_comparison

__all__ = ["Comparison", "Difference", "compare", "write_comparison"]
