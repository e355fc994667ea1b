"""A client of a venue that may die at any instant: it remembers every answer, and what had none."""

import http.client
import json
import random
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

TIMEOUT_S = 10
Address = tuple[str, int, str]
GONE = (OSError, http.client.HTTPException)
"""What a caller sees when the venue dies: the answer is not known."""


@dataclass
class Known:
    """What the client was told of one order."""

    order_id: str
    body: dict[str, Any]
    filled: int
    prices: set[int]
    """Where it may stand: one price, or two while an amend has had no answer."""

    cancelled: bool = False
    over: bool = False


@dataclass
class Client:
    """One user with one key. `write` runs in a thread of its own; all else in quiet."""

    user: str
    key: str
    markets: list[str]
    dice: random.Random
    told: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    known: dict[str, Known] = field(default_factory=dict)
    unanswered: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of creates that had no answer."""

    failure: BaseException | None = None
    _count: int = 0
    _connection: http.client.HTTPConnection | None = None

    # --- talking ------------------------------------------------------------------------------

    def _call(
        self, address: Address, method: str, path: str, body: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and body of an answer. Raises one of GONE when there was none."""
        host, port, prefix = address
        if self._connection is None:
            self._connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
        headers = {"X-API-KEY": self.key}
        data = None
        if body is not None:
            headers["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        try:
            self._connection.request(method, prefix + path, data, headers)
            reply = self._connection.getresponse()
            return reply.status, json.loads(reply.read())
        except GONE:
            self.hang_up()
            raise

    def hang_up(self) -> None:
        """Close the connection, if there is one; the next call makes another."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def get(self, address: Address, path: str, **query: str) -> dict[str, Any]:
        status, body = self._call(address, "GET", f"{path}?{urllib.parse.urlencode(query)}")
        assert status == 200, (status, body)
        return body

    def pages(self, address: Address, path: str, name: str) -> list[dict[str, Any]]:
        rows, cursor = [], ""
        while True:
            page = (
                self.get(address, path, limit="1000", cursor=cursor)
                if cursor
                else self.get(address, path, limit="1000")
            )
            rows += page[name]
            cursor = page["cursor"]
            if not cursor:
                return rows

    # --- writing until the venue dies ---------------------------------------------------------

    def write(self, address: Address) -> None:
        """Write without pause until there is no answer any more."""
        self.hang_up()
        try:
            while True:
                self._write_one(address)
        except GONE:
            pass
        except BaseException as fault:
            self.failure = fault
            raise
        finally:
            self.hang_up()

    def _write_one(self, address: Address) -> None:
        live = [known for known in list(self.known.values())[-40:] if not known.over]
        draw = self.dice.random()
        if draw < 0.5 or not live:
            self._create(address, self._new_body())
        elif draw < 0.65:
            self._amend(address, self.dice.choice(live))
        elif draw < 0.85:
            self._cancel(address, self.dice.choice(live))
        else:
            self._create(address, self.dice.choice(list(self.known.values())).body)

    def _new_body(self) -> dict[str, Any]:
        self._count += 1
        outcome = self.dice.choice(("yes", "no"))
        return {
            "ticker": self.dice.choice(self.markets),
            "outcome": outcome,
            "side": self.dice.choices(("buy", "sell"), (5, 1))[0],
            "price": self.dice.randint(44, 56),
            "qty": self.dice.choice((1, 2, 3, 5, 8, 20)),
            "time_in_force": self.dice.choices(("gtc", "ioc", "fok"), (8, 1, 1))[0],
            "client_order_id": f"{self.user} {self._count}",
        }

    def _create(self, address: Address, body: dict[str, Any]) -> None:
        cid = body["client_order_id"]
        before = self.known.get(cid)
        try:
            status, reply = self._call(address, "POST", "/orders", body)
        except GONE:
            if before is None:
                self.unanswered.append(body)
            raise
        if status not in (200, 201):
            self._note_refused(status, reply)
            if before is None and reply["code"] == "result_unknown":
                self.unanswered.append(body)
            return
        self.told += 1
        if before is None:
            assert status == 201, f"{cid} was there before it was made"
            over = reply["status"] not in ("open", "partially_filled")
            order_id, filled = reply["order_id"], reply["filled_qty"]
            self.known[cid] = Known(order_id, body, filled, {body["price"]}, over=over)
        else:
            assert status == 200
            assert reply["order_id"] == before.order_id
            assert reply["filled_qty"] >= before.filled
            before.filled = reply["filled_qty"]

    def _amend(self, address: Address, known: Known) -> None:
        price = self.dice.randint(44, 56)
        change = self.dice.choice(({"price": price}, {"qty": self.dice.randint(1, 20)}))
        if "price" in change:
            known.prices = {*known.prices, price}
        status, reply = self._call(address, "PUT", f"/orders/{known.order_id}", change)
        if status == 200:
            self.told += 1
            known.prices = {reply["price"]}
            known.filled = max(known.filled, reply["filled_qty"])
            known.over = reply["status"] not in ("open", "partially_filled")
        else:
            self._note_refused(status, reply)
            known.over = reply["code"] == "order_not_cancelable"

    def _cancel(self, address: Address, known: Known) -> None:
        status, reply = self._call(address, "DELETE", f"/orders/{known.order_id}")
        if status == 200:
            self.told += 1
            known.cancelled = known.over = True
            known.filled = max(known.filled, reply["order"]["filled_qty"])
        else:
            self._note_refused(status, reply)
            known.over = reply["code"] == "order_not_cancelable"

    def _note_refused(self, status: int, reply: dict[str, Any]) -> None:
        assert status != 500, reply
        code = reply["code"]
        self.refused[code] = self.refused.get(code, 0) + 1

    # --- after the restart --------------------------------------------------------------------

    def check(self, address: Address, tally: Any) -> None:
        """Hold what the venue shows now against what was told. Raises AssertionError."""
        assert self.failure is None, self.failure
        self.hang_up()
        rows = {row["order_id"]: row for row in self.pages(address, "/orders", "orders")}
        for cid, known in self.known.items():
            row = rows.pop(known.order_id, None)
            assert row is not None, f"{cid} was acknowledged and is lost"
            self._check_order(known, row)
        # What is left landed without an answer, or nobody made it.
        for body in self.unanswered:
            status, reply = self._call(address, "POST", "/orders", body)
            tally.unanswered += 1
            if status == 200:
                assert rows.pop(reply["order_id"], None) is not None, body
                tally.landed_untold += 1
            if status in (200, 201):
                over = reply["status"] not in ("open", "partially_filled")
                known = Known(
                    reply["order_id"], body, reply["filled_qty"], {reply["price"]}, over=over
                )
                self.known[body["client_order_id"]] = known
            else:
                self._note_refused(status, reply)
        self.unanswered.clear()
        assert rows == {}, f"orders that nobody sent: {rows}, {self.refused}"
        for known in self.dice.sample(list(self.known.values()), min(5, len(self.known))):
            status, reply = self._call(address, "POST", "/orders", known.body)
            assert (status, reply["order_id"]) == (200, known.order_id)
        self.hang_up()

    @staticmethod
    def _check_order(known: Known, row: dict[str, Any]) -> None:
        assert row["filled_qty"] >= known.filled, "an acknowledged fill is lost"
        assert row["price"] in known.prices, "an acknowledged amend is lost"
        if known.cancelled:
            assert row["status"] == "canceled", "an acknowledged cancel is lost"
            assert row["reserved_cents"] == 0
        elif known.over:
            assert row["status"] in ("filled", "canceled"), "an order that was over is back"
        known.filled = row["filled_qty"]
        known.prices = {row["price"]}
        known.over = row["status"] not in ("open", "partially_filled")
