"""Claims about the answers of a strategy: which rungs they change, and what is looked at anew."""

from collections.abc import Mapping

from bot.core.quoting.quote_validator import QuoteValidator
from bot.strategy.api import EventView, Quote, Quotes, Strategy
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


def asked(
    answers: QuoteValidator, says: Says, quotes: Mapping[MarketId, tuple[Quote, ...]]
) -> None:
    says.next = quotes
    seen = view(rung(0, 60.0), rung(1, 50.0), rung(2, 40.0))
    assert answers.ask(says, seen) == quotes


def test_an_answer_equal_to_the_last_one_in_another_order_gives_the_same_mapping() -> None:
    answers, says = QuoteValidator(), Says()
    asked(answers, says, {A: ONE, B: ONE, C: ONE})
    asked(answers, says, {C: TWO, B: TWO, A: ONE})
    before = answers.resting
    asked(answers, says, {A: ONE, B: TWO, C: TWO})
    assert answers.resting is before


def test_a_rung_left_out_of_an_answer_has_no_quotes_any_more() -> None:
    answers, says = QuoteValidator(), Says()
    asked(answers, says, {A: ONE, B: ONE})
    asked(answers, says, {A: ONE, C: ONE})
    asked(answers, says, {A: ONE})
    asked(answers, says, {})
    assert answers.resting == {}
