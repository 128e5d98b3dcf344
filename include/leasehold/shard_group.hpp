// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARD_GROUP_HPP
#define LEASEHOLD_SHARD_GROUP_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/basic_lease.hpp>
#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/batch_attempt.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/printable.hpp>
#include <leasehold/detail/stable_hash.hpp>
#include <leasehold/detail/thread_without_signals.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/group/shard_count.hpp>
#include <leasehold/group/shard_machine.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/lease_terms.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/owner_id/fixed_owner_id.hpp>
#include <leasehold/owner_id/random_owner_id.hpp>
#include <leasehold/release_all.hpp>
#include <leasehold/shard_event.hpp>
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
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

/// The most shards that a shard_group has.
inline constexpr std::size_t max_shards = 4096;

/// How a member takes part in a shard_group.
struct shard_options {
    /// How long the group keeps a member, and its shards, if it no longer hears of it. All members look three times in that time.
    duration ttl = std::chrono::seconds{10};
    /// After this time a shard that was to be given up, and is not, is reported. It stays where it is.
    duration drain_timeout = std::chrono::seconds{30};
    /// The member's weight: one of capacity 2 gets twice the shards of one of capacity 1. At least 1.
    std::uint32_t capacity = 1;
    /// How many shards the member takes; 0: no limit. Shards for which all members lack room stay free.
    std::size_t max_shards = 0;
    /// Its name in the group; two members that live never have the same. Empty: a text that nobody else has.
    std::string id{};
    /// What the others are to know of it, as in "10.0.0.7:8443": at most 944 bytes of UTF-8 without a NUL.
    std::string data{};
    /// How long a shard is not taken again by this member after its function has thrown. The pause doubles each time, up to retry_max. A
    /// function that has returned by itself, without having been asked to, is called again after retry_min.
    duration retry_min = std::chrono::seconds{1};
    /// The longest pause; see retry_min.
    duration retry_max = std::chrono::minutes{1};
    /// Called with each event, on the thread of run(). What it throws is ignored. Keep it short: the member does nothing meanwhile.
    std::function<void(const shard_event&)> on_event{};
};

/// One shard that somebody owns, as a look at the store shows it.
struct shard_view {
    std::size_t index = 0;  ///< which shard
    std::string owner;      ///< the id of the member that owns it; the owner of its lease if no member has that
    fencing_token token;    ///< the token of its term
    bool draining = false;  ///< whether its owner was asked to give it up
    duration remaining{};   ///< time until it would be free if its owner were not heard of any more

    friend bool operator==(const shard_view&, const shard_view&) = default;
};

/// Work divided among the members of a group: each shard is owned by one member at most, and all members have equally many.
///
///     lh::shard_group shards{store, "orders", 64, lh::shard_options{.ttl = 10s}};
///     shards.run(stop, [](auto& shard) {
///         while (shard.held() && !shard.draining()) work(shard.index(), shard.token());
///     });
///
/// A shard is a lease of its own, "orders/17": what is promised of a lease is promised of each shard, whatever the members believe of each
/// other. There is no leader: each member lists the group's names every third of the ttl, and acts alone. Who owns a shard keeps it. A
/// member that has too few takes free ones, and asks for one only of a member that has at least two more than itself, so that each move
/// makes the shares more even. The owner that is asked sees draining(), ends its work and returns; only then the next owner begins. One
/// that does not return keeps the shard; one that has died loses it with its ttl.
///
/// All members must agree on the count: it is kept in the store, as the owner "64 shards" of the bare name. Who begins with another count
/// is refused; see resize(). What a shard means under another count is the program's own: a key that moves from one shard to another may
/// have two owners for the time of the change.
///
/// Neither copyable nor movable. Thread safety: one thread at a time may call run(); any thread may call the rest. Lifetime: the store must
/// outlive it. Not for use across fork().
template <lease_store Store, lease_clock Clock = steady_clock>
class shard_group {
public:
    using store_type = Store;  ///< where the group lives
    using clock_type = Clock;  ///< measures deadlines
    using lease_type = typename group_member<Store, Clock>::lease_type;  ///< the type of a shard's lease
    using shard_type = shard_term<lease_type>;  ///< what the function that works on a shard gets

