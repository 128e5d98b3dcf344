#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# Tries the service with two replicas: try.sh PROGRAM [CONNECTION-STRING]
# The first one leads and is told to end; the second one leads then.
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

for replica in one two; do
    mkdir "$folder/$replica"
    "$program" "$folder/$replica" >"$folder/$replica.log" 2>&1 &
    declare "$replica=$!"
    says "$folder/$replica.log" "waits for its turn"
    [ "$replica" = two ] || says "$folder/one.log" "leads with token 1"
done

says "$folder/one/metrics.prom" '^leasehold_held{lease="thread-service"} 1'
[ -e "$folder/one/ready" ] || fail "the leader is not ready"
[ ! -e "$folder/two/ready" ] || fail "the other one is ready"

kill -TERM "$one"
wait "$one" || fail "the first replica ended with status $?"
says "$folder/one.log" "has ended"
[ ! -e "$folder/one/ready" ] || fail "a replica that has ended is ready"

says "$folder/two.log" "leads with token 2"
says "$folder/two/ready" "leads"
kill -TERM "$two"
wait "$two" || fail "the second replica ended with status $?"
! "$program" 2>"$folder/usage.log" || fail "it starts without a folder"
echo "the first replica ended its leadership, and the second one leads"
