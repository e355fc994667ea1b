"""Claims about the judge of what a told winner decides: the word is true, and nothing is sent."""

import pytest

from bot.core import messages as m
from bot.core.settings import RiskSettings
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.decided import Decided
from bot.lab.sim.judge.exposure import Exposure
from bot.lab.sim.judge.flight import Flight
from bot.lab.sim.judge.possible import Fees
from bot.lab.sim.judge.together import Account
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.seen import Seen
from bot.lab.sim.venue.simulated import market_id
from venue.wire.money import Cents, Outcome, Qty
from venue.wire.names import Ticker

RUNGS = [market_id(0, place) for place in range(4)]
OTHERS = [market_id(1, place) for place in range(4)]
YES, NO = Outcome.YES, Outcome.NO


def judge(place: int, winner: Outcome) -> Decided:
    """Of a life in which a rung has resolved so."""
    truth = Truth(resolved={RUNGS[place]: winner})
    markets = {Ticker("A"): RUNGS, Ticker("B"): OTHERS}
    risk = RiskSettings(
        event_loss_cents=Cents(1), series_loss_cents=Cents(1), rung_position_qty=Qty(1),
        order_qty=Qty(1),
    )  # fmt: skip
    flight = Flight(truth, [*RUNGS, *OTHERS])
    exposure = Exposure(risk, Fees("0"), truth, flight, markets, Account(Cents(1)))
    return Decided(truth, exposure, Seen())


def note(place: int, winner: Outcome) -> m.Noted:
    return m.Noted("debug", "winner_told", {"market_id": RUNGS[place], "winner": winner.value})


@pytest.mark.parametrize(
    ("place", "winner", "decided"), [(2, YES, [0, 1]), (1, NO, [2, 3]), (0, YES, []), (3, NO, [])]
)
def test_a_winner_that_was_told_decides_the_rungs_on_its_side_of_its_own_ladder(
    place, winner, decided
):
    judged = judge(place, winner)
    assert not any(map(judged.why, (*RUNGS, *OTHERS)))
    judged.noted(note(place, winner))
    assert [at for at, market in enumerate(RUNGS) if judged.why(market)] == decided
    assert not any(map(judged.why, OTHERS))


def test_what_an_earlier_life_was_told_decides_too():
    judged = judge(2, YES)
    judged.begins(((RUNGS[2], YES),))
    with pytest.raises(Broken, match="B4"):
        judged.may_send(RUNGS[0])
    judged.may_send(RUNGS[3])


@pytest.mark.parametrize("winner", [NO, None], ids=str)
def test_a_word_that_is_not_so_is_told(winner):
    judged = judge(2, YES)
    with pytest.raises(Broken, match="B9"):
        judged.noted(note(2, NO) if winner else note(1, YES))
