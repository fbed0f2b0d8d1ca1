#!/bin/sh
# Makes .node at the root of the project with the reader of ReplayWeb.page (wabac), for tests.
# Does nothing when it was made from the same list.
set -eu
cd "$(dirname "$0")/.."

wanted=tools/node/package.json
made=.node/package.done
if [ -d .node/node_modules ] && cmp -s "$wanted" "$made"; then
    exit 0
fi
rm -f "$made"
mkdir -p .node
cp "$wanted" .node/package.json
(cd .node && npm install --silent --no-audit --no-fund)
# Last, so that an interrupted installation is taken up again.
cp "$wanted" "$made"
