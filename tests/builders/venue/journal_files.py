"""State directories for the journal's tests: commands, damage, and what a fault looks like."""

from venue.engine.messages import Deposit
from venue.storage.statedir import StateDir


def deposits(count, first=1):
    """Commands that can be told apart."""
    return [Deposit("ann", number) for number in range(first, first + count)]


def amounts(state, after_sequence=0):
    """What `deposits` wrote, as read back."""
    return [entry.command.amount_cents for entry in state.entries(after_sequence)]


def written(path, count=5, each=1, **sizes):
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
