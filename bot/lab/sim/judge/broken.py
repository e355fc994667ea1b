"""What the judges raise: an invariant that does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager

_judged: list[tuple[str, ...]] = [()]


class Broken(AssertionError):
    """An invariant does not hold. world: the world it does not hold in, when it is known."""

    world: object = None


def check(holds: bool, invariant: str, text: object) -> None:
    if not holds and (not _judged[-1] or invariant in _judged[-1]):
        raise Broken(f"{invariant}: {text}")


@contextmanager
def only(*invariants: str) -> Iterator[None]:
    """Judge by these alone; by all of them where none is named."""
    _judged.append(invariants)
    try:
        yield
    finally:
        _judged.pop()
