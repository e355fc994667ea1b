"""Claims about the configuration: what is refused, how it is said, and that all of it is said."""

import time
from pathlib import Path

import pydantic
import pytest

from bot.config import sections
from bot.config.bot_config import BotConfig, ConfigFault, ExternalSettings, finish, read_draft
from bot.config.secrets import KeyPlace
from bot.config.strict_yaml import read_yaml
from bot.config.validation import typed
from bot.core.settings import BudgetSettings, StalenessSettings

ROOT = Path(__file__).resolve().parents[3]
GOOD = """\
series: AURELIA-VAL
venue:
  embedded: venue.yaml
strategy:
  name: fixed_spread
  params:
    half_spread_cents: 3
risk:
  event_loss_cents: 10000
  series_loss_cents: 20000
  rung_position_qty: 100
  order_qty: 50
"""
OUTSIDE = GOOD.replace(
    "embedded: venue.yaml", "base_url: https://venue.example/v1\n  key_file: maker.key"
)


def load(folder: Path, text: str) -> BotConfig:
    path = folder / "demo.yaml"
    path.write_text(text)
    return finish(read_draft(path))


def faults(folder: Path, text: str) -> tuple[str, ...]:
    with pytest.raises(ConfigFault) as caught:
        load(folder, text)
    return caught.value.faults


def test_a_valid_file_becomes_the_settings_of_the_trader(tmp_path):
    config = load(tmp_path, GOOD + "throttle: {decide_ms: 20}\nbudget: {burst: 300}\n")
    assert config.name == "demo"
    assert config.trader.series_ticker == "AURELIA-VAL"
    assert config.trader.risk.event_loss_cents == 10_000
    assert config.trader.pace.decide_ns == 20_000_000
    assert config.trader.budget == BudgetSettings(burst=300)
    assert config.trader.staleness == StalenessSettings(poll_quiet_ns=20 * 10**9)
    assert config.make_strategy().params.half_spread_cents == 3
    assert config.venue.config == tmp_path / "venue.yaml"
    assert config.state.directory == Path("state/demo")


def test_every_limit_of_the_file_reaches_the_trader(tmp_path):
    numbers = {
        "event_loss_cents": 4_000,
        "series_loss_cents": 5_000,
        "account_loss_cents": 6_000,
        "rung_position_qty": 70,
        "order_qty": 8,
        "event_net_qty": 90,
        "event_gross_qty": 100,
        "event_gross_cents": 11_000,
        "resting_cents": 1_200,
        "resting_orders": 13,
    }
    before = GOOD[: GOOD.index("risk:")]
    given = "".join(f"  {name}: {number}\n" for name, number in numbers.items())
    risk = load(tmp_path, f"{before}risk:\n{given}").trader.risk
    assert {name: getattr(risk, name) for name in numbers} == numbers


def test_the_default_event_loss_is_30_dollars(tmp_path):
    text = GOOD.replace("  event_loss_cents: 10000\n", "")
    assert load(tmp_path, text).trader.risk.event_loss_cents == 3_000


def test_the_stream_url_follows_from_the_base_url(tmp_path):
    venue = load(tmp_path, OUTSIDE).venue
    assert venue == ExternalSettings(
        "https://venue.example/v1",
        "wss://venue.example/v1/stream",
        KeyPlace(tmp_path / "maker.key", None, None),
    )


@pytest.mark.parametrize(
    "url",
    ["HTTPS://venue.example/v1", '" https://venue.example/v1"', '"https://ven\\tue.example/v1"'],
)
def test_an_ambiguous_address_is_refused(tmp_path, url):
    # The channel's address was made of it as ws://, and the key went in the clear.
    (found_faults,) = faults(tmp_path, OUTSIDE.replace("https://venue.example/v1", url))
    assert "demo.yaml:3: venue.base_url: " in found_faults


