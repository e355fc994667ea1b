"""A venue small enough to see whole: fixed ids, hand-made events, scripted or real answers."""

import hashlib
from typing import Any

import httpx

from venue.engine import messages as m
from venue.engine.access import Access
from venue.rest.app import make_app
from venue.rest.faults import Faults
from venue.views.projector import Projector, Views
from venue.wire.instant import NS_PER_SECOND
from venue.wire.model import EventStatus, Liquidity, OrderStatus
from venue.wire.money import BookSide, FeeRate, Outcome, Side
from venue.wire.names import MarketId
from venue.wire.requests import TimeInForce
from venue.wire.routes import KeyScope, TokenScope

T0 = 1_790_000_000 * NS_PER_SECOND
ACME, BOLT = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"


def uid(number: int) -> str:
    """The UUID with this number."""
    return f"00000000-0000-4000-8000-{number:012d}"


LOW, HIGH, TIGHT, BINARY = uid(1), uid(2), uid(3), uid(4)
TICKERS = {
    LOW: "ACME-VAL-26Q4-9.5B",
    HIGH: "ACME-VAL-26Q4-212.5B",
    TIGHT: "ACME-VAL-26Q4-2125B",
    BINARY: "BOLT-IPO-26Q4-YES",
}


def rung(market_id: str, ticker: str, event: str, strike: str | None) -> m.ListMarket:
    """A market with the venue's usual rates."""
    rates = FeeRate.parse("0.0100"), FeeRate.parse("0.0175")
    return m.ListMarket(market_id, ticker, event, f"Above {strike}", "Yes", *rates, strike)


def ladder(event: str, series: str, project_id: str, title: str) -> m.ListEvent:
    """An open event."""
    due_ns = T0 + 86_400 * NS_PER_SECOND
    return m.ListEvent(
        event, series, uid(900), project_id, title, "valuation", EventStatus.OPEN, False, due_ns
    )


def opening(at_ns: int = T0) -> list[m.Event]:
    """Two companies; a ladder listed out of strike order, and a binary market."""
    first, second = "ACME-VAL-26Q4", "BOLT-IPO-26Q4"
    return [
        m.CompanyListed(at_ns, m.ListCompany(ACME, "Acme Robotics", "ACME")),
        m.CompanyListed(at_ns, m.ListCompany(BOLT, "Bolt 100% Wind", "BOLT")),
        m.EventListed(at_ns, ladder(first, "ACME-VAL", ACME, "Valuation of Acme at year end")),
        m.MarketListed(at_ns, rung(TIGHT, TICKERS[TIGHT], first, "2125")),
        m.MarketListed(at_ns, rung(LOW, TICKERS[LOW], first, "9.5")),
        m.MarketListed(at_ns, rung(HIGH, TICKERS[HIGH], first, "212.5")),
        m.EventListed(at_ns, ladder(second, "BOLT-IPO", BOLT, "Will it list?")),
        m.MarketListed(at_ns, rung(BINARY, TICKERS[BINARY], second, None)),
    ]


def opened_views(*events: m.Event) -> Views:
    """The views after the opening and these events."""
    views = Views()
    for event in [*opening(), *events]:
        views.apply(event)
    return views


def order(number: int, user: str = "anna", market: str = LOW, **changes: Any) -> m.OrderState:
    """An open order to buy 10 YES at 40, or what `changes` make of it."""
    fields: dict[str, Any] = {
        "order_id": str(number),
        "user_id": user,
        "market_id": market,
        "ticker": TICKERS[market],
        "event_ticker": TICKERS[market].rsplit("-", 1)[0],
        "outcome": Outcome.YES,
        "side": Side.BUY,
        "price": 40,
        "qty": 10,
        "remaining_qty": 10,
        "filled_qty": 0,
        "status": OrderStatus.OPEN,
        "time_in_force": TimeInForce.GTC,
        "reserved_cents": 405,
        "created_ns": T0 + number,
        "updated_ns": T0 + number,
    }
    return m.OrderState(**(fields | changes))


