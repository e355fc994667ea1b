"""One life: a whole trader in one world, driven directly in virtual time, and what came of it.

One thread, no shell, no journal: events into `Trader.receive`, effects out to the engine after the
latency that was drawn for them. The same seed, world, strategy and code give the same result.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import msgspec

from bot.core import messages as m
from bot.core.settings import (
    BreakerSettings,
    CurfewSettings,
    PaceSettings,
    RiskSettings,
    TraderSettings,
    TrustSettings,
)
from bot.core.strategy import Strategy
from bot.core.trader import Trader
from bot.lab.driver import Driver, TickTimer
from bot.lab.evaluate.crowd import Crowd
from bot.lab.evaluate.draws import Class, Draws, Informed, Look, Noise, Published, Visit, feed_ns
from bot.lab.evaluate.gauge import Gauge, Markout
from bot.lab.evaluate.latent import MILLICENTS
from bot.lab.evaluate.market import CASH_CENTS, TrueValueMarket
from bot.lab.evaluate.patience import ended_when_stalled
from bot.lab.evaluate.worlds import NATURE, World
from bot.lab.sim.venue.simulated import PROJECT, SERIES
from venue.core.messages import TradePrinted
from venue.wire.errors import Code
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Qty, Side

START_NS: Final = 1_800_000_000 * NS_PER_SECOND
NO_BUDGET_CENTS: Final = Cents(90_000_000)
"""A limit of loss that never binds: strategies are compared by what they do themselves."""

DECISIONS: Final = 1
"""In a step at most: quotes are a step stale, as in the reference, and a life costs seconds."""

TURNS: Final = 2
"""Beats in a step at most: what comes in between is met by one of them."""

_WAKE_IDLE_NS: Final = 90 * NS_PER_MS
_PING_NS: Final = 5 * NS_PER_SECOND // 2
_RETRY_NS: Final = NS_PER_SECOND
_NONCE: Final = "e0" * 10
_MANY: Final = 1_000_000


class Lived(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a life. Money in cents, floats where it is an average of millicents.

    net = spread + inventory - fees, and inventory = adverse + drift. held_variance: cents^2, summed
    over the points of the path, the variance of what holdings would gain until the next one; its
    mean over lives is that of inventory squared (`Latent.move_variance`). edge_by_gain, gain_mean:
    cents^2 and cents, of `Account`. early: the profit marked to the true values after a tenth of
    the life. requests, writes, refused_for_pace: of ours.
    errors: how often the strategy was at fault; fault: the first time, empty without one.
    """

    net: int
    spread: float
    inventory: float
    fees: int
    adverse: float
    drift: float
    held_variance: float
    edge_by_gain: float
    gain_mean: float
    early: float
    drawdown: float
    minute_ratio: float
    worst_max: int
    worst_mean: float
    locked: float
    uptime: float
    touch_share: float
    quoted_spread: float
    fills: int
    filled_qty: int
    taken_qty: int
    noise_qty: int
    noise_share: float
    requests: int
    writes: int
    refused_for_pace: int
    waste: float
    decisions: int
    errors: int
    latched: str
    markouts: list[Markout]
    cpu_s: float = 0.0
    fault: str = ""


