"""The life of one own order as one table: state x fact -> what it comes to. Every cell is decided.

What may live here: the states, the facts, and the table `TRANSITIONS`. A fact is an act of ours, an
answer to one, or what a read or a list shows. A cell is one of three decisions:

    Go(state)            the order goes there, or stays
    Anomaly(state, why)  the venue, or we, broke a promise: the order goes there, is read back, and
                         no new order is made on its side of the rung until a read settles it
    NotAllowed(why)      an act of ours that is not taken

Nothing else in the project gives an order a state. The page docs/order-life.md is drawn from here.

An amend without an answer leaves the order BLURRED and to be cancelled: the answer to a cancel is
the engine's own word. Once the venue has said that an order is over (CLOSING), it is only read,
never cancelled again, until it is known how much of it filled.
"""

import enum
from collections.abc import Mapping
from typing import Final

import msgspec


class State(enum.StrEnum):
    """Where an own order stands, as far as the venue has told us."""

    SENT = "sent"  # a first create is on its way
    LOST = "lost"  # a create without a definite answer: it may be live
    OPEN = "open"  # it rests, and nothing of ours is on its way
    AMENDING = "amending"
    BLURRED = "blurred"  # an amend without a definite answer: cancel it
    CANCELLING = "cancelling"
    CLOSING = "closing"  # the venue says it is over, but not yet how much of it filled
    DONE = "done"


class OrderEvent(enum.StrEnum):
    """What may happen to an own order: our acts, answers to them, reads, and lists."""

    RESEND = "resend"
    AMEND = "amend"
    CANCEL = "cancel"
    RESTS = "rests"  # 2xx to a create or amend: it rests
    ENDED = "ended"  # 2xx to a write: it is over, and how much filled is shown
    SHORT = "short"  # 2xx to a cancel that leaves shares unaccounted for
    STRANGE = "strange"  # 2xx to a write, with a status that this version cannot read
    NEVER = "never"  # our write did not reach the engine
    REFUSED = "refused"  # our write was decided against; the order is what it was
    EXISTS = "exists"  # duplicate_order_id: the create landed, it is not shown how
    RESOLVED = "resolved"  # the create's market has resolved: nothing rests there
    OVER = "over"  # order_not_cancelable: it is over, how is not shown
    MISSING = "missing"  # 404 to a write about an id that the venue gave us
    NO_ANSWER = "no_answer"  # our write may have been carried out
    BLIND = "blind"  # a cancel without effect while an amend is undecided
    READ_RESTS = "read_rests"  # a read begun late enough shows it resting as we know it
    READ_DIFFERS = "read_differs"  # such a read shows an open order at another price, or larger
    READ_ENDED = "read_ended"
    READ_MOVED = "read_moved"  # it reads cancelled, not by us, while an amend is undecided
    READ_MISSING = "read_missing"  # 404 to a read of an id that the venue gave us
    READ_STRANGE = "read_strange"  # a read with a status that this version cannot read
    LISTED = "listed"  # a late enough list shows the order that it must be
    GONE = "gone"  # lists a lag apart show nothing that it could be, and no read by its id does


ACTS: Final = (OrderEvent.RESEND, OrderEvent.AMEND, OrderEvent.CANCEL)
"""The facts that are our own doing."""

UNDONE: Final = (OrderEvent.NEVER, OrderEvent.REFUSED, OrderEvent.NO_ANSWER, OrderEvent.MISSING)
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
    _F.READ_RESTS, _F.READ_DIFFERS, _F.READ_ENDED, _F.READ_MOVED, _F.READ_MISSING, _F.READ_STRANGE,
)  # fmt: skip
_NO_ID: Final = "a read by an id that it does not have yet"
_NOT_CREATED: Final = "an answer to a create, and it has landed already"
_NOT_CANCELLED: Final = "an answer to a cancel, and none was sent"
_NOT_ASKED: Final = "an answer, and nothing was asked"
_WAITS: Final = "its answer is awaited"

