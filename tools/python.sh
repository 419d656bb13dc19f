#!/bin/sh
# Run a script of this folder with a Python that can make the environment: `sh tools/python.sh tools/bootstrap.py`.
# $PYTHON if it is set; else the environment's own, else the first of the usual names that has such a version.
set -u
cd "$(dirname "$0")/.." || exit 2

recent='import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))'
if [ -n "${PYTHON:-}" ]; then
    set -- "$1" "$PYTHON"
elif .venv/bin/python -c "$recent" 2>/dev/null; then
    exec .venv/bin/python "$1"
else
    set -- "$1" python3 python3.14 python3.13 python3.12 python3.11
fi

script=$1
shift
bare=
for python in "$@"; do
    "$python" -c "$recent" 2>/dev/null || continue
    "$python" -c 'import ensurepip, venv' 2>/dev/null && exec "$python" "$script"
    bare=${bare:-$python}
done
if [ -n "$bare" ]; then
    echo "$bare has no venv module; install it (on Debian and Ubuntu: apt install python3-venv) and run make again." >&2
else
    echo "No Python of version 3.11 to 3.14 was found under the names $*; install one, or name it: make PYTHON=/path/to/python3." >&2
fi
exit 2
