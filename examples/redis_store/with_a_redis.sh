#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Runs a program with the socket of a Redis of its own as its argument: with_a_redis.sh PROGRAM
set -euo pipefail

if ! command -v redis-server >/dev/null; then
    echo "SKIPPED: no program named redis-server" >&2
    [ "${LEASEHOLD_REQUIRE_SERVERS:-0}" = 0 ] && exit 77
    exit 1
fi

folder=$(mktemp -d "${TMPDIR:-/tmp}/leasehold-redis-XXXXXX")
redis-server --port 0 --unixsocket "$folder/socket" --dir "$folder" --save "" --daemonize no >"$folder/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$folder"' EXIT

for ((tries = 0; tries < 500; ++tries)); do
    # The socket is there a moment before the server listens on it.
    [ "$(redis-cli -s "$folder/socket" ping 2>/dev/null)" != PONG ] || break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.02
done
if [ "$(redis-cli -s "$folder/socket" ping 2>/dev/null)" != PONG ]; then
    echo "redis-server does not start:" >&2
    cat "$folder/log" >&2
    exit 1
fi
"$1" "$folder/socket"
