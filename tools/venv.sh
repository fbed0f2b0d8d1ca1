#!/bin/sh
# Makes .venv at the root of the project with the Python tools that tests use.
# Does nothing when it was made from the same requirements.
set -eu
cd "$(dirname "$0")/.."

wanted=tools/requirements.txt
made=.venv/requirements.done
if [ -x .venv/bin/python ] && cmp -s "$wanted" "$made"; then
    exit 0
fi
rm -f "$made"
[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$wanted"
# Last, so that an interrupted installation is taken up again.
cp "$wanted" "$made"
