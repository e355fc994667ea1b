"""The worst case and the largest admissible order against brute force, many cases at once.

Brute force keeps accounts: every subset of fills of everything live is carried out, in numpy, and
every outcome is paid out. It shares nothing with the trader but the fee of one share, which is
computed here again."""

from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest

from bot.core.risk.exposure import Bounds, Exposure, OpenExposure, RungTerms
from tests.builders.scale import cases
from venue.wire.money import Cents, FeeRate, Outcome, Price, Qty, Side
from venue.wire.names import MarketId

Array = np.ndarray[Any, np.dtype[Any]]
RATES = ("0", "0.0007", "0.0175", "0.07", "0.5", "1")

FEES = np.array(
    [[0, *(ceil(Fraction(rate) * p * (100 - p) / 100) for p in range(1, 100))] for rate in RATES]
)
"""The fee of one share in cents, rounded up, by rate and price."""
RUNGS_MAX, ORDERS_MAX = 6, 12
IDS = [MarketId(f"m{rung}") for rung in range(RUNGS_MAX)]

TERMS = [
    [RungTerms.at_rates(key, FeeRate.parse("0"), FeeRate.parse(rate)) for rate in RATES]
    for key in IDS
]


class Batch:
    """`count` random cases of so many rungs and orders, as arrays: one row a case."""

    def __init__(self, rng: np.random.Generator, count: int, rungs: int, orders: int) -> None:
        self.rungs, self.orders, self.count = rungs, orders, count
        self.rates = rng.integers(0, len(RATES), (count, rungs))
        self.cash = rng.integers(-5_000, 2_000, count)
        self.held = rng.integers(0, 40, (count, rungs, 2)) * rng.integers(0, 2, (count, rungs, 2))
        self.rung = rng.integers(0, rungs, (count, orders))
        self.is_no = rng.integers(0, 2, (count, orders))
        self.is_sell = rng.integers(0, 2, (count, orders))
        self.price = rng.integers(1, 100, (count, orders))
        self.qty = rng.integers(0, 31, (count, orders))

    def exposure(self, case: int, without: int = 0) -> Exposure:
        """The case as the trader sees it; without its last so many orders."""
        terms = [TERMS[rung][rate] for rung, rate in enumerate(self.rates[case].tolist())]
        lives = [self.live(case, order) for order in range(self.orders - without)]
        held = [(yes, no) for yes, no in self.held[case].tolist()]
        return Exposure(terms, Cents(int(self.cash[case])), held, lives)

    def live(self, case: int, order: int) -> OpenExposure:
        """One of its orders."""
        return OpenExposure(
            IDS[self.rung[case, order]],
            Outcome.NO if self.is_no[case, order] else Outcome.YES,
            Side.SELL if self.is_sell[case, order] else Side.BUY,
            Price(int(self.price[case, order])),
            Qty(int(self.qty[case, order])),
        )

    def outcomes(self) -> Array:
        """What each outcome leaves if nothing more fills: case by outcome."""
        return np.stack(
            [
                self.cash
                + 100 * self.held[:, :bucket, 0].sum(axis=1)
                + 100 * self.held[:, bucket:, 1].sum(axis=1)
                for bucket in range(self.rungs + 1)
            ],
            axis=1,
        )

    def per_share(self) -> Array:
        """What one filled share of each order adds: case by order by outcome."""
        fee = FEES[np.take_along_axis(self.rates, self.rung, axis=1), self.price]
        buckets = np.arange(self.rungs + 1)
        pays_yes = self.rung[:, :, None] < buckets  # the lowest `bucket` rungs resolve YES
        pays = 100 * (pays_yes != self.is_no[:, :, None].astype(bool))
        sign = 1 - 2 * self.is_sell
        return sign[:, :, None] * (pays - self.price[:, :, None]) - fee[:, :, None]

    def worst(self) -> Array:
        """The least over all subsets of whole fills, each carried out: case by outcome."""
        ends = self.outcomes().astype(np.int32)[:, None, :]
        added = (self.per_share() * self.qty[:, :, None]).astype(np.int32)
        for order in range(self.orders):
            ends = np.concatenate([ends, ends + added[:, order, None, :]], axis=1)
        assert ends.shape[1] == 2**self.orders
        return np.asarray(ends.min(axis=1))


