#!/bin/sh
# Runs a command as a user without rights, who may read this checkout and its interpreter: for root alone.
#
#     scripts/as_user.sh .venv/bin/python -m pytest -p no:cacheprovider tests/sandbox
#
# The user exists in a mount namespace of this command and is gone with it; so are its home folder and
# the ways to what lies below folders that are closed to others (such as root's home).
set -eu
[ "$(id -u)" = 0 ] || exec "$@"
if [ "${1:-}" != --inside ]; then
    made=$(mktemp -d)
    code=0
    unshare --mount --propagation private -- "$0" --inside "$made" "$@" || code=$?
    rmdir "$made"
    exit $code
fi
made=$2
shift 2
user=60123
root=$(cd "$(dirname "$0")/.." && pwd -P)
python=$("$root/.venv/bin/python" -c 'import os, sys; print(os.path.realpath(sys.base_prefix))')

# The first folder above a path that others may not pass; nothing where there is none.
closed() {
    way=
    for part in $(printf %s "$1" | tr / ' '); do
        way=$way/$part
        if [ -n "$(find "$way" -maxdepth 0 ! -perm -o=x)" ]; then
            echo "$way"
            return
        fi
    done
}

mount -t tmpfs -o mode=755 none "$made"
for path in "$root" "$python"; do
    mkdir -p "$made/kept$path"
    mount --rbind "$path" "$made/kept$path"
done
for path in "$root" "$python"; do
    above=$(closed "$path")
    [ -z "$above" ] || mount -t tmpfs -o mode=755 none "$above"
    [ -d "$path" ] || { mkdir -p "$path" && mount --rbind "$made/kept$path" "$path"; }
done
mkdir -m 700 "$made/home"
chown $user:$user "$made/home"
for name in passwd group; do
    cp /etc/$name "$made/$name"
done
echo "visitor:x:$user:$user::$made/home:/bin/sh" >> "$made/passwd"
echo "visitor:x:$user:" >> "$made/group"
for name in passwd group; do
    mount --bind "$made/$name" /etc/$name
done
cd "$root"
export HOME="$made/home" USER=visitor LOGNAME=visitor
exec setpriv --reuid $user --regid $user --clear-groups -- "$@"
