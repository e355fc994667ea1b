"""Requests paid from the budget of their key, notes, findings and counters of one trader.

Each credential has a purse of its own, and stops by itself when the venue refuses it: reads go on
the read key if there is one, cancels on the standby key while the trade key is refused.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from bot.core.inconsistency import InconsistencyMonitor
from bot.core.messages import (
    AmendResting,
    CancelResting,
    Create,
    Effect,
    Key,
    Noted,
    ReadBook,
    ReadOrder,
    ReadSeries,
    Rejected,
    Request,
    RequestId,
    Response,
    Send,
    Unknown,
)
from bot.core.orders.cancel_reasons import CancelReason
from bot.core.orders.order import OwnOrder
from bot.core.orders.request_budget import Priority, RequestBudget
from bot.core.report import Counters, Reaction
from bot.core.risk.breakers import CircuitBreakers
from bot.core.settings import BudgetSettings, KeySettings, PaceSettings
from venue.wire.errors import CODES, Advice, Code, Culprit, row_for
from venue.wire.instant import NS_PER_SECOND
from venue.wire.names import OrderId, is_order_id, is_path_segment

NEVER_NS: Final = 2**62
"""A due time that does not come by itself."""

KEY_STOP_NS: Final = 10 * NS_PER_SECOND
"""Backoff after a 401 or 403; then one request probes the key."""

TOO_MANY: Final = 429
"""The status of an answer that asks to wait."""

WAIT_DEFAULT_NS: Final = NS_PER_SECOND
"""How long a 429 without a readable Retry-After asks to wait."""

HANGS_NS: Final = 3 * NS_PER_SECOND // 2
"""A request in flight for longer hangs: others do not wait for it."""

_HUNG_MAX: Final = 8
"""So many that hang are no hindrance to others: connections to spare there are no more."""

_REFUSED_NAMES_MAX: Final = 64

_NO_SUCH_ORDER: Final = OrderId("9" * 20)
"""Above 2**64: no venue of this interface gives it out, so a cancel of it changes nothing."""

_TRADE: Final = Key.TRADE
_STANDBY: Final = Key.STANDBY

_REFUSED_FINDING: Final = {
    Key.TRADE: "key_refused",
    Key.READ: "read_key_refused",
    Key.STANDBY: "standby_key_refused",
}


_K = TypeVar("_K")
_V = TypeVar("_V")


class Pending(msgspec.Struct, frozen=True):
    """A request that has left and has no answer yet. number: its count in the key's purse."""

    request: Request
    own: OwnOrder | None
    begun_ns: int
    key: Key = Key.TRADE
    number: int = 0


class _Credential:
    """A key's purse, our number in it, and until when nothing may leave on the key."""

    def __init__(self, purse: RequestBudget, user: int) -> None:
        self.purse = purse
        self.user = user
        self.stopped_until_ns: int | None = None


