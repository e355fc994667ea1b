"""Claims about explaining an order that was to trade at once: the wish, and what was left of it."""

import json

import pytest

from tests.builders.explain.lived import CONFIG, FIRST, Lived, config
from tests.builders.io.commands import invoke

TAKER = """\
from bot.strategy.api import Strategy, Take
from venue.wire.money import BookSide, Qty


class Taker(Strategy):
    name = "taker"

    def quote(self, view):
        rung = view.rungs[0]
        if rung.best_ask is None or not rung.quotable:
            return {}
        return {rung.market_id: (Take(BookSide.BID, rung.best_ask, Qty(5)),)}


STRATEGY = Taker
"""


def explained(tmp_path, *, order_qty: int) -> tuple[str, dict]:
    """What is told of the first take of a run, to a person and as JSON."""
    (tmp_path / "taker.py").write_text(TAKER)
    text = CONFIG.replace("fixed_spread", "./taker.py").replace(
        "order_qty: 100", f"order_qty: {order_qty}"
    )
    run = Lived(config(tmp_path, text))
    run.begin()
    state = str(run.written(tmp_path / "state"))
    asked = ["explain", str(tmp_path / "thin.yaml"), f"{FIRST}-1", "--state-dir", state]
    told, plain = (invoke(*asked, *more) for more in ((), ("--json",)))
    assert told.exit_code == plain.exit_code == 0, told.output
    return told.stdout, json.loads(plain.stdout)


def test_a_take_is_explained_as_wanted_by_the_strategy(tmp_path):
    told, plain = explained(tmp_path, order_qty=100)
    assert "taker wanted to take bid 72 x 5\n" in told
    assert "take bid 72; a take of the strategy, not of the plan of quotes; alone" in told
    assert "wanted nothing here" not in told
    assert plain["decisions"][0]["decision"]["takes"] == [
        {"side": "bid", "price": 72, "qty": 5, "whole": False}
    ]


@pytest.mark.parametrize(("order_qty", "sent"), [(100, 5), (3, 3)])
def test_the_explanation_shows_what_the_limits_left_of_a_take(tmp_path, order_qty, sent):
    told, _ = explained(tmp_path, order_qty=order_qty)
    assert f"{sent} sent of a take of 5; " in told
