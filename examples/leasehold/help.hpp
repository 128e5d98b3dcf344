// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_EXAMPLES_LEASEHOLD_HELP_HPP
#define LEASEHOLD_EXAMPLES_LEASEHOLD_HELP_HPP

/// What --help says, apart from the options. The manual page, docs/command.md and the completions go with it.
namespace tool::help {

inline constexpr const char* about =
    "Runs a command on only one of several hosts at a time. A lease in a database that they share decides on which.";

inline constexpr const char* footer =
    "Set up a cron job on three hosts in five minutes, with any database that they all reach. On each host, as root:\n"
    "  (umask 077; echo 'Driver=PostgreSQL Unicode;Server=db;Database=ops;UID=ops;PWD=...' > /etc/leasehold.store)\n"
    "  leasehold init; leasehold doctor\n"
    "and in its crontab:\n"
    "  0 3 * * * /usr/local/bin/leasehold run report --once-per 24h --at 03:00 -- /opt/report\n"
    "\n"
    "Instead of /etc/leasehold.store you can use --store, LEASEHOLD_STORE and others (see each subcommand), or --local for\n"
    "this host only. leasehold SUBCOMMAND --help shows options and examples; man leasehold describes everything.";

inline constexpr const char* store = "An ODBC connection string, or the name of a data source [LEASEHOLD_STORE]";
inline constexpr const char* store_file =
    "A file with the connection string, for its password [LEASEHOLD_STORE_FILE, or /etc/leasehold.store]";
inline constexpr const char* local = "An SQLite file of your own, for processes on this host only";
inline constexpr const char* no_session_locks = "Wait by asking again and again; no session waits in the database";
inline constexpr const char* table = "The table with the leases [LEASEHOLD_TABLE, or leasehold]";

inline constexpr const char* permits = "Let this many hosts hold NAME at a time; the same number everywhere";
inline constexpr const char* take = "Hold so many of the permits at once, all or none";
inline constexpr const char* follow = "Where another number of permits is agreed on already, take that one";
inline constexpr const char* shared = "Hold NAME together with others that use --shared, and with none that uses --exclusive";
inline constexpr const char* exclusive = "Hold NAME with nobody beside, where others use --shared";
inline constexpr const char* all = "Hold all of these leases, or none; names with commas between, instead of NAME";
inline constexpr const char* metrics_file =
    "Write metrics into this file, for the textfile collector of Prometheus' node_exporter, which reads files named *.prom";

inline constexpr const char* once_per = "Run the command once in each such time, on one of the hosts; as in 24h, from midnight UTC on";
inline constexpr const char* at = "When in that time, in UTC: 03:00, or a duration after its beginning [0]";
inline constexpr const char* cron = "Run the command once per time of such a line of five fields, in UTC, as in \"0 3 * * *\"";
inline constexpr const char* retry = "Try a run whose command failed this often again, all hosts together [each host tries once]";
inline constexpr const char* catch_up =
    "Which of the runs that were missed in an outage to make up for: none, last or all; with none, a run that would begin later"
    " than --begin-within after its time is missed, too [last]";
inline constexpr const char* begin_within = "With --catch-up none: how long after its time a run may begin; after that it is missed [1m]";
inline constexpr const char* reschedule = "Put this schedule in the place of the one that NAME has";

inline constexpr const char* run =
    "Examples:\n"
    "  leasehold run backup -- /usr/local/bin/backup --full      wait for the lease, then run\n"
    "  leasehold run backup --nowait -- /usr/local/bin/backup    75 if another host has it\n"
    "  leasehold run report --once-per 24h --at 03:00 -- ./report   once a day, from the crontabs of all hosts\n"
    "  leasehold run tidy --cron '*/15 8-18 * * MON-FRI' -- ./tidy\n"
    "  leasehold run deploy -w 10m --kill-after 20s --ttl 1m -- make deploy\n"
    "  leasehold run --permits 5 licences -- ./simulate          at most five at a time, on all hosts\n"
    "  leasehold run --all disk-a,disk-b -- ./rebalance          both, or wait until it gets both\n"
    "\n"
    "The command gets LEASEHOLD_NAME, LEASEHOLD_TOKEN and LEASEHOLD_OWNER in its environment, and LEASEHOLD_CHECKPOINT if an\n"
    "earlier one has saved any: see leasehold checkpoint. When the lease is lost, the command's whole process group gets\n"
    "SIGTERM, and SIGKILL before another host can get the lease. Under systemd, a unit of Type=notify is ready when the lease\n"
    "is held.\n"
    "Exit status: the command's; 75 busy, 76 lost, 69 the database failed, 64 usage, 126 and 127 as in a shell.";

inline constexpr const char* every =
    "Examples:\n"
    "  leasehold every report --once-per 24h --at 03:00 -- ./report   run this on every host; once a day one runs the report\n"
    "  leasehold every tidy --cron '*/15 * * * *' --retry 3 -- ./tidy\n"
    "\n"
    "The command gets LEASEHOLD_FIRE, the time of the schedule that it runs for. A run whose command fails is not completed:\n"
    "a host tries it again after a pause, until the next one is due. On SIGTERM leasehold ends the command and exits with 0.";

inline constexpr const char* last = "Examples:\n"
                                    "  leasehold last report\n"
                                    "  leasehold last report --json | jq -r .completed_at\n"
                                    "Exit status: 0, or 1 if no run was completed yet.";

inline constexpr const char* elect =
    "Examples:\n"
    "  leasehold elect scheduler -- /opt/scheduler --foreground  run this on every host; one runs the command\n"
    "  leasehold elect consumer --restart on-failure -- ./drain  until it ends with status 0\n"
    "  leasehold elect leader --ttl 10s --pause 5s -- ./serve    the next host takes over within 10s of a crash\n"
    "\n"
    "While the database can't be reached, leasehold keeps trying. On SIGTERM it ends the command, releases the lease and\n"
    "exits with 0.";

inline constexpr const char* show = "Examples:\n"
                                    "  leasehold show nightly-report\n"
                                    "  leasehold show nightly-report --json | jq -r .owner\n"
                                    "Exit status: 0 if the lease is held, 1 if it is free.";

inline constexpr const char* list = "Examples:\n"
                                    "  leasehold list\n"
                                    "  leasehold list shard- --json\n"
                                    "  leasehold list --fires         which job ran last, when, and where\n"
                                    "  leasehold list --checkpoints   what was saved for each name";

inline constexpr const char* of = "How many shards there are; the same number everywhere";
inline constexpr const char* capacity = "This host's weight: one of 2 gets twice the shards of one of 1 [1]";
inline constexpr const char* max_shards = "At most this many on this host [no limit]";
inline constexpr const char* data = "What ps shows of this host beside its shards, as in 10.0.0.7:8443";
inline constexpr const char* drain_timeout =
    "After this time a command that was asked to end, and runs still, is reported; its shard stays here [30s]";

inline constexpr const char* shard =
    "Examples:\n"
    "  leasehold shard orders --of 64 -- ./consume --partition {}     run this on every host; each runs its share\n"
    "  leasehold shard orders --of 64 --capacity 2 -- ./consume {}    a larger host\n"
    "  leasehold ps orders                                            who has which\n"
    "\n"
    "{} is the index of the shard, 0 to N-1, which the command also gets as LEASEHOLD_SHARD, beside LEASEHOLD_NAME and all that\n"
    "run sets. A command whose shard is to move gets SIGTERM, and the next host begins when it has ended. When a shard is lost,\n"
    "its command gets SIGTERM, and SIGKILL before another host can get the shard. On SIGTERM leasehold ends all commands, hands\n"
    "the shards over and exits with 0.";

inline constexpr const char* ps = "Examples:\n"
                                  "  leasehold ps orders\n"
                                  "  leasehold ps orders --watch\n"
                                  "  leasehold ps orders --json | jq '.shards[] | select(.draining)'\n"
                                  "A group is made by leasehold shard, or by a program's group_member or shard_group. Exit status: 0,\n"
                                  "or 1 if it has no members.";

inline constexpr const char* watch = "Examples:\n"
                                     "  leasehold watch                a live table; q or Ctrl-C ends it\n"
                                     "  leasehold watch shard- | tee   one line for each change\n"
                                     "  leasehold watch --json --interval 10s | logger";

inline constexpr const char* wait = "Examples:\n"
                                    "  leasehold wait migration --free && ./start\n"
                                    "  leasehold wait scheduler --held --timeout 30s || echo 'nobody schedules' >&2\n"
                                    "Exit status: 0, or 75 if the time runs out.";

inline constexpr const char* release = "Examples:\n"
                                       "  leasehold release nightly-report --force\n"
                                       "  leasehold release --force -- -odd      a name that begins with -\n"
                                       "Its token is not used again. Exit status: 0, or 1 if the lease was free.";

inline constexpr const char* ask =
    "Examples:\n"
    "  leasehold ask scheduler --reason 'web-2 has the new version'\n"
    "  leasehold ask scheduler; leasehold watch scheduler    shows who gets it\n"
    "A request takes nothing away: the holder learns of it with its next renewal, and decides. A command under leasehold run,\n"
    "every or elect learns of it by --handover-signal. Exit status: 0, or 1 if nobody holds the lease.";

inline constexpr const char* hold =
    "Examples:\n"
    "  leasehold hold nightly-report --for 2h --reason migration\n"
    "  leasehold hold import --for 8h --wait 10m && { ./upgrade; leasehold unhold import; }\n"
    "Until then nobody gets the lease. Its holder is asked to hand it over first, as by leasehold ask, and keeps it if it\n"
    "doesn't: then nothing is held closed. Exit status: 0, or 75 if the holder did not hand it over in time, or if the name is\n"
    "held closed already.";

inline constexpr const char* unhold = "Examples:\n"
                                      "  leasehold unhold nightly-report\n"
                                      "It ends no lease. Exit status: 0, or 1 if the name was not held closed.";

inline constexpr const char* drain =
    "Examples:\n"
    "  leasehold drain web-1 && ssh web-1 reboot\n"
    "  leasehold drain web-1 --timeout 0s             only ask, and show what it has\n"
    "  leasehold drain web-1 --json --timeout 5m | jq -r '.[].name'\n"
    "A host has what is held by an owner that begins with its name, as owners do unless --owner or a program says otherwise; and\n"
    "the shards of a member of a group whose id does. A holder that does not answer keeps its lease. Exit status: 0 if nothing is\n"
    "left, or 75.";

inline constexpr const char* save_checkpoint =
    "Save this instead, at most 4 KiB: under the lease of the leasehold that this runs under, or else under the lease itself,"
    " held for a moment";

inline constexpr const char* checkpoint =
    "Examples:\n"
    "  leasehold checkpoint import                    what was saved last\n"
    "  leasehold run import -- sh -c './import --from \"$LEASEHOLD_CHECKPOINT\"'\n"
    "  leasehold checkpoint import --save offset=4711  in a command under leasehold run, or by hand\n"
    "A checkpoint outlives the lease: who holds it next gets the checkpoint as LEASEHOLD_CHECKPOINT. In a command under leasehold\n"
    "run, every, elect or shard, --save writes only as long as that very lease is held, and exits with 76 once it is lost. Elsewhere\n"
    "it takes the lease for a moment, and exits with 75 if somebody holds it. Exit status: 0, or 1 if nothing was ever saved.";

inline constexpr const char* resize =
    "Examples:\n"
    "  leasehold resize licences 8\n"
    "Nobody loses a permit. As long as more than that are held, no other is granted.\n"
    "Programs and commands that run follow; those that start later must give the new number, or follow.";

inline constexpr const char* init = "Examples:\n"
                                    "  leasehold init\n"
                                    "  leasehold init --print | psql ops      if you may not create tables yourself";

inline constexpr const char* purge =
    "Examples:\n"
    "  leasehold purge --unused-for 90d\n"
    "  leasehold purge --unused-for 90d --yes      if nobody can answer, as in a crontab\n"
    "Names that have a checkpoint stay, unless --with-checkpoints says otherwise: that forgets the last runs of schedules, too:\n"
    "run then runs the last one again, and every begins with the next.\n"
    "Tokens are not used again: a removed name that is used again gets a greater one. All programs that use the table must\n"
    "use a version of leasehold that has purge. Exit status: 0, or 1 if the answer was no.";

inline constexpr const char* doctor =
    "Acquires and releases a lease of its own, named leasehold-doctor. Exit status: 0 if all is well, 1 if something\n"
    "should be improved, 69 if this database can't keep leases.";

}  // namespace tool::help

#endif
