"""Claims about the end of a run at a venue of which one answer never comes."""

import pytest

from bot.core import messages as m
from bot.core.report import Phase
from strategies.fixed_spread import FixedSpread
from tests.bot.thin import Thin


@pytest.mark.parametrize(
    "kind",
    [m.ReadResting, m.ReadFills, m.ReadBalance, m.ReadPositions],
    ids=lambda kind: kind.__name__,
)
def test_one_list_that_hangs_does_not_take_the_time_of_a_stop(kind):
    class Hung(Thin):
        """The first list of a kind that is asked for at the end is never told."""

        hangs = False

        def ask(self, send: m.Send) -> None:
            if self.hangs and isinstance(send.request, kind):
                self.hangs = False
            else:
                super().ask(send)

    thin = Hung([50], lambda: FixedSpread(FixedSpread.Params()))
    thin.start()
    thin.hangs = True
    thin.give(m.StopRequested("the end"))
    thin.run(4)
    assert not thin.hangs
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
                self.give(m.Replied(self.hung.request_id, told, 500))
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
