"""Claims about the answers of a strategy: which rungs they change, and what is looked at anew."""

from collections.abc import Mapping

from bot.core.event.answers import Answers
from bot.core.strategy import EventView, Quote, Quotes, Strategy
from tests.strategies.views import rung, view
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId

A, B, C = MarketId("m0"), MarketId("m1"), MarketId("m2")
ONE = (Quote(BookSide.BID, Price(40), Qty(5)),)
TWO = (Quote(BookSide.BID, Price(41), Qty(5)),)


class Says(Strategy):
    """Answers what it was told to."""

    def __init__(self) -> None:
        super().__init__(None)
        self.next: Quotes = {}

    def quote(self, view: EventView) -> Quotes:
        return self.next


def asked(answers: Answers, says: Says, quotes: Mapping[MarketId, tuple[Quote, ...]]) -> None:
    says.next = quotes
    seen = view(rung(0, 60.0), rung(1, 50.0), rung(2, 40.0))
    assert answers.ask(says, seen) == quotes


def test_what_is_anew_is_told_whatever_the_order_of_the_rungs_in_an_answer() -> None:
    answers, says = Answers(), Says()
    asked(answers, says, {A: ONE, B: ONE, C: ONE})
    assert answers.anew is None
    asked(answers, says, {A: ONE, B: TWO, C: ONE})
    assert answers.anew == [B]
    asked(answers, says, {C: TWO, B: TWO, A: ONE})
    assert answers.anew == [C]
    before = answers.resting
    asked(answers, says, {A: ONE, B: TWO, C: TWO})
    assert answers.resting is before


def test_other_rungs_than_before_are_told_as_that() -> None:
    answers, says = Answers(), Says()
    asked(answers, says, {A: ONE, B: ONE})
    asked(answers, says, {A: ONE, C: ONE})
    assert answers.anew is None
    asked(answers, says, {A: ONE})
    assert answers.anew is None
    asked(answers, says, {})
    assert answers.resting == {}