@pytest.mark.parametrize(
    "host",
    [
        *("256.1.1.1", "0177.0.0.1", "1.2.3.4.5", "0x7f.1", "[v1.a]", "xn--0.example", "a..b"),
        *("-venue.example", f"{'a' * 64}.example", "ven☃ue.example", "ß.example", "ve^nue.example"),
    ],
)
def test_an_impossible_or_ambiguous_host_is_refused(tmp_path, host):
    # The channel of ß.example was that of ss.example, and most of these ended in a traceback.
    (found_faults,) = faults(tmp_path, OUTSIDE.replace("venue.example", host))
    assert (
        "demo.yaml:3: venue.base_url: no host can be called so; accepted: a name of" in found_faults
    )


@pytest.mark.parametrize(
    "host", ["10.1.2.3:8443", "[::1]", "[2001:db8::7]:1", "XN--Mnchen-3YA.de", "venue_1.a.b."]
)
def test_a_host_by_name_or_address_is_accepted(tmp_path, host):
    (tmp_path / "good.yaml").write_text(OUTSIDE.replace("venue.example", host))
    assert read_draft(tmp_path / "good.yaml").file.venue.base_url == f"https://{host}/v1"


@pytest.mark.parametrize("written", ["", "''", "'  '"])
def test_a_blank_state_directory_is_a_fault(tmp_path, written):
    # The folder that the program was started in would be closed to everybody else.
    (found_faults,) = faults(tmp_path, f"{OUTSIDE}\nstate:\n  dir: {written}\n")
    assert "state.dir: blank; accepted: a folder of the bot's own" in found_faults


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        (OUTSIDE.replace("key_file: maker.key", "key_file:"), 4, "venue.key_file"),
        (
            OUTSIDE.replace("key_file: maker.key", "key_file: k\n  key_name: ''"),
            5,
            "venue.key_name",
        ),
        (OUTSIDE + "records:\n  file: '  '\n", None, "records.file"),
        (OUTSIDE + "reaper:\n  key_file: ''\n", None, "reaper.key_file"),
        (OUTSIDE + "notices:\n  - url_file:\n", None, "notices.0.url_file"),
        (GOOD.replace("embedded: venue.yaml", "embedded:"), 3, "venue.embedded"),
    ],
)
def test_a_blank_path_or_key_is_refused(tmp_path, text, line, key):
    # The folder of the file was taken for the key, or for the records, as the run began.
    (found_faults,) = faults(tmp_path, text)
    at = text.count("\n") if line is None else line
    assert found_faults.endswith(
        f"demo.yaml:{at}: {key}: blank; accepted: a value, or leave the key out"
    )


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda p: p.name)
def test_every_shipped_configuration_is_valid(path):
    if path.name != "venue.yaml":
        finish(read_draft(path))


