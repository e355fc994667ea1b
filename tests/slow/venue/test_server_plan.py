"""Claims about what a venue is to open with, by its configuration, its state and the time."""

import asyncio
import contextlib
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.builders.venue.crowd_tapes import book, rung, write
from venue.crowd.people import TAPE_MAKER, accounts
from venue.crowd.settings import CrowdSettings
from venue.engine.messages import (
    Accepted,
    AccessCommand,
    AddUser,
    CancelOrder,
    Command,
    Deposit,
    ListEvent,
    ListMarket,
    PlaceOrder,
    ResolveMarket,
    SetVenueState,
)
from venue.opening import listing_commands
from venue.plan import Options, make_plan
from venue.seed import read_seed
from venue.storage.statedir import StateDir
from venue.wire.instant import NS_PER_SECOND, to_ns
from venue.wire.model import VenueState
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId, UserId
from venue.wire.requests import QtyOrder, TimeInForce

CONFIG = Path(__file__).parents[3] / "configs" / "venue.yaml"


def options_of(folder, **changes):
    """How a venue is started in a folder without a crowd, a tape or a control address."""
    usual = {"config": CONFIG, "keys_file": folder / "keys.json", "crowd_seed": None, "tape": None}
    usual |= {"no_crowd": True, "exit_with_stdin": False, "state": None, "control": None}
    return Options(**(usual | changes))


def plan_of(folder, **changes):
    """What a start with these options would do."""
    with socket.socket() as listener:
        return make_plan(options_of(folder, **changes), listener)


def test_an_empty_venue_opens_with_nothing_and_writes_no_keys(tmp_path):
    plan = plan_of(tmp_path, config=None, no_crowd=False)
    assert (plan.opening, plan.write_keys, plan.crowd) == ([], None, None)


def test_a_venue_begun_empty_keeps_what_its_operator_listed(tmp_path):
    write_state(tmp_path / "state")
    plan = plan_of(tmp_path, config=None, state=tmp_path / "state")
    assert plan.opening == []
    assert plan.state.exchange.views.catalog.market_count > 0


def test_a_configuration_without_companies_opens_with_its_users_only(tmp_path):
    config = tmp_path / "venue.yaml"
    config.write_text("fees: {maker_rate: 0, taker_rate: 0}\nusers:\n  - {name: anna}\n")
    assert plan_of(tmp_path, config=config).opening == [AddUser(UserId("anna"))]


OPENED_NS = to_ns("2026-05-20T12:00:00Z")


def write_state(folder, *more):
    """A venue with its listings, and what was done on it then."""
    seed, _ = read_seed(CONFIG)
    commands: list[Command | AccessCommand] = [*listing_commands(seed, OPENED_NS), *more]
    with StateDir.open(folder) as state:
        log = state.log()
        log.append(OPENED_NS, commands)
        log.close()


def opening_at(folder, now_ns, monkeypatch, config=CONFIG):
    """What a start at an instant would carry out on it."""
    monkeypatch.setattr(time, "time_ns", lambda: now_ns)
    with socket.socket() as listener:
        return make_plan(options_of(folder, config=config, state=folder), listener).opening


def test_a_start_in_a_later_quarter_adds_its_events(tmp_path, monkeypatch):
    write_state(tmp_path / "state")
    opening = opening_at(tmp_path / "state", to_ns("2026-08-20T12:00:00Z"), monkeypatch)
    events = [each.event_ticker for each in opening if isinstance(each, ListEvent)]
    assert events == ["AURELIA-VAL-26Q4", "QUILLON-IPO-26Q4", "QUILLON-VAL-26Q3"]


@pytest.mark.parametrize("now", ["1970-01-01T00:00:09Z", "2026-02-20T12:00:00Z"])
def test_a_start_with_a_clock_set_back_adds_no_past_quarter(tmp_path, monkeypatch, now):
    write_state(tmp_path / "state")
    assert opening_at(tmp_path / "state", to_ns(now), monkeypatch) == []


