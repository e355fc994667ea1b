"""What the clock of the bot's host shows: off from the world's time, and drifting."""


class HostClock:
    """The host's clock against the world's: off by `skew_ns`, and drifting."""

    def __init__(self, began_ns: int, skew_ns: int, drift_ppm: int) -> None:
        self._began_ns, self.skew_ns, self._drift_ppm = began_ns, skew_ns, drift_ppm

    def read(self, world_ns: int) -> int:
        drift_ns = (world_ns - self._began_ns) * self._drift_ppm // 1_000_000
        return world_ns + self.skew_ns + drift_ns

    def when(self, host_ns: int) -> int:
        since_ns = host_ns - self.skew_ns - self._began_ns
        return self._began_ns + since_ns * 1_000_000 // (1_000_000 + self._drift_ppm) + 1
