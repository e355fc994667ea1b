"""Watches a trader live, event by event, and samples what its report shows, at bounded times.

It reads and decides nothing. Whoever feeds the trader calls `saw` after each event; the same
watching serves a journal that is lived again and a backtest that goes on. Memory is bounded:
moments and pictures are thinned to every other one whenever there are too many.
"""

import zlib
from collections import Counter
from collections.abc import Iterable
from typing import Final, Generic, TypeVar

from bot.core import messages as m
from bot.core.desk.outbox import kind_of
from bot.core.event.rung import Rung as TraderRung
from bot.core.orders.order import OwnOrder, State
from bot.core.plan.ontarget import sides_on_target
from bot.core.plan.place import fills as expected_fills
from bot.core.profit.markouts import MILLI
from bot.core.report import Phase, Report, RungReport
from bot.core.trader import Trader
from bot.lab.report.session import (
    AHEAD_FROM,
    Answers,
    Closing,
    Fill,
    Level,
    Moment,
    Picture,
    Rung,
    Stay,
    Uptime,
    Value,
)
from venue.wire import instant, model
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import (
    PAYOUT_CENTS,
    BookSide,
    Outcome,
    Side,
    book_side,
    canonical,
)
from venue.wire.names import ClientOrderId, MarketId

MOMENTS_MAX: Final = 400
PICTURES_MAX: Final = 120
LOOK_NS: Final = NS_PER_SECOND
"""Uptime and places are looked at this often, and moments and pictures at first."""

KINDS: Final = ("create", "amend", "cancel", "read")

_STAY_NS: Final = 60 * NS_PER_SECOND
STRETCH_NS: Final = 10 * NS_PER_SECOND
"""Prints are digested for so long together."""

_T = TypeVar("_T")


class Thinned(Generic[_T]):
    """At most about so many of a long row, evenly spread: every other goes when there are more."""

    def __init__(self, most: int | None, every_ns: int = LOOK_NS) -> None:
        """most: None for any number."""
        self._most = most
        self.every_ns = every_ns
        self.kept: list[_T] = []
        self._times: list[int] = []
        self._due_ns = 0

    def is_due(self, at_ns: int) -> bool:
        """Whether one of this instant is wanted."""
        return at_ns >= self._due_ns

    def add(self, at_ns: int, item: _T) -> None:
        """Keep one of this instant; never older than the one before."""
        self.kept.append(item)
        self._times.append(at_ns)
        if self._most is not None and len(self.kept) > self._most:
            del self.kept[1::2], self._times[1::2]
            self.every_ns *= 2
        self._due_ns = self._times[-1] + self.every_ns

    def end(self) -> None:
        """The next one is wanted whenever it comes: it is the last."""
        self._due_ns = 0


class _Standing:
    """An order whose stay is being watched. volume: shares expected to trade at its price in a
    second. filled: of it when the stay began."""

    __slots__ = ("ahead", "filled", "own", "price", "qty", "since_ns", "volume")

    def __init__(self, own: OwnOrder, ahead: float, volume: float, now_ns: int) -> None:
        self.own = own
        self.price = own.level
        self.filled: int = own.filled
        self.qty: int = own.remaining
        self.ahead = ahead
        self.volume = volume
        self.since_ns = now_ns


