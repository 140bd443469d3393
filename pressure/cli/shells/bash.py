"""Completion for bash.

bash splits the line at colons, too, as in URLs, so the script splits the line again, at spaces only. From its
offers it removes the part that bash considers typed already.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pressure.cli.completion import Option, Outline, Subcommand

_SCRIPT: Final = """\
# bash completion for pressure; in ~/.bashrc: eval "$(pressure completion bash)"
_pressure() {
    local -a words where=() offered=()
    local cur prev="" command="" word name count=0 dashes=0 i
    read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
    cur=${words[-1]}
    COMPREPLY=()
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        prev=""
        if [[ $word == -- ]]; then ((++dashes)); continue; fi
        ((dashes == 1)) && [[ $command == @BETWEEN@ ]] && continue
        case $word in
            @WHERE@) prev=$word; where+=("$word" "${words[++i]}") ;;
            @TAKING@) prev=$word; ((++i)) ;;
            -?*) ;;
            *) if [[ $command ]]; then ((++count)); else command=$word; fi ;;
        esac
        ((i >= ${#words[@]} - 1)) || prev=""
    done
    if ((dashes == 1)) && [[ $command == @BETWEEN@ ]]; then
        compopt -o default
        return
    fi
    case $command/$prev in
@VALUES@
        */-*) compopt -o default; return ;;
    esac
    if [[ $cur == -* ]] && ((dashes == 0)); then
        case $command in
@OPTIONS@
        esac
    else
        case $command in
            "") offered=(@COMMANDS@) ;;
@WORDS@
        esac
    fi
    for name in "${offered[@]}"; do
        [[ $name == "$cur"* ]] && COMPREPLY+=("$name")
    done
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        prev=${cur%"${cur##*:}"}
        COMPREPLY=("${COMPREPLY[@]#"$prev"}")
    fi
}
_pressure_queues() {
    local name
    while IFS= read -r name; do
        offered+=("$(printf %q "$name")")
    done < <("${words[0]}" ls --names "${where[@]}" 2> /dev/null)
}
complete -F _pressure pressure
"""


def script(outline: Outline) -> str:
    """The completion script for bash."""
    every = [*outline.options, *(option for each in outline.commands for option in each.options)]
    taking = {flag for option in every if option.takes for flag in option.flags} - set(outline.where)
    parts = {
        "@BETWEEN@": "|".join(each.name for each in outline.commands if each.between),
        "@WHERE@": "|".join(outline.where),
        "@TAKING@": "|".join(sorted(taking)),
        "@VALUES@": _lines(8, (line for each in outline.commands for line in _values(each))),
        "@OPTIONS@": _lines(12, (f'"{name}") offered=({_flags(some)}) ;;' for name, some in _named(outline))),
        "@COMMANDS@": " ".join(each.name for each in outline.commands),
        "@WORDS@": _lines(12, (line for each in outline.commands for line in _words(each))),
    }
    text = _SCRIPT
    for place, what in parts.items():
        text = text.replace(place, what)
    return text


def _lines(indent: int, lines: Iterable[str]) -> str:
    return "\n".join(" " * indent + line for line in lines)


def _named(outline: Outline) -> Iterable[tuple[str, tuple[Option, ...]]]:
    yield "", outline.options
    yield from ((each.name, each.options) for each in outline.commands)


def _flags(options: Iterable[Option]) -> str:
    return " ".join(flag for option in options for flag in option.flags)


def _values(command: Subcommand) -> Iterable[str]:
    for option in command.options:
        if option.choices:
            flags = "|".join(f"{command.name}/{flag}" for flag in option.flags)
            yield f"{flags}) offered=({' '.join(option.choices)}); command=/ ;;"


def _words(command: Subcommand) -> Iterable[str]:
    if command.choices:
        yield f"{command.name}) ((count)) || offered=({' '.join(command.choices)}) ;;"
    elif command.queues < 0:
        yield f"{command.name}) _pressure_queues ;;"
    elif command.queues:
        yield f"{command.name}) ((count < {command.queues})) && _pressure_queues ;;"
