"""What happened in a world, counted by name: faults, episodes, and observations worth a row."""

from bot.core.fault_text import fault_text


class Seen:
    """Counters by name. `faults`: how many of the things that happened were faults. `own_faults`:
    answers of the strategy that raised or were nonsense of themselves; `own_fault`: the first."""

    __slots__ = ("counts", "faults", "own_fault", "own_faults")

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.faults = 0
        self.own_faults = 0
        self.own_fault = ""

    def hit(self, name: str, times: int = 1) -> None:
        counts = self.counts
        counts[name] = counts.get(name, 0) + times

    def fault(self, name: str) -> None:
        self.faults += 1
        counts = self.counts
        counts[name] = counts.get(name, 0) + 1

    def own(self, fault: BaseException) -> None:
        self.own_faults += 1
        self.own_fault = self.own_fault or fault_text(fault)
