"""Every reading of a silence of the interface, numbered; the one place where a reading is stated.

Code that follows a reading names its number in a comment or docstring (`S13`). `switch` says where
to change when the truth is learned. The numbers are permanent.

Source: the interface's "not shown" lines and its double readings.
"""

from typing import Final

import msgspec


class Assumption(msgspec.Struct, frozen=True):
    """What the interface leaves open, what the venue here does, and what a client must survive."""

    silence: str
    reading: str
    survives: str
    switch: str


ASSUMPTIONS: Final[dict[str, Assumption]] = {}
