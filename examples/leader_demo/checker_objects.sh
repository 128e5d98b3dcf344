#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0

# A checker that never objects proves nothing: each way of going wrong, written down by hand, must get status 1 and its
# reason. Usage: checker_objects.sh <the program>
set -euo pipefail

program=$1
folder=$(mktemp -d "${TMPDIR:-/tmp}/leasehold-checker-XXXXXX")
trap 'rm -rf "$folder"' EXIT
failed=0

# A flawless run, in which the times are milliseconds after 1000 s: who what token at until
good='conductor rules 0 1200 120
conductor began 0 1000000 0
replica-1 led 1 1000010 1001090
replica-1 worked 1 1000010 1000030
replica-1 extended 1 1000410 1001490
replica-1 stepped_down 1 1001000 1001000
replica-2 led 2 1001020 1002100
replica-2 worked 2 1001020 1001040
conductor killed 2 1001500 1002220
replica-3 led 3 1002240 1003320
replica-3 worked 3 1002240 1002260
conductor asked 3 1002700 0
replica-3 stopped 3 1002701 1002701
replica-1 led 4 1002720 1003800
replica-1 stopped 4 1003000 1003000'

# judge <status> <what it must say> <how the flawless run is spoiled: a sed script>
judge() {
    rm -f "$folder"/*
    local spoiled who what token at until status=0 said
    spoiled=$(sed -e "$3" <<<"$good")
    # The one who was killed or asked to stop is the one whose term it is.
    while read -r who what token at until; do
        local about=$who
        if [[ $what == killed || $what == asked ]]; then
            about=$(awk -v t="$token" '$2 == "led" && $3 == t { print $1; exit }' <<<"$spoiled")
            about=${about:-nobody}
        fi
        echo "$what $about $token ${at}000000 ${until}000000" >>"$folder/$who.records"
    done <<<"$spoiled"
    said=$("$program" check "$folder" 2>&1) || status=$?
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        printf 'expected status %s and "%s", got status %s and:\n%s\n' "$1" "$2" "$status" "$said"
        failed=1
    fi
}

judge 0 'overlaps: 0' ''
judge 0 'terms: 4' ''
judge 0 'tokens strictly growing: yes' ''
judge 0 'take-over after SIGKILL: 0.020 s after the ttl had ended, 0.740 s after the kill' ''
judge 0 'hand-over after SIGTERM: 0.019 s after the leader had stopped' ''
# The leader stopped later than the next one began; had not stopped, nor been killed; worked on after the next one began.
judge 1 'overlaps: 1' '/stepped_down/s/1001000/1001021/'
judge 1 'has not written how its last term ended' '/^replica-1 stopped 4/d'
judge 1 'led again before it had ended' '/stepped_down/d'
judge 1 'overlaps: 1' '/^replica-3 worked/s/1002260/1002721/'
# Somebody led while the killed one could still have acted; or before its ttl had ended by the database's clock.
judge 1 'overlaps: 1' '/^replica-3 led/s/1002240 1003320/1002090 1003170/; /^replica-3 worked/s/1002240/1002090/'
judge 1 'before the ttl of replica-2 had ended' '/^replica-3 led/s/1002240 1003320/1002150 1003230/; /^replica-3 worked/s/1002240/1002150/'
# Two leaders at the same time from the start.
judge 1 'overlaps: 1' '/^replica-2 led/s/1001020 1002100/1000020 1001100/; s/ 1001020 1001040/ 1000020 1000040/'
# A token that repeats, one that falls, one that is 0.
judge 1 'tokens strictly growing: NO' '/^replica-1 .* 4 /s/ 4 / 3 /'
judge 1 'tokens strictly growing: NO' '/^replica-1 .* 4 /s/ 4 / 2 /'
judge 1 'tokens strictly growing: NO' 's/^\(replica-1 [a-z_]*\) 1 /\1 0 /'
# No take-over after the kill; no kill; no hand-over after the polite stop; none asked for; one that took the whole ttl.
judge 1 'after SIGKILL to replica-2 (token 2) nobody took over' '/ [34] /d'
judge 1 'no take-over after a SIGKILL was shown' '/killed/d; s/^\(replica-2 worked.*\)/\1\nreplica-2 stopped 2 1001600 1001600/'
judge 1 'after SIGTERM to replica-3 (token 3) nobody took over' '/ 4 /d'
judge 1 'no hand-over after a SIGTERM was shown' '/asked/d'
judge 1 'no faster than waiting for the ttl' '/^replica-1 led 4/s/.*/replica-1 led 4 1003330 1004410/; s/1003000 1003000/1003400 1003400/'
# Acts without a term; a belief longer than the ttl; no records; no record.
judge 1 'acted outside a term' '/^replica-1 stopped 4/s/$/\nreplica-1 worked 4 1003001 1003002/'
judge 1 'acted outside a term' '/^replica-2 led/d'
judge 1 'believed in more than the ttl' '/^replica-1 led 4/s/1003800/1003801/'
judge 1 'nobody has led' '/replica/d'
judge 1 'the ttl is not in the records' '/rules/d'
judge 1 'not a record' '/^replica-2 worked/s/worked/danced/'

exit "$failed"
