"""The configuration of a simulated bot, its operator's changes, and a strategy with faults."""

import hashlib
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pydantic

from bot.config.plugins import find_strategy, made
from bot.core import messages as m
from bot.core.risk.breakers import limits_of
from bot.core.settings import (
    NS_PER_HOUR,
    BreakerSettings,
    BudgetSettings,
    CalendarEntry,
    KeySettings,
    LossBudgetSettings,
    PaceSettings,
    RiskSettings,
    StalenessSettings,
    StartSettings,
    Strangers,
    TraderSettings,
)
from bot.core.trading_state import TradingState
from bot.lab.sim.coverage import EventCounts
from bot.lab.sim.exposure_rules import LIMITS
from bot.lab.sim.scenario import MS, SECOND, SimScenario, account_loss_cents, series_of
from bot.lab.sim.venue import RESOLUTION_NS
from bot.strategy.api import (
    EventView,
    NonsenseQuotes,
    Quote,
    Quotes,
    Strategy,
    StrategyAnswer,
    Take,
    quotes_of,
    split,
)
from bot.strategy.variants import Split, Variant, VariedStrategy
from venue.wire.money import BookSide, Cents, Price, Qty, is_price
from venue.wire.names import Ticker

KINDS: Final = ("lower", "raise", "strategy")
"""Of changes: limits lowered, or loosened, or another strategy."""

_FAR: Final = 1_000_000
_DATED_STATES: Final = tuple(state for state in TradingState if state is not TradingState.KILLED)
_OTHERS: Final = {"fixed_spread": "ladder_joint"}


def settings_of(scenario: SimScenario) -> TraderSettings:
    rate, burst, reserve = scenario.budget
    most_qty = max(scenario.rung_position_qty, scenario.order_qty)
    resting_orders, flat_ms = scenario.variant("resting_orders"), scenario.variant("flat_ms")
    risk = RiskSettings(
        event_loss_cents=Cents(scenario.event_loss_cents),
        series_loss_cents=Cents(scenario.loss_limit_cents),
        rung_position_qty=Qty(scenario.rung_position_qty),
        order_qty=Qty(scenario.order_qty),
        event_net_qty=Qty(most_qty if "net" in scenario.near else 0),
        event_gross_qty=Qty(2 * most_qty if "gross" in scenario.near else 0),
        event_gross_cents=Cents(scenario.event_loss_cents if "apart" in scenario.near else 0),
        resting_cents=Cents(scenario.event_loss_cents if "resting" in scenario.near else 0),
    )
    if resting_orders:
        risk = msgspec.structs.replace(risk, resting_orders=int(resting_orders))
    if flat_ms:
        risk = msgspec.structs.replace(risk, flat_ns=int(flat_ms) * MS)
    if scenario.second_series is not None:
        risk = msgspec.structs.replace(risk, account_loss_cents=Cents(account_loss_cents(scenario)))
    series, others = series_of(scenario)
    return TraderSettings(
        series_ticker=series,
        other_series=others,
        risk=risk,
        pace=PaceSettings(
            dwell_ns=scenario.dwell_ns,
            tolerance_ticks=scenario.tolerance_ticks,
            resize_pct=scenario.resize_pct,
        ),
        budget=BudgetSettings(rate_per_second=rate, burst=burst, reserve=reserve),
        staleness=StalenessSettings(read_lag_ns=scenario.trust_lag_ns),
        breakers=_breakers(scenario, risk),
        start=StartSettings(strangers=Strangers(scenario.strangers)),
        keys=KeySettings(standby=scenario.variant("standby") != ""),
        loss_budgets=LossBudgetSettings(day_cents=Cents(int(scenario.variant("loss_budget", "0")))),
    )


