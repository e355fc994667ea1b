"""State directories for the journal's tests: commands, damage, and what a fault looks like."""

import contextlib
import os
import resource

from venue.engine.messages import Deposit
from venue.storage.statedir import StateDir


def deposits(count, first=1):
    """Commands with different amounts."""
    return [Deposit("ann", number) for number in range(first, first + count)]


def amounts(state, after_sequence=0):
    """What `deposits` wrote, as read back."""
    return [entry.command.amount_cents for entry in state.entries(after_sequence)]


def write_log(path, count=5, each=1, **sizes):
    """A state directory whose log has `count` appends of `each` commands; closed again."""
    with StateDir.open(path, **sizes) as state:
        log = state.log()
        for number in range(count):
            log.append(1_000 + number, deposits(each, 1 + number * each))
        log.close()
    return path


def segment_files(path):
    """The segments of a directory, oldest first."""
    return sorted(path.glob("commands-*.log"))


def bit_flips(data, begin=0, end=None):
    """Copies of the data with one bit flipped, for every bit of these bytes."""
    for bit in range(begin * 8, (len(data) if end is None else end) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        yield bytes(flipped)


@contextlib.contextmanager
def file_size_limit(size):
    """No file may grow beyond `size`; the operating system itself refuses."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def refuse_call(monkeypatch, name, number, when=lambda count: count == 1):
    """Let an operating system call fail with this errno on the calls that `when` names."""
    real, calls = getattr(os, name), []

    def refusing(*arguments, **named):
        calls.append(arguments)
        if when(len(calls)):
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    monkeypatch.setattr(os, name, refusing)
    return calls
