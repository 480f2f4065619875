"""The command that makes something again, as the pages that it made name it."""

import shlex

from sojourn.capture.output import printable


def again(verb: str, *names: object, **options: object) -> str:
    """Return the command of a verb with these names and options, as a shell takes it.

    An option is left out where it is None or False, stands by itself where it is True, once for each value of
    a list, and once before all values of a tuple.

    >>> again("suite", "tcp", aqm=["codel", "pie"], link=("1Mbit/9ms", "2Mbit/9ms"), knobs=True, out=None)
    'sojourn suite tcp --aqm codel --aqm pie --link 1Mbit/9ms 2Mbit/9ms --knobs'
    """
    words: list[object] = ["sojourn", verb, *names]
    for key, given in options.items():
        option = f"--{key.strip('_').replace('_', '-')}"
        for value in given if isinstance(given, list) else [given]:
            match value:
                case None | False | ():
                    pass
                case True:
                    words.append(option)
                case tuple():
                    words += [option, *value]
                case _:
                    words += [option, value]
    return shlex.join(printable(str(word)) for word in words)
