"""SSIM of a talking head as a call codes it, by the lines of its pictures and its rate: measured once.

Of the clip `interview`, scaled to 1280×720: 150 pictures at 30 a second, coded by libx264 as a call does
(`veryfast`, `zerolatency`, baseline, no second intra picture, a buffer of half a second), scaled up to
1280×720 and compared there with the clip; the mean over every tenth picture from the 30th on. Measured in
November 2026 with PyAV 18.1.0. The clip itself has 640×480 pictures: those of a camera with 720 lines have
more detail and need more bits, and more lines than 720 have no value here.

Between two rates SSIM is interpolated over the rate's logarithm; outside it is that of the nearest rate.
Other pictures are coded better or worse than these at the same rate: what compares is one call with another.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

MEASURED = {
    180: (
        (24.9, 0.8834),
        (51.1, 0.9330),
        (89.6, 0.9522),
        (138.7, 0.9604),
        (188.4, 0.9639),
        (287.3, 0.9670),
        (489.4, 0.9696),
        (780.4, 0.9714),
        (1147.8, 0.9726),
        (1397.8, 0.9732),
    ),
    270: (
        (21.5, 0.8256),
        (50.2, 0.9255),
        (85.8, 0.9545),
        (133.6, 0.9679),
        (183.6, 0.9738),
        (287.6, 0.9798),
        (490.8, 0.9840),
        (795.6, 0.9864),
        (1184.3, 0.9878),
        (1797, 0.9895),
        (2433.3, 0.9904),
        (2914.7, 0.9911),
    ),
    360: (
        (21.8, 0.7661),
        (49.1, 0.9086),
        (84.7, 0.9460),
        (130.5, 0.9633),
        (180, 0.9727),
        (278, 0.9803),
        (493.2, 0.9867),
        (804.4, 0.9897),
        (1198.1, 0.9917),
        (1809.8, 0.9934),
        (2507, 0.9945),
        (3900.7, 0.9960),
    ),
    540: (
        (25.2, 0.6966),
        (42.9, 0.8110),
        (78, 0.9165),
        (128.1, 0.9503),
        (174.3, 0.9626),
        (271.1, 0.9748),
        (473, 0.9835),
        (793, 0.9882),
        (1195.6, 0.9903),
        (1796, 0.9923),
        (2511.1, 0.9936),
        (4039.9, 0.9952),
    ),
    720: (
        (28.9, 0.6580),
        (46.9, 0.7107),
        (70.3, 0.8278),
        (116.2, 0.9241),
        (172.8, 0.9526),
        (265.3, 0.9682),
        (461.7, 0.9805),
        (774.7, 0.9868),
        (1180.8, 0.9897),
        (1800, 0.9921),
        (2500.8, 0.9934),
        (4030, 0.9953),
    ),
}
"""By lines of the pictures: kbit/s at 30 pictures a second, and SSIM at 720 lines."""
MOST_LINES = max(MEASURED)


def ssim(lines: ArrayLike, kbps: ArrayLike) -> NDArray[np.float64]:
    """SSIM of pictures.

    Parameters
    ----------
    lines : array_like, shape (n,)
        Those between two measured ones have the value of the next higher.
    kbps : array_like, shape (n,)
        The rate that they were coded at, kbit/s at 30 pictures a second.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    ValueError
        Pictures have more lines than were measured.
    """
    height, rate = np.asarray(lines, dtype=np.float64), np.asarray(kbps, dtype=np.float64)
    if height.size and height.max() > MOST_LINES:
        raise ValueError(f"pictures of {height.max():g} lines: expected at most {MOST_LINES}")
    known = np.array(sorted(MEASURED))
    nearest = known[np.minimum(np.searchsorted(known, height), known.size - 1)]
    out = np.empty(height.shape)
    for of in np.unique(nearest):
        rates, values = np.array(MEASURED[int(of)]).T
        chosen = nearest == of
        out[chosen] = np.interp(np.log(np.maximum(rate[chosen], 1e-3)), np.log(rates), values)
    return out
