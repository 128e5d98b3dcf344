// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SHARD_GROUP_HPP
#define LEASEHOLD_SHARD_GROUP_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/clock/steady_clock.hpp>
#include <leasehold/clock/waker.hpp>
#include <leasehold/concepts.hpp>
#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/thread_without_signals.hpp>
#include <leasehold/detail/wrong_arguments.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/group/group_texts.hpp>
#include <leasehold/group/shard_runner.hpp>
#include <leasehold/group_member.hpp>
#include <leasehold/lease_record.hpp>
#include <leasehold/member_record.hpp>
#include <leasehold/shard_event.hpp>
#include <leasehold/shard_options.hpp>
#include <leasehold/shard_term.hpp>
#include <leasehold/store/concept.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace leasehold::inline v0 {

namespace detail {
struct shard_group_access;
}

/// One shard that nobody can take now, as a look at the store shows it.
struct shard_view {
    std::size_t index = 0;  ///< which shard
    std::string owner;      ///< the id of the member that owns it; the owner of its lease if no member has that; empty: it is held closed
    fencing_token token;    ///< the token of its term
    /// Whether its owner is to give it up: it was asked for it, or for everything; it stops, or is paused; or the shard is no more.
    bool draining = false;
    duration remaining{};  ///< time until it would be free if its owner were not heard of any more, or until it is open again
    std::optional<std::string> held_closed{};  ///< the reason, which may be empty, if nobody owns it because of a hold; see name_holding

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
    template <std::integral Count>
    shard_group(Store& store, std::string_view name, Count count, shard_options options = {}, Clock clock = {})
        : runner_{store, name, count, std::move(options), std::move(clock)}
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

    [[nodiscard]] const std::string& name() const noexcept { return runner_.name(); }  ///< the group's name
    [[nodiscard]] const std::string& id() const noexcept { return runner_.options().id; }  ///< this member's name in the group
    [[nodiscard]] Store& store() const noexcept { return runner_.store(); }  ///< where the group lives

