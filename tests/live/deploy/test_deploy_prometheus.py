"""Claims about the deployed monitoring files: they are valid, belong together, and name what is."""

import re
import subprocess
from itertools import combinations

import pytest
import yaml

from bot.cli.main import COMMANDS
from bot.io.metrics import metrics
from bot.io.metrics.table import FINDINGS, NOTICES, RECORDS
from tests.builders.deploy import boards as made
from tests.builders.deploy import four_boards, metrics_page, rules
from tests.builders.house.tree import ROOT
from tests.builders.servers import need
from venue import metrics as venue_metrics
from venue.wire.errors import Code

METRIC = re.compile(r"\b(?:laddermaker|venue)_[a-z0-9_]+")
RECORDED = re.compile(r"\b[a-z_]+:laddermaker_[a-z_]+:[a-z0-9_]+")
SERIES = re.compile(r"^([a-z_:]+)\{(.*)\}$")
FINDING = re.compile(r'finding(=~|!~)"([^"]+)"')
LABEL = re.compile(r'([a-z_]+)="')
ALWAYS = {"instance", "job"}
SUFFIXES = ("_bucket", "_count", "_sum")


def run(program: str, *arguments: object) -> str:
    """What a program prints; it must end well."""
    done = subprocess.run(
        [need(program), *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def known() -> dict[str, set[str]]:
    """Every metric of ours by the name that Prometheus knows it by, and its labels."""
    found = {
        metrics_page.name_of(row): {*row.labels, metrics.SERIES}
        for row in (*metrics.FAMILIES, *metrics.COUNTED, *RECORDS, *NOTICES)
    }
    for timed in metrics.TIMED.values():
        for suffix in SUFFIXES:
            found[f"{metrics.PREFIX}{timed.name}{suffix}"] = {*timed.labels, metrics.SERIES}
        found[f"{metrics.PREFIX}{timed.name}_bucket"].add("le")
    build = {"version", "python", "config", metrics.SERIES}
    found[metrics.PREFIX + metrics.BUILD[0]] = build
    found[metrics.PREFIX + metrics.STARTED[0]] = set()
    for family in venue_metrics.FAMILIES:
        ends = {"counter": ("_total",), "gauge": ("",), "histogram": SUFFIXES}[family.kind]
        for end in ends:
            found[f"venue_{family.name}{end}"] = {*family.labels, "le"}
    return found


# --- the servers' own checks ----------------------------------------------------------------------


def test_promtool_accepts_scrape_configuration_and_rules():
    assert "SUCCESS" in run("promtool", "check", "config", rules.PROMETHEUS / "prometheus.yml")


def test_the_rules_pass_their_unit_tests():
    files = sorted(rules.RULE_TESTS.glob("*.yaml"))
    assert len(files) == 3
    assert run("promtool", "test", "rules", *files).count("SUCCESS") == len(files)


def test_amtool_accepts_the_routes_and_pages_go_to_the_pager():
    run("amtool", "check-config", rules.ALERTMANAGER)
    for severity, receiver in (("page", "pager"), ("ticket", "tickets")):
        route = run(
            "amtool", "config", "routes", "test", "--config.file", rules.ALERTMANAGER,
            f"severity={severity}", "alertname=X",
        )  # fmt: skip
        assert route.split() == [receiver]


def test_inhibition_rules_name_existing_alerts():
    config = yaml.safe_load(rules.ALERTMANAGER.read_text())
    names = {alert.name for alert in rules.alerts()}
    for rule in config["inhibit_rules"]:
        for matcher in (*rule["source_matchers"], *rule["target_matchers"]):
            assert set(re.findall(r"[A-Z]\w+", matcher)) <= names


# --- alerts and their pages -----------------------------------------------------------------------


def test_a_stale_feed_inhibits_the_alerts_that_follow_from_it():
    config = yaml.safe_load(rules.ALERTMANAGER.read_text())
    (muted,) = (
        rule["target_matchers"][0]
        for rule in config["inhibit_rules"]
        if rule["source_matchers"] == ['alertname="FeedStale"']
    )
    assert {"BudgetStarved", "UnknownOrderOld", "NothingQuoted"} <= set(re.findall(r"\w+", muted))


def test_a_refused_standby_key_silences_no_latch_that_is_not_flat():
    config = yaml.safe_load(rules.ALERTMANAGER.read_text())
    (sources,) = (
        dict(re.fullmatch(r'(\w+)=~?"(.+)"', each).groups() for each in rule["source_matchers"])
        for rule in config["inhibit_rules"]
        if "LatchedNotFlat" in rule["target_matchers"][0]
    )
    refused = [name for name in FINDINGS if name.endswith("key_refused")]
    silencing = [name for name in refused if re.fullmatch(sources["finding"], name)]
    assert (sources["alertname"], silencing) == ("KeyRefused", ["key_refused", "read_key_refused"])


def test_every_alert_has_a_runbook_and_every_runbook_an_alert():
    named = {alert.name for alert in rules.alerts()}
    assert named == set(rules.pages())
    for alert in rules.alerts():
        url = "{{ $externalLabels.runbooks }}" + f"/{alert.name}.md"
        assert alert.annotations["runbook_url"] == url
        assert alert.labels["severity"] in ("page", "ticket")


@pytest.mark.parametrize("name", sorted(rules.pages()))
def test_a_runbook_says_what_it_means_what_to_look_at_and_what_to_do(name):
    text = rules.pages()[name].read_text(encoding="utf-8")
    parts = re.split(r"^## ", text, flags=re.MULTILINE)
    assert parts[0].startswith(f"# {name}\n")
    titles = [part.partition("\n")[0] for part in parts[1:]]
    assert titles == ["What it means", "What to look at", "What to do"]
    assert all(len(part.partition("\n")[2].split()) >= 3 for part in parts[1:])


@pytest.mark.parametrize("name", ["FindingStands", "ReconcileDifference"])
def test_a_runbook_of_several_findings_names_each(name):
    expr = next(alert.expr for alert in rules.alerts() if alert.name == name)
    how, pattern = FINDING.search(expr).groups()
    meant = {f for f in FINDINGS if bool(re.fullmatch(pattern, f)) == (how == "=~")}
    assert meant
    text = rules.pages()[name].read_text(encoding="utf-8")
    assert {finding for finding in meant if f"`{finding}`" not in text} == set()


def test_the_list_of_runbooks_names_each_once():
    text = (rules.RUNBOOKS / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \[(\w+)\]\((\w+)\.md\) \| (\w+) \|", text, re.MULTILINE)
    route = {alert.name: alert.labels["severity"] for alert in rules.alerts()}
    assert [name for name, page, _ in listed if name != page] == []
    assert {name: severity for name, _, severity in listed} == route
    assert len(listed) == len(route)


def test_every_alert_has_a_unit_test_that_makes_it_fire():
    fired = set()
    for file in rules.RULE_TESTS.glob("*.yaml"):
        for test in yaml.safe_load(file.read_text())["tests"]:
            for case in test.get("alert_rule_test", []):
                fired |= {case["alertname"]} if case["exp_alerts"] else set()
    assert fired == {alert.name for alert in rules.alerts()}


# --- what they name -------------------------------------------------------------------------------


def test_unit_tests_of_rules_use_series_with_their_real_labels():
    metric_labels = known()
    for file in rules.RULE_TESTS.glob("*.yaml"):
        for test in yaml.safe_load(file.read_text())["tests"]:
            for given in test["input_series"]:
                name, inside = SERIES.fullmatch(given["series"]).groups()
                labels = set(LABEL.findall(inside)) - ALWAYS
                if name != "up":
                    wanted = metric_labels[name]
                    venues_own = name.startswith("venue_")
                    assert labels <= wanted if venues_own else labels == wanted, given["series"]


def named_metrics(text: str) -> set[str]:
    """The metrics that a text names; recorded ones and the venue's error codes left out."""
    return set(METRIC.findall(RECORDED.sub("", text))) - {code.value for code in Code}


def test_rules_name_only_existing_metrics():
    exprs = [
        rule["expr"] for file in ("recording.yaml", "alerts.yaml") for rule in rules.rules(file)
    ]
    assert named_metrics("\n".join(exprs)) <= set(known())


def test_alerts_and_dashboards_use_only_recorded_series():
    recorded = {rule["record"] for rule in rules.rules("recording.yaml")}
    exprs = [alert.expr for alert in rules.alerts()] + [each.expr for each in rules.shown()]
    assert set(RECORDED.findall("\n".join(exprs))) <= recorded


@pytest.mark.parametrize("name", sorted(rules.pages()))
def test_a_runbook_names_only_existing_metrics_alerts_and_commands(name):
    text = rules.pages()[name].read_text(encoding="utf-8")
    whole = {metric.removesuffix(suffix) for metric in known() for suffix in ("", *SUFFIXES)}
    assert named_metrics(text) <= whole
    assert set(re.findall(r"`bot ([a-z-]+)", text)) <= set(COMMANDS)
    alerts = {alert.name for alert in rules.alerts()}
    other = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\b", text)) - {"MalformedFrame"}
    assert other <= alerts


def test_every_metric_is_on_a_dashboard_or_in_a_rule():
    exprs = [each.expr for each in rules.shown()]
    exprs += [
        rule["expr"] for file in ("recording.yaml", "alerts.yaml") for rule in rules.rules(file)
    ]
    used = named_metrics("\n".join(exprs))
    used = {name.removesuffix(suffix) for name in used for suffix in ("", *SUFFIXES)}
    ours = {
        *(
            metrics_page.name_of(each)
            for each in (*metrics.FAMILIES, *metrics.COUNTED, *RECORDS, *NOTICES)
        ),
        *(metrics.PREFIX + name for name in metrics.TIMED),
    }
    # Its answers by code are on the dashboard with more labels.
    assert ours - used == {"laddermaker_findings", "laddermaker_requests_refused_total"}


# --- the page -------------------------------------------------------------------------------------


def test_the_page_of_metrics_is_generated_from_the_tables():
    written = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    assert written == metrics_page.page(), "run: make pages"


# --- dashboards -----------------------------------------------------------------------------------

BOARDS = rules.boards()


def test_the_dashboards_are_generated_from_their_table():
    assert set(BOARDS) == {board.uid for board in four_boards.BOARDS}
    for board in four_boards.BOARDS:
        written = (made.FOLDER / f"{board.uid}.json").read_text(encoding="utf-8")
        assert written == made.text_of(board), "run: make pages"


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_panels_of_a_dashboard_have_unique_ids_and_do_not_overlap(name):
    board = BOARDS[name]
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    assert board["uid"] == name
    for one, other in combinations((panel["gridPos"] for panel in board["panels"]), 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        apart_y = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart_x or apart_y
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in board["panels"])


@pytest.mark.parametrize("name", sorted(BOARDS))
def test_every_panel_has_a_description_and_reads_the_provisioned_source(name):
    sources = yaml.safe_load(
        (rules.GRAFANA / "provisioning/datasources/prometheus.yaml").read_text()
    )
    uid = sources["datasources"][0]["uid"]
    for panel in rules.panels(BOARDS[name]):
        assert panel["description"].endswith(".")
        assert panel["targets"]
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {uid}


def test_the_panel_of_used_disk_space_is_titled_so():
    panels = [panel for board in BOARDS.values() for panel in rules.panels(board)]
    drawn = {
        panel["title"]
        for panel in panels
        for target in panel["targets"]
        if target["expr"].startswith("1 - ")
    }
    assert drawn == {"Disk of the journal, part used"}


def test_dashboards_name_only_existing_metrics():
    named = named_metrics("\n".join(each.expr for each in rules.shown()))
    assert named <= set(known())
