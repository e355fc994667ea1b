"""Claims about a client that a generator makes from the description: it keeps and reads errors."""

import pytest

from tests.builders.venue.control_bench import KEY, served
from tests.builders.venue.generated_client import PACKAGE, generate, use
from venue.rest.openapi import refusals
from venue.wire import routes


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("client")
    return folder, generate(folder)


def test_the_generator_keeps_every_error_response(made):
    folder, said = made
    for route in routes.ROUTES:
        source = (folder / f"{PACKAGE}/api/default/{route.name}.py").read_text(encoding="utf-8")
        assert source.count("ErrorBody.from_dict(") == len(refusals(route)), route.name
    # The one body that is no JSON is the description itself.
    assert said.count("Cannot parse response") == said.count("application/yaml)") == 1


def test_the_generated_client_trades_and_reads_errors(made):
    folder, _ = made
    with served() as venue:
        read = use(folder, f"http://127.0.0.1:{venue.rest_port}/v1", KEY)
    assert read["created"] == ["open", 3]
    assert read["amended"] == ["open", 6]
    assert read["canceled"] == ["canceled", 3]
    assert [failure[:2] for failure in read["failures"]] == [
        [422, "duplicate_order_id"],
        [404, "order_not_found"],
        [401, "unauthenticated"],
    ]
    assert all(failure[2] for failure in read["failures"])
