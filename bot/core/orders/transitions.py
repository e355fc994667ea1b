"""The life of one own order as one table: state x fact -> what it comes to. Every cell is decided.

What may live here: the states, the facts, and the table `TRANSITIONS`. A fact is an act of ours, an
answer to one, or what a read or a list shows. A cell is one of three decisions:

    Go(state)            the order goes there, or stays
    Anomaly(state, why)  the venue, or we, broke a promise: the order goes there, is read back, and
                         no new order is made on its side of the rung until a read settles it
    NotAllowed(why)      an act of ours that is not taken

Nothing else in the project gives an order a state. The page docs/order-life.md is drawn from here.

An amend without an answer leaves the order REPLACE_UNKNOWN, and it is to be cancelled: the answer
to a cancel is the engine's own word. Once the venue has said that an order is over
(CLOSED_UNCONFIRMED), it is only read, never cancelled again, until it is known how much of it
filled.
"""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec


class State(enum.StrEnum):
    """Where an own order stands, as far as the venue has told us."""

    PENDING_NEW = "sent"  # a first create is on its way
    NEW_UNKNOWN = "lost"  # a create without a definite answer: it may be live
    OPEN = "open"  # it rests, and nothing of ours is on its way
    PENDING_REPLACE = "amending"
    REPLACE_UNKNOWN = "blurred"  # an amend without a definite answer: cancel it
    PENDING_CANCEL = "cancelling"
    CLOSED_UNCONFIRMED = "closing"  # the venue says it is over, but not yet how much of it filled
    CLOSED = "done"


class OrderEvent(enum.StrEnum):
    """What may happen to an own order: our acts, answers to them, reads, and lists."""

    RESEND = "resend"
    AMEND = "amend"
    CANCEL = "cancel"
    ACK_OPEN = "rests"  # 2xx to a create or amend: it rests
    ACK_CLOSED = "ended"  # 2xx to a write: it is over, and how much filled is shown
    CANCEL_QTY_MISMATCH = "short"  # 2xx to a cancel that leaves shares unaccounted for
    UNKNOWN_STATUS = "strange"  # 2xx to a write, with a status that this version cannot read
    NOT_SENT = "never"  # our write did not reach the engine
    REJECTED = "refused"  # our write was decided against; the order is what it was
    DUPLICATE_ID = "exists"  # duplicate_order_id: the create landed, it is not shown how
    MARKET_RESOLVED = "resolved"  # the create's market has resolved: nothing rests there
    TOO_LATE = "over"  # order_not_cancelable: it is over, how is not shown
    NOT_FOUND = "missing"  # 404 to a write about an id that the venue gave us
    TIMEOUT = "no_answer"  # our write may have been carried out
    CANCEL_INEFFECTIVE = "blind"  # a cancel without effect while an amend is undecided
    QUERY_OPEN = "read_rests"  # a read begun late enough shows it resting as we know it
    QUERY_DIFFERS = "read_differs"  # such a read shows an open order at another price, or larger
    QUERY_CLOSED = "read_ended"
    QUERY_MOVED = "read_moved"  # it reads cancelled, not by us, while an amend is undecided
    QUERY_NOT_FOUND = "read_missing"  # 404 to a read of an id that the venue gave us
    QUERY_UNKNOWN_STATUS = "read_strange"  # a read with a status that this version cannot read
    LISTED = "listed"  # a late enough list shows the order that it must be
    CONFIRMED_GONE = (
        "gone"  # lists a lag apart show nothing that it could be, and no read by its id does
    )


ACTS: Final = (OrderEvent.RESEND, OrderEvent.AMEND, OrderEvent.CANCEL)
"""The facts that are our own doing."""

UNDONE: Final = (OrderEvent.NOT_SENT, OrderEvent.REJECTED, OrderEvent.TIMEOUT, OrderEvent.NOT_FOUND)
"""Answers to a cancel after which the order may be what it was."""


class OrderFinding(enum.StrEnum):
    """The name under which a suspected order is told."""

    IMPOSSIBLE = "impossible_fact"
    MISSING = "order_missing"
    UNREADABLE = "status_unreadable"

    @property
    def dooms(self) -> bool:
        """Whether the order is to be cancelled; one that is merely not shown is kept."""
        return self is OrderFinding.IMPOSSIBLE


