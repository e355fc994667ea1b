"""Draws the `Report`, for people and metrics. Decides nothing."""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from typing import Final, Protocol

import msgspec

from bot.core.account.markouts import MILLI
from bot.core.account.reconciler import AccountReconciler
from bot.core.execution.kill_switch import KillSwitch
from bot.core.inconsistency import kind_in
from bot.core.orders.manager import OrderManager
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import Outbox
from bot.core.outcome_risk import CompanyRisk, HeldOutcomes, netted_risk, risk_of
from bot.core.planning.actions import CreateAction
from bot.core.planning.diff import sides_on_target
from bot.core.quoting.engine import QuotingEngine
from bot.core.quoting.event_quoter import EventQuoter, MarketQuoter
from bot.core.reconfigure import Reconfiguration
from bot.core.report import (
    FEED_SILENT_NS,
    BreakerReport,
    EventReport,
    OrderReport,
    Phase,
    Report,
    RungReport,
)
from bot.core.risk.exposure import Bounds, Exposure, loss_cents
from bot.core.settings import RiskSettings, TraderSettings
from bot.core.trading_state import InForce, Restriction, in_force, stricter, strictest_first
from bot.strategy.api import Levels
from venue.wire.money import BookSide, Cents
from venue.wire.names import ProjectId


class TraderState(Protocol):
    """The parts of a trader that a report and a plan read."""

    phase: Phase
    started_ns: int
    first_two_sided_ns: int | None
    is_paper: bool
    quoting: QuotingEngine
    ledgers: AccountReconciler
    desk: OrderManager
    out: Outbox
    guard: KillSwitch
    reconfiguration: Reconfiguration

    @property
    def restrictions(self) -> Sequence[Restriction]:
        """What restricts every event of the series now."""

    @property
    def withheld(self) -> str:
        """Why no new order may leave at all; empty if one may."""


def draw(trader: TraderState, settings: TraderSettings, now_ns: int) -> Report:
    quoting, ledgers, desk, out = trader.quoting, trader.ledgers, trader.desk, trader.out
    profit, series = quoting.pnl.report(), in_force(trader.restrictions)
    events = tuple(_event(trader, ladder, series, now_ns) for ladder in quoting.ladders)
    return Report(
        now_ns=now_ns,
        phase=trader.phase,
        series_ticker=settings.series_ticker,
        started_ns=trader.started_ns,
        first_two_sided_ns=trader.first_two_sided_ns,
        events=events,
        counters=msgspec.structs.replace(
            deepcopy(out.counters),
            fills=ledgers.fills,
            breaker_trips=dict(trader.guard.breakers.trips),
            beyond_caps=trader.guard.beyond_caps,
        ),
        tokens=out.purse.tokens(now_ns),
        in_flight=len(out.pending),
        resting=sum(own.state is not State.NEW_UNKNOWN for own in desk.live_orders),
        unknown_open=len(desk.unknown),
        flat_ns=out.flat_ns(len(desk.live_orders), now_ns),
        foreign_tokens=out.foreign_tokens(),
        cash_available_cents=ledgers.available_cents,
        cash_reserved_cents=ledgers.reserved_cents,
        unknown_oldest_ns=desk.oldest_unknown_ns(now_ns),
        pnl_cents=_cents(0 if profit is None else profit.total.profit_millicents),
        fees_cents=Cents(0 if profit is None else profit.total.fees_cents),
        worst_case_cents=quoting.weighing.worst_case_cents,
        worst_case_max_cents=quoting.weighing.worst_case_max_cents,
        worst_case_limit_cents=settings.risk.series_loss_cents,
        ledger_difference_cents=ledgers.difference_cents,
        transfers_cents=ledgers.transfers_cents,
        unallocated_cents=ledgers.unallocated_cents,
        feed_heard_ns=quoting.feed.heard_ns,
        feed_silent_after_ns=max(FEED_SILENT_NS, settings.staleness.feed_silence_ns),
        findings=tuple(f"{name}: {text}" for name, text in sorted(out.findings.items())),
        latched=trader.guard.latched,
        inconsistency=kind_in(trader.guard.latched) or "",
        breakers=trader.guard.breakers.levels(now_ns),
        loss_budgets=trader.guard.budgets.rows(),
        profit=profit,
        state=series.state,
        restrictions=tuple(strictest_first(trader.restrictions)),
        budget=out.purse.report(now_ns),
        config=trader.reconfiguration.report(),
        fills=quoting.pnl.last_fills(),
        withheld=trader.withheld,
        fills_from_ns=ledgers.fills_from_ns,
        paper=trader.is_paper,
        companies=tuple(_companies(quoting.ladders, events, settings.risk)),
        ticks_through=trader.guard.breakers.limits.ticks_through,
    )


