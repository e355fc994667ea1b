"""A strategy that now and then loses its mind, at instants fixed beforehand.

What it does hangs on its view alone, so a replay meets the same moods at the same events.
"""

from typing import Any, NamedTuple

import msgspec

from bot.lab.sim.coverage import Seen
from bot.lab.sim.life.configured import FAILING
from bot.lab.sim.odds import MS, SECOND
from bot.lab.sim.venue.simulated import RESOLUTION_NS
from bot.strategy.api import EventView, NonsenseQuotes, Quote, Quotes, Strategy, Take, split
from venue.wire.money import BookSide, Price, Qty, is_price

_FAT = 100_000
_ANY_FAULT = Exception
MOODS = ("tantrum", "fat_finger", "mad_strategy", "greed")


class Mood(NamedTuple):
    """A mood and when it reigns, world time: from `begin_ns` until before `end_ns`."""

    name: str
    begin_ns: int
    end_ns: int


class Moody(Strategy):
    """Asks another strategy, except while a mood reigns. zero_ns: when the world began."""

    def __init__(
        self, inner: Strategy, moods: list[Mood], zero_ns: int, skew_ns: int, seen: Seen
    ) -> None:
        super().__init__(inner.params)
        self._inner = inner
        self._moods = moods
        self._resolves_ns = zero_ns + RESOLUTION_NS - skew_ns
        self._seen = seen

    def quote(self, view: EventView) -> Quotes:
        """What the other wants, or what the mood does. Raises what a mood raises."""
        if not self._moods:
            return self._asked(view)
        now_ns = self._resolves_ns - int(view.seconds_to_resolution * SECOND)
        name = next((m.name for m in self._moods if m.begin_ns <= now_ns < m.end_ns), "")
        if name == "tantrum":
            self._seen.fault("tantrum_quote")
            nonsense: Quotes = _nonsense(view, now_ns // (10 * MS) % 5)
            return nonsense
        wanted = self._asked(view)
        if name == "greed":
            self._seen.fault("greed_quote")
            return _greedy(view, wanted, now_ns // (10 * MS))
        if name == "mad_strategy":
            self._seen.fault("mad_quote")
            return _elsewhere(wanted, now_ns // (50 * MS) * 7_919 % 21 - 10)
        if name != "fat_finger":
            return wanted
        self._seen.fault("fat_finger_quote")
        return {
            market: tuple(
                msgspec.structs.replace(each, qty=Qty(each.qty * _FAT)) for each in quotes
            )
            for market, quotes in wanted.items()
        }

    def _asked(self, view: EventView) -> Quotes:
        """What the other wants; its own faults are told from those of moods. Raises as it does."""
        try:
            wanted = self._inner.quote(view)
        except _ANY_FAULT as fault:
            if self._inner.name != FAILING:  # that one was drawn
                self._seen.own(fault)
            raise
        try:
            split(wanted, view)
        except NonsenseQuotes as fault:
            self._seen.own(fault)
        return wanted


def _elsewhere(wanted: Quotes, ticks: int) -> Quotes:
    return {
        market: tuple(
            Quote(each.side, Price(each.price + ticks), each.qty)
            if isinstance(each, Quote)
            else msgspec.structs.replace(each, price=Price(each.price + ticks))
            for each in quotes
            if is_price(each.price + ticks)
        )
        for market, quotes in wanted.items()
    }


def _greedy(view: EventView, wanted: Quotes, turn: int) -> Quotes:
    out = dict(wanted)
    for place, rung in enumerate(view.rungs):
        kind = (turn + 7 * place) * 2_654_435_761 % 2**32 >> 16
        side = BookSide.BID if kind & 1 else BookSide.ASK
        sign = 1 if side is BookSide.BID else -1
        best = rung.best_ask if side is BookSide.BID else rung.best_bid
        if best is None or not is_price(best + sign * (kind >> 1 & 1)):
            continue
        price = Price(best + sign * (kind >> 1 & 1))
        take = Take(side, price, Qty((1, 3, 9, 40)[kind >> 2 & 3]), whole=kind & 16 == 0)
        kept = (
            each
            for each in wanted.get(rung.market_id, ())
            if each.side is side or sign * each.price > sign * price
        )
        out[rung.market_id] = (*kept, take)
    return out


def _nonsense(view: EventView, kind: int) -> Any:
    market = view.rungs[0].market_id
    match kind:
        case 0:
            raise ZeroDivisionError("drawn")
        case 1:
            return None
        case 2:
            not_a_price: Any = float("nan")
            return {market: (Quote(BookSide.BID, not_a_price, Qty(1)),)}
        case 3:
            return {market: (Quote(BookSide.BID, Price(0), Qty(1)),)}
        case _:
            return {"no such rung": (Quote(BookSide.ASK, Price(50), Qty(0)),)}
