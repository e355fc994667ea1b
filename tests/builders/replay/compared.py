"""Lives every run of a state directory again, a line for each: for a process of its own."""

import json
import sys
from pathlib import Path

from bot.config.strategies import Makers
from bot.lab.replay import replay, replayer_of
from bot.lab.session import runs_meant

if __name__ == "__main__":
    for run in runs_meant(Path(sys.argv[1]), every=True):
        found = replay(replayer_of(run, Makers(Path()), notes=True))
        differs = found.difference is not None or bool(found.damage)
        print(json.dumps([found.events, found.effects, differs]))
