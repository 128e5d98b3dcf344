#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Tries the service with two replicas: try.sh PROGRAM [CONNECTION-STRING]
# The first one leads and is told to end; the second one leads then. It is killed, and started again when the first one leads.
set -euo pipefail

program=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/leasehold-service-XXXXXX")
export LEASEHOLD_STORE=${2:-"Driver=SQLite3;Database=$folder/service.db;Timeout=2000"}
trap 'kill $(jobs -p) 2>/dev/null || true; wait || true; rm -rf "$folder"' EXIT

fail() # why
{
    echo "$1" >&2
    tail -n +1 "$folder"/*.log >&2
    exit 1
}

says() # file line: waits for it
{
    for ((tries = 0; tries < 1000; ++tries)); do
        ! grep -qs -- "$2" "$1" || return 0
        sleep 0.02
    done
    fail "$1 does not come to say '$2'"
}

start() # replica
{
    rm -f "$folder/$1.log"  # of its last start
    "$program" "$folder/$1" >"$folder/$1.log" 2>&1 &
    declare -g "$1=$!"
    says "$folder/$1.log" "waits for its turn"
}

mkdir "$folder/one" "$folder/two"
start one
says "$folder/one.log" "leads with token 1"
start two

says "$folder/one/metrics.prom" '^leasehold_held{lease="thread-service"} 1'
[ -e "$folder/one/ready" ] || fail "the leader is not ready"
[ ! -e "$folder/two/ready" ] || fail "the other one is ready"

kill -TERM "$one"
wait "$one" || fail "the first replica ended with status $?"
says "$folder/one.log" "has ended"
[ ! -e "$folder/one/ready" ] || fail "a replica that has ended is ready"
says "$folder/one/metrics.prom" '^leasehold_held{lease="thread-service"} 0'

says "$folder/two.log" "leads with token 2"
says "$folder/two/ready" "leads"
start one
kill -KILL "$two"
wait "$two" || true
says "$folder/one.log" "leads with token 3"
[ -e "$folder/two/ready" ] || fail "nothing is left of a leader that was killed: this test no longer tests anything"
start two
[ ! -e "$folder/two/ready" ] || fail "a replica that was killed and started again is ready, and does not lead"
timeout 20 sh -c 'while grep -q "^leasehold_held{.*} 1" "$0"; do sleep 0.02; done' "$folder/two/metrics.prom" ||
    fail "its metrics still say that it holds the lease"
for replica in one two; do
    kill -TERM "${!replica}"
    wait "${!replica}" || fail "replica $replica ended with status $?"
done
! "$program" 2>"$folder/usage.log" || fail "it starts without a folder"
echo "the leadership went on after an end and after a kill, and only who leads is ready"
