"""Who trades. Each acts on one market (the publisher on one company) and makes all draws of an act
from a stream of its own, so that others never shift its luck (docs/pricing.md#section-3-world)."""

import math
import random
from typing import Final, Protocol

import msgspec

from venue.crowd.latent import LatentValue, fair_cents, remaining_sd, stream
from venue.crowd.market_view import CrowdView, Spot
from venue.crowd.settings import CrowdSettings
from venue.engine.messages import CancelOrder, Command, OrderState, PlaceOrder, PublishImpliedValue
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    FEE_UNITS_PER_CENT,
    PRICE_MAX,
    PRICE_MIN,
    BookSide,
    FeeUnits,
    Outcome,
    Price,
    Qty,
    Side,
    book_side,
    canonical,
    fee_units,
    reserve_cents,
)
from venue.wire.names import ClientOrderId, ProjectId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

TAKE_QTY_MAX: Final = 200
_KEEP_TICKS: Final = 1
_KEEP_SIZE_DIVISOR: Final = 3
_CONFIDENCE_BEST_SD: Final = 0.02
_CONFIDENCE_SPAN_SD: Final = 0.10
_LOG_DOLLARS_END: Final = math.log(10.0**15)
"""A value from here on has more digits than the channel carries."""


class CrowdMarket(msgspec.Struct):
    """What the traders of one crowd share. `orders_made`: orders of the run, for their ids."""

    settings: CrowdSettings
    view: CrowdView
    latents: dict[ProjectId, LatentValue]
    start_ns: int
    orders_made: int = 0

    def fair_cents(self, spot: Spot, at_ns: int, now_ns: int) -> float:
        latent = self.latents[spot.project_id]
        strike = latent.log_start if spot.log_strike is None else spot.log_strike
        sd = remaining_sd(self.settings, spot.resolution_ns - now_ns)
        return fair_cents(latent.at(at_ns), strike, sd)

    def order(
        self, user_id: UserId, spot: Spot, side: BookSide, price: Price, qty: int, tif: TimeInForce
    ) -> list[Command]:
        """An order that works on `side` at a canonical price: inventory is sold first. The size is
        cut to the shares or cash at hand; nothing where no share is left."""
        market_id = spot.market.market_id
        bought = Outcome.YES if side is BookSide.BID else Outcome.NO
        free = self.view.free_shares(user_id, market_id, bought.other)
        outcome, act = (bought.other, Side.SELL) if free > 0 else (bought, Side.BUY)
        own_price = canonical(outcome, price)
        if act is Side.SELL:
            qty = min(qty, free)
        else:
            rate = max(spot.market.maker_fee_rate, spot.market.taker_fee_rate)
            cash = self.view.cash_cents[user_id]
            while qty > 0 and reserve_cents(rate, Qty(qty), own_price, FeeUnits(0)) > cash:
                qty //= 2
        if qty < 1:
            return []
        self.orders_made += 1
        # The start is part of the id: a venue that outlives a crowd remembers the ids of the last.
        cid = ClientOrderId(f"{self.start_ns:x}-{self.orders_made:x}")
        return [
            PlaceOrder(user_id, QtyOrder(market_id, outcome, act, own_price, Qty(qty), tif, cid))
        ]

    def lag_ns(self, seconds: float) -> int:
        return int(seconds / self.settings.speed * NS_PER_SECOND)


class Trader(Protocol):
    """Somebody who acts at instants of their own choosing."""

    def act(self, now_ns: int) -> list[Command]:
        """The actions of this step."""

    def gap_ns(self) -> int | None:
        """How long until the next act; None when there is none."""


class PoissonTrader(Trader):
    """Acts on one market at the arrivals of a Poisson stream; never where the rate is 0."""

    def __init__(self, world: CrowdMarket, spot: Spot, per_minute: float, *names: str) -> None:
        """names: of its stream of random numbers, besides the market's."""
        self._world, self._spot, self._per_minute = world, spot, per_minute
        self._draws = stream(world.settings.seed, *names, spot.market.ticker)

    def gap_ns(self) -> int | None:
        if self._per_minute <= 0:
            return None
        seconds = self._draws.expovariate(self._per_minute / 60 * self._world.settings.speed)
        return max(1, int(seconds * NS_PER_SECOND))


class NoiseTaker(PoissonTrader):
    """Takes whatever lies inside a private view of fair value; knows nothing."""

    def __init__(self, world: CrowdMarket, spot: Spot, users: list[UserId]) -> None:
        per_minute = world.settings.noise_takes_per_rung_per_minute
        super().__init__(world, spot, per_minute, "noise")
        self._users = users

    def act(self, now_ns: int) -> list[Command]:
        world, spot, settings = self._world, self._spot, self._world.settings
        user = self._draws.choice(self._users)
        mood = settings.theme * math.tanh(world.latents[spot.project_id].mood)
        buys = self._draws.random() < (1 + mood) / 2
        seen_ns = now_ns - world.lag_ns(settings.view_lag_s)
        view = world.fair_cents(spot, seen_ns, now_ns) + self._draws.gauss(
            0, settings.view_sd_cents
        )
        reach = self._draws.expovariate(1 / settings.noise_reach_cents)
        qty = _size(self._draws, settings.take_qty_mean)
        limit = math.floor(view + reach) if buys else math.ceil(view - reach)
        return _take(world, spot, user, BookSide.BID if buys else BookSide.ASK, limit, qty)


