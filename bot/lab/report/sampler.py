"""Samples a trader's run for its report: a replayed journal or a backtest."""

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Final

from bot.core import messages as m
from bot.core.account.markouts import MILLI
from bot.core.orders.order import OwnOrder, State
from bot.core.orders.outbox import kind_of
from bot.core.outcome_risk import OutcomeRisk
from bot.core.planning.diff import sides_on_target
from bot.core.quoting.event_quoter import MarketQuoter as TraderRung
from bot.core.report import Phase, ProfitRow, Report, RungReport
from bot.core.trader import Trader
from bot.lab.report.session import (
    Answers,
    HeldRisk,
    MarketSample,
    SeenMarket,
    Session,
    SessionFill,
    SessionSample,
    Uptime,
    Value,
)
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, BookSide, Outcome, Side, book_side, canonical
from venue.wire.names import MarketId

MOMENTS_MAX: Final = 200
KINDS: Final = ("create", "amend", "cancel", "read")
STRETCH_NS: Final = 10 * NS_PER_SECOND  # prints are digested for so long together
_NO_PROFIT: Final = ProfitRow("", 0, 0, 0, 0, 0, 0, 0, ())
_LOOK_NS: Final = NS_PER_SECOND
_PRINTS_KEPT: Final = 4_096


class Sampler:
    def __init__(
        self, trader: Trader, *, most: int | None = MOMENTS_MAX, every_s: float = 1.0
    ) -> None:
        """most: moments, an even number, None for any number. every_s: seconds between them."""
        self._trader = trader
        self._most = most
        self.session = Session(every_ns=round(every_s * NS_PER_SECOND))
        self._place_of: dict[MarketId, int] = {}
        self._asked: dict[m.RequestId, str] = {}
        self._shown: dict[str, model.Fill] = {}
        self._fill_of: dict[str, SessionFill] = {}
        self._printed: dict[str, None] = {}
        self._worth: dict[MarketId, tuple[int, int]] = {}
        self._risks: dict[str, HeldRisk] = {}
        self._settlement_millicents = 0
        self._looked_ns: int | None = None
        self._due_ns = 0

    def on_event(self, event: m.Event, effects: Iterable[m.Effect], at_ns: int) -> None:
        """effects: with the notes."""
        session = self.session
        session.events += 1
        session.begun_ns = session.begun_ns or at_ns
        session.until_ns = max(session.until_ns, at_ns)
        if isinstance(event, m.Response):
            self._replied(event)
        elif isinstance(event, m.Trade):
            self._print(event)
        for effect in effects:
            if isinstance(effect, m.Send):
                kind = kind_of(effect.request)
                self._asked[effect.request_id] = kind
                session.answers.setdefault(kind, Answers()).sent += 1
            elif isinstance(effect, m.Noted):
                self._noted(effect)
        self._look_for_payouts()
        if self._looked_ns is None or at_ns >= self._looked_ns + _LOOK_NS:
            self._look(at_ns)
        if at_ns >= self._due_ns:
            self._sample(self._trader.report(at_ns))

    def _replied(self, event: m.Response) -> None:
        answer = event.answer
        kind = self._asked.pop(event.request_id, None)
        if kind is not None:
            row = self.session.answers[kind]
            row.done += isinstance(answer, m.Ok)
            row.refused += isinstance(answer, m.Rejected)
            row.unknown += isinstance(answer, m.Unknown)
        if isinstance(answer, m.Ok) and isinstance(answer.body, m.FillsBody):
            for fill in answer.body.fills:
                if fill.fill_id not in self._fill_of:
                    self._shown[fill.fill_id] = fill

    def _print(self, seen: m.Trade) -> None:
        if seen.trade_id in self._printed:
            return
        self._printed[seen.trade_id] = None
        if len(self._printed) > _PRINTS_KEPT:
            del self._printed[next(iter(self._printed))]
        text = f"{seen.market_id} {seen.ts_ns} {seen.price} {seen.size} {seen.taker_bought_yes}"
        prints, stretch = self.session.prints, seen.ts_ns // STRETCH_NS
        prints[stretch] = prints.get(stretch, 0) ^ zlib.crc32(text.encode())

    def _noted(self, note: m.Noted) -> None:
        said = note.fields
        if note.name == "fill_valued":
            shown = self._shown.pop(str(said["fill_id"]), None)
            if shown is not None:
                self._booked(shown, said)
        elif note.name == "fill_marked":
            fill = self._fill_of.get(str(said["fill_id"]))
            if fill is not None:
                against, horizon_s = str(said["against"]), int(said["horizon_s"])
                fill.values.append(Value(against, horizon_s, int(said["value"])))

    def _booked(self, shown: model.Fill, said: dict[str, str | int]) -> None:
        outcome = Outcome(shown.outcome.value)
        made = SessionFill(
            fill_id=shown.fill_id,
            order_id=shown.order_id,
            at_ns=int(said["heard_ns"]),
            created_ns=instant.to_ns(shown.created_at),
            rung=self._rung(shown.market_id, shown.ticker),
            side=book_side(outcome, Side(shown.side.value)),
            price=canonical(outcome, shown.outcome_price),
            qty=shown.qty,
            fee_cents=shown.fee_cents or 0,
            maker=shown.liquidity is model.Liquidity.MAKER,
            fair_millicents=int(said["value"]),
            level=int(said["level"]),
            strategy=str(said["strategy"]),
            reason=str(said["reason"]),
        )
        self._fill_of[made.fill_id] = made
        self.session.fills.append(made)

    def _rung(self, market_id: MarketId, ticker: str) -> int:
        if market_id not in self._place_of:
            self._place_of[market_id] = len(self.session.rungs)
            self.session.rungs.append(SeenMarket(market_id, ticker))
            self.session.uptime.append((Uptime(), Uptime()))
        return self._place_of[market_id]

    def _look(self, at_ns: int) -> None:
        trader = self._trader
        passed_ns = 0 if self._looked_ns is None else at_ns - self._looked_ns
        self._looked_ns = at_ns
        pnl = trader.quoting.pnl
        for ladder in trader.quoting.ladders:
            for rung in ladder.rungs:
                market = rung.market_id
                self._up(rung, trader.desk.live(market), passed_ns)
                worth = pnl.value(market)
                if worth is not None and not pnl.is_settled(market):
                    yes_qty, no_qty = trader.ledgers.holdings(market)
                    self._worth[market] = (worth, yes_qty - no_qty)

    def _look_for_payouts(self) -> None:
        """The last move of a rung that has just paid, from its worth a second before at most, is
        settlement."""
        pnl = self._trader.quoting.pnl
        for market_id in [each for each in self._worth if pnl.is_settled(each)]:
            worth, net_qty = self._worth.pop(market_id)
            paid = pnl.value(market_id)
            assert paid in (0, PAYOUT_CENTS * MILLI)
            self._settlement_millicents += net_qty * (paid - worth)

    def _up(self, rung: TraderRung, orders: Iterable[OwnOrder], passed_ns: int) -> None:
        """The time since the last look counts as it is now."""
        place = self._rung(rung.market_id, rung.market.ticker)
        if self._trader.phase is Phase.STARTING or not rung.is_active:
            return
        on_target = sides_on_target(rung.planned, orders, rung.ladder.pace)
        wanted = {quote.side for quote in rung.planned}
        for side, up in zip(BookSide, self.session.uptime[place], strict=True):
            if side in on_target:
                up.on_target_ns += passed_ns
            elif side in wanted:
                up.missing_ns += passed_ns
            else:
                up.idle_ns += passed_ns

    def _sample(self, report: Report) -> None:
        session, levels = self.session, []
        for event in report.events:
            for rung in event.rungs:
                place = self._rung(rung.market_id, rung.ticker)
                named = session.rungs[place]
                named.event_ticker, named.strike = event.event_ticker, rung.strike_text
                levels.append(_level(place, rung))
        self._sample_risk(report)
        session.moments.append(self._moment(report, tuple(levels)))
        if self._most is not None and len(session.moments) > self._most:
            del session.moments[1::2]
            session.every_ns *= 2
        self._due_ns = session.moments[-1].at_ns + session.every_ns

    def _sample_risk(self, report: Report) -> None:
        """A risk that is not known now stays as it was sampled last."""
        found: dict[str, OutcomeRisk | None] = {e.event_ticker: e.risk for e in report.events}
        for company in report.companies:
            count, correlation = len(company.events), f"{company.correlation:g}"
            name = f"{count} from {company.events[0]} together, correlation {correlation}"
            found[name] = company.risk
        for name, risk in found.items():
            if risk is not None:
                before = self._risks.get(name)
                most = risk.shortfall_99_cents if before is None else before.shortfall_99_max_cents
                self._risks[name] = HeldRisk(name, risk, max(most, risk.shortfall_99_cents))
        self.session.risks = list(self._risks.values())

    def _moment(self, report: Report, levels: tuple[MarketSample, ...]) -> SessionSample:
        total = _NO_PROFIT if report.profit is None else report.profit.total
        sent = report.counters.requests
        return SessionSample(
            at_ns=report.now_ns,
            phase=str(report.phase),
            profit_millicents=total.profit_millicents,
            spread_millicents=total.spread_millicents,
            adverse_millicents=total.adverse_millicents,
            drift_millicents=total.drift_millicents - self._settlement_millicents,
            settlement_millicents=self._settlement_millicents,
            fees_cents=total.fees_cents,
            worst_cents=report.worst_case_cents,
            limit_cents=report.worst_case_limit_cents,
            requests=(sent["create"], sent["amend"], sent["cancel"], sent["read"]),
            levels=levels,
            diagnostics=tuple(
                (event.event_ticker, name, value)
                for event in report.events
                for name, value in event.diagnostics.items()
            ),
        )

    def close(self) -> Session:
        """With the last moment and the account at the end; call it once."""
        session = self.session
        self._look(session.until_ns)
        report = self._trader.report(session.until_ns)
        self._sample(report)
        counters = report.counters
        session.pnl_cents, session.fees_cents = report.pnl_cents, report.fees_cents
        session.ledger_difference_cents = report.ledger_difference_cents
        session.worst_max_cents = report.worst_case_max_cents
        session.decisions = counters.decisions
        session.strategy_errors = counters.strategy_errors
        session.latched = report.latched
        session.profit = report.profit
        session.refused = dict(counters.refused)
        session.amends = (counters.amends_kept_place, counters.amends_lost_place)
        return session