# fmt: off
TRANSITIONS: Final[dict[State, dict[OrderEvent, Cell]]] = {
    _S.SENT: _row(
        {
            _S.OPEN: (_F.RESTS,),
            _S.DONE: (_F.ENDED, _F.NEVER, _F.REFUSED, _F.RESOLVED),
            _S.LOST: (_F.NO_ANSWER, _F.EXISTS),
            _S.SENT: (_F.LISTED, _F.GONE),  # its answer is better than any list
        },
        {
            (_S.LOST, _NOT_CANCELLED): (_F.SHORT, _F.OVER, _F.MISSING, _F.BLIND),
            (_S.SENT, _NO_ID): _READS,
        },
        {"its create is on its way": (_F.RESEND,), "it has no id yet": (_F.AMEND, _F.CANCEL)},
        strange={_S.OPEN: (_F.STRANGE,)},
    ),
    # Every answer but 2xx leaves a re-sent create unknown: the first one may have landed, until a
    # list explains the refusals, or shows the order that the venue says exists.
    _S.LOST: _row(
        {
            _S.OPEN: (_F.RESTS, _F.LISTED),
            _S.DONE: (_F.ENDED, _F.RESOLVED, _F.GONE),
            _S.LOST: (_F.RESEND, _F.NEVER, _F.REFUSED, _F.EXISTS, _F.NO_ANSWER),
        },
        {
            (_S.LOST, _NOT_CANCELLED): (_F.SHORT, _F.OVER, _F.MISSING, _F.BLIND),
            (_S.LOST, _NO_ID): _READS,
        },
        {"it has no id yet": (_F.AMEND, _F.CANCEL)},
        strange={_S.OPEN: (_F.STRANGE,)},
    ),
    _S.OPEN: _row(
        {
            _S.AMENDING: (_F.AMEND,),
            _S.CANCELLING: (_F.CANCEL,),
            _S.DONE: (_F.READ_ENDED, _F.GONE),
            _S.OPEN: (_F.READ_RESTS, _F.LISTED),
        },
        {
            (_S.OPEN, _NOT_ASKED): (
                _F.RESTS, _F.NEVER, _F.REFUSED, _F.EXISTS, _F.RESOLVED, _F.NO_ANSWER, _F.BLIND,
            ),
            (_S.CLOSING, _NOT_ASKED): (_F.ENDED, _F.SHORT, _F.OVER),
            (_S.BLURRED, "shown otherwise than the venue's last word allows"): (_F.READ_DIFFERS,),
            (_S.CLOSING, "cancelled under our hands, and no amend was sent"): (_F.READ_MOVED,),
        },
        {"it is known to have landed": (_F.RESEND,)},
        missing={_S.OPEN: (_F.MISSING, _F.READ_MISSING)},
        strange={_S.OPEN: (_F.STRANGE, _F.READ_STRANGE)},
    ),
    # A read during an amend may show the order before or after it: only an end is news, and one
    # that a change of id explains waits for the answer.
    _S.AMENDING: _row(
        {
            _S.OPEN: (_F.RESTS, _F.NEVER, _F.REFUSED),
            _S.DONE: (_F.ENDED, _F.READ_ENDED),
            _S.CLOSING: (_F.OVER,),
            _S.BLURRED: (_F.NO_ANSWER,),
            _S.AMENDING: (
                _F.READ_RESTS, _F.READ_DIFFERS, _F.READ_MOVED, _F.READ_MISSING,
                _F.LISTED, _F.GONE,
            ),
        },
        {
            (_S.BLURRED, _NOT_CREATED): (_F.EXISTS, _F.RESOLVED),
            (_S.BLURRED, _NOT_CANCELLED): (_F.BLIND,),
            (_S.CLOSING, _NOT_CANCELLED): (_F.SHORT,),
        },
        {_WAITS: (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.OPEN: (_F.MISSING,)},
        strange={_S.BLURRED: (_F.STRANGE,), _S.AMENDING: (_F.READ_STRANGE,)},
    ),
    _S.BLURRED: _row(
        {
            _S.CANCELLING: (_F.CANCEL,),
            _S.OPEN: (_F.READ_RESTS, _F.LISTED),
            _S.DONE: (_F.READ_ENDED, _F.GONE),
            _S.CLOSING: (_F.READ_MOVED,),
            _S.BLURRED: (_F.READ_DIFFERS,),
        },
        {
            (_S.BLURRED, _NOT_ASKED): (
                _F.RESTS, _F.NEVER, _F.REFUSED, _F.EXISTS, _F.RESOLVED, _F.NO_ANSWER, _F.BLIND,
            ),
            (_S.CLOSING, _NOT_ASKED): (_F.ENDED, _F.SHORT, _F.OVER),
        },
        {"it is known to have landed": (_F.RESEND,), "the last one is undecided": (_F.AMEND,)},
        missing={_S.BLURRED: (_F.MISSING, _F.READ_MISSING)},
        strange={_S.BLURRED: (_F.STRANGE, _F.READ_STRANGE)},
    ),
    # A cancel that did not do its work leaves the order open; it is wanted again at once. A
    # cancel without an answer does the same, for a cancel may be repeated.
    _S.CANCELLING: _row(
        {
            _S.DONE: (_F.ENDED, _F.READ_ENDED),
            _S.CLOSING: (_F.SHORT, _F.OVER),
            _S.OPEN: (_F.NEVER, _F.REFUSED, _F.NO_ANSWER),
            _S.BLURRED: (_F.BLIND,),
            _S.CANCELLING: (
                _F.READ_RESTS, _F.READ_DIFFERS, _F.READ_MOVED, _F.READ_MISSING,
                _F.LISTED, _F.GONE,
            ),
        },
        {
            (_S.OPEN, _NOT_CREATED): (_F.EXISTS, _F.RESOLVED),
            (_S.OPEN, "an answer to an amend, and it is being cancelled"): (_F.RESTS,),
        },
        {_WAITS: (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.OPEN: (_F.MISSING,)},
        strange={_S.CLOSING: (_F.STRANGE,), _S.CANCELLING: (_F.READ_STRANGE,)},
    ),
    _S.CLOSING: _row(
        {
            _S.OPEN: (_F.LISTED,),  # under another id
            _S.DONE: (_F.READ_ENDED, _F.GONE),
            _S.CLOSING: (_F.READ_RESTS, _F.READ_DIFFERS, _F.READ_MOVED),
        },
        {
            (_S.CLOSING, _NOT_ASKED): (
                _F.RESTS, _F.ENDED, _F.SHORT, _F.NEVER, _F.REFUSED, _F.EXISTS, _F.RESOLVED,
                _F.OVER, _F.NO_ANSWER, _F.BLIND,
            ),
        },
        {"the venue says that it is over": (_F.RESEND, _F.AMEND, _F.CANCEL)},
        missing={_S.CLOSING: (_F.MISSING, _F.READ_MISSING)},
        strange={_S.CLOSING: (_F.STRANGE, _F.READ_STRANGE)},
    ),
    # Ended is for ever; late answers and reads add fills at most.
    _S.DONE: _row(
        {_S.DONE: tuple(fact for fact in OrderEvent if fact not in ACTS)},
        {},
        {"it is over": (_F.RESEND, _F.AMEND, _F.CANCEL)},
    ),
}
# fmt: on

IN_FLIGHT: Final = frozenset({State.SENT, State.AMENDING, State.CANCELLING})
"""The states in which a write of ours is on its way."""
