"""Requests per unit of quoting quality, and queue place kept: the trader against a maker that
cancels and creates everything each second.

Both want what the same strategy wants of the same market; the same crowd, and the same recorded
tape, trade around them. Quality is time: an hour of a wanted quote with at least half its size
within one cent of it counts one. A place is lost where shares of ours leave a price by our own
doing, where others stand too, and come back to it while it is wanted all along. Anchor: that other
maker, in the same run.
"""

from collections.abc import Callable
from pathlib import Path

from bench.crowded import START_NS, clock, ticking_for
from bench.maker import Among, Slot, renewed, slot, traded
from bot.core.trader import Trader
from bot.strategy.api import Strategy
from strategies.fixed_spread import FixedSpread
from venue.crowd.settings import CrowdSettings
from venue.crowd.tape import read_tape
from venue.engine import messages as v
from venue.wire import model
from venue.wire.instant import NS_PER_MS
from venue.wire.money import Price
from venue.wire.names import OrderId

_SAMPLE_NS = 250 * NS_PER_MS
_HOUR = 3_600 * 1_000 * NS_PER_MS // _SAMPLE_NS
_WARM_UP_S = 10
_DECIDED_NS = 50 * NS_PER_MS
"""A change that reaches the venue was decided, and what was wanted then seen, less than so long
before."""

_TAPE = Path(__file__).resolve().parents[2] / "shared/data/inxd-23apr10"
_TAPE_SPEED = 4.0


class Watch:
    """What a maker's quotes are worth, sampled four times a second; which prices are wanted is seen
    at every beat."""

    def __init__(self, among: Among) -> None:
        self._among = among
        self._next_ns = START_NS + _WARM_UP_S * 1_000 * NS_PER_MS
        self._orders: dict[OrderId, v.OrderState] = {}
        self._wanted: dict[Slot, int] = {}
        self._lost: dict[Slot, int] = {}
        self.wanted = 0
        self.near = 0
        self.resting = 0
        self.displaced = 0
        among.own = self._changed

    def _changed(self, order: v.OrderState) -> None:
        """An order of the maker's: what left a wanted price without a fill has lost its place."""
        before = self._orders.pop(order.order_id, None)
        works = order.status in model.RESTING
        if works:
            self._orders[order.order_id] = order
        if before is None:
            return
        at, left = slot(before), before.remaining_qty - (order.filled_qty - before.filled_qty)
        stays = order.remaining_qty if works and slot(order) == at else 0
        since_ns = self._wanted.get(at)
        held = since_ns is not None and since_ns < self._among.now_ns - _DECIDED_NS
        if left > stays and held and self._among.queues.others_at(at):
            self._lost[at] = self._lost.get(at, 0) + left - stays

    def sample(self, mind: Trader) -> None:
        quotes = [
            (rung.market_id, quote)
            for ladder in mind.quoting.ladders
            for rung in ladder.rungs
            for quote in rung.wanted
        ]
        now_ns, before = self._among.now_ns, self._wanted
        slots = [(market_id, quote.side, quote.price) for market_id, quote in quotes]
        self._wanted = {at: before.get(at, now_ns) for at in slots}
        self._lost = {at: qty for at, qty in self._lost.items() if at in self._wanted}
        if now_ns < self._next_ns:
            return
        self._next_ns += _SAMPLE_NS
        resting: dict[Slot, int] = {}
        for order in self._orders.values():
            at = slot(order)
            resting[at] = resting.get(at, 0) + order.remaining_qty
        for market_id, quote in quotes:
            self.wanted += 1
            near = sum(
                resting.get((market_id, quote.side, Price(quote.price + tick)), 0)
                for tick in (-1, 0, 1)
            )
            self.near += 2 * near >= quote.qty
        for at, qty in resting.items():
            if at in self._wanted:
                self.resting += qty
                self.displaced += min(qty, self._lost.get(at, 0))

    @property
    def hours(self) -> float:
        """Hours of wanted quotes with our size near them."""
        return self.near / _HOUR

    @property
    def kept(self) -> float:
        """The part of resting size-time at wanted prices that has kept its place."""
        return 1 - self.displaced / max(1, self.resting)


_Maker = Callable[[Among, Callable[[], Strategy], Callable[[Trader], None]], None]


def _measured(among: Among, maker: _Maker) -> tuple[float, Watch]:
    watch = Watch(among)
    params = FixedSpread.Params(max_position_qty=1_000_000)
    maker(among, lambda: FixedSpread(params), watch.sample)
    return among.writes / max(1e-9, watch.hours), watch


def _rows(name: str, market: Callable[[], Among]) -> list[tuple[str, str]]:
    ours, watch = _measured(market(), traded)
    theirs, other = _measured(market(), renewed)
    return [
        (
            f"{name}: requests per hour of quality",
            f"{ours:.0f}, cancel and create {theirs:.0f}",
        ),
        (f"{name}: ours / cancel and create", f"{100 * ours / theirs:.1f} % (aim 25 %)"),
        (
            f"{name}: wanted quotes served",
            f"{100 * watch.near / max(1, watch.wanted):.1f} %, "
            f"cancel and create {100 * other.near / max(1, other.wanted):.1f} %",
        ),
        (
            f"{name}: queue place kept",
            f"{100 * watch.kept:.2f} % (aim 99 %), cancel and create {100 * other.kept:.2f} %",
        ),
    ]


def run(quick: bool) -> list[tuple[str, str]]:
    seconds = 300 if quick else 1_800
    rows = _rows("crowd", lambda: Among(clock(7, seconds), CrowdSettings(seed=7)))
    if not _TAPE.is_dir():
        return [*rows, ("tape", f"not there: {_TAPE.name}")]
    tape, crowd = read_tape(_TAPE), CrowdSettings(tape_speed=_TAPE_SPEED)
    return rows + _rows("tape", lambda: Among(ticking_for(tape, seconds), crowd, tape))
