"""A time as a person would say it."""


def duration(seconds: float) -> str:
    """Return a time as a person would say it: rounded first, then in the unit that what is left takes."""
    if seconds < 0.1:
        return "less than 0.1 s"
    if (tenths := round(seconds, 1)) < 10:
        return f"{tenths:.1f} s"
    if (whole := round(seconds)) < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min"


def roughly(seconds: float) -> str:
    """Return a time that is a guess: whole seconds up to two minutes, minutes up to two hours, then hours."""
    for unit, size in (("s", 1), ("min", 60)):
        if (whole := max(round(seconds / size), 1)) <= 120:
            return f"{whole} {unit}"
    return f"{seconds / 3600:.1f} h"
