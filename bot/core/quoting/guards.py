"""The guards of one event: news pulls its quotes for a while, they wind down near its end, and
dates of the calendar restrict them or move them away from the fair value.

One value drives every rung, so news about one rung is news about all. The first to trade after it
know more than our quotes, which are cancelled at once, and made again from books and feed later.

Near the end of an event some traders know its outcome, and nothing bought can be sold again. So
sizes are halved, then only inventory is reduced, then nothing is quoted. That holds for every
strategy.

See docs/pricing.md#section-1c-news, #section-1c-time; docs/operations.md#calendar.
"""

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import TypeVar

import msgspec

from bot.core.orders.outbox import NEVER_NS
from bot.core.settings import CalendarEntry, CurfewSettings, NewsSettings
from bot.core.trading_state import (
    EVERYTHING,
    NORMAL_WIDTH_PCT,
    InForce,
    Restriction,
    Source,
    TradingState,
)
from bot.strategy.api import ComingDate, Levels, Quote, Resting, RungView, Take
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND, second_of
from venue.wire.money import BookSide, Price, Qty, is_price
from venue.wire.names import MarketId, Ticker

_ONE_TRADE_NS = 50 * NS_PER_MS
"""Prints of one rung and side this close together are of one taker."""

_Wish = TypeVar("_Wish", Quote, Take)


class JumpGuard:
    """Pulls the event after a jump of the touch, or a trade that clears it."""

    def __init__(self, settings: NewsSettings) -> None:
        self._settings = settings
        # By rung: when each touch of others was seen, its bid and its ask.
        self._touches: defaultdict[str, deque[tuple[int, int, int]]] = defaultdict(deque)
        self._trades: dict[str, tuple[int, BookSide, Qty]] = {}  # the newest: when, taker, shares
        self.was_pulled = False  # when the event was decided last
        self.pulled_until_ns = 0  # its rungs are not quoted before
        self.why = ""  # in a few words

    def restriction(self, now_ns: int) -> Restriction | None:
        """The pull that holds now; None without one."""
        if now_ns >= self.pulled_until_ns:
            return None
        return Restriction(
            source=Source.JUMP_GUARD,
            state=TradingState.HALTED,
            why=f"news: {self.why}",
            ends="after its time without another jump",
            until_ns=self.pulled_until_ns,
        )

    def use_settings(self, settings: NewsSettings) -> None:
        """Change the settings; a pull goes on for its time."""
        self._settings = settings
        if not settings.jump_cents:
            self._touches.clear()  # the guard is off

    def on_market_trade(
        self, name: str, price: Price, qty: Qty, taker: BookSide, book: tuple[Levels, Levels],
        now_ns: int,
    ) -> bool:  # fmt: skip
        """A trade of others on the rung of this name. True if it pulls the event.

        taker: BID when YES was bought. book: bids and asks as last shown, ours included; one that
        contains the trade already has no such price any more.
        """
        if not self._settings.print_qty:
            return False
        before = self._trades.get(name)
        if before and before[1] is taker and now_ns - before[0] <= _ONE_TRADE_NS:
            qty = Qty(qty + before[2])
        self._trades[name] = (now_ns, taker, qty)
        if qty < self._settings.print_qty:
            return False
        is_buy = taker is BookSide.BID
        touch = book[1 if is_buy else 0][:1]
        is_there = touch and (touch[0][0] <= price if is_buy else touch[0][0] >= price)
        if is_there and 100 * qty < self._settings.print_touch_pct * touch[0][1]:
            return False
        return self._pull(f"{name}: {qty} shares traded at {price} and cleared the touch", now_ns)

    def on_decision(self, rungs: Iterable[RungView], now_ns: int) -> bool:
        """The event is decided now. True if it is pulled. rungs: those that changed.

        A jump moves both sides of a touch the same way: where one side alone steps back, the book
        is thin and says nothing about the value.
        """
        began_ns, least = now_ns - self._settings.jump_ns, 2 * self._settings.jump_cents
        for rung in rungs if least else ():
            touches = self._touches[rung.ticker]
            if not rung.bids or not rung.asks:
                touches.clear()
                continue
            bid, ask = rung.bids[0][0], rung.asks[0][0]
            if touches and touches[-1][1:] == (bid, ask):
                continue
            # The newest touch from before the window was there when it began.
            while len(touches) > 1 and touches[1][0] < began_ns:
                touches.popleft()
            for _, was_bid, was_ask in touches:
                up, down = bid - was_bid, ask - was_ask
                if up * down > 0 and abs(up + down) >= least:
                    touches.clear()
                    text = f"{was_bid}/{was_ask} became {bid}/{ask}"
                    self._pull(f"{rung.ticker}: {text}", now_ns)
                    break
            touches.append((now_ns, bid, ask))
        self.was_pulled = now_ns < self.pulled_until_ns
        return self.was_pulled

    def _pull(self, why: str, now_ns: int) -> bool:
        """Pull the event from now on. False if it was pulled already."""
        was_pulled = now_ns < self.pulled_until_ns
        self.pulled_until_ns = now_ns + self._settings.pull_ns
        if was_pulled:
            return False
        self.why = why
        return True


