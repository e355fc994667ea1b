"""What holds for every test: how long an example may take, and which tests share a worker."""

import pytest
from _pytest.nodeid import coerce_node_id
from hypothesis import settings

# Speed is claimed in bench/, as a ratio, and never by a test.
settings.register_profile("untimed", deadline=None)
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
