"""Faults that prevent a run and that a person can mend."""

import signal


class OperatorError(Exception):
    """The text names the thing and says what to do; it never holds a secret."""


def is_ctrl_c(fault: BaseException) -> bool:
    """True for a person's Ctrl-C. A run gets that as a signal, so there a KeyboardInterrupt is
    somebody else's."""
    heard = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(fault, KeyboardInterrupt) and not heard
