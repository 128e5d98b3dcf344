# SPDX-License-Identifier: BSL-1.0
"""What the benchmarks aim at, and whether it was reached."""
import os

from figures import nanoseconds, number

ONE = ", one processor"
PAUSE = ", after a pause"
NETWORK = ["PostgreSQL", "MariaDB"]
STORES = NETWORK + ["SQLite"]
FLUSHING = {"PostgreSQL": "PostgreSQL, flushing", "MariaDB": "MariaDB, flushing", "SQLite": "SQLite, flushing"}
NOT_FLUSHING = {"PostgreSQL": "PostgreSQL, fsync=off", "MariaDB": "MariaDB, not flushing", "SQLite": "SQLite, synchronous=NORMAL"}


def ratio(a, b):
    return a / b if a is not None and b else None


def outcome(value, limit, at_least=False, unit="", digits=None):
    """(text, met) of a goal that is a limit."""
    if value is None or limit is None:
        return "–", True
    if value >= limit if at_least else value <= limit:
        return number(value, unit, digits) + ", met", True
    part = 1 - value / limit if at_least else (value / limit - 1 if limit else 1)
    by = "" if not limit else " by less than 1 %" if part < 0.01 else f" by {part * 100:.0f} %" if part < 1 else f", {1 + part:.1f} times as much"
    return f"{number(value, unit, digits)}, **missed**{by}", False


def row(goal, measured, limits, why="", pinned=None, **kind):
    """measured, pinned (the same on one processor): store to value; limits: one, or of each store."""
    cells = [outcome(measured(store), limits.get(store) if isinstance(limits, dict) else limits, **kind) for store in STORES]
    if pinned:
        cells = [(f"{text} ({number(pinned(store))})" if pinned(store) is not None and text != "–" else text, met)
                 for store, (text, met) in zip(STORES, cells)]
    return [goal] + [text for text, _ in cells] + ["" if all(met for _, met in cells) else why or "not investigated"]


def cost_rows(r):
    def of(subjects, measure, where=""):
        return lambda store: r.get("cost", subjects[store] + where, measure)

    def both(subjects, measure):
        return {"measured": of(subjects, measure), "pinned": of(subjects, measure, ONE)}

    def faster(subjects, where=""):
        return lambda store: ratio(of(subjects, "select for update, commit", where)(store), of(subjects, "grant + release", where)(store))

    limits = {"PostgreSQL": 1.10, "MariaDB": 1.15, "SQLite": 1.5}
    times = {"PostgreSQL": 2.5, "MariaDB": 1.25}
    for name, subjects in [("flushing", FLUSHING), ("not flushing", NOT_FLUSHING)]:
        by_hand = ", ".join(number(of(subjects, "the same statements by hand, ratio")(store)) for store in STORES)
        more = (f"Its statements by hand take {by_hand} UPDATEs: the token is in an index, and there is a session lock; on SQLite, the "
                "driver prepares each statement again. The rest is the bounded time.")
        yield row(f"grant + release, {name}: at most 1.10, 1.15, 1.50 of two bare UPDATEs", limits=limits, why=more,
                  **both(subjects, "grant + release, ratio"))
        yield row(f"… faster than the classic flow, {name}: at least 2.5, 1.25 times", faster(subjects), times,
                  "The round trips that it saves are cheap on one machine.", pinned=faster(subjects, ONE), at_least=True)
    yield row("the library, compared with its statements by hand: at most 3 µs more a call, not flushing", limits=3, unit=" µs",
              **both(NOT_FLUSHING, "library"))
    yield row("a call that returns in time, whatever the driver does: at most 10 µs more, not flushing", limits=10, unit=" µs",
              why="Another thread makes the call, which takes two switches of threads. With two "
                  "processors the scheduler decides what they cost.",
              **both(NOT_FLUSHING, "bounded time"))
    unbounded = ", ".join(number(of(NOT_FLUSHING, "the same attempt unbounded, ratio")(store)) for store in STORES)
    yield row("busy attempt: at most 1.30 of a bare SELECT", limits=1.3, **both(NOT_FLUSHING, "busy attempt, ratio"),
              why=f"Unbounded it takes {unbounded} of a SELECT, since it also compares times. The rest is the bounded time.")


