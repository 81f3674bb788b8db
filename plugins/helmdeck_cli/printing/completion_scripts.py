"""The completion scripts of the shells. Each one asks ``helmdeck completion --complete SHELL`` for the words that fit."""

from __future__ import annotations

from collections.abc import Mapping

BASH = r"""# Completion of helmdeck for bash: add  eval "$(helmdeck completion bash)"  to ~/.bashrc
_helmdeck() {
    local line kind=""
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ -z $kind ]]; then kind=$line; else COMPREPLY+=("$line"); fi
    done < <("$1" completion --complete bash -- "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
    if [[ $kind == files ]]; then compopt -o default 2>/dev/null; fi
}
complete -F _helmdeck helmdeck
"""

ZSH = r"""#compdef helmdeck
# Completion of helmdeck for zsh: add  eval "$(helmdeck completion zsh)"  to ~/.zshrc
_helmdeck() {
    local -a lines values shown
    local line
    lines=("${(@f)$("${words[1]}" completion --complete zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ ${lines[1]} == files ]]; then
        _files
        return
    fi
    for line in "${(@)lines[2,-1]}"; do
        values+=("${line%%$'\t'*}")
        shown+=("${line/$'\t'/  -- }")
    done
    (( ${#values} )) && compadd -l -d shown -a values
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
if [[ ${funcstack[1]} == _helmdeck ]]; then _helmdeck "$@"; else compdef _helmdeck helmdeck; fi
"""

FISH = r"""# Completion of helmdeck for fish: helmdeck completion fish > ~/.config/fish/completions/helmdeck.fish
function __helmdeck_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    set -l lines ($program completion --complete fish -- $words "$current" 2>/dev/null)
    if test "$lines[1]" = files
        __fish_complete_path "$current"
        return
    end
    set -e lines[1]
    string join \n -- $lines
end
complete -c helmdeck -f -a '(__helmdeck_complete)'
"""

SCRIPTS: Mapping[str, str] = {"bash": BASH, "zsh": ZSH, "fish": FISH}
"""The script by the name of the shell."""
