# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash
# To be sourced: a program of Prometheus, installed or unpacked. Debian's package would start a server, so it is only unpacked.

prometheus_tool() # prometheus or promtool, a folder to unpack into; prints the path, or nothing where it is not to be had
{
    local tool=$1 folder=$2 package
    if command -v "$tool"; then return; fi
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null && [ -z "${LEASEHOLD_NO_INSTALL:-}" ] || return 0
    # promtool has a package of its own since Debian 13.
    for package in "$tool" prometheus; do
        if (cd "$folder" && apt-get -q download "$package" >log 2>&1 && dpkg-deb -x "${package}"_*.deb unpacked) &&
            [ -x "$folder/unpacked/usr/bin/$tool" ]; then
            echo "$folder/unpacked/usr/bin/$tool"
            return
        fi
        cat "$folder/log" >&2
    done
}