class WindDown:
    """Restricts an event as its end comes near.

    until_ns: when the next stage begins, NEVER_NS after all of them; a judgement before then would
    change nothing.
    """

    def __init__(self, settings: CurfewSettings) -> None:
        self.settings = settings
        self.until_ns = 0
        self.restriction: Restriction | None = None
        self.in_force = EVERYTHING
        """What it alone leaves."""
        self.is_exiting = False
        """True in its last stage, an exit."""

    def use_settings(self, settings: CurfewSettings) -> None:
        """Change the settings from the next judgement on."""
        if settings != self.settings:
            self.settings = settings
            self.until_ns = 0

    def invalidate(self) -> None:
        """The event resolves at another time: judge at the next occasion."""
        self.until_ns = 0

    def judge(self, resolution_ns: int, now_ns: int) -> None:
        """Restrict an event that resolves then as its stage demands."""
        settings, left_ns = self.settings, max(0, resolution_ns - now_ns)
        # The very end is a turn, too: from there on quotes only reduce, whatever the settings.
        turns_ns = (
            0, settings.halve_ns, settings.reduce_ns, settings.exit_ns, settings.stop_ns,
        )  # fmt: skip
        self.until_ns = min(
            [now_ns + left_ns - turn_ns for turn_ns in turns_ns if turn_ns < left_ns],
            default=NEVER_NS,
        )
        state = TradingState.ACTIVE
        if left_ns <= settings.stop_ns and settings.stop_ns:
            state = TradingState.HALTED
        elif left_ns <= max(settings.reduce_ns, settings.exit_ns):
            state = TradingState.REDUCE_ONLY
        elif left_ns <= settings.halve_ns:
            state = TradingState.REDUCED
        divisor = 2 if left_ns <= settings.halve_ns and settings.halve_ns else 1
        self.is_exiting = settings.stop_ns < left_ns <= settings.exit_ns
        self.in_force, self.restriction = InForce(state, divisor), None
        if state is not TradingState.ACTIVE:
            self.restriction = Restriction(
                source=Source.WIND_DOWN,
                state=state,
                why="the event resolves soon",
                ends="when it has resolved",
                until_ns=None if self.until_ns == NEVER_NS else self.until_ns,
                divisor=divisor,
            )


class Calendar:
    """Restricts an event around the dates of the calendar; each entry in force does so by itself.

    until_ns: when an entry begins or ends next, or its date comes; NEVER_NS after all of them.
    Nothing changes before.
    """

    def __init__(self, event_ticker: Ticker, entries: Iterable[CalendarEntry]) -> None:
        """entries: of the series; those of other events are left out."""
        self._event_ticker = event_ticker
        self._entries: tuple[CalendarEntry, ...] = ()
        self.brings_variance = False  # some date is worth time
        self.until_ns = 0
        self.restrictions: tuple[Restriction, ...] = ()
        self.use_settings(entries)

    def use_settings(self, entries: Iterable[CalendarEntry]) -> None:
        """Change the entries from the next call of `restrict` on."""
        here = (None, self._event_ticker)
        self._entries = tuple(each for each in entries if each.event_ticker in here)
        self.brings_variance = any(each.variance_ns for each in self._entries)
        self.until_ns = 0

    def restrict(self, now_ns: int) -> None:
        """Restrict the event as the entries in force at this instant demand."""
        turns_ns = [
            turn
            for each in self._entries
            for turn in (each.from_ns, each.at_ns if each.variance_ns else 0, each.until_ns)
        ]
        self.until_ns = min([turn for turn in turns_ns if turn > now_ns], default=NEVER_NS)
        self.restrictions = tuple(
            Restriction(
                source=Source.CALENDAR,
                state=each.state,
                why=f"{each.name} at {second_of(each.at_ns)}",
                ends="when the date is over",
                until_ns=each.until_ns,
                divisor=each.size_divisor if each.state is TradingState.REDUCED else 1,
                width_pct=each.width_pct,
            )
            for each in self._entries
            if each.restricts and each.from_ns <= now_ns < each.until_ns
        )

    def coming(self, now_ns: int, resolution_ns: int) -> tuple[ComingDate, ...]:
        """The dates still to come before an event resolves then, in the order of the file."""
        return tuple(
            ComingDate(
                each.name,
                (each.at_ns - now_ns) / NS_PER_SECOND,
                each.variance_ns / NS_PER_SECOND,
            )
            for each in self._entries
            if now_ns < each.at_ns <= resolution_ns
        )


