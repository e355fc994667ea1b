"""The world in which checks run. With the control API every check makes its own users, keys and
markets; with keys alone it takes what is there."""

import contextlib
import datetime
import functools
import itertools
import secrets
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import httpx

from venue.conformance.api import (
    PATIENCE_S,
    SETTLE_S,
    Caller,
    Listener,
    Target,
    Trail,
    body_of,
    buy,
    by_id,
    by_ticker,
    eventually,
)
from venue.conformance.judge import Broken, Json, Unjudged, holds
from venue.conformance.money import mirror
from venue.conformance.operator import InTheClear, Operator, Unreachable, is_this_machine

DEPOSIT_CENTS: Final = 10_000_000
MAKER_RATE: Final = "0.0100"
TAKER_RATE: Final = "0.0175"
BOTH_SCOPES: Final = ("read", "trade")
UNAUTHENTICATED: Final = 401
FORBIDDEN: Final = 403
_RUNGS_PER_EVENT: Final = 40
_DIRECTORY_S: Final = 75.0


class Bench:
    """One venue under judgement. Per check: `anna`, `bruno`, `clara` (users with cash and a key of
    both scopes), `market()` (nobody has traded on it), `listener()`."""

    def __init__(
        self, base_url: str, stream_url: str, operator: Operator | None, keys: Sequence[str]
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.stream_url = stream_url
        self.operator = operator
        self.trail = Trail()
        # Letters only, so that it can stand in a ticker, a symbol and a search term alike.
        self.run_id = "".join(secrets.choice("BCDFGHJKLMNPQRSTVWXZ") for _ in range(6))
        self.symbol = f"CHK{self.run_id}"
        self._keys = list(keys)
        self._serial = itertools.count(1)
        self._people: dict[str, Caller] = {}
        self._callers: list[Caller] = []
        self._listeners: list[Listener] = []
        self._scratch: Json = {"left": 0}
        self._listed = False

    @property
    def anna(self) -> Caller:
        return self._person("anna", 0)

    @property
    def bruno(self) -> Caller:
        return self._person("bruno", 1)

    @property
    def clara(self) -> Caller:
        return self._person("clara", 2)

    def _person(self, name: str, place: int) -> Caller:
        if name not in self._people:
            if self.operator is not None:
                self._people[name] = self.trader()
            elif place < len(self._keys):
                self._people[name] = self.with_key(self._keys[place])
            else:
                raise Broken(f"a check asked for {name} without a key of theirs")
        return self._people[name]

    def close_check(self) -> None:
        for listener in self._listeners:
            listener.close()
        for caller in self._callers:
            if self.operator is None:
                # With somebody's own key: nothing stays behind, whatever came of the check.
                caller.withdraw()
            caller.close()
        self._people.clear()
        self._listeners.clear()
        self._callers.clear()
        self.trail.exchanges.clear()

    def close(self) -> None:
        self.close_check()
        if "reader" in self.__dict__:
            self.reader.close()
        if self.operator is not None:
            self.operator.close()

    def listener(self) -> Listener:
        made = Listener(self.stream_url)
        self._listeners.append(made)
        return made

    @functools.cached_property
    def settle_s(self) -> float:
        """How long reads may need to catch up, the configured lag included."""
        status = {} if self.operator is None else self.operator.status()
        return SETTLE_S + 1.5 * float(status.get("projection_lag_ms", 0)) / 1000

    @staticmethod
    def wait(seconds: float) -> None:
        time.sleep(seconds)

    def trade(self, market: Json, price: int, qty: int, *, of: int = 0) -> tuple[Json, Json]:
        """bruno buys NO of what anna bids for YES, `qty` shares or more (`of`): both orders."""
        maker = self.anna.placed(**buy(market, "yes", price, of or qty))
        return maker, self.bruno.placed(**buy(market, "no", mirror(price), qty))

    def resting(self, outcome: str = "yes", price: int = 40, qty: int = 10) -> tuple[Json, Json]:
        """A fresh market, and the order of anna's that rests there."""
        market = self.market()
        return market, self.anna.placed(**buy(market, outcome, price, qty))

    def followed_market(self) -> tuple[Json, Listener]:
        market, listener = self.market(), self.listener()
        listener.accepted(by_id(market))
        return market, listener

    def with_key(self, key: str) -> Caller:
        return self._caller({"X-API-KEY": key})

    def with_token(self, token: str) -> Caller:
        return self._caller({"Authorization": f"Bearer {token}"})

    def _caller(self, headers: dict[str, str]) -> Caller:
        made = Caller(self.base_url, headers, self.trail)
        made.settle_s = self.settle_s
        made.is_lent = self.operator is None
        self._callers.append(made)
        return made

    def act(self, method: str, path: str, body: Any = None) -> Json:
        """An act of the operator that must be carried out."""
        return self._control().done(method, path, body)

    def attempt(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """An act of the operator that may be refused."""
        return self._control().ask(method, path, body)

    def _control(self) -> Operator:
        if self.operator is None:
            raise Broken("a check asked for the control API without it")
        return self.operator

    def user(self, cents: int = DEPOSIT_CENTS) -> str:
        user_id = f"check-{self.run_id.lower()}-{next(self._serial)}"
        self.act("POST", "/users", {"user_id": user_id})
        if cents:
            self.act("POST", f"/users/{user_id}/deposits", {"amount_cents": cents})
        return user_id

    def key(self, user_id: str | None, scopes: Sequence[str] = BOTH_SCOPES) -> Json:
        return self.act("POST", "/keys", {"user_id": user_id, "scopes": list(scopes)})

    def token(
        self, user_id: str, scopes: Sequence[str], application: str = "judge", lifetime_s: int = 600
    ) -> str:
        body = {"user_id": user_id, "application": application, "lifetime_s": lifetime_s}
        return str(self.act("POST", "/tokens", {**body, "scopes": list(scopes)})["token"])

    def until_unauthenticated(self, caller: Caller, patience_s: float = PATIENCE_S) -> None:
        """Wait until a credential that ends is answered 401. Raises Broken when it goes on."""
        deadline = time.monotonic() + patience_s
        while caller.ask("GET", "/portfolio/balance", hurry=True).status_code != UNAUTHENTICATED:
            holds(time.monotonic() < deadline, f"still good after {patience_s:g} s")
            time.sleep(min(0.25, patience_s / 60))

    def trader(self, cents: int = DEPOSIT_CENTS) -> Caller:
        user_id = self.user(cents)
        caller = self.with_key(self.key(user_id)["key"])
        caller.user_id = user_id
        eventually(
            lambda: caller.ask("GET", "/portfolio/balance").json().get("total_cents"),
            lambda total: total == cents,
        )
        return caller

    def company(self) -> Json:
        number = next(self._serial)
        body = {"name": f"Judged {self.run_id} {number}", "symbol": f"{self.symbol}-{number}"}
        return self.act("POST", "/companies", body)

    def event(self, company: Json, series: str = "", quarter: str = "", **more: Any) -> Json:
        series = series or f"{self.symbol}-S{next(self._serial)}"
        body = {"company": company["project_id"], "series_ticker": series}
        body |= {"quarter": quarter or this_quarter(), "category": "valuation"}
        body |= {"title": f"Judged {series}", **more}
        return {"series_ticker": series, **self.act("POST", "/events", body)}

    def rung(self, event: Json, label: str, **more: Any) -> Json:
        return self.shown(self._list(event, label, **more))

    def _list(self, event: Json, label: str, **more: Any) -> str:
        body = {"event_ticker": event["event_ticker"], "label": label}
        body |= {"maker_fee_rate": MAKER_RATE, "taker_fee_rate": TAKER_RATE}
        if label != "YES":
            body["strike_value"] = label.rstrip("B")
        made = self.act("POST", "/markets", {**body, **more})
        return str(made["market_id"])

    def shown(self, market_id: str) -> Json:
        market: Json = self._read(f"/markets/{market_id}/snapshot")["market"]
        return market

    def event_shown(self, event: Json) -> Json:
        shown: Json = self._read(f"/events/{event['event_ticker']}")["events"][0]
        return shown

    def _read(self, path: str) -> Json:
        """What reads show of something that was just made, once they do."""
        reply = eventually(
            lambda: self.reader.ask("GET", path), lambda reply: reply.status_code == 200
        )
        return body_of(reply)

    def set_market(self, market: Json, act: str, **body: Any) -> None:
        self.act("POST", f"/markets/{market['market_id']}/{act}", body)
        state = {"halt": "halted", "resume": "active", "resolve": "resolved"}[act]
        eventually(lambda: self.shown(market["market_id"])["state"], lambda now: now == state)

    @contextlib.contextmanager
    def venue_state(self, state: str) -> Iterator[None]:
        try:  # a signal may come when the venue has done it and the answer is still in flight
            self.act("PUT", "/venue-state", {"state": state})
            yield
        finally:
            self.act("PUT", "/venue-state", {"state": "open"})

    @contextlib.contextmanager
    def projection(self, lag_ms: int) -> Iterator[None]:
        before = self.act("GET", "/status")["projection_lag_ms"]
        try:  # as with the state
            self.act("PUT", "/projection", {"lag_ms": lag_ms})
            yield
        finally:
            self.act("PUT", "/projection", {"lag_ms": before})
            time.sleep(lag_ms / 1000)

    @contextlib.contextmanager
    def fault(self, kind: str, **more: Any) -> Iterator[None]:
        try:  # as with the state
            self.act("POST", "/faults", {"kind": kind, **more})
            yield
        finally:
            self.act("DELETE", "/faults")

    @functools.cached_property
    def reader(self) -> Caller:
        """A key of its own that only looks, for the whole run."""
        key = self._keys[0] if self.operator is None else self.key(self.user(0))["key"]
        return Caller(self.base_url, {"X-API-KEY": key}, self.trail)

    def market(self, **more: Any) -> Json:
        """A market of its own that nobody has traded on yet."""
        number = next(self._serial)
        if self._scratch["left"] == 0:
            event = self.event(self.scratch_company)
            # One rung that nothing ever resolves: an event whose rungs are all resolved is settled
            # and takes no more of them.
            self._list(event, f"{next(self._serial)}B")
            self._scratch = {**event, "left": _RUNGS_PER_EVENT}
        self._scratch["left"] -= 1
        return self.rung(self._scratch, f"{number}B", **more)

    def markets(self, count: int) -> list[Json]:
        event = self.event(self.scratch_company)
        return [self.shown(each) for each in [self._list(event, f"{n + 1}B") for n in range(count)]]

    @functools.cached_property
    def scratch_company(self) -> Json:
        return self.company()

    @functools.cached_property
    def some_market(self) -> Json:
        """A market to look at: our own, or any active one without control. Raises Unjudged if there
        is none."""
        if self.operator is not None:
            return self.market()
        rows = self.reader.get("/markets")["markets"]
        active: list[Json] = [row for row in rows if row["state"] == "active"]
        if not active:
            raise Unjudged("the venue lists no active market")
        return active[0]

    @functools.cached_property
    def handles(self) -> Json:
        """What the directory must learn: rungs in every state, and companies; made once, early."""
        company, archived = self.company(), self.company()
        event, dotted = self.event(company), self.event(company)
        made: Json = {"company": company, "archived": archived, "event": event}
        made |= {name: self.rung(event, f"{place}B") for place, name in enumerate(_STATES, 1)}
        made["dotted"] = self.rung(dotted, "21.25B")
        made["undotted"] = self.rung(dotted, "2125B")
        made["orphan"] = self.rung(self.event(archived), "1B")
        made["opened_s"] = time.monotonic()
        return made

    def listed_handles(self) -> Json:
        """The same once the directory has been refreshed, up to a minute after they were made."""
        handles = self.handles
        if self._listed:
            return handles
        while not self._resolves(by_ticker(handles["orphan"])):
            waited = time.monotonic() - handles["opened_s"]
            holds(waited < _DIRECTORY_S, f"not in the directory after {waited:.0f} s")
            time.sleep(0.25)
        self.set_market(handles["halted"], "halt")
        self.set_market(handles["resolved"], "resolve", winner="yes")
        self.act("POST", f"/companies/{handles['archived']['project_id']}/archive", {})
        self.wait(self.settle_s)
        self._listed = True
        return handles

    def _resolves(self, target: Target) -> bool:
        listener = Listener(self.stream_url)
        try:
            listener.subscribe(target)
            return bool(listener.frame()["type"] != "error")
        finally:
            listener.close()


_STATES: Final = ("active", "halted", "resolved")


def this_quarter(ahead: int = 0) -> str:
    """The running quarter as tickers write it (26Q4), or one so many quarters ahead."""
    today = datetime.datetime.now(datetime.UTC)
    count = today.year * 4 + (today.month - 1) // 3 + ahead
    return f"{count // 4 % 100:02d}Q{count % 4 + 1}"


def reach(base_url: str, *, with_keys: bool = False) -> None:
    """Make sure that a venue answers at an address. with_keys: whether keys are to be sent there.
    Raises Unreachable, and InTheClear where they would go to another machine unencrypted."""
    try:
        address = httpx.URL(base_url)
        in_the_clear = address.scheme in ("http", "ws") and address.host != ""
        if with_keys and in_the_clear and not is_this_machine(address.host):
            raise InTheClear(
                f"{base_url}: accepted with keys is a loopback address like "
                "http://127.0.0.1:8080/v1, or https://; a key goes to no other machine in the clear"
            )
        with httpx.Client(trust_env=False, timeout=10) as http:
            http.get(f"{base_url.rstrip('/')}/openapi.yaml")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError):
        raise Unreachable(f"{base_url!r}: no address that can be asked") from None
    except httpx.HTTPError as fault:
        raise Unreachable(f"{base_url}: {type(fault).__name__}; is the venue up?") from None


def why_unusable(base_url: str, key: str) -> str:
    """What a venue answers to a key that may not read, or not trade; empty if it may do both.
    Raises Unreachable."""
    asks = (("GET", "/portfolio/balance"), ("DELETE", "/orders/1"))
    try:
        with httpx.Client(base_url=base_url, trust_env=False, timeout=10) as http:
            for method, path in asks:
                reply = http.request(method, path, headers={"X-API-KEY": key})
                if reply.status_code in (UNAUTHENTICATED, FORBIDDEN):
                    return f"{method} {path} with this key is answered {reply.status_code}"
    except httpx.HTTPError as fault:
        raise Unreachable(f"{base_url}: {type(fault).__name__}; is the venue up?") from None
    return ""
