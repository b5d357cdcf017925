# Tells the terminal around this shell where prompts, commands and their ends are (OSC 133, OSC 7,
# and a private mark that carries a secret). Loaded after config.fish.
set -g __sam_mark \e']7717;@NONCE@;'
set -g __sam_code 0

function __sam_start --on-event fish_preexec
    printf '%s' \e']133;C'\a $__sam_mark'C;'\a "$argv[1]" $__sam_mark'.;'\a
end

function __sam_done --on-event fish_postexec
    set -g __sam_code $status
    printf '%s' $__sam_mark'D;'$__sam_code\a $PWD $__sam_mark'.;'\a
end

function __sam_prompt --on-event fish_prompt
    printf '%s' $__sam_mark'D;'$__sam_code\a $PWD $__sam_mark'.;'\a \e']133;D;'$__sam_code\a
    printf '%s' \e']7;file://'$hostname(string escape --style=url -- $PWD)\a \e']133;A'\a
end

# Bound to a key that no keyboard has: tells the line that is being edited, and empties it.
function __sam_aside
    set -l line (commandline | string collect)
    printf '%s' $__sam_mark'S;1'\a "$line" $__sam_mark'.;'\a
    commandline -r ''
    if string match -q 'fish_*vi_key_bindings' "$fish_key_bindings"; or string match -q 'fish_hybrid*' "$fish_key_bindings"
        set fish_bind_mode insert
    end
    commandline -f cancel repaint
end

for mode in default insert visual replace replace_one
    bind -M $mode \e'[7717~' __sam_aside
end
set -e mode
