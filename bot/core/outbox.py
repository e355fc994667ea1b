"""What one call of the trader wishes for: requests paid from the purse, notes, and the counters.

Source: design, laws 2, 3 and 6; reliability, B5, B14.
"""

import msgspec

from bot.core.messages import (
    AmendResting,
    CancelResting,
    Create,
    Effect,
    Noted,
    Refused,
    Replied,
    Request,
    RequestId,
    Send,
    Unknown,
)
from bot.core.order import OwnOrder
from bot.core.report import Counters
from bot.core.settings import BudgetSettings
from bot.core.spend import Lane, Purse
from venue.wire.errors import Advice, Code, Culprit, row_for

_KEY_STOP_NS = 10_000_000_000
"""After a 401 or 403 nothing leaves for so long; then one request asks whether the key works."""


class Pending(msgspec.Struct, frozen=True):
    """A request that has left and has no answer yet."""

    request: Request
    own: OwnOrder | None
    begun_ns: int


class Outbox:
    """Collects effects; the one place that makes request ids and takes tokens."""

    def __init__(self, budget: BudgetSettings) -> None:
        self.effects: list[Effect] = []
        self.purse = Purse(budget, 0)
        self.pending: dict[RequestId, Pending] = {}
        self.writes_in_flight = 0
        self.findings: dict[str, str] = {}
        self.requests = {"create": 0, "amend": 0, "cancel": 0, "read": 0}
        self.refused: dict[str, int] = {}
        self.unknown_answers = 0
        self.rate_limited = 0
        self.frames = 0
        self.frames_garbled = 0
        self.decisions = 0
        self.self_trades = 0
        self.strategy_errors = 0
        self.amends_kept_place = 0
        self.amends_lost_place = 0
        self._last_id = 0
        self._key_stopped_until_ns: int | None = None

    def note(self, level: str, name: str, **fields: str | int) -> None:
        """Tell a person or a metric; see `Noted`."""
        self.effects.append(Noted(level, name, dict(fields)))

    def find(self, name: str, text: str) -> None:
        """Keep a finding until it is cleared; told once, when it is new."""
        if name not in self.findings:
            self.note("error", name, text=text)
        self.findings[name] = text

    def clear(self, name: str) -> None:
        """A finding no longer holds."""
        if self.findings.pop(name, None) is not None:
            self.note("info", f"{name}_cleared")

    def send(
        self, request: Request, lane: Lane, why: str, now_ns: int, own: OwnOrder | None = None
    ) -> bool:
        """Send a request if a token may be spent on it. False, and nothing changed, if not."""
        if self._key_stopped(now_ns) or not self.purse.spend(lane, now_ns):
            return False
        self._last_id += 1
        request_id = RequestId(self._last_id)
        self.pending[request_id] = Pending(request, own, now_ns)
        kind = kind_of(request)
        self.requests[kind] += 1
        if kind != "read":
            self.writes_in_flight += 1
        self.effects.append(Send(request_id, request, why))
        return True

    def _key_stopped(self, now_ns: int) -> bool:
        if self._key_stopped_until_ns is None:
            return False
        if now_ns < self._key_stopped_until_ns:
            return True
        # One request goes through as the probe; the next waits for its answer.
        self._key_stopped_until_ns = now_ns + _KEY_STOP_NS
        return False

    def answered(self, replied: Replied, now_ns: int) -> Pending | None:
        """Account for an answer. None when its request is not known (answered twice)."""
        pending = self.pending.pop(replied.request_id, None)
        if pending is None:
            return None
        if kind_of(pending.request) != "read":
            self.writes_in_flight -= 1
        self.purse.answered(replied.tokens_left, now_ns)
        answer = replied.answer
        if isinstance(answer, Refused):
            self._refused(answer, replied.retry_after_ns, now_ns)
            return pending
        if isinstance(answer, Unknown):
            self.unknown_answers += 1
            return pending
        self.purse.eased()
        if self._key_stopped_until_ns is not None:
            self._key_stopped_until_ns = None
            self.clear("key_refused")
        return pending

    def _refused(self, answer: Refused, retry_after_ns: int | None, now_ns: int) -> None:
        name = answer.code or (f"http_{answer.status}" if answer.status else "not_connected")
        if name in self.refused or len(self.refused) < _REFUSED_NAMES_MAX:
            self.refused[name] = self.refused.get(name, 0) + 1
        if answer.status == 0:
            self.purse.told_to_wait(retry_after_ns, now_ns)
            return
        row = row_for(answer.status, answer.code)
        if row.advice is Advice.WAIT:
            self.purse.told_to_wait(retry_after_ns, now_ns)
            if answer.code == Code.RATE_LIMITED or row.culprit is Culprit.PACE:
                self.rate_limited += 1
        elif row.advice is Advice.STOP_KEY:
            self._key_stopped_until_ns = now_ns + _KEY_STOP_NS
            self.find("key_refused", f"{answer.status} {answer.code}: no request is sent on it")
        else:
            self.purse.eased()

    def counters(self, fills: int) -> Counters:
        """The totals as a report shows them."""
        return Counters(
            frames=self.frames,
            frames_garbled=self.frames_garbled,
            decisions=self.decisions,
            fills=fills,
            requests=dict(self.requests),
            amends_kept_place=self.amends_kept_place,
            amends_lost_place=self.amends_lost_place,
            refused=dict(self.refused),
            unknown_answers=self.unknown_answers,
            self_trades=self.self_trades,
            rate_limited=self.rate_limited,
            strategy_errors=self.strategy_errors,
        )


_REFUSED_NAMES_MAX = 64


def kind_of(request: Request) -> str:
    """create, amend, cancel or read."""
    if isinstance(request, Create):
        return "create"
    if isinstance(request, AmendResting):
        return "amend"
    if isinstance(request, CancelResting):
        return "cancel"
    return "read"
