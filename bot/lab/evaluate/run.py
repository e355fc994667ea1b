"""Runs a whole trader in one world, in virtual time, and measures the result.

Seed, world, strategy and code decide it. See docs/pricing.md#section-3-metrics.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from bot.core import messages as m
from bot.core.settings import (
    BreakerSettings,
    CurfewSettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    TraderSettings,
)
from bot.core.trader import Trader
from bot.lab.driver import Driver
from bot.lab.evaluate.market import CASH_CENTS, DrawnCrowd, TrueValueMarket
from bot.lab.evaluate.outside import Advice
from bot.lab.evaluate.scenarios import (
    GRID,
    MILLICENTS,
    NATURE,
    POINT_NS,
    STEP_NS,
    Act,
    Ints,
    Published,
    RandomInputs,
    Scenario,
)
from bot.lab.evaluate.timeout import ended_when_stalled
from bot.lab.exchange.exchange import DoesNotClose, Exchange, Response
from bot.lab.exchange.trader_run import TraderRun
from bot.lab.sim.venue import PROJECT, SERIES
from bot.strategy.api import Strategy
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.model import Liquidity
from venue.wire.money import PAYOUT_CENTS, BookSide, Cents, Qty, book_side

START_NS: Final = 1_800_000_000 * NS_PER_SECOND
NO_BUDGET_CENTS: Final = Cents(90_000_000)  # a limit of loss that never binds
HORIZONS_S: Final = (1, 10, 60)
ADVERSE_S: Final = 10  # moves of a rung so soon after a fill are adverse; later ones are drift
_EARLY_SHARE: Final = 0.1
_NEAR_CENTS: Final = 2
_NONCE: Final = "e0" * 10
_MANY: Final = 1_000_000

MONEY: Final = frozenset(
    (
        *("net", "spread", "inventory", "fees", "adverse", "drift", "early"),
        *("drawdown", "worst_max", "waste"),
    )
)
"""Figures in cents, reported in dollars."""

AVERAGED: Final = (
    *("spread", "inventory", "fees", "adverse", "drift", "early", "drawdown", "worst_max"),
    *("uptime", "touch_share", "fills", "filled_qty", "requests", "refused_for_pace", "waste"),
    *("errors", "cpu_s"),
)
"""Figures that are reported as averages over seeds."""


class RunMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run, in cents; the defaults are those of doing nothing.

    net = spread + inventory - fees, and inventory = adverse + drift. held_variance: cents^2, sum of
    `TruePath.move_variances`. edge_by_gain: cents^2, each change of spread - fees times what
    inventory had gained by then, summed. No gain can be foreseen, so its mean is that of the whole
    edge times the whole gain.
    """

    net: int = 0
    spread: float = 0.0
    inventory: float = 0.0
    fees: int = 0
    adverse: float = 0.0
    drift: float = 0.0
    held_variance: float = 0.0
    edge_by_gain: float = 0.0
    gain_mean: float = 0.0  # what inventory had gained, on average of the points
    early: float = 0.0  # the profit marked to the true values after a tenth of the run
    drawdown: float = 0.0  # the deepest fall of the marked profit, before the outcome
    worst_max: int = 0
    uptime: float = 0.0  # share of steps and rungs with both sides within 2c of others' mid
    touch_share: float = 0.0  # of the sides quoted those at the best price or better
    fills: int = 0
    filled_qty: int = 0
    requests: int = 0
    refused_for_pace: int = 0
    waste: float = 0.0  # fees beyond the exact ones
    markouts: dict[str, float] = {}  # cents a share after each horizon, against the true value
    errors: int = 0  # how often the strategy was at fault
    answers: int = 0  # how often it was not
    latched: str = ""
    fault: str = ""  # the first time
    cpu_s: float = 0.0

    def figure(self, name: str) -> float:
        value = float(getattr(self, name))
        return value / 100 if name in MONEY else value