def allowed(
    wanted: Mapping[MarketId, tuple[_Wish, ...]], net_qty: Mapping[MarketId, int], limit: InForce
) -> Mapping[MarketId, tuple[_Wish, ...]]:
    """The wanted quotes or takes that are allowed; the same mapping if all are.

    net_qty: the inventory, YES less NO shares, of each rung with quotes.
    """
    if limit.state.is_halted:
        return {}
    if limit == EVERYTHING:
        return wanted
    reduces = limit.state is TradingState.REDUCE_ONLY
    return {
        market_id: _within(wishes, limit.divisor, net_qty[market_id] if reduces else None)
        for market_id, wishes in wanted.items()
    }


def net_after(
    net_qty: Mapping[MarketId, int], takes: Mapping[MarketId, tuple[Take, ...]]
) -> dict[MarketId, int]:
    """The inventory of each rung once these takes have traded."""
    left = dict(net_qty)
    for market_id, wished in takes.items():
        for take in wished:
            left[market_id] += take.qty if take.side is BookSide.BID else -take.qty
    return left


def _within(wishes: tuple[_Wish, ...], divisor: int, net: int | None) -> tuple[_Wish, ...]:
    """Each size divided, at least a share; with `net`, no more of all than reduces it, the boldest
    first."""
    out: list[_Wish] = []
    room = {BookSide.BID: max(0, -net), BookSide.ASK: max(0, net)} if net is not None else {}
    for wish in sorted(wishes, key=_boldness):
        qty = max(1, wish.qty // divisor)
        if net is not None:
            qty = min(qty, room[wish.side])
            room[wish.side] -= qty
        if qty > 0:
            out.append(msgspec.structs.replace(wish, qty=Qty(qty)))
    return tuple(out)


def widened(
    quotes: Resting, fair_cents: Mapping[MarketId, float | None], width_pct: int
) -> Resting:
    """The quotes, each at so many percent, >= 100, of its distance from the fair value of its rung,
    rounded away from it; the same mapping at 100.

    A quote at or beyond the fair value keeps its price. One that would rest outside 1..99 is left
    out, and so are all of a rung without a fair value.
    """
    if width_pct == NORMAL_WIDTH_PCT:
        return quotes
    out: dict[MarketId, tuple[Quote, ...]] = {}
    for market_id, wanted in quotes.items():
        fair = fair_cents[market_id]
        moved = [_farther(each, fair, width_pct) for each in wanted if fair is not None]
        out[market_id] = tuple(each for each in moved if is_price(each.price))
    return out


def _farther(quote: Quote, fair: float, width_pct: int) -> Quote:
    price = _price_farther(quote.side, quote.price, fair, width_pct)
    limit = quote.limit
    if limit is not None:
        limit = _price_farther(quote.side, limit, fair, width_pct)
    return msgspec.structs.replace(quote, price=price, limit=limit)


def _price_farther(side: BookSide, price: Price, fair: float, width_pct: int) -> Price:
    away = fair - price if side is BookSide.BID else price - fair
    if away <= 0:
        return price
    away *= width_pct / NORMAL_WIDTH_PCT
    return Price(math.floor(fair - away) if side is BookSide.BID else math.ceil(fair + away))


def _boldness(wish: Quote | Take) -> tuple[bool, int]:
    is_bid = wish.side is BookSide.BID
    return not is_bid, -wish.price if is_bid else wish.price
