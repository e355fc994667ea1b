"""Requests on their way and back: latency, lost replies, refusals for pace, late commits."""

import random
from typing import TYPE_CHECKING

from bot.core import messages as m
from tests.sim.odds import REQUEST_FAULTS, SECOND
from tests.sim.process import Process
from venue.wire.limits import RATE_PER_SECOND

if TYPE_CHECKING:
    from tests.sim.world import World

_REFUSALS = {
    "engine_overloaded": (429, "engine_overloaded"),
    "engine_unavailable": (503, "engine_unavailable"),
    "rate_limited": (429, "rate_limited"),
    "rate_limited_bare": (429, "rate_limited"),
}
_UNKNOWNS = {
    "internal_error": (500, "internal_error"),
    "result_unknown": (503, "result_unknown"),
    "gateway_page": (502, ""),
}


class Network:
    """Between the processes and the venue."""

    def __init__(self, world: "World", rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        self.faults_seen = dict.fromkeys(REQUEST_FAULTS, 0)

    def _fault(self) -> str:
        """The fault that befalls one request, empty for none."""
        if not self._world.faulty:
            return ""
        for name, chance in self._world.odds.request_faults.items():
            if self._rng.random() < chance:
                self.faults_seen[name] += 1
                return name
        return ""

    def _one_way(self) -> int:
        return self._rng.randint(*self._world.odds.one_way_ns)

    def send(self, process: Process, effect: m.Send) -> None:
        """A request leaves a process."""
        world, fault = self._world, self._fault()
        if fault == "not_connected":
            refused = m.Refused(0, "", "connect")
            world.after(0, lambda: self._reply(process, effect, refused))
            return
        if fault in ("lost_before", "lost_after", "late_commit"):
            world.after(
                world.odds.timeout_ns,
                lambda: self._reply(process, effect, m.Unknown("no answer in time")),
            )
            if fault == "lost_before":
                return
            late_ns = 0
            if fault == "late_commit":
                late_ns = world.odds.timeout_ns + self._rng.randint(0, world.odds.late_ns)
            world.after(late_ns + self._one_way(), lambda: self._arrive(effect, ""))
            return

        def arrive() -> None:
            answer, tokens, retry_ns = self._arrive(effect, fault)
            if isinstance(answer, m.Refused) and answer.code == "" and answer.status == 0:
                answer = m.Unknown("unreadable")
            world.after(
                self._one_way(), lambda: self._reply(process, effect, answer, tokens, retry_ns)
            )

        world.after(self._one_way(), arrive)

    def _arrive(self, effect: m.Send, fault: str) -> tuple[m.Answer, int | None, int | None]:
        """A request reaches the venue: its answer, the tokens left, and how long to wait."""
        world = self._world
        now_ns, exchange = world.now_ns, world.exchange
        taken = exchange.bucket.take(now_ns)
        tokens = exchange.bucket.whole_tokens
        if not taken:
            return m.Refused(429, "rate_limited", ""), 0, -(-SECOND // RATE_PER_SECOND)
        if fault in _REFUSALS:
            retry_ns = self._rng.choice((0, SECOND, 2 * SECOND))
            wait = retry_ns if fault in ("rate_limited", "engine_overloaded") else None
            return m.Refused(*_REFUSALS[fault], ""), tokens, wait
        name, _, when = fault.rpartition("_")
        if when == "before":
            return m.Refused(*_UNKNOWNS[name], ""), tokens, None
        if isinstance(effect.request, m.Create | m.AmendResting | m.CancelResting):
            answer = exchange.write(effect.request, now_ns)
        else:
            answer = self._read(effect.request)
        if when == "after":
            answer = m.Refused(*_UNKNOWNS[name], "")
        elif fault == "gateway_page":
            answer = m.Refused(*_UNKNOWNS[fault], "")
        return answer, tokens, None

    def _read(self, request: m.Read) -> m.Answer:
        exchange, now_ns = self._world.exchange, self._world.now_ns
        exchange.slow.advance(now_ns)
        slow = self._rng.random() < self._world.odds.slow_read
        return exchange.read(request, (exchange.slow if slow else exchange.fast).views)

    def _reply(
        self,
        process: Process,
        effect: m.Send,
        answer: m.Answer,
        tokens: int | None = None,
        retry_ns: int | None = None,
    ) -> None:
        replied = m.Replied(effect.request_id, answer, tokens, retry_ns)
        self._world.deliver(process, replied)
