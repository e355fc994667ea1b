"""The page docs/configuration.md, made from the sections; run as a module it prints the page."""

import sys

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config.diff import written
from bot.config.sections import File, applies_of, section_of
from bot.config.validation import accepted

HEAD = """# The configuration file

One YAML file per series. Generated from `bot/config/sections.py` by
`python -m tests.config.configuration_page`; a test keeps it current. The same as a JSON Schema for
editors is `configs/schema.json` (`bot config schema`); a file names it in its first line:
`# yaml-language-server: $schema=schema.json`.

Every value is plain text: `no` is a word, 12.50 is no number of cents. An unknown key, a key that
stands twice and a value outside its bounds are refused, and every fault is told at once with file,
line, key, value and what is accepted. A zero switches a limit off, or has it follow from others,
where the table says so and nowhere else. Paths start from the file's own folder, the state
directory from where the program is started. Units stand in the keys: `_cents`, `_qty` (shares),
`_ms`, `_pct`, `_millicents` (thousandths of a cent). A dash is no value; of a key that has to be
there the table says that it must be given. A key that was renamed is taken under its old name for
one version, with a warning that names file, line, old name and new name.

```
bot config show configs/demo.yaml           # every key: value in force, where from, live or restart
bot config diff old.yaml new.yaml           # what is other, and whether a running bot takes it over
bot config schema                           # the JSON Schema
kill -HUP PID                               # have the file read now; a changed one is seen anyway
```

## Changes while the bot runs

The bot looks at its file once a second, and at once on SIGHUP, changed or not. Bytes count once
they were read twice the same, half a second apart, and nobody has the file open for writing. They
are checked whole, beside the trading, with the strategy they name found and made. Then all of it is
in force from one decision to the next, by one event of the journal that holds the whole
configuration: `bot pnl` and `bot explain` live a run again with the configuration that it had at
each instant, not with that of the file. Of several series in one process each file is by itself.

**Nothing of a file is applied** when anything in it is wrong, and when it changes a key that takes
a restart, whatever live keys it changes besides; nor when a limit of `risk` or `breakers` grows to
more than ten times its value, or goes to 0, until `bot config confirm CONFIG --yes` has confirmed
that content (a lower limit is in force at once). What was in force stays so; `config_refused` says
at level error which file, line, key and value it was, and what is accepted. Once the file is
mended, or says again what is in force, that is over. `config_applied` has each changed key with its
old and new value; values of keys that are or name a secret are not shown. Secrets are never in the
file: it names files and environment variables, and these keys take a restart.

Where the strategy or a parameter of it changes, each event gets a fresh instance; what was learned
of fair values, flow and fills stays. Orders stay where they are until the next decision moves them,
each by an amend where that is possible, so no quote is missing meanwhile; but what a lowered limit
of `risk` would not admit beside older orders is cancelled at once. The code of a strategy is loaded
once: a changed .py file takes a restart. What is over a breaker's limit when that is lifted trips
it first.

**The first minute of quoting is a trial.** The configuration that was in force before comes back by
itself, told as `config_rolled_back` at level error, when within it

- the strategy of an event raises, gives an answer that cannot be quoted, is interrupted, or is too
  slow three times in a row, and it was not at fault when the change came; or
- a breaker trips; or
- the share of rungs with orders on both sides stays below half of what it was when the change came,
  for ten seconds without a break. Only rungs count that could be quoted on both sides: active,
  nothing standing in their way, more than `wind_down.reduce_ms` from the end, and not pulled by the
  jump guard (unless `jump_guard` was changed).

Time paused, latched or flattening does not count. A second change within the minute begins it anew,
and what would come back stays the same. No rollback loosens a limit of `risk` or `breakers`: of
each the tighter of old and new holds, and a change that only tightens limits has no trial. The file
still says what was rolled back: it is tried again on SIGHUP, when it changes, and at the next
start.

"""

ROW = "| key | default | accepted | a change | meaning |\n|---|---|---|---|---|\n"


def page() -> str:
    """The whole page: the keys at the top, then section by section."""
    top = [(name, field) for name, field in File.model_fields.items() if section_of(field) is None]
    parts = ["## Keys at the top\n\n" + ROW + "".join(_row(File, "", *each) for each in top)]
    for name, field in File.model_fields.items():
        model = section_of(field)
        if model is not None:
            many = "[]" if str(field.annotation).startswith("tuple") else ""
            prefix = f"{name}{many}."
            rows = "".join(_row(model, prefix, *each) for each in model.model_fields.items())
            about = " ".join((model.__doc__ or "").split())
            parts.append(f"## `{name}`\n\n{about}\n\n{ROW}{rows}")
    return HEAD + "\n".join(parts)


def _row(model: type[BaseModel], prefix: str, name: str, field: FieldInfo) -> str:
    takes = accepted(field)
    about = field.description or ""
    meaning = "" if about == takes else about
    cells = (f"`{prefix}{name}`", default(field), takes, applies_of(model, field), meaning)
    return "| " + " | ".join(each.replace("|", "or") for each in cells) + " |\n"


def default(field: FieldInfo) -> str:
    """The default as it is written in YAML; a dash where there is none."""
    if field.is_required():
        return "must be given"
    value = field.get_default(call_default_factory=True)
    return "-" if value in (None, (), {}) else written(value)


if __name__ == "__main__":
    sys.stdout.write(page())
