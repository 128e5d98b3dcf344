# SPDX-License-Identifier: BSL-1.0
"""The rooms of include/leasehold and their order, and what breaks it: includes that run up, and friends in another room."""
import pathlib
import re

# From the lowest row to the highest. A room includes itself and rooms of lower rows. A pattern is a folder with all that is in it, or a
# header; the longest one that fits counts.
ROWS = (
    {"values": "lease_change.hpp observer_options.hpp"
               " error.hpp limits.hpp duration.hpp time_point.hpp fencing_token.hpp checkpoint_record.hpp lease_event.hpp lease_record.hpp"
               " lease_terms.hpp"
               " shard_event.hpp"
               " plain_error.hpp release_outcome.hpp step_down_reason.hpp store_diagnostics.hpp version.hpp bounded_text.hpp"
               " detail/hold_text.hpp"
               " static_lease_record.hpp static_text_limits.hpp detail/backoff.hpp detail/catch_into.hpp detail/config.hpp"
               " detail/handover_priority.hpp detail/host.hpp detail/never_destroyed.hpp detail/new_stop_source.hpp detail/printable.hpp"
               " detail/stable_hash.hpp detail/thread_locks.hpp detail/thread_without_signals.hpp detail/utf8.hpp"},
    {"clock": "clock/"},
    {"owner_id": "owner_id/", "renew_policy": "renew_policy/", "schedule": "schedule/"},
    {"store": "store/ waiting/local_queue.hpp waiting/waiter_list.hpp"
              " detail/hold_machine.hpp detail/hold_wait.hpp detail/store_failure.hpp"
              " waiting/deadline.hpp waiting/queue_ticket.hpp waiting/ticket_limit.hpp waiting/wait_machine.hpp"
              " waiting/wait_on_thread.hpp"},
    {"waiting": "waiting/", "dialect": "odbc/dialect/ odbc/expiry/"},
    {"renewal": "renewal/",
     "odbc protocol": "odbc/detail/ odbc/detail/flow/ odbc/odbc_options.hpp odbc/store_health.hpp"},
    {"surface": "detail/ fwd.hpp concepts.hpp", "odbc driver": "odbc/detail/driver/"},
    {"observing": "lease_observer.hpp detail/change_feed.hpp detail/lease_changes.hpp detail/observer_base.hpp",
     "lease": "basic_lease.hpp lease_guard.hpp sequencer.hpp detail/lease_attempts.hpp", "odbc session": "odbc/detail/session/"},
    {"rights": "lease_semaphore.hpp lease_set.hpp lease_set_guard.hpp shared_lease.hpp permit_guard.hpp exclusive_guard.hpp release_all.hpp"
               " detail/batch_attempt.hpp detail/count_machine.hpp detail/counted_store.hpp detail/exclusive_wait.hpp"
               " detail/guard_sets.hpp detail/permit_pool.hpp detail/permit_search.hpp detail/permit_wait.hpp detail/place_in_line.hpp"
               " detail/set_order.hpp"
               " permits_guard.hpp semaphore_options.hpp"
               " detail/agreed_count.hpp detail/permit_names.hpp detail/permit_attempts.hpp"
               " detail/shared_attempts.hpp",
     "recurring": "recurring.hpp recurring_options.hpp recurring_run.hpp fire_record.hpp detail/fire_book.hpp detail/fire_wait.hpp"
                  " detail/recurring_machine.hpp detail/run_access.hpp",
     "election": "leader_election.hpp leader_election_options.hpp leader_term.hpp detail/candidate.hpp detail/election_machine.hpp",
     "odbc queue": "odbc/detail/queue/"},
    {"group": "group/ group_member.hpp group_observer.hpp member_change.hpp member_record.hpp shard_group.hpp shard_options.hpp shard_term.hpp",
     "metrics": "metrics.hpp detail/fire_counting.hpp detail/series.hpp", "embedded": "basic_static_lease.hpp static_lease_guard.hpp",
     "odbc": "odbc/ odbc/detail/fence/ odbc/detail/store_operations.hpp"},
    {"asio": "asio/", "opentelemetry": "opentelemetry.hpp"},
    {"all": "leasehold.hpp format.hpp odbc.hpp asio.hpp embedded.hpp leasehold.cppm odbc/odbc.cppm"},
)

INCLUDE = re.compile(r"^[ \t]*#[ \t]*include[ \t]*<leasehold/([^>]+)>", re.M)
CLASS = re.compile(r"^[ \t]*(?:template <[^;{}]*>\s*(?:requires[^;{}]*)?)?(?:class|struct)\s+(?:\[\[.*?\]\]\s*)?(\w+)(?:\s+final)?"
                   r"(?:<[^;{}]*>)?\s*(?::[^:;{}][^;{}]*)?\{", re.M)
FRIEND = re.compile(r"\bfriend\s+(?:class\s+|struct\s+)?([\w:]+)\s*(?:<[^;()]*>)?\s*;")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


class NoRoom(Exception):
    pass


class Rooms:
    def __init__(self, include):
        self.top = pathlib.Path(include) / "leasehold"
        patterns = [(pattern, room, row) for row, rooms in enumerate(ROWS) for room, all in rooms.items() for pattern in all.split()]
        self.patterns = sorted(patterns, key=lambda each: -len(each[0]))
        paths = sorted(each for kind in ("*.hpp", "*.cppm") for each in self.top.rglob(kind))
        self.texts = {each.relative_to(self.top).as_posix(): COMMENT.sub("", each.read_text(encoding="utf-8")) for each in paths}
        for header in self.texts:
            self.of(header)

    def of(self, header):
        """(room, row)"""
        for pattern, room, row in self.patterns:
            if header == pattern or pattern.endswith("/") and header.startswith(pattern):
                return room, row
        raise NoRoom(f"{header} has no room in tests/lab/rooms.py")

    def arrows_up(self):
        """'header (room) -> header (room)', for each include that does not go down or stay in the room."""
        for header, text in self.texts.items():
            room, row = self.of(header)
            for other in INCLUDE.findall(text):
                to, to_row = self.of(other)
                if to != room and to_row >= row:
                    yield f"{header} ({room}) -> {other} ({to})"

    def friends_elsewhere(self):
        """'header: friend name (room)', for each class that is a friend and is defined in another room. A template's parameter, or an alias
        of what no header here defines, may be of any room."""
        homes = {}
        for header, text in self.texts.items():
            for name in CLASS.findall(text):
                homes.setdefault(name, set()).add(self.of(header)[0])
        for header, text in self.texts.items():
            room = self.of(header)[0]
            for named in FRIEND.findall(text):
                name = named.split("::")[-1]
                alias = re.search(rf"\busing {name} = (?:typename )?([\w:]+)", text)
                if alias and name not in homes:
                    name = alias[1].split("::")[-1]
                rooms = homes.get(name, {"any"})
                if room not in rooms:
                    yield f"{header} ({room}): friend {named} ({', '.join(sorted(rooms))})"