class InformedTaker(PoissonTrader):
    """Knows the value now and takes quotes that are stale by more than fee and edge."""

    def __init__(
        self, world: CrowdMarket, spot: Spot, users: list[UserId], per_minute: float
    ) -> None:
        super().__init__(world, spot, per_minute, "informed")
        self._users = users

    def act(self, now_ns: int) -> list[Command]:
        world, spot, settings = self._world, self._spot, self._world.settings
        user = self._draws.choice(self._users)
        qty = _size(self._draws, 2 * settings.take_qty_mean)
        fair = world.fair_cents(spot, now_ns, now_ns)
        near = Price(min(max(round(fair), PRICE_MIN), PRICE_MAX))
        fee = fee_units(spot.market.taker_fee_rate, Qty(1), near) / FEE_UNITS_PER_CENT
        margin = fee + settings.informed_edge_cents
        bought = _take(world, spot, user, BookSide.BID, math.floor(fair - margin), qty)
        return bought or _take(world, spot, user, BookSide.ASK, math.ceil(fair + margin), qty)


class Maker(PoissonTrader):
    """Keeps a bid and an ask around an old fair value, moves them now and then, or goes away."""

    def __init__(self, world: CrowdMarket, spot: Spot, user: UserId) -> None:
        per_minute = world.settings.maker_visits_per_rung_per_minute
        super().__init__(world, spot, per_minute, "maker", user)
        self._user = user

    def act(self, now_ns: int) -> list[Command]:
        """Cancels first, then fresh quotes: its own orders never meet each other."""
        world, settings = self._world, self._world.settings
        resting = world.view.orders(self._user, self._spot.market.market_id)
        leaves = self._draws.random() < settings.maker_cancel_share and bool(resting)
        offsets = [
            self._draws.uniform(settings.maker_offset_min_cents, settings.maker_offset_max_cents)
            for _ in BookSide
        ]
        sizes = [_size(self._draws, settings.maker_qty_mean) for _ in BookSide]
        seen_ns = now_ns - world.lag_ns(settings.maker_lag_s)
        fair = world.fair_cents(self._spot, seen_ns, now_ns)
        cancels: list[Command] = []
        places: list[Command] = []
        for side, offset, size in zip(BookSide, offsets, sizes, strict=True):
            price = None if leaves else self._price(side, fair, offset)
            there = [order for order in resting if book_side(order.outcome, order.side) is side]
            if price is not None and len(there) == 1 and _good(there[0], price, size):
                continue
            cancels += [CancelOrder(self._user, order.order_id) for order in there]
            if price is not None:
                places += world.order(self._user, self._spot, side, price, size, TimeInForce.GTC)
        return cancels + places

    def _price(self, side: BookSide, fair: float, offset: float) -> Price | None:
        """Where to quote without taking from others; None where no price is worth it."""
        touch = self._world.view.best(self._spot.market.market_id, side.other, self._user)
        if side is BookSide.BID:
            # Near the ends the offset gives way, as long as the price is on the right side.
            price = max(math.floor(fair - offset), PRICE_MIN)
            price = price if touch is None else min(price, touch - 1)
            worth_it = PRICE_MIN <= price < fair
        else:
            price = min(math.ceil(fair + offset), PRICE_MAX)
            price = price if touch is None else max(price, touch + 1)
            worth_it = fair < price <= PRICE_MAX
        return Price(price) if worth_it else None


class Publisher(Trader):
    def __init__(self, world: CrowdMarket, project_id: ProjectId, name: str) -> None:
        self._world, self._project_id = world, project_id
        self._dollars_per_unit = world.view.dollars_per_unit(project_id)
        self._draws = stream(world.settings.seed, "feed", name)

    def act(self, now_ns: int) -> list[Command]:
        settings = self._world.settings
        lag_s = self._draws.uniform(settings.feed_lag_min_s, settings.feed_lag_max_s)
        sd = self._draws.uniform(settings.feed_noise_min, settings.feed_noise_max)
        error = self._draws.gauss(0, sd)
        wrong = self._draws.uniform(-settings.feed_confidence_error, settings.feed_confidence_error)
        seen = self._world.latents[self._project_id].at(now_ns - self._world.lag_ns(lag_s))
        if seen + error + math.log(self._dollars_per_unit) >= _LOG_DOLLARS_END:
            return []
        value = math.exp(seen + error) * self._dollars_per_unit
        # Full confidence means an sd of 2%, none 12%.
        claimed = (sd * (1 + wrong) - _CONFIDENCE_BEST_SD) / _CONFIDENCE_SPAN_SD
        confidence = 1 - min(max(claimed, 0.0), 1.0)
        return [PublishImpliedValue(self._project_id, f"{value:.2f}", f"{confidence:.3f}")]

    def gap_ns(self) -> int | None:
        return max(1, self._world.lag_ns(self._world.settings.feed_interval_s))


def _size(draws: random.Random, mean: float) -> int:
    """A geometric size of the given mean, 1 to TAKE_QTY_MAX shares."""
    if mean <= 1:
        return 1
    exponent = math.log(1 - draws.random()) / math.log(1 - 1 / mean)
    return min(1 + int(exponent), TAKE_QTY_MAX)


def _take(
    world: CrowdMarket, spot: Spot, user: UserId, side: BookSide, limit: int, qty: int
) -> list[Command]:
    price = Price(min(max(limit, PRICE_MIN), PRICE_MAX))
    touch = world.view.best(spot.market.market_id, side.other, user)
    if touch is None or (touch > limit if side is BookSide.BID else touch < limit):
        return []
    return world.order(user, spot, side, price, qty, TimeInForce.IOC)


def _good(order: OrderState, price: Price, size: int) -> bool:
    off = abs(canonical(order.outcome, order.price) - price)
    return off <= _KEEP_TICKS and order.remaining_qty * _KEEP_SIZE_DIVISOR >= size
