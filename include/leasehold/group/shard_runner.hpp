// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_GROUP_SHARD_RUNNER_HPP
#define LEASEHOLD_GROUP_SHARD_RUNNER_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/batch_attempt.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/guard_sets.hpp>
#include <leasehold/detail/lease_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/group/seen_records.hpp>
#include <leasehold/group/shard_count.hpp>
#include <leasehold/group/shard_machine.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/release_all.hpp>
#include <leasehold/renew_policy/renew_at_fraction.hpp>
#include <leasehold/renewal/broken_rule.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/shard_options.hpp>
#include <leasehold/shard_term.hpp>
#include <leasehold/store/concept.hpp>
#include <leasehold/time_point.hpp>
#include <leasehold/waiting/queue_ticket.hpp>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leasehold::inline v0::group {

// A shard that this member owns, and the work on it. The runner's mutex guards what can change.
template <class Shard>
struct shard_job {
    std::shared_ptr<Shard> shard;
    std::thread thread;  // if it is one of shard_group's own
    bool finished = false;
    bool failed = false;
    bool in_time = false;  // it finished before the term ended
    bool told_lost = false;
    std::string reason;
};

// What a member of a shard_group does, one step after another. It neither sleeps nor calls the work: who takes the steps does both, on a
// thread or without one.
//
// One thread at a time takes the steps of a session, of which there is one at a time; any thread may call the rest.
template <lease_store Store, lease_clock Clock>
class shard_runner {
public:
    using lease_type = typename group_member<Store, Clock>::lease_type;
    using shard_type = shard_term<lease_type>;
    using job_type = shard_job<shard_type>;

    shard_runner(Store& store, std::string_view name, std::integral auto count, shard_options options, Clock clock)
        : store_{store}, name_{name}, options_{checked(std::move(options), name)}, clock_{std::move(clock)}, count_{checked(count)},
          capacity_{options_.capacity}
    {
    }
    shard_runner(const shard_runner&) = delete;
    shard_runner& operator=(const shard_runner&) = delete;

    [[nodiscard]] Store& store() const noexcept { return store_; }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const shard_options& options() const noexcept { return options_; }
    [[nodiscard]] const Clock& clock() const noexcept { return clock_; }

    [[nodiscard]] std::vector<std::size_t> owned() const
    {
        const std::lock_guard lock{mutex_};
        std::vector<std::size_t> all;
        for (const auto& [index, job] : jobs_)
            if (!job->finished && job->shard->held()) all.push_back(index);
        return all;
    }

    [[nodiscard]] std::size_t count() const
    {
        const std::lock_guard lock{mutex_};
        return count_;
    }

    [[nodiscard]] shard_statistics statistics() const
    {
        const std::lock_guard lock{mutex_};
        shard_statistics now = statistics_;
        now.owned = jobs_.size();
        return now;
    }

    void pause(bool paused)
    {
        change([&] { paused_ = paused; });
    }

    void set_capacity(std::uint32_t capacity)
    {
        if (capacity == 0) detail::raise_invalid(errc::invalid_terms, no_capacity);
        change([&] { capacity_ = capacity; });
    }

    static constexpr bool is_possible(std::integral auto count) noexcept
    {
        return std::cmp_greater(+count, 0) && std::cmp_less_equal(+count, max_shards);  // + of a bool or a character is a number
    }

    static std::size_t checked(std::integral auto count)
    {
        if (!is_possible(count)) detail::raise_invalid(errc::invalid_terms, "a group has 1 to 4096 shards, not " + std::to_string(count));
        return static_cast<std::size_t>(count);
    }

    // Returns why it failed, if the name belongs to something else, or is held closed.
    std::string resize(std::size_t count, std::error_code& ec)
    {
        shard_count<Store> record{store_, name_, this->count(), options_.ttl};
        record.replace(count, clock_.now(), ec);
        if (ec == errc::invalid_terms || ec == errc::held_closed) return record.disagreement();
        if (!ec) change([&] { count_ = count; });
        return {};
    }

    // Throws why a session was refused.
    void raise_if(std::error_code ec)
    {
        if (!ec) return;
        if (!refusal_.empty()) detail::raise_invalid(ec == errc::invalid_owner ? errc::invalid_owner : errc::invalid_terms, refusal_);
        detail::raise_store_failure(store_, ec, "run", name_);
    }

