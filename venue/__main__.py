"""Where `venue` and `python -m venue` begin: Ctrl-C while the program loads is quiet too, and a
SIGTERM before anybody hears it ends the program also where it is process 1, as in a container."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType

_EXIT_INTERRUPTED = 130
"""As a shell says it of SIGINT."""

_EXIT_TERMINATED = 143
"""The same of SIGTERM."""


def _end(_number: int, _frame: FrameType | None) -> None:
    """What the system does at a SIGTERM by itself, but not to process 1: there it is lost."""
    os._exit(_EXIT_TERMINATED)


def _open_streams() -> None:
    """A standard stream that was closed by whoever started us is the null device: nobody is there,
    and no file of ours is to take its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            place = Path(os.devnull)
            setattr(sys, name, place.open(mode, encoding="utf-8"))


def main() -> None:
    """Run the command line and end the process with its exit code."""
    _open_streams()
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _end)
    try:
        from venue.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
