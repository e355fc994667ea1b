"""From runs to findings: points, frontiers, claims at equal risk, the cost of a budget.

Settings are chosen on the tuning seeds; everything reported is of the report seeds. See
docs/strategies.md, "The protocol", and docs/pricing.md#section-3-protocol.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from bot.lab.evaluate import statistics as stats
from bot.lab.evaluate.entries import Contender
from bot.lab.evaluate.results import RunStore, Task, code_digest
from bot.lab.evaluate.run import AVERAGED, RunMetrics
from bot.lab.evaluate.scenarios import Scenario, span
from bot.lab.evaluate.statistics import Floats, Interval, Sample


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """One setting in one world over the report seeds, in dollars. Of a single run sd, seen_sd,
    edge_error and ratio are 0 and say nothing."""

    value: float | None
    params: dict[str, Any]
    chosen: bool
    seeds: int
    mean: float  # mean, sd: of the profit
    sd: float
    seen_sd: float  # as it came out in these runs
    edge: float  # edge, edge_error: mean of spread less fees and its standard error
    edge_error: float
    ratio: float  # edge by sd
    q05: float
    q01: float
    worst_99: float
    requests_per_fill: float | None  # None where nothing filled
    latched: int
    means: dict[str, float]  # averages over seeds of AVERAGED
    markouts: dict[str, float]  # cents a share by horizon against the true value


class FrontierRow(msgspec.Struct, frozen=True):
    entry: str
    world: str
    risk: str
    points: list[Point]

    @property
    def chosen(self) -> Point:
        return next(point for point in self.points if point.chosen)


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The champion against another in a world."""

    world: str
    rival: str
    sds: list[float]  # of the champion's settings
    sd: float  # of its chosen one
    gain: Interval  # dollars of edge a run at equal sd, on average of `sds`
    chosen_gain: Interval  # at `sd`
    profit_gain: Interval  # as `gain`, of profits, inventory and all
    ratio_gain: Interval  # of edge over sd, at the chosen settings
    p: float  # of the gain, corrected over every claim made
    wins: int  # wins, losses: seeds by the larger edge, scaled to the same sd
    losses: int

    @property
    def holds(self) -> bool:
        return self.gain.low > 0

    @property
    def is_worse(self) -> bool:
        return self.gain.high < 0


class Overall(msgspec.Struct, frozen=True, kw_only=True):
    rival: str
    gain: Interval  # as in `Claim`, on average of the worlds, the same seeds resampled in each
    above: int  # above, below: worlds in which the whole interval lies there
    below: int


class BudgetLine(msgspec.Struct, frozen=True, kw_only=True):
    """A setting without and with a hard budget, dollars: mean edges, quantiles of profits."""

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
    """An entry whose strategy raised or answered nonsense `times` in `lives` runs."""

    entry: str
    times: int
    lives: int
    first: str  # the first fault, with file and line where it has one
    always: bool  # True if it failed at every decision of every run, so that nothing was quoted

    @property
    def sentence(self) -> str:
        often = f"{self.times} times in {self.lives} {'run' if self.lives == 1 else 'runs'}"
        every = ", at every decision" if self.always else ""
        return f"{self.entry}: its strategy was at fault {often}{every}, first {self.first}"


