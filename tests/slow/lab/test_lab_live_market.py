"""Claims about a market that is fed by frames of the channel, and our orders in it."""

import msgspec

from bot.core import messages as m
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import buy_order
from bot.lab.exchange.live import LiveMarket, catalogue_of
from bot.lab.exchange.queue_model import QueueModel
from tests.builders.what_if.made import MARKET, START_NS, listed
from venue.wire import model
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.money import Outcome
from venue.wire.names import MarketId
from venue.wire.requests import TimeInForce

CLOCKS_NS = 7 * NS_PER_SECOND
"""The venue's clock is ahead of ours by so much."""


class Fed:
    """A market of one rung, fed by hand. Times in seconds."""

    def __init__(self) -> None:
        terms = Terms(read_lag_ns=NS_PER_MS)
        listing = catalogue_of(listed().events)
        self.market = LiveMarket(listing, terms, QueueModel.PESSIMISTIC, START_NS)
        self.id = MARKET
        self._made = 0

    def book(self, second: float, bids, asks, stamp: float | None = None) -> None:
        at_ns = self.at(second if stamp is None else stamp) + CLOCKS_NS
        self.market.on_frame(
            m.BookUpdate(self.id, at_ns, tuple(bids), tuple(asks)), self.at(second)
        )

    def at(self, second: float) -> int:
        return START_NS + round(second * NS_PER_SECOND)

    def buy(self, second: float, price: int, qty: int) -> m.Answer:
        self._made += 1
        order = buy_order(self.id, Outcome.YES, price, qty, TimeInForce.GTC, f"o{self._made}")
        create = m.Create(order, False)
        send = m.Send(m.RequestId(self._made), create, "asked for", m.Key.TRADE)
        return self.market.exchange.answer_request(send, self.at(second)).answer


def test_the_paper_channel_shows_our_orders_and_fills_by_our_own_clock():
    fed = Fed()
    fed.book(1, [(45, 10)], [(55, 10)])
    fed.buy(2, 45, 20)
    fed.buy(2, 55, 4)
    now_ns = fed.at(2)
    printed, book = fed.market.frames(now_ns)
    assert (printed.price, printed.size, printed.taker_bought_yes) == (55, 4, True)
    assert (book.ts_ns, book.bids, book.asks) == (now_ns, ((45, 30),), ((55, 6),))
    assert fed.market.frames(now_ns) == []


def test_a_venue_clock_set_back_does_not_stop_book_updates():
    fed = Fed()
    fed.book(1, [(45, 10)], [(55, 10)])
    fed.book(2, [(45, 99)], [(55, 10)], stamp=0.5)
    assert fed.market.book_frames(fed.at(2))[0].bids == ((45, 10),)
    fed.book(3, [(44, 7)], [(55, 10)], stamp=-3_600)
    assert fed.market.book_frames(fed.at(3))[0].bids == ((44, 7),)


def test_series_reads_list_halt_resume_and_resolve_markets():
    fed = Fed()
    (two,) = listed("active", "active").events
    fed.market.on_series([two], fed.at(1))
    assert [*fed.market.markets] == [each.market_id for each in two.markets]

    def now(second: float, state: model.MarketState) -> None:
        first = msgspec.structs.replace(two.markets[0], state=state)
        event = msgspec.structs.replace(two, markets=(first, *two.markets[1:]))
        fed.market.on_series([event], fed.at(second))

    fed.book(1, [(45, 10)], [(60, 10)])
    now(2, model.MarketState.HALTED)
    assert isinstance(fed.buy(2, 60, 5), m.Rejected)
    now(3, model.MarketState.ACTIVE)
    assert isinstance(fed.buy(3, 60, 5), m.Ok)
    now(4, model.MarketState.RESOLVED)
    assert fed.market.account.cash_cents == fed.market.gain_cents > 0


def test_frames_of_an_unlisted_market_are_ignored():
    fed, unknown = Fed(), MarketId("00000000-0000-4000-8000-000000000099")
    fed.market.on_frame(m.BookUpdate(unknown, START_NS, (), ()), START_NS)
    assert fed.market.frames(START_NS) == []