class Outbox:
    """Collects effects; the one place that makes request ids and takes tokens.

    writes_max: so many writes may be in flight, a few that hang not counted, before a cancel waits.
    A request that finds no connection outside would queue there until its timeout.
    """

    def __init__(
        self,
        budget: BudgetSettings,
        keys: KeySettings | None = None,
        purse: RequestBudget | None = None,
        read_purse: RequestBudget | None = None,
        standby_purse: RequestBudget | None = None,
        breakers: CircuitBreakers | None = None,
    ) -> None:
        """purse, read_purse, standby_purse: shared with others on the same credential; None is one
        of our own. breakers: count the writes and hold back new ones; None: nothing does."""
        keys = KeySettings() if keys is None else keys
        self.effects: list[Effect] = []
        self.reactions: dict[RequestId, Reaction] = {}
        """Of the requests among `effects`, those that react to a move of the market."""
        self._credentials = {Key.TRADE: _joined(purse, budget)}
        if keys.read:
            self._credentials[Key.READ] = _joined(read_purse, budget)
        if keys.standby:
            self._credentials[Key.STANDBY] = _joined(standby_purse, budget)
        self._trade = self._credentials[Key.TRADE]
        self._reads_on = Key.READ if keys.read else Key.TRADE
        self.purse = self._trade.purse
        self.pending: dict[RequestId, Pending] = {}
        self.writes_in_flight = 0
        self.writes_max = PaceSettings().requests_in_flight
        self.findings: dict[str, str] = {}
        self.inconsistencies = InconsistencyMonitor()
        self.counters = Counters()
        self.first_fault = ""
        self._last_id = 0
        self.breakers = breakers
        self.dry_ns: dict[Priority, int] = {}
        """When a request of a priority was last denied a token."""

    @property
    def user(self) -> int:
        """Our number among those that spend from `purse`."""
        return self._trade.user

    def purse_of(self, key: Key) -> RequestBudget | None:
        """The budget of a key, for another trader to share; None without such a key."""
        credential = self._credentials.get(key)
        return None if credential is None else credential.purse

    def note(self, level: str, name: str, /, **fields: str | int) -> None:
        """Log for a person or a metric; see `Noted`."""
        self.effects.append(Noted(level, name, dict(fields)))

    def find(self, name: str, text: str) -> None:
        """Keep a finding until it is cleared; logged once, when it is new."""
        if name not in self.findings:
            self.note("error", name, text=text)
        self.findings[name] = text

    def clear(self, name: str) -> None:
        """A finding no longer holds."""
        if self.findings.pop(name, None) is not None:
            self.note("info", f"{name}_cleared")

    def hold(self, name: str, text: str) -> None:
        """Keep a finding while there is a text, else clear it."""
        if text:
            self.find(name, text)
        else:
            self.clear(name)

    def took(self, fate: str) -> None:
        _count(self.counters.takes, str(fate))

    def holds_back(self, limit: str) -> None:
        """Count a wanted order or change that a limit held back. limit: of a small closed set."""
        _count(self.counters.held_back, limit)

    def on_event(self) -> None:
        """Begin with no effects: the next event has come."""
        self.effects, self.reactions = [], {}

    def reacts(self, reaction: Reaction | None) -> None:
        """The request that has just been sent reacts to a move; None: to none."""
        if reaction is not None:
            self.reactions[RequestId(self._last_id)] = reaction

    # --- sending ----------------------------------------------------------------------------------

    def send(
        self,
        request: Request,
        lane: Priority,
        why: str,
        now_ns: int,
        own: OwnOrder | None = None,
        probed: Key | None = None,
    ) -> bool:
        """Send a request if a token may be spent on it. False, and nothing changed, if not. probed:
        the key that it asks about, if that is all it is for."""
        kind, breakers = _WRITE_KINDS.get(type(request), "read"), self.breakers
        key = probed or (self._reads_on if kind == "read" else _TRADE)
        if kind == "cancel" and probed is None and self._trade.stopped_until_ns is not None:
            key = _STANDBY if _STANDBY in self._credentials else _TRADE
        if (
            breakers is not None
            and isinstance(request, (Create, AmendResting))
            and not (isinstance(request, Create) and request.again)
            and not breakers.admits(request, now_ns)
        ):
            return False
        credential = self._credentials[key]
        if credential.stopped_until_ns is not None and now_ns < credential.stopped_until_ns:
            return False
        if kind == "cancel" and self._is_full(now_ns):
            return False
        purse = credential.purse
        if not purse.spend(lane, now_ns, credential.user):
            if self.dry_ns.get(lane) != now_ns:
                _count(self.counters.denied, lane.name.lower())
            self.dry_ns[lane] = now_ns
            return False
        if credential.stopped_until_ns is not None:
            # This one goes through as the probe; the next waits for its answer.
            credential.stopped_until_ns = now_ns + KEY_STOP_NS
        self._last_id += 1
        request_id = RequestId(self._last_id)
        self.pending[request_id] = Pending(request, own, now_ns, key, purse.spent)
        self.counters.requests[kind] += 1
        if kind != "read":
            self.writes_in_flight += 1
        self.effects.append(Send(request_id, request, why, key))
        if breakers is not None and kind != "read" and probed is None:
            # What an earlier run or a person left here, or what the operator wants no more, is no
            # sign of a mad strategy, however much it is.
            is_left = own is not None and (
                own.from_previous_run or own.why == CancelReason.BEYOND_LIMITS
            )
            if not (is_left and kind == "cancel"):
                breakers.on_send(request, now_ns)
        return True

    def _is_full(self, now_ns: int) -> bool:
        """True if as many writes are in flight as may be, a few that hang not counted."""
        if self.writes_in_flight < self.writes_max:
            return False
        hang = sum(
            kind_of(each.request) != "read" and now_ns >= each.begun_ns + HANGS_NS
            for each in self.pending.values()
        )
        return self.writes_in_flight - min(hang, _HUNG_MAX) >= self.writes_max

    def probe_key(self, now_ns: int) -> None:
        """Probe a refused key, where nothing else is sent on it: with a cancel of
        what cannot exist, as often as a refused key may be tried. The trade key where there are
        others; the standby key while the trade key works."""
        if len(self._credentials) == 1:
            return
        asked = Key.STANDBY if self._trade.stopped_until_ns is None else Key.TRADE
        credential = self._credentials.get(asked)
        if credential is not None and credential.stopped_until_ns is not None:
            request = CancelResting(_NO_SUCH_ORDER)
            why = "does the key work"
            self.send(request, Priority.RECOVER, why, now_ns, probed=asked)

    def flat_ns(self, resting: int, now_ns: int) -> int:
        """How long until the last cancel has left, if `resting` orders of ours were cancelled now
        and those of everybody else on the key."""
        return self.purse.flat_ns(resting, now_ns, self._trade.user)

    def rests(self, resting: int) -> None:
        """So many orders of ours may be live: others on the key count them into theirs."""
        self.purse.rests(resting, self._trade.user)

    def foreign_tokens(self) -> int:
        """Tokens that somebody else took from our rate limits, where that is a finding; else 0."""
        found = (each.purse.foreign for each in self._credentials.values())
        return sum(foreign.missing for foreign in found if foreign.is_found)

    # --- answers ----------------------------------------------------------------------------------

    def answered(self, replied: Response, now_ns: int) -> Pending | None:
        """Account for an answer. None when its request is not known (answered twice)."""
        pending = self.pending.pop(replied.request_id, None)
        if pending is None:
            return None
        if kind_of(pending.request) != "read":
            self.writes_in_flight -= 1
        answer = replied.answer
        credential = self._credentials[pending.key]
        credential.purse.answered(
            replied.tokens_left,
            now_ns,
            pending.number,
            replied.tokens_limit,
            is_throttled=isinstance(answer, Rejected) and answer.status == TOO_MANY,
        )
        self.hold("foreign_spend", self._foreign_text())
        if isinstance(answer, Rejected):
            self._refused(pending, answer, replied.retry_after_ns, now_ns)
            self._count_reject(pending.request, answer, now_ns)
        elif isinstance(answer, Unknown):
            self.counters.unknown_answers += 1
        else:
            credential.purse.eased(now_ns)
            self._key_works(pending.key)
        return pending

    def _count_reject(self, request: Request, answer: Rejected, now_ns: int) -> None:
        """Only rejects that are our own fault count: not funds, states and rate limits."""
        if self.breakers is None or kind_of(request) == "read" or not answer.status:
            return
        if row_for(answer.status, answer.code).culprit is Culprit.CALLER:
            self.breakers.on_reject(now_ns)

    def _foreign_text(self) -> str:
        """Foreign use of our rate limits, for a person; empty where that is no finding."""
        return "; ".join(
            f"somebody else took {each.purse.foreign.missing} tokens of the {key} key: fewer"
            f" requests of ours a second until that is over"
            for key, each in self._credentials.items()
            if each.purse.foreign.is_found
        )

    def _key_works(self, key: Key) -> None:
        if self._credentials[key].stopped_until_ns is not None:
            self._credentials[key].stopped_until_ns = None
            self.clear(_REFUSED_FINDING[key])

    def _refused(
        self, pending: Pending, answer: Rejected, retry_after_ns: int | None, now_ns: int
    ) -> None:
        is_unfit = answer.status == 0 and not _is_fit(pending.request)
        name = answer.code or (f"http_{answer.status}" if answer.status else "not_connected")
        name = "unfit_id" if is_unfit else name
        refused = self.counters.refused
        if name in refused or len(refused) < _REFUSED_NAMES_MAX:
            _count(refused, name)
        if is_unfit:
            return  # it never left: no other request waits for it
        credential = self._credentials[pending.key]
        if answer.status == 0:
            credential.purse.unserved(retry_after_ns, now_ns)
            return
        row = row_for(answer.status, answer.code)
        if row.advice is Advice.STOP_KEY:
            credential.stopped_until_ns = now_ns + KEY_STOP_NS
            text = f"{answer.status} {answer.code} on the {pending.key} key: nothing is sent on it"
            self.find(_REFUSED_FINDING[pending.key], text)
            return
        if answer.code in CODES:
            # Whatever else is wrong, the venue has let the key in.
            self._key_works(pending.key)
        if row.advice is not Advice.WAIT:
            credential.purse.eased(now_ns)
        elif answer.status == TOO_MANY:
            is_pace = answer.code == Code.RATE_LIMITED or row.culprit is Culprit.PACE
            self.counters.rate_limited += is_pace
            wait_ns = WAIT_DEFAULT_NS if retry_after_ns is None else retry_after_ns
            credential.purse.told_to_wait(wait_ns, now_ns)
        elif not isinstance(pending.request, ReadBook):
            # A venue without its market data store has no books to read, and all else to offer.
            credential.purse.unserved(retry_after_ns, now_ns)


