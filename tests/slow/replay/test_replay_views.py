"""A strategy that trades on taker flow and book lean replays to the same effects."""

from bot.config.strategies import Makers
from bot.core import messages as m
from bot.lab.replay import replay, replayer_of
from bot.lab.session import runs_meant
from tests.builders.explain.lived import CONFIG, Lived, config
from tests.builders.strategies.strategy_file import strategy_file
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import Price, Qty

LEANS = """from bot.strategy.api import StrategyAnswer
        wanted = {}
        for rung in view.rungs:
            away = 5 if (rung.book_lean or 0) + rung.taker_flow_qty < 0 else 3
            if rung.fair_cents is not None:
                price = Price(round(rung.fair_cents) - away)
                wanted[rung.market_id] = (Quote(BookSide.BID, price, Qty(10)),)
        said = {"flow": view.taker_flow_qty, "lean": view.book_lean or 0}
        return StrategyAnswer(wanted, diagnostics=said)"""


def test_quotes_that_follow_taker_flow_and_book_lean_replay_without_a_difference(tmp_path):
    strategy_file(tmp_path / "leans.py", LEANS)
    path = config(tmp_path, CONFIG.replace("fixed_spread", "./leans.py"))
    lived = Lived(path)
    lived.begin()
    for number in range(6):
        market_id, price = lived.markets[0].market_id, Price(lived.mids[0])
        buys = number % 3 == 0
        lived.give(m.Trade(market_id, lived.now_ns, str(number), price, Qty(7), buys))
        lived.run(4.0, lived.show_all, NS_PER_SECOND)
    said = [e.message for e in lived.entries if isinstance(e.message, m.Noted)]
    flows = [note.fields for note in said if note.name == "strategy_diagnostics"]
    assert len(flows) > 6
    state = lived.written(tmp_path / "state")
    (run,) = runs_meant(state, every=True)
    replayed = replay(replayer_of(run, Makers(tmp_path), notes=True))
    assert replayed.difference is None
