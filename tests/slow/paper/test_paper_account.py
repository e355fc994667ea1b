"""Claims about the paper account: what is on disk is what goes on, and nothing fills unseen."""

import itertools
import shutil

import pytest

from bot.core import messages as m
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.exchange import Response, buy_order
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.paper import PaperClock, PaperExchange, PaperFault
from tests.builders.record.made import damage
from tests.builders.shell.site import SERIES, opening, rung_id
from venue.storage.log import LogFull
from venue.storage.recovery import fresh
from venue.views.catalog import EventFilter
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Outcome, Price, Qty
from venue.wire.requests import TimeInForce

TERMS = Terms(cash_cents=Cents(1_000_000), read_lag_ns=0)
RUNG = rung_id(0)
START_NS = 1_800_000_000 * NS_PER_SECOND


def listed_events():
    """The series as a read of the venue shows it."""
    exchange = fresh(b"o" * 32)
    for command in opening(2, "0.0100"):
        _, events = exchange.apply_command(command, START_NS)
        for event in events:
            exchange.views.apply(event)
    return exchange.views.catalog.events(EventFilter(series_ticker=SERIES), -1, 10)[0]


class Desk:
    """Orders at a paper exchange by hand, a second apart."""

    def __init__(self, folder, queue_model=QueueModel.PESSIMISTIC, begin_ns=START_NS):
        self.now_ns = begin_ns
        self.paper = PaperExchange(TERMS, queue_model, folder, lambda: self.now_ns)
        self.market = self.paper.market
        self.market.on_series(listed_events(), self.now_ns)
        self._numbers = itertools.count(1)

    def ask(self, request: m.Request) -> Response:
        self.now_ns += NS_PER_SECOND
        send = m.Send(m.RequestId(next(self._numbers)), request, "")
        return self.paper.exchange.answer_request(send, self.paper.clock.exchange_ns())

    def buy(self, name: str, price: int, qty: int) -> Response:
        order = buy_order(RUNG, Outcome.YES, price, qty, TimeInForce.GTC, name)
        return self.ask(m.Create(order, False))

    def book(self, bids, asks) -> None:
        self.now_ns += NS_PER_SECOND
        self.market.on_frame(m.BookUpdate(RUNG, self.now_ns, bids, asks), self.now_ns)

    def print(self, price: int, qty: int, bought: bool = False) -> None:
        self.now_ns += NS_PER_SECOND
        name = f"print-{self.now_ns}"
        seen = m.Trade(RUNG, self.now_ns, name, Price(price), Qty(qty), bought)
        self.market.on_frame(seen, self.now_ns)

    def body(self, request: m.Request):
        answer = self.ask(request).answer
        assert isinstance(answer, m.Ok)
        return answer.body

    @property
    def filled(self) -> int:
        return sum(fill.qty for fill in self.market.account.fills)

    def picture(self):
        resting = self.body(m.ReadResting("")).orders
        fills = self.body(m.ReadFills("")).fills
        positions = self.body(m.ReadPositions("")).positions
        return resting, fills, positions, self.body(m.ReadBalance()).balance


def desk_after_a_kill(folder, to, **more) -> Desk:
    """A desk on what a process that was killed has left in a folder."""
    shutil.copytree(folder, to)
    return Desk(to, begin_ns=START_NS + 1_000 * NS_PER_SECOND, **more)


@pytest.mark.anyio
async def test_a_paper_account_survives_a_kill_with_cash_shares_fills_and_orders(tmp_path):
    desk = Desk(tmp_path / "account")
    desk.book(((45, 10),), ((55, 10),))
    desk.buy("one", 50, 20)
    desk.buy("two", 48, 5)
    desk.print(47, 12)
    await desk.paper.durable()
    assert desk.filled == 12
    again = desk_after_a_kill(tmp_path / "account", tmp_path / "again")
    assert not again.paper.is_new
    assert again.picture() == desk.picture()
    again.market.account.prove(again.market.gain_cents - TERMS.cash_cents)
    first = desk.buy("one", 50, 20).answer.body.order
    assert again.buy("one", 50, 20).answer.body.order.order_id == first.order_id
    assert len(again.body(m.ReadResting("")).orders) == 2
    # Others' orders of the next run have names of their own.
    again.book(((45, 10),), ((55, 10),))
    again.print(47, 12)
    assert again.filled == 12 + 12


@pytest.mark.anyio
async def test_an_order_that_rested_over_a_gap_is_last_in_the_queue(tmp_path):
    desk = Desk(None)
    desk.book(((45, 10),), ((55, 10),))
    desk.buy("one", 46, 5)
    desk.market.on_gap([RUNG])
    desk.print(46, 50)
    desk.print(40, 50)
    assert desk.filled == 0, "nothing fills by prints of a book that is not known"
    desk.book(((46, 30), (45, 10)), ((55, 10),))
    desk.print(46, 29)
    assert desk.filled == 0, "30 shares are before it"
    desk.print(46, 4)
    assert desk.filled == 3


