"""Where `venue` and `python -m venue` begin: Ctrl-C while the program loads is quiet too, and a
SIGTERM before anybody hears it ends the program also where it is process 1, as in a container."""

import os
import signal
import sys
from types import FrameType

_EXIT_INTERRUPTED = 130
"""As a shell says it of SIGINT."""

_EXIT_TERMINATED = 143
"""The same of SIGTERM."""


def _end(_number: int, _frame: FrameType | None) -> None:
    """What the system does at a SIGTERM by itself, but not to process 1: there it is lost."""
    os._exit(_EXIT_TERMINATED)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    if os.getpid() == 1:
        signal.signal(signal.SIGTERM, _end)
    try:
        from venue.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