    // Who takes the steps sleeps on its waker, as long as this exists.
    class sleep {
    public:
        template <class... Args>
        explicit sleep(shard_runner& runner, Args... how) : runner_{runner}
        {
            const std::lock_guard lock{runner_.mutex_};
            runner_.waker_.emplace(how...);
        }
        sleep(const sleep&) = delete;
        sleep& operator=(const sleep&) = delete;
        ~sleep()
        {
            const std::lock_guard lock{runner_.mutex_};
            runner_.waker_.reset();
        }

        [[nodiscard]] waker& on() const noexcept { return *runner_.waker_; }

    private:
        shard_runner& runner_;
    };

    // Any thread may call it: the one that sleeps takes a step.
    void wake()
    {
        change([] {});
    }

    // Holds all that belongs to one run. The constructor does I/O: it joins the group, or tries to.
    class session {
    public:
        explicit session(shard_runner& runner) : session{runner, std::error_code{}} {}

    private:
        friend shard_runner;

        session(shard_runner& runner, std::error_code ec)
            : member{runner.store_, runner.name_,
                     member_options{.ttl = runner.options_.ttl, .id = runner.options_.id, .data = {}}, ec, runner.clock_},
              count{runner.store_, runner.name_, runner.count(), runner.options_.ttl},
              machine{count.count(),
                      {.drain_timeout = runner.options_.drain_timeout,
                       .retry_min = runner.options_.retry_min,
                       .retry_max = runner.options_.retry_max,
                       .patience = 2 * runner.cycle()}},
              random{waiting::random_seed(member.owner(), runner.clock_.now()) | 1U}
        {
            runner.refusal_.clear();
        }

        // Returns a random duration between the two.
        duration between(duration least, duration most) noexcept
        {
            random ^= random << 13U;
            random ^= random >> 7U;
            random ^= random << 17U;
            return least + duration{static_cast<duration::rep>(random % static_cast<std::uint64_t>((most - least).count() + 1))};
        }

        group_member<Store, Clock> member;
        shard_count<Store> count;
        shard_machine machine;
        std::map<std::size_t, lease_type> leases;
        std::string published;
        bool begun = false;  // the count is agreed on
        bool replaced = false;  // it was no member for a while, and cannot be one: its name is another's, or held closed
        bool waits_for_others = false;  // the last look went no further than to join again
        time_point next{};   // when to look again
        bool asked_to_go = false;  // by an operator, also if that was in an earlier membership
        std::uint64_t random;
    };

    // What follows a step.
    struct step_result {
        bool over = false;         // the member has left, and owns nothing
        std::error_code refusal{};  // why it could not take part
        time_point next{};         // when to take the next step, unless woken before
    };

    // Does all that is to be done now. `start(job)` begins the work on a shard, and finished() tells of its end. Does I/O.
    template <class Start>
    step_result step(session& s, bool stopping, const Start& start)
    {
        if (!s.begun) {
            const std::error_code refused = stopping || clock_.now() < s.next ? std::error_code{} : begin(s);
            if (!stopping && !refused) return {.next = s.next};
            leave(s);
            return {.over = true, .refusal = refused};
        }
        collect(s);
        if (stopping && s.machine.owned() == 0) {
            leave(s);
            return {.over = true};
        }
        const bool resized = adopt(s);
        const bool draining = drain_all_if_asked(s, stopping);
        if (resized || draining || clock_.now() >= s.next) {
            const bool moving = look(s, stopping, start);
            const duration pause = s.between(3 * cycle() / 4, cycle());
            s.next = clock_.now() + (moving ? pause / 2 : pause);
        }
        return {.next = s.next};
    }

    // A step that only ends the work. True: there is none any more, and the member has left.
    bool wind_up(session& s)
    {
        drain_all_if_asked(s, true);
        collect(s);
        if (s.machine.owned() > 0) return false;
        leave(s);
        return true;
    }

    // The work on a shard has ended; `thrown` is the exception that ended it, if one has. Any thread may call it. After the last call this
    // object may be destroyed at once.
    void finished(job_type& job, std::exception_ptr thrown) noexcept
    {
        const bool failed = thrown != nullptr;
        std::string reason = words_of(std::exchange(thrown, nullptr));  // the exception ends before what it may refer to
        const bool in_time = job.shard->held();
        const std::lock_guard lock{mutex_};
        job.in_time = in_time;
        job.failed = failed;
        job.reason = std::move(reason);
        job.finished = true;
        wake_sleeper();
    }

