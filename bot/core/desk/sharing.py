"""Whether somebody else spends tokens of our credential: what the venue counts against what we did.

The venue says after each request how many tokens are left. What our own requests alone could have
brought that to, at the least, is known: a request is counted between its sending and its answer, so
no arrangement of ours leaves fewer tokens than if each were counted at its answer and all that are
on their way now. Whatever is missing below that, somebody else took. Delayed and reordered answers
widen that bound and never narrow it, so they cannot raise the alarm.

Two ways lead to the finding. While the bucket is not full, what is missing adds up: more than a
hundred tokens within five seconds. While it is full all the time, what others take flows in again
at once; but a bucket that others use a share of the time is seen short in that share of the looks.

A count may be false: the answer may be a gateway's, or another request's. What one answer finds
stands at once, and is taken back where a later request is answered with more tokens than can have
flowed in since, which after a true count cannot be; what several found, once as many deny it.

Source: reliability, row 17; interface, Limits.
"""

from collections import OrderedDict, deque
from typing import Final

import msgspec

from venue.wire.instant import NS_PER_MS, NS_PER_SECOND
from venue.wire.limits import RATE_BURST, RATE_PER_SECOND

FOREIGN_PER_SECOND_MAX: Final = 20
WINDOW_NS: Final = 5 * NS_PER_SECOND
CLEAR_NS: Final = 30 * NS_PER_SECOND
LOOK_AGAIN_NS: Final = 100 * NS_PER_MS
"""While a part of the window was seen short, a read so often makes out how much is missing."""

_MODEL_NS: Final = WINDOW_NS // 2
_SHORT_LOOKS_MIN: Final = 4
_LATE_NS: Final = 10 * NS_PER_SECOND
"""A request without an answer from the venue may be counted there for so long."""

_FILLED_NS: Final = RATE_BURST * NS_PER_SECOND // RATE_PER_SECOND
"""However low a count was, so much later it contradicts none."""

_SENT_KEPT: Final = 2_000
_LOOKS_KEPT: Final = 1_000


class _Model:
    """The venue's bucket if only we used it, from one of its counts on.

    missing_e9: tokens x 10**9 below full at `at_ns`, each request of ours counted at its answer.
    """

    __slots__ = ("at_ns", "from_ns", "missing_e9")

    def __init__(self, missing: int, now_ns: int) -> None:
        self.missing_e9 = missing * NS_PER_SECOND
        self.from_ns = now_ns
        self.at_ns = now_ns


class _Sent(msgspec.Struct, frozen=True):
    """A request on its way. answers: how many had come when it left. missing_e9: the most that each
    model could be short right after it, by the model's first instant."""

    at_ns: int
    answers: int
    missing_e9: tuple[tuple[int, int], ...]


class _Look(msgspec.Struct, frozen=True):
    """A time in which requests of ours were on their way, and whether the bucket was seen short."""

    at_ns: int
    short: bool


class _Claim(msgspec.Struct, frozen=True):
    """What counts of late have found, and how far they are believed.

    tokens_left: the newest of these counts, made at `from_ns` or later. answers: how many had come
    with it. finders, deniers: answers for and against. found_ns, per_second: what stood before.
    """

    tokens_left: int
    from_ns: int
    answers: int
    finders: int
    deniers: int
    found_ns: int | None
    per_second: int

    def is_denied_by(self, sent: _Sent, tokens_left: int, now_ns: int) -> bool:
        """Whether a request that left later was answered with more than can have flowed in."""
        flowed_e9 = (now_ns - self.from_ns) * RATE_PER_SECOND
        more_e9 = (tokens_left - self.tokens_left) * NS_PER_SECOND
        return sent.answers >= self.answers and more_e9 > flowed_e9


