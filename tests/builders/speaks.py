"""A strategy that prints as it is loaded and whenever it is asked, as the text of its file."""

SPEAKS = """
from bot.strategy.api import Strategy

print("loaded")


class Speaks(Strategy):
    name = "speaks"

    def quote(self, view):
        print("asked")
        return {}


STRATEGY = Speaks
"""