    /// Joins the group, and calls `work` with a shard_term& for each shard that this member owns, each on a thread of its own, until
    /// `stop` is asked to stop; then all shards are drained and given back, and the member leaves. Returns when all calls of `work` have
    /// returned. When a call returns, its shard is given back.
    ///
    /// A call of `work` that throws ends that shard's term; it is told as an event, and the shard is taken again after a pause. After
    /// failures of the store the member continues: it keeps what it holds as long as it holds it, and looks again.
    /// Throws std::system_error: errc::invalid_terms if the group has another count of shards, or the name belongs to something else;
    /// errc::invalid_owner if a member with this id lives already. The message says what each says. Throws std::bad_alloc after all work
    /// has ended.
    template <std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Work work)
    {
        runner_.raise_if(run_all(stop, own_threads{}, std::move(work)));
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
        runner_.raise_if(run_all(stop, std::move(executor), std::move(work)));
    }

    /// The same, reported in `ec`: throws only std::bad_alloc.
    template <std::invocable<std::function<void()>> Executor, std::invocable<shard_type&> Work>
    void run(const std::stop_token& stop, Executor executor, Work work, std::error_code& ec)
    {
        ec = run_all(stop, std::move(executor), std::move(work));
    }

    /// The shards that this member owns now, in ascending order: those whose terms certainly continue. May throw std::bad_alloc.
    [[nodiscard]] std::vector<std::size_t> owned() const { return runner_.owned(); }

    /// All shards that somebody owns, or that are held closed, as the store tells them now: one statement. A shard that is missing is free.
    /// Throws store_error.
    [[nodiscard]] std::vector<shard_view> view() const
    {
        return read_or_raise("view", [this](std::error_code& ec) { return view(ec); });
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::vector<shard_view> view(std::error_code& ec) const noexcept
    {
        return read(ec, [this](std::error_code& failure) { return view_of(store().list(group::prefix_of(name()), failure)); });
    }

    /// The members that live, sorted by id, with the data of their own: one statement. Throws store_error.
    [[nodiscard]] std::vector<member_record> members() const
    {
        return read_or_raise("members", [this](std::error_code& ec) { return members(ec); });
    }

    /// The same, reported in `ec`: does not throw.
    [[nodiscard]] std::vector<member_record> members(std::error_code& ec) const noexcept
    {
        return read(ec, [this](std::error_code& failure) { return detail::list_members(store(), name(), failure); });
    }

    /// How many shards there are.
    [[nodiscard]] std::size_t count() const { return runner_.count(); }

    /// Changes the count for all members that live: they follow with their next look, and drain shards that are no more. If run() is not
    /// running here, they follow up to a ttl later. Programs that start from then on must give the new count. Does I/O.
    /// The store keeps the count until the last member leaves, or for a day (at least three ttls) after a member that was killed has last
    /// written it. If one that is cut off since before the change is the first one back after that, it writes its own count: the change is
    /// undone.
    /// Throws std::system_error with errc::invalid_terms for a count of 0 or more than max_shards (4,096), or if the name belongs to
    /// something else; errc::held_closed if it is held closed; store_error when the store fails: then the count may have changed or not.
    template <std::integral Count>
    void resize(Count count)
    {
        std::error_code ec;
        const std::string refusal = runner_.resize(runner_type::checked(count), ec);
        if (!refusal.empty()) detail::raise_invalid(ec == errc::held_closed ? errc::held_closed : errc::invalid_terms, refusal);
        if (ec) detail::raise_store_failure(store(), ec, "resize", name());
    }

    /// The same, reported in `ec`: does not throw.
    template <std::integral Count>
    void resize(Count count, std::error_code& ec) noexcept
    {
        ec.clear();
        if (!runner_type::is_possible(count))
            ec = errc::invalid_terms;
        else
            detail::catch_into(ec, [&] { static_cast<void>(runner_.resize(static_cast<std::size_t>(count), ec)); });
    }

    /// Gives all shards away, gently, and takes none, until resume(); stays a member. Returns at once.
    void pause() { runner_.pause(true); }
    /// Takes shards again.
    void resume() { runner_.pause(false); }

    /// Changes the member's weight. Throws std::system_error with errc::invalid_terms if it is 0.
    void set_capacity(std::uint32_t capacity) { runner_.set_capacity(capacity); }

    /// Numbers for a dashboard.
    [[nodiscard]] shard_statistics statistics() const { return runner_.statistics(); }

private:
    friend detail::shard_group_access;

    struct own_threads {};
    using runner_type = group::shard_runner<Store, Clock>;
    using job_type = typename runner_type::job_type;

    template <class Executor, class Work>
    std::error_code run_all(const std::stop_token& stop, Executor executor, Work work)
    {
        const typename runner_type::sleep sleep{runner_};
        const std::stop_callback wake_when_stopped{stop, [this] { runner_.wake(); }};
        typename runner_type::session s{runner_};
        struct end_of_work {
            runner_type& runner;
            typename runner_type::session& s;
            waker& sleeps_on;
            // However run() ends, no work continues without it.
            ~end_of_work()
            {
                while (!is_over()) {}
            }
            bool is_over() const noexcept
            {
                bool over = false;
                std::error_code ignored;
                detail::catch_into(ignored, [&] { over = runner.wind_up(s); });
                // It also waits if that has failed for want of memory, which may be there again after a pause.
                if (!over)
                    detail::catch_into(ignored, [&] { runner.clock().wait_until(sleeps_on, runner.clock().now() + runner.cycle()); });
                return over;
            }
        } const at_end{runner_, s, sleep.on()};
        const auto shared_work = std::make_shared<Work>(std::move(work));
        const auto start = [&](const std::shared_ptr<job_type>& job) { start_job(executor, job, shared_work); };
        for (;;) {
            const auto done = runner_.step(s, stop.stop_requested(), start);
            if (done.over) return done.refusal;
            runner_.clock().wait_until(sleep.on(), done.next);
        }
    }

    template <class Executor, class Work>
    void start_job(Executor& executor, const std::shared_ptr<job_type>& job, const std::shared_ptr<Work>& work)
    {
        const auto run_it = [this, job, work] { work_on(*job, *work); };
        if constexpr (std::same_as<Executor, own_threads>)
            job->thread = detail::thread_without_signals(run_it);
        else
            std::invoke(executor, std::function<void()>{run_it});
    }

    template <class Work>
    void work_on(job_type& job, Work& work) noexcept
    {
        std::exception_ptr thrown;
        if (job.shard->held()) thrown = detail::thrown_by([&] { std::invoke(work, *job.shard); });
        runner_.finished(job, thrown);
    }

    // Returns the rows of the group that `reads` finds. Does not throw.
    template <class Read>
    auto read(std::error_code& ec, Read reads) const noexcept
    {
        decltype(reads(ec)) all;
        ec.clear();
        detail::catch_into(ec, [&] { all = reads(ec); });
        if (ec) all.clear();
        return all;
    }

    // Returns what `reads(ec)` returns. Throws store_error.
    template <class Read>
    auto read_or_raise(const char* what, Read reads) const
    {
        std::error_code ec;
        auto all = reads(ec);
        if (ec) detail::raise_store_failure(store(), ec, what, name());
        return all;
    }

    // A member as its row shows it. Refers to the records.
    struct seen_owner {
        std::string_view id;
        bool gives_all_up = false;
        std::size_t count = 0;  // as far as it knows: 0 if it doesn't say
    };

    [[nodiscard]] std::vector<shard_view> view_of(const std::vector<lease_record>& records) const
    {
        const std::string members = group::members_of(name());
        std::map<std::string_view, seen_owner> owners;
        for (const lease_record& record : records) {
            if (!record.name.starts_with(members)) continue;
            const group::member_words words = group::words_in(record.data).value_or(group::member_words{});
            const bool gives_all_up = words.paused || record.handover_request.has_value();
            owners.emplace(record.owner, seen_owner{std::string_view{record.name}.substr(members.size()), gives_all_up, words.count});
        }
        const std::string prefix = group::prefix_of(name());
        std::vector<shard_view> all;
        for (const lease_record& record : records) {
            const std::optional<std::size_t> shard = group::shard_in(record.name, prefix);
            if (!shard || record.owner.empty()) continue;
            const auto owner = owners.find(record.owner);
            all.push_back(view_of(*shard, record, owner == owners.end() ? seen_owner{record.owner} : owner->second));
        }
        std::ranges::sort(all, {}, &shard_view::index);
        return all;
    }

    static shard_view view_of(std::size_t shard, const lease_record& record, const seen_owner& owner)
    {
        if (record.is_hold())
            return {.index = shard, .owner = {}, .token = record.token, .remaining = record.remaining, .held_closed = record.hold_reason()};
        const bool is_no_more = owner.count != 0 && shard >= owner.count;
        return {.index = shard,
                .owner = std::string{owner.id},
                .token = record.token,
                .draining = record.handover_request.has_value() || owner.gives_all_up || is_no_more,
                .remaining = record.remaining};
    }

    runner_type runner_;
};

namespace detail {

// What the asynchronous form needs of a group beyond its public interface.
struct shard_group_access {
    template <class Group>
    static auto& runner(Group& group) noexcept
    {
        return group.runner_;
    }
};

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
