"""Claims about whole paper runs in virtual time, on the real venue's server in memory."""

import asyncio
import re

from bot.core import messages as m
from bot.io.adapter import VenueAddress
from bot.io.client.native import NativeAdapter
from bot.io.client.preflight import PublicVenue
from bot.io.secret import Secret
from bot.lab.exchange.assumptions import Terms
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.paper import PaperExchange, PaperVenue
from tests.builders.shell.life import Life, Plan, live
from tests.builders.shell.site import BASE_URL, KEY, STREAM_URL, rung_id
from venue.engine import messages as v
from venue.wire.money import Cents, Outcome

TERMS = Terms(cash_cents=Cents(1_000_000), read_lag_ns=5_000_000)
PUBLIC = re.compile(r"/events/[A-Z0-9-]+|/markets/[0-9a-f-]+/orderbook")


class PaperWorld:
    """Paper runs on one account. exchange: of the newest."""

    exchange: PaperExchange

    def __init__(self, folder, queue_model=QueueModel.PESSIMISTIC):
        self.folder = folder
        self.queue_model = queue_model

    def connect(self, clock):
        self.exchange = PaperExchange(TERMS, self.queue_model, self.folder, clock.now_ns)
        address = VenueAddress(BASE_URL, STREAM_URL, Secret(KEY))
        public = PublicVenue(NativeAdapter(), address)
        return PaperVenue(public, self.exchange).connection

    def live(self, **changes) -> Life:
        usual = {"seed": 4, "faulty_s": 8.0, "calm_s": 2.0, "crowd_per_s": 8.0}
        return live(Plan(**{**usual, **changes, "connect": self.connect}))


def assert_apart(life: Life) -> None:
    """Nothing but public reads reached the venue, and the run ended well."""
    assert {method for method, _, _ in life.site.requests} == {"GET"}
    assert all(PUBLIC.fullmatch(path) for _, path, _ in life.site.requests)
    assert life.truth.commands == {}
    assert life.ended is not None
    assert life.ended.died == ()
    assert int(life.ended.exit_code) == 0
    assert life.ended.report.paper
    assert life.ended.report.ledger_difference_cents == 0
    assert life.ended.report.findings == ()


def test_a_paper_run_fills_on_the_live_market_and_writes_nothing_there(tmp_path):
    world = PaperWorld(tmp_path / "account")
    life = world.live()
    assert_apart(life)
    assert life.ended.report.counters.fills > 3
    market = world.exchange.market
    market.account.prove(market.gain_cents - TERMS.cash_cents)


def test_a_second_paper_run_continues_with_cash_and_shares_of_the_first(tmp_path):
    world = PaperWorld(tmp_path / "account")
    first = world.live()
    cash, shares = world.exchange.exchange.cash_cents, dict(world.exchange.market.account.shares)
    assert any(shares.values())
    second = world.live(faulty_s=0.5)
    assert_apart(second)
    taken_over = [
        entry.message.answer.body
        for entry in second.entries
        if isinstance(entry.message, m.Response)
        and isinstance(entry.message.answer, m.Ok)
        and isinstance(entry.message.answer.body, m.BalanceBody)
    ]
    assert taken_over[0].balance.total_cents == cash
    fills = first.ended.report.counters.fills
    assert len(world.exchange.market.account.fills) >= fills


def test_a_paper_market_halts_and_pays_when_the_real_one_does(tmp_path):
    world = PaperWorld(tmp_path / "account")

    async def act(life: Life) -> None:
        await asyncio.sleep(life.plan.faulty_s)
        life.site.operate(v.HaltMarket(rung_id(0)))
        life.site.operate(v.ResolveMarket(rung_id(1), Outcome.YES))

    life = world.live(act=act, calm_s=20.0)
    assert life.truth.commands == {}
    exchange = world.exchange.exchange
    market = world.exchange.market
    states = {
        each.market_id: each.state
        for entry in life.entries
        if isinstance(entry.message, m.Response)
        and isinstance(entry.message.answer, m.Ok)
        and isinstance(entry.message.answer.body, m.SeriesBody)
        for event in entry.message.answer.body.events
        for each in event.markets
    }
    assert states == {rung_id(0): "halted", rung_id(1): "resolved"}
    assert rung_id(1) not in {market_id for market_id, _ in market.account.shares}
    market.account.prove(market.gain_cents - TERMS.cash_cents)
    assert exchange.cash_cents == exchange.available_cents


def test_a_paper_run_fills_nothing_while_the_channel_is_down(tmp_path):
    world = PaperWorld(tmp_path / "account")
    fills: list[int] = []

    async def act(life: Life) -> None:
        await asyncio.sleep(5.0)
        life.network.refusing_new_channels = True
        for wire in life.network.wires:
            wire.tear()
        await asyncio.sleep(0.1)
        fills.append(len(world.exchange.market.account.fills))
        await asyncio.sleep(2.0)
        fills.append(len(world.exchange.market.account.fills))
        life.network.refusing_new_channels = False

    life = world.live(act=act)
    assert life.truth.commands == {}
    assert fills[0] == fills[1]
    closed = [e.at_ns for e in life.entries if isinstance(e.message, m.FeedClosed)]
    assert closed