def _companies(
    ladders: Sequence[EventQuoter], events: Sequence[EventReport], risk: RiskSettings
) -> Iterator[CompanyRisk]:
    """The companies with several events; of some event all profits are one where nothing is held,
    and its chances do not matter then."""
    of_company: dict[ProjectId, list[EventReport]] = {}
    for ladder, event in zip(ladders, events, strict=True):
        of_company.setdefault(ladder.event.project_id, []).append(event)
    for project_id, siblings in of_company.items():
        if len(siblings) == 1:
            continue
        held: list[HeldOutcomes] = []
        for each in siblings:
            cents, chances = each.outcome_cents, each.chances
            if len({*cents}) == 1:
                held.append((cents[:1], (1.0,)))
            elif chances is not None:
                held.append((cents, chances))
        correlation, limit_cents = risk.event_correlation, risk.series_loss_cents
        is_known = len(held) == len(siblings)
        yield CompanyRisk(
            project_id=project_id,
            events=tuple(each.event_ticker for each in siblings),
            correlation=correlation,
            risk=netted_risk(held, correlation, limit_cents) if is_known else None,
        )


def _cents(millicents: int) -> Cents:
    return Cents(round(millicents / MILLI))


def _event(trader: TraderState, ladder: EventQuoter, series: InForce, now_ns: int) -> EventReport:
    exposure: Exposure = trader.quoting.weighing.exposure(ladder)
    restrictions = tuple(strictest_first(ladder.restrictions(now_ns)))
    implied = ladder.implied(trader.ledgers.settlement.known_winner)
    bounds, outcome_cents = trader.quoting.weighing.bounds(ladder), exposure.outcome_cents
    event = EventReport(
        event_ticker=ladder.event.event_ticker,
        title=ladder.event.title,
        status=ladder.event.status,
        resolution_ns=ladder.resolution_ns,
        rungs=tuple(_rung(trader, rung, now_ns) for rung in ladder.rungs),
        outcome_cents=outcome_cents,
        worst_case_cents=loss_cents(exposure.worst_cents),
        strategy_fault=ladder.health.fault,
        implied=implied,
        alarms=ladder.alarms,
        limits=limits_used(exposure, bounds),
        cuts=dict(Counter(cut.reason.value for cut in trader.quoting.weighing.trims(ladder))),
        state=stricter(series, in_force(restrictions)).state,
        restrictions=restrictions,
        diagnostics=dict(ladder.output.diagnostics),
        exit=None if ladder.exit is None else ladder.exit.report(now_ns),
        outside_values=() if ladder.outside is None else ladder.outside.rows(now_ns),
    )
    if event.chances is None:
        return event
    risk = risk_of(outcome_cents, event.chances, bounds.loss_cents)
    return msgspec.structs.replace(event, risk=risk)


def limits_used(exposure: Exposure, bounds: Bounds) -> tuple[BreakerReport, ...]:
    """How much of each limit is used up; bounds: what the other events leave this one."""
    return (
        BreakerReport("event_loss_cents", loss_cents(exposure.worst_cents), bounds.loss_cents),
        BreakerReport("event_net_qty", exposure.net_qty, bounds.net_qty),
        BreakerReport("event_gross_qty", exposure.gross_qty, bounds.gross_qty),
        BreakerReport("event_gross_cents", max(0, exposure.gross_cents), bounds.gross_cents),
        BreakerReport("resting_cents", exposure.resting_cents, bounds.resting_cents),
    )


def _rung(trader: TraderState, rung: MarketQuoter, now_ns: int) -> RungReport:
    orders = trader.desk.live(rung.market_id)
    bids, asks = rung.state.without_own(orders)
    yes_qty, no_qty = trader.ledgers.holdings(rung.market_id)
    unit = f" {rung.market.strike_unit}" if rung.market.strike_unit else ""
    return RungReport(
        market_id=rung.market_id,
        ticker=rung.market.ticker,
        strike_text=f"{rung.market.strike_value}{unit}" if rung.market.strike_value else "",
        state=rung.market.state,
        blocked=rung.blocked,
        bids=bids,
        asks=asks,
        fair_cents=None if rung.fair is None else rung.fair.value_cents,
        fair_sd_cents=None if rung.fair is None else rung.fair.sd_cents,
        last_price=rung.state.last_price,
        yes_qty=yes_qty,
        no_qty=no_qty,
        book_age_ns=_book_age_ns(rung, now_ns),
        orders=tuple(_order(own, rung, now_ns) for own in orders),
        fee_rate=str(max(rung.maker_rate, rung.taker_rate)),
        wanted_bids=_wanted(rung, BookSide.BID),
        wanted_asks=_wanted(rung, BookSide.ASK),
        on_target=sides_on_target(rung.planned, orders, rung.ladder.pace),
        sold_per_s=rung.flows[0].per_second(now_ns),
        bought_per_s=rung.flows[1].per_second(now_ns),
    )


