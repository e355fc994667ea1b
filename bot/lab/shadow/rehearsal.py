"""One candidate under one reading of the queue: what it is shown, what it wants, what it earns.

It is asked whenever the live strategy is, with the same view; only its own shares, fills, resting
quotes and cash are those of the orders that it would have had. What it wants is held to the limits
and the curfew of the live one, on its own holdings, and reaches its hypothetical orders after its
latency. Nothing of it is ever sent.
"""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from bot.core.event.answers import Answers
from bot.core.event.room import Ladder, Rung
from bot.core.limits.bounds import takable, taken
from bot.core.limits.cutting import Cutter
from bot.core.limits.inforce import bounds_of, event_limit_cents, limits_in_force, series_loss_cents
from bot.core.limits.risk import Bounds, Exposure, Live, live_of
from bot.core.messages import TradeSeen
from bot.core.profit.attribution import Attribution, Entry
from bot.core.profit.markouts import MILLI
from bot.core.profit.marks import Marks
from bot.core.report import ShadowReport
from bot.core.settings import Candidate, TraderSettings
from bot.core.strategy import (
    EventView,
    OwnFill,
    Quote,
    Resting,
    RungView,
    Strategy,
    Take,
)
from bot.lab.exchange.queue_model import QueueModel
from bot.lab.shadow.hypothetical import HypotheticalRung, Met
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS, Cents, Outcome, Qty
from venue.wire.names import MarketId, Ticker

_FILLS_TOLD_MAX: Final = 64

Wanted = dict[MarketId, tuple[Quote, ...]]
_Takes = dict[MarketId, tuple[Take, ...]]


class _Stage:
    """One event of one rehearsal: its strategy, its rungs, and what is on its way to them."""

    def __init__(self, strategy: Strategy, cutter: Cutter) -> None:
        self.strategy = strategy
        self.cutter = cutter
        self.rungs: dict[MarketId, HypotheticalRung] = {}
        self.wanted: Wanted = {}
        self.answers = Answers()
        self.coming: deque[tuple[int, Wanted, _Takes]] = deque()
        self.cut: Mapping[MarketId, tuple[Quote, ...]] = {}
        self.fills: dict[MarketId, list[tuple[Met, int]]] = {}
        self.held: Exposure | None = None
        self.weighed: Exposure | None = None
        self.lives: Exposure | None = None
        self.counted: Wanted = {}
        self.worst_cents = 0
        self._shown: dict[MarketId, tuple[RungView, RungView, int, int]] = {}

    def shown(self, rung: RungView, now_ns: int) -> RungView:
        """A rung as the candidate is to see it; the same object while nothing of it has changed."""
        mine = self.rungs[rung.market_id]
        fills = self.fills.pop(rung.market_id, None)
        before = self._shown.get(rung.market_id)
        since_s = now_ns // NS_PER_SECOND
        if before is not None and fills is None:
            seen, made, version, at_s = before
            if seen is rung and version == mine.version and (at_s == since_s or not made.own):
                return made
        told = (
            ()
            if fills is None
            else tuple(
                OwnFill(met.side, met.price, met.qty, max(0, now_ns - at_ns) / NS_PER_SECOND)
                for met, at_ns in fills
            )
        )
        made = msgspec.structs.replace(
            rung,
            yes_qty=Qty(mine.yes_qty),
            no_qty=Qty(mine.no_qty),
            fills=told,
            own=mine.own(now_ns),
        )
        # What was told of fills is told once.
        version = -1 if told else mine.version
        self._shown[rung.market_id] = (rung, made, version, since_s)
        return made


