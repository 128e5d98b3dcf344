#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
# papers.sh TOOL BUILD_FOLDER SOURCE_FOLDER: what is installed beside the program, and that its papers say what it does.
set -euo pipefail
tool=$1 build=$2 source=$3
parts=$source/examples/leasehold
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
fail()
{
    echo "FAILED: $*" >&2
    failed=1
}

# What is installed.
DESTDIR= cmake --install "$build" --prefix "$scratch/installed" >"$scratch/log" || { cat "$scratch/log" >&2; fail "cmake --install"; }
for file in bin/leasehold share/man/man1/leasehold.1 share/bash-completion/completions/leasehold share/zsh/site-functions/_leasehold; do
    [ -s "$scratch/installed/$file" ] || fail "$file is not installed"
done
"$scratch/installed/bin/leasehold" --version | grep -qx 'leasehold [0-9.]*' || fail "the installed program does not run"

# Every option of --help is in the manual page and in both completions, and the other way round.
options_in() { grep -oE -- '(^|[^[:alnum:]-])--[a-z][a-z-]+' "$1" | grep -oE -- '--[a-z-]+' | sort -u; }
{
    "$tool" --help
    for subcommand in run every elect shard show last list ps watch wait release ask hold unhold drain checkpoint resize init purge doctor; do "$tool" $subcommand --help | grep -v '^  leasehold'; done
} >"$scratch/help"
options_in "$scratch/help" | grep -vxE -- '--(version|foreground|full)' >"$scratch/options"
sed 's/Fl Fl \([a-z-]*\)/--\1/g' "$parts/leasehold.1" >"$scratch/manual"
for paper in "$scratch/manual" "$parts/completions/leasehold.bash" "$parts/completions/_leasehold"; do
    options_in "$paper" | grep -vxE -- '--(version|foreground)' >"$scratch/there"
    difference=$(diff "$scratch/options" "$scratch/there") || fail "--help and $paper differ:"$'\n'"$difference"
done

# The table of statuses on the page and in the manual page, and what the program has.
for status in $(grep -oE 'int [a-z_]+ = [0-9]+' "$parts/exit_code.hpp" | grep -oE '[0-9]+$' | grep -vx 128); do
    grep -qE "^\|[^|]*\b$status\b" "$source/docs/command.md" || fail "status $status is not in docs/command.md"
    grep -qx ".It $status" "$parts/leasehold.1" || fail "status $status is not in the manual page"
done
# What a status that several subcommands share means to each.
for status in 1 75 76; do
    awk -v status=$status '/^\.Sh/ { inside = /EXIT STATUS/ } /^\.It/ { this = inside && $2 == status } this' "$parts/leasehold.1" >"$scratch/item"
    for subcommand in $(grep "^| $status |" "$source/docs/command.md" | grep -oE '`[a-z]+( --?[a-z-]+)?' | tr -d '`' | grep -oE '^[a-z]+'); do
        grep -qE "^\.Cm $subcommand( |\$)" "$scratch/item" || fail "what status $status of $subcommand means is not in the manual page"
    done
done

if command -v mandoc >/dev/null; then
    # Whether other pages are there is this machine's affair.
    mandoc -Tlint "$parts/leasehold.1" 2>/dev/null | grep -v 'referenced manual not found' >"$scratch/lint" && { cat "$scratch/lint" >&2; fail "mandoc -Tlint"; }
else
    echo "NOTE: no mandoc here: the manual page was not checked" >&2
fi

# Completions, with a lease that is held.
unset -v LEASEHOLD_STORE LEASEHOLD_STORE_FILE LEASEHOLD_TABLE
export XDG_STATE_HOME=$scratch/state LEASEHOLD_DEFAULT_STORE_FILE=$scratch/none PATH="${tool%/*}:$PATH"
"$tool" run "held-job" --local --min-hold 10m -- true

bash_completes() # line -> what is offered, in one line
{
    bash -c '
        . /usr/share/bash-completion/bash_completion; . "$1"
        COMP_LINE=$2 COMP_POINT=${#2}
        read -ra COMP_WORDS <<<"$2"
        case $2 in *" ") COMP_WORDS+=("") ;; esac
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _leasehold
        echo "${COMPREPLY[*]}"' bash "$parts/completions/leasehold.bash" "$1"
}
expect() # shell, line, what must be among what is offered
{
    local offered
    offered=$("$1_completes" "$2")
    grep -qE -- "(^| )$3( |$)" <<<"$offered" || fail "$1 offers for '$2' not $3 but: $offered"
}
if [ -r /usr/share/bash-completion/bash_completion ]; then
    expect bash "leasehold e" elect
    expect bash "leasehold run --min" --min-hold
    expect bash "leasehold show --local he" held-job
    # A name is whatever its holder, or a data source whatever its file, makes it: it is offered, and never run.
    words='$(touch '$scratch'/was_run)'
    "$tool" hold "$words" --for 10m --local >"$scratch/log"
    printf '[%s]\n' "$words" >"$scratch/sources"
    for line in "leasehold show --local " "leasehold run --local --all " "leasehold run --local --all held-job," "leasehold run --store "; do
        offered=$(ODBCINI=$scratch/sources bash_completes "$line")
        [ ! -e "$scratch/was_run" ] || fail "bash runs a name for '$line'"
        rm -f "$scratch/was_run"
        grep -qF -- "$(printf %q "$words")" <<<"$offered" || fail "bash offers for '$line' not $words, quoted, but: $offered"
    done
    "$tool" unhold "$words" --local >"$scratch/log"
    expect bash "leasehold show --local 'he" held-job
    expect bash "leasehold run --local --all other,he" other,held-job
    expect bash "leasehold pur" purge
    expect bash "leasehold checkp" checkpoint
    expect bash "leasehold checkpoint --sa" --save
    expect bash "leasehold help el" elect
    expect bash "leasehold elect x --restart on" on-failure
    expect bash "leasehold run job " --
    expect bash "leasehold run job -- ls --col" "--color.*"
else
    echo "NOTE: no bash-completion here: only its syntax was checked" >&2
fi
bash -n "$parts/completions/leasehold.bash"

if command -v zsh >/dev/null; then zsh -n "$parts/completions/_leasehold"; fi  # the rest of it: terminal_test.cpp

[ $failed = 0 ] && echo "papers: all is as it says"
exit $failed
