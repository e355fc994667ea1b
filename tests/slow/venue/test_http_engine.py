"""Claims about REST over the real engine: replies and reads tell one story."""

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from tests.builders.venue.rest_bench import (
    ACME,
    HIGH,
    LOW,
    T0,
    TICKERS,
    Client,
    ladder,
    rung,
    sha256_hex,
)
from venue.engine import messages as m
from venue.engine.access import Access
from venue.engine.engine import Engine
from venue.rest.faults import Faults
from venue.views.projector import Projector, Views
from venue.wire.money import Outcome, complement
from venue.wire.routes import KeyScope

pytestmark = pytest.mark.anyio
USERS = ("anna", "bruno", "clara")
DEPOSIT_CENTS = 100_000


class EngineDesk:
    """The engine behind the shell, its events visible at once; the clock ticks per command."""

    def __init__(self):
        self.engine = Engine(b"i" * 32)
        self.views = Views()
        self.projector = Projector(self.views, 0)
        self.access = Access()
        self.cursor_key = b"k" * 32
        self.faults = Faults()
        self.clock_ns = T0
        event = ladder("ACME-VAL-26Q4", "ACME-VAL", ACME, "Valuation of Acme at year end")
        for command in (
            m.ListCompany(ACME, "Acme", "ACME"),
            event,
            *(m.AddUser(user) for user in USERS),
            *(m.Deposit(user, DEPOSIT_CENTS) for user in USERS),
            rung(LOW, TICKERS[LOW], event.event_ticker, "9.5"),
            rung(HIGH, TICKERS[HIGH], event.event_ticker, "212.5"),
        ):
            assert self.carry_out(command) == m.Accepted()
        for user in USERS:
            scopes = (KeyScope.READ, KeyScope.TRADE)
            self.access.apply_command(m.AddKey(sha256_hex(f"{user}-key"), user, user, scopes), T0)

    def now_ns(self):
        return self.clock_ns

    def find_market(self, name):
        return self.engine.find_market(name)

    def carry_out(self, command):
        self.clock_ns += 50_000_000
        answer, events = self.engine.apply(command, self.clock_ns)
        self.projector.publish(events, self.clock_ns)
        self.projector.advance(self.clock_ns)
        return answer

    async def submit(self, command):
        return self.carry_out(command)


class Trader(Client):
    """One user's requests."""

    def __init__(self, desk, user):
        super().__init__(desk, {"X-API-KEY": f"{user}-key"})
        self.sent = 0

    async def place(self, **fields):
        """The status and body of a create; YES, buy, LOW and a fresh key unless given."""
        self.sent += 1
        body = {"ticker": TICKERS[LOW], "outcome": "yes", "side": "buy"}
        body |= {"client_order_id": f"c{self.sent}"} | fields
        reply = await self.ask("POST", "/orders", json=body)
        return reply.status_code, reply.json()

    async def walk(self, path, name, **query):
        """Every row of a list, in pages of 7."""
        rows, cursor = [], {}
        while True:
            page = await self.get(path, limit=7, **query, **cursor)
            rows += page[name]
            if page["cursor"] == "":
                return rows
            cursor = {"cursor": page["cursor"]}


@pytest.fixture
def desk():
    return EngineDesk()


@pytest.fixture
def anna(desk):
    return Trader(desk, "anna")


async def test_a_create_accepts_a_market_that_reads_do_not_show_yet(desk, anna):
    desk.projector.lag_ns = 3_600_000_000_000
    new, ticker = "00000000-0000-4000-8000-0000000000AB", "ACME-VAL-26Q4-300"
    assert desk.carry_out(rung(new.lower(), ticker, "ACME-VAL-26Q4", "300")) == m.Accepted()
    assert (await anna.ask("GET", f"/markets/{ticker}/snapshot")).status_code == 404
    status, order = await anna.place(price=40, qty=10, ticker=ticker.lower())
    assert (status, order["ticker"]) == (201, ticker)
    status, order = await anna.place(price=40, qty=10, ticker=None, market_id=new)
    assert (status, order["market_id"]) == (201, new.lower())


