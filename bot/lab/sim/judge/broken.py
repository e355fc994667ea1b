"""What the judges raise: an invariant that does not hold."""


class Broken(AssertionError):
    """An invariant does not hold. world: the world it does not hold in, when it is known."""

    world: object = None


def check(holds: bool, invariant: str, text: object) -> None:
    """Raise `Broken` unless it holds."""
    if not holds:
        raise Broken(f"{invariant}: {text}")