def settings_for(world: Scenario, budget_cents: int | None) -> TraderSettings:
    """The trader's defaults in a world, with limits and breakers out of reach. budget_cents: limit
    of an event's loss. A run covers its whole event, so there is no wind-down."""
    limit = NO_BUDGET_CENTS if budget_cents is None else Cents(budget_cents)
    return TraderSettings(
        series_ticker=SERIES,
        risk=RiskSettings(
            event_loss_cents=limit,
            series_loss_cents=limit,
            rung_position_qty=Qty(100_000),
            order_qty=Qty(2_000),
            resting_orders=400,
        ),
        pace=PaceSettings(decide_ns=STEP_NS, dwell_ns=STEP_NS),
        staleness=StalenessSettings(
            lag_ns=500 * NS_PER_MS * world.latency,
            gap_ns=STEP_NS,
            read_lag_ns=100 * NS_PER_MS,
            book_ns=30 * STEP_NS,
            recheck_ns=20 * STEP_NS,
            poll_orders_ns=5 * STEP_NS,
            poll_account_ns=10 * STEP_NS,
        ),
        breakers=BreakerSettings(
            creates_per_minute=_MANY,
            notional_cents_per_minute=10**12,
            fills_per_minute=_MANY,
            filled_qty_per_minute=10**9,
            loss_cents=NO_BUDGET_CENTS,
            drawdown_cents=NO_BUDGET_CENTS,
            rejects_per_minute=_MANY,
        ),
        curfew=CurfewSettings(halve_ns=0, reduce_ns=0),
    )


class Profit(NamedTuple):
    """By point of the path."""

    edges_mc: Ints  # spread less fees of the fills in it
    held: Ints  # inventory of each rung at its end
    gained_mc: Ints  # what inventory had gained when it began
    inventory_mc: int  # by the end


def profit_of(
    points: Ints, rungs: Ints, bought: Ints, prices: Ints, fees: Ints, fairs_mc: Ints
) -> Profit:
    """Split the profit of fills. bought: YES shares, below zero for sold. prices, fees: cents.
    fairs_mc: by point and rung, the outcome last."""
    last, count = len(fairs_mc) - 1, fairs_mc.shape[1]
    edges_mc, held = np.zeros(last, np.int64), np.zeros((last, count), np.int64)
    earned_mc = bought * (fairs_mc[points, rungs] - prices * MILLICENTS) - fees * MILLICENTS
    np.add.at(edges_mc, points, earned_mc)
    np.add.at(held, (points, rungs), bought)
    held = held.cumsum(axis=0)
    gains_mc = (held * np.diff(fairs_mc, axis=0)).sum(axis=1)
    return Profit(edges_mc, held, gains_mc.cumsum() - gains_mc, int(gains_mc.sum()))


class DrawnLink:
    """Latencies and chances as drawn for the k-th request. The trader ticks twice a step."""

    period_ns: int | None = STEP_NS // 2

    def __init__(self, world: Scenario, draws: RandomInputs) -> None:
        self._feed_ns = world.feed_ns
        self._stalls = [(START_NS + begin, START_NS + end) for begin, end in draws.stalls]
        self._draws = itertools.cycle(zip(draws.latency_ms, draws.chances, strict=True))
        self._chances: dict[m.RequestId, float] = {}
        self._frame_ns = 0

    def ways_ns(self, send: m.Send) -> tuple[int, int]:
        latency_ms, self._chances[send.request_id] = next(self._draws)
        takes_ns = int(latency_ms * NS_PER_MS)
        return takes_ns, takes_ns // 2

    def respond(self, exchange: Exchange, send: m.Send, now_ns: int) -> Response:
        """Half of the unknown are carried out, rate-limited ones are not."""
        chance = self._chances.pop(send.request_id)
        unknown, refused = NATURE.unknown_share, NATURE.refused_share
        came = None
        if chance < unknown / 2 or chance >= unknown + refused:
            came = exchange.answer_request(send, now_ns)
        if chance < unknown:
            came = Response(m.Unknown("503 result_unknown"), None, None)
        elif came is None:
            came = Response(exchange.refuse(Code.RATE_LIMITED), None, NS_PER_SECOND)
        return came._replace(tokens=exchange.tokens_left(send.key))

    def frame_ns(self, now_ns: int) -> int:
        """After a stall all at once, and never before an earlier one."""
        for begin_ns, end_ns in self._stalls:
            if begin_ns <= now_ns < end_ns:
                now_ns = end_ns
        self._frame_ns = max(now_ns + self._feed_ns, self._frame_ns)
        return self._frame_ns


