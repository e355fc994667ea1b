"""What a simulated bot is configured with, and what its operator makes of that while it runs.

A change is a whole configuration, as a file is. Some hold nothing: they change what only a restart
can, besides what may change at any time, or name a strategy that cannot be made; another one has a
strategy that fails whenever it is asked. All of them are drawn from the numbers handed in alone.
"""

import hashlib
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pydantic

from bot.core import messages as m
from bot.core.risk.breakers import limits_of
from bot.core.settings import (
    BreakerSettings,
    BudgetSettings,
    CurfewSettings,
    KeySettings,
    PaceSettings,
    RiskSettings,
    StartSettings,
    Strangers,
    TraderSettings,
    TrustSettings,
)
from bot.io.settings.plugins import find_strategy, made
from bot.lab.sim.judge.limits import LIMITS
from bot.lab.sim.odds import MS, SECOND, Odds
from bot.lab.sim.second import account_loss_cents, series_of
from bot.lab.sim.venue.simulated import RESOLUTION_NS
from bot.strategy.api import EventView, Quotes, Strategy
from venue.wire.money import Cents, Qty

FAILING: Final = "fails"
"""A strategy that can be made and raises whenever it is asked."""

ABSENT: Final = "is-not-there"
"""The name of a strategy that cannot be made."""

KINDS: Final = ("lower", "raise", "pace", "lots", "strategy", "fixed", "absent", "failing")
"""Of changes: limits lowered, or loosened; another pace; another lot, another strategy; a key that
only a restart changes, a strategy that is not there, and one that fails."""

_FAR: Final = 1_000_000
_CENTS_FEW: Final = 500
"""Cents a minute that creates may be worth, for each share of the largest order."""

_FILLS_FEW: Final = 5
_LOST_FEW: Final = 1
"""Cents that may be lost, for each share of the largest order."""

_NEVER: Final = ("fixed", "absent")
_HOLD_NOTHING: Final = (*_NEVER, "failing")
_OTHERS: Final = {"fixed_spread": "ladder_joint"}


class Failing(Strategy):
    """Raises for every view."""

    name = FAILING

    def quote(self, view: EventView) -> Quotes:
        """Nothing. Raises ArithmeticError."""
        raise ArithmeticError("drawn")


def settings_of(odds: Odds) -> TraderSettings:
    rate, burst, reserve = odds.budget
    series_loss_cents = odds.series_loss_cents or odds.event_loss_cents * len(odds.rungs)
    most_qty = max(odds.rung_position_qty, odds.order_qty)
    resting_orders, flat_ms = odds.variant("resting_orders"), odds.variant("flat_ms")
    risk = RiskSettings(
        event_loss_cents=Cents(odds.event_loss_cents),
        series_loss_cents=Cents(series_loss_cents),
        rung_position_qty=Qty(odds.rung_position_qty),
        order_qty=Qty(odds.order_qty),
        event_net_qty=Qty(most_qty if "net" in odds.near else 0),
        event_gross_qty=Qty(2 * most_qty if "gross" in odds.near else 0),
        event_gross_cents=Cents(odds.event_loss_cents if "apart" in odds.near else 0),
        resting_cents=Cents(odds.event_loss_cents if "resting" in odds.near else 0),
    )
    breakers = _breakers(odds, risk)
    if resting_orders:
        risk = msgspec.structs.replace(risk, resting_orders=int(resting_orders))
    if flat_ms:
        risk = msgspec.structs.replace(risk, flat_ns=int(flat_ms) * MS)
    if odds.second_series is not None:
        risk = msgspec.structs.replace(risk, account_loss_cents=Cents(account_loss_cents(odds)))
    series, beside = series_of(odds)
    return TraderSettings(
        series_ticker=series,
        beside=beside,
        risk=risk,
        pace=PaceSettings(
            dwell_ns=odds.dwell_ns,
            tolerance_ticks=odds.tolerance_ticks,
            resize_pct=odds.resize_pct,
        ),
        budget=BudgetSettings(rate_per_second=rate, burst=burst, reserve=reserve),
        trust=TrustSettings(read_lag_ns=odds.trust_lag_ns),
        breakers=breakers,
        start=StartSettings(strangers=Strangers(odds.strangers)),
        curfew=_curfew(odds),
        keys=KeySettings(standby=odds.variant("standby") != ""),
    )


def _curfew(odds: Odds) -> CurfewSettings:
    if not odds.curfew:
        return CurfewSettings()
    rng = random.Random(f"curfew at {odds.seed}")
    left_ns = RESOLUTION_NS - odds.skew_ns - int(rng.uniform(0.3, 0.9) * odds.safety_ns)
    match odds.curfew:
        case "halve":
            return CurfewSettings(halve_ns=left_ns)
        case "reduce":
            return CurfewSettings(reduce_ns=left_ns)
        case _:
            return CurfewSettings(reduce_ns=left_ns, stop_ns=left_ns - 2 * SECOND)


def _breakers(odds: Odds, risk: RiskSettings) -> BreakerSettings:
    drawn = BreakerSettings(
        creates_per_minute=0 if odds.has_new_events else odds.creates_per_minute
    )
    if ticks_through := odds.variant("ticks_through"):
        drawn = msgspec.structs.replace(drawn, ticks_through=int(ticks_through))
    if odds.variant("resting_orders"):
        drawn = msgspec.structs.replace(limits_of(drawn, risk), order_notional_cents=0)
    lost_cents = odds.order_qty * _LOST_FEW
    near = {
        "notional": {"notional_cents_per_minute": odds.order_qty * _CENTS_FEW},
        "fills": {"fills_per_minute": _FILLS_FEW},
        "loss": {"loss_cents": lost_cents},
        "drawdown": {"drawdown_cents": lost_cents},
    }
    return msgspec.structs.replace(drawn, **near.get(odds.breaker, {}))