# What is replaced: by what, and what the fault must say.
FAULTY = {
    "event_loss_cents: 10000": (
        ("event_loss_cents: 12.50", "looks like dollars: write cents"),
        ("event_loss_cents: 12.0", "looks like dollars: write cents"),
        ("event_loss_cents: $100", "looks like dollars"),
        ("event_loss_cents: 0", "at least 1"),
        ("event_loss_cents: -5", "at least 1"),
        ("event_loss_cents: 1e4", "a whole number"),
        ("event_loss_cents: 10_000", "a whole number"),
        ("event_loss_cents: 10,000", "a whole number"),
        ("event_loss_cents: 0123", "a whole number"),
        ("event_loss_cents: 0x10", "a whole number"),
        ("event_loss_cents: ０１", "a whole number"),
        ("event_loss_cents: 12:30", "a whole number"),
        ("event_loss_cents: true", "a whole number"),
        ("event_loss_cents:", "nothing; accepted: a whole number"),
        ("event_loss_cents: null", "a whole number"),
        ("event_loss_cents: [1]", "a whole number"),
        ("event_loss_cents: 99999999999", "at most"),
    ),
    "series_loss_cents: 20000": (("series_loss_cents: 9999", "at least 10000"),),
    "order_qty: 50": (
        ("order_qty: 101", "100 is below order_qty; accepted: at least 101"),
        ("order_qty: 50\n  account_loss_cents: 19999", "19999 is below series_loss_cents"),
        ("order_qty: 50\n  event_net_qty: 49", "event_net_qty: 49 is below order_qty"),
        ("order_qty: 50\n  event_gross_qty: 49", "at least 50; or 0 for what follows"),
        ("order_qty: 50\n  event_gross_cents: 9999", "below event_loss_cents; accepted: at least"),
        ("order_qty: 50\n  resting_cents: -1", "at least 0"),
        ("order_qty: 50\n  event_gross_qty: 1000001", "at most 1000000"),
        ("order_qty: 0", "at least 1"),
        ("order_qty: 50\n  resting_orders: 0", "at least 1"),
        ("order_qyt: 50", "did you mean order_qty?"),
        ("order_qty: 50\n  order_qty: 60", "is there twice, first on line 12"),
        ("order_qty: 50\n  max_loss: 3", "no such key"),
        ("order_qty: 50\x00", "demo.yaml:12: not YAML: the sign U+0000"),
    ),
    "  order_qty: 50\n": (("", "risk.order_qty: missing"),),
    "series: AURELIA-VAL": (
        ("sereis: AURELIA-VAL", "did you mean series?"),
        ("series: ../etc", "letters, digits, dots and hyphens"),
        ("series: ..", "letters, digits, dots and hyphens"),
        ("series: A\nname: Über", "small letters"),
        ("series: &x AURELIA-VAL", "anchor &x is refused"),
        ("series: *x", "alias *x is refused"),
        ("series: !!python/name:os.system AURELIA", "tag"),
        ("<<: {series: A}", "merge key"),
        ("series: [", "not YAML"),
        ('series: "AURELIA', "a quoted scalar that begins on line 1"),
        ("series: A\n---\nseries: B", "not YAML"),
        ("series: AURELIA-VAL\ttoo\x07", "not YAML"),
    ),
    "name: fixed_spread": (
        ("name: fixed_sperad", "did you mean fixed_spread?"),
        ("name: nobody.home:Strategy", "cannot be imported"),
        ("name: bot.core.market_data.queue_position:Queues", "no class made from"),
        ("name: ./nowhere.py:Mine", "no such Python file"),
        ("name: __init__", "no strategy"),
    ),
    "half_spread_cents: 3": (
        ("half_spread_cent: 3", "did you mean half_spread_cents?"),
        ("half_spread_cents: 2.5", "looks like dollars"),
        ("half_spread_cents: 50", ":7: strategy.params.half_spread_cents: '50'; accepted: a whole"),
        ("half_spread_cents: 50", "at least 1, at most 49"),
    ),
    "embedded: venue.yaml": (
        ("embedded: venue.yaml\n  base_url: https://x/v1", "exactly one of"),
        ("stream_url: wss://x", "exactly one of embedded and base_url"),
        ("embedded: venue.yaml\n  key_env: KEY", "not with embedded"),
        ("base_url: https://x/v1", "exactly one of key_file and key_env"),
        ("base_url: http://x.example/v1\n  key_env: K", "loopback only"),
        ("base_url: https://x.example\n  key_env: K", "accepted: an address that ends in /v1"),
        ("base_url: htps://x/v1\n  key_env: K", "did you mean https://?"),
        ("base_url: https://u:p@x/v1\n  key_env: K", "no user, query"),
        ("base_url: https://x/v1?key=s\n  key_env: K", "no user, query"),
        ("base_url: https://x:y/v1\n  key_env: K", "not an address"),
        (
            "base_url: https://x/v1\n  stream_url: ws://x.example/s\n  key_env: K",
            "ws:// is for loopback only",
        ),
    ),
    "venue:": (
        ("status: {host: 0.0.0.0}\nvenue:", "allowed_hosts"),
        ("status: {port: 70000}\nvenue:", "at most 65535"),
        ("budget: {burst: 50}\nvenue:", "reserve: 60 is not below burst: nothing could ever"),
        ("budget: {burst: 50}\nvenue:", "accepted: at most 49, or a larger burst"),
        ("budget: {burst: 99}\nvenue:", "resting_orders: 200 is above budget.burst: not all"),
        ("budget: {burst: 99}\nvenue:", "accepted: at most 99"),
        ("budget: {rate_per_second: 251}\nvenue:", "at most 250"),
        ("staleness: {recheck_ms: 10000}\nvenue:", "10000 is not below book_ms: a book"),
        ("staleness: {recheck_ms: 10000}\nvenue:", "read again; accepted: at most 9999"),
        ("wind_down: {exit_ms: 60, stop_ms: 60}\nvenue:", "more than wind_down.stop_ms (60)"),
        ("notices: [{url_env: A, events: [breakr]}]\nvenue:", "0.events.0: 'breakr'; accepted"),
        ("notices: [{url_env: A, events: [stop, [x]]}]\nvenue:", "events.1: a list or block"),
        ("notices: [{url_env: A, events: stop}]\nvenue:", "'stop'; accepted: a list of breaker"),
        ("status: {allowed_hosts: [[a]]}\nvenue:", "allowed_hosts.0: a list or block; acc"),
        ("throttle: fast\nvenue:", "accepted: decide_ms"),
        ("state: {journal_segments_kept: 1}\nvenue:", "at least 2"),
    ),
}
FAULTS = [(old, new, said) for old, rows in FAULTY.items() for new, said in rows]


