"""A time as a person would say it."""


def duration(seconds: float) -> str:
    """Return a time as a person would say it."""
    if seconds < 0.1:
        return "less than 0.1 s"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"