def _level(place: int, rung: RungReport) -> MarketSample:
    bid, bid_qty = _best(rung, BookSide.BID)
    ask, ask_qty = _best(rung, BookSide.ASK)
    return MarketSample(
        rung=place,
        fair_cents=None if rung.fair_cents is None else round(rung.fair_cents, 3),
        sd_cents=None if rung.fair_sd_cents is None else round(rung.fair_sd_cents, 3),
        bid=rung.bids[0][0] if rung.bids else None,
        ask=rung.asks[0][0] if rung.asks else None,
        own_bid=bid,
        own_bid_qty=bid_qty,
        own_ask=ask,
        own_ask_qty=ask_qty,
        want_bid=rung.wanted_bids[0][0] if rung.wanted_bids else None,
        want_ask=rung.wanted_asks[0][0] if rung.wanted_asks else None,
        net_qty=rung.yes_qty - rung.no_qty,
        bid_on_target=BookSide.BID in rung.on_target,
        ask_on_target=BookSide.ASK in rung.on_target,
    )


def _best(rung: RungReport, side: BookSide) -> tuple[int | None, int]:
    """Our best price on a side and the shares there, of orders known to rest."""
    sizes: Counter[int] = Counter()
    for order in rung.orders:
        if order.side is side and order.state in (State.OPEN, State.PENDING_REPLACE):
            sizes[order.price] += order.remaining_qty
    if not sizes:
        return None, 0
    best = max(sizes) if side is BookSide.BID else min(sizes)
    return best, sizes[best]