class Watch:
    """The samples of one trader's life; see `bot.lab.report.session` for what each of them says."""

    def __init__(
        self,
        trader: Trader,
        *,
        most: tuple[int, int] | None = (MOMENTS_MAX, PICTURES_MAX),
        every_s: float = LOOK_NS / NS_PER_SECOND,
    ) -> None:
        """most: moments and pictures, None for any number; every_s: seconds between two of them at
        least."""
        self._trader = trader
        every_ns = round(every_s * NS_PER_SECOND)
        moments_max, pictures_max = most or (None, None)
        self.moments: Thinned[Moment] = Thinned(moments_max, every_ns)
        self.pictures: Thinned[Picture] = Thinned(pictures_max, every_ns)
        self.rungs: list[Rung] = []
        self.fills: list[Fill] = []
        self.uptime: list[tuple[Uptime, Uptime]] = []
        self.stays = [Stay() for _ in AHEAD_FROM]
        self.answers: dict[str, Answers] = {}
        self.refused: dict[str, int] = {}
        self.prints: dict[int, int] = {}
        self.events = 0
        self.begun_ns = self.until_ns = 0
        self.settlement_millicents = 0
        self._place_of: dict[MarketId, int] = {}
        self._asked: dict[m.RequestId, str] = {}
        self._shown: dict[str, model.Fill] = {}
        self._fill_of: dict[str, Fill] = {}
        self._printed: dict[str, None] = {}
        self._standing: dict[ClientOrderId, _Standing] = {}
        self._before: dict[MarketId, tuple[int, int]] = {}
        self._looked_ns: int | None = None

    # --- what happens -----------------------------------------------------------------------------

    def saw(self, event: m.Event, effects: Iterable[m.Effect], at_ns: int) -> None:
        """The trader has taken an event in and wished for these effects, notes among them."""
        self.events += 1
        self.begun_ns = self.begun_ns or at_ns
        self.until_ns = max(self.until_ns, at_ns)
        if isinstance(event, m.Replied):
            self._replied(event)
        elif isinstance(event, m.TradeSeen):
            self._print(event)
        for effect in effects:
            if isinstance(effect, m.Send):
                kind = kind_of(effect.request)
                self._asked[effect.request_id] = kind
                self.answers.setdefault(kind, Answers()).sent += 1
            elif isinstance(effect, m.Noted):
                self._noted(effect)
        if self._before:
            self._look_for_payouts()
        if self._looked_ns is None or at_ns >= self._looked_ns + LOOK_NS:
            self._look(at_ns)
        if self.moments.is_due(at_ns) or self.pictures.is_due(at_ns):
            self._sample(at_ns)

    def _replied(self, event: m.Replied) -> None:
        answer = event.answer
        kind = self._asked.pop(event.request_id, None)
        if kind is not None:
            row = self.answers[kind]
            if isinstance(answer, m.Done):
                row.done += 1
            elif isinstance(answer, m.Refused):
                row.refused += 1
            else:
                row.unknown += 1
        if isinstance(answer, m.Done) and isinstance(answer.body, m.FillsShown):
            for fill in answer.body.fills:
                if fill.fill_id not in self._fill_of:
                    self._shown[fill.fill_id] = fill

    def _print(self, seen: m.TradeSeen) -> None:
        """Prints by the venue's time; one that is shown twice counts once."""
        if seen.trade_id in self._printed:
            return
        self._printed[seen.trade_id] = None
        if len(self._printed) > 4_096:
            del self._printed[next(iter(self._printed))]
        text = f"{seen.market_id} {seen.ts_ns} {seen.price} {seen.size} {seen.taker_bought_yes}"
        stretch = seen.ts_ns // STRETCH_NS
        self.prints[stretch] = self.prints.get(stretch, 0) ^ zlib.crc32(text.encode())

    # --- fills ------------------------------------------------------------------------------------

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
        made = Fill(
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
        self.fills.append(made)

    def _rung(self, market_id: MarketId, ticker: str) -> int:
        """The place of a rung; it gets one when it is seen first."""
        place = self._place_of.get(market_id)
        if place is None:
            place = self._place_of[market_id] = len(self.rungs)
            self.rungs.append(Rung(market_id, ticker))
            self.uptime.append((Uptime(), Uptime()))
        return place

    # --- payouts ----------------------------------------------------------------------------------

    def _look_for_payouts(self) -> None:
        """A rung that has just paid: its last move, from what it was worth when it was looked at a
        second before at most, is the settlement's."""
        marks = self._trader.quoting.scoring.marks
        for market_id in [each for each in self._before if marks.is_settled(each)]:
            worth, net_qty = self._before.pop(market_id)
            paid = marks.value(market_id)
            assert paid in (0, PAYOUT_CENTS * MILLI)
            self.settlement_millicents += net_qty * (paid - worth)

    # --- once a second ----------------------------------------------------------------------------

    def _look(self, at_ns: int) -> None:
        trader, desk = self._trader, self._trader.desk
        passed_ns = 0 if self._looked_ns is None else at_ns - self._looked_ns
        self._looked_ns = at_ns
        marks = trader.quoting.scoring.marks
        alive: dict[ClientOrderId, None] = {}
        for ladder in trader.quoting.ladders:
            for rung in ladder.rungs:
                market, orders = rung.market_id, desk.live(rung.market_id)
                place = self._rung(market, rung.market.ticker)
                self._up(place, rung, orders, passed_ns)
                for own in orders:
                    alive[own.client_order_id] = None
                    self._stay(own, rung, at_ns)
                worth = marks.value(market)
                if worth is not None and not marks.is_settled(market):
                    yes_qty, no_qty = trader.ledgers.holdings(market)
                    self._before[market] = (worth, yes_qty - no_qty)
        for name in [each for each in self._standing if each not in alive]:
            self._leave(self._standing.pop(name), at_ns)

    def _up(self, place: int, rung: TraderRung, orders: Iterable[OwnOrder], passed_ns: int) -> None:
        """The time since the last look counts as it is now; none in which no order was taken."""
        if self._trader.phase is Phase.STARTING or not rung.is_active:
            return
        on_target = sides_on_target(rung.planned, orders, rung.ladder.pace)
        wanted = {quote.side for quote in rung.planned}
        for side, up in zip(BookSide, self.uptime[place], strict=True):
            if side in on_target:
                up.on_target_ns += passed_ns
            elif side in wanted:
                up.missing_ns += passed_ns
            else:
                up.idle_ns += passed_ns

    def _stay(self, own: OwnOrder, rung: TraderRung, at_ns: int) -> None:
        """An order's stay at its price: at most a minute, then another begins."""
        name = own.client_order_id
        stay = self._standing.get(name)
        if stay is not None:
            stands = own.state in (State.OPEN, State.AMENDING) and own.level == stay.price
            if stands and at_ns < stay.since_ns + _STAY_NS:
                return
            self._leave(self._standing.pop(name), at_ns)
        queue = rung.queues.of(own)
        if own.state is State.OPEN and queue is not None and queue.is_placed and own.remaining:
            horizon_s = rung.ladder.pace.place_horizon_ns / NS_PER_SECOND
            volume = rung.worth(at_ns).volume(own.side, own.level) / horizon_s
            self._standing[name] = _Standing(own, queue.likely, volume, at_ns)

    def _leave(self, stay: _Standing, at_ns: int) -> None:
        """A stay is over: what was expected of so long a one, and what came."""
        seconds = (at_ns - stay.since_ns) / NS_PER_SECOND
        group = max(place for place, least in enumerate(AHEAD_FROM) if round(stay.ahead) >= least)
        row = self.stays[group]
        row.stays += 1
        row.qty += stay.qty
        row.expected_qty += expected_fills(stay.volume * seconds, stay.ahead, stay.qty)
        row.filled_qty += min(stay.qty, max(0, stay.own.filled - stay.filled))

    # --- moments and pictures ---------------------------------------------------------------------

    def _sample(self, at_ns: int) -> None:
        report = self._trader.report(at_ns)
        nets: dict[int, int] = {}
        levels: list[Level] = []
        for event in report.events:
            for rung in event.rungs:
                place = self._rung(rung.market_id, rung.ticker)
                named = self.rungs[place]
                named.event_ticker, named.strike = event.event_ticker, rung.strike_text
                nets[place] = rung.yes_qty - rung.no_qty
                levels.append(_level(place, rung))
        if self.moments.is_due(at_ns):
            row = tuple(nets.get(place, 0) for place in range(len(self.rungs)))
            self.moments.add(at_ns, self._moment(report, row))
        if self.pictures.is_due(at_ns):
            self.pictures.add(at_ns, Picture(at_ns, str(report.phase), tuple(levels)))

    def _moment(self, report: Report, net: tuple[int, ...]) -> Moment:
        total = None if report.profit is None else report.profit.total
        sent = [self.answers[kind].sent if kind in self.answers else 0 for kind in KINDS]
        return Moment(
            at_ns=report.now_ns,
            profit_millicents=0 if total is None else total.profit_millicents,
            spread_millicents=0 if total is None else total.spread_millicents,
            adverse_millicents=0 if total is None else total.adverse_millicents,
            drift_millicents=0
            if total is None
            else total.drift_millicents - self.settlement_millicents,
            settlement_millicents=self.settlement_millicents,
            fees_cents=0 if total is None else total.fees_cents,
            worst_cents=report.worst_case_cents,
            limit_cents=report.worst_case_limit_cents,
            net=net,
            kept=report.counters.amends_kept_place,
            lost=report.counters.amends_lost_place,
            requests=(sent[0], sent[1], sent[2], sent[3]),
            refused=sum(report.counters.refused.values()),
            fills=len(self.fills),
        )

    def close(self) -> Closing:
        """The last sample of everything, and the account at the end; once."""
        at_ns = self.until_ns
        self.moments.end()
        self.pictures.end()
        self._look(at_ns)
        for stay in self._standing.values():
            self._leave(stay, at_ns)
        self._standing.clear()
        self._sample(at_ns)
        report = self._trader.report(at_ns)
        self.refused = dict(report.counters.refused)
        return Closing(
            phase=str(report.phase),
            pnl_cents=report.pnl_cents,
            fees_cents=report.fees_cents,
            ledger_difference_cents=report.ledger_difference_cents,
            worst_max_cents=report.worst_case_max_cents,
            decisions=report.counters.decisions,
            strategy_errors=report.counters.strategy_errors,
            self_trades=report.counters.self_trades,
            latched=report.latched,
            profit=report.profit,
        )


def _level(place: int, rung: RungReport) -> Level:
    bid, bid_qty = _best(rung, BookSide.BID)
    ask, ask_qty = _best(rung, BookSide.ASK)
    return Level(
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
        if order.side is side and order.state in (State.OPEN, State.AMENDING):
            sizes[order.price] += order.remaining_qty
    if not sizes:
        return None, 0
    best = max(sizes) if side is BookSide.BID else min(sizes)
    return best, sizes[best]
