"""What a strategy raised, for a person. No folder is in it, so that a replay says the same."""

from types import TracebackType
from typing import Final

_OURS: Final = ("bot.", "venue.")
_IMPORTING: Final = "<frozen "  # how Python names the files of its own import


def fault_text(fault: BaseException) -> str:
    """Such as `mine.py:12: ValueError: no such rung`; without a place where it was not raised in a
    file of the strategy. It can be written to journal and log, whatever the strategy put into it.
    """
    where = place_of(fault)
    return f"{where}{': ' if where else ''}{named(fault)}"


def named(fault: BaseException) -> str:
    """The same without its place, such as `ValueError: no such rung`."""
    return f"{type(fault).__name__}: {_said(fault)}"


def _said(fault: BaseException) -> str:
    """Its own text, in one line; what steers a terminal, or is half of a surrogate pair, which no
    file takes, as Python escapes it."""
    try:
        said = str(fault)
    except BaseException as other:  # noqa: BLE001 - the plugin boundary: the text is its own code
        said = f"its text cannot be had, {type(other).__name__}"
    line = " ".join(filter(None, said.splitlines()))
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii")
        for sign in line
    )


def place_of(fault: BaseException) -> str:
    """File and line of the innermost frame in the strategy's own file, as `mine.py:12`.

    Its own file is the first that a call reaches beyond the bot; empty where none was reached.
    """
    own, line = "", 0
    trace: TracebackType | None = fault.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        is_beyond = not name.startswith(_OURS) and not code.co_filename.startswith(_IMPORTING)
        if (not own and is_beyond) or code.co_filename == own:
            own, line = code.co_filename, trace.tb_lineno
            if isinstance(fault, RecursionError):
                break  # how deep it came hangs on who asked: the outermost is always the same
        trace = trace.tb_next
    return f"{own.rpartition('/')[2]}:{line}" if own else ""
