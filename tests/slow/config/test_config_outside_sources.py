"""Claims about the sources of values from outside: their settings, faults and changes."""

import pytest

from bot.config.bot_config import BotConfig, ConfigFault, finish, read_draft
from bot.core import messages as m
from bot.core.settings import OutsideSource
from bot.io.outside_values import PolledSource
from tests.builders.config.live import SMALL, Bot
from venue.wire.instant import NS_PER_SECOND


def text_of(*sources: str) -> str:
    lines = ["fair_value:\n", "  sources:\n", *(f"    - {each}\n" for each in sources)]
    return SMALL + "".join(lines)


def loaded(folder, *sources: str) -> BotConfig:
    path = folder / "bot.yaml"
    path.write_text(text_of(*sources))
    return finish(read_draft(path))


def test_a_source_is_polled_where_it_is_and_believed_as_it_says(tmp_path):
    config = loaded(
        tmp_path,
        "{name: model, file: values.json, poll_ms: 500, weight: 0.5, max_age_ms: 60000}",
        "{name: desk, url: https://values.example/a, max_deviations: 2.5}",
        "{name: operator, weight: 0.25}",
    )
    assert config.trader.outside_sources == (
        OutsideSource(name="model", weight=0.5, max_age_ns=60 * NS_PER_SECOND),
        OutsideSource(name="desk", max_deviations=2.5),
        OutsideSource(name="operator", weight=0.25),
    )
    assert config.outside_sources == (
        PolledSource("model", tmp_path / "values.json", None, NS_PER_SECOND // 2),
        PolledSource("desk", None, "https://values.example/a", NS_PER_SECOND),
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{name: M, file: a}", "name: 'M'; accepted: small letters, digits, - and _"),
        ("{name: m}", "file: exactly one of file and url is wanted"),
        ("{name: m, file: a, url: https://a.example}", "file: exactly one of file and url"),
        ("{name: operator, file: a}", "file: not with operator"),
        ("{name: m, url: http://a.example}", "url: http:// is for loopback only"),
        ("{name: m, url: https://me@a.example}", "url: no user, query or fragment"),
        ("{name: m, file: a, weight: 1.1}", "weight: '1.1'; accepted: a decimal number, at least"),
        (
            "{name: m, file: a, poll_ms: 99}",
            "poll_ms: '99'; accepted: a whole number, at least 100",
        ),
    ],
)
def test_a_faulty_source_is_named_with_line_key_value_and_what_is_accepted(tmp_path, source, said):
    with pytest.raises(ConfigFault) as raised:
        loaded(tmp_path, source)
    (fault,) = raised.value.faults
    assert fault.startswith(f"{tmp_path}/bot.yaml:8: fair_value.sources.0.{said}")


def test_two_sources_have_two_names(tmp_path):
    with pytest.raises(ConfigFault, match="'m' twice"):
        loaded(tmp_path, "{name: m, file: a}", "{name: m, file: b}")


def test_a_running_bot_takes_another_weight_over_and_no_other_place(tmp_path):
    bot = Bot(tmp_path, text_of("{name: m, file: a}"))
    changed = bot.change("file: a", "file: a, weight: 0.5")
    assert isinstance(changed, m.Reconfigured)
    assert changed.configured.settings.outside_sources[0].weight == 0.5
    refused = bot.change("file: a", "file: b")
    assert isinstance(refused, m.ConfigRefused)
    assert "fair_value.sources.0.file: a -> b; takes a restart" in refused.why
