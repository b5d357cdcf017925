# Tells the terminal around this shell where prompts, commands and their ends are (OSC 133, OSC 7,
# and a private mark that carries a secret). Stands in for ~/.zshenv, which it loads first; zsh finds
# all its other files by itself, because ZDOTDIR is as it was again.
if [[ -n "${SAM_TUI_ZDOTDIR+set}" ]]; then
    export ZDOTDIR="$SAM_TUI_ZDOTDIR"
    unset SAM_TUI_ZDOTDIR
else
    unset ZDOTDIR
fi
if [[ -r "${ZDOTDIR-$HOME}/.zshenv" ]]; then
    builtin source "${ZDOTDIR-$HOME}/.zshenv"
fi

if [[ -o interactive ]]; then
    typeset -g __sam_mark=$'\e]7717;@NONCE@;' __sam_told=

    # Runs before whatever else makes the prompt, because only here $? is the command's.
    __sam_done() {
        local code=$?
        builtin print -rn -- "${__sam_mark}D;${code}"$'\a'"${PWD}${__sam_mark}.;"$'\a\e]133;D;'"${code}"$'\e\\'
        if [[ "$PWD" != "$__sam_told" ]]; then
            __sam_told=$PWD
            emulate -L zsh -o no_multibyte -o extended_glob
            builtin print -rn -- $'\e]7;file://'"${HOST}${PWD//(#m)[^a-zA-Z0-9\/._~-]/%${(l:2::0:)$(([##16]#MATCH))}}"$'\e\\'
        fi
        return $code
    }

    # Runs last, because prompt tools set PS1 anew every time.
    __sam_prompt() {
        local code=$?
        if [[ "$PS1" != *'133;B'* ]]; then
            PS1=$'%{\e]133;A\e\\%}'"$PS1"$'%{\e]133;B\e\\'"${__sam_mark}B;"$'\a%}'
        fi
        if [[ "${precmd_functions[-1]}" != __sam_prompt ]]; then
            precmd_functions=(${precmd_functions:#__sam_prompt} __sam_prompt)
        fi
        return $code
    }

    __sam_start() {
        builtin print -rn -- $'\e]133;C\e\\'"${__sam_mark}C;"$'\a'"${1}${__sam_mark}.;"$'\a'
    }

    # Bound to a key that no keyboard has: tells the line that is being edited, and drops it.
    __sam_aside() {
        builtin print -rn -- "${__sam_mark}S;1"$'\a'"${PREBUFFER}${BUFFER}${__sam_mark}.;"$'\a'
        BUFFER=
        zle .send-break
    }
    zle -N __sam_aside
    # At the first prompt, because the person's own files may make the key maps anew.
    __sam_bind() {
        local map
        for map in emacs viins vicmd; do
            bindkey -M $map $'\e[7717~' __sam_aside
        done
        # What waits for a movement (d, c, y) is only ended: zsh crashes where its line goes meanwhile.
        bindkey -M viopp $'\e[7717~' beep
        precmd_functions=(${precmd_functions:#__sam_bind})
    }

    typeset -ga precmd_functions preexec_functions
    precmd_functions=(__sam_done __sam_bind $precmd_functions __sam_prompt)
    preexec_functions+=(__sam_start)
fi
