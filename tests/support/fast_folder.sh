# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash
# Sourced. fast_folder prints where temporary files should go: in memory, where there is plenty and programs may be run, else
# /tmp. A disk that takes seconds for a commit is an outage for those who wait for it, and tests that expect none fail.

fast_folder()
{
    local folder=/dev/shm room memory probe works=no
    room=$(df -Pk $folder 2>/dev/null | awk 'NR == 2 { print $4 }')
    memory=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo 2>/dev/null)
    # In KiB; all servers of the tests together take less than a third of it.
    if [ "${room:-0}" -ge $((6 << 20)) ] && [ "${memory:-0}" -ge $((12 << 20)) ] &&
        probe=$(mktemp $folder/leasehold-probe-XXXXXX 2>/dev/null); then
        # A file of a folder mounted with noexec is not run.
        printf '#!/bin/sh\n' >"$probe" && chmod 700 "$probe" && "$probe" 2>/dev/null && works=yes
        rm -f "$probe"
    fi
    if [ $works = yes ]; then echo $folder; else echo /tmp; fi
}
