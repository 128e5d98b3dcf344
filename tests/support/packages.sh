# SPDX-License-Identifier: BSL-1.0
# Shell code to be sourced (bash): installs what a command of this project needs.
#
#   . tests/support/packages.sh
#   need_packages g++=command:g++ libboost-test-dev=header:boost/test/unit_test.hpp ... || exit
#
# Each argument is a Debian package and, after `=`, what shows that its work is done without it (all of them, by commas):
#   command:NAME   header:PATH   library:NAME   file:GLOB   odbc-driver:NAME   boost:MINOR (1.MINOR or later)
# Where that is so, or the package is installed, nothing happens, on any system. What is missing is installed by apt-get
# on Debian and Ubuntu, with sudo only if we are not root; elsewhere it is named, and the status is 2.
# LEASEHOLD_NO_INSTALL=1 in the environment installs nothing anywhere.

leasehold_probe() # kind:value
{
    local kind=${1%%:*} value=${1#*:} folder
    case $kind in
    command)
        PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin command -v "$value" >/dev/null
        ;;
    header)
        for folder in /usr/include /usr/local/include /opt/homebrew/include /usr/include/*-linux-gnu; do
            [ -e "$folder/$value" ] && return 0
        done
        return 1
        ;;
    library)
        for folder in /usr/lib /usr/lib64 /usr/local/lib /opt/homebrew/lib /usr/lib/*-linux-gnu; do
            compgen -G "$folder/lib$value.*" >/dev/null && return 0
        done
        return 1
        ;;
    file) compgen -G "$value" >/dev/null ;;
    boost)
        # The first is the compiler's choice.
        for folder in /usr/local/include /usr/include /opt/homebrew/include; do
            [ -e "$folder/boost/version.hpp" ] || continue
            [ "$(awk '$1 == "#define" && $2 == "BOOST_VERSION" { print int($3 / 100) % 1000 }' "$folder/boost/version.hpp")" -ge "$value" ]
            return
        done
        return 1
        ;;
    odbc-driver) command -v odbcinst >/dev/null && odbcinst -q -d 2>/dev/null | grep -qxF "[$value]" ;;
    *)
        echo "packages.sh: unknown probe $1" >&2
        return 1
        ;;
    esac
}

leasehold_have() # package[=probe,...]
{
    local package=${1%%=*} probes probe
    if command -v dpkg-query >/dev/null &&
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then
        return 0
    fi
    [ "$package" != "$1" ] || return 1
    IFS=, read -ra probes <<<"${1#*=}"
    for probe in "${probes[@]}"; do
        leasehold_probe "$probe" || return 1
    done
}

need_packages()
{
    local missing=() apt item
    for item in "$@"; do
        leasehold_have "$item" || missing+=("${item%%=*}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0

    if [ "${LEASEHOLD_NO_INSTALL:-0}" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "Missing here, by their names in Debian and Ubuntu: ${missing[*]}" >&2
        [ "${LEASEHOLD_NO_INSTALL:-0}" != 0 ] || echo "This system has no apt-get: install them its own way, then come again." >&2
        return 2
    fi
    echo "Installing: ${missing[*]}"
    leasehold_apt || { echo "That needs root, and there is no sudo. As root: apt-get install ${missing[*]}" >&2; return 2; }
    local log
    log=$(mktemp)
    # Recommended packages are left out: they would be mail programs and the like.
    if "${apt[@]}" update >"$log" 2>&1 && "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >"$log" 2>&1; then
        rm -f "$log"
        return 0
    fi
    cat "$log" >&2
    rm -f "$log"
    echo "apt-get could not install: ${missing[*]}" >&2
    return 2
}

# Sets apt, to be run as "${apt[@]}" update. Fails where that needs root, which can't be had.
leasehold_apt()
{
    apt=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || return 1
        apt=(sudo)
    fi
    # RUNLEVEL=1: packages of servers shall not start one; the tests start private ones.
    apt+=(env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get -q -o DPkg::Lock::Timeout=300)
}

# Of arguments as above, prints the packages that are missing here and that this release of Debian or Ubuntu does not have.
packages_not_in_release()
{
    local item apt updated=no
    command -v apt-cache >/dev/null && [ "${LEASEHOLD_NO_INSTALL:-0}" = 0 ] || return 0
    for item in "$@"; do
        ! leasehold_have "$item" || continue
        if [ $updated = no ]; then
            leasehold_apt && "${apt[@]}" update >/dev/null 2>&1 || return 0  # then need_packages says what is wrong
            updated=yes
        fi
        # Not through grep -q: apt-cache, ended by a closed pipe, would count as a package that is not there. The name in front, since
        # apt takes one that it does not know, such as g++-99, for a regular expression.
        [[ $(apt-cache policy "${item%%=*}") == "${item%%=*}:"*"Candidate: "[^\(]* ]] || echo "${item%%=*}"
    done
}

# What our commands have in common. Compilers come by their own names.
leasehold_build_packages=(cmake=command:cmake,command:ctest ninja-build=command:ninja)
leasehold_gcc_packages=(g++=command:g++)
leasehold_clang_packages=(clang=command:clang++)
leasehold_sanitizer_packages=(libclang-rt-dev=file:/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.asan*,file:/usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.fuzzer*
    llvm=command:llvm-symbolizer)
leasehold_odbc_packages=(unixodbc-dev=header:sql.h,header:sqlext.h)
leasehold_sqlite_packages=(odbcinst=command:odbcinst libsqliteodbc=odbc-driver:SQLite3)
# Boost 1.77 or later. The libboost-dev of Debian 12 is 1.74; the 1.81 beside it takes the place of that, if it is installed. Since 1.92
# one package has the headers of all its libraries.
leasehold_boost=
! grep -qsx 'VERSION_CODENAME=bookworm' /etc/os-release || leasehold_boost=1.81
leasehold_asio_packages=("libboost$leasehold_boost-dev=boost:77,header:boost/asio.hpp")
leasehold_test_packages=("${leasehold_asio_packages[@]}" libasio-dev=header:asio.hpp
    "libboost-test$leasehold_boost-dev=boost:77,header:boost/test/unit_test.hpp,library:boost_unit_test_framework"
    "libboost-context$leasehold_boost-dev=boost:77,header:boost/context/fiber.hpp,library:boost_context"
    libcli11-dev=header:CLI/CLI.hpp nlohmann-json3-dev=header:nlohmann/json.hpp tmux=command:tmux zsh=command:zsh mandoc=command:mandoc
    systemd=command:systemd-analyze
    bash-completion=file:/usr/share/bash-completion/bash_completion
    git=command:git pkg-config=command:pkg-config python3=command:python3 elfutils=command:eu-stack
    doxygen=command:doxygen
    faketime=file:/usr/lib*/*/faketime/libfaketime.so.1)
