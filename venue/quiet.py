"""How a command ends whose output is closed, or takes nothing more: quietly, with its own code.

`bot config schema | head -1` and a full disk are no bug of ours: neither has a traceback. The codes
are those that shells and supervisors know.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import typer

from venue.blank import Worded

EXIT_CLOSED: Final = 141
"""As after SIGPIPE: nobody reads any more."""

EXIT_NOT_WRITTEN: Final = 74
"""EX_IOERR of sysexits.h: the output takes nothing, as on a full disk."""

_PRINTERS: Final = ("typer.", "rich.")
"""Who prints for us. Rich writes even an empty text, which a full disk refuses where there is no
buffer (PYTHONUNBUFFERED, as in the image)."""


class Quiet(Worded):
    """A group of commands, the help included, that ends so."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the words of the command line; the help is printed here."""
        with _output_may_end():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Do what was asked."""
        with _output_may_end():
            return super().invoke(ctx)


@contextlib.contextmanager
def _output_may_end() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if not _is_of_the_output(fault):
            raise
        if isinstance(fault, BrokenPipeError):
            code = EXIT_CLOSED
        else:
            code = EXIT_NOT_WRITTEN
            with contextlib.suppress(OSError):
                typer.echo(f"the output cannot be written: {fault.strerror}", err=True)
        # What waits in a buffer would be tried once more at the very end, with a traceback.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise typer.Exit(code) from None


def _is_of_the_output(fault: OSError) -> bool:
    """Whether it was raised where text is put out, and not by a file or a socket of ours."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith(_PRINTERS)
