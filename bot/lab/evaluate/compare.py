"""From lives to findings: points, frontiers, claims at equal risk, what a budget costs.

The setting of each strategy is chosen on the tuning seeds, by mean over standard deviation, and
everything reported is of the report seeds. The first entry is the champion; each claim is that it
gains more than another at equal standard deviation, in one world: on average of the standard
deviations of all its settings, so that frontiers are compared and no setting is picked. Means are
those of the edge, spread less fees, which holdings add nothing to on average; risk is that of the
whole profit, with what holdings were known to vary by in place of what they did (`statistics`).

See docs/pricing.md#section-3-protocol.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from bot.lab.evaluate import statistics as stats
from bot.lab.evaluate.life import Lived
from bot.lab.evaluate.lineup import Entry
from bot.lab.evaluate.results import Results, Task
from bot.lab.evaluate.statistics import Floats, Interval, Sample
from bot.lab.evaluate.worlds import Tails, World

AVERAGED: Final = (
    "spread",
    "inventory",
    "fees",
    "adverse",
    "drift",
    "early",
    "drawdown",
    "worst_max",
    "worst_mean",
    "locked",
    "uptime",
    "touch_share",
    "quoted_spread",
    "minute_ratio",
    "fills",
    "filled_qty",
    "noise_share",
    "requests",
    "refused_for_pace",
    "waste",
    "errors",
    "cpu_s",
)
MONEY: Final = frozenset(
    (
        *("spread", "inventory", "fees", "adverse", "drift", "early"),
        *("drawdown", "worst_max", "worst_mean", "locked", "waste"),
    )
)
"""What of a life is told in cents, and reported in dollars."""


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One setting in one world over the report seeds. Money in dollars.

    chosen: whether it was chosen on the tuning seeds. mean: of the profit. sd: its standard
    deviation, seen_sd: as it came out in these lives; of a single one these, edge_error and ratio
    are 0 and say nothing. edge, edge_error: mean of spread less fees
    and its standard error; in a world whose fair values are no true expectations those of the
    profit. ratio: edge by sd. worst_usage: mean of the largest worst case by the budget, None
    without one. requests_per_fill: None where nothing filled. means: averages over seeds of what is
    measured of each life. markouts: cents a share by horizon against the true value, and against
    others' mid.
    """

    value: float | None
    params: dict[str, Any]
    chosen: bool
    seeds: int
    mean: float
    sd: float
    seen_sd: float
    edge: float
    edge_error: float
    ratio: float
    q05: float
    q01: float
    worst_99: float
    worst_usage: float | None
    requests_per_fill: float | None
    latched: int
    means: dict[str, float]
    markouts: dict[str, dict[str, float]]


class Line(msgspec.Struct, frozen=True):
    """An entry in a world: its frontier, in the order of its risk parameter."""

    entry: str
    world: str
    risk: str
    points: list[Point]

    @property
    def chosen(self) -> Point:
        """The point that was chosen."""
        return next(point for point in self.points if point.chosen)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The champion against another in a world.

    gain: dollars of edge a life at equal sd, on average of `sds`, those of the champion's settings.
    chosen_gain: at `sd`, that of its chosen one. profit_gain: as `gain`, of profits, holdings and
    all. ratio_gain: of edge over sd, at the chosen settings. p: of the gain, corrected over every
    claim made. wins, losses: seeds on which the champion's edge was above or below the other's
    scaled to the same sd.
    """

    world: str
    rival: str
    sds: list[float]
    sd: float
    gain: Interval
    chosen_gain: Interval
    profit_gain: Interval
    ratio_gain: Interval
    p: float
    wins: int
    losses: int

    @property
    def holds(self) -> bool:
        """Whether the whole interval is above zero."""
        return self.gain.low > 0

    @property
    def is_worse(self) -> bool:
        """Whether the whole interval is below zero."""
        return self.gain.high < 0


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    """The champion against another in all worlds. gain: as in `Claim`, on average of the worlds,
    the same seeds resampled in each of them. above, below: worlds in which the whole interval lies
    above zero, or below."""

    rival: str
    gain: Interval
    above: int
    below: int


class BudgetLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a hard budget does to one setting in a world. Dollars; shares of what there was. Edges
    are means, quantiles are of profits."""

    entry: str
    world: str
    budget: int
    edge_before: float
    edge_after: float
    edge_kept: Interval
    q01_before: float
    q01_after: float
    q05_before: float
    q05_after: float


