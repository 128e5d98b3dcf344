#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Tries the service with two replicas: try.sh PROGRAM [CONNECTION-STRING]
# The first one leads and is told to end while it answers a request; the second one leads then. Later a leader is killed.
set -euo pipefail

program=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/leasehold-service-XXXXXX")
export LEASEHOLD_STORE=${2:-"Driver=SQLite3;Database=$folder/service.db"}
trap 'kill $(jobs -p) 2>/dev/null || true; wait || true; rm -rf "$folder"' EXIT

fail() # why
{
    echo "$1" >&2
    tail -n +1 "$folder"/*.log >&2
    exit 1
}

says() # log line: waits for it
{
    for ((tries = 0; tries < 1000; ++tries)); do
        grep -qs -- "$2" "$1" && return
        sleep 0.02
    done
    fail "$1 does not come to say '$2'"
}

get() # port path: the status and the text
{
    exec {connection}<>"/dev/tcp/127.0.0.1/$1"
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n' "$2" >&"$connection"
    tr -d '\r' <&"$connection" | awk 'NR == 1 { status = $2 } END { print status, $0 }'
    exec {connection}>&-
}

answers() # port path what
{
    local got
    got=$(get "$1" "$2")
    [ "$got" = "$3" ] || fail "GET $2 on port $1: '$got' instead of '$3'"
}

start() # replica
{
    rm -f "$folder/$1.log"  # of its last start
    "$program" 0 >"$folder/$1.log" 2>&1 &
    declare -g "$1=$!"
    says "$folder/$1.log" "listens on port"
    declare -g "$1_port=$(awk '/listens on port/ { print $4 }' "$folder/$1.log")"
}

start one
says "$folder/one.log" "leads with token 1"
start two

answers "$one_port" /readyz "200 leads"
answers "$two_port" /healthz "200 serves"
answers "$two_port" /readyz "503 does not lead"
answers "$two_port" /work "503 does not lead"

get "$one_port" /work >"$folder/under_way" &
request=$!
sleep 0.1
kill -TERM "$one"
wait "$request"
[ "$(cat "$folder/under_way")" = "200 done with token 1" ] || fail "the request under way: '$(cat "$folder/under_way")'"
wait "$one" || fail "the first replica ended with status $?"
says "$folder/one.log" "has ended"

says "$folder/two.log" "leads with token 2"
answers "$two_port" /work "200 done with token 2"
exec {silent}<>"/dev/tcp/127.0.0.1/$two_port"  # a client that never says what it wants
kill -TERM "$two"
wait "$two" || fail "the second replica ended with status $?"

start one
says "$folder/one.log" "leads with token 3"
start two
kill -KILL "$one"
wait "$one" 2>/dev/null || true
says "$folder/two.log" "leads with token 4"
start one
answers "$one_port" /readyz "503 does not lead"
answers "$two_port" /readyz "200 leads"
for replica in one two; do
    kill -TERM "${!replica}"
    wait "${!replica}" || fail "replica $replica ended with status $?"
done
echo "the leadership went on after an end and after a kill, and only who leads is ready"