    /// Does no I/O: run() joins the group. Throws std::system_error, which says what is wrong and what is allowed: errc::invalid_terms
    /// (a count of 0 or more than max_shards (4,096), a capacity of 0, durations that can't work), errc::invalid_name, errc::invalid_data.
    shard_group(Store& store, std::string_view name, std::size_t count, shard_options options = {}, Clock clock = {})
        : store_{store}, name_{name}, options_{checked(std::move(options), name)}, clock_{std::move(clock)}, count_{checked(count)},
          capacity_{options_.capacity}
    {
        detail::require_group_store<Store>();
        static_assert(waitable_clock<Clock>, "a member of a shard_group needs a clock with wait_until (waitable_clock)");
    }
    /// Other arguments: one line says what is wrong.
    template <class First, class Second, class... Rest>
        requires(std::same_as<Store, detail::no_store_of_leases> && !std::same_as<std::remove_cvref_t<First>, Store>)
    shard_group(First&&, Second&&, Rest&&...) : shard_group{detail::nowhere(), std::string_view{}, 1}
    {
        detail::explain_wrong_arguments<First, Second, Rest...>();
        constexpr bool has_count = detail::number_of_things<detail::third_t<Rest...>>;
        static_assert(!detail::store_and_name<First, Second> || has_count, "after the name comes the number of shards");
        static_assert(!detail::store_and_name<First, Second> || !has_count, "after the number of shards come shard_options, and a clock");
    }
    shard_group(const shard_group&) = delete;
    shard_group& operator=(const shard_group&) = delete;
    ~shard_group() = default;

    [[nodiscard]] const std::string& name() const noexcept { return name_; }  ///< the group's name
    [[nodiscard]] const std::string& id() const noexcept { return options_.id; }  ///< this member's name in the group
    [[nodiscard]] Store& store() const noexcept { return store_; }  ///< where the group lives

