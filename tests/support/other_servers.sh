# SPDX-License-Identifier: BSL-1.0
# Shell code to be sourced (bash, -euo pipefail), after packages.sh: database servers that this machine has not got, each in a minimal
# Debian of its own, for tests that run with LEASEHOLD_SERVERS_ROOT. Needs root.
. tests/support/debian.sh

other_servers_in=${LEASEHOLD_SERVERS:-/var/tmp/leasehold-servers}

# What each is: packages of Debian sid, what says its version, whose driver, and the tests that are about it. Tests that are about
# several databases take the others from this machine.
other_servers_faults='expiry_by_observation|fence|fence_of_several|fenced_writes|frozen_release|frozen_server|hanging_calls|killed_sessions|leader|locked_tables|lost_connections|names_without_key|read_only_server|servers|stuck_lock|taken_over_tables|waiting|waiting_sessions'
other_server() # name
{
    case $1 in
    mysql)
        packages=(mysql-server-core mysql-client-core) version=(mysqld --version) driver=odbc-mariadb
        tests="contract\\.mariadb|faults\\.($other_servers_faults|group_replication)|campaign\\.short\\.group_replication"
        ;;
    mariadb11)
        packages=(mariadb-server mariadb-client) version=(mariadbd --version) driver=odbc-mariadb
        tests="contract\\.(mariadb|generic_on_mariadb)|faults\\.($other_servers_faults)|campaign\\.short\\.mariadb"
        ;;
    postgresql18)
        packages=(postgresql-18) version=(/usr/lib/postgresql/18/bin/postgres --version) driver=odbc-postgresql
        tests="contract\\.(postgresql|generic)|faults\\.($other_servers_faults)|campaign\\.short\\.postgresql"
        ;;
    *) return 1 ;;
    esac
    packages+=(libfaketime)  # a test turns the clock of the server
    root=$other_servers_in/$1
}

prepare_other_server() # name log
{
    other_server "$1"
    mkdir -p "$other_servers_in"
    if [ ! -e "$root/.made" ]; then
        echo "tests/run: making a minimal sid for $1 in $root"
        make_debian sid "$root" "$(debian_mirror)" "$2" unshare --mount --propagation private || return 1
    fi
    [ "$(cat "$root/.has" 2>/dev/null)" != "${packages[*]}" ] || return 0
    cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
    # RUNLEVEL=1: what they install shall not be started. PostgreSQL's packages need /proc.
    local apt=(unshare --mount --propagation private sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root"
        env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q)
    if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; } >"$2" 2>&1; then
        tail -n 20 "$2" >&2
        return 1
    fi
    echo "${packages[*]}" >"$root/.has"
}

# A row of docs/dialects.md instead of the one of that name, or a new one.
note_other_server() # name outcome
{
    local says number words row page=docs/dialects.md
    other_server "$1"
    says=$(chroot "$root" "${version[@]}")
    number=$(grep -oE '[0-9]+(\.[0-9]+)+' <<<"$says" | head -n 1)
    case $1 in mysql) words="MySQL $number" ;; mariadb11) words="MariaDB $number" ;; *) words="PostgreSQL $number" ;; esac
    row="| \`$1\` | $words | $driver $(dpkg-query -W -f '${Version}' $driver 2>/dev/null || echo unknown) | $2 | $(date -u +%F) |"
    awk -v name="| \`$1\` |" -v row="$row" '
        index($0, name) == 1 { print row; done = 1; next }
        in_table && !/^\|/ && !done { print row; done = 1 }
        { in_table = /^\|/ && (in_table || /^\| `--servers` \|/); print }' "$page" >"$page.new"
    mv "$page.new" "$page"
}
