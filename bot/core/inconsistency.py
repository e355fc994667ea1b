"""Contradictions that reconciliation cannot explain: the bot stops and calls a person.

A first sign may be a stale read. From it on nothing that adds exposure leaves for the
market, or for the account where it concerns cash or history. A sign that persists over
`PERSISTS_NS` and `READS_MIN` reads that began after it is a contradiction, and so is the first sign
of a kind without patience. A sign that goes away leaves a line in the log and costs nothing more.

Every kind has one row in `INCONSISTENCIES`: what the detector saw, what it means for money, what
to do, and the runbook. The notice, `bot status`, the page, the exit summary and the metric all show
`Contradiction.sentence`.
"""

import enum
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import MarketId

PERSISTS_NS: Final = 20 * NS_PER_SECOND
"""A sign must last this long before it is a contradiction: four times the longest read lag."""

READS_MIN: Final = 3
"""So many reads that began after the first sign must still show it."""

SIGNS_MAX: Final = 1_000
"""Signs under observation at once. One more is taken for a contradiction without patience: so many
contradictions are no stale reads."""

_SIGNS_SHOWN: Final = 5


class Inconsistency(enum.StrEnum):
    FILL_MISSING = "fill_missing"
    ORDER_ID_REUSED = "order_id_reused"
    CLOSED_ORDER_WORKING = "closed_order_working"
    FILLED_QTY_FELL = "filled_qty_fell"
    FILL_CONTRADICTS_ITSELF = "fill_contradicts_itself"
    SHARES_DIFFER = "shares_differ"
    CASH_DIFFERS = "cash_differs"
    FOREIGN_RESPONSE = "foreign_response"
    STAMPS_RUN_BACKWARDS = "stamps_run_backwards"


class InconsistencyRow(NamedTuple):
    """The sentence of a notice about a kind."""

    saw: str  # for a person
    money: str  # what it means for money
    patience: bool  # True: a first sign is observed before it counts; False: one is enough


RUNBOOK: Final = "docs/runbooks/BooksContradict.md"
"""The same for every kind: look, then `bot reset` opens the books again."""

INCONSISTENCIES: Final[Mapping[Inconsistency, InconsistencyRow]] = {
    Inconsistency.FILL_MISSING: InconsistencyRow(
        "a fill that is booked is missing from complete lists of fills",
        "cash, shares and profit may be those of a trade that the venue no longer has",
        True,
    ),
    Inconsistency.ORDER_ID_REUSED: InconsistencyRow(
        "the venue gave one order id to two orders of ours",
        "one of the two may rest without being counted",
        False,
    ),
    Inconsistency.CLOSED_ORDER_WORKING: InconsistencyRow(
        "an order that the venue said was closed is listed as working",
        "it may fill without being counted in any limit",
        True,
    ),
    Inconsistency.FILLED_QTY_FELL: InconsistencyRow(
        "an order shows fewer shares filled than it showed before",
        "inventory may be smaller than the books say",
        True,
    ),
    Inconsistency.FILL_CONTRADICTS_ITSELF: InconsistencyRow(
        "the fields of one fill contradict each other or its order",
        "what it cost and what it bought are not known",
        True,
    ),
    Inconsistency.SHARES_DIFFER: InconsistencyRow(
        "positions differ from the fills at three quiet audits in a row",
        "every limit that counts shares may be wrong by the difference",
        True,
    ),
    Inconsistency.CASH_DIFFERS: InconsistencyRow(
        "the balance differs from the fills at three quiet audits in a row",
        "profit and the loss limits may be wrong by the difference",
        True,
    ),
    Inconsistency.FOREIGN_RESPONSE: InconsistencyRow(
        "a second response was about another order than was asked",
        "orders may rest that no response has shown",
        False,
    ),
    Inconsistency.STAMPS_RUN_BACKWARDS: InconsistencyRow(
        "the venue's time stamps ran backwards twice within a minute",
        "books and trades cannot be put in order, so no quote can be priced",
        False,
    ),
}


