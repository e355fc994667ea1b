"""One life's rates: what a market and the account bear, and what a minute bears before a breaker.

Limits that are not given follow from the others, reckoned here and not by the trader.
"""

from collections import deque
from typing import Final

from bot.core import messages as m
from bot.core.settings import PaceSettings, TraderSettings
from bot.lab.sim.judge.broken import check
from bot.lab.sim.judge.possible import DOLLAR
from bot.lab.sim.odds import MS, SECOND
from venue.wire.names import MarketId

_MINUTE_NS: Final = 60 * SECOND
_ORDERS_MIN: Final = 20
_TIMES: Final = 3
"""Of the orders that may rest, so many may be placed, or fill, in a minute."""

_JUDGED_NS: Final = 150 * MS
"""A breaker looks ten times a second; before the beat in which something leaves at the latest."""


class _Level:
    """Tokens x 10**9 in a bucket that nobody fills but time."""

    __slots__ = ("at_ns", "level_e9")

    def __init__(self, burst: int, now_ns: int) -> None:
        self.level_e9, self.at_ns = burst * SECOND, now_ns

    def taken(self, per_second: int, burst: int, now_ns: int) -> bool:
        flowed = (now_ns - self.at_ns) * per_second
        self.level_e9 = min(burst * SECOND, self.level_e9 + flowed) - SECOND
        self.at_ns = now_ns
        return self.level_e9 >= 0

    def resized(self, before: tuple[int, int], burst: int, now_ns: int) -> None:
        flowed = (now_ns - self.at_ns) * before[0]
        used = max(0, before[1] * SECOND - self.level_e9 - flowed)
        self.level_e9, self.at_ns = max(0, burst * SECOND - used), now_ns


class Rates:
    """Follows the writes and the fills of one life; all times are the bot's own."""

    def __init__(self, settings: TraderSettings, now_ns: int) -> None:
        self._settings = settings
        self._markets: dict[MarketId, _Level] = {}
        self._all = _Level(settings.pace.writes_burst, now_ns)
        self._creates: deque[tuple[int, int]] = deque()  # when, and what it was worth
        self._fills: deque[tuple[int, int]] = deque()  # when booked, and how many
        self._booked = 0

    def follow(self, settings: TraderSettings, now_ns: int) -> None:
        before, pace = self._settings.pace, settings.pace
        for level in self._markets.values():
            level.resized(_of_market(before), pace.market_writes_burst, now_ns)
        account = (before.writes_per_second, before.writes_burst)
        self._all.resized(account, pace.writes_burst, now_ns)
        self._settings = settings

    def cleared(self) -> None:
        self._creates.clear()
        self._fills.clear()

    def written(self, market: MarketId, now_ns: int) -> None:
        pace = self._settings.pace
        per_second, burst = _of_market(pace)
        level = self._markets.setdefault(market, _Level(burst, now_ns))
        fits = level.taken(per_second, burst, now_ns)
        check(fits, "B5", f"more writes on {market} than its pace allows")
        fits = self._all.taken(pace.writes_per_second, pace.writes_burst, now_ns)
        check(fits, "B5", "more writes than the pace of the account allows")
        self._fills_are_few(now_ns)

    def created(self, request: m.Create, now_ns: int) -> None:
        order, breakers = request.order, self._settings.breakers
        minute = self._creates
        _drop(minute, now_ns)
        minute.append((now_ns, order.price * order.qty))
        most = breakers.creates_per_minute or _TIMES * self._orders
        told = f"{len(minute)} creates in a minute, at most {most}"
        check(len(minute) <= most, "B13", told)
        worth = sum(cents for _, cents in minute)
        shares = self._orders * self._settings.risk.order_qty
        most = breakers.notional_cents_per_minute or DOLLAR * shares
        check(worth <= most, "B13", f"creates of {worth} cents in a minute, at most {most}")

    def booked(self, fills: int, now_ns: int) -> None:
        if fills > self._booked:
            self._fills.append((now_ns, fills - self._booked))
        self._booked = fills

    def _fills_are_few(self, now_ns: int) -> None:
        _drop(self._fills, now_ns)
        most = self._settings.breakers.fills_per_minute or _TIMES * self._orders
        fills = sum(count for at_ns, count in self._fills if at_ns <= now_ns - _JUDGED_NS)
        check(fills <= most, "B13", f"new exposure after {fills} fills in a minute, at most {most}")

    @property
    def _orders(self) -> int:
        return max(self._settings.risk.resting_orders, _ORDERS_MIN)


def _of_market(pace: PaceSettings) -> tuple[int, int]:
    return pace.market_writes_per_second, pace.market_writes_burst


def _drop(minute: deque[tuple[int, int]], now_ns: int) -> None:
    while minute and now_ns - minute[0][0] >= _MINUTE_NS:
        minute.popleft()
