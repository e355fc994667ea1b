"""Decisions of an event over minutes of a moving market."""

import math
import random

import msgspec
import pytest

from bot.core import messages as m
from bot.core.quoting.event_quoter import EventQuoter
from bot.core.risk.limits import taken
from bot.core.settings import PaceSettings
from bot.strategy.pricing.probit import from_probit
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import SERIES, Thin
from venue.wire import model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty


class Patchy(Thin):
    """A venue that does not show the book of a rung while it is `lost`."""

    lost: int | None = None

    def show(self, index: int, ts_ns: int | None = None) -> None:
        if index != self.lost:
            super().show(index, ts_ns)


def test_the_wanted_quotes_of_a_rung_follow_from_the_last_decision(monkeypatch):
    rng, mids = random.Random(11), [80, 65, 50, 35, 20]
    pace = PaceSettings(decide_ns=0)
    thin = Patchy([*mids], lambda: LadderJoint(LadderJoint.Params()), pace)
    thin.start()
    ladder, markets = thin.trader.quoting.ladders[0], [*thin.markets]
    want_now, start_ns = EventQuoter.want, thin.now_ns
    seen = []

    def want(ladder, quotes, *, pulled):
        seen.append(pulled)
        want_now(ladder, quotes, pulled=pulled)
        for rung in ladder.rungs:
            left = () if pulled or rung.blocked else quotes.get(rung.market_id, ())
            assert rung.wanted == taken(left, rung.market, ladder.max_order_qty.get(rung.market_id))

    monkeypatch.setattr(EventQuoter, "want", want)

    def move() -> None:
        index, market = rng.randrange(5), markets[0]
        match rng.randrange(20):
            case 0:
                state = rng.choice((model.MarketState.HALTED, model.MarketState.ACTIVE))
                market = msgspec.structs.replace(market, state=state)
            case 1:
                market = msgspec.structs.replace(market, max_price=Price(60))
            case 2:
                thin.give(m.FeedClosed(""))
                thin.give(m.Tick())
                thin.give(m.FeedOpened())
            case 3 if thin.now_ns - start_ns > 500 * NS_PER_SECOND:
                ladder.max_order_qty[markets[index].market_id] = Qty(rng.randint(3, 9))
            case 4 if rng.random() < 0.2:
                thin.mids[index] = mids[index] + rng.choice((-8, 8))
            case 5 | 6:
                thin.lost = index if thin.lost is None else None
            case 7 | 8 | 9:
                thin.mids[index] = mids[index] + rng.randint(-1, 1)
        if market != thin.markets[0]:
            thin.markets[0] = market
            shown = thin.answer(m.ReadSeries(SERIES, ""))
            ladder.refresh(shown.body.events[0], thin.now_ns, lambda: ladder.strategy)
        thin.show(index)

    thin.run(600, move, NS_PER_SECOND)
    assert seen.count(False) > 100
    assert any(seen)
    assert ladder.max_order_qty


STRIKES = [100 + 10 * index for index in range(7)]
MIDDLE = 3


def values_at(worth: float) -> list[int]:
    """What each strike is worth, whole cents."""
    return [
        min(92, max(8, round(from_probit((math.log(worth) - math.log(strike)) / 0.18))))
        for strike in STRIKES
    ]


class Quiet(Thin):
    """A venue one of whose books nobody shows or confirms any more, once it is `lost`."""

    lost = False

    def show(self, index: int, ts_ns: int | None = None) -> None:
        if not (self.lost and index == MIDDLE):
            super().show(index, ts_ns)


@pytest.mark.parametrize("is_halted", [True, False])
def test_a_stale_book_does_not_hold_back_the_values_of_its_neighbours(is_halted):
    rng, worth = random.Random(3), 130.0
    thin = Quiet(values_at(worth), lambda: LadderJoint(LadderJoint.Params()))
    thin.start()
    goes_on = False

    def move() -> None:
        nonlocal worth
        worth *= math.exp(rng.gauss(0, 0.0006) + (0.15 / 600 if goes_on else 0))
        for index, value in enumerate(values_at(worth)):
            if not (goes_on and index == MIDDLE):
                thin.mids[index] = value
                thin.show(index)

    thin.run(150, move, NS_PER_SECOND)
    goes_on = thin.lost = True
    if is_halted:
        halted = model.MarketState.HALTED
        thin.markets[MIDDLE] = msgspec.structs.replace(thin.markets[MIDDLE], state=halted)
    thin.run(500, move, NS_PER_SECOND)
    assert thin.rung(MIDDLE).blocked == ("market halted" if is_halted else "book stale")
    for index in (MIDDLE - 1, MIDDLE + 1):
        fair = thin.rung(index).fair
        assert fair is not None
        assert fair.value_cents == pytest.approx(values_at(worth)[index], abs=2.5)
