"""Claims about what is told of a rung, and taken for its value: by a book that nobody believes any
more, and by one that is the same though it is not; and of which rungs are told anew."""

import math
import random

import msgspec
import pytest

from bot.core import messages as m
from bot.core.quoting.event_quoter import EventQuoter
from bot.strategy.pricing.probit import from_probit
from strategies.ladder_joint import LadderJoint
from tests.builders.bot.thin import Thin
from venue.wire import instant, model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND

STRIKES = [100 + 10 * index for index in range(7)]
MIDDLE = 3


def values(worth: float) -> list[int]:
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


@pytest.mark.slow
@pytest.mark.parametrize("is_halted", [True, False])
def test_a_book_that_is_believed_no_longer_does_not_hold_back_the_values_beside_it(is_halted):
    rng, worth = random.Random(3), 130.0
    thin = Quiet(values(worth), lambda: LadderJoint(LadderJoint.Params()))
    thin.start()
    goes_on = False

    def move() -> None:
        nonlocal worth
        worth *= math.exp(rng.gauss(0, 0.0006) + (0.15 / 600 if goes_on else 0))
        for index, value in enumerate(values(worth)):
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
        assert fair.value_cents == pytest.approx(values(worth)[index], abs=2.5)


class Same(Thin):
    """A venue one of whose books stays the same: others take away what we add, and the reverse."""

    kept: m.BookUpdate | None = None
    reads = False

    def book(self, index: int, ts_ns: int | None = None, depth: int = 100) -> m.BookUpdate:
        if self.kept is None or index != 0:
            return super().book(index, ts_ns, depth)
        at_ns = self.now_ns if ts_ns is None else ts_ns
        return msgspec.structs.replace(self.kept, ts_ns=at_ns)

    def _read(self, request: m.Request) -> m.Answer:
        if not (self.reads and isinstance(request, m.ReadBook) and self.kept is not None):
            return super()._read(request)
        bids, asks = (
            tuple(model.Level(price, size) for price, size in side)
            for side in (self.kept.bids, self.kept.asks)
        )
        as_of = instant.from_ns(self.now_ns)
        shown = model.Orderbook(self.markets[0].ticker, request.market_id, as_of, bids, asks)
        return m.Ok(m.BookBody(shown))


@pytest.mark.parametrize("reads", [True, False])
def test_a_book_that_is_the_same_by_chance_is_told_from_ours_once_it_is_shown_or_read(reads):
    thin = Same([50], lambda: LadderJoint(LadderJoint.Params()))
    thin.start()
    thin.run(30)
    thin.show(0)
    thin.run(3)
    thin.mids[0] = 54
    thin.show(0, thin.now_ns - 2 * NS_PER_SECOND)
    thin.kept, thin.reads = thin.book(0), reads
    thin.run(2)
    if not reads:
        thin.show(0)
    thin.run(4, least_ns=100 * NS_PER_MS)
    rung = thin.rung(0)
    own = thin.trader.desk.live(rung.market_id)
    assert thin.writes(thin.now_ns - 8 * NS_PER_SECOND)
    assert rung.state.external == rung.state.without_own(own)
    assert not rung.state.is_behind


def test_the_rungs_told_anew_are_those_whose_views_are_others(monkeypatch):
    rng, worth = random.Random(5), 130.0
    thin = Thin(values(worth), lambda: LadderJoint(LadderJoint.Params()))
    thin.start()
    ladder = thin.trader.quoting.ladders[0]
    before, told, view_now = tuple(ladder.views), [], EventQuoter.view

    def view(*of):
        nonlocal before
        now = view_now(*of)
        anew, fairs = ladder.changed, ladder.fairs
        others = [at for at, rung in enumerate(now.rungs) if rung is not before[at]]
        assert sorted(anew) == others
        assert [each.fair_cents for each in now.rungs] == [each.value_cents for each in fairs]
        told.append(len(anew))
        before = now.rungs
        return now

    monkeypatch.setattr(EventQuoter, "view", view)

    def move() -> None:
        nonlocal worth
        worth *= math.exp(rng.gauss(0, 0.01))
        index = rng.randrange(len(STRIKES))
        thin.mids[index] = values(worth)[index]
        thin.show(index)

    thin.run(60, move, NS_PER_SECOND)
    assert 1 in told
    assert len(STRIKES) in told