def fill(number: int, user: str = "anna", market: str = LOW, order_id: str = "1") -> m.FillBooked:
    """A fill of 2 YES at 40 as taker."""
    return m.FillBooked(
        T0 + number, f"f{number}", f"t{number}", user, order_id, market, Outcome.YES, Side.BUY,
        40, 40, 2, 1, Liquidity.TAKER,
    )  # fmt: skip


def printed(at_ns: int, price: int, qty: int = 1, market: str = LOW) -> m.TradePrinted:
    """A print between a resting seller of YES and a buyer."""
    return m.TradePrinted(
        at_ns, f"t{at_ns}", market, price, qty, Outcome.YES, Side.SELL, Outcome.YES, Side.BUY
    )


def level(side: BookSide, price: int, size: int, market: str = LOW) -> m.LevelChanged:
    """A level of the canonical book."""
    return m.LevelChanged(T0 + 1, market, side, price, size)


def position(
    qty: int, cost: int, outcome: Outcome = Outcome.YES, **where: str
) -> m.PositionChanged:
    """Shares held by anna, or by `user`, in LOW or in `market`."""
    user, market = where.get("user", "anna"), where.get("market", LOW)
    return m.PositionChanged(T0, user, market, outcome, qty, cost, -7)


def sha256_hex(raw: str) -> str:
    """How a credential is known to the venue."""
    return hashlib.sha256(raw.encode()).hexdigest()


class ScriptedDesk:
    """A desk with a clock moved by hand and scripted answers of its engine."""

    def __init__(self) -> None:
        self.views = Views()
        self.projector = Projector(self.views, 0)
        self.access = Access()
        self.cursor_key = b"k" * 32
        self.faults = Faults()
        self.clock_ns = T0 + NS_PER_SECOND
        self.commands: list[m.Command] = []
        self.answers: list[m.Answer | Exception] = []
        self.show(opening())
        both = (KeyScope.READ, KeyScope.TRADE)
        self.add_key("anna-key", "anna", both)
        self.add_key("bruno-key", "bruno", both)

    def find_market(self, name: str) -> MarketId | None:
        return self.views.catalog.find_market(name)

    def add_key(self, raw: str, user: str | None, scopes: tuple[KeyScope, ...]) -> None:
        """Let a key be known."""
        self.access.apply_command(m.AddKey(sha256_hex(raw), raw[:4], user, scopes), T0)

    def add_token(self, raw: str, scopes: tuple[TokenScope, ...], application: str = "app") -> None:
        """Let a bearer token of anna be known for an hour."""
        expires_ns = T0 + 3600 * NS_PER_SECOND
        token = m.AddToken(sha256_hex(raw), application, "anna", scopes, expires_ns)
        self.access.apply_command(token, T0)

    def now_ns(self) -> int:
        """The instant of the clock."""
        return self.clock_ns

    def show(self, events: list[m.Event]) -> None:
        """Let events be visible."""
        self.projector.publish(events, T0)
        self.projector.advance(T0)

    async def submit(self, command: m.Command) -> m.Answer:
        """Note the command and give the next scripted answer."""
        self.commands.append(command)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class Client:
    """Requests to a desk's application, each on its own and without a network."""

    def __init__(self, desk: Any, headers: dict[str, str] | None = None) -> None:
        self._app = make_app(desk)
        self._headers = {"X-API-KEY": "anna-key"} if headers is None else headers

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The answer to one request; `path` is sent as given."""
        headers = options.pop("headers", self._headers)
        transport = httpx.ASGITransport(self._app)
        async with httpx.AsyncClient(transport=transport, base_url="http://venue/v1") as client:
            return await client.request(method, path, headers=headers, **options)

    async def get(self, path: str, **query: Any) -> Any:
        """The body of a read that must succeed; a trailing underscore of a name is dropped."""
        params = {name.rstrip("_"): value for name, value in query.items()}
        reply = await self.ask("GET", path, params=params or None)
        assert reply.status_code == 200, reply.text
        return reply.json()

    async def refusal(self, method: str, path: str, **options: Any) -> tuple[int, str]:
        """Status and code of a request that must fail, its body being a whole Error."""
        reply = await self.ask(method, path, **options)
        body = reply.json()
        assert reply.headers["content-type"] == "application/json"
        assert set(body) == {"code", "error"}
        assert isinstance(body["error"], str)
        return reply.status_code, body["code"]
