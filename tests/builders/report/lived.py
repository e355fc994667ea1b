"""A small recorded run that fills, holds and is paid out; and how a browser sees its page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.simulated_journals import STRATEGY_FAULTS
from bot.lab.exchange.exchange import MAKER
from bot.lab.sim.scenario import draw, narrowed, often
from bot.lab.sim.world import SimulatedWorld
from tests.builders.browser.chromium import Page
from tests.builders.replay.recorded import recorded
from venue.wire.instant import NS_PER_SECOND

CONFIG = """\
series: ACME-VAL
venue: {embedded: venue.yaml}
strategy: {name: fixed_spread}
risk: {event_loss_cents: 1000, series_loss_cents: 1000, rung_position_qty: 5, order_qty: 5}
"""
"""What `bot pnl` has to be given: the journal says itself what its run was made with."""

PLOTS = """[...document.querySelectorAll('figure.plot')].map((figure) => {
  const svg = figure.querySelector('svg');
  if (!svg) return [figure.dataset.plot, figure.dataset.state, 0, 0,
    figure.querySelector('.nothing')?.textContent ?? ''];
  const area = svg.querySelector('.area').getBoundingClientRect();
  const marks = [...svg.querySelectorAll('.mark')];
  const beyond = marks.map((each) => each.getBoundingClientRect()).filter((at) =>
    at.left < area.left - 12 || at.right > area.right + 12 || at.top < area.top - 12
    || at.bottom > area.bottom + 12);
  return [figure.dataset.plot, figure.dataset.state, marks.length, beyond.length, ''];
})"""
"""Of every plot: its kind, whether it is drawn, how many marks it has, how many lie beyond the area
by more than the size of a mark, and what it says where there is none."""


def lived(folder: Path, seed: int = 24) -> tuple[Path, SimulatedWorld]:
    """The state directory of a harmless world whose rungs resolve, and the world."""
    calm = narrowed(draw(seed, "calm"), without=STRATEGY_FAULTS, until_ns=4 * NS_PER_SECOND)
    odds = replace(often(calm, ("market_resolve",)), strategy="ladder_joint", crowd_per_second=80.0)
    state = folder / f"state-{seed}"
    return state, recorded(odds, state)


def venue_millicents(world: SimulatedWorld) -> int:
    """What the maker has gained by the venue's own ledger, shares counted as the trader last valued
    them, in thousandths of a cent."""
    balance = world.exchange.engine.balance(MAKER)
    assert balance is not None
    owned = 1_000 * (balance[0] + balance[1] - world.scenario.cash_cents)
    pnl = world.processes[-1].trader.quoting.pnl
    for position in world.exchange.front.replica.views.account.positions(MAKER, _all(), "", 1_000)[
        0
    ]:
        fair = pnl.value(position.market_id)
        assert fair is not None
        owned += position.qty * (fair if position.outcome == "yes" else 100_000 - fair)
    return owned


def _all() -> Any:
    from venue.views.account import Scope

    return Scope()


def opened(page: Page, path: Path) -> Page:
    page.open(path.as_uri())
    page.wait("document.readyState === 'complete'")
    return page