def batches(rng: np.random.Generator, total: int, orders_max: int) -> list[Batch]:
    """`total` cases, spread evenly over numbers of rungs and of orders."""
    shapes = [
        (rungs, orders) for rungs in range(1, RUNGS_MAX + 1) for orders in range(orders_max + 1)
    ]
    each = -(-total // len(shapes))
    return [Batch(rng, each, rungs, orders) for rungs, orders in shapes]


def test_the_worst_case_equals_brute_force_over_all_fill_subsets() -> None:
    rng = np.random.default_rng(1)
    seen = 0
    for batch in batches(rng, cases(100_000, quick=8_000), ORDERS_MAX):
        expected = batch.worst().tolist()
        seen += batch.count
        for case, worst in enumerate(expected):
            exposure = batch.exposure(case)
            assert exposure.worst_by_outcome() == worst
            assert exposure.worst_cents == min(worst)
    assert seen >= cases(100_000, quick=8_000)


@pytest.mark.parametrize("rungs", [1, 2, 3])
def test_no_partial_fill_or_fee_rounding_is_worse_than_the_worst_case(rungs: int) -> None:
    # Every part of every order, with the fee that is charged: one rounding for all of an order.
    rng = np.random.default_rng(rungs)
    for _ in range(cases(400, quick=20)):
        batch = Batch(rng, 1, rungs, 3)
        batch.qty = np.minimum(batch.qty, 6)
        per_share = batch.per_share()[0]
        parts = np.stack(
            np.meshgrid(*(np.arange(qty + 1) for qty in batch.qty[0]), indexing="ij"), axis=-1
        ).reshape(-1, 3)
        by_share = batch.outcomes()[0] + parts @ per_share
        worst = np.array(batch.exposure(0).worst_by_outcome())
        assert (by_share.min(axis=0) == worst).all()
        rates = [Fraction(RATES[batch.rates[0, rung]]) for rung in batch.rung[0]]
        prices = batch.price[0].tolist()
        one = np.array([FEES[batch.rates[0, batch.rung[0, i]], prices[i]] for i in range(3)])
        charged = np.array(
            [
                [
                    ceil(int(part) * rate * p * (100 - p) / 100)
                    for part, rate, p in zip(row, rates, prices, strict=True)
                ]
                for row in parts
            ]
        )
        truly = by_share + (parts * one - charged).sum(axis=1)[:, None]
        assert (truly.min(axis=0) >= worst).all()


class Used:
    """What a case has in use of every bound with its last order at every size, by brute force.

    Row z of each array: with z shares of the last order live.
    """

    def __init__(self, batch: Batch, case: int, sizes: int, per_share: Array, held: Array) -> None:
        """per_share, held: of this case, what `Batch.per_share` and `Batch.outcomes` say."""
        rungs, last = batch.rungs, batch.orders - 1
        qty = batch.qty[case].copy()
        qty[last] = 0
        picks = (np.arange(2**last)[:, None] >> np.arange(last)) & 1  # every subset of the others
        filled = picks * qty[:last]
        ends = held + filled @ per_share[:last]
        last_ends = ends.min(axis=0)[None, :] + np.arange(sizes)[:, None] * per_share[last]
        self.worst = np.minimum.accumulate(np.minimum(last_ends, ends.min(axis=0)), axis=0)
        # Shares of YES less NO of each rung, after every subset.
        yes_ward = (1 - 2 * batch.is_no[case]) * (1 - 2 * batch.is_sell[case])
        moves = np.zeros((batch.orders, rungs), dtype=int)
        moves[np.arange(batch.orders), batch.rung[case]] = yes_ward
        net_held = batch.held[case, :, 0] - batch.held[case, :, 1]
        nets = net_held + filled @ moves[:last]  # subset by rung
        index = int(batch.rung[case, last])
        z = np.arange(sizes)
        step = z * int(yes_ward[last])
        with_last = nets[None, :, index] + step[:, None]  # size by subset
        here = np.maximum(np.abs(nets[:, index]).max(), np.abs(with_last).max(axis=1))
        self.position = np.maximum.accumulate(here)
        self.side = (nets[:, index] * int(yes_ward[last])).max() + z
        total = nets.sum(axis=1)
        self.net = (total * int(yes_ward[last])).max() + z
        others = np.abs(np.delete(nets, index, axis=1)).max(axis=0).sum()
        self.gross = others + self.position
        # Where a bound is passed: with its own side alone, whatever the other one reaches.
        self.gross_alone = others + np.maximum(0, self.side)
        self.gross_cents, self.cents_alone = self._apart(batch, case, sizes, per_share)
        hurts = -np.minimum(0, per_share.min(axis=1))
        self.resting = int((qty * hurts).sum()) + z * int(hurts[last])

    @staticmethod
    def _apart(batch: Batch, case: int, sizes: int, per_share: Array) -> tuple[Array, Array]:
        """The loss if every rung goes the worse way by itself, over every subset of its orders; and
        the same, the rung of the last order going the way that it loses by."""
        last = batch.orders - 1
        total = np.full(sizes, int(batch.cash[case]))
        alone = total.copy()
        for rung in range(batch.rungs):
            mine = [order for order in range(last) if batch.rung[case, order] == rung]
            picks = (np.arange(2 ** len(mine))[:, None] >> np.arange(len(mine))) & 1
            worse = []
            for outcome, bucket in ((0, rung + 1), (1, rung)):  # it pays YES, it pays NO
                adds = per_share[mine][:, bucket] * batch.qty[case, mine]
                least = (picks @ adds).min() if mine else 0
                end = np.full(sizes, 100 * int(batch.held[case, rung, outcome]) + least)
                if batch.rung[case, last] == rung:
                    # A part of it, or all.
                    extra = np.arange(sizes) * int(per_share[last, bucket])
                    end = end + np.minimum.accumulate(np.minimum(0, extra))
                worse.append(end)
            total = total + np.minimum(*worse)
            if batch.rung[case, last] == rung:
                alone = alone + worse[0 if per_share[last, rung + 1] < 0 else 1]
            else:
                alone = alone + np.minimum(*worse)
        return -total, -alone

    def admits_gross(self, limit: int) -> Array:
        """Of each size whether a bound of gross shares admits it."""
        if self.gross[0] <= limit:
            return self.gross <= limit
        return (self.gross_alone <= limit) | (self.side <= 0)

    def admits_gross_cents(self, limit: int) -> Array:
        """Of each size whether a bound of gross cents admits it."""
        if self.gross_cents[0] <= limit:
            return self.gross_cents <= limit
        works_off = (self.side <= 0) & (self.gross_cents <= self.gross_cents[0])
        return (self.cents_alone <= limit) | works_off


SIZES = 31


def largest(fits: Array) -> int:
    """The largest size up to which all fit: bounds only ever tighten."""
    return int(np.argmin(fits)) - 1 if not fits.all() else len(fits) - 1


def test_the_largest_admissible_order_equals_brute_force_over_every_size() -> None:
    rng = np.random.default_rng(2)
    met: dict[str, int] = {}
    for batch in batches(rng, cases(100_000, quick=1_200), 5):
        if not batch.orders:
            continue
        batch.qty[:, -1] = SIZES - 1
        per_share, held = batch.per_share(), batch.outcomes()
        for case in range(batch.count):
            used = Used(batch, case, SIZES, per_share[case], held[case])
            limits = {
                name: int(value[int(rng.integers(0, SIZES))]) + int(rng.integers(-3, 4))
                for name, value in (
                    ("loss", -used.worst.min(axis=1)),
                    ("position", used.side),
                    ("net", used.net),
                    ("gross", used.gross),
                    ("apart", used.gross_cents),
                    ("resting", used.resting),
                )
            }
            limits = {name: max(0, limit) for name, limit in limits.items()}
            hurt = per_share[case, -1] < 0
            rooms = {
                # An outcome beyond the limit already may not get worse.
                "loss": largest((used.worst[:, hurt] >= -limits["loss"]).all(axis=1)),
                "position": largest(used.side <= limits["position"]),
                "net": largest(used.net <= limits["net"]),
                "gross": largest(used.admits_gross(limits["gross"])),
                "apart": largest(used.admits_gross_cents(limits["apart"])),
                "resting": largest(used.resting <= limits["resting"]),
            }
            bounds = Bounds(
                loss_cents=Cents(limits["loss"]),
                position_qty=Qty(limits["position"]),
                net_qty=Qty(limits["net"]),
                gross_qty=Qty(limits["gross"]),
                gross_cents=Cents(limits["apart"]),
                resting_cents=Cents(limits["resting"]),
            )
            expected = max(0, min(rooms.values()))
            exposure = batch.exposure(case, without=1)
            assert exposure.largest(batch.live(case, batch.orders - 1), bounds) == expected
            binding = min(rooms, key=lambda name: rooms[name])
            met[binding] = met.get(binding, 0) + 1
    assert len(met) == 6
