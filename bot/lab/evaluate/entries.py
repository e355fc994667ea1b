"""The entries of a comparison: strategies with the values of their risk parameter or size."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import pydantic

from bot.config.plugins import StrategyFault, find_strategy, made
from bot.config.validation import refusal_text
from bot.lab.evaluate.outside import Advice
from bot.strategy.api import Strategy

Params = Mapping[str, Any]


class Contender(msgspec.Struct, frozen=True):
    """A line of the comparison. risk: names, joined by +, of the parameters that together take each
    of `values`; the others are `fixed`. No values is one setting."""

    name: str
    plugin: str  # as `find_strategy` takes it; empty for doing nothing
    fixed: dict[str, Any] = {}
    risk: str = ""
    values: tuple[float | int, ...] = ()
    budget_cents: int | None = None  # what the event may lose at worst, None without a limit
    is_baseline: bool = False
    advice: Advice | None = None

    def settings(self) -> tuple[dict[str, Any], ...]:
        if not self.values:
            return (dict(self.fixed),)
        names = self.risk.split("+")
        return tuple({**self.fixed, **dict.fromkeys(names, value)} for value in self.values)

    def maker(self, params: Params, folder: Path) -> Callable[[], Strategy]:
        """What makes a fresh strategy; one is made to check. Raises StrategyFault, also for bad
        parameters."""
        try:
            found = find_strategy(self.plugin, folder)
            checked = found.Params.model_validate(dict(params))
            made(found, checked)
        except (StrategyFault, pydantic.ValidationError) as fault:
            text = fault if isinstance(fault, StrategyFault) else refusal_text(fault)
            raise StrategyFault(f"{self.name}: {text}") from fault
        return partial(found, checked)


_JOINT: Final = {"levels": 1, "far_qty": 0}
_HALVES: Final = (0.3, 0.6, 1.2, 2.5, 5.0)
_HALVES_OF_PAYOFFS: Final = (0.75, 1.5, 3.0, 6.0, 12.0)
_LOTS: Final = (3, 6, 12, 25)


def _joint(
    name: str,
    risk: str = "q_half_lots",
    values: tuple[float, ...] = _HALVES,
    *,
    is_baseline: bool = False,
    advice: Advice | None = None,
    **fixed: Any,
) -> Contender:
    return Contender(
        name,
        "ladder_joint",
        {**_JOINT, **fixed},
        risk,
        values,
        is_baseline=is_baseline,
        advice=advice,
    )


PURE_MM: Final = {
    "bid_spread_pct": 6.0,
    "ask_spread_pct": 6.0,
    "order_refresh_time_s": 10.0,
    "filled_order_delay_s": 10.0,
    "minimum_spread_pct": -100,
}

ENTRIES: Final = (
    _joint("ladder_joint"),
    Contender("do_nothing", "", is_baseline=True),
    Contender("pure_mm", "pure_mm", PURE_MM, "order_amount_qty", _LOTS, is_baseline=True),
    _joint("no_skew", "lot_qty", _LOTS, skew_half_spread_cents=0.0, is_baseline=True),
    _joint("per_rung", alpha=0.0, is_baseline=True),
    Contender(
        "queue_touch", "queue_touch", {"lot_qty": 10}, "grid", (3, 10, 30, 100), is_baseline=True
    ),
    Contender("glft", "glft", {"lot_qty": 10}, "risk_aversion", (0.002, 0.01, 0.05, 0.2)),
    Contender(
        "avellaneda_stoikov",
        "avellaneda_stoikov",
        {"mode": "paper", "order_amount_qty": 10},
        "risk_aversion",
        (0.001, 0.005, 0.02, 0.1),
    ),
    Contender("bands", "bands", {"sync_s": 10.0}),
    Contender("amm", "amm", {}, "max_collateral_cents", (5_000, 10_000, 20_000, 50_000)),
    Contender("lmsr", "lmsr", {}, "b_dollars", (12.5, 25.0, 50.0, 100.0)),
    Contender("arb", "arb", {}),
    Contender("fixed_spread", "fixed_spread", {}, "max_position_qty", (20, 50, 100, 200)),
)
"""Everything that comes with the program, and the baselines."""

ABLATIONS: Final = (
    _joint("rule_ergodic", rule="ergodic", values=_HALVES_OF_PAYOFFS),
    _joint("rule_quad", rule="quad", values=_HALVES_OF_PAYOFFS),
    _joint("rule_cara", rule="cara", values=_HALVES_OF_PAYOFFS),
    _joint("alpha_half", alpha=0.5),
    _joint("levels_3", levels=3, lot_qty=5),
    _joint("no_adverse", adverse_probit=0.0, informed_max=0.0),
    _joint("no_staleness", staleness_s=0.0),
    _joint("half_the_doubt", doubt_part=0.5),
    _joint("edges_left", edge_cents=3, hurdle_cents_per_dollar=0.0),
    _joint("no_hurdle", hurdle_cents_per_dollar=0.0),
    _joint("fixed_intensity", learn_intensity=False),
    _joint("fee_per_fill", fee_basis="fill"),
    _joint("far_quotes", far_qty=1),
    _joint("lot_30", lot_qty=30),
)
"""`ladder_joint` with one ingredient changed or left out."""


OUTSIDE: Final = tuple(
    _joint(f"{name}_{percent}", advice=Advice(knows, percent / 100))
    for name, knows in (("truth", True), ("noise", False))
    for percent in (100, 25)
)
"""`ladder_joint` with a source of values from outside, by its weight in percent."""

_NAMED: Final = re.compile(
    r"(?P<name>[a-z_0-9]+)(:(?P<value>[0-9.]{1,9}))?(@(?P<dollars>[1-9][0-9]{0,8}))?",
    re.ASCII,
)


def _entry_named(name: str) -> Contender | None:
    """The entry that NAME, NAME:VALUE, NAME@DOLLARS or NAME:VALUE@DOLLARS means; None if none."""
    parts = _NAMED.fullmatch(name)
    known = {entry.name: entry for entry in (*ENTRIES, *ABLATIONS, *OUTSIDE)}
    if parts is None or parts["name"] not in known:
        return None
    entry = known[parts["name"]]
    full, values, cents = entry.name, entry.values, entry.budget_cents
    if parts["value"]:
        values = tuple(each for each in values if f"{each:g}" == parts["value"])
        if not values:
            some = ", ".join(f"{each:g}" for each in entry.values) or "none: it has one setting"
            raise StrategyFault(f"{name}: {entry.name} is evaluated at {some}")
        full += f"_{values[0]:g}"
    if parts["dollars"]:
        full, cents = f"{full}_budget{parts['dollars']}", 100 * int(parts["dollars"])
    is_baseline = entry.is_baseline and full == entry.name
    return msgspec.structs.replace(
        entry, name=full, values=values, budget_cents=cents, is_baseline=is_baseline
    )


def entries_named(text: str, *, baselines: bool = True) -> tuple[Contender, ...]:
    """The entries that a comma-separated text names, in its order, then the baselines. A name is an
    entry, an ablation, `all`, `ablations`, `outside`, NAME:VALUE, NAME@DOLLARS, or anything
    `find_strategy` takes. Raises StrategyFault for a name or value that is none."""
    groups = {"all": ENTRIES, "ablations": ABLATIONS, "outside": OUTSIDE}
    found: dict[str, Contender] = {}
    for name in (part.strip() for part in text.split(",")):
        if name in groups:
            found |= {entry.name: entry for entry in groups[name]}
        elif (entry := _entry_named(name)) is not None:
            found[entry.name] = entry
        else:
            find_strategy(name, Path())
            found[name] = Contender(name, name)
    if baselines:
        for entry in ENTRIES:
            if entry.is_baseline:
                found.setdefault(entry.name, entry)
    return tuple(found.values())
