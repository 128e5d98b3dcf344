#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# What systemd says of the units that docs/ has: units.sh TOOL DOCS. Starts nothing: systemd-analyze only reads them.
set -euo pipefail
tool=$1 docs=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if ! command -v systemd-analyze >/dev/null; then
    bash "$(dirname "${BASH_SOURCE[0]}")/../support/skipped" "there is no systemd-analyze (Debian: systemd)" || exit
fi

cp "$docs/leasehold@.service" "$scratch/leasehold@scheduler.service"
awk '/^```ini$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$docs/command.md" >"$scratch/scheduler.service"
status=0
for unit in "$scratch"/*.service; do
    grep -q '^ExecStart=/usr/local/bin/leasehold ' "$unit" || { echo "$unit starts no leasehold"; status=1; }
    # Without it systemd gives up after five starts within ten seconds: an outage of the database. leasehold elect sits an outage out.
    if grep -q '^ExecStart=.* run ' "$unit" && ! grep -qx 'StartLimitIntervalSec=0' "$unit"; then
        echo "$unit would not be started again after an outage of the database"
        status=1
    fi
    sed -i "s|/usr/local/bin/leasehold|$tool|" "$unit"
    # What it does not know it only warns of; what it says of other units is this machine's affair.
    systemd-analyze verify --man=no "$unit" >"$scratch/said" 2>&1 || status=1
    if grep -E "$scratch|scheduler" "$scratch/said"; then status=1; fi
    # And what leasehold understands of its command line.
    words=$(sed -n "s|^ExecStart=$tool \(.*\) -- .*|\1|p" "$unit" | sed 's/%i/scheduler/')
    # shellcheck disable=SC2086
    XDG_STATE_HOME=$scratch LEASEHOLD_DEFAULT_STORE_FILE=$scratch/none "$tool" $words --local -- /no/such/command 2>"$scratch/said" && status=1
    grep -q 'command not found' "$scratch/said" || { cat "$scratch/said"; status=1; }
done
exit $status
