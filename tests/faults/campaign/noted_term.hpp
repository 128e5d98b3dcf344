// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_NOTED_TERM_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_NOTED_TERM_HPP

#include "records.hpp"

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>
#include <thread>

namespace campaign {

/// Which term a holder writes down, and how.
struct noted_term {
    const record_file& records;
    std::string process;
    std::int64_t token = 0;
    std::int64_t lease = 0;
    const char* weight = "-";   ///< see event::won
    bool may_be_asked = false;  ///< its stop token tells of more than a loss
    std::chrono::microseconds between_looks{500};
};

/// Writes down what `term` says of itself, until it is over, or `goes_on()` is false, or `stop` is asked to stop.
///
/// Instants at which held() is true for certain: read before the last true answer, and after the first. What it promises is read before
/// too, so never later than what it will stick to.
template <class Term, class GoesOn>
void note_while_held(const noted_term& as, const Term& term, const std::stop_token& stop, GoesOn goes_on)
{
    const auto note = [&as](event what, instant at, instant until, const char* detail = "-") {
        as.records.write({what, as.process, as.token, at, until, detail, as.lease});
    };
    const std::stop_callback on_loss{term.stop_token(), [&] {
                                         // A leader's token is stopped by our own end as well.
                                         if (!stop.stop_requested() && !(as.may_be_asked && term.held()))
                                             note(event::signalled, now(), 0);
                                     }};
    instant written = 0;
    while (!stop.stop_requested()) {
        const instant before = now();
        const std::int64_t remaining = term.remaining().count();
        if (!term.held()) break;
        if (written == 0) note(event::won, now(), before + remaining, as.weight);
        if (written == 0 || before - written > 15 * millisecond) {
            note(event::held, before, before + remaining);
            written = before;
        }
        if (!goes_on()) break;
        std::this_thread::sleep_for(as.between_looks);
    }
    if (!term.held() && !stop.stop_requested()) note(event::over, now(), 0);
    note(event::releasing, now(), 0);
}

}  // namespace campaign

#endif
