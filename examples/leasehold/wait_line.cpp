// SPDX-License-Identifier: BSL-1.0
#include "wait_line.hpp"

#include "duration_text.hpp"
#include "message.hpp"
#include "records.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <utility>

namespace tool {

namespace {

using leasehold::duration;
using namespace std::chrono_literals;

constexpr duration before_first_word = 300ms;  // who hardly waits reads nothing
constexpr duration between_frames = 500ms;
constexpr duration between_looks = 2s;

std::string seconds(duration time)
{
    return to_text(std::chrono::ceil<std::chrono::seconds>(std::max(time, duration::zero())));
}

std::string subject(const awaited& what) { return (what.held ? "for somebody to hold '" : "for '") + what.name + "'"; }

std::string obstacle(const awaited& what, const std::optional<leasehold::lease_record>& record, duration left)
{
    if (what.held || !record) return {};
    if (record->owner.empty()) return ": kept closed for " + seconds(left) + " more";
    if (record->is_hold()) return ": held closed for " + seconds(left) + " more";
    return ": held by " + short_owner(record->owner) + " for " + seconds(left) + " more";
}

}  // namespace

// Short, for it has to fit in a line.
std::string describe_wait(const awaited& what, const std::optional<leasehold::lease_record>& record, duration left,
                          duration waited)
{
    const std::string time = to_text(std::chrono::floor<std::chrono::seconds>(waited));
    return "waiting " + time + (what.at_most ? " of " + to_text(*what.at_most) : "") + " " + subject(what) +
           obstacle(what, record, left);
}

wait_line::~wait_line() { clear_status(); }

bool wait_line::wanted() noexcept { return shows_status() || explains(); }

duration wait_line::left() const { return record_ ? record_->remaining - (clock_.now() - seen_at_) : duration::zero(); }

void wait_line::seen(std::optional<leasehold::lease_record> record)
{
    record_ = std::move(record);
    seen_at_ = clock_.now();
    const leasehold::fencing_token token = record_ ? record_->token : leasehold::fencing_token{};
    if (!looked_ || token != told_) explain("waiting " + subject(what_) + obstacle(what_, record_, left()));
    looked_ = true;
    told_ = token;
}

void wait_line::draw() const
{
    const duration waited = clock_.now() - begun_;
    if (waited >= before_first_word) show_status(describe_wait(what_, record_, left(), waited));
}

bool wait_line::is_old() const
{
    const duration age = clock_.now() - seen_at_;
    return !looked_ || age >= between_looks || (record_ && age >= record_->remaining);
}

wait_notice::wait_notice(awaited what, std::function<answer()> look)
{
    if (!wait_line::wanted()) return;
    thread_ = std::jthread{[what = std::move(what), look = std::move(look)](const std::stop_token& stop) {
        wait_line line{what};
        std::mutex mutex;
        std::condition_variable_any nobody;  // the stop token wakes it
        const auto pause = [&](duration time) {
            std::unique_lock lock{mutex};
            nobody.wait_for(lock, stop, time, [] { return false; });
        };
        for (pause(before_first_word); !stop.stop_requested(); pause(between_frames)) {
            if (line.is_old())
                if (auto found = look()) line.seen(*std::move(found));
            if (!stop.stop_requested()) line.draw();
        }
    }};
}

}  // namespace tool
