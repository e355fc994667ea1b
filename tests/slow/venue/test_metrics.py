"""Claims about the metrics of the venue: names, the bounds of their labels, what they count."""

from typing import get_args

import pytest
from prometheus_client.parser import text_string_to_metric_families

from venue.engine.messages import AccessCommand, Command
from venue.metrics import FAMILIES, Readings, VenueMetrics
from venue.wire.errors import CODES, Code
from venue.wire.routes import ROUTES

COMMANDS = [kind.__name__ for kind in (*get_args(Command), *get_args(AccessCommand))]
READINGS = Readings(
    queue_commands=lambda: 3,
    sequence=lambda: 41,
    projection_lag_seconds=lambda: 0.005,
    subscribers=lambda: 2,
    readers_cut=lambda: 7,
    connections_open=lambda: None,
    log_writable=lambda: None,
)
DURABLE = Readings(
    queue_commands=lambda: 0,
    sequence=lambda: 41,
    projection_lag_seconds=lambda: 0.0,
    subscribers=lambda: 0,
    readers_cut=lambda: 0,
    connections_open=lambda: 4,
    log_writable=lambda: True,
)

GOLDEN = {
    "venue_http_requests": ("counter", "route", "status", "code"),
    "venue_http_request_seconds": ("histogram", "route"),
    "venue_engine_apply_seconds": ("histogram", "command"),
    "venue_batch_commands": ("histogram",),
    "venue_log_append_seconds": ("histogram",),
    "venue_log_entries": ("counter",),
    "venue_log_written_bytes": ("counter",),
    "venue_log_refusals": ("counter", "reason"),
    "venue_readers_cut": ("counter",),
    "venue_queue_commands": ("gauge",),
    "venue_sequence": ("gauge",),
    "venue_log_writable": ("gauge",),
    "venue_projection_lag_seconds": ("gauge",),
    "venue_subscribers": ("gauge",),
    "venue_connections_open": ("gauge",),
    "venue_build_info": ("gauge", "version", "python"),
}


def made(readings=READINGS):
    return VenueMetrics("0.1.0", COMMANDS, readings)


def families(shown):
    return {each.name: each for each in text_string_to_metric_families(shown.exposition().decode())}


def value(shown, name, **labels):
    """The one sample of this name and these labels, or None."""
    found = [
        sample.value
        for family in families(shown).values()
        for sample in family.samples
        if sample.name == name and sample.labels == labels
    ]
    assert len(found) <= 1
    return found[0] if found else None


def test_the_metrics_have_their_documented_names_kinds_and_labels():
    assert {f"venue_{f.name}": (f.kind, *f.labels) for f in FAMILIES} == GOLDEN


def test_every_metric_is_exposed_with_its_kind_and_help():
    shown = families(made(DURABLE))
    for family in FAMILIES:
        assert shown[f"venue_{family.name}"].type == family.kind
        assert shown[f"venue_{family.name}"].documentation == family.help


def test_histograms_alone_have_bounds_and_those_rise():
    for family in FAMILIES:
        assert list(family.buckets) == sorted(set(family.buckets))
        assert bool(family.buckets) == (family.kind == "histogram")


def test_a_request_is_counted_by_route_status_and_code():
    shown = made()
    shown.request("create_order", None, 201, 0.003)
    shown.request("create_order", None, 201, 0.004)
    shown.request("create_order", Code.INVALID_PRICE, 400, 0.001)
    name = "venue_http_requests_total"
    assert value(shown, name, route="create_order", status="201", code="ok") == 2
    assert value(shown, name, route="create_order", status="400", code="invalid_price") == 1


def test_request_latency_is_counted_in_its_bucket_and_every_higher_one():
    shown = made()
    shown.request("balance", None, 200, 0.001)
    shown.request("balance", Code.RATE_LIMITED, 429, 0.003)
    shown.request("balance", None, 200, 60.0)
    name = "venue_http_request_seconds_bucket"
    counts = [
        value(shown, name, route="balance", le=le) for le in ("0.0005", "0.001", "0.005", "+Inf")
    ]
    assert counts == [0, 1, 2, 3]
    total = value(shown, "venue_http_request_seconds_sum", route="balance")
    assert total == pytest.approx(60.004)


