"""A trader on the thin venue whose configuration changes, and the strategies that it knows."""

from collections.abc import Callable, Iterator

import msgspec

from bot.core import messages as m
from bot.core.settings import TraderSettings
from bot.core.trader import Trader
from bot.strategy.api import Quote, Strategy
from tests.builders.bot.thin import Thin
from venue.wire.money import BookSide, Price, Qty


class Around(Strategy):
    """A bid and an ask of 10 shares, `half_spread` cents from the middle."""

    name = "around"

    def __init__(self, half_spread: int) -> None:
        super().__init__(None)
        self.half_spread = half_spread
        self.asked = 0

    def quote(self, view):
        self.asked += 1
        return {
            rung.market_id: (
                Quote(BookSide.BID, Price(int(rung.microprice_cents) - self.half_spread), Qty(10)),
                Quote(BookSide.ASK, Price(int(rung.microprice_cents) + self.half_spread), Qty(10)),
            )
            for rung in view.rungs
            if rung.microprice_cents is not None
        }


class Silent(Strategy):
    name = "silent"

    def quote(self, view):
        return {}


class Raising(Strategy):
    """Raises whenever it is asked."""

    name = "raising"

    def quote(self, view):
        raise ZeroDivisionError("by design")


def unmakeable() -> Strategy:
    raise RuntimeError("no such thing")


MAKERS = {
    "silent": lambda: Silent(None),
    "raising": lambda: Raising(None),
    "unmakeable": unmakeable,
}


def remake(choice: m.StrategyChoice):
    """What makes the strategies of a choice; `around` is told its half spread."""
    if choice.name == "around":
        return lambda: Around(int(choice.params_json))
    return MAKERS[choice.name]


class Changing(Thin):
    """The venue, and a trader that quotes two cents around the middle of two rungs."""

    def __init__(self, make: Callable[[], Strategy] = lambda: Around(2)) -> None:
        super().__init__([40, 60], make)
        settings = self.trader.reconfiguration.settings
        self.trader = Trader(settings, make, remake=remake)
        self.log: list[tuple[int, m.Event, list[m.Effect]]] = []
        self.notes: list[m.Noted] = []
        self.number = 0

    @property
    def settings(self) -> TraderSettings:
        return self.trader.reconfiguration.settings

    @property
    def ladder(self):
        return self.trader.quoting.ladders[0]

    def start(self) -> None:
        """Quote, made from a configuration that has a name."""
        configured = m.Configuration(self.settings, m.StrategyChoice("around", "2"), "first")
        self.give(m.Started("0" * 20, (), new_account=True, configured=configured))
        self.give(m.FeedOpened())
        for index in range(len(self.mids)):
            self.show(index)
        self.run(5)

    def give(self, event: m.Event) -> list[m.Effect]:
        """As ever; what was given and what came of it is kept."""
        at_ns = self.now_ns
        number = len(self.log)
        self.log.append((at_ns, event, []))
        effects = super().give(event)
        self.log[number] = (at_ns, event, effects)
        self.notes += [effect for effect in effects if isinstance(effect, m.Noted)]
        return effects

    def change(self, strategy: m.StrategyChoice | None = None, **parts: msgspec.Struct) -> None:
        """Another configuration, told now. parts: whole sections of the settings."""
        before = self.trader.reconfiguration.configured
        settings = msgspec.structs.replace(before.settings, **parts)
        self.number += 1
        configured = m.Configuration(settings, strategy or before.strategy, f"c{self.number}")
        self.give(m.Reconfigured(self.number, configured, ("some key: 1 -> 2",)))

    def told(self, name: str) -> list[m.Noted]:
        return [note for note in self.notes if note.name == name]

    def gaps(self) -> Iterator[tuple[int, int]]:
        """How far from the middle orders rest on each rung: (of the bid, of the ask)."""
        for index, rung in enumerate(self.ladder.rungs):
            levels = {own.book_side: own.yes_price for own in self.trader.desk.live(rung.market_id)}
            mid = self.mids[index]
            yield mid - levels[BookSide.BID], levels[BookSide.ASK] - mid


def around(half_spread: int) -> m.StrategyChoice:
    return m.StrategyChoice("around", str(half_spread))
