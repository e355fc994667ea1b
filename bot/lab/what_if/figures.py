"""What a run came to: quotes over time, fills, requests, and what the trader says of itself.

One way of measuring for what happened and for what did not.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Final

import msgspec

from bot.core.report import Report
from bot.core.trader import Trader
from bot.lab.own_orders import OwnFill, OwnOrders, RestingChange
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide
from venue.wire.names import MarketId, OrderId, Ticker

_HOUR_NS: Final = 3600 * NS_PER_SECOND


class Quoted(msgspec.Struct, frozen=True):
    """One side of a rung over a run. present: the part of the time in which anything of ours rested
    there, 0 to 1. price_cents: our best price, canonical YES; qty: shares that rested; both
    averaged over that time, None where it is none. filled_qty: shares."""

    ticker: Ticker
    side: str
    present: float
    price_cents: float | None
    qty: float | None
    filled_qty: int


class Sources(msgspec.Struct, frozen=True):
    """Where the profit came from, thousandths of a cent: spread + adverse + drift - fees, as
    `bot.core.account.profit` splits it."""

    profit: int
    spread: int
    adverse: int
    drift: int
    fees: int


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What a run came to. Money in cents, profit in thousandths of one.

    maker_qty, taker_qty: shares that came to us, and that we took. requests: by kind; refused: by
    code; unknown: answers that said neither. worst_case_max_cents: the most that could have been
    lost at once. present: `Quoted.present` over all rungs and sides. profit: None before quoting.
    events: that the trader took in. strategy_errors: answers that raised or could not be quoted,
    each of which pulled the event for seconds; strategy_fault: the first of them, else empty.
    """

    hours: float
    quotes: tuple[Quoted, ...]
    present: float
    fills: int
    maker_qty: int
    taker_qty: int
    fees_cents: int
    profit: Sources | None
    requests: dict[str, int]
    refused: dict[str, int]
    unknown: int
    worst_case_max_cents: int
    decisions: int
    latched: str
    events: int
    strategy_errors: int
    strategy_fault: str


def figures_of(
    trader: Trader,
    own: OwnOrders,
    span_ns: tuple[int, int],
    tickers: Mapping[MarketId, Ticker],
    events: int,
    clock_ahead_ns: int = 0,
) -> RunFigures:
    """What a trader came to between two instants. own: its orders and fills. tickers: of every
    rung, in order. events: that it took in. clock_ahead_ns: of the bot's clock, by which the
    instants are, against the venue's."""
    report = trader.report(span_ns[1])
    counters = report.counters
    begin_ns, end_ns = (at_ns - clock_ahead_ns for at_ns in span_ns)
    # What was held at the start was bought before it; another series has fills of its own.
    fills = [fill for fill in own.fills() if fill.at_ns > begin_ns and fill.market_id in tickers]
    quotes = tuple(_quoted(own.changes(), fills, (begin_ns, end_ns), tickers))
    return RunFigures(
        hours=(span_ns[1] - span_ns[0]) / _HOUR_NS,
        quotes=quotes,
        present=sum(each.present for each in quotes) / len(quotes) if quotes else 0.0,
        fills=len(fills),
        maker_qty=sum(fill.qty for fill in fills if fill.maker),
        taker_qty=sum(fill.qty for fill in fills if not fill.maker),
        fees_cents=report.fees_cents,
        profit=_sources(report),
        requests=dict(counters.requests),
        refused=dict(counters.refused),
        unknown=counters.unknown_answers,
        worst_case_max_cents=report.worst_case_max_cents,
        decisions=counters.decisions,
        latched=report.latched,
        events=events,
        strategy_errors=counters.strategy_errors,
        strategy_fault=trader.out.first_fault,
    )


def _sources(report: Report) -> Sources | None:
    if report.profit is None:
        return None
    row = report.profit.total
    return Sources(
        row.profit_millicents,
        row.spread_millicents,
        row.adverse_millicents,
        row.drift_millicents,
        1_000 * row.fees_cents,
    )


def _quoted(
    changes: Sequence[RestingChange],
    fills: Sequence[OwnFill],
    span_ns: tuple[int, int],
    tickers: Mapping[MarketId, Ticker],
) -> Iterator[Quoted]:
    """Every rung and side between two instants, rungs in the order of `tickers`."""
    begin_ns, end_ns = span_ns
    by_side: dict[tuple[MarketId, BookSide], list[RestingChange]] = {}
    for each in changes:
        by_side.setdefault((each.market_id, each.side), []).append(each)
    for market_id, side in product(tickers, BookSide):
        best = max if side is BookSide.BID else min
        resting: dict[OrderId, RestingChange] = {}
        present_ns = price_ns = qty_ns = 0
        at_ns = begin_ns
        for change in [*by_side.get((market_id, side), []), None]:
            now_ns = end_ns if change is None else min(max(change.at_ns, begin_ns), end_ns)
            passed, at_ns = now_ns - at_ns, now_ns
            if passed > 0 and resting:
                present_ns += passed
                price_ns += passed * best(order.price for order in resting.values())
                qty_ns += passed * sum(order.qty for order in resting.values())
            if change is not None:
                resting.pop(change.order_id, None)
                if change.qty:
                    resting[change.order_id] = change
        yield Quoted(
            tickers[market_id],
            side.value,
            present_ns / (end_ns - begin_ns) if end_ns > begin_ns else 0.0,
            price_ns / present_ns if present_ns else None,
            qty_ns / present_ns if present_ns else None,
            sum(fill.qty for fill in fills if (fill.market_id, fill.side) == (market_id, side)),
        )
