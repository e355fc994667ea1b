"""What the venue lists of a series: rungs that go, other spellings, rungs claimed twice."""

from collections.abc import Sequence

import msgspec
import pytest

from bot.core import messages as m
from tests.builders.bot.meddled import Meddled, quoted
from tests.builders.bot.thin import EVENT, market
from venue.wire import model
from venue.wire.names import Ticker

OTHER_EVENT = Ticker("ACME-VAL-27Q2")


class Listing(Meddled):
    """A venue that lists `listed` as the events of its series, once that is set."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: tuple[model.Event, ...] | None = None
        self.meddle = self._list

    def _list(self, request: m.Request) -> m.Answer | None:
        if not isinstance(request, m.ReadSeries) or self.listed is None:
            return None
        return m.Ok(m.SeriesBody(self.listed, ""))

    def event(
        self, markets: Sequence[model.Market], ticker: Ticker = EVENT, **other: object
    ) -> model.Event:
        """Its event with these rungs and other fields."""
        (event,) = self.answer(m.ReadSeries("", "")).body.events
        return msgspec.structs.replace(event, event_ticker=ticker, markets=tuple(markets), **other)

    def list_as_before(self) -> None:
        """List the events as before, with fresh books."""
        self.listed = None
        self.show_all()
        self.go(60)


@pytest.fixture
def venue() -> Listing:
    """A venue that lists two rungs, which the bot quotes."""
    return quoted(Listing())


def resting_on(venue: Listing, index: int) -> int:
    return sum(o.market_id == market(index).market_id for o in venue.orders.values())


def test_orders_on_a_rung_that_is_no_longer_listed_are_pulled(venue):
    venue.listed = (venue.event([venue.markets[0], market(5)]),)
    venue.go(60)
    assert (resting_on(venue, 0), resting_on(venue, 1)) == (2, 0)


def test_an_event_with_a_ticker_under_another_id_is_pulled_until_it_reads_as_before(venue):
    other_id = market(5).market_id
    mixed_up = msgspec.structs.replace(venue.markets[1], market_id=other_id)
    venue.listed = (venue.event([venue.markets[0], mixed_up]),)
    venue.go(10)
    assert "and was" in venue.trader.out.findings["event_unreadable"]
    assert not venue.orders
    venue.listed = (venue.event(venue.markets),)
    venue.go(30)
    assert (resting_on(venue, 0), resting_on(venue, 1)) == (2, 2)
    assert not venue.trader.out.findings


def with_bad_rate(venue: Listing) -> list[model.Market]:
    first, second = venue.markets
    return [first, msgspec.structs.replace(second, maker_fee_rate="a lot")]


LISTINGS = {
    "not listed": lambda venue: (),
    "not open": lambda venue: (venue.event(venue.markets, status=model.EventStatus.UNOPENED),),
    "only one rung can win": lambda venue: (venue.event(venue.markets, mutually_exclusive=True),),
    "an unreadable fee rate": lambda venue: (venue.event(with_bad_rate(venue)),),
    "an unreadable date": lambda venue: (venue.event(venue.markets, resolution_date="soon"),),
    "markets of another event": lambda venue: (venue.event(venue.markets, OTHER_EVENT),),
}


@pytest.mark.parametrize("listing", LISTINGS)
def test_an_event_that_cannot_be_quoted_is_pulled_until_it_is_listed_as_before(venue, listing):
    venue.listed = LISTINGS[listing](venue)
    venue.go(60)
    assert not venue.orders
    is_unreadable = listing.startswith(("an unreadable", "markets"))
    assert ("event_unreadable" in venue.notes) is is_unreadable
    assert len(venue.trader.quoting.ladders[0].rungs) == 2
    venue.list_as_before()
    assert len(venue.orders) == 4


def test_an_event_that_claims_a_rung_of_another_is_not_quoted_until_it_gives_it_up(venue):
    other = venue.event([market(5)], OTHER_EVENT)
    venue.listed = (venue.event(venue.markets), other)
    venue.go(12)
    venue.listed = (venue.event([*venue.markets, market(5)]), other)
    venue.go(20)
    assert "event_unreadable" in venue.notes
    assert not venue.orders
    venue.list_as_before()
    assert len(venue.orders) == 4


def test_orders_on_a_rung_that_is_no_longer_listed_count_while_they_rest(venue):
    venue.listed = (venue.event([venue.markets[0], market(5)]),)
    quoting = venue.trader.quoting
    before = quoting.weighing.worst_cents(quoting.ladders[0])
    refused = m.Rejected(503, "engine_unavailable", "")
    lists = venue.meddle
    venue.meddle = lambda asked: refused if isinstance(asked, m.CancelResting) else lists(asked)
    venue.go(60)
    assert resting_on(venue, 1) == 2
    assert len(quoting.ladders[0].rungs) == 3
    assert quoting.weighing.worst_cents(quoting.ladders[0]) == before


def test_a_rung_that_is_listed_again_is_quoted_again(venue):
    venue.listed = (venue.event([venue.markets[0]]),)
    venue.go(60)
    assert resting_on(venue, 1) == 0
    venue.list_as_before()
    assert resting_on(venue, 1) == 2


def test_tickers_in_another_case_change_nothing(venue):
    low = [
        msgspec.structs.replace(
            each, ticker=Ticker(each.ticker.lower()), event_ticker=Ticker(EVENT.lower())
        )
        for each in venue.markets
    ]
    venue.listed = (venue.event(low, Ticker(EVENT.lower())),)
    writes = len(venue.writes())
    venue.go(60)
    assert [ladder.event.event_ticker for ladder in venue.trader.quoting.ladders] == [EVENT]
    assert len(venue.writes()) == writes
    assert len(venue.orders) == 4


def test_a_second_event_cannot_claim_a_rung(venue):
    venue.listed = (venue.event(venue.markets), venue.event(venue.markets[:1], OTHER_EVENT))
    venue.go(60)
    assert [ladder.event.event_ticker for ladder in venue.trader.quoting.ladders] == [EVENT]
    assert "event_unreadable" in venue.notes
    assert len(venue.orders) == 4


def test_a_stop_cancels_everything_though_planning_fails(venue, monkeypatch):
    def fail(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(venue.trader.quoting, "decide", fail)
    monkeypatch.setattr(venue.trader.quoting.weighing, "on_sent", fail)
    with pytest.raises(ValueError, match="a bug"):
        venue.go(1)
    assert venue.stops_clean()
