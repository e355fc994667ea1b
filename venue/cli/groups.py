"""Groups of commands that refuse blank words and end without a traceback when output fails. The
exit codes are those that shells and supervisors know."""

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

import typer
from typer.core import TyperGroup

EXIT_CLOSED: Final = 141
"""As after SIGPIPE: nobody reads any more."""

EXIT_NOT_WRITTEN: Final = 74
"""EX_IOERR of sysexits.h: the output takes nothing, as on a full disk."""

_BLANK_ALLOWED: Final = frozenset({"--scopes"})
"""A blank here means a key without any scope."""

_PRINTERS: Final = ("typer.", "rich.")
"""The modules that print for us."""


def end(code: int, message: str) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code)


def opt(about: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=about, **more)


def arg(about: str, **more: Any) -> Any:
    return typer.Argument(help=about, **more)


def _print_version(ctx: typer.Context, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        typer.echo(f"{ctx.command.name} {importlib.metadata.version('laddermaker')}")
        raise typer.Exit


Version = Annotated[
    bool,
    typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version."),
]


class NonBlankGroup(TyperGroup):
    """Refuses a blank option or argument, such as an unset shell variable: a blank folder would be
    the current one. Its help shows whole summaries, under the titles of `sections`."""

    def sections(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """Title to the names and summaries of the commands under it."""
        return {"Commands": [(name, self.summary(name)) for name in self.commands]}

    def summary(self, name: str) -> str:
        """The first line of a command's help."""
        return (self.commands[name].help or "").partition("\n")[0]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        sections = self.sections()
        width = max(len(name) for rows in sections.values() for name, _ in rows)
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), summary) for name, summary in rows])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that `args` names. Raises typer.BadParameter for a blank word after it."""
        name, command, words = super().resolve_command(ctx, args)
        is_group = command is None or isinstance(command, TyperGroup)
        if not is_group and not ctx.resilient_parsing:  # true while a shell completes a line
            _refuse_blank(ctx, name, command, words)
        return name, command, words


class CommandGroup(NonBlankGroup):
    """The top group of a program: the help, too, ends with our exit codes when output fails."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        with _exit_on_output_failure():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        with _exit_on_output_failure():
            return super().invoke(ctx)


def _refuse_blank(parent: Any, name: str | None, command: Any, words: list[str]) -> None:
    context = command.context_class(
        command, info_name=name, parent=parent, **command.context_settings
    )
    with context.scope(cleanup=False):
        given, _, _ = command.make_parser(context).parse_args(args=list(words))
    for each in command.get_params(context):
        if _BLANK_ALLOWED.intersection(each.opts):
            continue
        value = given.get(each.name)
        values = value if isinstance(value, (list, tuple)) else (value,)
        if any(isinstance(text, str) and not text.strip() for text in values):
            raise typer.BadParameter(
                "blank, such as of a variable that is not set", ctx=context, param=each
            )


@contextlib.contextmanager
def _exit_on_output_failure() -> Iterator[None]:
    try:
        yield
    except OSError as fault:
        if not _is_output_fault(fault):
            raise
        if isinstance(fault, BrokenPipeError):
            code = EXIT_CLOSED
        else:
            code = EXIT_NOT_WRITTEN
            with contextlib.suppress(OSError):
                typer.echo(f"the output cannot be written: {fault.strerror}", err=True)
        # Python would try to flush its buffer once more at the very end, with a traceback.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise typer.Exit(code) from None


def _is_output_fault(fault: OSError) -> bool:
    """True if the code that prints raised it, not a file or socket of ours."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_globals["__name__"].startswith(_PRINTERS)