class Faulty(msgspec.Struct, frozen=True, kw_only=True):
    """An entry whose strategy was at fault: it raised, or its answer was none. times: in all its
    lives here, those of tuning too; lives: how many of them. first: the first of these faults, with
    file and line where it has one."""

    entry: str
    times: int
    lives: int
    first: str

    @property
    def text(self) -> str:
        """That in words."""
        often = f"{self.times} times in {self.lives} {'life' if self.lives == 1 else 'lives'}"
        return f"{self.entry}: its strategy was at fault {often}, first {self.first}"


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is reported."""

    champion: str
    code: str
    seeds: str
    tuned_on: str
    worlds: list[str]
    entries: list[str]
    lines: list[Line]
    claims: list[Claim]
    overall: list[Overall]
    budgets: list[BudgetLine]
    variants: int
    faults: list[Faulty] = []


class _Cell:
    """The lives of an entry in a world: a row by seed for each setting."""

    def __init__(
        self, results: Results, entry: Entry, world: World, seeds: range, tune: range | None
    ) -> None:
        self.entry, self.world = entry, world
        self.settings = entry.settings()
        self.lives = [_lives(results, entry, each, world, seeds) for each in self.settings]
        self.sample = _sample(self.lives, world)
        chosen_by, self.tuned = self.sample, list[list[Lived]]()
        if tune is not None:
            self.tuned = [_lives(results, entry, each, world, tune) for each in self.settings]
            chosen_by = _sample(self.tuned, world)
        self.chosen = int(np.argmax(chosen_by.ratios()))

    @property
    def best(self) -> Sample:
        """What the chosen setting made, one row of each."""
        return self.sample.at(self.chosen)


def _sample(lives: Sequence[Sequence[Lived]], world: World) -> Sample:
    """Dollars by setting and seed. Fair values are true expectations where jumps are normal."""
    nets = _rows(lives, lambda one: one.net / 100)
    if world.tails is not Tails.NORMAL:
        return Sample.of_profits(nets)
    edges = _rows(lives, lambda one: (one.spread - one.fees) / 100)
    return Sample(
        nets,
        edges,
        held=_rows(lives, lambda one: one.held_variance / 100**2),
        edges_by_gains=_rows(lives, lambda one: one.edge_by_gain / 100**2),
        gains=_rows(lives, lambda one: one.gain_mean / 100),
    )


def _rows(lives: Sequence[Sequence[Lived]], figure: Callable[[Lived], float]) -> Floats:
    return np.array([[figure(one) for one in row] for row in lives])


def _lives(
    results: Results, entry: Entry, params: dict[str, Any], world: World, seeds: range
) -> list[Lived]:
    found = [results.get(Task(entry, params, world, seed)) for seed in seeds]
    assert all(each is not None for each in found), "a life is missing"
    return [each for each in found if each is not None]


def compare(
    results: Results,
    entries: Sequence[Entry],
    worlds: Sequence[World],
    seeds: range,
    tune: range | None,
    code: str,
) -> Comparison:
    """What there is to be said of lives that were all lived. The first entry is the champion."""
    cells = {
        (entry.name, world.name): _Cell(results, entry, world, seeds, tune)
        for world in worlds
        for entry in entries
    }
    champion, names = entries[0].name, [entry.name for entry in entries]
    places = stats.resamples(len(seeds))
    made = [
        _claim(cells[champion, world.name], cells[name, world.name], places)
        for world in worlds
        for name in names[1:]
        if cells[name, world.name].entry.budget_cents is None
    ]
    corrected = stats.holm({(c.world, c.rival): c.gain.p for c, _ in made})
    claims = [msgspec.structs.replace(c, p=corrected[c.world, c.rival]) for c, _ in made]
    return Comparison(
        champion=champion,
        code=code,
        seeds=_span(seeds),
        tuned_on=_span(tune) if tune is not None else "",
        worlds=[world.name for world in worlds],
        entries=names,
        lines=[_line(cell) for cell in cells.values()],
        claims=claims,
        overall=_overall(made, len(seeds)),
        budgets=_budgets(cells, entries, places),
        variants=sum(len(entry.settings()) for entry in entries),
        faults=_faults(list(cells.values()), names),
    )


def _faults(cells: Sequence[_Cell], names: Sequence[str]) -> list[Faulty]:
    """The entries whose strategies were at fault, in their order."""
    found = []
    for name in names:
        mine = [cell for cell in cells if cell.entry.name == name]
        rows = [row for cell in mine for row in (*cell.tuned, *cell.lives)]
        wrong = [life for row in rows for life in row if life.errors]
        if wrong:
            times = sum(life.errors for life in wrong)
            found.append(Faulty(entry=name, times=times, lives=len(wrong), first=wrong[0].fault))
    return found


def _span(seeds: range) -> str:
    return f"{seeds.start}-{seeds.stop - 1}"


def _overall(made: Sequence[tuple[Claim, Floats]], cases: int) -> list[Overall]:
    """Each rival's claims, with what every resample of so many seeds makes of them, as one."""
    by_rival: dict[str, list[tuple[Claim, Floats]]] = {}
    for each in made:
        by_rival.setdefault(each[0].rival, []).append(each)
    return [
        Overall(
            rival=rival,
            gain=stats.interval(
                float(np.mean([claim.gain.value for claim, _ in each])),
                np.mean([drawn for _, drawn in each], axis=0),
                cases,
            ),
            above=sum(claim.holds for claim, _ in each),
            below=sum(claim.is_worse for claim, _ in each),
        )
        for rival, each in by_rival.items()
    ]


