"""How many cases a claim about many cases is tried on: few in every run, all of them on request."""

import os

FULL = "LADDERMAKER_FULL"


def cases(full: int, *, quick: int) -> int:
    """The count that a claim names when LADDERMAKER_FULL=1 is set, else the quick one."""
    return full if os.environ.get(FULL) == "1" else quick
