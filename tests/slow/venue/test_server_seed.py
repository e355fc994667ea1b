"""Seed files: what is refused and how it is reported, and what the venue opens with."""

import json
import os
import stat
import time
from pathlib import Path

import msgspec
import pytest

from tests.builders.venue.journal_disk import Disk
from venue.credentials import Credentials
from venue.engine.messages import (
    Accepted,
    AddKey,
    AddToken,
    ArchiveCompany,
    HaltMarket,
    ListCompany,
    ListEvent,
    ListMarket,
    ResolveMarket,
    SetVenueState,
)
from venue.opening import (
    Fingerprint,
    Quarter,
    additions,
    listing_commands,
    state_commands,
    user_commands,
)
from venue.seed import Seed, read_seed
from venue.seedfile import SeedFault, read_seed_text
from venue.storage.recovery import fresh
from venue.wire.instant import NS_PER_SECOND, to_ns

CONFIGS = Path(__file__).parents[3] / "configs"

GOOD = """\
fees: {maker_rate: 0.0100, taker_rate: 0.0175}
companies:
  - name: Linden Works
    symbol: LINDEN
    series:
      - ticker: LINDEN-VAL
        category: valuation
        events:
          - quarter: 0
            title: Value at {quarter}
            strike_unit: USD billions
            rungs:
              - {label: 1.5B, strike_value: 1.5}
              - {label: 15B, strike_value: 15}
users:
  - name: anna
    deposit_cents: 1000
    keys:
      - {name: anna, scopes: [read], generate: true}
"""


def seed_of(folder, text):
    path = folder / "seed.yaml"
    path.write_text(text, encoding="utf-8")
    return read_seed(path)[0]


def faults_of(folder, text):
    with pytest.raises(SeedFault) as caught:
        seed_of(folder, text)
    return caught.value.faults


TRAPS = [
    ("name: Linden Works", "nmae: Linden Works", ":3: companies.0.nmae: unknown key"),
    ("taker_rate: 0.0175", "taker_rate: 1.5", ":1: fees.taker_rate: '1.5'"),
    ("taker_rate: 0.0175", "taker_rate: 1e-2", ":1: fees.taker_rate: '1e-2'"),
    ("quarter: 0", "quarter: -1", ":9: companies.0.series.0.events.0.quarter: '-1'"),
    ("quarter: 0", "quarter: 0.0", ":9: companies.0.series.0.events.0.quarter: '0.0'"),
    ("quarter: 0", "quarter: 1_0", "a whole number, digits only"),
    ("quarter: 0", "quarter: ０", "a whole number, digits only"),
    ("deposit_cents: 1000", "deposit_cents: 10.00", ":17: users.0.deposit_cents: '10.00'"),
    ("deposit_cents: 1000", "deposit_cents: ''", ":17: users.0.deposit_cents: ''"),
    ("generate: true", "generate: yes", "true or false"),
    ("generate: true", "generate: false", "exactly one of file, env and generate"),
    ("generate: true", "generate: true, env: KEY", "exactly one of file, env and generate"),
    ("scopes: [read]", "scopes: [write]", "users.0.keys.0.scopes.0: 'write'"),
    ("scopes: [read], ", "", "users.0.keys.0.scopes: missing"),
    ("strike_value: 15}", "strike_value: 1.5}", "ascending order of strike_value"),
    ("strike_value: 15}", "strike_value: 15B}", "rungs.1.strike_value: '15B'"),
    ("label: 15B", "label: 1.5B", "each rung of LINDEN-VAL once"),
    ("label: 15B", "label: YES", "no rung labelled YES, as a binary market is"),
    ("label: 15B", "label: 15-B", "rungs.1.label: '15-B'"),
    ("label: 15B", "label: 15b", "rungs.1.label: '15b'"),
    ("strike_unit: USD billions", "sub_title: x", "a strike_unit with the rungs"),
    ("quarter: 0", "quarter: 0\n            binary: true", "either rungs or binary: true"),
    ("name: Linden Works", 'name: "Linden\\nWorks"', ":3: companies.0.name: 'Linden\\nWorks'"),
    ("name: Linden Works", 'name: "\\e[2J"', "accepted: 1 to 200 printable characters"),
    ("name: Linden Works", 'name: "Linden\\x85"', "accepted: 1 to 200 printable characters"),
    ("name: Linden Works", "name: ''", "accepted: 1 to 200 printable characters"),
    ("name: Linden Works", f"name: {'n' * 201}", "accepted: 1 to 200 printable characters"),
    ("name: Linden Works", 'name: "\\ud800"', ":3: companies.0.name"),
    ("name: Linden Works", 'name: "\\U00110000"', ":3: not YAML: a number beyond"),
    ("name: Linden Works", 'name: "\\UFFFFFFFF"', ":3: not YAML: a number beyond"),
    ("symbol: LINDEN", "symbol: 'LIN DEN'", ":4: companies.0.symbol: 'LIN DEN'"),
    ("symbol: LINDEN", "symbol: LINDEN\n    symbol: OTHER", ":5: symbol: given twice, first on"),
    ("symbol: LINDEN", "symbol: &a LINDEN", ":4: &a: anchors are refused"),
    ("symbol: LINDEN", "symbol: *a", ":4: *a: aliases are refused"),
    ("symbol: LINDEN", "symbol: !!str LINDEN", None),
    ("symbol: LINDEN", "symbol: !!int 5", "tags are refused"),
    ("symbol: LINDEN", "? [a, b]\n    : LINDEN", "a key is plain text"),
    ("symbol: LINDEN", "symbol: [", "not YAML"),
    ("users:", "user:", "user: unknown key; accepted: venue, fees, companies, users, crowd"),
    ("  - name: anna\n", "  - name: anna\n    usable: maybe\n", "true or false"),
]