def _count(counts: dict[str, int], name: str) -> None:
    counts[name] = counts.get(name, 0) + 1


def _joined(purse: RequestBudget | None, budget: BudgetSettings) -> _Credential:
    """Our part in a purse: that of others, or one of our own."""
    if purse is None:
        return _Credential(RequestBudget(budget, 0), 0)
    return _Credential(purse, purse.join())


def _is_fit(request: Request) -> bool:
    """True if the id that a request names is valid in a path; with another one it never leaves."""
    if isinstance(request, AmendResting | CancelResting | ReadOrder):
        return is_order_id(request.order_id)
    if isinstance(request, ReadSeries):
        return is_path_segment(request.series_ticker)
    return not isinstance(request, ReadBook) or is_path_segment(request.market_id)


def kind_of(request: Request) -> str:
    """create, amend, cancel or read."""
    return _WRITE_KINDS.get(type(request), "read")


_WRITE_KINDS: Final[Mapping[type, str]] = {
    Create: "create",
    AmendResting: "amend",
    CancelResting: "cancel",
}


def keep_newest(of: OrderedDict[_K, _V], key: _K, value: _V, at_most: int) -> None:
    """Put a key last in a map of at most so many; the oldest goes."""
    of[key] = value
    of.move_to_end(key)
    if len(of) > at_most:
        of.popitem(last=False)
    assert len(of) <= at_most
