# Tells the terminal around this shell where prompts, commands and their ends are (OSC 133, OSC 7,
# and a private mark that carries a secret). Loaded after config.fish.
set -g __sam_mark \e']7717;@NONCE@;'
set -g __sam_code 0

function __sam_start --on-event fish_preexec
    printf '\e]133;C\e\\%sC;\a%s%s.;\a' $__sam_mark "$argv[1]" $__sam_mark
end

function __sam_done --on-event fish_postexec
    set -g __sam_code $status
end

function __sam_prompt --on-event fish_prompt
    printf '%sD;%s\a%s%s.;\a\e]133;D;%s\e\\' $__sam_mark $__sam_code $PWD $__sam_mark $__sam_code
    printf '\e]7;file://%s%s\e\\\e]133;A\e\\' $hostname (string escape --style=url -- $PWD)
end
