"""Candidates beside the live strategy: asked on the same events, judged before they ever trade.

Any number of them, each under both readings of the queue, with an account of its own. They come
after the live decision and touch nothing of it: a candidate that raises or returns nonsense is
stopped, counted and explained, and the rest goes on. Where there are none, nothing is done.
"""

from collections.abc import Callable, Sequence
from typing import Final

from bot.core.desk.outbox import Outbox
from bot.core.event.room import Ladder, Rung
from bot.core.fault_text import fault_text
from bot.core.messages import TradeSeen
from bot.core.profit.marks import Marks
from bot.core.report import ShadowReport
from bot.core.series.scoring import MakeShadow
from bot.core.settings import Candidate, TraderSettings
from bot.core.strategy import EventView
from bot.lab.exchange.queue_model import CAUTIOUS_MODELS, QueueModel
from bot.lab.shadow.rehearsal import Rehearsal, Wanted
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import BookSide, Outcome
from venue.wire.names import MarketId, Ticker

_TOLD_NS: Final = NS_PER_SECOND
"""The quotes of a candidate for an event are written down no oftener than this."""


def shadow_of(candidates: Sequence[Candidate]) -> MakeShadow | None:
    """What gives a trader these candidates; None without any."""
    if not candidates:
        return None
    return lambda settings, marks, out: Shadows(candidates, settings, marks, out)


class Shadows:
    """All candidates of one trader."""

    def __init__(
        self,
        candidates: Sequence[Candidate],
        settings: TraderSettings,
        marks: Marks,
        out: Outbox,
    ) -> None:
        self._rehearsals = [
            Rehearsal(candidate, bound, settings, marks)
            for candidate in candidates
            for bound in CAUTIOUS_MODELS
        ]
        self._out = out
        self._told: dict[tuple[str, Ticker], tuple[int, Wanted]] = {}

    def reconfigure(self, settings: TraderSettings) -> None:
        """Hold every candidate to other limits and another pace from here on."""
        for rehearsal in self._rehearsals:
            rehearsal.reconfigure(settings)

    def _each(self, act: Callable[[Rehearsal], None]) -> None:
        """Let every rehearsal act; the fault of one stops it alone."""
        for rehearsal in self._rehearsals:
            try:
                act(rehearsal)
            except Exception as fault:  # noqa: BLE001 - the plugin boundary: it stops one candidate
                if rehearsal.stopped:
                    continue
                why = fault_text(fault)
                rehearsal.stop(why)
                self._out.note(
                    "warning",
                    "shadow_stopped",
                    shadow=rehearsal.candidate.name,
                    bound=rehearsal.bound,
                    fault=why,
                )

    def printed(self, rung: Rung, seen: TradeSeen, now_ns: int) -> None:
        """A print that was not seen before."""
        self._each(lambda rehearsal: rehearsal.printed(rung, seen, now_ns))

    def beat(self, now_ns: int) -> None:
        """Time has passed."""
        self._each(lambda rehearsal: rehearsal.beat(now_ns))

    def settled(self, market_id: MarketId, winner: Outcome, now_ns: int) -> None:
        """A rung has paid out."""
        self._each(lambda rehearsal: rehearsal.settled(market_id, winner, now_ns))

    def forget(self, ladder: Ladder) -> None:
        """An event leaves."""
        self._each(lambda rehearsal: rehearsal.forget(ladder))
        for rehearsal in self._rehearsals:
            self._told.pop((rehearsal.candidate.name, ladder.event.event_ticker), None)

    def decided(
        self, ladder: Ladder, view: EventView | None, live: Wanted | None, now_ns: int
    ) -> None:
        """The live decision about an event was made. view: what its strategy was shown, None when
        it was not asked. live: what it answered, None when it failed."""
        self._each(lambda rehearsal: rehearsal.decided(ladder, view, live, now_ns))
        for rehearsal in self._rehearsals:
            if rehearsal.bound is QueueModel.PESSIMISTIC:
                self._tell(rehearsal, ladder, now_ns)

    def _tell(self, rehearsal: Rehearsal, ladder: Ladder, now_ns: int) -> None:
        """Write the quotes of a candidate down when they are others than those told last."""
        key = rehearsal.candidate.name, ladder.event.event_ticker
        wanted = rehearsal.wanted(ladder)
        told_ns, before = self._told.get(key, (-_TOLD_NS, {}))
        if wanted is before or now_ns < told_ns + _TOLD_NS or wanted == before:
            return
        self._told[key] = now_ns, wanted
        self._out.note("debug", "shadow_quotes", shadow=key[0], event=key[1], quotes=_text(wanted))

    def report(self) -> tuple[ShadowReport, ...]:
        """The score of each, by name, then by reading."""
        return tuple(rehearsal.report() for rehearsal in self._rehearsals)


def _text(wanted: Wanted) -> str:
    """Quotes as text: market, then size@price of its bids / of its asks."""
    parts = []
    for market_id, quotes in wanted.items():
        sides = [
            " ".join(f"{quote.qty}@{quote.price}" for quote in quotes if quote.side is side)
            for side in (BookSide.BID, BookSide.ASK)
        ]
        parts.append(f"{market_id} {' / '.join(sides)}")
    return "; ".join(parts)
