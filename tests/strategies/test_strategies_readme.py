"""The strategy that the README shows."""

import pathlib
import re
from typing import Any

from bot.core.strategy import checked
from tests.strategies.views import prices, rung, view
from venue.wire.money import BookSide

README = pathlib.Path(__file__).parents[2] / "strategies" / "README.md"


def shown() -> Any:
    code = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code[1], str(README), "exec"), names)
    return names["STRATEGY"]


def test_the_strategy_of_the_readme_quotes_as_it_says() -> None:
    strategy = shown()
    seen = view(rung(0, 60.0), rung(1, None), rung(2, 20.4, bid=24))
    quotes = checked(strategy(strategy.Params()).quote(seen), seen)
    assert (prices(quotes, 0, BookSide.BID), prices(quotes, 0, BookSide.ASK)) == ([57], [63])
    assert "m1" not in quotes
    assert (prices(quotes, 2, BookSide.BID), prices(quotes, 2, BookSide.ASK)) == ([17], [])


def test_the_strategies_it_names_are_there() -> None:
    shipped = {path.stem for path in README.parent.glob("*.py")} - {"__init__"}
    named = set(re.findall(r"`(\w+)`", README.read_text().split("Shipped:")[1]))
    assert named == shipped
