"""Claims about the coverage table, and about what the seeds draw."""

from dataclasses import replace

from bot.lab.sim import coverage
from bot.lab.sim.scenario import RANGES, VARIANTS, draw, narrowed


def test_the_coverage_rows_are_unique_and_in_order():
    numbers = [row.number for row in coverage.ROWS]
    assert numbers == sorted(set(numbers))


def test_a_coverage_pattern_matches_names_with_wildcards():
    counts = {"page": 2, "market_halted:create": 3, "market_x": 5, "result_unknown_after:amend": 7}
    assert coverage.hits(coverage.CatalogueRow(1, "", ("page",)), counts) == 2
    assert coverage.hits(coverage.CatalogueRow(1, "", ("market_*:*",)), counts) == 3
    assert coverage.hits(coverage.CatalogueRow(1, "", ("result_unknown_*",)), counts) == 7
    assert coverage.hits(coverage.CatalogueRow(1, "", ("pag",)), counts) == 0


def test_seeds_draw_every_fault_and_some_draw_none():
    drawn = [draw(seed) for seed in range(150)]
    for name in RANGES:
        assert any(name in odds.rates for odds in drawn)
        assert any(name not in odds.rates for odds in drawn)
    assert any(not odds.has_faults() for odds in drawn)


def test_the_calm_profile_has_no_fault_and_the_brutal_profile_every_fault():
    assert not draw(3, "calm").has_faults()
    assert sorted(draw(3, "brutal").rates) == sorted(RANGES)


def test_seeds_draw_every_value_of_every_variant_and_some_draw_none():
    drawn = [draw(seed) for seed in range(300)]
    for name, values in VARIANTS.items():
        assert {odds.variants[name] for odds in drawn if name in odds.variants} == set(values)
    assert any(not odds.variants for odds in drawn)


def test_an_excluded_variant_leaves_the_default():
    # No seed before the many thousandth has every one of them.
    odds = replace(draw(0), variants={name: values[0] for name, values in VARIANTS.items()})
    usual = narrowed(odds, without=tuple(VARIANTS))
    assert (odds.strangers, odds.maker_fee_rate) == tuple(
        odds.variants[name] for name in ("strangers", "maker_fee")
    )
    assert (usual.strangers, usual.maker_fee_rate) == ("cancel", odds.fee_rate)
    assert usual.variant("resting_orders") == ""