def checkpoint_rows(r):
    for name, subjects in [("flushing", FLUSHING), ("not flushing", NOT_FLUSHING)]:
        def of(where, subjects=subjects):
            return lambda store: r.get("cost", subjects[store] + where, "checkpoint, ratio")

        yield row(f"a checkpoint, {name}: at most 1.10 of a bare UPDATE", limits=1.1, measured=of(""), pinned=of(ONE),
                  why="It compares the token and the time, too. On a server another thread makes the call, which takes two switches of "
                      "threads.")


def fire_rows(r):
    def of(measure):
        return lambda store: r.get("fire_costs", store, measure)

    for hosts in ["one host", "hosts that alternate", "a new process each time"]:
        yield row(f"a fire, {hosts}: at most 2 statements beyond a grant and a release", of(hosts), 2,
                  "What a server does by itself meanwhile is counted too.")
    yield row("a look while no fire is due: no statement", of("a look while no fire is due"), 0)
    yield row("an observer of 1,000 names: one statement a look", of("an observer of 1,000 names, a look"), 1,
              "What a server does by itself meanwhile is counted too.")


def waiting_rows(r):
    def ratio_with(waiters):
        return lambda store: r.get("hand_over", store, f"hand-over, asynchronous, ratio, {waiters}")

    def over_floor(waiters):
        return lambda store: r.get("hand_over", store, f"hand-over, times its floor, {waiters}")

    def of_rights(turn):
        return lambda store: r.get("hand_over", store, f"hand-over, {turn}, times a lease's")

    for waiters in ("1 waiter", "8 waiters"):
        yield row(f"hand-over: at most 1.3 times a bare session lock between two bare UPDATEs, {waiters}", over_floor(waiters),
                  {store: 1.3 for store in NETWORK})
    for turn in ("writer to reader", "reader to writer", "writer to writer"):
        yield row(f"hand-over of a shared lease for 64 readers, {turn}: at most 2 times a lease's", of_rights(turn),
                  {store: 2 for store in NETWORK}, "A writer has the gate and all 64 shares: rows that the grant and the release change.")
    yield row("hand-over to a waiter without a thread: at most 1.2 times that to one with a thread, 1 waiter", ratio_with("1 waiter"), 1.2)
    yield row("… 8 waiters", ratio_with("8 waiters"), 1.2)
    yield row("a wait without a thread that is cancelled has left the queue within 30 ms (p99)",
              lambda store: r.get("hand_over", store, "cancelled wait, asynchronous, p99"), 30, unit=" ms")


def many_rows(r):
    def of(measure):
        return lambda store: r.get("scale", store, measure)

    def in_table(measure):
        return lambda store: ratio(of(f"{measure} in a table of 1000000 names, us")(store), of(f"{measure} in a table of 100 names, us")(store))

    def processes(measure, count):
        return lambda store: r.get("hand_over", store, f"{measure}, {count} processes")

    def kept(store):
        return ratio(processes("grants a second", 64)(store), processes("grants a second", 1)(store))

    def server_time(store):
        return ratio(of("renewals one by one, server CPU ms a round")(store), of("renewals in batches, server CPU ms a round")(store))

    yield row("10,000 renewals in batches: at least 20 times faster than one by one", of("renewals, ratio"), 20,
              "A batch still changes each row.", at_least=True)
    yield row("… and 20 times less of the server's processor", server_time, {store: 20 for store in NETWORK}, "A batch still changes each row.",
              at_least=True)
    yield row("10,000 leases acquired at once: at least 20 times faster than one by one", of("acquiring, ratio"), 20,
              "Most of that time is the server's, which changes a row for each lease.", at_least=True)
    yield row("a permit of 16: at most 1.2 times a lease", of("permit, ratio to a lease"), 1.2)
    yield row("a shared right: at most 2.2 times a lease", of("shared right, ratio to a lease"), 2.2)
    yield row("10,000 held, ttl 30 s: at most 2 % of a core in the process", of("holding, batched, process, percent of a core"), 2,
              "On SQLite the process is also the database.", unit=" %")
    yield row("… with at most the pool's 4 sessions", of("holding, batched, sessions"), 4, digits=0)
    yield row("100,000 held: at most 1 KiB each", of("held, bytes each"), 1024, unit=" bytes")
    yield row("… lost because a renewal came too late: none", of("held, lost"), 0)
    yield row("… all released within 5 s", of("held, release of all, s"), 5, unit=" s")
    yield row("64 processes on one name: at least 0.50 of the grants a second of one", kept, 0.5, "SQLite has no queue: all processes poll.", at_least=True)
    yield row("… at most 4 statements a grant", lambda store: processes("statements a grant", 64)(store) if store in NETWORK else None, 4,
              "acquire() queues before it asks, so that it overtakes nobody: the lock, the grant, the release and giving the lock back; sometimes a look more.")
    yield row("grant in a table of 1,000,000 names: at most 1.30 of one of 100", of("grant + release in a table of 1000000 names, ratio to the smallest"),
              1.3, "See [where cost grows](#where-cost-grows).")
    yield row("list by prefix uses the index: at most 3 times the time in a table of 100", in_table("list by prefix"), 3)