def _first(timed: tuple[int, object]) -> int:
    return timed[0]


class _WorldRun:
    def __init__(
        self,
        world: Scenario,
        draws: RandomInputs,
        make_strategy: Callable[[], Strategy],
        settings: TraderSettings,
        stated: Sequence[tuple[int, m.OutsideValue]],
    ) -> None:
        self._world = world
        self._draws = draws
        self._stated = stated
        self._market = TrueValueMarket(world, draws.true_path.strikes, START_NS)
        self._driver = Driver(START_NS)
        trader = Trader(settings, make_strategy)
        self._run = TraderRun(self._driver, self._market, trader, DrawnLink(world, draws))
        self._worst_cents = 0
        self._samples = self._near = self._sides = self._at_touch = 0

    def play(self) -> None:
        driver, run, end_ns = self._driver, self._run, START_NS + self._world.life_ns
        crowd = DrawnCrowd(self._world, self._draws.true_path, self._market, START_NS)
        run.deliver([m.Started(_NONCE, (), new_account=True), m.FeedOpened()])
        run.venue.keep_alive()
        driver.schedule_at(START_NS + STEP_NS - 1, self._sample)
        acts: list[tuple[int, Act | m.OutsideValue]] = [*self._draws.acts, *self._stated]
        for at_ns, act in sorted(acts, key=_first):
            if at_ns >= self._world.life_ns:
                break
            driver.reach(START_NS + at_ns)
            if isinstance(act, m.OutsideValue):
                run.deliver([act])
                continue
            if isinstance(act, Published):
                run.venue.send_frames([m.ImpliedValueSeen(PROJECT, driver.now_ns, *act)])
            else:
                crowd.perform_act(act, driver.now_ns)
            run.venue.publish()
        driver.reach(end_ns)
        self._market.resolve(self._draws.true_path.pays, end_ns)

    def _sample(self) -> None:
        market = self._market
        self._worst_cents = max(self._worst_cents, market.worst_cents())
        own = market.own_levels()
        for market_id in market.markets:
            bids, asks = (own.get((market_id, side), {}) for side in (BookSide.BID, BookSide.ASK))
            book = market.books[market_id]
            best_bid = max((p for p, n in book.bids.items() if n > bids.get(p, 0)), default=None)
            best_ask = min((p for p, n in book.asks.items() if n > asks.get(p, 0)), default=None)
            bid, ask = max(bids, default=None), min(asks, default=None)
            self._samples += 1
            self._sides += (bid is not None) + (ask is not None)
            self._at_touch += bid is not None and (best_bid is None or bid >= best_bid)
            self._at_touch += ask is not None and (best_ask is None or ask <= best_ask)
            if bid and ask and best_bid and best_ask:
                mid = (best_bid + best_ask) / 2
                self._near += mid - bid <= _NEAR_CENTS and ask - mid <= _NEAR_CENTS
        self._driver.schedule_after(STEP_NS, self._sample)

    def metrics(self) -> RunMetrics:
        """Raises DoesNotClose where fills, true values and the venue's cash differ."""
        market, true_path, account = self._market, self._draws.true_path, self._market.account
        net_cents = market.exchange.cash_cents - CASH_CENTS
        account.prove(net_cents)
        world = self._world
        rate_of = {Liquidity.MAKER: world.maker_rate.e8, Liquidity.TAKER: world.taker_rate.e8}
        rows = [
            (
                fill.at_ns - START_NS,
                market.rung_of[fill.market_id],
                1 if book_side(fill.outcome, fill.side) is BookSide.BID else -1,
                fill.trade_price,
                fill.qty,
                fill.fee_cents,
                rate_of[fill.liquidity],
            )
            for fill in account.fills
        ]
        since_ns, rungs, signs, prices, sizes, fees, rates = (
            np.array(rows, np.int64).reshape(-1, 7).T
        )
        fairs_mc = np.array(true_path.fair_mc)
        points, last = since_ns // POINT_NS, len(fairs_mc) - 1
        profit = profit_of(points, rungs, signs * sizes, prices, fees, fairs_mc)
        edges_mc, gained_mc, inventory_mc = profit.edges_mc, profit.gained_mc, profit.inventory_mc
        marks_mc = edges_mc.cumsum() + gained_mc
        whole_mc = int(edges_mc.sum()) + inventory_mc
        if whole_mc != net_cents * MILLICENTS:
            text = f"fills and true values: {whole_mc} mc, the venue: {net_cents} cents"
            raise DoesNotClose(text)
        by_step = marks_mc[GRID - 1 :: GRID]
        highest = np.maximum.accumulate(np.maximum(by_step, 0))
        early = true_path.point(int(self._world.life_ns * _EARLY_SHARE))

        def later_mc(after_s: int) -> Ints:
            then = np.minimum((since_ns + after_s * NS_PER_SECOND) // POINT_NS, last)
            return fairs_mc[then, rungs]

        qty = int(sizes.sum())
        adverse_mc = int((signs * sizes * (later_mc(ADVERSE_S) - later_mc(0))).sum())
        exact = rates * sizes * prices * (PAYOUT_CENTS - prices) / (PAYOUT_CENTS * 10**8)
        marked = {
            f"fair_{after_s}s": signs * (later_mc(after_s) - prices * MILLICENTS) * sizes
            for after_s in HORIZONS_S
        }
        counters = self._run.trader.out.counters
        return RunMetrics(
            net=net_cents,
            spread=int(edges_mc.sum()) / MILLICENTS + account.fees_cents,
            inventory=inventory_mc / MILLICENTS,
            fees=account.fees_cents,
            adverse=adverse_mc / MILLICENTS,
            drift=inventory_mc / MILLICENTS - adverse_mc / MILLICENTS,
            held_variance=float(true_path.move_variances(profit.held).sum()),
            edge_by_gain=int((edges_mc * gained_mc).sum()) / MILLICENTS**2,
            gain_mean=int(gained_mc.sum()) / last / MILLICENTS,
            early=int(edges_mc[:early].sum() + gained_mc[early]) / MILLICENTS,
            drawdown=int((highest - by_step).max()) / MILLICENTS,
            worst_max=self._worst_cents,
            uptime=self._near / max(1, self._samples),
            touch_share=self._at_touch / max(1, self._sides),
            fills=len(rows),
            filled_qty=qty,
            requests=sum(self._run.requests.values()),
            refused_for_pace=market.exchange.refused.get(Code.RATE_LIMITED, 0),
            waste=account.fees_cents - float(exact.sum()),
            markouts={k: int(each.sum()) / qty / MILLICENTS for k, each in marked.items() if qty},
            errors=counters.strategy_errors,
            answers=counters.strategy_answers,
            latched=self._run.latched,
            fault=self._run.trader.out.first_fault,
        )


def run_strategy(
    world: Scenario,
    draws: RandomInputs,
    make_strategy: Callable[[], Strategy],
    budget_cents: int | None = None,
    settings: TraderSettings | None = None,
    advice: Advice | None = None,
    seed: int = 0,
) -> RunMetrics:
    """settings: instead of `settings_for`. advice: a source of values from outside, drawn with the
    seed. Raises DoesNotClose and Stalled."""
    settings = settings or settings_for(world, budget_cents)
    stated: list[tuple[int, m.OutsideValue]] = []
    if advice is not None:
        settings = msgspec.structs.replace(settings, outside_sources=(advice.source,))
        stated += advice.values(world, seed, draws.true_path, START_NS)
    run = _WorldRun(world, draws, make_strategy, settings, stated)
    with ended_when_stalled():
        run.play()
    return run.metrics()