@pytest.mark.parametrize(("old", "new", "said"), FAULTS, ids=map(str, range(len(FAULTS))))
def test_a_faulty_value_is_refused_in_plain_words(tmp_path, old, new, said):
    assert GOOD.count(old) == 1
    found_faults = faults(tmp_path, GOOD.replace(old, new))
    assert any(said in fault for fault in found_faults), found_faults
    assert all(fault.startswith(str(tmp_path / "demo.yaml")) for fault in found_faults)


def test_a_fault_names_file_line_key_value_and_range(tmp_path):
    found_faults = faults(tmp_path, GOOD.replace("order_qty: 50", "order_qty: fifty"))
    assert found_faults == (
        f"{tmp_path}/demo.yaml:12: risk.order_qty: 'fifty'; "
        "accepted: a whole number, at least 1, at most 1000000",
    )


def test_all_faults_are_listed_in_order_of_line(tmp_path):
    text = GOOD.replace("order_qty: 50", "order_qty: 0").replace("series:", "serie:")
    text = text.replace("half_spread_cents: 3", "half_spread_cents: wide")
    found_faults = faults(tmp_path, text + "throttle: {decide_ms: 0}\n")
    lines = [int(fault.split(":")[1]) for fault in found_faults]
    assert lines == sorted(lines)
    keys = {fault.split(": ")[1] for fault in found_faults}
    assert {"serie", "series", "strategy.params.half_spread_cents", "risk.order_qty"} <= keys
    assert "throttle.decide_ms" in keys


class FlagParams(sections.Part):
    careful: bool


@pytest.mark.parametrize("text", ["no", "yes", "off", "True", "1", "", "~"])
def test_only_true_and_false_are_booleans(tmp_path, text):
    path = tmp_path / "x.yaml"
    path.write_text(f"careful: {text}\n")
    source = read_yaml(path)
    found, found_faults = typed(FlagParams, source.content, (), source)
    assert found is None
    assert "accepted: true or false" in found_faults[0].text


