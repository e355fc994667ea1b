"""Days of trading with a truth beside them: what was really held and owned at every instant."""

import random

from bot.records.rows import (
    AccountRow,
    BalanceRow,
    Batch,
    FillRow,
    MarkedRow,
    MarkRow,
    ProfitRow,
    RungRow,
    Settled,
    TraderSample,
    ValuedRow,
    account_of,
)
from bot.records.store import Store
from tests.builders.records.lived import EVENT, NIGHT_NS
from venue.wire.instant import NS_PER_SECOND
from venue.wire.money import PAYOUT_CENTS

BOOK = "acme"
ACCOUNT = AccountRow(account_of(BOOK, "here"), BOOK, "here", NIGHT_NS)
DAY_S = 86_400
RUNGS = 3
LAG_S = 5


class Days:
    """Seeded trading from noon of the 20th on. Some balances lag a few seconds, as they may.

    cash_cents, held: the truth now; cash_at, held_at: at each midnight, with the values then.
    """

    def __init__(self, seed: int, store: Store, opening: tuple[int, int] = (0, 0)) -> None:
        self.draw = random.Random(seed)
        self.store = store
        self.cash_cents = 1_000_000
        self.held = {f"m{n}": opening for n in range(RUNGS)}
        self.values = {f"m{n}": 20_000 + 30_000 * n for n in range(RUNGS)}
        self.paid: dict[str, str] = {}
        self.now_s = DAY_S // 2
        self.fills: list[FillRow] = []
        self.at_midnight: list[tuple[int, dict[str, tuple[int, int]], dict[str, int]]] = []
        self._before = (-LAG_S, 0)
        rungs = [self._rung(n) for n in range(RUNGS)]
        store.write([Batch(ACCOUNT, rungs=rungs)], None)
        self.look()

    @property
    def now_ns(self) -> int:
        return NIGHT_NS + self.now_s * NS_PER_SECOND

    def _rung(self, number: int, resolved_ns: int | None = None) -> RungRow:
        return RungRow(
            market_id=f"m{number}",
            ticker=f"{EVENT}-{number}0B",
            event_ticker=EVENT,
            maker_fee="0.0175",
            taker_fee="0.0700",
            seen_ns=self.now_ns,
            resolved_ns=resolved_ns,
        )

    def look(self) -> None:
        """A balance and a picture are taken; the balance is as of a second ago, or of now."""
        at_s, before_cents = self._before
        lags = self.now_s - at_s <= LAG_S and self.draw.random() < 0.5
        cents = before_cents if lags else self.cash_cents
        balance = BalanceRow(self.now_ns, self.now_ns + NS_PER_SECOND // 10, cents)
        self.store.write([Batch(ACCOUNT, balances=[balance])], None)
        marks = tuple(
            MarkRow(key, self.now_ns, self.values[key], *self.held[key])
            for key in self.held
            if key not in self.paid
        )
        profit = ProfitRow(self.now_ns, NIGHT_NS, self.now_s, 0, 0, self.now_s, 0, 500, 3_000)
        self.store.write_sample(ACCOUNT.account, TraderSample(marks, profit))

    def trade(self) -> None:
        """A fill of a random rung, with what was believed and became of it."""
        keys = [key for key in self.held if key not in self.paid]
        if not keys:
            return
        key = self.draw.choice(keys)
        self._before = (self.now_s, self.cash_cents)
        outcome = self.draw.choice(["yes", "no"])
        qty = self.draw.randrange(1, 30)
        side = "buy" if self.draw.random() < 0.6 else "sell"
        price, fee_cents = self.draw.randrange(1, 100), self.draw.randrange(3)
        number = len(self.fills)
        row = FillRow(
            fill_id=f"f{number}", created_ns=self.now_ns, market_id=key,
            ticker=f"{EVENT}-{key[1:]}0B", event_ticker=EVENT, order_id="1", trade_id=f"t{number}",
            outcome=outcome, side=side, price=price, qty=qty, fee_cents=fee_cents,
            fee_units=None, liquidity="maker",
        )  # fmt: skip
        self.fills.append(row)
        batch = Batch(ACCOUNT, fills=[row])
        if self.draw.random() < 0.9:
            value = self.values[key] + self.draw.randrange(-500, 500)
            batch.valued.append(ValuedRow(row.fill_id, self.now_ns, value, 0, "s", "quote bid"))
            if self.draw.random() < 0.8:
                later = value + self.draw.randrange(-900, 900)
                batch.marked.append(MarkedRow(row.fill_id, "fair", 10, later, self.now_ns))
        self.store.write([batch], None)
        sign = 1 if side == "buy" else -1
        yes_qty, no_qty = self.held[key]
        self.held[key] = (
            (yes_qty + sign * qty, no_qty) if outcome == "yes" else (yes_qty, no_qty + sign * qty)
        )
        self.cash_cents -= sign * price * qty + fee_cents

    def resolve(self, number: int, winner: str) -> None:
        key = f"m{number}"
        self._before = (-LAG_S, 0)
        won = self.held[key][0] if winner == "yes" else self.held[key][1]
        self.cash_cents += PAYOUT_CENTS * won
        self.held[key] = (0, 0)
        self.paid[key] = winner
        seen_ns = self.now_ns + 3 * NS_PER_SECOND
        batch = Batch(ACCOUNT, rungs=[self._rung(number, seen_ns)])
        batch.settled.append(Settled(key, winner, self.now_ns + 60 * NS_PER_SECOND))
        self.store.write([batch], None)

    def go_on(self, seconds: int) -> None:
        """Time passes; midnights are remembered."""
        for _ in range(seconds):
            self.now_s += 1
            if self.now_s % DAY_S == 0:
                self.at_midnight.append((self.cash_cents, dict(self.held), dict(self.values)))
        for key in self.values:
            self.values[key] += self.draw.randrange(-200, 200)

    def live(self, steps: int, most_s: int) -> None:
        """Trade and look, so many steps, each up to so long after the one before."""
        for _ in range(steps):
            self.go_on(self.draw.randrange(1, most_s))
            if self.draw.random() < 0.5:
                self.trade()
            else:
                self.look()
        self.go_on(15)
        self.look()


def busy_days(store: Store, seed: int, opening: tuple[int, int] = (0, 0)) -> Days:
    """Two and a half days: some of them busy, one rung that pays on the second."""
    days = Days(seed, store, opening)
    days.live(40, 30)
    days.live(30, 3_000)
    days.resolve(0, "yes" if seed % 2 else "no")
    days.live(10, 20)
    days.live(30, 3_000)
    return days