def settings_for(world: World, budget_cents: int | None) -> TraderSettings:
    """The trader's settings in a world: its own defaults, and limits that do not bind.

    budget_cents: what an event may lose at worst; None for no such limit. Breakers that would stop
    a life until a person looks are set out of reach; what trips all the same is told. A life is a
    few hours before the end of its event, drawn out over the whole of it: there is no curfew.
    """
    pace_ns = world.step_ns // DECISIONS
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
        pace=PaceSettings(decide_ns=pace_ns, dwell_ns=pace_ns),
        trust=TrustSettings(
            lag_ns=500 * NS_PER_MS * world.latency,
            gap_ns=world.step_ns,
            read_lag_ns=100 * NS_PER_MS,
            book_ns=30 * world.step_ns,
            recheck_ns=20 * world.step_ns,
            sweep_ns=5 * world.step_ns,
            audit_ns=10 * world.step_ns,
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


class _Life:
    """The queue of one life. Instants are the trader's own, from START_NS."""

    def __init__(
        self,
        world: World,
        draws: Draws,
        make_strategy: Callable[[], Strategy],
        settings: TraderSettings,
    ) -> None:
        self.world = world
        self.draws = draws
        self.latent = draws.latent
        self.venue = TrueValueMarket(world, draws.latent.strikes, START_NS)
        self.account = self.venue.account
        self.crowd = Crowd(world, self.venue, START_NS)
        self.gauge = Gauge(world, self.venue, START_NS)
        self.trader = Trader(settings, make_strategy)
        self._driver = Driver(START_NS)
        self._ticks = TickTimer(self._driver, self._tick)
        self.end_ns = START_NS + world.life_ns
        self._early_ns = START_NS + int(world.life_ns * world.early_share)
        self._last_tick_ns = START_NS
        self._turn_ns = world.step_ns // TURNS
        self._idle_ns = world.step_ns // 2
        self._subscribed = False
        self._feed_ns = feed_ns(world)
        self._frames_ns = 0
        self._stalls = [(START_NS + a, START_NS + b) for a, b in draws.stalls]
        self.requests = 0
        self.writes = 0
        self.early_mc: int | None = None
        self.held_variance = 0.0
        self._point = 0
        self.latched = ""

    @property
    def now_ns(self) -> int:
        return self._driver.now_ns

    def run(self) -> None:
        """Live from the first instant to the outcome. Raises DoesNotClose when money is lost."""
        account, latent, driver = self.account, self.latent, self._driver
        account.begin(latent.fairs(0))
        self._hand(m.Started(_NONCE, (), new_account=True))
        self._hand(m.FeedOpened())
        self._ticks.schedule_by(START_NS)
        driver.after(_PING_NS, self._ping)
        driver.at(START_NS + self.world.step_ns - 1, self._sample)
        for at_ns, act in self.draws.acts:
            if at_ns >= self.world.life_ns:
                break
            driver.reach(START_NS + at_ns)
            self._moves_on()
            self._act(act)
            self._publish()
        driver.reach(self.end_ns)
        self._move_to(len(latent.fair_mc) - 1)
        self.venue.resolve(latent.pays, self.end_ns)
        account.close(self.venue.exchange.cash_cents - CASH_CENTS)

    def _moves_on(self) -> None:
        """The true values are those of now: every act begins with it."""
        self._move_to(self.latent.point(self.now_ns - START_NS))
        if self.early_mc is None and self.now_ns >= self._early_ns:
            self.early_mc = self.account.net_mc

    def _move_to(self, point: int) -> None:
        """The true values move on to a point of the path, with what is held."""
        if point == self._point:
            return
        held = self.account.net
        holds = any(held)
        for passed in range(self._point, point):
            if holds:
                self.held_variance += self.latent.move_variance(passed, held)
            self.account.moved(self.latent.fair_mc[passed + 1])
        self._point = point

    def _act(self, act: object) -> None:
        kind = type(act)
        if kind is Noise:
            self.crowd.noise(act, self.now_ns)  # type: ignore[arg-type]
        elif kind is Visit:
            self.crowd.visit(act, self.now_ns)  # type: ignore[arg-type]
        elif kind is Informed:
            self.crowd.informed(act, self.now_ns)  # type: ignore[arg-type]
        elif kind is Look:
            self.crowd.look(self.now_ns)
        else:
            assert isinstance(act, Published)
            seen = m.ImpliedValueSeen(PROJECT, self.now_ns, act.value_dollars, act.confidence)
            self._frame([seen])

    def _ping(self) -> None:
        self._moves_on()
        self._frame([m.FeedHeard()])
        self._driver.after(_PING_NS, self._ping)

    def _sample(self) -> None:
        self._moves_on()
        self.gauge.sample(self.account)
        self._driver.after(self.world.step_ns, self._sample)

    def _reaches(self, events: Sequence[m.Event]) -> None:
        self._moves_on()
        for event in events:
            self._hand(event)
        self._tick_soon(self.now_ns)

    def _tick(self) -> None:
        self._moves_on()
        self._last_tick_ns = self.now_ns
        self._ticks.schedule(self.now_ns + self._idle_ns)
        self._hand(m.Beat())

    # --- the trader -------------------------------------------------------------------------------

    def _hand(self, event: m.Event) -> None:
        """An event into the trader, and its effects out."""
        now_ns = self.now_ns
        for effect in self.trader.receive(event, now_ns):
            kind = type(effect)
            if kind is m.Send:
                self._leaves(effect)  # type: ignore[arg-type]
            elif kind is m.WakeAt:
                at_ns: int = effect.at_ns  # type: ignore[union-attr]
                if at_ns - now_ns < _WAKE_IDLE_NS:
                    self._tick_soon(at_ns)
            elif kind is m.SubscribeTo:
                self._subscribed = True
                exchange, markets = self.venue.exchange, self.venue.markets
                frames = [exchange.book_update(market, now_ns) for market in markets]
                self._frame([m.SubscriptionAccepted(), *frames])
            elif kind is m.Latched:
                self.latched = effect.reason  # type: ignore[union-attr]

    def _tick_soon(self, at_ns: int) -> None:
        """A tick is wanted; they come so often a step at most, and then for all that came."""
        at_ns = max(at_ns, self.now_ns + NS_PER_MS, self._last_tick_ns + self._turn_ns)
        self._ticks.schedule_by(at_ns)

    def _leaves(self, effect: m.Send) -> None:
        """A request is under way to the engine."""
        number = self.requests % len(self.draws.latency_ms)
        self.requests += 1
        if isinstance(effect.request, m.Create | m.AmendResting | m.CancelResting):
            self.writes += 1
        takes_ns = int(self.draws.latency_ms[number] * NS_PER_MS)
        chance = self.draws.chances[number]
        self._driver.after(takes_ns, partial(self._arrives, effect, chance, takes_ns // 2))

    def _arrives(self, effect: m.Send, chance: float, back_ns: int) -> None:
        """A request reaches the venue; what befalls it was drawn."""
        self._moves_on()
        unknown, refused = NATURE.unknown_share, NATURE.refused_share
        exchange, retry_ns = self.venue.exchange, None
        answer: m.Answer
        if chance < unknown / 2 or chance >= unknown + refused:
            answer, _, retry_ns, _ = exchange.answer(effect, self.now_ns)
            self._publish()
        if chance < unknown:
            answer, retry_ns = m.Unknown("503 result_unknown"), None
        elif chance < unknown + refused:
            answer, retry_ns = exchange.refuse(Code.RATE_LIMITED), _RETRY_NS
        tokens = exchange.tokens_left(effect.key)
        replied = m.Replied(effect.request_id, answer, tokens, retry_ns)
        self._driver.after(back_ns, partial(self._reaches, [replied]))

    # --- the channel ------------------------------------------------------------------------------

    def _publish(self) -> None:
        """What the last act changed goes out on the channel: prints, then whole books."""
        venue, now_ns = self.venue, self.now_ns
        if not venue.changed and not venue.prints:
            return
        for market in venue.changed:
            self.gauge.saw(market, now_ns)
        events: list[m.Event] = [_print(printed) for printed in venue.prints]
        events += [venue.exchange.book_update(market, now_ns) for market in venue.changed]
        venue.prints.clear()
        venue.changed.clear()
        if self._subscribed:
            self._frame(events)

    def _frame(self, events: list[m.Event]) -> None:
        at_ns = self.now_ns
        for begin_ns, end_ns in self._stalls:
            if begin_ns <= at_ns < end_ns:
                at_ns = end_ns
        self._frames_ns = max(at_ns + self._feed_ns, self._frames_ns)
        self._driver.at(self._frames_ns, partial(self._reaches, events))


def _print(printed: TradePrinted) -> m.TradeSeen:
    bought = (printed.taker_outcome is Outcome.YES) == (printed.taker_side is Side.BUY)
    return m.TradeSeen(
        printed.market_id, printed.at_ns, printed.trade_id, printed.price, printed.qty, bought
    )


def live(
    world: World,
    draws: Draws,
    make_strategy: Callable[[], Strategy],
    budget_cents: int | None = None,
    settings: TraderSettings | None = None,
) -> Lived:
    """Live through one seed with one strategy. settings: the trader's, instead of `settings_for`
    under the budget. Raises DoesNotClose when the account does not, and Stalled when the strategy
    does not come back."""
    life = _Life(world, draws, make_strategy, settings or settings_for(world, budget_cents))
    with ended_when_stalled():
        life.run()
    account, gauge, fills = life.account, life.gauge, life.account.fills
    adverse = gauge.adverse_mc(fills, life.latent) / MILLICENTS
    by_noise = sum(fill.qty for fill in fills if fill.by is Class.NOISE)
    return Lived(
        net=life.venue.exchange.cash_cents - CASH_CENTS,
        spread=account.spread_mc / MILLICENTS,
        inventory=account.inventory_mc / MILLICENTS,
        fees=account.fees_cents,
        adverse=adverse,
        drift=account.inventory_mc / MILLICENTS - adverse,
        held_variance=life.held_variance,
        edge_by_gain=account.edge_by_gain,
        gain_mean=account.gain_mean,
        early=(life.early_mc or 0) / MILLICENTS,
        drawdown=gauge.drawdown_cents,
        minute_ratio=gauge.minute_ratio,
        worst_max=gauge.worst_max_cents,
        worst_mean=gauge.worst_mean_cents,
        locked=gauge.locked_cents,
        uptime=gauge.uptime,
        touch_share=gauge.touch_share,
        quoted_spread=gauge.spread_cents,
        fills=len(fills),
        filled_qty=sum(fill.qty for fill in fills),
        taken_qty=sum(fill.qty for fill in fills if not fill.maker),
        noise_qty=life.crowd.noise_qty,
        noise_share=by_noise / max(1, life.crowd.noise_qty),
        requests=life.requests,
        writes=life.writes,
        refused_for_pace=life.venue.exchange.refused.get(Code.RATE_LIMITED, 0),
        waste=gauge.waste_cents(fills),
        decisions=life.trader.out.counters.decisions,
        errors=life.trader.out.counters.strategy_errors,
        latched=life.latched,
        markouts=gauge.markouts(fills, life.latent),
        fault=life.trader.out.first_fault,
    )
