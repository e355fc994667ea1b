"""Journals for the claims: of a simulated world without faults, and written by hand."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from bench.simulated_journals import STRATEGY_FAULTS
from bot.core import messages as m
from bot.io.journal.records import Entry
from bot.lab.journal_market import JournalMarket, read_market
from bot.lab.session import Run, placed_entries, runs_meant
from bot.lab.sim.scenario import draw, narrowed
from tests.builders.record.made import segment_file
from tests.builders.replay.recorded import recorded
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Cents, Price, Qty
from venue.wire.names import ClientOrderId, MarketId, OrderId, ProjectId, Ticker

START_NS = 1_800_000_000 * NS_PER_SECOND
MARKET = MarketId("bbbbbbbb-0000-4000-8000-000000000000")
TICKER = Ticker("ACME-VAL-27Q1-100B")
EVENT = Ticker("ACME-VAL-27Q1")


def ns(second: float) -> int:
    return START_NS + round(second * NS_PER_SECOND)


def calm(state: Path, seconds: float = 6, seed: int = 3) -> Path:
    """The state directory of a run without faults that the whole curve quotes."""
    odds = narrowed(
        draw(seed, "calm"), without=STRATEGY_FAULTS, until_ns=round(seconds * NS_PER_SECOND)
    )
    odds = replace(
        odds, strategy="ladder_joint", crowd_per_second=40.0, budget=(200, 400, 60), skew_ns=0
    )
    recorded(odds, state)
    return state


def run_of(path: Path) -> Run:
    (run,) = runs_meant(path, every=False)
    return run


def written(path: Path, entries: Iterable[tuple[int, m.Event | m.Effect]]) -> Path:
    return segment_file(path, [Entry(at_ns, message) for at_ns, message in entries])


def market(state: str = "active", place: int = 0) -> model.Market:
    """A rung: that of `MARKET`, or a higher one."""
    return model.Market(
        ticker=TICKER if not place else Ticker(f"{EVENT}-{100 + place}B"),
        market_id=MarketId(f"{MARKET[:-1]}{place}"),
        event_ticker=EVENT,
        project_market_id="cccccccc-0000-4000-8000-000000000000",
        name="ACME",
        outcome_label="above 100",
        state=model.MarketState(state),
        min_price=Price(1),
        max_price=Price(99),
        tick_size=1,
        strike_value=str(100 + place),
        strike_unit="USD billions",
        maker_fee_rate="0.0100",
        taker_fee_rate="0.0175",
        open_interest=Qty(0),
        created_at=instant.from_ns(ns(0)),
        updated_at=instant.from_ns(ns(0)),
    )


def listed(*states: str) -> m.SeriesBody:
    event = model.Event(
        event_ticker=EVENT,
        series_ticker=Ticker("ACME-VAL"),
        project_market_id="cccccccc-0000-4000-8000-000000000000",
        project_id=ProjectId("aaaaaaaa-0000-4000-8000-000000000001"),
        title="ACME",
        category="valuation",
        status=model.EventStatus.OPEN,
        mutually_exclusive=False,
        resolution_date=instant.from_ns(ns(90 * 86_400)),
        markets=tuple(market(each, place) for place, each in enumerate(states or ("active",))),
    )
    return m.SeriesBody((event,), "")


def order(
    name: str,
    price: int,
    left: int,
    at: float,
    *,
    filled: int = 0,
    status: str = "open",
    outcome: str = "yes",
    created: float | None = None,
) -> model.Order:
    """A purchase as it is shown since a second."""
    return model.Order(
        order_id=OrderId(name),
        ticker=TICKER,
        market_id=MARKET,
        event_ticker=EVENT,
        outcome=model.ShownOutcome(outcome),
        side=model.ShownSide.BUY,
        price=Price(price),
        qty=Qty(left + filled),
        remaining_qty=Qty(left),
        filled_qty=Qty(filled),
        status=model.OrderStatus(status),
        time_in_force=model.ShownTimeInForce.GTC,
        created_at=instant.from_ns(ns(at if created is None else created)),
        updated_at=instant.from_ns(ns(at)),
        client_order_id=ClientOrderId(f"c{name}"),
    )


def fill(
    name: str, price: int, qty: int, at: float, *, trade: str = "", liquidity: str = "maker"
) -> model.Fill:
    """A purchase of YES that filled."""
    return model.Fill(
        fill_id=f"f-{name}-{at}",
        trade_id=trade or f"t-{name}-{at}",
        order_id=OrderId(name),
        ticker=TICKER,
        market_id=MARKET,
        event_ticker=EVENT,
        outcome=model.ShownOutcome.YES,
        side=model.ShownSide.BUY,
        outcome_price=Price(price),
        trade_price=Price(price),
        qty=Qty(qty),
        fee_cents=Cents(0),
        liquidity=model.Liquidity(liquidity),
        created_at=instant.from_ns(ns(at)),
    )


def replied(*bodies: m.Body) -> list[m.Response]:
    return [m.Response(m.RequestId(9_000 + n), m.Ok(body)) for n, body in enumerate(bodies)]


def book(at: float, bids: list[tuple[int, int]], asks: list[tuple[int, int]]) -> m.BookUpdate:
    return m.BookUpdate(
        MARKET,
        ns(at),
        tuple((Price(price), Qty(size)) for price, size in bids),
        tuple((Price(price), Qty(size)) for price, size in asks),
    )


def arriving(frame: m.BookUpdate | m.Trade) -> tuple[float, m.BookUpdate | m.Trade]:
    """A frame, and the second at which it arrives: a hundredth after its own."""
    return (frame.ts_ns - ns(0)) / NS_PER_SECOND + 0.01, frame


def trade(name: str, at: float, price: int, qty: int, *, bought_yes: bool) -> m.Trade:
    return m.Trade(MARKET, ns(at), name, Price(price), Qty(qty), bought_yes)


def by_hand(path: Path, rows: Iterable[tuple[float, m.Event | m.Effect]]) -> JournalMarket:
    """The market of a run that saw one rung and these messages, each at its second."""
    started = m.Started("b0" * 10, ())
    first: list[tuple[float, m.Event | m.Effect]] = [(0, started), (0, *replied(listed()))]
    written(path, ((ns(at), message) for at, message in [*first, *rows]))
    return read_market(placed_entries(run_of(path).paths), ends_at_payout=True)
