"""The scripts that bind completion to ``composer`` and ``train.py``, and the commands completion and complete.

They are bound to no other program, and change no setting of the shell. A completion that ends with ``=``, ``.``, ``@``
or ``/`` goes on, so no space follows it.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping

from composer.cli.options import AddOptions
from composer.core.program import PACKAGE

BASH = """\
_sequence_composer() {
    local line="${COMP_LINE:0:$COMP_POINT}" found
    local word="${line##* }" cut="$2"  # the end of the word, which bash replaces: its words end at = and @, too
    COMPREPLY=()
    while IFS= read -r found; do
        [[ -n "$found" ]] && COMPREPLY+=("${found#"${word%"$cut"}"}")
    done < <(@PROGRAM@ complete "$line" 2>/dev/null)
    [[ "${COMPREPLY[0]}" == *[=.@/] ]] && compopt -o nospace 2>/dev/null
    return 0
}
complete -o default -F _sequence_composer composer train.py"""

ZSH = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_sequence_composer() {
    local -a found
    found=("${(@f)$(@PROGRAM@ complete "${(j: :)words[1,CURRENT-1]} $PREFIX" 2>/dev/null)}")
    found=(${found:#})
    (( $#found )) || { _files; return }
    compadd -S '' -- ${(M)found:#*[=.@/]}
    compadd -- ${found:#*[=.@/]}
}
compdef _sequence_composer composer train.py"""

FISH = """\
function _sequence_composer
    @PROGRAM@ complete (commandline -cp | string collect) 2>/dev/null
end
for program in composer train.py
    complete -c $program -a '(_sequence_composer)'
end"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def completion_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=list(SCRIPTS))


def run_completion(options: argparse.Namespace) -> None:
    """Print a script for completion with Tab in bash, zsh or fish.

    examples:
      eval "$(composer completion bash)"      in ~/.bashrc
      eval "$(composer completion zsh)"       in ~/.zshrc, after compinit
      composer completion fish | source       in ~/.config/fish/config.fish
    """
    program = ["env", f"PYTHONPATH={PACKAGE.parent}", sys.executable, "-P", "-m", "composer"]
    print(SCRIPTS[options.shell].replace("@PROGRAM@", shlex.join(program)))


def print_candidates(line: str, commands: Mapping[str, AddOptions]) -> None:
    from composer.cli.completion.candidates import candidates

    print("\n".join(candidates(line, commands)))