def _claim(champion: _Cell, rival: _Cell, places: stats.Ints) -> tuple[Claim, Floats]:
    """The champion against another, and what each row of places makes of the gain."""
    sd, other_sd = (float(cell.best.sds()[0]) for cell in (champion, rival))
    scaled = rival.best.edges[0] * (sd / other_sd if other_sd > 0 else 1.0)
    wins, losses = stats.signs(champion.best.edges[0], scaled)
    sds = [each for each in champion.sample.sds().tolist() if each > 0] or [0.0]
    pair = champion.sample, rival.sample
    profits = [Sample.of_profits(each.nets) for each in pair]
    value, drawn = stats.drawn_difference(*pair, sds, places)
    gain = stats.interval(value, drawn, champion.sample.nets.shape[-1])
    claim = Claim(
        world=champion.world.name,
        rival=rival.entry.name,
        sds=sds,
        sd=sd,
        gain=gain,
        chosen_gain=stats.difference_at_equal_sd(*pair, [sd], places),
        profit_gain=stats.difference_at_equal_sd(profits[0], profits[1], sds, places),
        ratio_gain=stats.ratio_difference(champion.best, rival.best, places),
        p=gain.p,
        wins=wins,
        losses=losses,
    )
    return claim, drawn


def _line(cell: _Cell) -> Line:
    entry = cell.entry
    values: Sequence[float | None] = entry.values or (None,)
    points = [
        _point(cell, place, value, chosen=place == cell.chosen)
        for place, value in enumerate(values)
    ]
    return Line(entry.name, cell.world.name, entry.risk, points)


def _point(cell: _Cell, place: int, value: float | None, *, chosen: bool) -> Point:
    lives, nets, edges = cell.lives[place], cell.sample.nets[place], cell.sample.edges[place]
    averages = {name: _average(lives, name) for name in AVERAGED}
    worst = np.array([life.worst_max / 100 for life in lives])
    fills = sum(life.fills for life in lives)
    budget = cell.entry.budget_cents
    return Point(
        value=value,
        params=cell.settings[place],
        chosen=chosen,
        seeds=len(lives),
        mean=float(nets.mean()),
        sd=float(cell.sample.sds()[place]),
        seen_sd=float(stats.sds(nets)),
        edge=float(edges.mean()),
        edge_error=float(stats.sds(edges)) / math.sqrt(len(edges)),
        ratio=float(cell.sample.ratios()[place]),
        q05=float(np.quantile(nets, 0.05)),
        q01=float(np.quantile(nets, 0.01)),
        worst_99=float(np.quantile(worst, 0.99)),
        worst_usage=None if budget is None else float(worst.mean()) * 100 / budget,
        requests_per_fill=sum(life.requests for life in lives) / fills if fills else None,
        latched=sum(bool(life.latched) for life in lives),
        means=averages,
        markouts=_markouts(lives),
    )


def _average(lives: Sequence[Lived], name: str) -> float:
    total = sum(float(getattr(life, name)) for life in lives) / len(lives)
    return total / 100 if name in MONEY else total


def _markouts(lives: Sequence[Lived]) -> dict[str, dict[str, float]]:
    """Markouts of all fills of all lives, weighted by shares, by group and horizon; without a
    share there is none."""
    sums: dict[str, dict[str, tuple[float, int]]] = {}
    for life in lives:
        for each in life.markouts:
            row = sums.setdefault(each.group, {})
            name = f"{each.against}_{each.horizon_s}s"
            cents, qty = row.get(name, (0.0, 0))
            row[name] = (cents + each.cents * each.qty, qty + each.qty)
    return {
        group: {name: cents / qty for name, (cents, qty) in row.items() if qty}
        for group, row in sums.items()
    }


def _budgets(
    cells: dict[tuple[str, str], _Cell], entries: Sequence[Entry], places: stats.Ints
) -> list[BudgetLine]:
    """Each entry under a budget beside the same without it, at the setting chosen without it."""
    found: list[BudgetLine] = []
    plain = {entry.name for entry in entries if entry.budget_cents is None}
    for (name, world), cell in cells.items():
        budget = cell.entry.budget_cents
        free = name.partition("_budget")[0]
        if budget is None or free not in plain:
            continue
        before = cells[free, world].best
        after = cell.sample.at(cells[free, world].chosen)
        nets, less_nets = before.nets[0], after.nets[0]
        edges, less_edges = before.edges[0], after.edges[0]
        kept = float(_share(less_edges.mean(), edges.mean()))
        drawn = _share(less_edges[places].mean(axis=1), edges[places].mean(axis=1))
        found.append(
            BudgetLine(
                entry=free,
                world=world,
                budget=budget // 100,
                edge_before=float(edges.mean()),
                edge_after=float(less_edges.mean()),
                edge_kept=stats.interval(kept, drawn, len(nets)),
                q01_before=float(np.quantile(nets, 0.01)),
                q01_after=float(np.quantile(less_nets, 0.01)),
                q05_before=float(np.quantile(nets, 0.05)),
                q05_after=float(np.quantile(less_nets, 0.05)),
            )
        )
    return found


def _share(part: Floats, whole: Floats) -> Floats:
    """Part by part what it is of the whole; 0 of nothing."""
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)
