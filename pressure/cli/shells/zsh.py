"""Completion for zsh, by its function ``_arguments``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pressure.cli.completion import Option, Outline, Subcommand

_SCRIPT: Final = """\
#compdef pressure
# zsh completion for pressure; in ~/.zshrc: source <(pressure completion zsh)
_pressure_queues() {
    local -a where names
    local i
    for ((i = 2; i < ${#pressure_line}; i++)); do
        case $pressure_line[i] in
            @WHERE@) where+=("$pressure_line[i]" "${(Q)pressure_line[i+1]}"); ((i++)) ;;
        esac
    done
    names=("${(@f)$(${(Q)pressure_line[1]} ls --names "${where[@]}" 2> /dev/null)}")
    names=("${(@)names:#}")
    (($#names)) && compadd -- "${names[@]}"
}
_pressure() {
    local -a pressure_line=("${words[@]}") commands
    local curcontext=$curcontext state line ret=1
    typeset -A opt_args
    commands=(
@COMMANDS@
    )
    _arguments -C \\
@OPTIONS@
        '1:command:->command' '*::argument:->argument' && ret=0
    case $state in
        command) _describe -t commands command commands && ret=0 ;;
        argument)
            case $words[1] in
@CASES@
            esac ;;
    esac
    return ret
}
(($+functions[compdef])) && compdef _pressure pressure
"""


def script(outline: Outline) -> str:
    """The completion script for zsh."""
    commands = (_quoted(f"{each.name}:{each.help}") for each in outline.commands)
    parts = {
        "@WHERE@": "|".join(outline.where),
        "@COMMANDS@": "\n".join(f"        {each}" for each in commands),
        "@OPTIONS@": "".join(f"        {line} \\\n" for line in _options(outline.options)).rstrip("\n"),
        "@CASES@": "\n".join(_case(each) for each in outline.commands),
    }
    text = _SCRIPT
    for place, what in parts.items():
        text = text.replace(place, what)
    return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _plain(text: str) -> str:
    """Text with the characters escaped that ``_arguments`` treats specially."""
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _options(options: Iterable[Option]) -> Iterable[str]:
    for option in options:
        values = f"({' '.join(option.choices)})" if option.choices else ""
        argument = f":{_plain(option.takes)}:{values}" if option.takes else ""
        others = f"({' '.join(option.flags)})" if len(option.flags) > 1 else ""
        for flag in option.flags:
            yield _quoted(f"{others}{flag}[{_plain(option.help)}]{argument}")


def _case(command: Subcommand) -> str:
    words = [*_options(command.options), *_words(command)]
    lines = " \\\n".join(f"                    {word}" for word in words)
    return f"                {command.name})\n                    _arguments -S \\\n{lines} && ret=0 ;;"


def _words(command: Subcommand) -> Iterable[str]:
    if command.between:
        yield "'1:queue:_pressure_queues'"
        yield "'*:command or queue:{ _pressure_queues; _command_names -e; _files }'"
    elif command.choices:
        yield _quoted(f"1:value:({' '.join(command.choices)})")
    elif command.queues < 0:
        yield "'*:queue:_pressure_queues'"
    elif command.queues:
        yield "'1:queue:_pressure_queues'"