def _book_age_ns(rung: MarketQuoter, now_ns: int) -> int | None:
    """None without a book, and where none will ever come again."""
    if not rung.state.is_known or rung.is_over:
        return None
    return now_ns - rung.state.confirmed_ns


def _wanted(rung: MarketQuoter, side: BookSide) -> Levels:
    levels = [(quote.price, quote.qty) for quote in rung.planned if quote.side is side]
    return tuple(sorted(levels, reverse=side is BookSide.BID))


def _order(own: OwnOrder, rung: MarketQuoter, now_ns: int) -> OrderReport:
    queue = rung.state.queues.queue_of(own)
    if queue is not None and not queue.is_placed:
        queue = None
    return OrderReport(
        client_order_id=own.client_order_id,
        order_id=own.order_id,
        side=own.book_side,
        price=own.yes_price,
        outcome=own.outcome,
        own_side=own.side,
        remaining_qty=own.remaining,
        filled_qty=own.filled,
        state=own.state,
        age_ns=now_ns - own.placed_ns,
        why=own.why,
        may_fill_qty=own.max_fillable,
        worst_price=own.exposure(own.amend).price,
        reason=reason_of(own, rung),
        ahead_qty=None if queue is None else queue.likely,
        ahead_at_least=None if queue is None else queue.at_least,
        ahead_at_most=None if queue is None else queue.at_most,
    )


_UNDER_WAY: Final = {
    State.PENDING_NEW: "its create is on its way",
    State.NEW_UNKNOWN: "its create has no answer: it counts in full until the venue's word",
    State.PENDING_REPLACE: "its change is on its way",
    State.REPLACE_UNKNOWN: "its change has no answer: it is read back",
    State.PENDING_CANCEL: "its cancel is on its way",
    State.CLOSED_UNCONFIRMED: "over, by the venue's word; its fills are being read",
    State.CLOSED: "over",
}


def reason_of(own: OwnOrder, rung: MarketQuoter) -> str:
    """Why an order rests: a write in flight, a wanted change, or the quote it serves."""
    if own.suspicion is not None:
        return f"not trusted, {own.suspicion.finding}: {own.suspicion.why}"
    if own.state is not State.OPEN:
        return f"{_UNDER_WAY[own.state]} ({own.why})"
    if own.cancel_requested:
        return f"to be cancelled: {own.why}"
    for wish in rung.wishes:
        if not isinstance(wish, CreateAction) and wish.order is own:
            return f"kept until a request may leave: {wish.why}"
    return _serves(own, rung)


def _serves(own: OwnOrder, rung: MarketQuoter) -> str:
    """Which wanted quote an order that nothing is wished for serves."""
    planned = [quote for quote in rung.planned if quote.side is own.book_side]
    if not planned:
        return f"nothing is wanted on this side: {rung.blocked or 'see the limits'}"
    planned.sort(key=lambda quote: quote.price, reverse=own.book_side is BookSide.BID)
    prices = [quote.price for quote in planned]
    if own.yes_price in prices:
        level = prices.index(own.yes_price)
        return f"wanted here: level {level + 1} of {len(prices)}, {planned[level].qty} shares" + (
            _to_fair(own, rung)
        )
    nearest = min(planned, key=lambda quote: abs(quote.price - own.yes_price))
    return f"wanted at {nearest.price}: near enough to keep its place" + _to_fair(own, rung)


def _to_fair(own: OwnOrder, rung: MarketQuoter) -> str:
    if rung.fair is None:
        return ""
    away = rung.fair.value_cents - own.yes_price
    if own.book_side is BookSide.ASK:
        away = -away
    side = "below" if own.book_side is BookSide.BID else "above"
    return f", {away:.1f} {side} fair" if away >= 0 else f", {-away:.1f} through fair"
