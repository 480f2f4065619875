"""Turns that the end of a capture cut: how much their ends had to send.

What was seen of such a turn is less than it was to be: it is censored. The sizes of all turns that clients,
or servers, send are taken to be of one distribution, which the product-limit estimate tells (Kaplan and
Meier, J. Am. Stat. Assoc. 53(282), 1958). A turn that was cut gets a size at a quantile of what that leaves
beyond what was seen of it. The quantiles of several are spread evenly, so that together they are as the
distribution has them. No size is told where it cannot be known, as the largest turns were cut themselves: the
end then sends on for as long as its connection was seen. The rule is sojourn's own.
"""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, less whole numbers, are spread as evenly as can be, however many there are (Weyl 1916)."""


def sizes_of(cut: "NDArray[np.int64]", ended: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Return how large turns were to be of which so much was seen when the capture ended.

    Parameters
    ----------
    cut
        What was seen of each of them, in bytes.
    ended
        Sizes of the turns of their side that ended, in bytes.

    Returns
    -------
    In the order of `cut`; 0 where that cannot be known.
    """
    steps, counts = np.unique(ended, return_counts=True)
    at_risk = sum(len(of) - np.searchsorted(np.sort(of), steps) for of in (ended, cut))
    left = np.concatenate([[1.0], np.cumprod(1.0 - counts / at_risk)])
    known = np.searchsorted(steps, cut, side="right")
    quantile = np.modf((np.arange(len(cut)) + 1) * _GOLDEN)[0]
    # The first step at which no more is left than the quantile of what the bytes that were seen leave.
    place = np.searchsorted(-left, -left[known] * (1.0 - quantile))
    found = np.append(steps, 0)[np.maximum(place, known + 1) - 1]
    return np.where(left[known] > 0.0, found, 0)


def completed(table: "pl.DataFrame") -> "pl.DataFrame":
    """Return the connections of a workload, with the sizes that turns were to have which the end cut.

    Where one is told, its end does not go on (`a_goes_on`, `b_goes_on`) any more. Of connections without an
    end nothing says that their last turns were over, whether they seem to go on or not.
    """
    import polars as pl  # slow to import

    if not (table["a_goes_on"] | table["b_goes_on"]).any():
        return table
    rows = table.with_row_index("row")
    turns = rows.filter("tcp" if "quic" not in rows.columns else pl.col("tcp") | pl.col("quic")).select(
        "row",
        pl.col("turns").list.eval(pl.element().struct.field("accepted")).alias("accepted"),
        pl.col("turns").list.eval(pl.element().struct.field("bytes")).alias("bytes"),
        "client_opens", "cut", "a_goes_on", "b_goes_on",
    )  # fmt: skip
    turns = turns.explode("accepted", "bytes").drop_nulls().with_row_index("turn")
    last = pl.col("turn") == pl.col("turn").max().over("row", "accepted")
    goes_on = pl.when("accepted").then("b_goes_on").otherwise("a_goes_on")
    turns = turns.with_columns(
        goes_on=last & goes_on,
        cut=last & pl.col("cut"),
        by_client=pl.col("accepted") != pl.col("client_opens"),
    )
    told = []
    for (_,), side in turns.group_by("by_client", maintain_order=True):
        cut = side.filter(pl.col("cut") | pl.col("goes_on"))
        size = sizes_of(cut["bytes"].to_numpy(), side.filter(~pl.col("cut"))["bytes"].to_numpy())
        cut = cut.with_columns(size=pl.Series(size)).filter("goes_on")
        told.append(cut.select("row", "accepted", "size"))
    known = [row for of in told for row in of.filter(pl.col("size") > 0).rows()]
    sizes = {(row, accepted): size for row, accepted, size in known}
    if not sizes:
        return table
    concerned = rows["row"].is_in(list({row for row, _ in sizes}))
    changed = []
    for row in rows.filter(concerned).to_dicts():
        for accepted, end in ((False, "a_goes_on"), (True, "b_goes_on")):
            if size := sizes.get((row["row"], accepted)):
                at = max(n for n, turn in enumerate(row["turns"]) if turn["accepted"] == accepted)
                row["turns"][at]["bytes"] = size
                row[end] = False
        changed.append(row)
    both = [rows.filter(~concerned), pl.DataFrame(changed, schema=rows.schema)]
    return pl.concat(both).sort("row").drop("row")
