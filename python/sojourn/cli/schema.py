"""`sojourn schema`: what a study file may hold."""

from sojourn.cli.flag import Flag


def schema(*, json: Flag = False) -> None:
    """Print the JSON Schema of study files, for editors and for those who write studies by program.

    **Example**

    ```
    sojourn schema > study.schema.json
    ```

    Parameters
    ----------
    json
        Accepted for symmetry; the schema is JSON already.
    """
    from sojourn import _core

    print(_core.schema())
