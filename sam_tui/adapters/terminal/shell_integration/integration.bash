# Tells the terminal around this shell where prompts, commands and their ends are (OSC 133, OSC 7,
# and a private mark that carries a secret). Loaded instead of ~/.bashrc, which it loads first.
if [[ -r ~/.bashrc ]]; then . ~/.bashrc; fi

__sam_mark=$'\e]7717;@NONCE@;'
__sam_a=$'\e]133;A;redraw=last\e\\'
__sam_b=$'\e]133;B\e\\'"${__sam_mark}B;"$'\a'

# Runs before whatever else makes the prompt, because only here $? is the command's.
__sam_done() {
    local status=$?
    printf '%sD;%s\a%s%s.;\a\e]133;D;%s\e\\' "$__sam_mark" "$status" "$PWD" "$__sam_mark" "$status"
    if [[ $PWD != "${__sam_told-}" ]]; then
        __sam_told=$PWD
        local LC_ALL=C at one code path=
        for ((at = 0; at < ${#PWD}; at++)); do
            one=${PWD:at:1}
            case $one in
                [a-zA-Z0-9/._~-]) path+=$one ;;
                *)
                    printf -v code '%d' "'$one"
                    printf -v one '%%%02X' $((code & 255))
                    path+=$one
                    ;;
            esac
        done
        printf '\e]7;file://%s%s\e\\' "${HOSTNAME-}" "$path"
    fi
    return "$status"
}

# Runs last, because prompt tools set PS1 anew every time.
__sam_prompt() {
    local status=$?
    # The variables are named, not expanded: an exported PS1 must not carry the secret.
    [[ ${PS1-} == *'${__sam_b}'* ]] || PS1='\[${__sam_a}\]'"${PS1-}"'\[${__sam_b}\]'
    return "$status"
}

__sam_start() {
    printf '\e]133;C\e\\%sC;\a' "$__sam_mark"
    HISTTIMEFORMAT= builtin history 1
    printf '%s.;\a' "$__sam_mark"
}

# Bound to a key that no keyboard has: tells the line that is being edited, and empties it.
__sam_aside() {
    printf '%sS;0\a%s%s.;\a' "$__sam_mark" "$READLINE_LINE" "$__sam_mark"
    READLINE_LINE= READLINE_POINT=0
}
for __sam_map in emacs vi-insert vi-command; do
    bind -m "$__sam_map" -x '"\e[7717~": __sam_aside'
done 2>/dev/null
unset __sam_map

if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    shopt -s promptvars
    PS0="${PS0-}"'$(__sam_start)'
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        PROMPT_COMMAND=(__sam_done "${PROMPT_COMMAND[@]}" __sam_prompt)
    else
        PROMPT_COMMAND=$'__sam_done\n'"${PROMPT_COMMAND-}"$'\n__sam_prompt'
    fi
fi
