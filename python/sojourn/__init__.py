"""A laboratory for buffer sizes: the same bottleneck simulated, scored and reported.

>>> import sojourn
>>> results = sojourn.run("quickstart")    # doctest: +SKIP
>>> results.table()                                     # doctest: +SKIP

Long work is spread over processes, so a script should call :func:`run` under
``if __name__ == "__main__":``, as with every process pool.
"""

# Nothing is imported here: until the first module is loaded, ^C has Python tell where it was (`__main__`).
TYPE_CHECKING = False
if TYPE_CHECKING:
    from sojourn._core import StudyError
    from sojourn.errors import SojournError, StoreError
    from sojourn.parts.clips import Clip, read_clip
    from sojourn.parts.congestion import Windows, controller
    from sojourn.parts.player import play
    from sojourn.parts.queue import Decisions, replay
    from sojourn.results import Results
    from sojourn.results import open_results as open
    from sojourn.study import Study
    from sojourn.sweep.run import run

__all__ = [
    "Clip",
    "Decisions",
    "Results",
    "SojournError",
    "StoreError",
    "Study",
    "StudyError",
    "Windows",
    "__version__",
    "controller",
    "open",
    "play",
    "read_clip",
    "replay",
    "run",
]

_WHERE = {
    "Clip": ("sojourn.parts.clips", "Clip"),
    "Decisions": ("sojourn.parts.queue", "Decisions"),
    "Results": ("sojourn.results", "Results"),
    "SojournError": ("sojourn.errors", "SojournError"),
    "StoreError": ("sojourn.errors", "StoreError"),
    "Study": ("sojourn.study", "Study"),
    "StudyError": ("sojourn._core", "StudyError"),
    "Windows": ("sojourn.parts.congestion", "Windows"),
    "controller": ("sojourn.parts.congestion", "controller"),
    "open": ("sojourn.results", "open_results"),
    "play": ("sojourn.parts.player", "play"),
    "read_clip": ("sojourn.parts.clips", "read_clip"),
    "replay": ("sojourn.parts.queue", "replay"),
    "run": ("sojourn.sweep.run", "run"),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "__version__":
        return import_module("sojourn._core").version()
    if name in _WHERE:
        module, attribute = _WHERE[name]
        return getattr(import_module(module), attribute)
    raise AttributeError(f"module 'sojourn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