class Go(msgspec.Struct, frozen=True):
    """The order goes to this state, or stays in it."""

    state: State


class Anomaly(msgspec.Struct, frozen=True):
    """A promise is broken. `why` is one phrase for a person."""

    state: State
    why: str
    finding: OrderFinding = OrderFinding.IMPOSSIBLE


class NotAllowed(msgspec.Struct, frozen=True):
    """An act of ours that is not taken in this state."""

    why: str


Cell = Go | Anomaly | NotAllowed

_S, _F = State, OrderEvent
_Facts = tuple[OrderEvent, ...]
_NOT_FOUND: Final = "404 for an order that the venue has shown"
_STRANGE: Final = "a status that this version cannot read"


def _row(
    to: Mapping[State, _Facts],
    suspect: Mapping[tuple[State, str], _Facts],
    barred: Mapping[str, _Facts],
    missing: Mapping[State, _Facts] | None = None,
    strange: Mapping[State, _Facts] | None = None,
) -> dict[OrderEvent, Cell]:
    """One state's decisions, fact by fact. Raises ValueError unless each fact has exactly one."""
    decided: list[tuple[OrderEvent, Cell]] = []
    for state, facts in to.items():
        decided += [(fact, Go(state)) for fact in facts]
    for (state, why), facts in suspect.items():
        decided += [(fact, Anomaly(state, why)) for fact in facts]
    for why, facts in barred.items():
        decided += [(fact, NotAllowed(why)) for fact in facts]
    for state, facts in (missing or {}).items():
        decided += [(fact, Anomaly(state, _NOT_FOUND, OrderFinding.MISSING)) for fact in facts]
    for state, facts in (strange or {}).items():
        decided += [(fact, Anomaly(state, _STRANGE, OrderFinding.UNREADABLE)) for fact in facts]
    row = dict(decided)
    if len(decided) != len(OrderEvent) or len(row) != len(OrderEvent):
        raise ValueError("a state needs exactly one decision for each fact")
    return {fact: row[fact] for fact in OrderEvent}


_READS: Final = (
    _F.QUERY_OPEN, _F.QUERY_DIFFERS, _F.QUERY_CLOSED, _F.QUERY_MOVED, _F.QUERY_NOT_FOUND,
    _F.QUERY_UNKNOWN_STATUS,
)  # fmt: skip
_NO_ID: Final = "a read by an id that it does not have yet"
_NOT_CREATED: Final = "an answer to a create, and it has landed already"
_NOT_CANCELLED: Final = "an answer to a cancel, and none was sent"
_NOT_ASKED: Final = "an answer, and nothing was asked"
_WAITS: Final = "its answer is awaited"

