"""Claims about explaining an order of an event whose strategy was not asked."""

import msgspec

from bot.core import messages as m
from tests.builders.explain.lived import Lived, config
from tests.builders.io.commands import invoke
from venue.wire import model


class Listed(Lived):
    """Its venue lists the event in a state of its own."""

    status = model.EventStatus.OPEN

    def answer(self, request):
        answer = super().answer(request)
        if isinstance(request, m.ReadSeries):
            (event,) = answer.body.events
            event = msgspec.structs.replace(event, status=self.status)
            return m.Ok(m.SeriesBody((event,), ""))
        return answer


def test_an_expired_jump_guard_is_not_given_as_the_reason_of_later_cancels(tmp_path):
    run = Listed(config(tmp_path))
    run.begin()
    run.mids[1] += 8
    run.show(1)
    run.live(45)
    order_id, _ = run.newest
    assert run.trader.out.counters.news_pulls == 1
    run.status = model.EventStatus.UNOPENED
    run.live(12)
    assert not run.orders
    state = str(run.written(tmp_path / "state"))
    asked = ["explain", str(tmp_path / "thin.yaml"), order_id, "--state-dir", state]
    told = invoke(*asked).output
    assert "fixed_spread was not asked: event unopened" in told