    // Nobody will tell of the end of the work any more: it was destroyed. Returns what it worked on.
    [[nodiscard]] std::map<std::size_t, std::shared_ptr<job_type>> forget_work() noexcept
    {
        const std::lock_guard lock{mutex_};
        return std::exchange(jobs_, {});
    }

    [[nodiscard]] duration cycle() const noexcept { return std::max<duration>(options_.ttl / 3, std::chrono::milliseconds{1}); }

private:
    static constexpr const char* no_capacity =
        "a member's capacity must be at least 1: one that is to take nothing for a while is told so by pause()";

    // What an exception says; nothing without memory for it.
    static std::string words_of([[maybe_unused]] const std::exception_ptr& thrown) noexcept
    {
        std::string words;
#if defined(__cpp_exceptions)
        std::error_code without_memory;
        detail::catch_into(without_memory, [&] {
            try {
                if (thrown) std::rethrow_exception(thrown);
            }
            catch (const std::exception& e) {
                words = e.what();
            }
            catch (...) {
                words = "an exception that is no std::exception";
            }
        });
#endif
        return words;
    }

    static shard_options checked(shard_options options, std::string_view name)
    {
        validate_name(name);
        const lease_terms terms{.ttl = options.ttl, .safety_margin = options.safety_margin};
        if (const char* rule = renewal::broken_rule(terms, renew_at_fraction{})) detail::raise_invalid(errc::invalid_terms, rule);
        if (options.capacity == 0) detail::raise_invalid(errc::invalid_terms, no_capacity);
        if (options.drain_timeout < duration::zero()) detail::raise_invalid(errc::invalid_terms, "drain_timeout must not be negative");
        if (options.retry_min < std::chrono::milliseconds{1})
            detail::raise_invalid(errc::invalid_terms, "shard_options: retry_min must be at least 1 ms");
        if (options.retry_max < options.retry_min)
            detail::raise_invalid(errc::invalid_terms, "shard_options: retry_max must not be less than retry_min");
        if (options.retry_max > max_ttl)
            detail::raise_invalid(errc::invalid_terms, "shard_options: retry_max must be at most 10 years (3650 days)");
        validate_data(options.data);
        if (options.data.size() > max_data_bytes - most_words)
            detail::raise_invalid(errc::invalid_data, "the data of a member of a shard_group are longer than the 944 bytes "
                                                      "that are allowed");
        if (options.id.empty()) options.id = random_owner_id{}.id();
        if (members_of(name).size() + options.id.size() > max_name_bytes)
            detail::raise_invalid(errc::invalid_name, "the name of the group and the member's id leave no room for '/members/' between "
                                                      "them: together they may have 181 bytes");
        validate_name(members_of(name) + options.id);
        return options;
    }

    template <class Change>
    void change(Change what)
    {
        const std::lock_guard lock{mutex_};
        what();
        wake_sleeper();
    }

    // Under the mutex.
    void wake_sleeper() noexcept
    {
        if (waker_) waker_->wake();
    }

    // Agrees on the count. An error: this member may not take part.
    std::error_code begin(session& s)
    {
        std::error_code ec;
        s.member.keep(ec);
        if (ec == errc::invalid_owner) {
            refusal_ = s.member.lives_already();
            return ec;
        }
        adopt(s);
        std::optional<std::size_t> other;
        if (!ec) other = s.count.agree(clock_.now(), true, ec);
        if (other == this->count()) return {};  // resize() was quicker: the next step agrees
        if (other || ec == errc::invalid_terms) {
            refusal_ = s.count.disagreement();
            return make_error_code(errc::invalid_terms);
        }
        if (ec) {
            tell_failure("begin", ec);
            s.next = clock_.now() + s.between(cycle() / 4, cycle() / 2);
            return {};
        }
        s.begun = true;
        // All that start together see each other before they take anything.
        publish(s, false);
        s.next = clock_.now() + s.between(cycle() / 10, 3 * cycle() / 10);
        return {};
    }

    // A failure is not reported.
    void leave(session& s)
    {
        const bool was_seen = s.begun && s.member.held();
        std::error_code ec;
        s.member.leave(ec);
        if (!ec && was_seen) detail::catch_into(ec, [&] { s.count.remove_if_unused(this->count(), s.member.owner(), ec); });
    }