def memory_rows(r):
    pair = r.get("cost", "memory" + ONE, "memory_store")
    one_store, apart = (r.get("cost", "memory", f"16 threads {what}, times one thread") for what in ("on 16 names", "with a store each"))
    counted_by_one, counted_apart = (r.get("cost", "memory", f"metrics: 16 threads {what}, times one thread") for what in ("on 16 names", "with one each"))
    call, term = (nanoseconds(r.get("cost", "memory" + ONE, f"metrics: {what}")) for what in ("a call", "a term's beginning and end"))
    event = max(call, term / 2) if call and term else None
    processors = os.cpu_count()
    rows = [("`memory_store`: grant + release at most 100 ns", outcome(nanoseconds(pair), 100, unit=" ns"),
             "Two reads of the clock are two fifths of it; the rest are two mutexes, a hash, two look-ups."),
            (f"`memory_store`: 16 threads on 16 names, times one thread: at least 0.8 of the processors ({processors})",
             outcome(one_store, 0.8 * processors, at_least=True), f"With a store each it is {number(apart)}."),
            ("`metrics`: an event at most 50 ns", outcome(event, 50, unit=" ns"), "A hash and a look-up of the name, and some additions that are atomic."),
            (f"`metrics`: 16 threads on 16 names, times one thread: at least 0.8 of the processors ({processors})",
             outcome(counted_by_one, 0.8 * processors, at_least=True), f"With a `metrics` each it is {number(counted_apart)}.")]
    return [[goal, text, "" if met else why] for goal, (text, met), why in rows]


def shard_rows(r):
    for shards, members in [(64, 4), (1024, 16)]:
        yield row(f"{shards:,} shards of {members} members, of which none moves: at most 3 statements a cycle and member",
                  lambda store: r.get("shard_costs", store, f"statements a cycle, {shards} shards"), 3)


def simulated_rows(r):
    rows = []
    for scene, measure, what, limit, why in [
            ("a fourth member joins: shares are fair", "cycles, worst", "cycles", 2, ""),
            ("a fourth member joins: shares are fair", "moves, most", "moves", 16, ""),
            ("one of four is killed: all are owned, after the ttl", "cycles, worst", "cycles", 2, ""),
            ("16 members start at once on 1,024: shares are fair", "cycles, worst", "cycles", 3, ""),
            ("rolling restart of four, each after its successor has joined", "moves, most", "moves", 110, ""),
            ("rolling restart of four, each back within half a second", "moves, most", "moves", 110, ""),
            ("rolling restart of four, each long before its successor joins", "moves, most", "moves", 110,
             "The 16 shards of one that stops go to the others at once, and its successor needs 16: fewer can't do.")]:
        text, met = outcome(r.get("shard_costs", scene, measure), limit, digits=0 if what == "moves" else 1)
        rows.append([f"64 shards: {scene}: at most {limit} {what}", text, "" if met else why])
    return rows


def goals_table(r, table):
    return "\n\n".join([table(["goal", *STORES, "why it is missed"], [*cost_rows(r), *checkpoint_rows(r), *waiting_rows(r), *many_rows(r), *fire_rows(r), *shard_rows(r)]),
                        table(["goal", "measured", "why it is missed"], memory_rows(r) + simulated_rows(r))])