class Sharing:
    """Feed it every request and every answer of one credential."""

    def __init__(self) -> None:
        self._models: list[_Model] = []
        self._sent: OrderedDict[int, _Sent] = OrderedDict()
        self._answers = 0
        self._late_ns: deque[int] = deque(maxlen=_SENT_KEPT)
        self._looks: deque[_Look] = deque()
        self._shorts = 0  # how many of them were short, and when the newest of these was
        self._short_ns = 0
        self._looked = False
        self._short = False
        self._found_ns: int | None = None
        self._per_second = 0
        self._claim: _Claim | None = None

    def sent(self, number: int, in_flight: int, now_ns: int) -> None:
        """A request has left. number: counts them from 1. in_flight: it included."""
        while self._late_ns and now_ns - self._late_ns[0] > _LATE_NS:
            self._late_ns.popleft()
        on_the_way_e9 = (in_flight + len(self._late_ns)) * NS_PER_SECOND
        self._flow(0, now_ns)
        depths = []
        for model in self._models:
            depths.append((model.from_ns, model.missing_e9 + on_the_way_e9))
        self._sent[number] = _Sent(now_ns, self._answers, tuple(depths))
        if len(self._sent) > _SENT_KEPT:
            self._sent.popitem(last=False)

    def answered(
        self,
        number: int,
        tokens_left: int | None,
        in_flight: int,
        newest: int,
        now_ns: int,
        *,
        definite: bool,
    ) -> None:
        """An answer. in_flight: without it. newest: the number of the youngest request sent."""
        self._answers += 1
        self._flow(NS_PER_SECOND, now_ns)
        if not definite:
            self._late_ns.append(now_ns)
        sent = self._sent.pop(number, None)
        if tokens_left is not None and sent is not None:
            self._compare(sent, tokens_left, newest - number, now_ns)
            # What was answered since it left may have been counted after it.
            self._renew(RATE_BURST - tokens_left + self._answers - 1 - sent.answers, now_ns)
        if in_flight == 0 and self._looked:
            self._looks.append(_Look(now_ns, self._short))
            if self._short:
                self._shorts += 1
                self._short_ns = now_ns
            self._looked = self._short = False
        self._weigh_looks(now_ns)

    def _flow(self, taken_e9: int, now_ns: int) -> None:
        """Let tokens flow into every model until now; then so many are taken."""
        for model in self._models:
            missing_e9 = model.missing_e9 - (now_ns - model.at_ns) * RATE_PER_SECOND
            model.missing_e9 = taken_e9 + (missing_e9 if missing_e9 > 0 else 0)
            model.at_ns = now_ns

    def _compare(self, sent: _Sent, tokens_left: int, younger: int, now_ns: int) -> None:
        """What is missing although we alone could not have taken it."""
        # Models go in the order in which they came.
        oldest_ns = self._models[0].from_ns if self._models else now_ns
        missing = RATE_BURST - tokens_left - younger
        found: int | None = None
        for from_ns, alone_e9 in sent.missing_e9:
            if from_ns < oldest_ns:
                continue
            foreign = missing + -alone_e9 // NS_PER_SECOND
            self._looked = True
            if foreign <= 0:
                continue
            self._short = True
            within_ns = max(WINDOW_NS, now_ns - from_ns)
            if foreign * NS_PER_SECOND > FOREIGN_PER_SECOND_MAX * within_ns:
                age_ns = max(1, now_ns - from_ns)
                found = foreign * NS_PER_SECOND // age_ns
        if found is not None:
            self._find_by_count(found, sent, tokens_left, now_ns)
        elif self._claim is not None and self._claim.is_denied_by(sent, tokens_left, now_ns):
            self._deny(self._claim)

    def _renew(self, missing: int, now_ns: int) -> None:
        """Begin a new model from this count every half window; the older ones grow no older."""
        if self._models and now_ns - self._models[-1].from_ns < _MODEL_NS:
            return
        self._models = [model for model in self._models if now_ns - model.from_ns < WINDOW_NS]
        self._models.append(_Model(missing, now_ns))

    def _weigh_looks(self, now_ns: int) -> None:
        looks = self._looks
        while looks and (now_ns - looks[0].at_ns > WINDOW_NS or len(looks) > _LOOKS_KEPT):
            self._shorts -= looks.popleft().short
        if self._shorts < _SHORT_LOOKS_MIN:
            return
        per_second = RATE_PER_SECOND * self._shorts // len(looks)
        if per_second > FOREIGN_PER_SECOND_MAX:
            self._find(per_second, now_ns)
            if self._claim is not None:
                # It needs no single count: taking one back leaves it.
                self._claim = msgspec.structs.replace(
                    self._claim, found_ns=now_ns, per_second=per_second
                )

    def _find_by_count(self, per_second: int, sent: _Sent, tokens_left: int, now_ns: int) -> None:
        claim = self._claim
        if claim is None or now_ns - claim.from_ns > _FILLED_NS:
            claim = _Claim(0, 0, 0, 0, 0, self._found_ns, self._per_second)
        self._claim = msgspec.structs.replace(
            claim,
            tokens_left=tokens_left,
            from_ns=sent.at_ns,
            answers=self._answers,
            finders=claim.finders + 1,
        )
        self._find(per_second, now_ns)

    def _deny(self, claim: _Claim) -> None:
        """Take back what counts have found, once as many speak against it as for it."""
        if claim.deniers + 1 < claim.finders:
            self._claim = msgspec.structs.replace(claim, deniers=claim.deniers + 1)
            return
        self._claim = None
        self._found_ns, self._per_second = claim.found_ns, claim.per_second

    def _find(self, per_second: int, now_ns: int) -> None:
        self._found_ns = now_ns
        self._per_second = per_second

    def per_second(self, now_ns: int) -> int:
        """Tokens a second that others took at the last finding; 0 once it is over."""
        return self._per_second if self.is_found(now_ns) else 0

    def is_found(self, now_ns: int) -> bool:
        """Whether others spent too much, until half a minute after it was last seen."""
        return self._found_ns is not None and now_ns - self._found_ns < CLEAR_NS

    def wants_look(self, now_ns: int) -> bool:
        """Whether a cheap read is worth its token: something was missing a moment ago."""
        return self._shorts > 0 and now_ns - self._short_ns <= WINDOW_NS
