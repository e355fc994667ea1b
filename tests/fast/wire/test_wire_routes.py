"""Claims about the route table: every published endpoint, its scopes, and no two alike."""

from pathlib import Path

from venue.wire.routes import ROUTES

TABLE = Path(__file__).with_name("routes.txt")
ROWS = [
    tuple(line.split())
    for line in TABLE.read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_the_route_table_holds_exactly_the_published_endpoints_and_scopes():
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