class Rehearsal:
    """One candidate under one reading of the queue, over all events of the series."""

    def __init__(
        self, candidate: Candidate, bound: QueueModel, settings: TraderSettings, marks: Marks
    ) -> None:
        self.candidate = candidate
        self.bound = bound
        self.stopped = ""
        self._settings = settings
        self._limits = limits_in_force(settings.risk)
        self._marks = marks
        self._attribution = Attribution(marks)
        self._gone_cents = 0  # what the fills of events that have left did to the cash
        self._stages: dict[Ticker, _Stage] = {}
        self._cash_cents: int | None = None
        self._free: int | None = None
        self._now_ns = 0
        self._decisions = self._same = self._changes = self._left_out = 0
        self._worst_max_cents = 0

    def wanted(self, ladder: Ladder) -> Wanted:
        """What it wants of an event now."""
        stage = self._stages.get(ladder.event.event_ticker)
        return {} if stage is None else stage.wanted

    def reconfigure(self, settings: TraderSettings) -> None:
        """Hold to other limits and another pace from here on."""
        self._settings = settings
        self._limits = limits_in_force(settings.risk)
        for stage in self._stages.values():
            stage.cutter = Cutter(self._limits)
            for rung in stage.rungs.values():
                rung.reconfigure(settings.pace)

    # --- the market -------------------------------------------------------------------------------

    def printed(self, rung: Rung, seen: TradeSeen, now_ns: int) -> None:
        """A print on a rung."""
        self._now_ns = now_ns
        stage = self._stages.get(rung.ladder.event.event_ticker)
        if stage is not None and rung.market_id in stage.rungs:
            self._arrive(stage)
            stage.rungs[rung.market_id].printed(seen)

    def beat(self, now_ns: int) -> None:
        """Time has passed: what was on its way arrives, and horizons are over."""
        self._now_ns = now_ns
        for stage in self._stages.values():
            self._arrive(stage)
        self._attribution.sample(now_ns)

    def settled(self, market_id: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung has paid out."""
        for stage in self._stages.values():
            mine = stage.rungs.get(market_id)
            if mine is not None:
                mine.settle(winner)
                stage.held = self._free = None
                self._attribution.settled(market_id, winner, now_ns)

    def forget(self, ladder: Ladder) -> None:
        """An event leaves. What the candidate would still hold of it has paid what it was worth
        last, be it a dollar or nothing."""
        stage = self._stages.pop(ladder.event.event_ticker, None)
        if stage is None:
            return
        names = {rung.market_id: rung.market.ticker for rung in ladder.rungs}
        for market_id, mine in stage.rungs.items():
            value = self._marks.value(market_id) or 0
            winner = Outcome.YES if 2 * value > PAYOUT_CENTS * MILLI else Outcome.NO
            if mine.yes_qty or mine.no_qty:
                mine.settle(winner)
                self._attribution.settled(market_id, winner, self._now_ns)
            self._gone_cents += mine.cash_cents
        self._attribution.forget(names)
        self._free = None

    def _arrive(self, stage: _Stage) -> None:
        """What was decided long enough ago reaches the orders."""
        while stage.coming and stage.coming[0][0] <= self._now_ns:
            _, changed, takes = stage.coming.popleft()
            self._free = None
            for market_id, quotes in changed.items():
                stage.rungs[market_id].want(quotes, takes.get(market_id, ()), self._now_ns)

    # --- deciding ---------------------------------------------------------------------------------

    def decided(
        self, ladder: Ladder, view: EventView | None, live: Wanted | None, now_ns: int
    ) -> None:
        """The live strategy was asked with this view; None: its event is pulled, and so is ours.

        live: what it answered, None when it failed. Raises whatever the candidate raises.
        """
        self._now_ns = now_ns
        stage = self._stage(ladder)
        self._arrive(stage)
        wanted: Wanted = {}
        takes: _Takes = {}
        if view is not None and not self.stopped:
            self._show(stage, ladder, view)
            answered, takes = self._ask(stage, view)
            self._decisions += 1
            self._same += live is not None and _same(answered, live)
            net_qty = {key: mine.yes_qty - mine.no_qty for key, mine in stage.rungs.items()}
            standing, takes = ladder.curfewed(answered, takes, net_qty)
            bounds = self._bounds(stage)
            wanted = self._admitted(stage, ladder, standing, bounds)
            takes = self._within(stage, _passed(takes, ladder), bounds)
        else:
            self._weigh(stage, self._held(stage, ladder), wanted)
        self._send(stage, wanted, takes)

    def _send(self, stage: _Stage, wanted: Wanted, takes: _Takes) -> None:
        """Let what has changed, and what is to be filled up again, go on its way."""
        changed: Wanted = {}
        for market_id, mine in stage.rungs.items():
            quotes = wanted.get(market_id, ())
            if mine.has_filled or quotes != stage.wanted.get(market_id, ()) or market_id in takes:
                changed[market_id] = quotes
                mine.has_filled = False
        if changed:
            self._changes += 1
            stage.wanted = wanted
            stage.coming.append((self._now_ns + self.candidate.latency_ns, changed, takes))

    def stop(self, why: str) -> None:
        """It is asked no more, and nothing of it rests any longer; what it holds it goes on to
        hold."""
        self.stopped = why
        for stage in self._stages.values():
            stage.wanted = {}
            stage.coming.clear()
            stage.coming.append((self._now_ns, dict.fromkeys(stage.rungs, ()), {}))

    def _stage(self, ladder: Ladder) -> _Stage:
        ticker = ladder.event.event_ticker
        stage = self._stages.get(ticker)
        if stage is None:
            strategy = self.candidate.make_strategy()
            stage = self._stages[ticker] = _Stage(strategy, Cutter(self._limits))
        for rung in ladder.rungs:
            mine = stage.rungs.get(rung.market_id)
            if mine is None:
                met = self._met(stage, rung)
                mine = HypotheticalRung(self.bound, self.candidate.name, self._settings.pace, met)
                stage.rungs[rung.market_id] = mine
                stage.held = None
            rates = (rung.maker_rate, rung.taker_rate)
            if mine.rates != rates:
                mine.rates, stage.held = rates, None  # what it may lose counts the fees, too
        return stage

    def _met(self, stage: _Stage, rung: Rung) -> Callable[[Met], None]:
        """Where the fills of a rung go: to the account of profit, and to the candidate."""

        def met(fill: Met) -> None:
            stage.held = self._free = None
            rows = stage.fills.setdefault(rung.market_id, [])
            rows.append((fill, self._now_ns))
            del rows[:-_FILLS_TOLD_MAX]
            entry = Entry(
                rung.market_id,
                rung.market.ticker,
                fill.side,
                fill.price,
                fill.qty,
                fill.fee_cents,
                fill.tag,
            )
            self._attribution.booked(entry, self._now_ns)

        return met

    def _show(self, stage: _Stage, ladder: Ladder, view: EventView) -> None:
        """The books of others, where they and our own orders speak of the same instant."""
        for rung, seen in zip(ladder.rungs, view.rungs, strict=True):
            if rung.is_settled and rung.book.ts_ns is not None:
                stage.rungs[rung.market_id].shown(seen.bids, seen.asks, rung.book.ts_ns)

    def _ask(self, stage: _Stage, view: EventView) -> tuple[Wanted, _Takes]:
        """What the candidate wants, proven sane."""
        mine = msgspec.structs.replace(
            view,
            rungs=tuple(stage.shown(rung, self._now_ns) for rung in view.rungs),
            cash_cents=self._free_cents(view.cash_cents),
        )
        return stage.answers.ask(stage.strategy, mine), stage.answers.takes

    def _free_cents(self, live_cents: int | None) -> int | None:
        """Its cash: the live one's when it began, what its fills did, less what its orders lock."""
        if self._cash_cents is None:
            self._cash_cents = live_cents
        if self._cash_cents is None:
            return None
        if self._free is None:
            rungs = [rung for stage in self._stages.values() for rung in stage.rungs.values()]
            free = sum(each.cash_cents - each.locked_cents() for each in rungs)
            self._free = self._gone_cents + free
        return self._cash_cents + self._free

    def _bounds(self, stage: _Stage) -> Bounds:
        """What its event may come to beside what it holds and wants of its others."""
        others = [each for each in self._stages.values() if each is not stage]
        loss_cents = series_loss_cents([Cents(each.worst_cents) for each in others])
        resting_cents = sum(each.lives.resting_cents for each in others if each.lives is not None)
        return bounds_of(
            self._limits, event_limit_cents(self._limits, loss_cents), Cents(resting_cents)
        )

    def _admitted(self, stage: _Stage, ladder: Ladder, standing: Resting, bounds: Bounds) -> Wanted:
        """What the limits of the live one admit, as its markets take it."""
        held = self._held(stage, ladder)
        sendable = {
            rung.market_id: standing[rung.market_id]
            for rung in ladder.rungs
            if rung.market_id in standing and not rung.blocked
        }
        cut = stage.cutter.cut(sendable, held, bounds)
        if cut is not stage.cut:
            stage.cut = cut
            self._left_out += len(stage.cutter.cuts)
        out: Wanted = {}
        for rung in ladder.rungs:
            quotes = cut.get(rung.market_id, ())
            if quotes:
                ceiling = ladder.ceilings.get(rung.market_id)
                out[rung.market_id] = taken(quotes, rung.market, ceiling)
        self._weigh(stage, held, out)
        return out

    def _within(self, stage: _Stage, takes: _Takes, bounds: Bounds) -> _Takes:
        """What of these takes the limits admit beside all that rests and is on its way, one after
        the other: one that is whole or nothing as it is, or not at all."""
        if not takes:
            return takes
        assert stage.lives is not None
        on_its_way = [each for _, _, coming in stage.coming for each in coming.items()]
        counted = [_live(key, take) for key, wished in on_its_way for take in wished]
        for live in counted:
            stage.lives.add(live)
        out: _Takes = {}
        for market_id, wished in takes.items():
            admitted = []
            for take in wished:
                live = _live(market_id, take)
                room = min(self._limits.order_qty, stage.lives.largest(live, bounds))
                qty = Qty(min(take.qty, room))
                if qty < (take.qty if take.whole else 1):
                    continue
                admitted.append(msgspec.structs.replace(take, qty=qty))
                counted.append(msgspec.structs.replace(live, qty_max=qty))
                stage.lives.add(counted[-1])
            if admitted:
                out[market_id] = tuple(admitted)
        for live in counted:
            stage.lives.remove(live)
        return out

    def _held(self, stage: _Stage, ladder: Ladder) -> Exposure:
        """What its event may lose by what it holds; the same object until that changes."""
        if stage.held is None:
            mine = [stage.rungs[rung.market_id] for rung in ladder.rungs]
            stage.held = Exposure(
                [rung.terms for rung in ladder.rungs],
                Cents(sum(each.cash_cents for each in mine)),
                [(each.yes_qty, each.no_qty) for each in mine],
            )
        return stage.held

    def _weigh(self, stage: _Stage, held: Exposure, wanted: Wanted) -> None:
        """What the events may lose at worst if these quotes rest; only what changed is counted."""
        lives = stage.lives
        if lives is None or stage.weighed is not held:
            lives = stage.lives = held.bare()
            stage.weighed = held
            stage.counted = {}
        for market_id in stage.rungs:
            before, after = stage.counted.get(market_id, ()), wanted.get(market_id, ())
            if before is not after:
                for quote in before:
                    lives.remove(live_of(market_id, quote))
                for quote in after:
                    lives.add(live_of(market_id, quote))
                stage.counted[market_id] = after
        stage.worst_cents = lives.worst_cents
        total = series_loss_cents(Cents(each.worst_cents) for each in self._stages.values())
        self._worst_max_cents = max(self._worst_max_cents, total)

    # --- reading ----------------------------------------------------------------------------------

    def report(self) -> ShadowReport:
        """Its score as of now, its account compared with its holdings and cash."""
        rungs = {key: each for stage in self._stages.values() for key, each in stage.rungs.items()}
        cash = self._gone_cents + sum(each.cash_cents for each in rungs.values())
        holdings = {key: (each.yes_qty, each.no_qty) for key, each in rungs.items()}
        return ShadowReport(
            name=self.candidate.name,
            strategy=self.candidate.strategy,
            bound=self.bound,
            stopped=self.stopped,
            decisions=self._decisions,
            same=self._same,
            changes=self._changes,
            left_out=self._left_out,
            resting=sum(each.resting_qty for each in rungs.values()),
            worst_case_max_cents=Cents(self._worst_max_cents),
            profit=self._attribution.report(self._attribution.difference(cash, holdings)),
        )


def _live(market_id: MarketId, take: Take) -> Live:
    """A take as the limits count it."""
    return live_of(market_id, Quote(take.side, take.price, take.qty))


def _same(mine: Wanted, live: Mapping[MarketId, tuple[Quote, ...]]) -> bool:
    """Whether two answers want the same shares at the same prices."""
    return all(mine.get(key, ()) == live.get(key, ()) for key in dict.fromkeys((*mine, *live)))


def _passed(takes: _Takes, ladder: Ladder) -> _Takes:
    """The takes of rungs that may be sent to, as their markets take them."""
    out: _Takes = {}
    for rung in ladder.rungs:
        if rung.market_id in takes and rung.may_send:
            ceiling = ladder.ceilings.get(rung.market_id)
            passed = (takable(take, rung.market, ceiling) for take in takes[rung.market_id])
            out[rung.market_id] = tuple(take for take in passed if take is not None)
    return out
