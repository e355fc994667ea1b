"""Work for a process of a pool."""

import os
import time
from pathlib import Path


def lasting(folder: Path) -> None:
    """Say on standard output and in a file which process this is, and work for longer than any
    test."""
    print("a strategy says this")
    (folder / "said").write_text(str(os.getpid()))
    (folder / "said").rename(folder / "pid")
    time.sleep(600)