    // Ends the terms of those whose work has ended, in one call, and tells the machine of those that are lost.
    void collect(session& s)
    {
        std::vector<std::shared_ptr<job_type>> ended;
        std::vector<std::shared_ptr<job_type>> lost;
        {
            const std::lock_guard lock{mutex_};
            for (const auto& [index, job] : jobs_) {
                if (!job->told_lost && !job->in_time && !job->shard->held()) lost.push_back(job);
                if (job->finished) ended.push_back(job);
            }
        }
        for (const auto& job : lost) lose(s, *job);
        if (ended.empty()) return;
        std::vector<typename lease_type::guard_type> guards;
        guards.reserve(ended.size());
        for (const auto& job : ended) s.machine.make_room_for_end(job->shard->index());
        for (const auto& job : ended) {
            if (job->thread.joinable()) job->thread.join();
            s.machine.ended(job->shard->index(), job->failed, clock_.now());
            guards.push_back(detail::shard_access::take_guard(*job->shard));
        }
        std::error_code ec;
        release_all(guards, ec);
        if (ec) tell_failure("give back", ec);
        for (const auto& job : ended) {
            const std::size_t index = job->shard->index();
            s.machine.over(index);
            {
                const std::lock_guard lock{mutex_};
                jobs_.erase(index);
            }
            if (job->failed) {
                count_up(&shard_statistics::failed);
                tell({.kind = shard_event_kind::failed, .shard = index, .token = job->shard->token(), .what = job->reason});
            }
            if (job->told_lost) continue;
            count_up(&shard_statistics::given_back);
            tell({.kind = shard_event_kind::given_back, .shard = index, .token = job->shard->token()});
        }
    }

    void lose(session& s, job_type& job)
    {
        if (std::exchange(job.told_lost, true)) return;
        s.machine.give_up(job.shard->index(), clock_.now());
        count_up(&shard_statistics::lost);
        tell({.kind = shard_event_kind::lost, .shard = job.shard->index(), .token = job.shard->token()});
    }

    // Follows what resize() has changed. True: it was something.
    bool adopt(session& s)
    {
        const std::size_t count = this->count();
        if (count == s.machine.count()) return false;
        s.count.follow(count);
        s.machine.resize(count);
        tell({.kind = shard_event_kind::resized, .shard = count});
        return true;
    }

    // True: there was something to drain. Needs no store: the work ends also when the store fails.
    bool drain_all_if_asked(session& s, bool stopping)
    {
        if (!stopping && !paused()) return false;
        bool any = false;
        for (const std::size_t shard : s.machine.mine()) {
            if (s.machine.state_of(shard) != shard_machine::state::working) continue;
            s.machine.give_up(shard, clock_.now());
            drain(shard);
            any = true;
        }
        return any;
    }

    void drain(std::size_t index)
    {
        const std::shared_ptr<job_type> found = job_of(index);
        if (!found) return;
        detail::shard_access::drain(*found->shard);
        tell({.kind = shard_event_kind::draining, .shard = index, .token = found->shard->token()});
    }

    // True: something is on its way, so look again soon.
    template <class Start>
    bool look(session& s, bool stopping, const Start& start)
    {
        std::error_code ec;
        agree(s, false);
        const fencing_token membership = s.member.guard().token();
        publish(s, stopping);
        // After an outage many join again within a cycle. The first of them sees the others before it takes anything.
        const bool comes_back = s.member.held() && s.member.guard().token() != membership && owned().empty();
        s.waits_for_others = comes_back && !s.waits_for_others;
        if (s.waits_for_others) return false;
        const std::vector<lease_record> records = list(ec);
        if (ec) {
            tell_failure("look", ec);
            return false;
        }
        member_words mine = words(s, stopping);
        mine.count = s.machine.count();
        mine.paused = mine.paused || s.replaced;
        const seen_records seen{records, name_, {s.member.id(), s.member.owner(), mine}};
        s.asked_to_go = s.asked_to_go || seen.asked_to_go();
        if (seen.count_differs()) agree(s, true);
        const shard_actions todo = s.machine.looked(seen.look(), clock_.now());
        bool share_changed = false;
        {
            const std::lock_guard lock{mutex_};
            share_changed = std::exchange(statistics_.share, todo.share) != todo.share;
            statistics_.members = seen.look().members.size();
        }
        if (share_changed) tell({.kind = shard_event_kind::share_changed});
        for (const std::size_t shard : todo.drain) drain(shard);
        for (const std::size_t shard : todo.lost)
            if (const std::shared_ptr<job_type> mine_still = job_of(shard)) lose(s, *mine_still);
        if (take(s, todo.take, start)) renew_together(s);
        ask(todo.ask);
        for (const std::size_t shard : todo.late) {
            count_up(&shard_statistics::late);
            const std::shared_ptr<job_type> mine_now = job_of(shard);
            tell({.kind = shard_event_kind::late, .shard = shard, .token = mine_now ? mine_now->shard->token() : fencing_token{}});
        }
        return todo.moving;
    }

