"""Claims about single homes: one virtual clock, one exchange, one queue model, one reader of
journals, one page maker."""

import ast

import pytest

from tests.builders.house import tree

pytestmark = pytest.mark.xdist_group("house")  # what is parsed is parsed once

LAB = tree.python_files("bot/lab")
HOMES = {
    "Driver": "bot/lab/driver.py",
    "Exchange": "bot/lab/exchange/exchange.py",
    "QueueModel": "bot/lab/exchange/queue_model.py",
    "QueuePosition": "bot/lab/exchange/queue_model.py",
    "LiveMarket": "bot/lab/exchange/live.py",
    "Placed": "bot/lab/session.py",
    "JournalMarket": "bot/lab/journal_market.py",
    "OwnOrders": "bot/lab/own_orders.py",
    "Replayer": "bot/lab/replay.py",
}


@pytest.mark.parametrize(("name", "home"), HOMES.items())
def test_each_class_of_the_lab_is_defined_in_its_home_alone(name, home):
    found = [
        tree.shown(path)
        for path in LAB
        for node in ast.walk(tree.tree(path))
        if isinstance(node, ast.ClassDef) and node.name == name
    ]
    assert found == [home]


def test_only_the_driver_keeps_an_event_queue():
    keep = [tree.shown(path) for path in tree.python_files("bot") if "heapq" in tree.text(path)]
    assert keep == [HOMES["Driver"]]


def test_only_the_exchange_has_an_engine():
    makes = [tree.shown(path) for path in LAB if "Engine(order_id_key=" in tree.text(path)]
    assert makes == [HOMES["Exchange"]]


@pytest.mark.parametrize(
    ("text", "home"),
    [
        ("<!doctype html>", "bot/page/skeleton.py"),
        ("html.escape(", "bot/page/skeleton.py"),
        ("<svg", "bot/page/plot.py"),
    ],
)
def test_pages_and_plots_are_written_in_one_place(text, home):
    makes = [tree.shown(path) for path in tree.python_files("bot") if text in tree.text(path)]
    assert makes == [home]
