"""Claims about a strategy at fault: when it is told, and until when."""

import msgspec

from strategies.fixed_spread import FixedSpread
from tests.builders.bot.thin import Thin


def test_a_fault_is_told_no_more_once_another_strategy_took_the_place_of_the_one_at_fault() -> None:
    fails: list[bool] = []

    class Failing(FixedSpread):
        def quote(self, view):
            if fails:
                raise ArithmeticError
            return super().quote(view)

    thin = Thin([70, 30], lambda: Failing(Failing.Params()))
    thin.start()
    fails.append(True)
    thin.mids[0] = 71
    thin.show(0)
    thin.run(0.2)
    assert "strategy_at_fault" in thin.trader.out.findings
    fails.clear()
    thin.markets[0] = msgspec.structs.replace(thin.markets[0], strike_value="130")
    thin.run(12)
    assert len(thin.orders) == 4
    assert "strategy_at_fault" not in thin.trader.out.findings
