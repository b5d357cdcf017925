#!/bin/sh
# Runs a command with an empty /tmp in memory, which is gone with it; where that is not possible, as it is.
#
#     scripts/in_memory.sh .venv/bin/python -m pytest
#
# Only root may mount, and nothing that the command needs may lie in /tmp. On a disk, files and folders of the
# tests take up to an eighth of their CPU, by how busy the disk was before.
set -eu
free=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo 2> /dev/null || :)
if [ "$(id -u)" != 0 ] || [ -n "${TMPDIR:-}" ] || [ "${free:-0}" -lt 6 ] || ! unshare --mount true 2> /dev/null; then
    exec "$@"
fi
for path in "$(pwd -P)" "$(readlink -f "$1")"; do
    case $path in /tmp/*) exec "$@" ;; esac
done
exec unshare --mount --propagation private -- \
    sh -c 'mount -t tmpfs -o mode=1777 none /tmp 2> /dev/null; exec "$@"' "$0" "$@"
