# SPDX-License-Identifier: BSL-1.0
# Completion of leasehold(1) for bash, with bash-completion.

# Names of what is held now. With the store that is on the line, so that they are those the command would see.
_leasehold_names()
{
    local i store=()
    for ((i = 1; i < ${#words[@]} - 1; ++i)); do
        case ${words[i]} in
        --) break ;;
        --local) store+=(--local) ;;
        --store | --store-file | --table) store+=("${words[i]}" "${words[i + 1]//[\'\"]/}") ;;
        esac
    done
    timeout 2 "${words[0]}" list --json --quiet "${store[@]}" 2>/dev/null | sed -n 's/^.\{0,1\}{"name": "\([^"\\]*\)".*/\1/p'
}

# Offers those of the lines on standard input that begin with $cur after the text $1 in it. Others chose these words, and none may run
# as a command: compgen -W would expand them, and the shell that gets the line would, too. So each is compared as it is, and quoted.
_leasehold_offer()
{
    local before=$1 typed=${cur#"$1"} word
    local -a lines
    mapfile -t lines
    COMPREPLY=()
    for word in "${lines[@]}"; do
        case $cur in
        \'*) [[ $word != *\'* && $word == "${typed#\'}"* ]] && COMPREPLY+=("${before#\'}$word") ;;
        \"*) [[ $word != *[\"\$\`\\!]* && $word == "${typed#\"}"* ]] && COMPREPLY+=("${before#\"}$word") ;;
        *) [[ $word == "${typed//\\/}"* ]] && COMPREPLY+=("$before$(printf %q "$word")") ;;
        esac
    done
}

_leasehold()
{
    local cur prev words cword i subcommand= name=
    _init_completion -n = || return

    for ((i = 1; i < cword; ++i)); do
        case ${words[i]} in
        --)
            _command_offset $((i + 1))
            return
            ;;
        --store | --store-file | --table | --ttl | --margin | --kill-after | --min-hold | --max-hold | --owner | --handover-signal | --metrics-file | --reason | --save | --wait | -w | --for | --busy-status | -E | \
            --of | --capacity | --max-shards | --data | --drain-timeout | \
            --restart | --pause | --interval | --timeout | --unused-for | --permits | --take | --once-per | --at | --cron | --retry | --catch-up | --begin-within) ((++i)) ;;
        --all) ((++i)) && name=${words[i]} ;;
        -*) ;;
        *) if [ -z "$subcommand" ]; then subcommand=${words[i]}; else name=${words[i]}; fi ;;
        esac
    done

    case $prev in
    --restart)
        COMPREPLY=($(compgen -W "always on-failure never" -- "$cur"))
        return
        ;;
    --catch-up)
        COMPREPLY=($(compgen -W "none last all" -- "$cur"))
        return
        ;;
    --once-per)
        COMPREPLY=($(compgen -W "15m 1h 24h 7d" -- "$cur"))
        return
        ;;
    --at)
        COMPREPLY=($(compgen -W "03:00 15m" -- "$cur"))
        return
        ;;
    --store-file | --metrics-file)
        _filedir
        return
        ;;
    --store)
        _leasehold_offer "" < <(odbcinst -q -s 2>/dev/null | sed -n 's/^\[\(.*\)\]$/\1/p')
        return
        ;;
    --ttl | --margin | --kill-after | --min-hold | --max-hold | --wait | -w | --for | --pause | --interval | --timeout | --drain-timeout | --begin-within)
        COMPREPLY=($(compgen -W "500ms 1s 5s 10s 30s 1m 5m 1h" -- "$cur"))
        return
        ;;
    --unused-for)
        COMPREPLY=($(compgen -W "1d 30d 90d 365d" -- "$cur"))
        return
        ;;
    --all)
        local before=
        [[ $cur == *,* ]] && before=${cur%,*},
        _leasehold_offer "$before" < <(_leasehold_names)
        return
        ;;
    --handover-signal)
        COMPREPLY=($(compgen -W "TERM INT HUP QUIT USR1 USR2 WINCH" -- "$cur"))
        return
        ;;
    --of)
        COMPREPLY=($(compgen -W "16 64 256" -- "$cur"))
        return
        ;;
    --capacity | --max-shards | --data) return ;;
    --owner | --reason | --save | --busy-status | -E | --table | --permits | --take | --cron | --retry) return ;;
    esac

    local common="--store --store-file --local --table --no-session-locks --quiet --verbose --help"
    local command="--ttl --margin --kill-after --metrics-file --owner"
    local schedule="--once-per --at --cron --retry --catch-up --begin-within --reschedule"
    local options
    case $subcommand in
    "") options="--help --version" ;;
    run) options="--permits --take --follow --shared --exclusive --all --wait --nowait --min-hold --max-hold --busy-status --handover-signal $schedule $command $common" ;;
    every) options="--max-hold --handover-signal $schedule $command $common" ;;
    elect) options="--restart --pause --handover-signal $command $common" ;;
    shard) options="--of --capacity --max-shards --data --drain-timeout --pause $command $common" ;;
    show | last | doctor) options="--json $common" ;;
    list) options="--checkpoints --fires --json $common" ;;
    watch) options="--checkpoints --fires --json --interval $common" ;;
    wait) options="--free --held --timeout $common" ;;
    release) options="--force $common" ;;
    ps) options="--json --watch --interval $common" ;;
    ask) options="--reason $common" ;;
    hold) options="--for --reason --wait $common" ;;
    unhold) options="$common" ;;
    drain) options="--reason --timeout --json $common" ;;
    checkpoint) options="--save --json $common" ;;
    resize) options="--ttl $common" ;;
    init) options="--print $common" ;;
    purge) options="--unused-for --with-checkpoints --yes $common" ;;
    help | version) options="--help" ;;
    *) options=$common ;;
    esac

    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [ -z "$subcommand" ] || [ "$subcommand" = help ]; then
        COMPREPLY=($(compgen -W "run every elect shard show last list ps watch wait release ask hold unhold drain checkpoint resize init purge doctor help version" -- "$cur"))
    elif [ -z "$name" ] && [[ $subcommand =~ ^(run|every|elect|shard|show|last|list|ps|watch|wait|release|ask|hold|unhold|checkpoint|resize)$ ]]; then
        _leasehold_offer "" < <(_leasehold_names)
    elif [[ $subcommand =~ ^(run|every|elect|shard)$ ]]; then
        COMPREPLY=(--)
    fi
} &&
    complete -F _leasehold leasehold