# fmt: off
TRANSITIONS: Final[dict[State, dict[OrderEvent, Cell]]] = {
    _S.PENDING_NEW: _row(
        {
            _S.OPEN: (_F.ACK_OPEN,),
            _S.CLOSED: (_F.ACK_CLOSED, _F.NOT_SENT, _F.REJECTED, _F.MARKET_RESOLVED),
            _S.NEW_UNKNOWN: (_F.TIMEOUT, _F.DUPLICATE_ID),
            _S.PENDING_NEW: (_F.LISTED, _F.CONFIRMED_GONE),  # its answer is better than any list
        },
        {
            (_S.NEW_UNKNOWN, _NOT_CANCELLED): (
                _F.CANCEL_QTY_MISMATCH, _F.TOO_LATE, _F.NOT_FOUND, _F.CANCEL_INEFFECTIVE,
            ),
            (_S.PENDING_NEW, _NO_ID): _READS,
        },
        {"its create is on its way": (_F.RESEND,), "it has no id yet": (_F.AMEND, _F.CANCEL)},
        strange={_S.OPEN: (_F.UNKNOWN_STATUS,)},
    ),
    # Every answer but 2xx leaves a re-sent create unknown: the first one may have landed, until a
    # list explains the refusals, or shows the order that the venue says exists.
    _S.NEW_UNKNOWN: _row(
        {
            _S.OPEN: (_F.ACK_OPEN, _F.LISTED),
            _S.CLOSED: (_F.ACK_CLOSED, _F.MARKET_RESOLVED, _F.CONFIRMED_GONE),
            _S.NEW_UNKNOWN: (_F.RESEND, _F.NOT_SENT, _F.REJECTED, _F.DUPLICATE_ID, _F.TIMEOUT),
        },
        {
            (_S.NEW_UNKNOWN, _NOT_CANCELLED): (
                _F.CANCEL_QTY_MISMATCH, _F.TOO_LATE, _F.NOT_FOUND, _F.CANCEL_INEFFECTIVE,
            ),
            (_S.NEW_UNKNOWN, _NO_ID): _READS,
        },
        {"it has no id yet": (_F.AMEND, _F.CANCEL)},
        strange={_S.OPEN: (_F.UNKNOWN_STATUS,)},
    ),
    _S.OPEN: _row(
        {
            _S.PENDING_REPLACE: (_F.AMEND,),
            _S.PENDING_CANCEL: (_F.CANCEL,),
            _S.CLOSED: (_F.QUERY_CLOSED, _F.CONFIRMED_GONE),
            _S.OPEN: (_F.QUERY_OPEN, _F.LISTED),
        },
        {
            (_S.OPEN, _NOT_ASKED): (
                _F.ACK_OPEN, _F.NOT_SENT, _F.REJECTED, _F.DUPLICATE_ID, _F.MARKET_RESOLVED,
                _F.TIMEOUT, _F.CANCEL_INEFFECTIVE,
            ),
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _F.ACK_CLOSED, _F.CANCEL_QTY_MISMATCH, _F.TOO_LATE,
            ),
            (_S.REPLACE_UNKNOWN, "shown otherwise than the venue's last word allows"): (
                _F.QUERY_DIFFERS,
            ),
            (_S.CLOSED_UNCONFIRMED, "cancelled under our hands, and no amend was sent"): (
                _F.QUERY_MOVED,
            ),
        },
        {"it is known to have landed": (_F.RESEND,)},
        missing={_S.OPEN: (_F.NOT_FOUND, _F.QUERY_NOT_FOUND)},
        strange={_S.OPEN: (_F.UNKNOWN_STATUS, _F.QUERY_UNKNOWN_STATUS)},
    ),
    # A read during an amend may show the order before or after it: only an end is news, and one
    # that a change of id explains waits for the answer.
    _S.PENDING_REPLACE: _row(
        {
            _S.OPEN: (_F.ACK_OPEN, _F.NOT_SENT, _F.REJECTED),
            _S.CLOSED: (_F.ACK_CLOSED, _F.QUERY_CLOSED),
            _S.CLOSED_UNCONFIRMED: (_F.TOO_LATE,),
            _S.REPLACE_UNKNOWN: (_F.TIMEOUT,),
            _S.PENDING_REPLACE: (
                _F.QUERY_OPEN, _F.QUERY_DIFFERS, _F.QUERY_MOVED, _F.QUERY_NOT_FOUND,
                _F.LISTED, _F.CONFIRMED_GONE,
            ),
        },
        {
            (_S.REPLACE_UNKNOWN, _NOT_CREATED): (_F.DUPLICATE_ID, _F.MARKET_RESOLVED),
            (_S.REPLACE_UNKNOWN, _NOT_CANCELLED): (_F.CANCEL_INEFFECTIVE,),
            (_S.CLOSED_UNCONFIRMED, _NOT_CANCELLED): (_F.CANCEL_QTY_MISMATCH,),
        },
        {_WAITS: (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.OPEN: (_F.NOT_FOUND,)},
        strange={
            _S.REPLACE_UNKNOWN: (_F.UNKNOWN_STATUS,),
            _S.PENDING_REPLACE: (_F.QUERY_UNKNOWN_STATUS,),
        },
    ),
    _S.REPLACE_UNKNOWN: _row(
        {
            _S.PENDING_CANCEL: (_F.CANCEL,),
            _S.OPEN: (_F.QUERY_OPEN, _F.LISTED),
            _S.CLOSED: (_F.QUERY_CLOSED, _F.CONFIRMED_GONE),
            _S.CLOSED_UNCONFIRMED: (_F.QUERY_MOVED,),
            _S.REPLACE_UNKNOWN: (_F.QUERY_DIFFERS,),
        },
        {
            (_S.REPLACE_UNKNOWN, _NOT_ASKED): (
                _F.ACK_OPEN, _F.NOT_SENT, _F.REJECTED, _F.DUPLICATE_ID, _F.MARKET_RESOLVED,
                _F.TIMEOUT, _F.CANCEL_INEFFECTIVE,
            ),
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _F.ACK_CLOSED, _F.CANCEL_QTY_MISMATCH, _F.TOO_LATE,
            ),
        },
        {"it is known to have landed": (_F.RESEND,), "the last one is undecided": (_F.AMEND,)},
        missing={_S.REPLACE_UNKNOWN: (_F.NOT_FOUND, _F.QUERY_NOT_FOUND)},
        strange={_S.REPLACE_UNKNOWN: (_F.UNKNOWN_STATUS, _F.QUERY_UNKNOWN_STATUS)},
    ),
    # A cancel that did not do its work leaves the order open; it is wanted again at once. A
    # cancel without an answer does the same, for a cancel may be repeated.
    _S.PENDING_CANCEL: _row(
        {
            _S.CLOSED: (_F.ACK_CLOSED, _F.QUERY_CLOSED),
            _S.CLOSED_UNCONFIRMED: (_F.CANCEL_QTY_MISMATCH, _F.TOO_LATE),
            _S.OPEN: (_F.NOT_SENT, _F.REJECTED, _F.TIMEOUT),
            _S.REPLACE_UNKNOWN: (_F.CANCEL_INEFFECTIVE,),
            _S.PENDING_CANCEL: (
                _F.QUERY_OPEN, _F.QUERY_DIFFERS, _F.QUERY_MOVED, _F.QUERY_NOT_FOUND,
                _F.LISTED, _F.CONFIRMED_GONE,
            ),
        },
        {
            (_S.OPEN, _NOT_CREATED): (_F.DUPLICATE_ID, _F.MARKET_RESOLVED),
            (_S.OPEN, "an answer to an amend, and it is being cancelled"): (_F.ACK_OPEN,),
        },
        {_WAITS: (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.OPEN: (_F.NOT_FOUND,)},
        strange={
            _S.CLOSED_UNCONFIRMED: (_F.UNKNOWN_STATUS,),
            _S.PENDING_CANCEL: (_F.QUERY_UNKNOWN_STATUS,),
        },
    ),
    _S.CLOSED_UNCONFIRMED: _row(
        {
            _S.OPEN: (_F.LISTED,),  # under another id
            _S.CLOSED: (_F.QUERY_CLOSED, _F.CONFIRMED_GONE),
            _S.CLOSED_UNCONFIRMED: (_F.QUERY_OPEN, _F.QUERY_DIFFERS, _F.QUERY_MOVED),
        },
        {
            (_S.CLOSED_UNCONFIRMED, _NOT_ASKED): (
                _F.ACK_OPEN, _F.ACK_CLOSED, _F.CANCEL_QTY_MISMATCH, _F.NOT_SENT, _F.REJECTED,
                _F.DUPLICATE_ID, _F.MARKET_RESOLVED,
                _F.TOO_LATE, _F.TIMEOUT, _F.CANCEL_INEFFECTIVE,
            ),
        },
        {"the venue says that it is over": (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.CLOSED_UNCONFIRMED: (_F.NOT_FOUND, _F.QUERY_NOT_FOUND)},
        strange={_S.CLOSED_UNCONFIRMED: (_F.UNKNOWN_STATUS, _F.QUERY_UNKNOWN_STATUS)},
    ),
    # Ended is for ever; late answers and reads add fills at most.
    _S.CLOSED: _row(
        {_S.CLOSED: tuple(fact for fact in OrderEvent if fact not in ACTS)},
        {},
        {"it is over": (_F.RESEND, _F.AMEND, _F.CANCEL)},
    ),
}
# fmt: on

IN_FLIGHT: Final = frozenset({State.PENDING_NEW, State.PENDING_REPLACE, State.PENDING_CANCEL})
"""The states in which a write of ours is on its way."""