@pytest.mark.parametrize(("old", "new", "expected"), TRAPS)
def test_a_fault_of_a_seed_names_line_key_value_and_what_is_accepted(tmp_path, old, new, expected):
    assert GOOD.count(old) == 1
    text = GOOD.replace(old, new)
    if expected is None:
        assert seed_of(tmp_path, text).companies[0].symbol == "LINDEN"
        return
    faults = faults_of(tmp_path, text)
    assert any(expected in fault for fault in faults), faults
    assert all(fault.startswith(f"{tmp_path / 'seed.yaml'}:") for fault in faults)


def test_all_faults_of_a_seed_are_reported_at_once(tmp_path):
    text = GOOD.replace("quarter: 0", "quarter: x").replace("[read]", "[write]")
    text = text.replace("0.0175", "2").replace("deposit_cents", "deposit")
    assert len(faults_of(tmp_path, text)) == 4


def test_a_fault_does_not_show_the_value_of_an_unknown_key(tmp_path):
    text = GOOD.replace("generate: true", "key: very-secret-key-of-mine")
    assert "very-secret" not in "\n".join(faults_of(tmp_path, text))


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, ":1: cannot be read: No such file or directory"),
        (b"# fees\nfees: \xff", ":2: not UTF-8 text"),
        (b"", "empty"),
    ],
)
def test_a_missing_unreadable_or_empty_file_is_a_fault(tmp_path, content, fault):
    path = tmp_path / "seed.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SeedFault) as caught:
        read_seed(path)
    assert str(caught.value).startswith(f"{path}:")
    assert fault in str(caught.value)


def test_a_series_that_begins_with_another_is_a_fault(tmp_path):
    second = GOOD[GOOD.index("      - ticker") : GOOD.index("users:")]
    text = GOOD.replace("users:", second.replace("LINDEN-VAL", "LINDEN-VAL-X") + "users:")
    assert "begins with another one: LINDEN-VAL" in faults_of(tmp_path, text)[0]


@pytest.mark.parametrize(
    ("now", "ticker_part", "name", "end"),
    [
        ("2026-11-21T00:00:00Z", "26Q4", "Q4 2026", "2027-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00Z", "26Q1", "Q1 2026", "2026-04-01T00:00:00Z"),
        ("2026-06-23T23:59:59Z", "26Q2", "Q2 2026", "2026-07-01T00:00:00Z"),
        ("2026-06-24T00:00:00Z", "26Q3", "Q3 2026", "2026-10-01T00:00:00Z"),
        ("2026-12-30T00:00:00Z", "27Q1", "Q1 2027", "2027-04-01T00:00:00Z"),
    ],
)
def test_the_current_quarter_has_at_least_a_week_left(now, ticker_part, name, end):
    quarter = Quarter.under_way(to_ns(now))
    assert (quarter.ticker_part, str(quarter), quarter.end_ns) == (ticker_part, name, to_ns(end))


NOW_NS = to_ns("2026-11-21T00:00:00Z")


def commands_of(folder, text):
    seed = seed_of(folder, text)
    names = [made.name for user in seed.users for made in (*user.keys, *user.tokens)]
    prints = {name: Fingerprint(f"{number:064x}", name[:4]) for number, name in enumerate(names)}
    return [
        *listing_commands(seed, NOW_NS),
        *user_commands(seed, NOW_NS, prints),
        *state_commands(seed),
    ]


def of_kind(commands, *kinds):
    return [command for command in commands if isinstance(command, kinds)]


def test_tickers_come_from_series_quarter_and_label(tmp_path):
    commands = commands_of(tmp_path, GOOD)
    (event,) = of_kind(commands, ListEvent)
    assert (event.event_ticker, event.title) == ("LINDEN-VAL-26Q4", "Value at Q4 2026")
    tickers = [market.ticker for market in of_kind(commands, ListMarket)]
    assert tickers == ["LINDEN-VAL-26Q4-1.5B", "LINDEN-VAL-26Q4-15B"]
    assert len({market.market_id for market in of_kind(commands, ListMarket)}) == 2


