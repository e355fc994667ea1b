"""Claims about somebody who leads the touch with one share and then trades against the bot."""

from pathlib import Path

import msgspec

from bot.config.plugins import find_strategy
from bot.lab.evaluate.market import DrawnCrowd
from bot.lab.evaluate.run import run_strategy
from bot.lab.evaluate.scenarios import STEP_NS, Noise, draw, sized, worlds_named
from venue.engine import messages as v
from venue.wire.money import Side
from venue.wire.names import UserId

STEPS = 200
CYCLE = 20
MIDDLE_CENTS = 50
"""Of the book of others, fifty shares at 40 and at 60, that stands throughout."""

LEADER = UserId("crowd.maker.0")


class Leader(DrawnCrowd):
    """Walks one share a cent at a time to 57 or down to 43, then trades with what followed it."""

    turn = 0
    led: v.OrderState | None = None
    lost_to_it_cents = 0

    def noise(self, act: Noise, now_ns: int) -> None:
        """Its next act, in the place of a trader who knows nothing."""
        market, phase = self._venue.markets[0], self.turn % CYCLE
        rises = self.turn // CYCLE % 2 == 0
        self.turn += 1
        if phase in (*range(12), 14):
            self.step_aside(now_ns)
        bid, ask = self._venue.best(market)
        if self.turn == 1:
            self.order(True, 40, 50, now_ns, rests=True)
            self.order(False, 60, 50, now_ns, rests=True)
        elif phase < 12 and self.turn > CYCLE:
            price = min(57, 46 + phase) if rises else max(43, 54 - phase)
            if (ask is None or price < ask) if rises else (bid is None or price > bid):
                self.led = self.order(rises, price, 1, now_ns, rests=True)
        elif phase == 14 and self.turn > CYCLE:
            if rises and bid is not None and bid > 41:
                self.order(False, bid - 1, 100, now_ns)
            if not rises and ask is not None and ask < 59:
                self.order(True, ask + 1, 100, now_ns)
        # YES and NO are worth the same at the middle.
        Leader.lost_to_it_cents = sum(
            (1 if each.side is Side.BUY else -1) * each.qty * (each.outcome_price - MIDDLE_CENTS)
            for each in self._venue.account.fills
        )

    def order(
        self, buys: bool, price: int, qty: int, now_ns: int, *, rests: bool = False
    ) -> v.OrderState:
        placed = self._venue.trade(
            LEADER, self._venue.markets[0], now_ns, buys=buys, price=price, qty=qty, rests=rests
        )  # fmt: skip
        assert isinstance(placed, v.Placed), placed
        return placed.order

    def step_aside(self, now_ns: int) -> None:
        """Take the share that led away."""
        if self.led is not None:
            self._venue.exchange.execute(v.CancelOrder(LEADER, self.led.order_id), now_ns)
            self.led = None


def test_leading_the_touch_with_one_share_does_not_extract_profit_from_the_bot(monkeypatch):
    world = msgspec.structs.replace(sized(worlds_named("base")[0], STEPS), rungs=1)
    acts = [(STEP_NS * (step + 1) + 1_000, Noise(0, True, 50, 1)) for step in range(STEPS)]
    draws = draw(world, 1)._replace(acts=acts[:-2], stalls=())
    strategy = find_strategy("ladder_joint", Path())
    monkeypatch.setattr("bot.lab.evaluate.run.DrawnCrowd", Leader)
    lived = run_strategy(world, draws, lambda: strategy(strategy.Params()))
    assert lived.fills > 0
    assert Leader.lost_to_it_cents <= 0