async def random_session(desk, traders, seed):
    chance = random.Random(seed)
    for _ in range(220):
        trader = traders[chance.choice(USERS)]
        if chance.random() < 0.25:
            resting = (await trader.get("/orders", status="resting"))["orders"]
            if resting:
                path = f"/orders/{chance.choice(resting)['order_id']}"
                if chance.random() < 0.5:
                    await trader.ask("DELETE", path)
                else:
                    body = {"price": chance.randint(35, 65), "qty": chance.randint(1, 9)}
                    await trader.ask("PUT", path, json=body)
            continue
        await trader.place(
            ticker=TICKERS[chance.choice((LOW, HIGH))],
            outcome=chance.choice(("yes", "no")),
            side=chance.choice(("buy", "buy", "sell")),
            price=chance.randint(35, 65),
            qty=chance.randint(1, 9),
            time_in_force=chance.choice(("gtc", "gtc", "gtc", "ioc", "fok")),
        )


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_read_of_a_random_session_adds_up(desk, seed):
    traders = {user: Trader(desk, user) for user in USERS}
    await random_session(desk, traders, seed)
    cash = fees = 0
    shares: dict[tuple[str, str], int] = defaultdict(int)
    for trader in traders.values():
        balance = await trader.get("/portfolio/balance")
        fills = await trader.walk("/portfolio/fills", "fills")
        orders = await trader.walk("/orders", "orders")
        positions = await trader.walk("/portfolio/positions", "positions")
        cash += balance["total_cents"]
        fees += sum(row["fee_cents"] for row in fills)
        assert balance["reserved_cents"] == sum(row["reserved_cents"] for row in orders)
        assert len({row["order_id"] for row in orders}) == len(orders)
        created = [row["created_at"] for row in orders]
        assert created == sorted(created, reverse=True)
        filled = sum(row["filled_qty"] for row in orders)
        assert filled == sum(row["qty"] for row in fills)
        held: dict[tuple[str, str], int] = defaultdict(int)
        for row in fills:
            signed = row["qty"] if row["side"] == "buy" else -row["qty"]
            held[row["market_id"], row["outcome"]] += signed
        shown = {(row["market_id"], row["outcome"]): row["qty"] for row in positions}
        assert shown == {key: qty for key, qty in held.items() if qty}
        for key, qty in shown.items():
            shares[key] += qty
        resting = await trader.walk("/orders", "orders", status="resting")
        assert resting == [
            row for row in orders if row["status"] in ("open", "partially_filled", "accepted")
        ]
    interest = 0
    for market_id in (LOW, HIGH):
        shot = await traders["anna"].get(f"/markets/{market_id}/snapshot")
        prints = await traders["anna"].walk(f"/markets/{market_id}/trades", "trades")
        assert prints
        volume = sum(row["price"] * row["qty"] for row in prints)
        assert Fraction(shot["stats"]["volume_usd"]) == Fraction(volume, 100)
        assert shot["last_trade"] == prints[0]
        open_interest = shot["stats"]["open_interest"]
        assert {shares[market_id, outcome.value] for outcome in Outcome} == {open_interest}
        interest += open_interest
        candles = await traders["anna"].get(f"/markets/{market_id}/candles", interval="1d")
        assert sum(row["volume"] for row in candles["candles"]) == sum(r["qty"] for r in prints)
    assert cash + 100 * interest + fees == len(USERS) * DEPOSIT_CENTS


@pytest.mark.parametrize("seed", [4, 5])
async def test_depth_is_the_sum_of_everybodys_resting_orders(desk, seed):
    traders = {user: Trader(desk, user) for user in USERS}
    await random_session(desk, traders, seed)
    depth: dict[str, dict[int, int]] = {"yes": defaultdict(int), "no": defaultdict(int)}
    for trader in traders.values():
        for row in await trader.walk("/orders", "orders", status="resting", ticker=LOW):
            bids_yes = (row["outcome"] == "yes") == (row["side"] == "buy")
            own = row["price"]
            yes_price = own if row["outcome"] == "yes" else complement(own)
            price = yes_price if bids_yes else complement(yes_price)
            depth["yes" if bids_yes else "no"][price] += row["remaining_qty"]
    ladders = desk.views.market.ladders(LOW)
    for shown, counted in ((ladders.yes, depth["yes"]), (ladders.no, depth["no"])):
        assert [(each.price, each.size) for each in shown] == sorted(counted.items(), reverse=True)
    book = await traders["anna"].get(f"/markets/{LOW}/orderbook")
    assert [(r["price"], r["size"]) for r in book["bids"]] == [
        (r.price, r.size) for r in ladders.yes
    ]