class ListedParams(sections.Part):
    """A schema of lists, and of a number of either kind."""

    widths_cents: tuple[int, ...] = ()
    shares: list[float] = pydantic.Field(default=[1.0])
    flags: tuple[bool, ...] = ()
    band: tuple[int, float] = (1, 0.5)
    least: int | float = 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("widths_cents: [2, a]", "widths_cents.1: 'a'; accepted: a whole number"),
        ("shares: [0.5, a]", "shares.1: 'a'; accepted: a decimal number"),
        ("flags: [yes]", "flags.0: 'yes'; accepted: true or false"),
        ("band: [0.5, 1]", "band.0: '0.5'; accepted: a whole number"),
        ("band: [1]", "band: a list or block; accepted: a list of 2"),
        ("least: few", "least: 'few'; accepted: a whole number or a decimal number"),
    ],
)
def test_a_fault_in_a_list_names_the_type_of_its_entry(tmp_path, text, said):
    path = tmp_path / "x.yaml"
    path.write_text(f"{text}\n")
    source = read_yaml(path)
    found, found_faults = typed(ListedParams, source.content, (), source)
    assert found is None
    assert [fault.text for fault in found_faults] == [said]


def test_each_entry_of_a_list_is_read_by_its_own_type(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("band: [2, 0.25]\nleast: 0.5\nshares: [1, 0.5]\n")
    source = read_yaml(path)
    found, found_faults = typed(ListedParams, source.content, (), source)
    assert not found_faults
    assert found is not None
    assert (found.band, found.least, found.shares) == ((2, 0.25), 0.5, [1.0, 0.5])


@pytest.mark.parametrize("key", ["key", "api_key", "token", "key_value"])
def test_a_key_written_out_is_refused_and_not_echoed(tmp_path, key):
    found_faults = faults(
        tmp_path, OUTSIDE.replace("key_file: maker.key", f"{key}: lm_sEcReT_1234")
    )
    assert any("key_file" in fault for fault in found_faults)
    assert "sEcReT" not in "".join(found_faults)


def test_a_key_given_as_the_name_of_a_variable_is_refused_and_not_echoed(tmp_path):
    found_faults = faults(
        tmp_path, OUTSIDE.replace("key_file: maker.key", "key_env: lm_sEcReT-12/34")
    )
    assert any("never write the key itself" in fault for fault in found_faults)
    assert "sEcReT" not in "".join(found_faults)


def test_a_strategy_by_dotted_path_is_found(tmp_path):
    text = GOOD.replace("name: fixed_spread", "name: strategies.fixed_spread:FixedSpread")
    assert type(load(tmp_path, text).make_strategy()).__name__ == "FixedSpread"


def test_an_unreadable_file_is_a_fault(tmp_path):
    with pytest.raises(ConfigFault, match="cannot be read: No such file"):
        read_draft(tmp_path / "none.yaml")
    with pytest.raises(ConfigFault, match="a folder, where a YAML file is wanted"):
        read_draft(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"# one line\nseries: \xff\n")
    with pytest.raises(ConfigFault, match=r"latin.yaml:2: not UTF-8"):
        read_draft(tmp_path / "latin.yaml")
    (tmp_path / "long.yaml").write_bytes(b"#" * 300_000)
    with pytest.raises(ConfigFault, match="longer than"):
        read_draft(tmp_path / "long.yaml")


@pytest.mark.parametrize(
    "text",
    [r'a: "\UFFFFFFFF"', r'a: "\U00110000"', f"%YAML {'1' * 5_000}.1\n---\na: b"],
)
def test_a_number_beyond_the_parser_is_a_fault_with_its_line(tmp_path, text):
    path = tmp_path / "beyond.yaml"
    path.write_text(f"# one line\n{text}\n")
    with pytest.raises(ConfigFault, match=r"beyond.yaml:2: not YAML: a number beyond"):
        read_draft(path)


@pytest.mark.parametrize("text", ["a: " + "[" * 50_000, "- " * 50_000, "a: " + "{a: " * 50_000])
def test_a_deeply_nested_file_is_refused_at_once(tmp_path, text):
    path = tmp_path / "deep.yaml"
    path.write_text(text)
    begun = time.thread_time()
    with pytest.raises(ConfigFault, match="nested deeper than 16"):
        read_draft(path)
    assert time.thread_time() - begun < 2
