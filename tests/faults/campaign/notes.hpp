// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_NOTES_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_NOTES_HPP

// What the kinds of faults note for the checker: for whom there was no database, or none that could be written.

#include "faults.hpp"

#include <cstddef>
#include <string>

namespace campaign {

inline void note_outage(const scene& on, const std::string& process, instant from, instant until)
{
    on.notes.write({event::outage, process, 0, from, until});
}

inline void note_refusal(const scene& on, const std::string& process, instant from, instant until, const std::string& why)
{
    on.notes.write({event::refusal, process, 0, from, until, why});
}

// Every incarnation that there was of it in that time: the records name processes, an outage hits all that are behind the gate.
inline std::string any_of(std::size_t contender) { return "c" + std::to_string(contender) + ".*"; }

template <class Note>
inline void for_clients_of_server(const scene& on, std::size_t server, Note note)
{
    for (std::size_t i = 0; i < contenders::count; ++i)
        if (on.processes.server_of(i) == server) note(any_of(i));
    for (std::size_t i = 0; on.beside && i < crowd::count; ++i)
        if (on.beside->server_of(i) == server) note("m" + std::to_string(i) + ".*");
}

inline void note_outage_of_server(const scene& on, std::size_t server, instant from, instant until)
{
    for_clients_of_server(on, server, [&](const std::string& client) { note_outage(on, client, from, until); });
}

inline void note_refusal_of_server(const scene& on, std::size_t server, instant from, instant until, const std::string& why)
{
    for_clients_of_server(on, server, [&](const std::string& client) { note_refusal(on, client, from, until, why); });
}

}  // namespace campaign

#endif
