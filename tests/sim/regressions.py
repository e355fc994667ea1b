"""Worlds that once broke an invariant, each with what was wrong; they are lived through again."""

from typing import NamedTuple

from bot.lab.sim.odds import LATER as LATEST

BACK = tuple(n for n in LATEST if n != "back_amid")
TWO = tuple(n for n in BACK if n != "set_back")
ALONE = tuple(n for n in TWO if n != "second_series")
AMID = tuple(n for n in ALONE if n != "amend_ids")
TRADED = tuple(n for n in AMID if n != "begun_amid")
FLATTENED = tuple(n for n in TRADED if n not in ("loss_breaker", "twin_trades"))
LATER = tuple(n for n in FLATTENED if n not in ("flatten", "curfew", "ticks_through"))
"""Without what is drawn since."""

KEPT = ("strangers", "maker_fee")
CHANGED = ("reload", "rung_listed", *KEPT)


class Regression(NamedTuple):
    """A seed and how it was narrowed, and what it found.

    later: what of `LATEST` its world has; the others are left out, so that it stays the world that
    it was.
    """

    seed: int
    profile: str
    found: str
    without: tuple[str, ...] = ()
    later: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """All that this world does without."""
        return (*self.without, *(name for name in LATEST if name not in self.later))


REGRESSIONS = (
    Regression(14, "swarm", "a rung resolves while as many YES as NO shares of it are held"),
    Regression(165, "swarm", "a lost create whose rung resolved was not sent again: no end of it"),
    Regression(256, "swarm", "the limits went on counting shares of a rung that had settled"),
    Regression(267, "swarm", "a change of funds let go of a side that was parked as wrong"),
    Regression(357, "swarm", "a fill between two pages from unequal copies was never booked"),
    Regression(641, "swarm", "a lost take was over before the fills that it had were known"),
    Regression(1104, "swarm", "the breaker drawn trips when all orders are placed anew"),
    Regression(1343, "swarm", "a left order stood where its last amend had put it"),
    Regression(1498, "swarm", "orders that kept their place a tick bolder left a side no room"),
    Regression(1648, "swarm", "an event wished for room that another had taken in the meantime"),
    Regression(2039, "swarm", "foreign orders that were gone stood as found to the end of the run"),
    Regression(2149, "swarm", "a refused create was sent again before any list could rule it out"),
    Regression(2398, "swarm", "prints late from the first on were measured by one another alone"),
    Regression(2506, "swarm", "the first book was older than a print, and was quoted on"),
    Regression(2814, "swarm", "a position was to be closed on a rung that had just resolved"),
    Regression(4110, "swarm", "an order on its way out was taken for one to merge another with"),
    Regression(5506, "swarm", "fees counted share by share left no room for the last one wanted"),
    Regression(5900, "swarm", "orders made where another stood for a near price were given up"),
    Regression(6183, "swarm", "an order that goes another route is two writes on a still book"),
    Regression(6370, "swarm", "an order was given up to come back larger by two routes, for ever"),
    Regression(6864, "swarm", "a lost create found no token until the book was to be still"),
    Regression(20592, "swarm", "two events took what was left and gave it back, for ever"),
    Regression(20714, "swarm", "a quiet book, stamped wrong once, was older than itself for ever"),
    Regression(20952, "swarm", "small orders topped up were more creates a minute than were drawn"),
    Regression(30404, "swarm", "a book that nothing confirms was to be quoted on all the same"),
    Regression(51212, "swarm", "a newer book was held for older after the clock had stepped twice"),
    Regression(80097, "swarm", "orders from shares held and bought were counted as of one route"),
    Regression(
        90075, "swarm", "of a book stamped wrong and an older one the bot had to know which"
    ),
    Regression(120183, "swarm", "reads that agree on a clock that had jumped confirmed no book"),
    Regression(120331, "swarm", "reads took every token of a small budget on a still book"),
    Regression(
        141256, "swarm", "what was left filled after the balance was read that opened the books"
    ),
    Regression(141355, "swarm", "siblings that go another route are more writes on a still book"),
    Regression(
        500125, "swarm", "an order a little too large stood beyond a lowered limit", (), ("reload",)
    ),
    Regression(
        510064, "swarm", "reads that lag put off the books of kept orders, for ever", (), KEPT
    ),
    Regression(
        540412, "swarm", "a create sent again counted as more above a lowered limit", (), CHANGED
    ),
    Regression(
        540869,
        "swarm",
        "a cancel not answered yet counted as less above a lowered limit",
        (),
        CHANGED,
    ),
    Regression(
        540079, "swarm", "a foreign order in a rung that no read had shown yet", (), CHANGED
    ),
    Regression(
        560104, "swarm", "a book that nothing can show was found missing in the end", (), CHANGED
    ),
    Regression(
        910267,
        "swarm",
        "prints two seconds late by a clock that had been set ahead were in time",
        (),
        LATER,
    ),
    Regression(
        911013,
        "swarm",
        "past a lowered gross limit more was wanted than could be sent",
        (),
        LATER,
    ),
    Regression(
        915062, "swarm", "a mood reigned over an event listed later when all was quiet", (), LATER
    ),
    Regression(
        915006,
        "brutal",
        "orders on their way to a rung that had resolved counted as gross shares",
        (),
        LATER,
    ),
    Regression(
        1795648287,
        "swarm",
        "the answers to its own writes showed the bot a clock that had jumped",
        (),
        LATER,
    ),
    Regression(
        1795648762,
        "swarm",
        "an order that no journal knew filled between the reads by which the books opened",
        (),
        LATER,
    ),
    Regression(
        1795648335,
        "swarm",
        "more was wanted than could be cancelled within the time to flat",
        (),
        LATER,
    ),
    Regression(
        1795648538,
        "swarm",
        "creates of before a limit was lowered were sent again after a restart",
        (),
        LATER,
    ),
    Regression(
        77701309,
        "swarm",
        "a rung was settled by what another paid whose end was not seen yet",
        (),
        LATER,
    ),
    Regression(
        77700041,
        "swarm",
        "an old book stamped wrong stood for ever before the true one, which did not change",
        (),
        LATER,
    ),
    Regression(
        918023,
        "swarm",
        "of two books older than one stamped wrong only the older one was to be believed",
        (),
        LATER,
    ),
    Regression(
        918784,
        "swarm",
        "what rested before the rungs were known filled between the reads of the opening",
        (),
        LATER,
    ),
    Regression(
        919515,
        "swarm",
        "an order not found under its id excused every order of somebody else",
        (),
        LATER,
    ),
    Regression(
        920241,
        "swarm",
        "a create of before a limit was lowered was sent again beside shares that filled it",
        (),
        LATER,
    ),
    Regression(
        921175,
        "swarm",
        "a limit cut a side into as many orders as may stand at a price, which merge later",
        (),
        LATER,
    ),
    Regression(
        922267,
        "swarm",
        "a start waited twice for cash that the orders it cancelled had locked",
        (),
        LATER,
    ),
    Regression(
        922583,
        "swarm",
        "a cent of a fee rounded up counted against the next order that was sent",
        (),
        LATER,
    ),
    Regression(
        926219,
        "swarm",
        "a start that gave up the orders it was to keep waited on as if they could still fill",
        (),
        LATER,
    ),
    Regression(
        926255,
        "swarm",
        "a book that nothing confirms but our own writes was to stand still",
        (),
        LATER,
    ),
    Regression(
        930691,
        "swarm",
        "a book said by its stamp to be older than one of hours ahead was to confirm nothing",
        (),
        LATER,
    ),
    Regression(
        934901,
        "swarm",
        "a book of hours ahead that is older than a crossed one was to be known as older",
        (),
        LATER,
    ),
    Regression(
        935133,
        "swarm",
        "a start after shares had paid was to know what they paid",
        (),
        LATER,
    ),
    Regression(
        936868,
        "swarm",
        "a strategy on trial that failed as the run was stopped was to be taken back by then",
        (),
        LATER,
    ),
    Regression(
        949168,
        "swarm",
        "a side was to be quoted where an order that a list alone had shown was refused a change",
        (),
        LATER,
    ),
    Regression(
        950639,
        "swarm",
        "a list told of somebody else's order while an amend on its way might have named it",
        (),
        LATER,
    ),
    Regression(
        952190,
        "swarm",
        "a rung that never traded was to be quoted on a stamp that nothing else had shown",
        (),
        LATER,
    ),
    Regression(
        954420,
        "swarm",
        "a book from before the venue's clock was set back by a second stood until it changed",
        (),
        LATER,
    ),
    Regression(961291, "swarm", "a read of what a frame with a wrong stamp showed confirms it"),
    Regression(
        964323,
        "brutal",
        "an order gave way to a larger one that no limit admitted, again and again",
    ),
    Regression(
        991151,
        "swarm",
        "a life under a latch was to leave alone what its journal did not know",
        (),
        LATER,
    ),
    Regression(
        991375,
        "swarm",
        "cash that may have come from several ways to resolve was to tell the winners",
        (),
        LATER,
    ),
    Regression(
        971247,
        "swarm",
        "a strategy that does nothing but fail was to quote again",
        (),
        FLATTENED,
    ),
    Regression(
        972574,
        "swarm",
        "a read of the newest book told nothing beside one stamped while the clock was ahead",
        (),
        FLATTENED,
    ),
    Regression(
        969009,
        "brutal",
        "limits that follow from one lowered under what is held were to cut nothing",
        (),
        FLATTENED,
    ),
    Regression(
        976155,
        "swarm",
        "somebody traded between two reads of an opening, and no other could be made for long",
        (),
        TRADED,
    ),
    Regression(
        981010,
        "swarm",
        "somebody traded as a life began: by its time the opening held the fill, and did not",
        (),
        TRADED,
    ),
    Regression(
        995690,
        "swarm",
        "somebody traded amid a start: what is held was thought to be what it was not, for ever",
        (),
        AMID,
    ),
    Regression(
        995697,
        "swarm",
        "the opening held the cash of a trade that the list of fills showed after it",
        (),
        AMID,
    ),
    Regression(
        995875,
        "swarm",
        "what shares cost that were taken over was never counted, though their fill was shown",
        (),
        AMID,
    ),
    Regression(
        995879,
        "swarm",
        "shares that were taken over counted once more with the fill that explains them",
        (),
        AMID,
    ),
    Regression(
        1001739,
        "swarm",
        "the balance of an opening lacked the newest fill, and no clock told that it was new",
        (),
        ALONE,
    ),
    Regression(
        1003659,
        "swarm",
        "fills that the new id of an amended order showed were dropped, and it was amended up",
        (),
        ALONE,
    ),
    Regression(
        1010264,
        "swarm",
        "orders that another series was about to take over were not counted by the account's limit",
        (),
        TWO,
    ),
    Regression(
        1020230,
        "swarm",
        "cancels and reads of orders that were gone took the tokens of the lists that prove it",
        (),
        BACK,
    ),
    Regression(
        1032636,
        "swarm",
        "cancels of an order that was gone put off the read that proves it, for ever",
        (),
        BACK,
    ),
    Regression(
        1040904,
        "swarm",
        "a side stood empty after orders that came back to life had let go of its shares",
        (),
        LATEST,
    ),
    Regression(
        1061310,
        "swarm",
        "the judge of pace did not see that nobody was there for the read of a book",
        (),
        LATEST,
    ),
    Regression(
        1071499,
        "swarm",
        "what was paid for shares of a rung that is not listed counted against no limit of loss",
        (),
        LATEST,
    ),
    Regression(
        1072150,
        "swarm",
        "shares bought in a rung that was not marked before the purchase looked like a loss",
        (),
        LATEST,
    ),
    Regression(
        1070879,
        "swarm",
        "a trade of before, listed late, counted twice while a create had no answer",
        (),
        LATEST,
    ),
    Regression(
        1071116,
        "swarm",
        "a lost create was over by a walk of the fills that had passed over some of its own",
        (),
        LATEST,
    ),
    Regression(
        1200186,
        "swarm",
        "the balance that told what a rung had paid told of the opening, too, and so of neither",
        (),
        LATEST,
    ),
    Regression(
        1070884,
        "swarm",
        "of two prices each bought while the other gave way to the one share held, for ever",
        (),
        LATEST,
    ),
    Regression(
        1071110,
        "swarm",
        "an event stayed cut to what another had left it long after that was settled",
        (),
        LATEST,
    ),
    Regression(18, "brutal", "a list begun too soon after a re-send said that it never landed"),
    Regression(
        1400003,
        "brutal",
        "a trade of before, listed after its rung had paid, was taken for one that lost",
        (),
        LATEST,
    ),
    Regression(
        1400976,
        "swarm",
        "what was cut while another series opened its books stayed cut on a still book",
        (),
        LATEST,
    ),
    Regression(
        1400405,
        "brutal",
        "a start that had waited long asked only then for the balance that holds what was paid",
        (),
        LATEST,
    ),
    Regression(1600160, "swarm", "the judge did not wait for prints that come late", (), LATEST),
    Regression(
        1610763,
        "swarm",
        "of two events short of shares each wanted more once the other wanted less, for ever",
        (),
        LATEST,
    ),
    Regression(2710157, "swarm", "the judge did not wait for a book that stays empty", (), LATEST),
)
