"""Faults that prevent a run and that a person can mend.

OperatorError
  VenueFault    the embedded venue does not start          (embedded)
    OpeningFault  its file or its tape is at fault         (embedded)
  SiteFault     the venue refuses us or does not answer   (session)
  SecretFault   the key cannot be had                      (secret)
  StateFault    the state directory is taken or not ours   (statedir)
  AccountFault  another bot of this host trades the account  (accountlock)
  ReaperFault   the venue refuses the reaper's key         (reaper)
  JournalFault  a journal of another version, a full disk  (records)
  LatchFault    a crash loop, or a latch that cannot be written  (latch)
  StoreFault    the records cannot be opened, read or written  (bot.records.database)
  StatusFault   the status page's address is taken         (status)
"""

import signal


class OperatorError(Exception):
    """The text names the thing and says what to do; it never holds a secret."""


def is_ctrl_c(fault: BaseException) -> bool:
    """True for a person's Ctrl-C. A run gets that as a signal, so there a KeyboardInterrupt is
    somebody else's."""
    heard = signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    return isinstance(fault, KeyboardInterrupt) and not heard
