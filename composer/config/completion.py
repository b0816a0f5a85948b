"""Tab completion of overrides by Hydra's completer, for train.py and every command that takes overrides."""

from __future__ import annotations

from collections.abc import Iterable

from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.plugins.completion_plugin import CompletionPlugin

from composer.config.yaml_files import PRIMARY
from composer.core.program import CONF

SCRIPT = """\
_sequence_composer() {
    local line="${COMP_LINE:0:$COMP_POINT}" command=composer
    case "$line" in
        *"-m composer"*) command="${COMP_WORDS[0]} -m composer" ;;
        *train.py*) command="${COMP_WORDS[0]} -m composer" ;;
        composer*) ;;
        *) COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")); return ;;
    esac
    local cut="${COMP_WORDS[COMP_CWORD]}"
    [[ "$COMP_WORDBREAKS" == *"="* && "$line" == *"="* ]] && compopt -o nospace
    COMPREPLY=()
    while IFS= read -r word; do COMPREPLY+=("$word"); done < <($command complete "$line" 2>/dev/null)
}
COMP_WORDBREAKS="${COMP_WORDBREAKS//=}"; COMP_WORDBREAKS="${COMP_WORDBREAKS//@}"
complete -o nospace -o default -F _sequence_composer composer python python3"""


class _Completer(CompletionPlugin):
    """Hydra's completer of overrides, without its scripts for shells."""

    def query(self, config_name: str | None) -> None:
        raise NotImplementedError

    install = uninstall = staticmethod(lambda: None)
    provides = staticmethod(lambda: "composer")
    help = staticmethod(lambda command: "")


def complete(line: str, commands: Iterable[str]) -> list[str]:
    """The completions for the last word of a command line; of ``composer``, one of these commands."""
    words = line.split(" ")
    if "composer" in words[:-1]:
        after = words[words.index("composer") + 1 :]
        if len(after) == 1:
            return [command for command in commands if command.startswith(after[0])]
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(CONF), version_base="1.3"):
        completer = _Completer(GlobalHydra.instance().config_loader())
        return completer._query(config_name=PRIMARY, line=words[-1])
