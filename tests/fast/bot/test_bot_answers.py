"""Claims about the answers of a strategy: which rungs they change."""

from collections.abc import Mapping

from bot.strategy.api import EventView, Quote, Quotes, Strategy
from tests.builders.bot.thin import Thin
from venue.wire.money import BookSide, Price, Qty
from venue.wire.names import MarketId

ONE = (Quote(BookSide.BID, Price(30), Qty(5)),)
TWO = (Quote(BookSide.BID, Price(31), Qty(5)),)


class Says(Strategy):
    """Returns what it is given next."""

    def __init__(self) -> None:
        super().__init__(None)
        self.next: Quotes = {}

    def quote(self, view: EventView) -> Quotes:
        return self.next


class Asked(Thin):
    """A trader whose strategy is asked by hand."""

    def __init__(self) -> None:
        super().__init__([60, 50, 40], Says)
        self.start()
        self.ladder = self.trader.quoting.ladders[0]

    def answer_to(
        self, *wanted: tuple[int, tuple[Quote, ...]]
    ) -> Mapping[MarketId, tuple[Quote, ...]]:
        """The answer, by place of the rung."""
        quotes = {self.markets[at].market_id: rows for at, rows in wanted}
        self.ladder.strategy.next = quotes  # type: ignore[attr-defined]
        view = self.ladder.view(None, self.trader.desk, self.trader.ledgers, self.now_ns)
        answered = self.ladder.ask_strategy(view)
        assert answered == quotes
        return answered


def test_an_answer_equal_to_the_last_one_in_another_order_gives_the_same_mapping() -> None:
    of = Asked()
    of.answer_to((0, ONE), (1, ONE), (2, ONE))
    before = of.answer_to((2, TWO), (1, TWO), (0, ONE))
    assert of.answer_to((0, ONE), (1, TWO), (2, TWO)) is before


def test_a_rung_left_out_of_an_answer_has_no_quotes_any_more() -> None:
    of = Asked()
    of.answer_to((0, ONE), (1, ONE))
    of.answer_to((0, ONE), (2, ONE))
    of.answer_to((0, ONE))
    assert of.answer_to() == {}
