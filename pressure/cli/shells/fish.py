"""Completion for fish: a ``complete`` command for each option and word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pressure.cli.completion import Option, Outline, Subcommand

_SCRIPT: Final = """\
# fish completion for pressure; in ~/.config/fish/config.fish: pressure completion fish | source
function __pressure_line
    # the subcommand, and how many words follow it
    set -l words (commandline -opc)[2..]
    set -l found
    while set -q words[1]
        switch $words[1]
            case @TAKING@
                set -e words[1]
            case '-*'
            case '*'
                set -a found $words[1]
        end
        set -e words[1]
    end
    echo $found[1]
    math (count $found) - 1
end
function __pressure_is
    # whether the subcommand is this one, and fewer than so many words follow it
    set -l line (__pressure_line)
    test "$line[1]" = "$argv[1]"; and begin
        test -z "$argv[2]"; or test $line[2] -lt $argv[2]
    end
end
function __pressure_queues
    set -l words (commandline -opc)
    set -l program $words[1]
    set -l where
    set -e words[1]
    while set -q words[1]
        switch $words[1]
            case @WHERE@
                set -a where $words[1..2]
                set -e words[1]
        end
        set -e words[1]
    end
    $program ls --names $where 2>/dev/null
end
complete -c pressure -f
"""


def script(outline: Outline) -> str:
    """The completion script for fish."""
    every = [*outline.options, *(option for each in outline.commands for option in each.options)]
    taking = sorted({flag for option in every if option.takes for flag in option.flags})
    text = _SCRIPT.replace("@TAKING@", " ".join(taking)).replace("@WHERE@", " ".join(outline.where))
    lines = [
        *(_option("__pressure_is ''", option) for option in outline.options),
        *(f"complete -c pressure -n \"__pressure_is ''\" -a {each.name} -d {_quoted(each.help)}"
          for each in outline.commands),
        *(line for each in outline.commands for line in _command(each)),
    ]  # fmt: skip
    return text + "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _command(command: Subcommand) -> Iterable[str]:
    yield from (_option(f"__pressure_is {command.name}", option) for option in command.options)
    if command.between:  # what stands between two -- may be anything
        yield f"complete -c pressure -n '__pressure_is {command.name}' -F -a '(__pressure_queues)'"
    elif command.choices:
        yield f"complete -c pressure -n '__pressure_is {command.name} 1' -a '{' '.join(command.choices)}'"
    elif command.queues:
        most = "" if command.queues < 0 else f" {command.queues}"
        yield f"complete -c pressure -n '__pressure_is {command.name}{most}' -a '(__pressure_queues)'"


def _option(condition: str, option: Option) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    values = f" -a '{' '.join(option.choices)}'" if option.choices else ""
    takes = f" -x{values}" if option.takes else ""
    return f'complete -c pressure -n "{condition}" {flags}{takes} -d {_quoted(option.help)}'
