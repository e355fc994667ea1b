"""Claims about the settings of a crowd."""

import pydantic
import pytest

from venue.crowd.settings import CrowdSettings


def test_every_setting_parses_the_text_of_its_default():
    defaults = CrowdSettings()
    texts = {key: str(value) for key, value in defaults.model_dump(exclude_none=True).items()}
    assert CrowdSettings.model_validate(texts) == defaults


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("sede", "7"),
        ("seed", "-1"),
        ("seed", "1.5"),
        ("speed", "0"),
        ("speed", "nan"),
        ("theme", "1.1"),
        ("informed_share", "1"),
        ("makers", "two"),
        ("cash_per_user_cents", "0"),
        ("tape_speed", "0"),
        ("maker_offset_min_cents", "9"),
        ("feed_lag_min_s", "90"),
        ("feed_noise_min", "0.5"),
        ("feed_interval_s", "0.09"),
    ],
)
def test_a_setting_out_of_range_is_rejected_by_its_key(key, value):
    with pytest.raises(pydantic.ValidationError, match=key):
        CrowdSettings.model_validate({key: value})
