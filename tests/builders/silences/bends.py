"""The ways in which another venue may answer: each bends what ours says, on the wire.

A bend of the replies gets the answer of the real venue as JSON and returns another one; a bend of
the engine's rules asks the venue otherwise than the caller did. Nothing of the bot's is used here.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.builders.shell.site import Answered, Bend, Forward

Change = Callable[[str, str, int, Any], tuple[int, Any]]
"""method, path without the version, status and body of our venue's answer -> those of the other."""


def answered(status: int, body: Any) -> Answered:
    """An answer without any header of the limiter."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return status, [(b"content-type", b"application/json")], data


def refused(status: int, code: str) -> Answered:
    """An answer of the Error shape."""
    return answered(status, {"code": code, "error": "as this venue has it"})


class Replies(Bend):
    """Changes every JSON answer, between two instants of the loop if given."""

    def __init__(self, change: Change, from_s: float = 0.0, until_s: float = 1e9) -> None:
        self._change = change
        self._from_s, self._until_s = from_s, until_s

    @property
    def in_force(self) -> bool:
        """Whether it bends now; its seconds count from when the bot begins."""
        return self._from_s <= self.site.age_s() < self._until_s

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """See `Bend`."""
        status, headers, data = await ask(method, path, query, body)
        if not self.in_force:
            return status, headers, data
        status, shown = self._change(method, path, status, json.loads(data))
        return status, headers, json.dumps(shown).encode()


class Instead(Bend):
    """Answers some requests itself, before they reach the venue.

    answer: method, path and body in; None leaves the request to the venue.
    """

    def __init__(
        self,
        answer: Callable[[str, str, Any], Answered | None],
        from_s: float = 0.0,
        until_s: float = 1e9,
    ) -> None:
        self._answer = answer
        self._from_s, self._until_s = from_s, until_s
        self.given = 0

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """See `Bend`."""
        if self._from_s <= self.site.age_s() < self._until_s:
            said = self._answer(method, path, json.loads(body) if body else None)
            if said is not None:
                self.given += 1
                return said
        return await ask(method, path, query, body)


class Frames(Bend):
    """Changes every frame of the channel: one in, any number out."""

    def __init__(self, change: Callable[[dict[str, Any]], list[Any]]) -> None:
        self._change = change

    def frames(self, text: str) -> list[str]:
        """See `Bend`."""
        return [
            each if isinstance(each, str) else json.dumps(each)
            for each in self._change(json.loads(text))
        ]


def once_each() -> Callable[[str], list[str]]:
    """For a channel that never shows the same book twice, so that quiet books must be read."""
    shown: dict[str, int] = {}

    def frames(text: str) -> list[str]:
        inner = json.loads(text).get("data", {})
        if inner.get("type") == "prediction-orderbook":
            seen = shown.get(inner["eventMarketId"])
            shown[inner["eventMarketId"]] = inner["ts"]
            return [] if seen == inner["ts"] else [text]
        return [text]

    return frames


def rows_of(body: Any, name: str) -> list[dict[str, Any]]:
    """The rows of a page, or none when it is another body."""
    rows = body.get(name, []) if isinstance(body, dict) else []
    assert isinstance(rows, list)
    return rows


def orders_in(body: Any) -> list[dict[str, Any]]:
    """Every order that a body shows: alone, as a cancel's, or in a list."""
    if not isinstance(body, dict):
        return []
    alone = [body] if "order_id" in body and "remaining_qty" in body else []
    inner = [body["order"]] if isinstance(body.get("order"), dict) else []
    return alone + inner + rows_of(body, "orders")


class NewIds(Bend):
    """S13: an amend gives the order another id; the old one is known no more.

    Fills keep the id that the order had when they took place. resets_fills: whether the new
    order counts its fills from nothing.
    """

    def __init__(self, *, resets_fills: bool) -> None:
        self._resets_fills = resets_fills
        self._shown: dict[str, str] = {}
        self._real: dict[str, str] = {}
        self._fills: dict[str, str] = {}
        self._before: dict[str, int] = {}
        self.changed = 0

    def _label(self) -> None:
        for fill in self.site.truth.booked:
            self._fills.setdefault(fill.fill_id, self._shown.get(fill.order_id, fill.order_id))

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """See `Bend`."""
        head, _, last = path.rpartition("/")
        if head == "/orders":
            if last in self._shown:
                return refused(404, "order_not_found")
            path = f"{head}/{self._real.get(last, last)}"
        self._label()
        status, headers, data = await ask(method, path, query, body)
        shown = json.loads(data)
        if method == "PUT" and status == 200:
            self._rename(shown["order_id"])
        self._label()
        for order in orders_in(shown):
            real = order["order_id"]
            order["order_id"] = self._shown.get(real, real)
            if self._resets_fills:
                order["filled_qty"] -= self._before.get(real, 0)
                order["qty"] -= self._before.get(real, 0)
        for fill in rows_of(shown, "fills"):
            fill["order_id"] = self._fills[fill["fill_id"]]
        return status, headers, json.dumps(shown).encode()

    def _rename(self, real: str) -> None:
        self.changed += 1
        self._real.pop(self._shown.get(real, real), None)
        self._shown[real] = f"{7_000_000 + self.changed}"
        self._real[self._shown[real]] = real
        # What filled before the amend was answered; a fill of its own belongs to the new one.
        self._before[real] = sum(
            fill.qty
            for fill in self.site.truth.booked
            if fill.order_id == real and fill.fill_id in self._fills
        )


class QtyIsTotal(Bend):
    """S13: an amend's qty is the order's new total, filled shares included."""

    def __init__(self) -> None:
        self.meant_otherwise = 0

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """See `Bend`."""
        if method == "PUT" and "qty" in (fields := json.loads(body)):
            order = self.site.truth.orders.get(path.rpartition("/")[2])
            filled = 0 if order is None else order.filled_qty
            if filled:
                self.meant_otherwise += 1
                if fields["qty"] <= filled:
                    return refused(400, "invalid_qty")
                fields["qty"] -= filled
                body = json.dumps(fields).encode()
        return await ask(method, path, query, body)


class FeePerFill(Bend):
    """S16: each fill's fee is rounded up by itself. shown_in_fills: whether the fills say so."""

    def __init__(self, rate: str, *, shown_in_fills: bool) -> None:
        self._ten_thousandths = round(float(rate) * 10_000)
        self._shown_in_fills = shown_in_fills
        self._charged: dict[str, int] = {}
        self.more_cents = 0

    def _fee(self, fill: dict[str, Any]) -> int:
        price = fill["outcome_price"]
        exact = self._ten_thousandths * fill["qty"] * price * (100 - price)
        return -(-exact // 1_000_000)

    def _booked(self) -> int:
        """What this venue has taken more than ours, over the maker's fills so far."""
        return sum(self._charged.values())

    async def rest(
        self, method: str, path: str, query: bytes, body: bytes, ask: Forward
    ) -> Answered:
        """See `Bend`."""
        for fill in self.site.truth.booked:
            shown = {"qty": fill.qty, "outcome_price": fill.outcome_price}
            self._charged[fill.fill_id] = self._fee(shown) - fill.fee_cents
        self.more_cents = self._booked()
        status, headers, data = await ask(method, path, query, body)
        shown = json.loads(data)
        for fill in rows_of(shown, "fills"):
            fill["fee_cents"] = self._fee(fill)
            if not self._shown_in_fills:
                del fill["fee_cents"]
        if path == "/portfolio/balance":
            shown["available_cents"] -= self._booked()
            shown["total_cents"] -= self._booked()
        return status, headers, json.dumps(shown).encode()
