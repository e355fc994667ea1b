"""A naive venue for a few orders of ours: the second account of truth beside the desk.

It knows nothing of the project's states: an order is a row that trades, is amended, and ends.
Reads show it as it was a while ago. Two ways in which a venue may differ can be switched on.
"""

from dataclasses import dataclass, field, replace

from bot.core import messages as m
from tests.builders.bot import made
from venue.wire import model
from venue.wire.money import Qty
from venue.wire.names import OrderId
from venue.wire.requests import QtyOrder


@dataclass(frozen=True)
class Row:
    """One order under one id."""

    order: QtyOrder
    order_id: str
    price: int
    remaining: int
    filled: int = 0
    end: str = ""  # filled, cancelled by us, or replaced by another id

    def shown(self) -> model.Order:
        """The row as the interface shows it."""
        if self.end:
            status = (
                model.OrderStatus.FILLED if self.end == "filled" else model.OrderStatus.CANCELED
            )
        else:
            status = model.OrderStatus.PARTIALLY_FILLED if self.filled else model.OrderStatus.OPEN
        return model.Order(
            order_id=OrderId(self.order_id),
            ticker="ACME-VAL-27Q1-100B",
            market_id=self.order.market_id,
            event_ticker=made.EVENT,
            outcome=model.ShownOutcome(self.order.outcome.value),
            side=model.ShownSide(self.order.side.value),
            price=self.price,
            qty=Qty(self.order.qty),
            remaining_qty=Qty(self.remaining),
            filled_qty=Qty(self.filled),
            status=status,
            time_in_force=model.ShownTimeInForce.GTC,
            created_at=made.INSTANT,
            updated_at=made.INSTANT,
        )


@dataclass
class NaiveVenue:
    """The truth. changes_id: an amend makes a new order of a new id, the old one reads cancelled.
    denies_again: a re-send of a create that landed is 422 duplicate_order_id."""

    changes_id: bool = False
    denies_again: bool = False
    rows: dict[str, Row] = field(default_factory=dict)
    of_cid: dict[str, str] = field(default_factory=dict)
    history: list[tuple[int, dict[str, Row]]] = field(default_factory=list)

    def carry_out(self, request: m.Write, now_ns: int) -> m.Answer:
        """Carry a write out and answer it."""
        answer = self._apply(request)
        self.history.append((now_ns, dict(self.rows)))
        return answer

    def _apply(self, request: m.Write) -> m.Answer:
        if isinstance(request, m.Create):
            known = self.of_cid.get(request.order.client_order_id)
            if known is not None:
                if self.denies_again:
                    return m.Rejected(422, "duplicate_order_id", "")
                return made.done(self.rows[known].shown())
            order_id = str(100 + len(self.rows))
            self.of_cid[request.order.client_order_id] = order_id
            self.rows[order_id] = Row(
                request.order, order_id, request.order.price, request.order.qty
            )
            return made.done(self.rows[order_id].shown())
        row = self.rows[request.order_id]
        if isinstance(request, m.CancelResting):
            if row.end not in ("", "cancelled"):
                return m.Rejected(422, "order_not_cancelable", "")
            self.rows[row.order_id] = replace(row, remaining=0, end="cancelled")
            shown = self.rows[row.order_id].shown()
            return m.Ok(m.CancelBody(shown, Qty(row.remaining)))
        if row.end:
            return m.Rejected(422, "order_not_cancelable", "")
        price = row.price if request.amend.price is None else request.amend.price
        remaining = row.remaining if request.amend.qty is None else request.amend.qty
        if self.changes_id:
            later = replace(
                row, order_id=str(100 + len(self.rows)), price=price, remaining=remaining, filled=0
            )
            self.rows[row.order_id] = replace(row, remaining=0, end="replaced")
            self.rows[later.order_id] = later
            self.of_cid[row.order.client_order_id] = later.order_id
            return made.done(later.shown())
        self.rows[row.order_id] = replace(row, price=price, remaining=remaining)
        return made.done(self.rows[row.order_id].shown())

    def fill(self, order_id: str, qty: int, now_ns: int) -> None:
        """Somebody trades with an order."""
        row = self.rows[order_id]
        qty = min(qty, row.remaining)
        left = row.remaining - qty
        self.rows[order_id] = replace(
            row, filled=row.filled + qty, remaining=left, end=row.end if left else "filled"
        )
        self.history.append((now_ns, dict(self.rows)))

    def resting(self) -> list[Row]:
        """What stands in the book."""
        return [row for row in self.rows.values() if not row.end]

    def as_of(self, at_ns: int) -> dict[str, Row]:
        """What a replica that has seen everything up to an instant shows."""
        rows: dict[str, Row] = {}
        for then_ns, after in self.history:
            if then_ns <= at_ns:
                rows = after
        return rows