def test_labels_of_requests_come_from_the_tables_or_are_other():
    shown = made()
    shown.request(None, Code.MARKET_NOT_FOUND, 404, 0.001)
    labels = {"route": "other", "status": "404", "code": "market_not_found"}
    assert value(shown, "venue_http_requests_total", **labels) == 1
    for number in range(50):
        shown.request(f"/orders/{number}", f"code-{number}", 400 + number, 0.001)
        shown.request("balance", "rate_limited", 200 + number, 0.001)
    routes = {route.name for route in ROUTES} | {"other"}
    pairs = {(str(row.status), code.value) for code, row in CODES.items()}
    pairs |= {("200", "ok"), ("201", "ok"), ("0", "other")}
    samples = families(shown)["venue_http_requests"].samples
    assert {sample.labels["route"] for sample in samples} <= routes
    assert {(s.labels["status"], s.labels["code"]) for s in samples} <= pairs
    assert sum(sample.value for sample in samples) == 101


@pytest.mark.parametrize(
    ("count", "family"),
    [
        (lambda shown, text: shown.append_refused(text), "log_refusals"),
        (lambda shown, text: shown.applied(text, 0.001), "engine_apply_seconds"),
    ],
)
def test_a_label_outside_its_set_is_counted_as_other(count, family):
    shown = made()
    label = next(f.labels[0] for f in FAMILIES if f.name == family)
    before = {s.labels[label] for s in families(shown)[f"venue_{family}"].samples}
    count(shown, "198.51.100.7")
    after = {s.labels[label] for s in families(shown)[f"venue_{family}"].samples}
    assert after - before <= {"other"}
    ending = "_count" if family.endswith("seconds") else "_total"
    assert value(shown, f"venue_{family}{ending}", **{label: "other"}) == 1


def test_batches_appends_rejections_and_applied_commands_are_counted():
    shown = made()
    for size in (1, 1, 64, 3):
        shown.batch(size)
    assert value(shown, "venue_batch_commands_sum") == 69
    assert value(shown, "venue_batch_commands_bucket", le="1.0") == 2
    assert value(shown, "venue_batch_commands_bucket", le="4.0") == 3
    shown.appended(2, 300, 0.0004)
    shown.appended(1, 100, 0.03)
    assert value(shown, "venue_log_entries_total") == 3
    assert value(shown, "venue_log_written_bytes_total") == 400
    assert value(shown, "venue_log_append_seconds_bucket", le="0.0005") == 1
    shown.append_refused("full")
    assert value(shown, "venue_log_refusals_total", reason="full") == 1
    assert value(shown, "venue_log_refusals_total", reason="broken") == 0
    for command in ("PlaceOrder", "CancelOrder", "PlaceOrder"):
        shown.applied(command, 0.00004)
    assert value(shown, "venue_engine_apply_seconds_count", command="PlaceOrder") == 2


def test_readings_are_taken_at_exposition_and_absent_ones_are_omitted():
    lag_s = [0.5]
    shown = made(READINGS | {"projection_lag_seconds": lambda: lag_s[0]})
    assert value(shown, "venue_projection_lag_seconds") == 0.5
    lag_s[0] = 0.25
    assert value(shown, "venue_projection_lag_seconds") == 0.25
    assert value(shown, "venue_queue_commands") == 3
    assert value(shown, "venue_subscribers") == 2
    assert value(shown, "venue_readers_cut_total") == 7
    assert value(shown, "venue_connections_open") is None
    assert value(shown, "venue_log_writable") is None
    assert value(made(DURABLE), "venue_connections_open") == 4
    assert value(made(DURABLE), "venue_log_writable") == 1


def test_build_and_process_are_exposed():
    shown = families(made())
    (build,) = shown["venue_build_info"].samples
    assert build.value == 1
    assert build.labels["version"] == "0.1.0"
    assert "process_resident_memory_bytes" in shown
