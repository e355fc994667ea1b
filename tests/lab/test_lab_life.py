"""A life: the account closes to the cent, a budget binds, and nothing is measured that was not."""

import pytest

from bot.core.strategy import EventView, Quote, Quotes, Strategy
from bot.lab.evaluate.account import Account, DoesNotClose
from bot.lab.evaluate.draws import Class, draw
from bot.lab.evaluate.life import Lived, live
from bot.lab.evaluate.market import TrueValueMarket
from bot.lab.evaluate.worlds import Flow, World
from bot.lab.exchange.exchange import MAKER
from strategies.fixed_spread import FixedSpread
from venue.core import messages as v
from venue.wire.money import BookSide, Outcome, Price, Qty, Side
from venue.wire.names import ClientOrderId
from venue.wire.requests import QtyOrder, TimeInForce

WORLD = World(steps=80, rungs=4, flow=Flow.TOXIC)


class Eager(Strategy):
    """Bids far too much for everything."""

    name = "eager"

    def quote(self, view: EventView) -> Quotes:
        return {
            rung.market_id: (Quote(BookSide.BID, Price(min(99, 20 + 10 * n)), Qty(50)),)
            for n, rung in enumerate(reversed(view.rungs))
        }


def _lived(world: World = WORLD, seed: int = 2, budget_cents: int | None = None) -> Lived:
    return live(world, draw(world, seed), lambda: FixedSpread(FixedSpread.Params()), budget_cents)


def _fill(account: Account, sign: int, price: int, qty: int, fee_cents: int = 0) -> None:
    account.filled(
        rung=0,
        sign=sign,
        price=price,
        qty=qty,
        fee_cents=fee_cents,
        maker=True,
        by=Class.NOISE,
        at_ns=0,
    )


def test_spread_and_inventory_less_fees_are_the_profit_to_the_cent() -> None:
    came = _lived()
    assert came.fills > 20
    assert round(1000 * (came.spread + came.inventory - came.fees)) == 1000 * came.net
    assert came.adverse + came.drift == pytest.approx(came.inventory)


def test_whoever_has_not_traded_by_a_tenth_of_the_life_has_made_nothing_there() -> None:
    class Late(FixedSpread):
        asked = 0

        def quote(self, view: EventView) -> Quotes:
            self.asked += 1
            return super().quote(view) if self.asked > 30 else {}

    came = live(WORLD, draw(WORLD, 2), lambda: Late(FixedSpread.Params()))
    assert came.fills > 0
    assert came.early == 0


def test_the_account_of_one_trade_by_hand() -> None:
    account = Account(1)
    account.begin((50_000,))
    _fill(account, 1, 48, 10, fee_cents=5)
    assert account.spread_mc == 20_000
    account.moved((47_500,))
    _fill(account, -1, 49, 4)
    account.moved((100_000,))
    assert account.inventory_mc == 10 * -2_500 + 6 * 52_500
    account.close(6 * 100 - 480 + 196 - 5)
    assert account.net_mc == 311_000


def test_each_part_of_the_edge_is_told_by_what_holdings_had_gained_when_it_came() -> None:
    account = Account(1)
    account.begin((50_000,))
    _fill(account, 1, 48, 10, fee_cents=5)
    account.moved((47_500,))
    _fill(account, -1, 49, 4)
    account.moved((100_000,))
    # The first, 15 cents, when nothing was gained; the second, 6 cents, when 25 were lost.
    assert account.edge_by_gain == 6 * -25
    assert account.gain_mean == -25 / 2


def test_a_cent_that_the_venue_does_not_know_is_told() -> None:
    account = Account(1)
    account.begin((50_000,))
    _fill(account, 1, 48, 10)
    account.moved((0,))
    with pytest.raises(DoesNotClose, match="the venue says"):
        account.close(-479)


def test_an_account_does_not_close_before_every_rung_has_paid() -> None:
    account = Account(1)
    account.begin((50_000,))
    _fill(account, 1, 48, 10)
    with pytest.raises(DoesNotClose, match="not every rung has paid"):
        account.close(20)


def test_a_budget_is_never_exceeded_by_the_outcome() -> None:
    def lived(budget_cents: int | None) -> Lived:
        return live(WORLD, draw(WORLD, 6), lambda: Eager(Eager.Params()), budget_cents)

    free, bound = lived(None), lived(3_000)
    assert free.worst_max > 3_000
    assert bound.worst_max <= 3_000
    assert bound.net >= -3_000


def test_the_worst_case_of_what_rests_and_is_held_by_hand() -> None:
    venue = TrueValueMarket(World(rungs=2), [1, 2], 0)
    account = venue.account
    account.begin((60_000, 30_000))
    _fill(account, 1, 60, 10)
    assert venue.worst_cents() == 600
    order = QtyOrder(
        venue.markets[1],
        Outcome.NO,
        Side.BUY,
        Price(70),
        Qty(10),
        TimeInForce.GTC,
        ClientOrderId("a"),
    )
    venue.exchange.apply(v.PlaceOrder(MAKER, order), 1)
    # Neither rung pays: 600 lost, and the NO gains. Both pay: 400 less 700 and 4 of fee.
    assert venue.worst_cents() == 600
    _fill(account, -1, 60, 10)
    assert venue.worst_cents() == 704


def test_a_life_is_the_same_each_time() -> None:
    assert _lived() == _lived()


def test_whoever_traded_with_us_is_a_group_of_markouts() -> None:
    came = _lived()
    groups = {each.group for each in came.markouts}
    assert {"all", "bid", "ask", "noise", "rung 0"} <= groups
    whole = [each for each in came.markouts if each.group == "all" and each.against == "fair"]
    assert [each.horizon_s for each in whole] == [1, 10, 60]
    assert all(each.qty == came.filled_qty for each in whole)


def test_slower_requests_are_fewer_or_later_but_the_account_still_closes() -> None:
    slow = World(steps=80, rungs=4, latency=10, fees=4)
    came = _lived(slow)
    assert round(1000 * (came.spread + came.inventory - came.fees)) == 1000 * came.net
