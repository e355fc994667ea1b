"""How a command of ours begins, and ends by a signal: `bot` and `venue` alike.

Nothing heavy is imported here: a signal may come while the program loads.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

EXIT_INTERRUPTED: Final = 130
"""As a shell says it of SIGINT."""

EXIT_TERMINATED: Final = 143
"""The same of SIGTERM."""


def begin(run: Callable[[], None]) -> None:
    """Load and run the command line, which ends the process with its exit code.

    run: imports the program, so that Ctrl-C while it loads is quiet too. A SIGTERM before anybody
    hears it ends the program also where it is process 1, as in a container.
    """
    _open_streams()
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _end)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _end(_number: int, _frame: FrameType | None) -> None:
    """What the system does at a SIGTERM by itself, but not to process 1: there it is lost."""
    os._exit(EXIT_TERMINATED)


def _open_streams() -> None:
    """A standard stream that was closed by whoever started us is the null device: nobody is there,
    and no file of ours is to take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            place = Path(os.devnull)
            setattr(sys, name, place.open(mode, encoding="utf-8"))