def test_a_start_adds_no_new_market_to_a_settled_event(tmp_path, monkeypatch):
    seed, _ = read_seed(CONFIG)
    rungs = [each for each in listing_commands(seed, OPENED_NS) if isinstance(each, ListMarket)]
    over = [each.market_id for each in rungs if each.event_ticker == "AURELIA-VAL-26Q2"]
    write_state(tmp_path / "state", *(ResolveMarket(market_id, Outcome.NO) for market_id in over))
    config = tmp_path / "venue.yaml"
    highest = "              - {label: 250B, strike_value: 250}\n"
    higher = highest + highest.replace("250", "260")
    config.write_text(CONFIG.read_text().replace(highest, higher))
    opening = opening_at(tmp_path / "state", OPENED_NS + 1, monkeypatch, config)
    assert [each.ticker for each in opening if isinstance(each, ListMarket)] == [
        "AURELIA-VAL-26Q3-260B"
    ]


@pytest.mark.parametrize("state", list(VenueState))
def test_a_start_without_a_crowd_cancels_the_orders_of_an_earlier_crowd(
    tmp_path, monkeypatch, state
):
    seed, _ = read_seed(CONFIG)
    market_id = next(
        each.market_id
        for each in listing_commands(seed, OPENED_NS)
        if isinstance(each, ListMarket) and each.event_ticker == "AURELIA-VAL-26Q3"
    )

    def bid(user_id):
        order = QtyOrder(
            *(market_id, Outcome.YES, Side.BUY, Price(40), Qty(10)),
            *(TimeInForce.GTC, ClientOrderId("one")),
        )
        cash = Deposit(user_id, Cents(10_000))
        return AddUser(user_id), cash, PlaceOrder(user_id, order)

    crowd = [*accounts(CrowdSettings()), TAPE_MAKER]
    people = [UserId("anna"), UserId("crowd.anna")]
    placed = [command for each in (*crowd, *people) for command in bid(each)]
    write_state(tmp_path / "state", *placed, SetVenueState(state))
    opening = opening_at(tmp_path / "state", OPENED_NS + 1, monkeypatch)
    cancelled = [each.user_id for each in opening if isinstance(each, CancelOrder)]
    assert cancelled == ([] if state is VenueState.HALTED else crowd)


class Watched:
    """A venue of which a crowd sees nothing, and which notes that it sends an order."""

    def __init__(self):
        self.placed = asyncio.Event()
        self._now_ns = time.time_ns()

    def now_ns(self):
        self._now_ns += NS_PER_SECOND // 10
        return self._now_ns

    def observe(self, observer):
        observer([])

    async def submit(self, command):
        if isinstance(command, PlaceOrder):
            self.placed.set()
        return Accepted()


@pytest.mark.parametrize("taped", [False, True])
@pytest.mark.parametrize("state", ["open", "cancel_only", "halted"])
def test_a_crowd_trades_only_in_a_venue_that_opens_for_trading(tmp_path, state, taped):
    config = tmp_path / "venue.yaml"
    config.write_text(CONFIG.read_text().replace("venue:\n", f"venue:\n  state: {state}\n", 1))
    rungs = {"ROAD-1": [rung("ROAD-1-A", "10")]}
    tape = write(tmp_path, rungs, [book(0, "ROAD-1-A", [[40, 5]], [[50, 5]])] * 2)
    changes = {"config": config, "tape": tape if taped else None, "no_crowd": False}
    options = options_of(tmp_path, **changes)
    with socket.socket() as listener:
        crowd = make_plan(options, listener).crowd
    assert crowd is not None

    async def trades():
        venue: Any = Watched()
        trading = asyncio.ensure_future(crowd(venue))
        with contextlib.suppress(TimeoutError):
            # One that trades is waited for however slow the machine is.
            await asyncio.wait_for(venue.placed.wait(), 30 if state == "open" else 1)
        trading.cancel()
        await asyncio.wait([trading])
        return venue.placed.is_set()

    assert asyncio.run(trades()) is (state == "open")
