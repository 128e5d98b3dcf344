# SPDX-License-Identifier: BSL-1.0
# Shell code to be sourced (bash, -euo pipefail), after packages.sh: makes a minimal Debian in a folder, as root.
#
#   make_debian RELEASE FOLDER MIRROR LOG [COMMAND]
# with debootstrap, run by COMMAND if there is one. The packages come from MIRROR, as debian_mirror prints it; what this machine's apt
# was told of mirrors holds there too. FOLDER/.made shows that it is complete. On failure the end of LOG is shown; the status is not 0.

# Debian's own mirror in this machine's configuration, whatever form that has: apt says so without asking it.
debian_mirror()
{
    local codename found=
    if [ "$(. /etc/os-release && echo "$ID")" = debian ]; then
        codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
        found=$(apt-get --print-uris update 2>/dev/null | sed -n "s|^'\(https\?://.*\)/dists/$codename/InRelease'.*|\1|p" | head -n 1)
    fi
    echo "${found:-http://deb.debian.org/debian}"
}

debian_apt_settings() # release
{
    apt-config dump 2>/dev/null | grep -E '^Acquire::(https?(::|Proxy)|Check-|Retries|ForceIPv)' | grep -v ' "";$' || true
    # sid as a mirror has it is often older than it says it may be.
    [ "$1" != sid ] || echo 'Acquire::Check-Valid-Until "false";'
}

make_debian() # release folder mirror log [command...]
{
    local release=$1 folder=$2 mirror=$3 log=$4
    shift 4
    rm -rf --one-file-system "$folder"
    if ! "$@" debootstrap --variant=minbase "$release" "$folder" "$mirror" >"$log" 2>&1; then
        tail -n 20 "$log" >&2
        return 1
    fi
    debian_apt_settings "$release" >"$folder/etc/apt/apt.conf.d/80elsewhere"
    [[ $mirror != https:* ]] || install -D -m 644 /etc/ssl/certs/ca-certificates.crt -t "$folder/etc/ssl/certs"
    touch "$folder/.made"
}

# debootstrap hears of a proxy by its environment.
proxy=$(apt-config shell proxy Acquire::http::Proxy 2>/dev/null | sed "s/^proxy='\(.*\)'$/\1/")
if [[ $proxy == http* && -z ${http_proxy:-} ]]; then export http_proxy=$proxy; fi