    std::vector<lease_record> list(std::error_code& ec)
    {
        std::vector<lease_record> records;
        detail::catch_into(ec, [&] { records = store_.list(prefix_of(name_), ec); });
        return records;
    }

    // Writes the record of the count if it has to be written, or in any case, and follows it if it says another count.
    void agree(session& s, bool in_any_case)
    {
        std::error_code ec;
        std::optional<std::size_t> other;
        detail::catch_into(ec, [&] { other = s.count.agree(clock_.now(), in_any_case, ec); });
        if (ec) tell_failure("agree on the count", ec);
        if (!other || *other > max_shards || *other == 0) return;
        change([&] { count_ = *other; });
        adopt(s);
    }

    // What the others are to know of this member.
    [[nodiscard]] member_words words(const session& s, bool stopping) const
    {
        const std::lock_guard lock{mutex_};
        return {capacity_, options_.max_shards, count_, paused_ || stopping || s.asked_to_go, options_.data};
    }

    // Joins again if the membership was lost, and tells the others what has changed; without need it does no I/O.
    void publish(session& s, bool stopping)
    {
        const std::string text = words_text(words(s, stopping));
        const fencing_token membership = s.member.guard().token();
        std::error_code ec;
        if (text != s.published)
            s.member.publish(text, ec);
        else
            s.member.keep(ec);
        if (!ec || ec == errc::invalid_owner) s.replaced = static_cast<bool>(ec);  // after another error it is what it was
        if (s.member.guard().token() != membership) s.published.clear();
        if (ec)
            tell_failure("join", ec);
        else if (std::exchange(s.published, text).empty())
            agree(s, true);  // before it had words, the last of the others may have left and removed the record
    }

    // True: the store has granted some.
    template <class Start>
    bool take(session& s, const std::vector<std::size_t>& shards, const Start& start)
    {
        const std::size_t together = std::max<std::size_t>(detail::attempts_together(store_), 1);
        bool some_granted = false;
        for (std::size_t i = 0; i < shards.size(); i += together) {
            const std::span<const std::size_t> some = std::span{shards}.subspan(i, std::min(together, shards.size() - i));
            std::vector<std::pair<std::size_t, typename lease_type::guard_type>> granted;
            std::error_code ec;
            granted.reserve(some.size());
            acquire(s, some, granted, ec);
            if (ec) tell_failure("take", ec);
            some_granted = some_granted || !granted.empty();
            for (auto& [index, guard] : granted) begin_work(s, index, std::move(guard), start);
            if (ec) break;
        }
        return some_granted;
    }

    // Renews all terms of this member, so that they are due together from now on. Terms that were taken at different times would always be
    // renewed at different times, with a statement for each. What fails here is left to the next renewals, as is the time for them.
    void renew_together(session& s) noexcept
    {
        if constexpr (batching_store<Store>) {
            std::error_code no_memory;
            detail::catch_into(no_memory, [&] {
                std::vector<typename lease_type::guard_type::body_type> terms;
                if (s.member.held()) terms.push_back(detail::lease_access::body(s.member.guard()));
                {
                    const std::lock_guard lock{mutex_};
                    for (const auto& [index, job] : jobs_)
                        if (!job->finished && job->shard->held()) terms.push_back(detail::lease_access::body(job->shard->guard()));
                }
                duration left = duration::max();
                for (const auto& term : terms) left = std::min(left, term.remaining());
                detail::set_failure failure;
                detail::renew_set(terms, {.within = renewal::time_in_batch(left), .all = false}, failure);
            });
        }
    }

