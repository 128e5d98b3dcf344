#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Tries the service with two replicas: try.sh PROGRAM [CONNECTION-STRING]
# They start at the same moment, and one leads. Then the first one leads and is told to end while it answers a request; the second one
# leads then. Later a leader is killed.
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

launch() # replica
{
    rm -f "$folder/$1.log"  # of its last start
    "$program" 0 >"$folder/$1.log" 2>&1 &
    declare -g "$1=$!"
}

listens() # replica: waits for it
{
    says "$folder/$1.log" "listens on port"
    declare -g "$1_port=$(awk '/listens on port/ { print $4 }' "$folder/$1.log")"
}

start() # replica
{
    launch "$1"
    listens "$1"
}

ends() # replica
{
    kill -TERM "${!1}"
    wait "${!1}" || fail "replica $1 ended with status $?"
}

# The table for the leases is not there yet.
launch one
launch two
listens one
listens two
leader=''
for ((tries = 0; tries < 1000 && ${#leader} == 0; ++tries)); do
    leader=$(cd "$folder" && grep -ls "leads with token 1" one.log two.log) || sleep 0.02
done
case $leader in
    one.log) leader=one other=two ;;
    two.log) leader=two other=one ;;
    *) fail "one of two that start at the same moment leads, not: '$leader'" ;;
esac
port=${leader}_port
answers "${!port}" /readyz "200 leads"
port=${other}_port
answers "${!port}" /readyz "503 does not lead"
ends "$other"
ends "$leader"

start one
says "$folder/one.log" "leads with token 2"
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
[ "$(cat "$folder/under_way")" = "200 done with token 2" ] || fail "the request under way: '$(cat "$folder/under_way")'"
wait "$one" || fail "the first replica ended with status $?"
says "$folder/one.log" "has ended"

says "$folder/two.log" "leads with token 3"
answers "$two_port" /work "200 done with token 3"
exec {silent}<>"/dev/tcp/127.0.0.1/$two_port"  # a client that never says what it wants
ends two

start one
says "$folder/one.log" "leads with token 4"
start two
kill -KILL "$one"
wait "$one" 2>/dev/null || true
says "$folder/two.log" "leads with token 5"
start one
answers "$one_port" /readyz "503 does not lead"
answers "$two_port" /readyz "200 leads"
ends one
ends two
echo "one of two that started together led, the leadership went on after an end and after a kill, and only who leads is ready"
