"""Faults that prevent a run and that a person can mend."""

import signal

from bot.core.fault_text import fault_text


class OperatorError(Exception):
    """The text names the thing and says what to do; it never holds a secret."""


def is_ctrl_c(fault: BaseException) -> bool:
    """True for a person's Ctrl-C. A run gets that as a signal, so there a KeyboardInterrupt is
    somebody else's."""
    heard = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(fault, KeyboardInterrupt) and not heard


def plugin_fault_text(fault: BaseException) -> str:
    """What code of somebody else raised, with file and line. Raises it again if it is a person's
    Ctrl-C."""
    if is_ctrl_c(fault):
        raise fault
    return fault_text(fault)