def make_strategy(odds: Odds) -> Strategy:
    """A fresh strategy, as the odds have it; of what is drawn it is told what it can be told.

    Raises StrategyFault when there is none or it cannot be made, and pydantic's ValidationError
    when it needs more.
    """
    return _made(odds.strategy, _drawn(odds))


def _drawn(odds: Odds) -> dict[str, Any]:
    return {"lot_qty": odds.lot_qty, "max_position_qty": max(1, odds.rung_position_qty - 2)}


def _made(name: str, drawn: dict[str, Any]) -> Strategy:
    kind = Failing if name == FAILING else find_strategy(name, Path())
    known = kind.Params.model_fields
    told = {key: drawn[key] for key in drawn if key in known}
    try:
        return made(kind, kind.Params(**told))
    except pydantic.ValidationError as refused:
        # Of somebody's own strategy a name may mean another range: there its default stands.
        wrong = {error["loc"][0] for error in refused.errors() if error["loc"]}
    return made(kind, kind.Params(**{key: told[key] for key in told if key not in wrong}))


def strategy_of(choice: m.StrategyChoice) -> Callable[[], Strategy]:
    """What makes the strategies of a choice. Raises as `make_strategy` does."""
    drawn = msgspec.json.decode(choice.params_json)
    _made(choice.name, drawn)
    return lambda: _made(choice.name, drawn)


def configured(odds: Odds) -> m.Configuration:
    return _file(settings_of(odds), odds.strategy, _drawn(odds))


def _file(settings: TraderSettings, name: str, drawn: dict[str, Any]) -> m.Configuration:
    choice = m.StrategyChoice(name, msgspec.json.encode(drawn, order="sorted").decode())
    text = msgspec.json.encode((settings, choice))
    digest = hashlib.blake2b(text, digest_size=16).hexdigest()
    return m.Configuration(settings, choice, digest)


def holds(kind: str) -> bool:
    return kind not in _HOLD_NOTHING


def takes(kind: str) -> bool:
    return kind not in _NEVER


def changed(
    kind: str,
    file: m.Configuration,
    first: m.Configuration,
    in_use: Mapping[str, int],
    rng: random.Random,
) -> m.Configuration:
    settings, choice = file.settings, file.strategy
    name, drawn = choice.name, msgspec.json.decode(choice.params_json)
    if kind == "lower" or (kind in _HOLD_NOTHING and rng.random() < 0.5):
        settings = msgspec.structs.replace(settings, risk=_lowered(settings.risk, in_use, rng))
    elif kind == "raise" or kind in _HOLD_NOTHING:
        settings = msgspec.structs.replace(settings, risk=_raised(first.settings.risk, rng))
    if kind == "pace":
        settings = msgspec.structs.replace(settings, pace=_paced(settings.pace, rng))
    elif kind == "lots":
        drawn = {**drawn, "lot_qty": rng.choice((1, 3, 10, 24))}
        drawn["half_spread_cents"] = rng.choice((1, 2, 5))
    elif kind == "strategy":
        name = _OTHERS.get(name, "fixed_spread")
    elif kind == "fixed":
        settings = _barred(settings, rng)
    elif kind in ("absent", "failing"):
        name = ABSENT if kind == "absent" else FAILING
    return _file(settings, name, drawn)


def _barred(settings: TraderSettings, rng: random.Random) -> TraderSettings:
    if rng.random() < 0.5:
        trust = msgspec.structs.replace(settings.trust, book_ns=20 * settings.trust.book_ns)
        return msgspec.structs.replace(settings, trust=trust)
    pace = msgspec.structs.replace(settings.pace, requests_in_flight=7)
    return msgspec.structs.replace(settings, pace=pace)


def _lowered(risk: RiskSettings, in_use: Mapping[str, int], rng: random.Random) -> RiskSettings:
    lower: dict[str, int] = {}
    for name in LIMITS.values():
        pct, there, near = rng.choice((25, 50, 75, 90)), rng.random() < 0.4, rng.random() < 0.7
        limit: int = getattr(risk, name)
        if there:
            of = min(limit or _FAR, in_use.get(name, limit)) if near else limit
            lower[name] = max(min(limit, 1), of * pct // 100)
    return _in_order(msgspec.structs.replace(risk, **lower))


def _raised(risk: RiskSettings, rng: random.Random) -> RiskSettings:
    more: dict[str, int] = {}
    for name in LIMITS.values():
        if rng.random() < 0.5:
            more[name] = 2 * getattr(risk, name)
    return _in_order(msgspec.structs.replace(risk, **more))


def _in_order(risk: RiskSettings) -> RiskSettings:
    return msgspec.structs.replace(
        risk,
        order_qty=min(risk.order_qty, risk.rung_position_qty),
        series_loss_cents=max(risk.series_loss_cents, risk.event_loss_cents),
    )


def _paced(pace: PaceSettings, rng: random.Random) -> PaceSettings:
    return msgspec.structs.replace(
        pace,
        dwell_ns=rng.choice((0, 500, 2_000)) * MS,
        tolerance_ticks=rng.choice((0, 1, 2)),
        resize_pct=rng.choice((5, 50)),
        decide_ns=rng.choice((10, 50, 200)) * MS,
        siblings=rng.choice((1, 3)),
        market_writes_per_second=rng.choice((1, 2, 4)),
        market_writes_burst=rng.choice((3, 6, 12)),
    )
