"""Claims about the compose file: it is one, nothing has more rights than it needs, it fits."""

import re
import socket
import subprocess

import pytest
import yaml

from bot.config.bot_config import finish, read_draft
from bot.io.run.runner import DRAIN_NS
from bot.io.status.control import TOKEN_NAME
from bot.io.status.serving import listen
from deploy.image.dockerfile import exec_form
from tests.builders.deploy.container import DEPLOY, OURS, compose, seconds, stages, tool, understood
from tests.builders.house.tree import ROOT
from venue.seed import read_seed
from venue.wire.instant import NS_PER_SECOND

SERVICES = compose()["services"]
SCHEMA = ["--builtin-schema", "vendor.compose-spec"]


def test_the_compose_file_is_valid_by_its_schema(tmp_path):
    misspelt = tmp_path / "compose.yaml"
    text = (DEPLOY / "compose.yaml").read_text()
    misspelt.write_text(text.replace("  read_only:", "  readonly:"))
    for path, code in ((DEPLOY / "compose.yaml", 0), (misspelt, 1)):
        words = [tool("check-jsonschema"), *SCHEMA, str(path)]
        done = subprocess.run(words, capture_output=True, text=True)
        assert done.returncode == code, done.stdout


def test_every_command_of_the_docs_names_the_compose_file():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    asked = re.findall(r"docker compose( --file deploy/compose\.yaml)? [a-z]", page)
    assert len(asked) > 5
    assert all(asked)


def test_the_docs_stop_every_writer_before_they_copy_the_state():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    around = re.findall(r"compose\.yaml stop (.+) &&\n.*\n.*\n.*\n.*&&\n.* start (.+)\n", page)
    writers = {name for name in OURS if "bot-state" in str(SERVICES[name].get("volumes"))}
    assert len(around) == 2
    for stopped, started in around:
        assert set(stopped.split()) == set(started.split()) == writers


def test_the_commands_of_the_docs_are_valid_and_use_the_key_of_their_container():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8").replace("\\\n", " ")
    where = re.findall(r" exec (?:deployment/)?(bot|reaper|venue)(?: --)? (bot|venue) (.+)", page)
    given = [(place, understood(program, line.split())) for place, program, line in where]
    cancelling = {place: told for place, told in given if "reaper_key" in told}
    assert len(given) > 7
    assert list(cancelling) == ["reaper"]
    assert cancelling["reaper"]["reaper_key"]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_has_least_privileges_and_bounded_resources(name):
    service = SERVICES[name]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["read_only"] is True
    assert int(service["user"].split(":")[0]) > 0
    assert not {"privileged", "cap_add", "devices", "pid", "ipc"} & set(service)
    assert re.fullmatch(r"\d+[mg]", service["mem_limit"])
    assert service["pids_limit"] <= 128
    assert service["logging"]["options"] == {"max-size": "50m", "max-file": "5"}


@pytest.mark.parametrize("name", OURS)
def test_our_services_have_more_time_to_stop_than_a_drain_takes(name):
    grace_ns = seconds(SERVICES[name]["stop_grace_period"]) * NS_PER_SECOND
    assert grace_ns >= DRAIN_NS + 5 * NS_PER_SECOND


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(OURS)))
def test_images_of_others_are_pinned_to_a_release(name):
    assert re.fullmatch(r"[a-z/]+:v?\d+\.\d+\.\d+", SERVICES[name]["image"])


def test_only_grafana_and_the_status_page_are_published_and_only_on_loopback():
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]
    page = understood("bot", SERVICES["bot"]["command"])["status_port"]
    assert published == ["127.0.0.1:3000:3000", f"127.0.0.1:{page}:{page}"]


def test_the_status_page_answers_at_the_address_that_a_published_port_leads_to():
    # The engine forwards to the container's own address, never to its loopback.
    with listen(read_draft(DEPLOY / "bot.yaml").file.status.host, 0) as page:
        page.listen()
        socket.create_connection(("127.0.0.2", page.getsockname()[1]), 5).close()


def test_the_docs_print_the_token_of_the_state_directory():
    page = (ROOT / "docs/deploy.md").read_text(encoding="utf-8")
    folder = understood("bot", SERVICES["bot"]["command"])["state_dir"]
    assert f"exec bot cat {folder}/{TOKEN_NAME}\n" in page


