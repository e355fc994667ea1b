"""Requests on their way and back: latency, lost replies, refusals for pace, late commits."""

import random
from typing import TYPE_CHECKING, Final

from bot.core import messages as m
from bot.lab.exchange.exchange import refusal
from bot.lab.exchange.faults import Dice
from bot.lab.sim.life.process import Process
from bot.lab.sim.odds import MS, SECOND
from bot.lab.sim.transport import tamper
from venue.read.account import shown_order
from venue.wire.errors import Code, Sequenced, row_for
from venue.wire.instant import is_zero
from venue.wire.limits import RATE_PER_SECOND

if TYPE_CHECKING:
    from bot.lab.sim.world import World

_REFUSALS: Final = {
    "engine_overloaded": Code.ENGINE_OVERLOADED,
    "engine_unavailable": Code.ENGINE_UNAVAILABLE,
    "rate_limited": Code.RATE_LIMITED,
    "rate_limited_bare": Code.RATE_LIMITED,
}
_UNKNOWNS: Final = {
    "internal_error": (500, "internal_error"),
    "result_unknown": (503, "result_unknown"),
    "reset": (0, "connection reset"),
}
_KINDS: Final[dict[type, str]] = {
    m.Create: "create",
    m.AmendResting: "amend",
    m.CancelResting: "cancel",
}
_OFTENER: Final = {"late_commit": 5}
_OF_BOOKS: Final = ("book_emptied", "book_unavailable")
_WAIT_NS: Final = -(-SECOND // RATE_PER_SECOND)


class Call:
    """One request on its way. relayed: another copy's answer is the one that comes back."""

    __slots__ = ("answered", "effect", "fault", "kind", "process", "relayed", "sent_ns")

    def __init__(self, process: Process, effect: m.Send, kind: str, sent_ns: int) -> None:
        self.process = process
        self.effect = effect
        self.kind = kind
        self.sent_ns = sent_ns
        self.fault = ""
        self.answered = False
        self.relayed = False

    @property
    def request(self) -> m.Request:
        return self.effect.request

    @property
    def again(self) -> bool:
        return isinstance(self.request, m.Create) and self.request.again


class Network:
    """Between the processes and the venue.

    outage, throttled, revoked: what an episode does to every request meanwhile; stubborn: to every
    create that is sent again. foreign_replies: so many more writes get a response about another
    order.
    """

    def __init__(self, world: "World", rng: random.Random) -> None:
        self._world = world
        self._rng = rng
        odds = world.odds
        dice = random.Random(f"request dice {odds.seed}")
        # Writes are few, and so are reads of books: what befalls them is drawn more often.
        writes = {
            name: _OFTENER.get(name, 2) * chance
            for name, chance in {**odds.request_faults, **odds.write_faults}.items()
        }
        reads = {**odds.request_faults, **odds.read_faults}
        books = {name: 3 * chance for name, chance in odds.read_faults.items() if name in _OF_BOOKS}
        self._books = Dice(random.Random(f"book dice {odds.seed}"), books, odds.without)
        self._writes = Dice(dice, writes, odds.without)
        self._reads = Dice(dice, reads, odds.without)
        self._low_ns, high_ns = odds.one_way_ns
        self._span_ns = high_ns - self._low_ns
        self._timeout_ns = odds.timeout_ns
        self._last_arrival_ns = 0
        self._says_duplicate = odds.has("says_duplicate")
        self._odd_costs = odds.has("odd_costs")
        self.outage = False
        self.throttled = False
        self.revoked = False
        self.stubborn = False
        self.foreign_replies = 0
        self._foreign_to: object = None  # the life that had one

    def _one_way(self) -> int:
        return self._low_ns + int(self._rng.random() * self._span_ns)

    # --- out --------------------------------------------------------------------------------------

    def send(self, process: Process, effect: m.Send) -> None:
        world = self._world
        call = Call(process, effect, _KINDS.get(type(effect.request), "read"), world.now_ns)
        if world.faulty:
            call.fault = (self._reads if call.kind == "read" else self._writes).roll()
        world.seen.hit(call.kind)
        if self.outage:
            world.seen.fault("outage_request")
            self._never_leaves(call)
            return
        match call.fault:
            case "not_connected":
                self._note(call)
                self._never_leaves(call)
            case "lost_before":
                self._note(call)
                self._copy_ends(call)
                self._gives_up(call)
            case "late_commit":
                self._note(call)
                self._gives_up(call)
                late_ns = self._timeout_ns + int(self._rng.random() * world.odds.late_ns)
                world.after(late_ns + self._one_way(), lambda: self._arrive(call))
            case "delayed":
                self._note(call)
                slow_ns = int(self._rng.random() * self._timeout_ns)
                world.after(slow_ns + self._one_way(), lambda: self._arrive(call))
            case _:
                world.after(self._one_way(), lambda: self._arrive(call))

    def _note(self, call: Call) -> None:
        self._world.seen.fault(f"{call.fault}:{call.kind}")

    def _never_leaves(self, call: Call) -> None:
        self._copy_ends(call)
        self._world.after(0, lambda: self._reply(call, m.Refused(0, "", "connect")))

    def _gives_up(self, call: Call) -> None:
        unknown = m.Unknown("no answer in time")
        left_ns = call.sent_ns + self._timeout_ns - self._world.now_ns
        self._world.after(max(0, left_ns), lambda: self._reply(call, unknown))

    def _copy_ends(self, call: Call) -> None:
        self._world.auditor.flight.copy_ends(call.request)

    # --- at the venue -----------------------------------------------------------------------------

    def _arrive(self, call: Call) -> None:
        answer, tokens, retry_ns = self._admitted(call)
        self._copy_ends(call)
        if call.again and isinstance(answer, m.Refused):
            self._world.seen.hit("resend_refused")
        if call.answered or call.relayed:
            return
        if call.fault in ("lost_after", "reset_after"):
            self._note(call)
            if call.fault == "lost_after":
                self._gives_up(call)
                return
            answer, tokens, retry_ns = m.Unknown("connection reset"), None, None
        back_ns = self._one_way()
        if call.fault == "delayed":
            back_ns += int(self._rng.random() * self._timeout_ns)
        world = self._world
        if world.now_ns + back_ns - call.sent_ns > self._timeout_ns:
            self._gives_up(call)
            return
        world.after(back_ns, lambda: self._reply(call, answer, tokens, retry_ns))

    def _admitted(self, call: Call) -> tuple[m.Answer, int | None, int | None]:
        world, fault = self._world, call.fault
        now_ns, seen = world.now_ns, world.seen
        if fault == "redirected":
            self._note(call)
            return m.Unknown("307"), None, None
        if self.revoked and call.effect.key is m.Key.TRADE:
            seen.fault("revoked_request")
            return refusal(Code.UNAUTHENTICATED), None, None
        if now_ns - self._last_arrival_ns < MS:
            seen.hit("bunched")
        self._last_arrival_ns = now_ns
        bucket = world.exchange.front.bucket(call.effect.key, now_ns)
        if call.effect.key is m.Key.TRADE and not bucket.take(now_ns):
            seen.hit("rate_limited_for_real")
            return refusal(Code.RATE_LIMITED), 0, _WAIT_NS
        tokens: int | None = bucket.whole_tokens
        if self.throttled:
            seen.fault("throttled_request")
            return refusal(Code.RATE_LIMITED), tokens, SECOND // 2
        if fault in _REFUSALS:
            self._note(call)
            retry_ns = self._rng.choice((0, SECOND, 2 * SECOND))
            if fault == "rate_limited_bare":
                return refusal(Code.RATE_LIMITED), None, None
            return refusal(_REFUSALS[fault]), tokens, retry_ns if "_un" not in fault else None
        name, _, when = fault.rpartition("_")
        if when == "before":
            self._note(call)
            return _failure(*_UNKNOWNS[name]), tokens, None
        answer = self._carried_out(call)
        if when == "after" and name in _UNKNOWNS and fault != "reset_after":
            self._note(call)
            answer = _failure(*_UNKNOWNS[name])
        elif fault == "gateway_page":
            self._note(call)
            answer = m.Unknown("502")
        elif fault == "garbled_reply":
            self._note(call)
            answer = tamper.garbled(call.request, answer, self._rng)
        elif fault in ("headers_absent", "headers_odd"):
            self._note(call)
            tokens = None if fault == "headers_absent" else 10**9
        return answer, tokens, None

    def _carried_out(self, call: Call) -> m.Answer:
        request = call.request
        if isinstance(request, m.Create | m.AmendResting | m.CancelResting):
            return self._write(call, request)
        return self._read(call, request)

    # --- writes -----------------------------------------------------------------------------------

    def _write(self, call: Call, request: m.Write) -> m.Answer:
        world, fault, seen = self._world, call.fault, self._world.seen
        if fault in ("invalid_request", "unknown_code") and call.kind != "cancel":
            self._note(call)
            code = "invalid_request" if fault == "invalid_request" else "self_made_trouble"
            return m.Refused(422, code, "")
        if fault == "not_found" and call.kind != "create":
            self._note(call)
            return refusal(Code.ORDER_NOT_FOUND)
        if call.again and self.stubborn:
            seen.fault("resend_barred")
            return m.Refused(422, "invalid_request", "")
        if world.contradictor is not None:
            request = world.contradictor.meant(request)
        answer = world.exchange.front.perform(request, world.now_ns)
        if world.contradictor is not None:
            answer = world.contradictor.wrote(request, answer)
        if call.again and self._says_duplicate and isinstance(answer, m.Done) and world.faulty:
            world.seen.fault("says_duplicate:create")
            return refusal(Code.DUPLICATE_ORDER_ID)
        if fault == "duplicated" and isinstance(answer, m.Done) and _is_repeatable(request):
            self._note(call)
            self._second_copy(call, request)
        if isinstance(answer, m.Refused):
            seen.hit(f"{answer.code}:{call.kind}")
        elif isinstance(answer, m.Done):
            self._observe(call, request, answer)
            if self.foreign_replies:
                answer = self._about_another(call, answer)
        return answer

    def _about_another(self, call: Call, answer: m.Done) -> m.Answer:
        request, body = call.request, answer.body
        about = body.order.order_id if isinstance(body, m.OrderShown | m.CancelShown) else ""
        engine = self._world.exchange.engine
        others = [each for each in self._world.auditor.truth.ours() if each.order_id != about]
        order = engine.order(others[0].order_id) if others else None
        process = self._world.process
        if order is None:
            return answer
        self.foreign_replies -= 1
        if self._world.contradictor is None and process is self._foreign_to:
            return answer  # a second one in a life is a contradiction
        self._foreign_to = process
        self._world.seen.fault(f"foreign_reply:{call.kind}")
        if self._world.contradictor is not None:
            self._world.contradictor.says()
        name = self._world.auditor.truth.names[order.order_id]
        shown = shown_order(order, created_ns=order.created_ns, client_order_id=name)
        if isinstance(request, m.CancelResting):
            return m.Done(m.CancelShown(shown, order.remaining_qty))
        return m.Done(m.OrderShown(shown))

    def _second_copy(self, call: Call, request: m.Write) -> None:
        world = self._world
        if isinstance(request, m.AmendResting):
            world.exchange.front.perform(request, world.now_ns)
            return
        call.relayed = self._rng.random() < 0.5

        def arrive() -> None:
            answer = world.exchange.front.perform(request, world.now_ns)
            if call.relayed:
                world.after(self._one_way(), lambda: self._reply(call, answer))

        world.after(1 + self._one_way(), arrive)

    def _observe(self, call: Call, request: m.Write, answer: m.Done) -> None:
        seen = self._world.seen
        if isinstance(request, m.Create) and call.again:
            known = request.order.client_order_id in self._world.landed
            seen.hit("resend_found" if known else "resend_landed")
        if isinstance(request, m.Create):
            self._world.landed[request.order.client_order_id] = None
        elif isinstance(answer.body, m.CancelShown):
            if answer.body.reduced_by == 0:
                seen.hit("cancel_of_nothing")
            elif answer.body.order.filled_qty < answer.body.order.qty - answer.body.reduced_by:
                seen.hit("cancel_after_fill")
        if call.fault == "late_commit":
            seen.hit(f"landed_late:{call.kind}")

    # --- reads ------------------------------------------------------------------------------------

    def _read(self, call: Call, request: m.Read) -> m.Answer:
        world, seen = self._world, self._world.seen
        front = world.exchange.front
        if call.fault == "not_found" and isinstance(request, m.ReadOrder):
            self._note(call)
            return refusal(Code.ORDER_NOT_FOUND)
        is_stale = self._rng.random() < world.odds.slow_read
        answer = front.perform(request, world.now_ns, stale=is_stale)
        if (front.stale if is_stale else front.replica).next_due_ns() is not None:
            seen.hit("stale_read")
        if world.contradictor is not None:
            answer = world.contradictor.shown(request, answer)
        if getattr(request, "cursor", ""):
            seen.hit("page")
        if isinstance(answer, m.Done):
            body = answer.body
            if isinstance(body, m.BookShown) and is_zero(body.book.as_of):
                seen.hit("zero_book")
            if isinstance(body, m.PositionsShown) and body.positions and self._odd_costs:
                seen.fault("odd_costs:read")
                answer = tamper.with_odd_costs(body, self._rng)
        if call.fault == "" and isinstance(request, m.ReadBook) and world.faulty:
            call.fault = self._books.roll()
        spoiled = tamper.spoiled_read(call.fault, request, answer, self._rng)
        if spoiled is not None:
            self._note(call)
            return spoiled
        return answer

    # --- back -------------------------------------------------------------------------------------

    def _reply(
        self,
        call: Call,
        answer: m.Answer,
        tokens: int | None = None,
        retry_ns: int | None = None,
    ) -> None:
        if call.answered:
            return
        call.answered = True
        replied = m.Replied(call.effect.request_id, answer, tokens, retry_ns)
        self._world.deliver(call.process, replied)


def _is_repeatable(request: m.Write) -> bool:
    """Whether a second copy leaves what the first one did.

    An amend of size sets the remainder, so a second one after a fill would add to it (S13): no
    client could survive a network that does so.
    """
    return not isinstance(request, m.AmendResting) or request.amend.qty is None


def _failure(status: int, code: str) -> m.Answer:
    if status == 0 or row_for(status, code).sequenced is Sequenced.UNKNOWN:
        return m.Unknown(f"{status or ''} {code}".strip())
    return m.Refused(status, code, "")
