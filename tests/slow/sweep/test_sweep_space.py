"""What a sweep goes over: texts that name keys and values, and what is proposed of them."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.lab.sweep.space import (
    Dimension,
    Search,
    SpaceFault,
    dimension,
    points,
    size_of,
    space,
)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.b=1,2,3", ("1", "2", "3")),
        ("a=0.5:3:0.5", ("0.5", "1.0", "1.5", "2.0", "2.5", "3.0")),
        ("a=1:4", ("1", "2", "3", "4")),
        ("a=10:35:10", ("10", "20", "30")),
        ("a=0.01:10:log:4", ("0.01", "0.1", "1", "10")),
        ("a=1:10:log:12", ("1", "2", "3", "4", "5", "7", "8", "10")),
        ("a=cancel, adopt", ("cancel", "adopt")),
        ("a=./mine.py:Mine,glft", ("./mine.py:Mine", "glft")),
    ],
)
def test_sweep_values_are_written_as_in_a_configuration_file(text, values):
    assert dimension(text).values == values


@pytest.mark.parametrize(
    ("text", "log", "whole"),
    [("a=0.5:3.0", False, False), ("a=0.01:10:log", True, False), ("a=1:100000:log", True, True)],
)
def test_a_range_without_a_step_is_continuous(text, log, whole):
    found = dimension(text)
    assert found.values == ()
    assert (found.log, found.whole) == (log, whole)


@pytest.mark.parametrize(
    "text",
    [
        *("a", "=1", "A=1", "a=", "a=1,,2", "a=1,1", "a=3:1", "a=1:3:0", "a=1:3:x", "a=0:3:log"),
        *("a=1:3:log:1", "a=1:3:log:4:5", "a=0:1000000:1", "a=1:1"),
    ],
)
def test_an_invalid_sweep_key_or_range_is_rejected(text):
    with pytest.raises(SpaceFault, match="--over"):
        dimension(text)


@pytest.mark.parametrize("texts", [[], ["a=1,2", "a=3,4"], ["strategy=1,2", "strategy.name=x,y"]])
def test_duplicate_or_nested_sweep_keys_are_rejected(texts):
    with pytest.raises(SpaceFault):
        space(texts)


def test_a_grid_has_every_combination_with_the_last_key_fastest():
    found = points(space(["a=1,2", "b=x,y"]))
    assert [tuple(each.values()) for each in found] == [
        ("1", "x"),
        ("1", "y"),
        ("2", "x"),
        ("2", "y"),
    ]


@pytest.mark.parametrize("texts", [["a=0.5:3.0"], ["a=1:500", "b=1:500"]])
def test_a_continuous_or_huge_space_has_no_grid(texts):
    with pytest.raises(SpaceFault, match="grid"):
        Search("grid", space(texts), 1)


@settings(max_examples=40)
@given(st.floats(2.0, 7000.0), st.booleans())
def test_a_drawn_number_is_in_its_range_and_written_without_exponent(value, whole):
    text = Dimension("a", low=2.0, high=7000.0, whole=whole).write(value)
    assert 2.0 <= float(text) <= 7000.0
    assert "e" not in text
    assert not whole or text.isdecimal()


@pytest.mark.parametrize("end", [1234561.5, 1234567.5])
def test_rounding_a_drawn_number_keeps_it_in_its_range(end):
    text = Dimension("a", low=1234561.5, high=1234567.5).write(end)
    assert 1234561.5 <= float(text) <= 1234567.5


def test_draws_from_a_log_range_are_uniform_in_the_logarithm():
    drawn = Search("random", space(["a=0.01:100:log"]), 3).propose(400)
    below = sum(math.log10(float(each["a"])) < 0 for each in drawn)
    assert 160 < below < 240


@pytest.mark.parametrize("how", ["grid", "random", "bayes"])
@pytest.mark.parametrize("texts", [["a=1,2,3", "b=x,y"], ["a=1:3", "b=0.1:0.2:0.1"]])
def test_a_search_proposes_each_point_of_a_finite_space_once(how, texts):
    dimensions = space(texts)
    search, out = Search(how, dimensions, 1), []
    while fresh := search.propose(4):
        for each in fresh:
            search.learn(each, float(len(out)))
        out += [tuple(each.values()) for each in fresh]
    assert len(out) == len(set(out)) == size_of(dimensions) == 6


def test_a_bayesian_search_handles_every_kind_of_key_and_failed_trials():
    texts = ["a=1,2,3", "b=x,y", "c=0.1:2.0", "d=0.01:10:log", "e=1:100000:log"]
    search = Search("bayes", space(texts), 1)
    for turn in range(6):
        for each in search.propose(4):
            assert list(each) == ["a", "b", "c", "d", "e"]
            search.learn(each, None if turn == 2 else float(each["c"]))
