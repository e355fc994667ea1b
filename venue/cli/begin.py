"""How a command of ours, `bot` or `venue`, begins, and ends by a signal. Imports nothing heavy: a
signal may come while the program loads."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

EXIT_INTERRUPTED: Final = 130
EXIT_TERMINATED: Final = 143


def begin(run: Callable[[], None]) -> None:
    """Load and run the command line, which ends the process with its exit code. run: imports the
    program, so that Ctrl-C while it loads shows no traceback. SIGTERM ends the program even as
    process 1, as in a container."""
    _open_streams()
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _exit_terminated)
    try:
        run()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _exit_terminated(_number: int, _frame: FrameType | None) -> None:
    """The default action of SIGTERM, which the kernel withholds from process 1."""
    os._exit(EXIT_TERMINATED)


def _open_streams() -> None:
    """Open the null device for a standard stream that our parent closed, so that no file of ours
    takes its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            place = Path(os.devnull)
            setattr(sys, name, place.open(mode, encoding="utf-8"))
