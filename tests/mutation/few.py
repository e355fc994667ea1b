"""A pytest plugin for mutation runs alone: few examples of every property, the same ones each time.

A mutant is tried thousands of times over, so a property draws at most `EXAMPLES` cases, always the
same ones, and does not shrink what it finds. Loaded by `-p tests.mutation.few`; nothing else in the
suite sees it.
"""

import fnmatch

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.mutation.parts import PARTS

EXAMPLES = 25
STEPS = 20
"""Steps of a state machine."""


def fewer(asked: settings) -> settings:
    """The same settings, made short and repeatable."""
    return settings(
        asked,
        max_examples=min(EXAMPLES, asked.max_examples),
        stateful_step_count=min(STEPS, asked.stateful_step_count),
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )


def cost(item: pytest.Item) -> tuple[int, bool]:
    """Cheap tests before dear ones: by the place of their file in the part, and properties last."""
    file = item.nodeid.partition("::")[0]
    places = [
        place
        for part in PARTS
        for place, glob in enumerate(part.tests)
        if fnmatch.fnmatch(file, glob)
    ]
    return min(places, default=0), hasattr(getattr(item, "obj", None), "hypothesis")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shorten every property and every state machine that was collected; the cheap ones first."""
    items.sort(key=cost)
    for item in items:
        case = getattr(item, "cls", None)
        if isinstance(getattr(case, "settings", None), settings):
            case.settings = fewer(case.settings)
        test = getattr(item, "obj", None)
        test = getattr(test, "__func__", test)
        # The name under which `@settings` and `@given` leave their settings on a test.
        asked = getattr(test, "_hypothesis_internal_use_settings", None)
        if isinstance(asked, settings):
            test._hypothesis_internal_use_settings = fewer(asked)
