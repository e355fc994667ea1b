"""Claims about the judge of shares that no fill explains: when they must be known, and told."""

import pytest

from bot.core import messages as m
from bot.lab.sim.judge.broken import Broken
from bot.lab.sim.judge.differing import Differing
from bot.lab.sim.judge.truth import Truth
from bot.lab.sim.odds import SECOND
from bot.lab.sim.venue.exchange import MAKER, market_id
from venue.core import messages as v
from venue.wire.model import Liquidity
from venue.wire.money import Cents, Outcome, Price, Qty, Side
from venue.wire.names import OrderId

MARKET = market_id(0, 0)


class Case:
    """A life on whose account one share was bought that the list of fills lacks; reads lag by a
    second."""

    def __init__(self) -> None:
        fill = v.FillBooked(
            0, "f1", "t1", MAKER, OrderId("1"), MARKET, Outcome.YES, Side.BUY, Price(50),
            Price(50), Qty(1), Cents(0), Liquidity.TAKER,
        )  # fmt: skip
        self.truth = Truth(fills=[(0, fill)], unlisted={"f1": None})
        self.judge = Differing(self.truth, SECOND)
        self.booked = 0
        self.at_s = 0
        self.watch(0)

    def watch(self, at_s: int) -> None:
        self.at_s = at_s
        self.judge.watch(self.booked, at_s * SECOND)

    def positions(self, at_s: int) -> None:
        """A list of positions of one page."""
        self.watch(at_s)
        self.judge.asked(m.ReadPositions(""), at_s * SECOND)
        self.judge.answered(m.ReadPositions(""), m.Done(m.PositionsShown((), "")), at_s * SECOND)

    def fills(self, at_s: int, answer: m.Answer | None = None) -> None:
        """A walk of the fills of one page; it is over with the next one."""
        self.watch(at_s)
        answer = answer or m.Done(m.FillsShown((), ""))
        self.judge.asked(m.ReadFills(""), at_s * SECOND)
        self.judge.answered(m.ReadFills(""), answer, at_s * SECOND)


def test_two_lists_of_positions_each_with_the_fills_after_it_tell_what_no_fill_explains():
    case = Case()
    case.positions(3)
    case.fills(5)
    case.fills(10)
    case.positions(13)
    case.fills(15)
    assert not case.judge.is_due
    case.fills(20)
    assert case.judge.is_due
    case.judge.told({"position_differs": ""})
    with pytest.raises(Broken, match="B9: shares are held that no fill explains"):
        case.judge.told({})


@pytest.mark.parametrize(
    ("positions_s", "fills_s", "why"),
    [
        ((2, 13), (5, 15), "positions are begun two lags after the fill at the soonest"),
        ((3, 13), (3, 13), "the fills are begun a lag after the positions"),
    ],
)
def test_what_is_read_too_soon_tells_nothing(positions_s, fills_s, why):
    case = Case()
    for positions, fills in zip(positions_s, fills_s, strict=True):
        case.positions(positions)
        case.fills(fills)
        case.fills(fills + (5 if fills > positions else 0))
    assert not case.judge.is_due, why


def test_a_walk_that_failed_tells_nothing():
    case = Case()
    for at_s in (3, 13):
        case.positions(at_s)
        case.fills(at_s + 2, m.Unknown("lost"))
        case.fills(at_s + 7, m.Unknown("lost"))
    assert not case.judge.is_due


def test_a_fill_that_is_booked_between_begins_it_anew():
    case = Case()
    case.positions(3)
    case.fills(5)
    case.fills(10)
    case.booked = 1
    case.positions(13)
    case.fills(15)
    case.fills(20)
    assert not case.judge.is_due


@pytest.mark.parametrize("ends", ["listed", "resolved"])
def test_nothing_is_due_once_the_list_shows_the_fill_or_its_rung_has_resolved(ends):
    case = Case()
    for at_s in (3, 13):
        case.positions(at_s)
        case.fills(at_s + 2)
        case.fills(at_s + 7)
    assert case.judge.is_due
    if ends == "listed":
        case.truth.unlisted.clear()
    else:
        case.truth.resolved[MARKET] = Outcome.YES
    case.watch(21)
    assert not case.judge.is_due