class AdviceLine(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with a source of values from outside less the same entry without one: dollars a run,
    paired by seed."""

    entry: str
    world: str
    weight: float
    profit: Interval
    edge: Interval


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    champion: str
    code: str
    seeds: str
    tuned_on: str
    worlds: list[str]
    entries: list[str]
    lines: list[FrontierRow]
    claims: list[Claim]
    overall: list[Overall]
    budgets: list[BudgetLine]
    variants: int
    faults: list[Faulty] = []
    advice: list[AdviceLine] = []


class _Cell:
    def __init__(
        self,
        of: Callable[[Contender, dict[str, Any], Scenario, int], RunMetrics],
        entry: Contender,
        world: Scenario,
        seeds: range,
        tune: range | None,
    ) -> None:
        def runs(seeds: range) -> list[list[RunMetrics]]:
            return [[of(entry, each, world, seed) for seed in seeds] for each in self.settings]

        self.entry, self.world, self.settings = entry, world, entry.settings()
        self.runs = runs(seeds)
        self.sample = _sample(self.runs)
        self.tuned = [] if tune is None else runs(tune)
        chosen_by = _sample(self.tuned) if self.tuned else self.sample
        self.chosen = int(np.argmax(chosen_by.ratios()))

    @property
    def best(self) -> Sample:
        return self.sample.at_setting(self.chosen)


def _sample(runs: Sequence[Sequence[RunMetrics]]) -> Sample:
    cents = np.array(
        [
            [(r.net, r.spread - r.fees, r.held_variance, r.edge_by_gain, r.gain_mean) for r in row]
            for row in runs
        ]
    )
    return Sample(*np.moveaxis(cents / (100, 100, 100**2, 100**2, 100), -1, 0).copy())


def compare(
    store: RunStore[RunMetrics],
    entries: Sequence[Contender],
    worlds: Sequence[Scenario],
    seeds: range,
    tune: range | None,
    folder: Path,
) -> Comparison:
    """Compare stored runs. The first entry is the champion. folder: as of `Task`."""

    def of(entry: Contender, params: dict[str, Any], world: Scenario, seed: int) -> RunMetrics:
        task = Task(entry, params, world, seed, folder)
        return store.results[task.result_key] if entry.plugin else RunMetrics()

    cells = {
        (entry.name, world.name): _Cell(of, entry, world, seeds, tune)
        for world in worlds
        for entry in entries
    }
    champion, names = entries[0].name, [entry.name for entry in entries]
    by_entry = [cells[name, world.name] for name in names for world in worlds]
    places = stats.resamples(len(seeds))
    made = [
        _claim(cells[champion, world.name], cells[entry.name, world.name], places)
        for world in worlds
        for entry in entries[1:]
        if entry.budget_cents is None
    ]
    corrected = stats.holm({(c.world, c.rival): c.gain.p for c, _ in made})
    return Comparison(
        champion=champion,
        code=code_digest(),
        seeds=span(seeds),
        tuned_on=span(tune) if tune is not None else "",
        worlds=[world.name for world in worlds],
        entries=names,
        lines=[
            FrontierRow(
                cell.entry.name,
                cell.world.name,
                cell.entry.risk,
                [_point(cell, place) for place in range(len(cell.settings))],
            )
            for cell in cells.values()
        ],
        claims=[msgspec.structs.replace(c, p=corrected[c.world, c.rival]) for c, _ in made],
        overall=_overall(made, len(seeds)),
        budgets=_budgets(cells, places),
        variants=sum(len(entry.settings()) for entry in entries),
        faults=_faults(by_entry),
        advice=_advice_lines(cells, places),
    )


def _advice_lines(cells: dict[tuple[str, str], _Cell], places: stats.Ints) -> list[AdviceLine]:
    found = []
    for (name, world), cell in cells.items():
        advice = cell.entry.advice
        plain = msgspec.structs.replace(cell.entry, name="", advice=None)
        without = next(
            (
                other
                for (_, where), other in cells.items()
                if where == world and msgspec.structs.replace(other.entry, name="") == plain
            ),
            None,
        )
        if advice is None or without is None:
            continue
        profits, edges = (
            _mean_change(*pair, places)
            for pair in (
                (cell.best.nets[0], without.best.nets[0]),
                (cell.best.edges[0], without.best.edges[0]),
            )
        )
        weight = advice.weight
        line = AdviceLine(entry=name, world=world, weight=weight, profit=profits, edge=edges)
        found.append(line)
    return found


def _mean_change(now: Floats, before: Floats, places: stats.Ints) -> Interval:
    changes = now - before
    return stats.interval(float(changes.mean()), changes[places].mean(axis=1), len(changes))


def _faults(cells: Sequence[_Cell]) -> list[Faulty]:
    by_entry: defaultdict[str, list[RunMetrics]] = defaultdict(list)
    for cell in cells:
        by_entry[cell.entry.name] += [run for row in (*cell.tuned, *cell.runs) for run in row]
    return [
        Faulty(
            entry=name,
            times=sum(run.errors for run in wrong),
            lives=len(wrong),
            first=wrong[0].fault,
            always=not any(run.answers for run in runs),
        )
        for name, runs in by_entry.items()
        if (wrong := [run for run in runs if run.errors])
    ]


def _overall(made: Sequence[tuple[Claim, Floats]], cases: int) -> list[Overall]:
    by_rival: defaultdict[str, list[tuple[Claim, Floats]]] = defaultdict(list)
    for each in made:
        by_rival[each[0].rival].append(each)
    found = []
    for rival, each_world in by_rival.items():
        claims, drawn = zip(*each_world, strict=True)
        value = float(np.mean([claim.gain.value for claim in claims]))
        gain = stats.interval(value, np.mean(drawn, axis=0), cases)
        above, below = sum(c.holds for c in claims), sum(c.is_worse for c in claims)
        found.append(Overall(rival=rival, gain=gain, above=above, below=below))
    return found


def _claim(champion: _Cell, rival: _Cell, places: stats.Ints) -> tuple[Claim, Floats]:
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


def _point(cell: _Cell, place: int) -> Point:
    runs, nets, edges = cell.runs[place], cell.sample.nets[place], cell.sample.edges[place]
    fills, qty = sum(run.fills for run in runs), sum(run.filled_qty for run in runs)
    marked: defaultdict[str, float] = defaultdict(float)
    for run in runs:
        for horizon, cents in run.markouts.items():
            marked[horizon] += cents * run.filled_qty / qty
    return Point(
        value=cell.entry.values[place] if cell.entry.values else None,
        params=cell.settings[place],
        chosen=place == cell.chosen,
        seeds=len(runs),
        mean=float(nets.mean()),
        sd=float(cell.sample.sds()[place]),
        seen_sd=float(stats.sds(nets)),
        edge=float(edges.mean()),
        edge_error=float(stats.sds(edges)) / math.sqrt(len(edges)),
        ratio=float(cell.sample.ratios()[place]),
        q05=float(np.quantile(nets, 0.05)),
        q01=float(np.quantile(nets, 0.01)),
        worst_99=float(np.quantile([run.worst_max / 100 for run in runs], 0.99)),
        requests_per_fill=sum(run.requests for run in runs) / fills if fills else None,
        latched=sum(bool(run.latched) for run in runs),
        means={name: sum(run.figure(name) for run in runs) / len(runs) for name in AVERAGED},
        markouts=dict(marked),
    )


def _budgets(cells: dict[tuple[str, str], _Cell], places: stats.Ints) -> list[BudgetLine]:
    found: list[BudgetLine] = []
    for (name, world), cell in cells.items():
        free, budget = name.partition("_budget")[0], cell.entry.budget_cents
        unbound = cells.get((free, world))
        if budget is None or unbound is None or unbound.entry.budget_cents is not None:
            continue
        before, after = unbound.best, cell.sample.at_setting(unbound.chosen)
        edges = [sample.edges[0] for sample in (after, before)]
        kept = float(_share(*(each.mean() for each in edges)))
        drawn = _share(*(each[places].mean(axis=1) for each in edges))
        q01_before, q05_before = np.quantile(before.nets[0], (0.01, 0.05)).tolist()
        q01_after, q05_after = np.quantile(after.nets[0], (0.01, 0.05)).tolist()
        found.append(
            BudgetLine(
                entry=free,
                world=world,
                budget=budget // 100,
                edge_before=float(edges[1].mean()),
                edge_after=float(edges[0].mean()),
                edge_kept=stats.interval(kept, drawn, len(edges[0])),
                q01_before=q01_before,
                q01_after=q01_after,
                q05_before=q05_before,
                q05_after=q05_after,
            )
        )
    return found


def _share(part: Floats, whole: Floats) -> Floats:
    part, whole = np.asarray(part, dtype=float), np.asarray(whole, dtype=float)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)