def test_a_binary_market_ends_in_yes_and_has_no_strike(tmp_path):
    start, end = GOOD.index("            strike_unit"), GOOD.index("users:")
    text = GOOD[:start] + "            binary: true\n" + GOOD[end:]
    (market,) = of_kind(commands_of(tmp_path, text), ListMarket)
    assert (market.ticker, market.strike_value) == ("LINDEN-VAL-26Q4-YES", None)


def test_states_are_set_after_their_listings(tmp_path):
    text = GOOD.replace("strike_value: 1.5}", "strike_value: 1.5, winner: yes}")
    text = text.replace("strike_value: 15}", "strike_value: 15, halted: true}")
    text = text.replace("symbol: LINDEN", "symbol: LINDEN\n    archived: true")
    commands = commands_of(tmp_path, text + "venue: {state: cancel_only}\n")
    kinds = (ListMarket, ResolveMarket, HaltMarket, ArchiveCompany, SetVenueState)
    assert [type(command) for command in of_kind(commands, *kinds)] == [
        *(ListMarket, ListMarket, ResolveMarket, HaltMarket, ArchiveCompany, SetVenueState)
    ]


def test_a_key_names_its_user_unless_it_is_unusable(tmp_path):
    (key,) = of_kind(commands_of(tmp_path, GOOD), AddKey)
    assert key.user_id == "anna"
    text = GOOD.replace("  - name: anna\n", "  - name: anna\n    usable: false\n")
    (key,) = of_kind(commands_of(tmp_path, text), AddKey)
    assert key.user_id is None


def test_a_token_expires_its_lifetime_after_the_start(tmp_path):
    token = "{name: t, application: app, scopes: ['svc:markets:read'], lifetime_s: 60, env: T}"
    text = f"{GOOD}    tokens:\n      - {token}\n"
    (made,) = of_kind(commands_of(tmp_path, text), AddToken)
    assert made.expires_ns == NOW_NS + 60 * NS_PER_SECOND


def test_a_market_listed_under_another_uuid_is_not_listed_again(tmp_path):
    commands = listing_commands(seed_of(tmp_path, GOOD), NOW_NS)
    held = fresh(b"key")
    for command in commands:
        if isinstance(command, ListMarket):
            own_id = command.market_id.replace(command.market_id[:8], "0" * 8)
            command = msgspec.structs.replace(command, market_id=own_id)
        for event in held.apply_command(command, NOW_NS)[1]:
            held.views.apply(event)
    assert held.views.catalog.market_count == 2
    assert additions(commands, held.views.catalog, ()) == []


def test_a_company_listed_under_another_uuid_is_not_listed_again(tmp_path):
    company, *rest = listing_commands(seed_of(tmp_path, GOOD), 0)
    assert isinstance(company, ListCompany)
    own = "11111111-2222-3333-4444-555555555555"
    known = fresh(b"k" * 32)
    _, events = known.apply_command(msgspec.structs.replace(company, project_id=own), 1)
    for each in events:
        known.views.apply(each)
    added = additions([company, *rest], known.views.catalog, ())
    assert [command for command in added if isinstance(command, ListCompany)] == []
    assert {command.project_id for command in added if isinstance(command, ListEvent)} == {own}
    assert len(added) == len(rest)
    for command in added:
        assert isinstance(known.apply_command(command, 2)[0], Accepted)


def test_a_token_with_a_lifetime_beyond_the_log_is_a_fault(tmp_path):
    token = "{name: t, application: a, scopes: [], lifetime_s: 99999999999, generate: true}"
    (fault,) = faults_of(tmp_path, f"{GOOD}    tokens:\n      - {token}\n")
    assert ":21: users.0.tokens.0.lifetime_s: '99999999999'" in fault
    assert str(100 * 366 * 86_400) in fault


def test_the_venue_of_the_demo_opens_with_its_ladders():
    seed, _ = read_seed(CONFIGS / "venue.yaml")
    rungs: dict[str, int] = {}
    for market in of_kind(listing_commands(seed, NOW_NS), ListMarket):
        rungs[market.event_ticker] = rungs.get(market.event_ticker, 0) + 1
    assert rungs == {
        "AURELIA-VAL-26Q4": 9,
        "AURELIA-VAL-27Q1": 8,
        "QUILLON-IPO-27Q1": 1,
        "QUILLON-VAL-26Q4": 8,
    }
    assert {"maker", "reader", "trader"} <= Credentials(seed).fingerprints().keys()


