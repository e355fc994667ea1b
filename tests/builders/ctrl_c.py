"""Commands that Ctrl-C reaches: also where the shell that runs the tests has it ignored."""

import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path


def started(command: Sequence[str], folder: Path | None = None) -> "subprocess.Popen[str]":
    """A command in `folder`, its stderr as text in a pipe. What is ignored stays so in a child, as
    a shell has it of whatever it runs in the background."""
    return subprocess.Popen(
        command,
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