def test_all_services_share_the_network_of_a_container_that_never_restarts():
    others = {name: SERVICES[name].get("network_mode") for name in SERVICES if name != "loopback"}
    assert set(others.values()) == {"service:loopback"}
    assert SERVICES["loopback"]["entrypoint"] == ["sleep", "infinity"]
    assert "command" not in SERVICES["loopback"]


def test_each_service_sees_only_the_secrets_it_uses():
    assert {name: SERVICES[name].get("secrets", []) for name in SERVICES} == {
        "loopback": [],
        "venue": ["maker_key", "reaper_key"],
        "bot": ["maker_key"],
        "reaper": ["reaper_key"],
        "prometheus": [],
        "alertmanager": ["pager_url", "tickets_url"],
        "grafana": ["grafana_password"],
    }


def test_secrets_are_files_in_a_folder_that_git_ignores():
    files = [secret["file"] for secret in compose()["secrets"].values()]
    assert all(file.startswith("./secrets/") for file in files)
    assert "/deploy/secrets/" in (DEPLOY.parent / ".gitignore").read_text().splitlines()


def test_the_environment_of_a_service_holds_no_secret():
    values = {
        name: value
        for service in SERVICES.values()
        for name, value in service.get("environment", {}).items()
    }
    secret = {name: value for name, value in values.items() if "PASSWORD" in name}
    assert secret == {"GF_SECURITY_ADMIN_PASSWORD__FILE": "/run/secrets/grafana_password"}


def test_alertmanager_reads_the_secrets_that_are_mounted():
    text = (DEPLOY / "alertmanager/alertmanager.yml").read_text()
    read = set(re.findall(r"/run/secrets/(\w+)", text))
    assert read == set(SERVICES["alertmanager"]["secrets"])


def test_every_mounted_folder_exists():
    places = [
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
        if volume.startswith("./")
    ]
    assert len(places) == 4
    assert [place for place in places if not (DEPLOY / place).is_dir()] == []


@pytest.mark.parametrize("name", OURS)
def test_the_commands_of_our_services_are_valid(name):
    told = SERVICES[name]
    understood((told.get("entrypoint") or ["bot"])[0], told["command"])


def test_bot_and_reaper_share_a_state_directory():
    folders = [understood("bot", SERVICES[name]["command"])["state_dir"] for name in OURS[1:]]
    assert folders[0] == folders[1]
    assert SERVICES["bot"]["volumes"] == SERVICES["reaper"]["volumes"]


def test_our_health_checks_ask_the_right_ports():
    last = stages()[-1].last("HEALTHCHECK")
    assert last is not None
    assert exec_form(last) == ["bot-health"]
    assert understood("bot", SERVICES["bot"]["command"])["status_port"] == 8090
    control = understood("venue", SERVICES["venue"]["command"])["control"]
    assert SERVICES["venue"]["healthcheck"]["test"][1:] == [
        "bot-health",
        f"--url=http://{control}/readyz",
    ]


def test_prometheus_scrapes_bot_and_venue():
    targets = [
        target
        for name in ("bots", "venues")
        for row in yaml.safe_load((DEPLOY / f"prometheus/targets/{name}.yaml").read_text())
        for target in row["targets"]
    ]
    control = understood("venue", SERVICES["venue"]["command"])["control"]
    assert targets == ["127.0.0.1:8090", control]


def test_the_configuration_of_the_bot_matches_venue_and_secrets():
    draft = read_draft(DEPLOY / "bot.yaml")
    config = finish(draft)
    port = understood("venue", SERVICES["venue"]["command"])["port"]
    assert config.venue.base_url == f"http://127.0.0.1:{port}/v1"
    assert str(config.venue.key.key_file) == f"/run/secrets/{SERVICES['bot']['secrets'][0]}"
    assert str(draft.reaper.key.key_file) == f"/run/secrets/{SERVICES['reaper']['secrets'][0]}"
    seed, _ = read_seed(DEPLOY / "venue.yaml")
    series = {each.ticker for company in seed.companies for each in company.series}
    assert config.trader.series_ticker in series
