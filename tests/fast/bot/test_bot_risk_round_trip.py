"""Claims about fills that answers show before the list does: a round trip counts what it lost."""

from bot.core.orders.transitions import State
from tests.builders.bot import made
from tests.builders.bot.made import MARKET, T0
from tests.fast.bot.test_bot_quoting import event, quoting
from venue.wire.money import Side


def test_shares_bought_and_sold_again_between_two_looks_lose_what_they_lost() -> None:
    series, _ = quoting()
    series.take_series([event(1)], T0, T0)
    (ladder,) = series.ladders
    bid = made.own(State.OPEN, price=60, number=1)
    sale = made.own(State.OPEN, side=Side.SELL, price=40, qty=5, number=2)
    series._desk.add_order(bid)
    series._desk.add_order(sale)
    bid.on_fills_shown(made.shown(bid, filled=5))
    series.orders_changed(MARKET)
    series.weighing.exposure(ladder)
    # Five more are bought, and five sold: as many shares are held as before.
    bid.on_fills_shown(made.shown(bid, filled=10))
    sale.on_fills_shown(made.shown(sale, filled=5))
    series.orders_changed(MARKET)
    assert series._ledgers.holdings(MARKET) == (5, 0)
    # 10 x 60 and 5 x 40 cents, and a cent of fee for each of the fifteen shares
    assert series.weighing.exposure(ladder).outcome_cents == (-415, 85)