    void acquire(session& s, std::span<const std::size_t> some,
                 std::vector<std::pair<std::size_t, typename lease_type::guard_type>>& granted, std::error_code& ec)
    {
        if constexpr (batch_acquiring_store<Store>) {
            if (some.size() > 1) {
                detail::batch_attempt<lease_type> attempt{some.size()};
                std::vector<std::size_t> added;
                added.reserve(some.size());
                for (const std::size_t shard : some) {
                    if (attempt.add(lease_of(s, shard), {}, ec)) added.push_back(shard);
                    if (ec) return;
                }
                attempt.send(added.size(), std::nullopt, ec, [&](std::size_t i, auto result) noexcept {
                    if (!result.guard.empty()) granted.emplace_back(added[i], std::move(result.guard));
                });
                return;
            }
        }
        for (const std::size_t shard : some) {
            auto guard = lease_of(s, shard).try_acquire(ec);
            if (ec) return;
            if (!guard.empty()) granted.emplace_back(shard, std::move(guard));
        }
    }

    lease_type& lease_of(session& s, std::size_t shard)
    {
        const auto found = s.leases.find(shard);
        if (found != s.leases.end()) return found->second;
        return s.leases
            .emplace(shard, lease_type{store_, shard_name(name_, shard),
                                       lease_terms{.ttl = options_.ttl, .safety_margin = options_.safety_margin}, clock_,
                                       fixed_owner_id{s.member.owner()}})
            .first->second;
    }

    template <class Start>
    void begin_work(session& s, std::size_t index, typename lease_type::guard_type guard, const Start& start)
    {
        auto begun = std::make_shared<job_type>();
        begun->shard = detail::shard_access::make(index, s.machine.count(), std::move(guard));
        std::map<std::size_t, std::shared_ptr<job_type>> one{{index, begun}};  // here, so that both know of it, or neither
        s.machine.taken(index, begun->shard->token().value());
        {
            const std::lock_guard lock{mutex_};
            jobs_.merge(one);
            ++statistics_.taken;
        }
        tell({.kind = shard_event_kind::taken, .shard = index, .token = begun->shard->token()});
        std::error_code ec;
        detail::catch_into(ec, [&] { start(begun); });
        if (!ec) return;
        const std::lock_guard lock{mutex_};
        begun->finished = begun->failed = begun->in_time = true;
        begun->reason = "the work could not be started: " + ec.message();
        wake_sleeper();
    }

    void ask(const std::vector<shard_ask>& requests)
    {
        for (const shard_ask& request : requests) {
            std::error_code ec;
            detail::catch_into(ec, [&] {
                store_.request_handover(shard_name(name_, request.shard), request_text({options_.id, request.after}), ec);
            });
            if (!ec) continue;
            tell_failure("ask for a shard", ec);
            return;
        }
    }

    [[nodiscard]] bool paused() const
    {
        const std::lock_guard lock{mutex_};
        return paused_;
    }

    [[nodiscard]] std::shared_ptr<job_type> job_of(std::size_t index) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = jobs_.find(index);
        return found == jobs_.end() ? nullptr : found->second;
    }

    void count_up(std::uint64_t shard_statistics::*counter)
    {
        const std::lock_guard lock{mutex_};
        ++(statistics_.*counter);
    }

    void tell_failure(std::string_view doing, std::error_code ec)
    {
        count_up(&shard_statistics::store_failures);
        tell({.kind = shard_event_kind::store_failed, .error = ec, .what = doing});
    }

    void tell(shard_event event) noexcept
    {
        if (!options_.on_event) return;
        event.group = name_;
        const shard_statistics now = statistics();
        event.owned = now.owned;
        event.share = now.share;
        std::error_code ignored;
        detail::catch_into(ignored, [&] { options_.on_event(event); });
    }

    Store& store_;
    const std::string name_;
    const shard_options options_;
    const Clock clock_;
    std::string refusal_;  // belongs to the session

    mutable std::mutex mutex_;  // guards what follows; neither a hook nor I/O runs under it
    std::size_t count_;
    std::uint32_t capacity_;
    bool paused_ = false;
    std::map<std::size_t, std::shared_ptr<job_type>> jobs_;
    shard_statistics statistics_;
    std::optional<waker> waker_;  // see sleep
};

}  // namespace leasehold::inline v0::group

#endif
