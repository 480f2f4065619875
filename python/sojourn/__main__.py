"""`python -m sojourn` is the `sojourn` command."""

from sojourn.cli import main

if __name__ == "__main__":
    main()
