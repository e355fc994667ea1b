"""What the page is told of one series: the picture with its age, profit over time, the log."""

from bot.io.logs.logtail import LogTail
from bot.io.status.history import History
from bot.io.status.shown import StatusSource
from bot.io.status.streaming import framed
from venue.wire.names import Ticker


class Overview:
    """One series. `take` is to be called every second or so, whether anybody looks or not."""

    def __init__(
        self,
        shown: StatusSource,
        tail: LogTail | None,
        series: tuple[Ticker, ...],
        *,
        control: bool,
    ) -> None:
        """series: all of this process. control: whether its controls are open at all."""
        self._shown = shown
        self._tail = tail
        self._series = series
        self._control = control
        self._history = History()

    def take(self) -> None:
        """Keep what is shown over time."""
        snapshot = self._shown.look()
        if snapshot is not None:
            self._history.take(snapshot.report)

    def status(self) -> dict[str, object]:
        """The newest picture. age_ms: since the last decision; unhealthy: why it does not do its
        work, empty when it does; paused: why it stands still, empty when it does not; idle: why
        nothing rests although it quotes; control: whether anything may be asked of it here."""
        snapshot = self._shown.look()
        told: dict[str, object] = {
            "age_ms": None,
            "unhealthy": "starting",
            "report": None,
            "paused": "",
            "idle": "",
            "notice": "",
        }
        if snapshot is not None:
            told = {
                "age_ms": snapshot.age_ms,
                "unhealthy": snapshot.unhealthy(),
                "report": snapshot.report,
                "paused": snapshot.stands_still,
                "idle": snapshot.idle,
                "notice": snapshot.notice,
            }
        return {**told, "control": self._control, "series": self._series}

    def reader(self) -> "Reader":
        """A new reader, to whom everything is new."""
        return Reader(self, self._history, self._tail)


class Reader:
    """What one reader of the stream has been told already."""

    def __init__(self, overview: Overview, history: History, tail: LogTail | None) -> None:
        self._overview = overview
        self._history = history
        self._tail = tail
        self._version = 0
        self._line = 0

    def news(self) -> bytes:
        """The events that tell what is new: always the picture; profit over time and log lines
        where there are new ones."""
        parts = [framed("status", self._overview.status())]
        if self._history.version != self._version:
            self._version = self._history.version
            parts.append(framed("history", self._history.moments))
        if self._tail is not None:
            lines = self._tail.since(self._line)
            alerts = self._tail.alerts_since(self._line)
            if lines:
                self._line = lines[-1].number
                parts.append(framed("log", {"lines": lines, "alerts": alerts}))
        return b"".join(parts)