    /// Joins the group, and calls `work` with a shard_term& for each shard that this member owns, each on a thread of its own, until
    /// `stop` is asked to stop; then all shards are drained and given back, and the member leaves. Returns when all calls of `work` have
    /// returned. When a call returns, its shard is given back.
    ///
    /// A call of `work` that throws ends that shard's term; it is told as an event, and the shard is taken again after a pause. After
    /// failures of the store the member goes on: it keeps what it holds as long as it holds it, and looks again.
    /// Throws std::system_error: errc::invalid_terms if the group has another count of shards, or the name belongs to something else;
    /// errc::invalid_owner if a member with this id lives already. The message says what each says. Throws std::bad_alloc after all work
    /// has ended.
    template <std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Work work)
    {
        raise_if(run_all(stop, own_threads{}, std::move(work)));
    }

    /// The same, reported in `ec`: throws only std::bad_alloc.
    template <std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Work work, std::error_code& ec)
    {
        ec = run_all(stop, own_threads{}, std::move(work));
    }

    /// The same, on threads of yours: calls executor(job) on the thread of run() for each shard; each job is a std::function<void()> that
    /// returns when the work on the shard has ended, so as many must be able to run at once as the member has shards. If the executor
    /// throws, the shard is given back, as if `work` had thrown. Every job that it has accepted must be run.
    template <std::invocable<std::function<void()>> Executor, std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Executor executor, Work work)
    {
        raise_if(run_all(stop, std::move(executor), std::move(work)));
    }

    /// The same, reported in `ec`: throws only std::bad_alloc.
    template <std::invocable<std::function<void()>> Executor, std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Executor executor, Work work, std::error_code& ec)
    {
        ec = run_all(stop, std::move(executor), std::move(work));
    }

    /// The shards that this member owns now, in ascending order: those whose terms certainly continue. May throw std::bad_alloc.
    [[nodiscard]] std::vector<std::size_t> owned() const
    {
        const std::lock_guard lock{mutex_};
        std::vector<std::size_t> all;
        for (const auto& each : jobs_)
            if (!each.second->finished && each.second->shard->held()) all.push_back(each.first);
        return all;
    }

    /// All shards that somebody owns, as the store tells them now: one statement. A shard that is missing is free. Throws store_error.
    [[nodiscard]] std::vector<shard_view> view() const
    {
        std::error_code ec;
        auto all = view(ec);
        if (ec) detail::raise_store_failure(store_, ec, "view", name_);
        return all;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::vector<shard_view> view(std::error_code& ec) const noexcept
    {
        std::vector<shard_view> all;
        ec.clear();
        detail::catch_into(ec, [&] { all = view_of(store_.list(group::prefix_of(name_), ec)); });
        if (ec) all.clear();
        return all;
    }

    /// The members that live, sorted by id, with the data of their own: one statement. Throws store_error.
    [[nodiscard]] std::vector<member_record> members() const
    {
        std::error_code ec;
        auto all = members(ec);
        if (ec) detail::raise_store_failure(store_, ec, "members", name_);
        return all;
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::vector<member_record> members(std::error_code& ec) const noexcept
    {
        std::vector<member_record> all;
        ec.clear();
        detail::catch_into(ec, [&] {
            all = detail::list_members(store_, name_, ec);
            for (member_record& each : all) each.data = std::string{group::words_in(each.data).data};
        });
        return all;
    }

    /// How many shards there are.
    [[nodiscard]] std::size_t count() const
    {
        const std::lock_guard lock{mutex_};
        return count_;
    }

    /// Changes the count for all members that live: they follow with their next look, and drain shards that are no more. Programs that
    /// start from then on must give the new count. Does I/O, also if run() is not running.
    /// Throws std::system_error with errc::invalid_terms for a count of 0 or more than max_shards (4,096), or if the name belongs to
    /// something else; store_error when the store fails: then the count may have changed or not.
    void resize(std::size_t count)
    {
        checked(count);
        std::error_code ec;
        const std::string why = resize_or_report(count, ec);
        if (!why.empty()) detail::raise_invalid(errc::invalid_terms, why);
        if (ec) detail::raise_store_failure(store_, ec, "resize", name_);
    }

    /// The same, reported in `ec`: does not throw.
    void resize(std::size_t count, std::error_code& ec) noexcept
    {
        ec.clear();
        if (count == 0 || count > max_shards)
            ec = errc::invalid_terms;
        else
            detail::catch_into(ec, [&] { static_cast<void>(resize_or_report(count, ec)); });
    }

    /// Gives all shards away, gently, and takes none, until resume(); stays a member. Returns at once.
    void pause() { change([this] { paused_ = true; }); }
    /// Takes shards again.
    void resume() { change([this] { paused_ = false; }); }

    /// Changes the member's weight. Throws std::system_error with errc::invalid_terms if it is 0.
    void set_capacity(std::uint32_t capacity)
    {
        if (capacity == 0) detail::raise_invalid(errc::invalid_terms, no_capacity);
        change([&] { capacity_ = capacity; });
    }

    /// Numbers for a dashboard.
    [[nodiscard]] shard_statistics statistics() const
    {
        const std::lock_guard lock{mutex_};
        shard_statistics now = statistics_;
        now.owned = jobs_.size();
        return now;
    }

private:
    struct own_threads {};

    struct shard_job {
        std::shared_ptr<shard_type> shard;
        std::thread thread;  // if it is one of this object's own
        bool finished = false;
        bool failed = false;
        bool told_lost = false;
        std::string why;
    };

    static constexpr const char* no_capacity =
        "a member's capacity must be at least 1: one that is to take nothing for a while is told so by pause()";

    static std::size_t checked(std::size_t count)
    {
        if (count == 0 || count > max_shards)
            detail::raise_invalid(errc::invalid_terms, "a group has 1 to 4096 shards, not " + std::to_string(count));
        return count;
    }

    static shard_options checked(shard_options options, std::string_view name)
    {
        validate_name(name);
        validate(lease_terms{.ttl = options.ttl});
        if (options.capacity == 0) detail::raise_invalid(errc::invalid_terms, no_capacity);
        if (options.drain_timeout < duration::zero()) detail::raise_invalid(errc::invalid_terms, "drain_timeout must not be negative");
        if (options.retry_min < std::chrono::milliseconds{1})
            detail::raise_invalid(errc::invalid_terms, "shard_options: retry_min must be at least 1 ms");
        if (options.retry_max < options.retry_min)
            detail::raise_invalid(errc::invalid_terms, "shard_options: retry_max must not be less than retry_min");
        validate_data(options.data);
        if (options.data.size() > max_data_bytes - group::most_words)
            detail::raise_invalid(errc::invalid_data, "the data of a member of a shard_group are longer than the 944 bytes "
                                                      "that are allowed");
        if (options.id.empty()) options.id = random_owner_id{}.id();
        if (group::members_of(name).size() + options.id.size() > max_name_bytes)
            detail::raise_invalid(errc::invalid_name, "the name of the group and the member's id leave no room for '/members/' between "
                                                      "them: together they may have 181 bytes");
        return options;
    }

    void raise_if(std::error_code ec)
    {
        if (!ec) return;
        if (!refusal_.empty()) detail::raise_invalid(ec == errc::invalid_owner ? errc::invalid_owner : errc::invalid_terms, refusal_);
        detail::raise_store_failure(store_, ec, "run", name_);
    }

    template <class Change>
    void change(Change what)
    {
        const std::lock_guard lock{mutex_};
        what();
        wake();
    }

    // Under the mutex.
    void wake() noexcept
    {
        if (waker_) waker_->wake();
    }

    // Why not, if the name belongs to something else.
    std::string resize_or_report(std::size_t count, std::error_code& ec)
    {
        group::shard_count<Store> record{store_, name_, this->count(), options_.ttl};
        record.replace(count, clock_.now(), ec);
        if (ec == errc::invalid_terms) return record.disagreement();
        if (!ec) change([&] { count_ = count; });
        return {};
    }

    // All that belongs to one call of run().
    struct session {
        session(shard_group& of, std::error_code& ec)
            : member{of.store_, of.name_, member_options{.ttl = of.options_.ttl, .id = of.options_.id, .data = {}}, ec, of.clock_},
              count{of.store_, of.name_, of.count(), of.options_.ttl},
              machine{of.count(),
                      {.drain_timeout = of.options_.drain_timeout,
                       .retry_min = of.options_.retry_min,
                       .retry_max = of.options_.retry_max,
                       .patience = 2 * of.cycle()}},
              random{waiting::random_seed(member.owner(), of.clock_.now()) | 1U}
        {
        }

        // Between the two.
        duration between(duration least, duration most) noexcept
        {
            random ^= random << 13U;
            random ^= random >> 7U;
            random ^= random << 17U;
            return least + duration{static_cast<duration::rep>(random % static_cast<std::uint64_t>((most - least).count() + 1))};
        }

        group_member<Store, Clock> member;
        group::shard_count<Store> count;
        group::shard_machine machine;
        std::map<std::size_t, lease_type> leases;
        std::string published;
        bool agreed = false;
        std::uint64_t random;
    };

    [[nodiscard]] duration cycle() const noexcept { return std::max<duration>(options_.ttl / 3, std::chrono::milliseconds{1}); }

    struct run_waker {
        explicit run_waker(shard_group& of) : group{of}
        {
            const std::lock_guard lock{group.mutex_};
            group.waker_.emplace();
        }
        run_waker(const run_waker&) = delete;
        run_waker& operator=(const run_waker&) = delete;
        ~run_waker()
        {
            const std::lock_guard lock{group.mutex_};
            group.waker_.reset();
        }
        shard_group& group;
    };

    template <class Executor, class Work>
    std::error_code run_all(const std::stop_token& stop, Executor executor, Work work)
    {
        refusal_.clear();
        const run_waker sleeps_on{*this};
        const std::stop_callback wake_when_stopped{stop, [this] { change([] {}); }};
        std::error_code ec;
        session s{*this, ec};
        const auto shared_work = std::make_shared<Work>(std::move(work));
        const auto start = [&](const std::shared_ptr<shard_job>& of) { start_job(executor, of, shared_work); };
        struct end_of_work {
            shard_group& of;
            session& s;
            // Whatever ends run(): no work goes on without it.
            ~end_of_work()
            {
                std::error_code ignored;
                while (s.machine.owned() > 0) detail::catch_into(ignored, [this] { of.wait_for_all(s); });
                s.member.leave(ignored);
            }
        } const at_end{*this, s};
        if (ec == errc::invalid_owner) {
            refusal_ = s.member.lives_already();
            return ec;
        }
        if (ec) tell_failure("join", ec);
        if (const std::error_code refused = begin(s, stop)) return refused;
        loop(s, stop, start);
        return {};
    }

    // Agrees on the count. An error: this member may not take part.
    std::error_code begin(session& s, const std::stop_token& stop)
    {
        while (!stop.stop_requested()) {
            std::error_code ec;
            s.member.keep(ec);
            if (ec == errc::invalid_owner) {
                refusal_ = s.member.lives_already();
                return ec;
            }
            std::optional<std::size_t> other;
            if (!ec) other = s.count.agree(clock_.now(), true, ec);
            if (other || ec == errc::invalid_terms) {
                refusal_ = s.count.disagreement();
                return make_error_code(errc::invalid_terms);
            }
            if (!ec) return {};
            tell_failure("begin", ec);
            sleep_until(clock_.now() + s.between(cycle() / 4, cycle() / 2), stop);
        }
        return {};
    }

    void sleep_until(time_point until, const std::stop_token& stop)
    {
        while (!stop.stop_requested() && clock_.now() < until) clock_.wait_until(*waker_, until);
    }

    template <class Start>
    void loop(session& s, const std::stop_token& stop, const Start& start)
    {
        // All that start together see each other before they take anything.
        publish(s, stop.stop_requested());
        time_point next = clock_.now() + s.between(cycle() / 10, 3 * cycle() / 10);
        for (;;) {
            const bool stopping = stop.stop_requested();
            collect(s);
            if (stopping && s.machine.owned() == 0) return;
            const bool resized = adopt(s);
            const bool draining = drain_all_if_asked(s, stopping);
            if (resized || draining) next = std::min(next, clock_.now());
            if (clock_.now() >= next) {
                const bool moving = look(s, stopping, start);
                const duration pause = s.between(3 * cycle() / 4, cycle());
                next = clock_.now() + (moving ? pause / 2 : pause);
                continue;
            }
            clock_.wait_until(*waker_, next);
        }
    }

    // Ends the terms of those whose work has ended, in one call, and tells the machine of those that are lost.
    void collect(session& s)
    {
        std::vector<std::shared_ptr<shard_job>> ended;
        std::vector<std::shared_ptr<shard_job>> lost;
        {
            const std::lock_guard lock{mutex_};
            for (const auto& each : jobs_) {
                if (!each.second->told_lost && !each.second->shard->held()) lost.push_back(each.second);
                if (each.second->finished) ended.push_back(each.second);
            }
        }
        for (const auto& each : lost) {
            each->told_lost = true;
            s.machine.give_up(each->shard->index(), clock_.now());
            count_up(&shard_statistics::lost);
            tell({.kind = shard_event_kind::lost, .shard = each->shard->index(), .token = each->shard->token()});
        }
        if (ended.empty()) return;
        std::vector<typename lease_type::guard_type> guards;
        guards.reserve(ended.size());
        for (const auto& each : ended) {
            if (each->thread.joinable()) each->thread.join();
            s.machine.ended(each->shard->index(), each->failed, clock_.now());
            guards.push_back(detail::shard_access::take_guard(*each->shard));
        }
        std::error_code ec;
        release_all(guards, ec);
        if (ec) tell_failure("give back", ec);
        for (const auto& each : ended) {
            const std::size_t index = each->shard->index();
            s.machine.over(index);
            {
                const std::lock_guard lock{mutex_};
                jobs_.erase(index);
            }
            if (each->failed) {
                count_up(&shard_statistics::failed);
                tell({.kind = shard_event_kind::failed, .shard = index, .token = each->shard->token(), .what = each->why});
            }
            count_up(&shard_statistics::given_back);
            if (!each->told_lost) tell({.kind = shard_event_kind::given_back, .shard = index, .token = each->shard->token()});
        }
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

    // True: there was something to drain. Needs no store: also where that fails, the work ends.
    bool drain_all_if_asked(session& s, bool stopping)
    {
        if (!stopping && !paused()) return false;
        bool any = false;
        for (const std::size_t each : s.machine.mine()) {
            if (s.machine.state_of(each) != group::shard_machine::state::working) continue;
            s.machine.give_up(each, clock_.now());
            drain(each);
            any = true;
        }
        return any;
    }

    void drain(std::size_t index)
    {
        const std::shared_ptr<shard_job> found = job_of(index);
        if (!found) return;
        detail::shard_access::drain(*found->shard);
        tell({.kind = shard_event_kind::draining, .shard = index, .token = found->shard->token()});
    }

    // True: something is on its way, so look again soon.
    template <class Start>
    bool look(session& s, bool stopping, const Start& start)
    {
        std::error_code ec;
        agree(s);
        publish(s, stopping);
        const std::vector<lease_record> records = list(ec);
        if (ec) {
            tell_failure("look", ec);
            return false;
        }
        const group::shard_look seen = look_of(s, records, stopping);
        const group::shard_actions todo = s.machine.looked(seen, clock_.now());
        {
            const std::lock_guard lock{mutex_};
            statistics_.share = todo.share;
            statistics_.members = seen.members.size();
        }
        for (const std::size_t each : todo.drain) drain(each);
        take(s, todo.take, start);
        ask(todo.ask);
        for (const std::size_t each : todo.late) {
            count_up(&shard_statistics::late);
            const std::shared_ptr<shard_job> mine = job_of(each);
            tell({.kind = shard_event_kind::late, .shard = each, .token = mine ? mine->shard->token() : fencing_token{}});
        }
        return todo.moving;
    }

    std::vector<lease_record> list(std::error_code& ec)
    {
        std::vector<lease_record> records;
        detail::catch_into(ec, [&] { records = store_.list(group::prefix_of(name_), ec); });
        return records;
    }

    // The record of the count: written if it has to be, and followed if it says another one.
    void agree(session& s)
    {
        std::error_code ec;
        std::optional<std::size_t> other;
        detail::catch_into(ec, [&] { other = s.count.agree(clock_.now(), std::exchange(others_count_differs_, false), ec); });
        if (ec) tell_failure("agree on the count", ec);
        if (!other || *other > max_shards || *other == 0) return;
        change([&] { count_ = *other; });
        adopt(s);
    }

    // Joins again if the membership was lost, and tells the others what has changed; without need it does no I/O.
    void publish(session& s, bool stopping)
    {
        std::string words;
        {
            const std::lock_guard lock{mutex_};
            words = group::words_text({capacity_, options_.max_shards, count_, paused_ || stopping, options_.data});
        }
        std::error_code ec;
        if (words != s.published)
            s.member.publish(words, ec);
        else
            s.member.keep(ec);
        if (ec)
            tell_failure("join", ec);
        else
            s.published = words;
    }

    group::shard_look look_of(session& s, const std::vector<lease_record>& records, bool stopping)
    {
        group::shard_look seen;
        const std::string prefix = group::prefix_of(name_);
        const std::string members = group::members_of(name_);
        std::map<std::string_view, std::size_t> by_owner;
        std::map<std::string_view, std::size_t> by_id;
        seen.me = group::nobody;
        const auto add = [&](std::string_view id, std::string_view owner, const group::member_words& words) {
            by_owner.emplace(owner, seen.members.size());
            by_id.emplace(id, seen.members.size());
            seen.members.push_back({.order = detail::stable_hash(0, id, owner),
                                    .capacity = words.capacity,
                                    .most = words.most == 0 ? group::nobody : words.most,
                                    .paused = words.paused});
        };
        for (const lease_record& each : records) {
            if (each.owner.empty() || !std::string_view{each.name}.starts_with(members)) continue;
            const group::member_words words = group::words_in(each.data);
            if (each.owner == s.member.owner())
                seen.me = seen.members.size();
            else if (words.count != 0 && words.count != s.machine.count())
                others_count_differs_ = true;
            add(std::string_view{each.name}.substr(members.size()), each.owner, words);
        }
        if (seen.me == group::nobody) {
            seen.me = seen.members.size();
            add(s.member.id(), s.member.owner(), {});
        }
        {
            const std::lock_guard lock{mutex_};
            group::seen_member& me = seen.members[seen.me];
            me.capacity = capacity_;
            me.most = options_.max_shards == 0 ? group::nobody : options_.max_shards;
            me.paused = paused_ || stopping;
        }
        for (const lease_record& each : records) {
            const std::optional<std::size_t> shard = group::shard_in(each.name, prefix);
            if (!shard || *shard >= max_shards) continue;
            seen.rows.push_back(row_of(*shard, each, by_owner, by_id));
        }
        return seen;
    }

    static group::seen_row row_of(std::size_t shard, const lease_record& record, const std::map<std::string_view, std::size_t>& by_owner,
                                  const std::map<std::string_view, std::size_t>& by_id)
    {
        const auto holder = by_owner.find(record.owner);
        group::seen_row row{shard, record.token.value(), holder == by_owner.end() ? group::nobody : holder->second, {}};
        if (!record.handover_request) return row;
        const std::optional<group::wanted_by> by = group::request_in(*record.handover_request);
        if (!by) {
            row.request = group::shard_request{};  // an operator's
            return row;
        }
        // The request of a member that has left moves nothing.
        const auto asker = by_id.find(by->id);
        if (asker != by_id.end()) row.request = group::shard_request{asker->second, by->after};
        return row;
    }

    template <class Start>
    void take(session& s, const std::vector<std::size_t>& shards, const Start& start)
    {
        const std::size_t together = std::max<std::size_t>(detail::attempts_together(store_), 1);
        for (std::size_t i = 0; i < shards.size(); i += together) {
            const std::span<const std::size_t> some = std::span{shards}.subspan(i, std::min(together, shards.size() - i));
            std::vector<std::pair<std::size_t, typename lease_type::guard_type>> granted;
            std::error_code ec;
            granted.reserve(some.size());
            acquire(s, some, granted, ec);
            if (ec) tell_failure("take", ec);
            for (auto& [index, guard] : granted) begin_work(s, index, std::move(guard), start);
            if (ec) return;
        }
    }

    void acquire(session& s, std::span<const std::size_t> some,
                 std::vector<std::pair<std::size_t, typename lease_type::guard_type>>& granted, std::error_code& ec)
    {
        if constexpr (batch_acquiring_store<Store>) {
            if (some.size() > 1) {
                detail::batch_attempt<lease_type> attempt{some.size()};
                std::vector<std::size_t> asked;
                asked.reserve(some.size());
                for (const std::size_t each : some) {
                    if (attempt.add(lease_of(s, each), ec)) asked.push_back(each);
                    if (ec) return;
                }
                attempt.send(asked.size(), std::nullopt, ec, [&](std::size_t i, auto result) noexcept {
                    if (!result.guard.empty()) granted.emplace_back(asked[i], std::move(result.guard));
                });
                return;
            }
        }
        for (const std::size_t each : some) {
            auto guard = lease_of(s, each).try_acquire(ec);
            if (ec) return;
            if (!guard.empty()) granted.emplace_back(each, std::move(guard));
        }
    }

    lease_type& lease_of(session& s, std::size_t shard)
    {
        const auto found = s.leases.find(shard);
        if (found != s.leases.end()) return found->second;
        return s.leases
            .emplace(shard, lease_type{store_, group::shard_name(name_, shard), lease_terms{.ttl = options_.ttl}, clock_,
                                       fixed_owner_id{s.member.owner()}})
            .first->second;
    }

    template <class Start>
    void begin_work(session& s, std::size_t index, typename lease_type::guard_type guard, const Start& start)
    {
        auto begun = std::make_shared<shard_job>();
        begun->shard = detail::shard_access::make(index, s.machine.count(), std::move(guard));
        {
            const std::lock_guard lock{mutex_};
            jobs_.emplace(index, begun);
            ++statistics_.taken;
        }
        s.machine.taken(index, begun->shard->token().value());
        tell({.kind = shard_event_kind::taken, .shard = index, .token = begun->shard->token()});
        std::error_code ec;
        detail::catch_into(ec, [&] { start(begun); });
        if (!ec) return;
        const std::lock_guard lock{mutex_};
        begun->finished = begun->failed = true;
        begun->why = "the work could not be started: " + ec.message();
        wake();
    }

    template <class Executor, class Work>
    void start_job(Executor& executor, const std::shared_ptr<shard_job>& of, const std::shared_ptr<Work>& work)
    {
        const auto run_it = [this, of, work] { work_on(*of, *work); };
        if constexpr (std::same_as<Executor, own_threads>)
            of->thread = detail::thread_without_signals(run_it);
        else
            std::invoke(executor, std::function<void()>{run_it});
    }

    template <class Work>
    void work_on(shard_job& of, Work& work) noexcept
    {
        std::string why;
        bool failed = true;
#if defined(__cpp_exceptions)
        try {
            std::invoke(work, *of.shard);
            failed = false;
        }
        catch (const std::exception& e) {
            why = e.what();
        }
        catch (...) {
            why = "an exception that is no std::exception";
        }
#else
        std::invoke(work, *of.shard);
        failed = false;
#endif
        // The wake under the mutex: run() returns, and this object may be destroyed, as soon as it has seen that the last work has ended.
        const std::lock_guard lock{mutex_};
        of.failed = failed;
        of.why = std::move(why);
        of.finished = true;
        wake();
    }

    void ask(const std::vector<group::shard_ask>& shards)
    {
        for (const group::shard_ask& each : shards) {
            std::error_code ec;
            detail::catch_into(ec, [&] {
                store_.request_handover(group::shard_name(name_, each.shard), group::request_text({options_.id, each.after}), ec);
            });
            if (!ec) continue;
            tell_failure("ask for a shard", ec);
            return;
        }
    }

    // Ends all work.
    void wait_for_all(session& s)
    {
        while (s.machine.owned() > 0) {
            drain_all_if_asked(s, true);
            collect(s);
            if (s.machine.owned() > 0) clock_.wait_until(*waker_, clock_.now() + cycle());
        }
    }

    [[nodiscard]] bool paused() const
    {
        const std::lock_guard lock{mutex_};
        return paused_;
    }

    [[nodiscard]] std::shared_ptr<shard_job> job_of(std::size_t index) const
    {
        const std::lock_guard lock{mutex_};
        const auto found = jobs_.find(index);
        return found == jobs_.end() ? nullptr : found->second;
    }

    [[nodiscard]] std::vector<shard_view> view_of(const std::vector<lease_record>& records) const
    {
        const std::string prefix = group::prefix_of(name_);
        const std::string members = group::members_of(name_);
        std::map<std::string_view, std::string_view> ids;
        for (const lease_record& each : records)
            if (each.name.starts_with(members)) ids.emplace(each.owner, std::string_view{each.name}.substr(members.size()));
        std::vector<shard_view> all;
        for (const lease_record& each : records) {
            const std::optional<std::size_t> shard = group::shard_in(each.name, prefix);
            if (!shard || each.owner.empty()) continue;
            const auto id = ids.find(each.owner);
            all.push_back({*shard, std::string{id == ids.end() ? std::string_view{each.owner} : id->second}, each.token,
                           each.handover_request.has_value(), each.remaining});
        }
        std::ranges::sort(all, {}, &shard_view::index);
        return all;
    }

    void count_up(std::uint64_t shard_statistics::*which)
    {
        const std::lock_guard lock{mutex_};
        ++(statistics_.*which);
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
        std::error_code ignored;
        detail::catch_into(ignored, [&] { options_.on_event(event); });
    }

    Store& store_;
    const std::string name_;
    const shard_options options_;
    const Clock clock_;
    std::string refusal_;                // belongs to run(), like the next one
    bool others_count_differs_ = false;

    mutable std::mutex mutex_;  // guards what follows; neither a hook nor I/O runs under it
    std::size_t count_;
    std::uint32_t capacity_;
    bool paused_ = false;
    std::map<std::size_t, std::shared_ptr<shard_job>> jobs_;
    shard_statistics statistics_;
    std::optional<waker> waker_;  // that run() sleeps on, while it runs; only its thread makes and destroys it
};

namespace detail {

template <class...>
inline constexpr bool arguments_of_shards = false;

template <class First, class Second, class Count, class... Options>
inline constexpr bool arguments_of_shards<First, Second, Count, Options...> =
    store_and_name<First, Second> && number_of_things<Count> &&
    (sizeof...(Options) == 0 || std::convertible_to<third_t<Options..., shard_options>, shard_options>);

}  // namespace detail

/// Other arguments: one line says what is wrong.
template <class First, class Second, class... Rest>
    requires(!detail::arguments_of_shards<First, Second, Rest...>)
shard_group(First&&, Second&&, Rest&&...) -> shard_group<detail::no_store_of_leases>;

}  // namespace leasehold::inline v0

#endif
