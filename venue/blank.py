"""A group of commands that take no blank word, such as of a variable that is not set.

A blank folder would be the one that the program was started in, a blank name or time none at all:
then something else is done than was meant.
"""

from typing import Any, Final

import typer
from typer.core import TyperGroup

_MEANT: Final = frozenset({"--scopes"})
"""Options of which a blank says something: a key without any scope."""


class Worded(TyperGroup):
    """A group that refuses a blank option or argument of its commands by name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the words name. Raises typer.BadParameter for a blank one after it."""
        name, command, words = super().resolve_command(ctx, args)
        is_group = command is None or isinstance(command, TyperGroup)
        if not is_group and not ctx.resilient_parsing:  # which completing a line is
            _refuse_blank(ctx, name, command, words)
        return name, command, words


def _refuse_blank(parent: Any, name: str | None, command: Any, words: list[str]) -> None:
    context = command.context_class(
        command, info_name=name, parent=parent, **command.context_settings
    )
    with context.scope(cleanup=False):
        given, _, _ = command.make_parser(context).parse_args(args=list(words))
    for each in command.get_params(context):
        if _MEANT.intersection(each.opts):
            continue
        told = given.get(each.name)
        values = told if isinstance(told, (list, tuple)) else (told,)
        if any(isinstance(value, str) and not value.strip() for value in values):
            raise typer.BadParameter(
                "blank, such as of a variable that is not set", ctx=context, param=each
            )