def _breakers(scenario: SimScenario, risk: RiskSettings) -> BreakerSettings:
    drawn = BreakerSettings(
        creates_per_minute=0 if scenario.has_new_events else scenario.creates_per_minute
    )
    if ticks_through := scenario.variant("ticks_through"):
        drawn = msgspec.structs.replace(drawn, ticks_through=int(ticks_through))
    if scenario.variant("resting_orders"):
        drawn = msgspec.structs.replace(limits_of(drawn, risk), order_notional_cents=0)
    return drawn


def make_strategy(scenario: SimScenario) -> Strategy:
    """A fresh strategy with the drawn parameters that it has. Raises StrategyFault, and
    ValidationError when it needs more."""
    return _made(scenario.strategy, _drawn(scenario))


def _drawn(scenario: SimScenario) -> dict[str, Any]:
    return {"lot_qty": scenario.lot_qty, "max_position_qty": max(1, scenario.rung_position_qty - 2)}


def _made(name: str, drawn: dict[str, Any]) -> Strategy:
    kind = find_strategy(name, Path())
    known = kind.Params.model_fields
    params = {key: drawn[key] for key in drawn if key in known}
    try:
        return made(kind, kind.Params(**params))
    except pydantic.ValidationError as refused:
        # Of somebody's own strategy a name may mean another range: its default is used then.
        wrong = {error["loc"][0] for error in refused.errors() if error["loc"]}
    return made(kind, kind.Params(**{key: params[key] for key in params if key not in wrong}))


def strategy_of(choice: m.StrategyChoice) -> Callable[[], Strategy]:
    drawn = msgspec.json.decode(choice.params_json)
    _made(choice.name, drawn)

    def make() -> Strategy:
        base = _made(choice.name, drawn)
        others = [(each.variant, _made(each.strategy, drawn)) for each in choice.variants]
        return VariedStrategy(base, others) if others else base

    return make


def configured(scenario: SimScenario) -> m.Configuration:
    params = msgspec.json.encode(_drawn(scenario), order="sorted").decode()
    variants: tuple[m.VariantChoice, ...] = ()
    if split := scenario.variant("second_setting"):
        half = Variant("other", split=Split(split), block_ns=20 * SECOND, seed=scenario.seed)
        variants = (m.VariantChoice(half, _other(scenario.strategy), params),)
    choice = m.StrategyChoice(scenario.strategy, params, variants)
    return _file(settings_of(scenario), choice)


def _other(strategy: str) -> str:
    return _OTHERS.get(strategy, "fixed_spread")


def _file(settings: TraderSettings, choice: m.StrategyChoice) -> m.Configuration:
    text = msgspec.json.encode((settings, choice))
    digest = hashlib.blake2b(text, digest_size=16).hexdigest()
    return m.Configuration(settings, choice, digest)


def changed(
    kind: str,
    file: m.Configuration,
    first: m.Configuration,
    in_use: Mapping[str, int],
    rng: random.Random,
) -> m.Configuration:
    settings, choice = file.settings, file.strategy
    if kind == "lower":
        settings = msgspec.structs.replace(settings, risk=_lowered(settings.risk, in_use, rng))
    elif kind == "raise":
        settings = msgspec.structs.replace(settings, risk=_raised(first.settings.risk, rng))
    else:
        choice = msgspec.structs.replace(choice, name=_other(choice.name))
    return _file(settings, choice)


def dated(
    file: m.Configuration, event: Ticker | None, now_ns: int, span_ns: int, rng: random.Random
) -> m.Configuration:
    """With one to three more dates of an event, or of every event, which begin and end within so
    long from now. now_ns: by the host's clock."""
    entries = []
    for number in range(rng.choice((1, 1, 2, 3))):
        at_ns = now_ns + rng.randint(0, span_ns)
        entry = CalendarEntry(
            at_ns=at_ns,
            name=f"date {number}",
            event_ticker=event,
            before_ns=rng.randint(0, at_ns - now_ns),
            after_ns=rng.randint(1, now_ns + span_ns - at_ns + 1),
            state=rng.choice(_DATED_STATES),
            size_divisor=rng.choice((2, 5)),
            width_pct=rng.choice((100, 150, 400)),
            variance_ns=rng.choice((0, 0, NS_PER_HOUR, 1_000 * NS_PER_HOUR)),
        )
        entries.append(entry)
    calendar = (*file.settings.calendar, *entries)
    settings = msgspec.structs.replace(file.settings, calendar=calendar)
    return _file(settings, file.strategy)


