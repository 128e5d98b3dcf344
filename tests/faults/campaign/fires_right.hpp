// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_CAMPAIGN_FIRES_RIGHT_HPP
#define LEASEHOLD_TESTS_CAMPAIGN_FIRES_RIGHT_HPP

#include "contention.hpp"
#include "noted_term.hpp"
#include "noting_store.hpp"
#include "records.hpp"
#include "rights.hpp"

#include <leasehold/recurring.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/schedule/every.hpp>

#include <chrono>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace campaign {

/// One of those that run a job once per fire, and writes down what becomes of each fire that it begins.
class host_of_fires {
public:
    host_of_fires(store_type& store, std::string process, std::string name, const record_file& records, std::uint32_t seed)
        : store_{store}, process_{std::move(process)}, name_{std::move(name)}, records_{records}, random_{seed}
    {
    }

    void take_part(const std::stop_token& stop)
    {
        const auto told = [this](const char* what) {
            return [this, what](leasehold::fire_time fire) { note(event::fire_told, 0, fire, what); };
        };
        leasehold::recurring job{store_, name_, leasehold::every{.period = between_fires},
                                 leasehold::recurring_options{.ttl = terms.ttl,
                                                              .catch_up = leasehold::catch_up::all,
                                                              .max_attempts = attempts_at_a_fire,
                                                              .retry_min = std::chrono::milliseconds{10},
                                                              .retry_max = std::chrono::milliseconds{200},
                                                              .on_missed = told("missed"),
                                                              .on_given_up = told("given_up")},
                                 owner_for(name_)};
        job.run(stop, [&](auto& run) { work_on(run, stop); });
    }

private:
    template <class Run>
    void work_on(Run& run, const std::stop_token& stop)
    {
        const std::int64_t token = run.token().value();
        note(event::fire_begun, token, run.fire(), std::to_string(run.attempt()));
        const instant end = now() + drawn_length();
        note_while_held({.records = records_, .process = process_, .token = token}, run, stop, [&] { return now() < end; });
        const int kind = draw(0, 19);
        if (kind < 4) throw std::runtime_error{"the job fails"};
        std::error_code ec;
        if (kind == 4)
            run.release(ec);  // and is begun again at once
        else if (kind == 5)
            note(event::fire_completing, token, run.fire());  // by run(), which does not tell
        else
            complete(run, token, stop);
    }

    // What has failed, run() tries once more.
    template <class Run>
    void complete(Run& run, std::int64_t token, const std::stop_token& stop)
    {
        for (std::error_code ec;; std::this_thread::sleep_for(std::chrono::milliseconds{20})) {
            note(event::fire_completing, token, run.fire());
            const bool completed = run.complete(ec);
            note(event::fire_completed, token, run.fire(), ec ? word_for(ec) : completed ? "yes" : "no");
            if (!ec || !run.held() || stop.stop_requested()) return;
        }
    }

    void note(event what, std::int64_t token, leasehold::fire_time fire, const std::string& detail = "-") const
    {
        records_.write({what, process_, token, now(), fire.time_since_epoch().count(), detail});
    }

    // Mostly short, so that they catch up; some outlast the ttl.
    instant drawn_length()
    {
        const int kind = draw(0, 19);
        return (kind < 16 ? draw(1, 60) : kind < 19 ? draw(100, 400) : draw(1000, 2500)) * millisecond;
    }
    int draw(int from, int to) { return std::uniform_int_distribution{from, to}(random_); }

    store_type& store_;
    const std::string process_;
    const std::string name_;
    const record_file& records_;
    std::minstd_rand random_;
};

}  // namespace campaign

#endif
