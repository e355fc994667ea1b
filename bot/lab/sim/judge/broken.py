"""What the judges raise: an invariant that does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager

_judged: list[frozenset[str]] = []


class Broken(AssertionError):
    """An invariant does not hold. world: the world it does not hold in, when it is known."""

    world: object = None


def check(holds: bool, invariant: str, text: object) -> None:
    if not holds and (not _judged or invariant in _judged[-1]):
        raise Broken(f"{invariant}: {text}")


@contextmanager
def only(*invariants: str) -> Iterator[None]:
    if not invariants:
        yield
        return
    _judged.append(frozenset(invariants))
    try:
        yield
    finally:
        _judged.pop()