def _lowered(risk: RiskSettings, in_use: Mapping[str, int], rng: random.Random) -> RiskSettings:
    lower: dict[str, int] = {}
    for name in LIMITS.values():
        pct, there, near = rng.choice((25, 50, 75, 90)), rng.random() < 0.4, rng.random() < 0.7
        limit: int = getattr(risk, name)
        if there:
            of = min(limit or _FAR, in_use.get(name, limit)) if near else limit
            lower[name] = max(min(limit, 1), of * pct // 100)
    return _valid(risk, lower)


def _raised(risk: RiskSettings, rng: random.Random) -> RiskSettings:
    names = [name for name in LIMITS.values() if rng.random() < 0.5]
    return _valid(risk, {name: 2 * getattr(risk, name) for name in names})


def _valid(risk: RiskSettings, limits: Mapping[str, int]) -> RiskSettings:
    risk = msgspec.structs.replace(risk, **limits)
    return msgspec.structs.replace(
        risk,
        order_qty=min(risk.order_qty, risk.rung_position_qty),
        series_loss_cents=max(risk.series_loss_cents, risk.event_loss_cents),
    )


_FAT = 100_000
_ANY_FAULT = Exception
STRATEGY_FAULTS = ("tantrum", "fat_finger", "mad_strategy", "greed")


class StrategyFaultSpan(NamedTuple):
    """World time: from `begin_ns` until before `end_ns`."""

    name: str
    begin_ns: int
    end_ns: int


class FaultyStrategy(Strategy):
    """Asks another strategy, and spoils its answers in spans. zero_ns: when the world began."""

    name = "Moody"  # as effect logs have it

    def __init__(
        self,
        inner: Strategy,
        spans: list[StrategyFaultSpan],
        zero_ns: int,
        skew_ns: int,
        coverage: EventCounts,
    ) -> None:
        super().__init__(inner.params)
        self._inner = inner
        self._spans = spans
        self._resolves_ns = zero_ns + RESOLUTION_NS - skew_ns
        self._coverage = coverage

    def quote(self, view: EventView) -> Quotes | StrategyAnswer:
        if not self._spans:
            return self._asked(view)
        now_ns = self._resolves_ns - int(view.seconds_to_resolution * SECOND)
        name = next((m.name for m in self._spans if m.begin_ns <= now_ns < m.end_ns), "")
        if name == "tantrum":
            self._coverage.fault("tantrum_quote")
            nonsense: Quotes = _nonsense(view, now_ns // (10 * MS) % 5)
            return nonsense
        answer = self._asked(view)
        if not name:
            return answer
        wanted = quotes_of(answer)
        self._coverage.fault(f"{name.removesuffix('_strategy')}_quote")
        if name == "greed":
            return _greedy(view, wanted, now_ns // (10 * MS))
        if name == "mad_strategy":
            return _elsewhere(wanted, now_ns // (50 * MS) * 7_919 % 21 - 10)
        return {
            market: tuple(
                msgspec.structs.replace(each, qty=Qty(each.qty * _FAT)) for each in quotes
            )
            for market, quotes in wanted.items()
        }

    def _asked(self, view: EventView) -> Quotes | StrategyAnswer:
        """What the inner strategy answers; its own faults are counted. Raises as it does."""
        try:
            answer = self._inner.quote(view)
        except _ANY_FAULT as fault:
            self._coverage.strategy_fault(fault)
            raise
        try:
            split(quotes_of(answer), view)
        except NonsenseQuotes as fault:
            self._coverage.strategy_fault(fault)
        return answer


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