def test_generated_keys_are_written_for_their_owner_only(tmp_path):
    credentials = Credentials(seed_of(tmp_path, GOOD))
    path = tmp_path / "new" / "keys.json"
    for _ in range(2):
        assert credentials.write_generated(path, once=False) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["keys.json"]
    raw = json.loads(path.read_text())["anna"]
    assert raw not in repr(credentials)
    assert raw not in str(credentials.fingerprints())
    assert credentials.fingerprints()["anna"].prefix == raw[:6]


def test_checking_a_seed_does_not_slow_down_with_the_number_of_users(tmp_path):
    (tmp_path / "seed.yaml").write_text(GOOD)
    content = read_seed_text(tmp_path / "seed.yaml").content
    assert isinstance(content, dict)
    key = {"scopes": ["read"], "generate": "true"}
    users = [
        {"name": f"user{number}", "keys": [{"name": f"key{number}", **key}]}
        for number in range(20_000)
    ]
    begun = time.process_time()
    seed = Seed.model_validate({**content, "users": users})
    assert len(Credentials(seed).fingerprints()) == 20_000
    assert time.process_time() - begun < 8


def test_keys_of_a_durable_venue_are_moved_aside_by_the_next_venue(tmp_path):
    path = tmp_path / "keys.json"
    written = []
    for once in (False, True, True, False, False):
        kept = Credentials(seed_of(tmp_path, GOOD)).write_generated(path, once)
        assert stat.S_IMODE(path.stat().st_mode) == (0o400 if once else 0o600)
        written.append((None if kept is None else kept.name, path.read_text()))
    texts = [text for _, text in written]
    assert [name for name, _ in written] == [None, None, "keys.json.1", "keys.json.2", None]
    assert (tmp_path / "keys.json.1").read_text() == texts[1]
    assert (tmp_path / "keys.json.2").read_text() == texts[2]
    assert len(set(texts)) == 5


def test_keys_of_a_durable_venue_survive_a_power_cut(tmp_path, monkeypatch):
    credentials = Credentials(seed_of(tmp_path, GOOD))
    disk = Disk(monkeypatch)
    path = tmp_path / "new" / "keys.json"
    credentials.write_generated(path, once=True)
    written = path.read_text()
    disk.cut_power(path.parent)
    assert path.read_text() == written
    kept = Credentials(seed_of(tmp_path, GOOD)).write_generated(path, once=True)
    rewritten = path.read_text()
    disk.cut_power(path.parent)
    assert kept is None or kept.read_text() == written
    assert path.read_text() == rewritten


def test_a_keys_file_that_cannot_be_written_is_a_fault(tmp_path):
    credentials = Credentials(seed_of(tmp_path, GOOD))
    (tmp_path / "file").write_text("")
    with pytest.raises(SeedFault, match="keys cannot be written"):
        credentials.write_generated(tmp_path / "file" / "keys.json", once=True)
    device = tmp_path / "dev" / "null"
    device.parent.mkdir()
    os.mkfifo(device)
    with pytest.raises(SeedFault, match="keys cannot be written: not a file"):
        credentials.write_generated(device, once=False)
    assert device.is_fifo()
    assert os.listdir(device.parent) == ["null"]


def test_a_key_comes_from_a_file_or_the_environment(tmp_path, monkeypatch):
    (tmp_path / "key").write_text("key-from-a-file-0001\n")
    monkeypatch.setenv("VENUE_TEST_KEY", "key-from-the-environment")
    text = GOOD.replace("generate: true", f"file: {tmp_path / 'key'}")
    text += "      - {name: second, scopes: [], env: VENUE_TEST_KEY}\n"
    credentials = Credentials(seed_of(tmp_path, text))
    assert credentials.fingerprints()["anna"].prefix == "key-fr"
    credentials.write_generated(tmp_path / "keys.json", once=False)
    assert json.loads((tmp_path / "keys.json").read_text()) == {}


@pytest.mark.parametrize("raw", ["", "too-short", "with a space in the middle", "x" * 257])
def test_an_unusable_key_is_a_fault_that_does_not_show_it(tmp_path, monkeypatch, raw):
    monkeypatch.setenv("VENUE_TEST_KEY", raw)
    text = GOOD.replace("generate: true", "env: VENUE_TEST_KEY")
    with pytest.raises(SeedFault, match="VENUE_TEST_KEY holds no key") as caught:
        Credentials(seed_of(tmp_path, text))
    assert raw == "" or raw not in str(caught.value)


@pytest.mark.parametrize("path", ["missing", "a\\0b"])
def test_a_key_file_that_cannot_be_read_is_a_fault(tmp_path, path):
    text = GOOD.replace("generate: true", f'file: "{tmp_path}/{path}"')
    with pytest.raises(SeedFault, match="cannot be read"):
        Credentials(seed_of(tmp_path, text))