@pytest.mark.anyio
async def test_a_book_that_crosses_an_order_after_a_gap_fills_it_once(tmp_path):
    desk = Desk(None)
    desk.book(((45, 10),), ((55, 10),))
    desk.buy("one", 50, 5)
    desk.market.on_gap([RUNG])
    desk.book(((40, 10),), ((44, 3),))
    desk.book(((40, 10),), ((44, 3),))
    assert desk.filled == 3


@pytest.mark.anyio
async def test_a_setting_does_not_change_the_cash_of_an_existing_account(tmp_path):
    desk = Desk(tmp_path / "account")
    desk.buy("one", 50, 1)
    await desk.paper.durable()
    shutil.copytree(tmp_path / "account", tmp_path / "again")
    other = Terms(cash_cents=Cents(7))
    paper = PaperExchange(other, QueueModel.PESSIMISTIC, tmp_path / "again", lambda: START_NS)
    assert paper.exchange.cash_cents == TERMS.cash_cents


@pytest.mark.anyio
async def test_a_resolved_market_pays_once_and_durably(tmp_path):
    desk = Desk(tmp_path / "account")
    desk.book(((45, 10),), ((55, 10),))
    desk.buy("one", 55, 4)
    assert desk.filled == 4
    desk.book(((95, 10),), ((97, 10),))
    cash = desk.paper.exchange.cash_cents
    desk.market.resolve(RUNG, Outcome.YES, desk.now_ns)
    assert desk.paper.exchange.cash_cents == cash + 400
    await desk.paper.durable()
    again = desk_after_a_kill(tmp_path / "account", tmp_path / "again")
    assert again.picture() == desk.picture()
    again.market.account.prove(again.market.gain_cents - TERMS.cash_cents)


@pytest.mark.anyio
async def test_a_full_disk_is_a_fault_and_ends_the_channel(tmp_path, monkeypatch):
    def refuse(*_):
        raise LogFull("commands.log: is full: No space left on device")

    desk = Desk(tmp_path / "account")
    await desk.paper.durable()
    monkeypatch.setattr("venue.storage.log.CommandLog.append", refuse)
    desk.buy("one", 50, 1)
    with pytest.raises(PaperFault, match="No space left"):
        await desk.paper.durable()
    with pytest.raises(PaperFault, match="No space left"):
        await desk.paper.failed()


@pytest.mark.anyio
async def test_a_damaged_paper_account_is_refused_with_its_file(tmp_path):
    desk = Desk(tmp_path / "account")
    desk.buy("one", 50, 1)
    await desk.paper.durable()
    desk.paper.close()
    (log,) = (tmp_path / "account").glob("commands-*.log")
    damage(log, log.stat().st_size // 3)  # not in the last append, which a crash may tear
    with pytest.raises(PaperFault, match=r"paper account: .*commands-0"):
        Desk(tmp_path / "account")


def test_the_paper_clock_is_as_late_as_the_trades_and_never_steps_back():
    now = [START_NS]
    clock = PaperClock(lambda: now[0])
    for _ in range(5):
        now[0] += NS_PER_SECOND
        clock.on_print(now[0] - NS_PER_SECOND // 10)  # another clock, or the way here
        assert clock.exchange_ns() == now[0]
    now[0] += 5 * NS_PER_SECOND
    clock.on_print(now[0] - 4 * NS_PER_SECOND)
    assert now[0] - clock.exchange_ns() == 3.9 * NS_PER_SECOND
    now[0] += NS_PER_SECOND
    reached = clock.exchange_ns()
    clock.on_print(now[0] - 30 * NS_PER_SECOND)
    assert clock.exchange_ns() == reached
    clock.on_print(now[0] - NS_PER_SECOND // 10)
    assert clock.exchange_ns() == now[0]


@pytest.mark.anyio
async def test_commands_of_one_instant_are_durable_together(tmp_path):
    """An order that takes meets others who rest for that moment alone."""

    desk = Desk(tmp_path / "account")
    desk.book(((45, 10),), ((55, 10), (56, 10)))
    await desk.paper.durable()
    (log,) = (tmp_path / "account").glob("commands-*.log")
    before = log.stat().st_size
    desk.buy("one", 56, 15)
    await desk.paper.durable()
    whole = log.read_bytes()
    for number, cut in enumerate((before + 9, len(whole) - 1)):
        folder = tmp_path / f"cut-{number}"
        shutil.copytree(tmp_path / "account", folder)
        (folder / log.name).write_bytes(whole[:cut])
        again = Desk(folder, begin_ns=START_NS + 1_000 * NS_PER_SECOND)
        assert again.filled == 0
        assert again.body(m.ReadResting("")).orders == ()