_NAMES: Final = frozenset(kind.value for kind in Inconsistency)

KEPT_AS: Final = "contradiction: "
"""The prefix of the sentence in the latch file, which says who latched."""


class Contradiction(msgspec.Struct, frozen=True):
    """One contradiction that stopped the bot. evidence: ids and figures, one short phrase."""

    kind: Inconsistency
    evidence: str

    @property
    def sentence(self) -> str:
        """Shown everywhere: the detection, its meaning for money, and what to do."""
        row = INCONSISTENCIES[self.kind]
        return (
            f"{self.kind}: {row.saw} ({self.evidence}); {row.money}. All orders are cancelled and "
            f"nothing is quoted until `bot reset`, which opens the books again: see {RUNBOOK}."
        )


def kind_in(reason: str) -> Inconsistency | None:
    """The kind whose sentence latched the bot, in this run or an earlier one; None for a latch of
    another cause."""
    sentence = reason.removeprefix(KEPT_AS)
    name, _, _ = sentence.partition(": ")
    return Inconsistency(name) if name in _NAMES else None


class _Sign(msgspec.Struct):
    first_ns: int
    evidence: str
    market_id: MarketId | None
    reads: int = 0  # reads that began after the first sign and still show it


class InconsistencyMonitor:
    """The signs under observation, and the first contradiction, which is kept until `reset`."""

    def __init__(self) -> None:
        self.signs: dict[tuple[Inconsistency, str], _Sign] = {}
        self.contradiction: Contradiction | None = None

    def contradicts(self, kind: Inconsistency, evidence: str) -> None:
        """A contradiction, without patience. The first one is kept."""
        if self.contradiction is None:
            self.contradiction = Contradiction(kind, evidence)

    def on_sign(
        self,
        kind: Inconsistency,
        key: str,
        evidence: str,
        begun_ns: int,
        now_ns: int,
        market_id: MarketId | None = None,
    ) -> None:
        """A read shows a sign, or shows it still.

        key: what it is about, such as an order id. begun_ns: when the read was sent; only one sent
        after the first sign was seen counts against it. market_id: the market that takes no new
        exposure from here on; None for the whole account.
        """
        sign = self.signs.get((kind, key))
        if sign is None:
            if not INCONSISTENCIES[kind].patience or len(self.signs) >= SIGNS_MAX:
                self.contradicts(kind, evidence)
            else:
                self.signs[kind, key] = _Sign(now_ns, evidence, market_id)
            return
        sign.evidence = evidence
        if begun_ns > sign.first_ns:
            sign.reads += 1
        if sign.reads >= READS_MIN and now_ns >= sign.first_ns + PERSISTS_NS:
            self.contradicts(kind, evidence)

    def on_sign_gone(self, kind: Inconsistency, key: str) -> None:
        """A read shows that a sign is over, if there was one."""
        self.signs.pop((kind, key), None)

    def observes(self, kind: Inconsistency, key: str) -> bool:
        """True while a sign is under observation."""
        return (kind, key) in self.signs

    @property
    def observed(self) -> str:
        """The signs under observation, for a person; empty without one."""
        shown = [f"{kind} ({sign.evidence})" for (kind, _), sign in self.signs.items()]
        more = len(shown) - _SIGNS_SHOWN
        return ", ".join(shown[:_SIGNS_SHOWN]) + (f" and {more} more" if more > 0 else "")

    def blocks(self, market_id: MarketId) -> str:
        """Why nothing may add exposure on a market now; empty when something may."""
        for (kind, _), sign in self.signs.items():
            if sign.market_id is None or sign.market_id == market_id:
                return f"{kind}: {sign.evidence}"
        return ""

    def reset(self) -> None:
        """A person has looked, and the books are opened again: nothing seen before counts."""
        self.signs.clear()
        self.contradiction = None