leasehold_site_packages=(doxygen=command:doxygen nodejs=command:node npm=command:npm python3=command:python3)
leasehold_live_packages=(emscripten=command:em++)
# Only with the presets of clang++: python3-clang takes 250 MB.
leasehold_mutant_packages=(clang=command:clang++ python3-clang=file:/usr/lib/python3/dist-packages/clang/cindex.py)
leasehold_browser_packages=(chromium=command:chromium)
leasehold_image_packages=(buildah=command:buildah debootstrap=command:debootstrap git=command:git
    debian-archive-keyring=file:/usr/share/keyrings/debian-archive-keyring.gpg)
leasehold_chart_packages=(python3-matplotlib)
# Headers and compiler only: the example links no library, and Debian's for all ARM processors take 2 GB.
leasehold_embedded_packages=(gcc-arm-none-eabi=command:arm-none-eabi-g++
    libstdc++-arm-none-eabi-dev=file:/usr/*/*/c++/*/arm-none-eabi libnewlib-dev=file:/usr/*/*/newlib.h
    qemu-system-arm=command:qemu-system-arm)
# Debian 13 and later. Its package for CMake asks for the other four, which it does not depend on.
leasehold_opentelemetry_packages=(opentelemetry-cpp-dev=header:opentelemetry/version.h,library:opentelemetry_exporter_in_memory
    libabsl-dev=header:absl/base/config.h libgrpc++-dev=header:grpcpp/grpcpp.h libprotobuf-dev=header:google/protobuf/message.h
    protobuf-compiler-grpc=command:grpc_cpp_plugin)
leasehold_hsqldb_packages=(libhsqldb-java=file:/usr/share/java/hsqldb*.jar default-jre-headless=command:java)
leasehold_virtuoso_packages=(virtuoso-opensource-7-bin=command:virtuoso-t,command:isql-vt
    libvirtodbc0=file:/usr/lib/*/odbc/virtodbc.so)
# Only with --servers patroni.
leasehold_patroni_packages=(patroni=command:patroni python3-etcd=file:/usr/lib/python3/dist-packages/etcd/__init__.py
    etcd-server=command:etcd haproxy=command:haproxy)
leasehold_pgpool_packages=(pgpool2=command:pgpool)  # only with --servers pgpool
# Only for tests/benchmarks/peers/run: the locks that leasehold is measured beside.
leasehold_peers_packages=(nodejs=command:node npm=command:npm etcd-server=command:etcd golang-go=command:go golang-etcd-server-dev)
leasehold_server_packages=(
    postgresql=file:/usr/lib/postgresql/*/bin/initdb,command:psql
    odbc-postgresql="odbc-driver:PostgreSQL Unicode"
    pgbouncer=command:pgbouncer
    mariadb-server=command:mariadbd,command:mariadb-install-db,command:mariadb
    odbc-mariadb="odbc-driver:MariaDB Unicode"
    galera-4=file:/usr/lib*/*/libgalera_smm.so
    rsync=command:rsync
    redis-server=command:redis-server,command:redis-cli
    libhiredis-dev=header:hiredis/hiredis.h
    libpq-dev=header:postgresql/libpq-fe.h,library:pq libpqxx-dev=header:pqxx/pqxx,library:pqxx
    libmariadb-dev=header:mariadb/mysql.h,library:mariadb libsqlite3-dev=header:sqlite3.h,library:sqlite3
)
