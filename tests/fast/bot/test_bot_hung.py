"""Claims about the end of a run at a venue of which one answer never comes."""

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import PaceSettings
from bot.io.client.rest import TIMEOUTS
from bot.io.run.runner import DRAIN_NS
from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND


@pytest.mark.parametrize(
    "kind",
    [m.ReadResting, m.ReadFills, m.ReadBalance, m.ReadPositions],
    ids=lambda kind: kind.__name__,
)
def test_one_list_that_hangs_leaves_a_stop_the_time_to_prove_itself(kind):
    class Hung(Thin):
        """The first list of a kind that is asked for at the end is answered by a timeout."""

        is_armed = False
        hung: m.Send | None = None

        def ask(self, send: m.Send) -> None:
            if self.is_armed and self.hung is None and isinstance(send.request, kind):
                self.hung = send
            else:
                super().ask(send)

    thin = Hung([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.is_armed = True
    thin.give(m.StopRequested("the end"))
    thin.run(TIMEOUTS.read)
    assert thin.hung is not None
    thin.give(m.Response(thin.hung.request_id, m.Unknown("read timeout"), None))
    thin.run(DRAIN_NS / NS_PER_SECOND - TIMEOUTS.read)
    assert thin.trader.phase is Phase.STOPPED


@pytest.mark.parametrize("told", [None, m.Unknown("late")], ids=["never", "late"])
def test_one_cancel_that_hangs_does_not_take_the_time_of_a_stop(told):
    class Hung(Thin):
        """The first cancel is not told, or when all is over."""

        hung: m.Send | None = None

        def ask(self, send: m.Send) -> None:
            if self.hung is None and isinstance(send.request, m.CancelResting):
                self.hung = send
            else:
                super().ask(send)

        def answer(self, request: m.Request) -> m.Answer:
            is_its = self.hung is not None and request == self.hung.request
            if is_its and told is not None:
                self.give(m.Response(self.hung.request_id, told, 500))
            return super().answer(request)

    thin = Hung([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.give(m.StopRequested("the end"))
    thin.run(4)
    assert thin.hung is not None
    assert thin.trader.phase is Phase.STOPPED
    assert thin.trader.left_over().left == ()
    assert thin.trader.out.findings == {}
    cancels = [each for _, each in thin.sent if each == thin.hung.request]
    assert len(cancels) == 2


class Slow(Thin):
    """From a moment on every cancel is carried out when it comes, and told so long after."""

    late_ns = 0

    def __init__(self, pace: PaceSettings | None = None, mids: tuple[int, ...] = (50, 40)) -> None:
        super().__init__([*mids], lambda: FixedSpread(FixedSpread.Params()), pace)
        self.on_its_way: list[tuple[int, m.Response]] = []

    def ask(self, send: m.Send) -> None:
        if self.late_ns and isinstance(send.request, m.CancelResting):
            reply = m.Response(send.request_id, self.said(send.request), 500)
            self.on_its_way.append((self.now_ns + self.late_ns, reply))
        else:
            super().ask(send)

    def said(self, request: m.CancelResting) -> m.Answer:
        """As the venue says it: of an order that is over, that it is."""
        if request.order_id not in self.orders:
            return m.Rejected(422, "order_not_cancelable", "over")
        return self.answer(request)

    def stop(self, seconds: int) -> None:
        """Ask for the end, and run on for so long."""
        self.give(m.StopRequested("the end"))
        for _ in range(seconds * 10):
            due = [reply for at_ns, reply in self.on_its_way if at_ns <= self.now_ns]
            self.on_its_way = [row for row in self.on_its_way if row[1] not in due]
            for reply in due:
                self.give(reply)
            self.run(0.1)


@pytest.mark.parametrize("late_ms", [1_600, 2_900, 3_100, 4_500])
def test_a_venue_that_is_slow_with_every_cancel_is_believed_when_it_answers(late_ms):
    slow = Slow()
    slow.start()
    slow.late_ns = late_ms * NS_PER_MS
    assert len(slow.orders) > 2
    slow.stop(8)
    assert slow.trader.phase is Phase.STOPPED
    assert slow.trader.left_over().left == ()
    assert slow.trader.out.findings == {}


@pytest.mark.parametrize("answer", [m.Unknown("lost"), m.Rejected(422, "invalid_request", "no")])
def test_however_slow_a_venue_is_no_cancel_is_under_way_more_than_twice(answer):
    slow = Slow()
    slow.start()
    slow.late_ns = 4_000 * NS_PER_MS
    slow.said = lambda request: answer
    slow.stop(8)
    for order_id in slow.orders:
        sent = [at for at, each in slow.sent if each == m.CancelResting(order_id)]
        assert len(sent) > 2, "and one whose answer has come is sent again"
        for third, first in zip(sent[2:], sent, strict=False):
            assert third >= first + slow.late_ns


def test_no_more_cancels_are_under_way_than_may_be_and_the_next_leave_as_answers_come():
    thin = Slow(pace=PaceSettings(requests_in_flight=2))
    thin.start()
    thin.late_ns = 400 * NS_PER_MS
    count = len(thin.orders)
    assert count == 4
    thin.stop(4)
    sent_ns = [at for at, each in thin.sent if isinstance(each, m.CancelResting)]
    assert len(sent_ns) == count
    for third, first in zip(sent_ns[2:], sent_ns, strict=False):
        assert first + 400 * NS_PER_MS <= third <= first + 700 * NS_PER_MS
    assert thin.trader.phase is Phase.STOPPED


def test_writes_that_hang_keep_no_cancel_waiting():
    thin = Slow(pace=PaceSettings(requests_in_flight=2))
    thin.start()
    thin.late_ns = 60_000 * NS_PER_MS
    thin.stop(4)
    asked = {each.order_id for _, each in thin.sent if isinstance(each, m.CancelResting)}
    assert len(asked) == 4


def test_where_everything_hangs_no_line_of_requests_grows():
    thin = Slow(PaceSettings(requests_in_flight=2), mids=tuple(range(36, 52, 2)))
    thin.start()
    assert len(thin.orders) == 16
    thin.late_ns = 60_000 * NS_PER_MS
    thin.stop(8)
    assert 2 < thin.trader.out.writes_in_flight <= 10
