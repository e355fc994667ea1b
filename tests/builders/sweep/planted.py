"""A world with a best point planted in it, as cheap as can be: a number instead of a life."""

import errno
import hashlib
import os
import signal
import time

from bot.lab.evaluate.scenarios import Scenario, seeds_named
from bot.lab.sweep.space import Search, space
from bot.lab.sweep.sweep import Aim, SweepResult, splits_of
from bot.lab.sweep.trials import Job, TrialConfig, WorldCase, processes, seeded
from tests.builders.house.tree import ROOT

LOT, PROBIT = "strategy.params.lot_qty", "strategy.params.adverse_probit"
OVER = (f"{LOT}=1:20", f"{PROBIT}=0:0.95:0.05")
BEST = {LOT: "14", PROBIT: "0.35"}
CONFIG = ROOT / "configs/demo.yaml"
SMALL = Scenario(steps=24, rungs=3)
SCORE = "tests.builders.sweep.planted:score"
DIMENSIONS = space(OVER)
INTERRUPTED: list[Job] = []
GIVEN: list[bool] = []


def chance(*parts):
    """A number from 0 to 1 that hangs on nothing but these."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def score(job: Job) -> float:
    """A hill around BEST, and what a seed adds to every trial alike."""
    assert isinstance(job.case, WorldCase)
    lot, probit = int(job.settings.get(LOT, "5")), float(job.settings.get(PROBIT, "0.1"))
    hill = -(((lot - 14) / 4) ** 2) - ((probit - 0.35) / 0.1) ** 2
    return hill + chance(job.case.seed) + 0.2 * chance(job.case.seed, lot, probit)


def sometimes(job: Job) -> float:
    """The same hill, where one setting raises and another has no number."""
    if job.settings.get(LOT) == "3":
        raise ZeroDivisionError("lots of three")
    return float("nan") if job.settings.get(LOT) == "4" else score(job)


def unsayable(job: Job) -> float:
    """The same hill, where the fault of one setting is no text that a file takes, and that of
    another has several lines."""
    match job.settings.get(LOT):
        case "2":
            raise ValueError("half of a pair: \ud800")
        case "3":
            raise ValueError("one line\n\nand | another")
    return score(job)


def beyond(job: Job) -> float:
    """A number whose square is none any more where a lot is swept, 0 elsewhere."""
    return 1e200 if LOT in job.settings else 0.0


def dying(job: Job) -> float:
    """Of seed 1 a number after all others, and of seed 3 the end of the process."""
    assert isinstance(job.case, WorldCase)
    if job.case.seed == 1:
        time.sleep(600)
    if job.case.seed == 3:
        os._exit(1)
    return 0.0


def exhausted(job: Job) -> float:
    """The same hill, where the host has no file to give until `GIVEN` says so."""
    if LOT in job.settings and not GIVEN:
        raise OSError(errno.EMFILE, "Too many open files")
    return score(job)


def interrupted(job: Job) -> float:
    """The same hill, on which somebody presses Ctrl-C once a lot of seed 3 has been lived."""
    if LOT in job.settings and job.case.name == "3" and not INTERRUPTED:
        INTERRUPTED.append(job)
        signal.raise_signal(signal.SIGINT)
    return score(job)


def fooled(job: Job) -> float:
    """Before seed 5 the best lot is 1, from then on it is 2."""
    is_late = isinstance(job.case, WorldCase) and job.case.seed >= 5
    return float(job.settings.get(LOT) == ("2" if is_late else "1"))


def planted(seeds="1-8", splits=None, results=None, function=SCORE):
    """A sweep over the planted world that has not begun."""
    cases = seeded(SMALL, seeds_named(seeds))
    aim = Aim("score", function=function)
    return SweepResult(
        TrialConfig(CONFIG, SMALL), cases, aim, splits_of(len(cases), splits), results
    )


def always():
    return True


def run(sweep, runner=None, how="bayes", most=40, seed=1, wanted=always, over=OVER):
    """Sweep to the end in this process, or by a runner; whether it came to it."""
    search = Search(how, space(over), seed)
    with runner or processes(1) as carry_out:
        return sweep.run(search, most, carry_out, wanted, lambda _more: None)


def told(sweep):
    return [(trial.settings, trial.values, trial.fault) for trial in sweep.trials]


def found_at(sweep):
    """How many trials it took to propose BEST; one more than there were where none did."""
    settings = [trial.settings for trial in sweep.trials[1:]]
    return settings.index(BEST) + 1 if BEST in settings else len(settings) + 1
