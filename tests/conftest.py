"""What holds for every test: the time of an example, its worker, and what is never garbage."""

import gc

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import settings

from tests.builders.scale import cases

# Speed is claimed in bench/, as a ratio, and never by a test.
settings.register_profile("untimed", deadline=None, max_examples=cases(100, quick=40))
settings.load_profile("untimed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one `xdist_group` go to one worker, so that what they share is made once.

    xdist tells the group by a suffix of the name that pytest had for an id before 9.2.
    """
    for item in items:
        grouped = vars(item).get("_nodeid")
        if grouped is not None:
            item._id = coerce_node_id(grouped)


def pytest_collection_finish() -> None:
    """Ten thousand tests and all they import stay to the end: the collector need not look at them
    again and again, which is a fifteenth of all that the suite spends."""
    gc.collect()
    gc.freeze()
