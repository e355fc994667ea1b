"""What happened in a world, counted by name: faults, episodes, and observations worth a row."""


class Seen:
    """Counters by name. `faults`: how many of the things that happened were faults."""

    __slots__ = ("counts", "faults")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.faults = 0

    def hit(self, name: str, times: int = 1) -> None:
        """Something was observed."""
        counts = self.counts
        counts[name] = counts.get(name, 0) + times

    def fault(self, name: str) -> None:
        """A fault befell somebody."""
        self.faults += 1
        counts = self.counts
        counts[name] = counts.get(name, 0) + 1
