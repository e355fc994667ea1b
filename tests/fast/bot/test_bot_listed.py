"""Claims about what the venue lists of a series: rungs that go, other spellings, double claims."""

from collections.abc import Sequence

import msgspec
import pytest

from bot.core import messages as m
from tests.builders.bot.meddled import Meddled, quoted
from tests.builders.bot.thin import EVENT, market
from venue.wire import model
from venue.wire.names import Ticker


class Listing(Meddled):
    """A venue that lists what a claim says."""

    def __init__(self) -> None:
        super().__init__()
        self.listed: tuple[model.Event, ...] | None = None
        self.meddle = self._list

    def _list(self, request: m.Request) -> m.Answer | None:
        if not isinstance(request, m.ReadSeries) or self.listed is None:
            return None
        return m.Ok(m.SeriesBody(self.listed, ""))

    def event(self, markets: Sequence[model.Market], ticker: Ticker = EVENT) -> model.Event:
        """An event like the one it has, with these rungs."""
        answer = self._read(m.ReadSeries("", ""))
        assert isinstance(answer, m.Ok)
        assert isinstance(answer.body, m.SeriesBody)
        (event,) = answer.body.events
        return msgspec.structs.replace(event, event_ticker=ticker, markets=tuple(markets))


@pytest.fixture
def venue() -> Listing:
    """It lists two rungs, and the bot quotes them."""
    return quoted(Listing())


def resting_on(venue: Listing, index: int) -> int:
    return sum(o.market_id == market(index).market_id for o in venue.orders.values())


def test_orders_on_a_rung_that_is_listed_no_more_are_pulled_though_another_one_comes(venue):
    venue.listed = (venue.event([venue.markets[0], market(5)]),)
    venue.go(60)
    assert (resting_on(venue, 0), resting_on(venue, 1)) == (2, 0)


def test_a_ticker_that_is_shown_once_under_another_id_leaves_no_rung_behind(venue):
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


def test_an_event_that_is_open_no_more_is_pulled_as_soon_as_it_is_read(venue):
    open_event = venue.event(venue.markets)
    venue.listed = (msgspec.structs.replace(open_event, status=model.EventStatus.UNOPENED),)
    venue.go(6)
    assert not venue.orders


def test_orders_on_a_rung_that_is_listed_no_more_are_counted_while_they_rest(venue):
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
    venue.listed = None
    venue.show(1)
    venue.go(60)
    assert resting_on(venue, 1) == 2


def test_an_event_that_the_series_lists_no_more_is_pulled_until_it_is_listed_again(venue):
    venue.listed = ()
    venue.go(60)
    assert not venue.orders
    assert len(venue.trader.quoting.ladders[0].rungs) == 2
    venue.listed = None
    venue.show(0)
    venue.show(1)
    venue.go(60)
    assert len(venue.orders) == 4


def test_markets_under_the_name_of_another_event_are_quoted_under_neither(venue):
    venue.listed = (venue.event(venue.markets, Ticker("ACME-VAL-27Q2")),)
    venue.go(60)
    assert "event_unreadable" in venue.notes
    assert not venue.orders


@pytest.mark.parametrize("fault", ["rate", "date", "claim"])
def test_an_event_that_cannot_be_read_any_more_is_not_quoted_until_it_can_be(venue, fault):
    other = Ticker("ACME-VAL-27Q2")
    venue.listed = (venue.event(venue.markets), venue.event([market(5)], other))
    venue.go(12)
    rungs = list(venue.markets)
    if fault == "rate":
        rungs[1] = msgspec.structs.replace(rungs[1], maker_fee_rate="a lot")
    if fault == "claim":
        rungs.append(market(5))
    shown = venue.event(rungs)
    if fault == "date":
        shown = msgspec.structs.replace(shown, resolution_date="soon")
    venue.listed = (shown, venue.event([market(5)], other))
    venue.go(20)
    assert "event_unreadable" in venue.notes
    assert not venue.orders
    venue.listed = None
    venue.show(0)
    venue.show(1)
    venue.go(60)
    assert len(venue.orders) == 4


def test_a_ladder_of_which_only_one_rung_can_win_any_more_is_not_quoted(venue):
    venue.listed = (msgspec.structs.replace(venue.event(venue.markets), mutually_exclusive=True),)
    venue.go(20)
    assert not venue.orders
    venue.listed = None
    venue.show(0)
    venue.show(1)
    venue.go(60)
    assert len(venue.orders) == 4


def test_an_event_in_another_case_is_the_event_that_it_was(venue):
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


def test_a_rung_belongs_to_one_event_and_no_other_may_claim_it(venue):
    other = Ticker("ACME-VAL-27Q2")
    venue.listed = (venue.event(venue.markets), venue.event(venue.markets[:1], other))
    venue.go(60)
    assert [ladder.event.event_ticker for ladder in venue.trader.quoting.ladders] == [EVENT]
    assert "event_unreadable" in venue.notes
    assert len(venue.orders) == 4


def test_a_stop_cancels_everything_though_no_plan_can_be_made(venue, monkeypatch):
    def fail(*_: object) -> None:
        raise ValueError("a bug of ours")

    monkeypatch.setattr(venue.trader.quoting, "decide", fail)
    monkeypatch.setattr(venue.trader.quoting.weighing, "on_sent", fail)
    with pytest.raises(ValueError, match="a bug"):
        venue.go(1)
    assert venue.stop() == m.DrainComplete((), ())
    assert not venue.orders
