"""Claims about the route table: every published endpoint, its scopes, and no two alike."""

from pathlib import Path

import pytest

from venue.wire import routes
from venue.wire.routes import ROUTES

TABLE = Path(__file__).with_name("routes.txt")
ROWS = [
    tuple(line.split())
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_table_holds_exactly_the_published_endpoints():
    shown = [
        (
            route.method,
            route.path,
            "-" if route.key_scope is None else route.key_scope.value,
            ",".join(scope.value for scope in route.token_scopes) or "-",
        )
        for route in ROUTES
    ]
    assert shown == ROWS


def test_no_two_endpoints_share_a_name_or_a_method_and_path():
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.name)
def test_a_route_is_reachable_under_its_own_name(route):
    assert getattr(routes, route.name.upper()) is route


def test_only_the_description_needs_no_credential():
    assert [route.name for route in ROUTES if route.key_scope is None] == ["openapi"]


def test_a_path_falls_into_its_segments():
    assert routes.SNAPSHOT.segments == ("markets", "{market_id}", "snapshot")
    assert routes.BALANCE.segments == ("portfolio", "balance")
