"""Stops at a venue that is slow, or that never answers one request."""

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from bot.core.settings import PaceSettings
from bot.io.client.rest import TIMEOUTS
from bot.io.run.runner import DRAIN_NS
from tests.builders.bot.thin import Thin
from venue.wire.instant import NS_PER_MS, NS_PER_SECOND


@pytest.mark.parametrize(
    "kind",
    [m.ReadResting, m.ReadFills, m.ReadBalance, m.ReadPositions],
    ids=lambda kind: kind.__name__,
)
def test_a_stop_proves_that_nothing_rests_though_one_list_times_out(kind):
    class Hung(Thin):
        """The first list of a kind during the stop times out."""

        is_armed = False
        hung: m.Send | None = None

        def ask(self, send: m.Send) -> None:
            if self.is_armed and self.hung is None and isinstance(send.request, kind):
                self.hung = send
            else:
                super().ask(send)

    thin = Hung([50])
    thin.start()
    thin.is_armed = True
    thin.give(m.StopRequested("the end"))
    thin.run(TIMEOUTS.read)
    assert thin.hung is not None
    thin.give(m.Response(thin.hung.request_id, m.Unknown("read timeout"), None))
    thin.run(DRAIN_NS / NS_PER_SECOND - TIMEOUTS.read)
    assert thin.trader.phase is Phase.STOPPED


@pytest.mark.parametrize("reply", [None, m.Unknown("late")], ids=["never", "late"])
def test_a_stop_resends_a_cancel_that_hangs(reply):
    class Hung(Thin):
        """The first cancel is never answered, or after the end."""

        hung: m.Send | None = None

        def ask(self, send: m.Send) -> None:
            if self.hung is None and isinstance(send.request, m.CancelResting):
                self.hung = send
            else:
                super().ask(send)

        def answer(self, request: m.Request) -> m.Answer:
            is_its = self.hung is not None and request == self.hung.request
            if is_its and reply is not None:
                self.give(m.Response(self.hung.request_id, reply, 500))
            return super().answer(request)

    thin = Hung([50])
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
    """Cancels are carried out at once and answered `late_ns` later."""

    late_ns = 0

    def __init__(self, pace: PaceSettings | None = None, mids: tuple[int, ...] = (50, 40)) -> None:
        super().__init__([*mids], pace=pace)
        self.in_flight: list[tuple[int, m.Response]] = []

    def ask(self, send: m.Send) -> None:
        if self.late_ns and isinstance(send.request, m.CancelResting):
            reply = m.Response(send.request_id, self.response(send.request), 500)
            self.in_flight.append((self.now_ns + self.late_ns, reply))
        else:
            super().ask(send)

    def response(self, request: m.CancelResting) -> m.Answer:
        """The venue's response, for a closed order too."""
        if request.order_id not in self.orders:
            return m.Rejected(422, "order_not_cancelable", "over")
        return self.answer(request)

    def stop(self, seconds: int) -> Phase:
        self.give(m.StopRequested("the end"))
        for _ in range(seconds * 10):
            due = [reply for at_ns, reply in self.in_flight if at_ns <= self.now_ns]
            self.in_flight = [row for row in self.in_flight if row[1] not in due]
            for reply in due:
                self.give(reply)
            self.run(0.1)
        return self.trader.phase


@pytest.mark.parametrize("late_ms", [1_600, 2_900, 3_100, 4_500])
def test_a_stop_waits_for_late_responses_to_its_cancels(late_ms):
    slow = Slow()
    slow.start()
    slow.late_ns = late_ms * NS_PER_MS
    assert len(slow.orders) > 2
    assert slow.stop(8) is Phase.STOPPED
    assert slow.trader.left_over().left == ()
    assert slow.trader.out.findings == {}


@pytest.mark.parametrize("answer", [m.Unknown("lost"), m.Rejected(422, "invalid_request", "no")])
def test_a_cancel_is_in_flight_at_most_twice(answer):
    slow = Slow()
    slow.start()
    slow.late_ns = 4_000 * NS_PER_MS
    slow.response = lambda request: answer
    slow.stop(8)
    for order_id in slow.orders:
        sent = [at for at, each in slow.sent if each == m.CancelResting(order_id)]
        assert len(sent) > 2, "and one whose answer has come is sent again"
        for third, first in zip(sent[2:], sent, strict=False):
            assert third >= first + slow.late_ns


def test_cancels_in_flight_stay_within_their_limit_and_the_next_follow_the_responses():
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


def test_cancels_that_hang_keep_no_other_cancel_waiting():
    thin = Slow(pace=PaceSettings(requests_in_flight=2))
    thin.start()
    thin.late_ns = 60_000 * NS_PER_MS
    thin.stop(4)
    asked = {each.order_id for _, each in thin.sent if isinstance(each, m.CancelResting)}
    assert len(asked) == 4


def test_cancels_that_hang_do_not_pile_up():
    thin = Slow(PaceSettings(requests_in_flight=2), mids=tuple(range(36, 52, 2)))
    thin.start()
    assert len(thin.orders) == 16
    thin.late_ns = 60_000 * NS_PER_MS
    thin.stop(8)
    assert 2 < thin.trader.out.writes_in_flight <= 10
