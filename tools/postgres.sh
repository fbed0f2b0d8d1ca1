#!/bin/sh
# A private PostgreSQL for tests: in a folder of its own, on a socket in that folder, nothing on the network.
#   tools/postgres.sh start          makes and starts one, and prints its FOLDER
#   tools/postgres.sh stop FOLDER    stops it and removes FOLDER
#   psql -h FOLDER -U harvestman harvestman
# Exit code 3: PostgreSQL is not installed. A server that the system runs is neither used nor disturbed.
set -eu

usage() { sed -n '2,6s/^# \{0,1\}//p' "$0"; }

# Debian keeps the programs of a server out of the path, one folder a version.
programs() {
    for folder in $(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -rV) "$(pg_config --bindir 2>/dev/null || true)"; do
        [ -x "$folder/initdb" ] && [ -x "$folder/pg_ctl" ] && { echo "$folder"; return 0; }
    done
    return 1
}

# PostgreSQL refuses to run as root.
unprivileged() {
    if [ "$(id -u)" != 0 ]; then "$@"; return; fi
    user=postgres
    id -u postgres >/dev/null 2>&1 || user=nobody
    (cd / && exec runuser -u "$user" -- "$@")
}

start() {
    command -v psql >/dev/null 2>&1 || return 3
    bin=$(programs) || return 3
    # Not in a private folder: the server must be able to get there as another user.
    folder=$(unprivileged mktemp -d /tmp/harvestman-postgres.XXXXXX)
    made=0
    make >"/dev/null" 2>"$folder.log" </dev/null || made=$?
    if [ "$made" != 0 ]; then
        cat "$folder.log" >&2
        stop "$folder"
    fi
    rm -f "$folder.log"
    [ "$made" != 0 ] || echo "$folder"
    return "$made"
}

make() {
    # Byte order for texts, as SQLite has it.
    unprivileged "$bin/initdb" --pgdata="$folder/data" --username=harvestman --auth=trust \
        --encoding=UTF8 --locale=C --no-sync &&
        unprivileged "$bin/pg_ctl" --pgdata="$folder/data" --log="$folder/data/server.log" --wait --silent \
            --options="-c listen_addresses='' -c unix_socket_directories='$folder' -c fsync=off" start &&
        chmod 755 "$folder" &&
        psql -X -q -h "$folder" -U harvestman postgres -c 'CREATE DATABASE harvestman'
}

stop() {
    bin=$(programs) || return 3
    [ ! -d "$1/data" ] || unprivileged "$bin/pg_ctl" --pgdata="$1/data" --mode=immediate --wait --silent stop >/dev/null 2>&1 || true
    rm -rf "$1"
}

case "${1:-}" in
    start) start ;;
    stop) [ -n "${2:-}" ] || { usage >&2; exit 2; }; stop "$2" ;;
    -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
