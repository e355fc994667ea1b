"""The colours of money on every page, and the cells that have one."""

from tests.builders.browser.chromium import Page

_COLOURS = {
    False: {"gain": "rgb(21, 117, 74)", "loss": "rgb(178, 58, 47)"},
    True: {"gain": "rgb(84, 189, 139)", "loss": "rgb(240, 133, 123)"},
}
"""By whether the page is dark."""

_TONES = """[...document.querySelectorAll('td, dd')].filter((cell) => cell.matches('.gain, .loss'))
  .map((cell) => [cell.className.match(/gain|loss/)[0], /^[-−]/.test(cell.textContent.trim()),
    getComputedStyle(cell).color])"""


def assert_income_green_and_loss_red(tab: Page, *, dark: bool) -> None:
    """Amounts of profit are there, each in the colour of its sign."""
    found = tab.value(_TONES)
    assert found
    for tone, is_negative, colour in found:
        assert is_negative == (tone == "loss")
        assert colour == _COLOURS[dark][tone]
