// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RECURRING_RUN_HPP
#define LEASEHOLD_RECURRING_RUN_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/fire_book.hpp>
#include <leasehold/detail/recurring_machine.hpp>
#include <leasehold/detail/run_access.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/fire_record.hpp>
#include <leasehold/fwd.hpp>
#include <leasehold/lease_guard.hpp>
#include <leasehold/limits.hpp>
#include <leasehold/recurring_options.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/schedule/concept.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0 {

namespace detail {

template <class Recurring>
struct recurring_access;

template <class Lease>
using fire_book_of = fire_book<typename Lease::store_type, typename Lease::clock_type>;

// Never called: with it, a program's global of that name does not hide the functions of the guard's namespace.
void save_checkpoint_on() = delete;

template <class Connection, class Guard, class... ErrorCode>
auto save_in_transaction(Connection& connection, const Guard& guard, const std::string& text, ErrorCode&... ec)
    -> decltype(save_checkpoint_on(connection, guard, text, ec...))
{
    return save_checkpoint_on(connection, guard, text, ec...);
}

}  // namespace detail

/// One fire that was begun: holds the lease of its name until it is destroyed. A guard, as lease_guard is.
///
/// complete() ends the fire for all hosts. Without it the fire is open again as soon as the lease is, which the destructor releases.
/// Movable, not copyable; empty if there was nothing to begin. Thread safety and lifetime: as for lease_guard; the recurring need not
/// outlive it.
template <class Lease>
class [[nodiscard]] recurring_run {
public:
    using guard_type = lease_guard<Lease>;  ///< what it holds

    /// An empty run.
    recurring_run() noexcept = default;
    /// Takes over the other run; the other is then empty.
    recurring_run(recurring_run&&) noexcept = default;
    /// Releases its own lease, and takes over the other run.
    recurring_run& operator=(recurring_run&&) noexcept = default;
    /// Releases the lease. A failure is not reported: the store then frees the lease when its time runs out.
    ~recurring_run() = default;

    /// Exchanges what they hold.
    void swap(recurring_run& other) noexcept
    {
        book_.swap(other.book_);
        guard_.swap(other.guard_);
        std::swap(record_, other.record_);
        std::swap(step_, other.step_);
        std::swap(state_, other.state_);
    }
    /// Exchanges what they hold.
    friend void swap(recurring_run& a, recurring_run& b) noexcept { a.swap(b); }

    /// The same as held().
    [[nodiscard]] explicit operator bool() const& noexcept { return held(); }
    /// Whether the term certainly continues; see lease_guard::held(). Reads the clock.
    [[nodiscard]] bool held() const& noexcept { return guard_.held(); }
    /// Time to the deadline; 0 if the term is over, or the run is empty.
    [[nodiscard]] duration remaining() const& noexcept { return guard_.remaining(); }
    /// Whether there was nothing to begin, or the lease was released.
    [[nodiscard]] bool empty() const& noexcept { return guard_.empty(); }
    /// The term's fencing token; 0 when the run is empty.
    [[nodiscard]] fencing_token token() const& noexcept { return guard_.token(); }
    /// The name of the job; empty when the run is empty.
    [[nodiscard]] std::string_view name() const& noexcept { return guard_.name(); }
    /// The owner of the lease; empty when the run is empty.
    [[nodiscard]] std::string_view owner() const& noexcept { return guard_.owner(); }
    /// Where lease and record live; nullptr when the run is empty.
    [[nodiscard]] auto* store() const& noexcept { return guard_.store(); }
    /// A token that is asked to stop when the term is lost; see lease_guard::stop_token().
    [[nodiscard]] std::stop_token stop_token() const& { return guard_.stop_token(); }
    /// The error of the last renewal of the term; see lease_guard::renewal_error().
    [[nodiscard]] std::error_code renewal_error() const& noexcept { return guard_.renewal_error(); }
    /// Throws lease_lost unless held(); std::system_error with errc::not_held when the run is empty.
    void ensure_held() const& { guard_.ensure_held(); }
    /// The guard of the lease, for functions that take guards; a fence takes the run itself, too. Its checkpoint contains the record of the
    /// fires: use complete(), save_checkpoint() and load_checkpoint() of the run.
    [[nodiscard]] const guard_type& guard() const& noexcept { return guard_; }

    /// Extends the term now; see lease_guard::renew(). False means that it is lost. Does I/O.
    bool renew() & { return guard_.renew(); }
    /// The same, reported in `ec`: does not throw.
    bool renew(std::error_code& ec) & noexcept { return guard_.renew(ec); }
    /// Extends the term by a new ttl, which later renewals keep.
    bool renew(duration ttl) & { return guard_.renew(ttl); }
    /// The same, reported in `ec`: does not throw.
    bool renew(duration ttl, std::error_code& ec) & noexcept { return guard_.renew(ttl, ec); }

    /// Makes `data` visible to everybody who looks at the lease, like lease_guard::publish(). False: the term is lost. Does I/O.
    bool publish(std::string_view data) & { return guard_.publish(data); }
    /// The same, reported in `ec`: does not throw.
    bool publish(std::string_view data, std::error_code& ec) & noexcept { return guard_.publish(data, ec); }

    /// Whether somebody has asked for the lease; see lease_guard::handover_requested(). To follow it, call release(), or fail().
    [[nodiscard]] bool handover_requested() const& noexcept { return guard_.handover_requested(); }
    /// The reason of that request; see lease_guard::handover_reason().
    [[nodiscard]] std::string handover_reason() const& { return guard_.handover_reason(); }
    /// A token that is asked to stop when somebody has asked for the lease; see lease_guard::handover_token().
    [[nodiscard]] std::stop_token handover_token() const& { return guard_.handover_token(); }

    /// Which fire it is, on the store's clock; fire_time{} when the run was never begun.
    [[nodiscard]] fire_time fire() const& noexcept { return step_.fire; }
    /// Which attempt at this fire it is, from 1, as far as the earlier ones were counted; see recurring_options::max_attempts.
    [[nodiscard]] int attempt() const& noexcept { return step_.attempt; }
    /// Whether complete() has succeeded.
    [[nodiscard]] bool completed() const& noexcept { return state_ == state::completed; }

    /// Ends the fire: nobody begins it again. In one statement under the term's token, so that a fire is completed at most once, and never
    /// by who has lost the lease. True: it is completed, also if it was before; the lease is held until release(), or the destructor.
    /// False: the lease was lost, and the fire is open for the next host. Does I/O.
    ///
    /// Throws store_error when the store fails: then it may be completed or not; call it again, if there is time. Throws std::system_error
    /// with errc::not_held when the run is empty.
    bool complete() &
    {
        const bool done = reported("complete", [this](std::error_code& ec) { return complete_untold(ec); });
        if (done) book_->tell_news();
        return done;
    }
    /// The same, reported in `ec`: does not throw. What on_completed throws is an error too.
    bool complete(std::error_code& ec) & noexcept
    {
        const bool done = complete_untold(ec);
        if (done) detail::catch_into(ec, [this] { book_->tell_news(); });
        return done;
    }

    /// Ends the fire in a transaction of yours, on your connection to the store's database, together with what the job writes there: both
    /// are committed, or neither. For an SQLHDBC, include <leasehold/odbc/fence.hpp>; see odbc::save_checkpoint(), which it calls. False:
    /// the lease was lost, or the fire is completed already; roll back. The fire is completed when you commit. Call it last: until your
    /// transaction has ended, renewals, and all other functions that do I/O, wait for it. After a commit whose outcome is not known, do the
    /// work again in another transaction, and call it again: false if the first one was committed, so nothing is done twice.
    /// But where your connection and the store's lead to different nodes of a cluster (Galera, Group Replication), the store may read the
    /// state from before that commit, and it may be true again: make its reads wait (in on_connect, on Galera
    /// `set wsrep_sync_wait = 1`, on Group Replication `set group_replication_consistency = 'BEFORE'`), or connect to one node only.
    template <class Connection>
        requires(!std::is_same_v<std::remove_cvref_t<Connection>, std::error_code>)
    bool complete(Connection&& connection) &
    {
        constexpr bool possible = requires(const std::string& text) { detail::save_in_transaction(connection, guard_, text); };
        static_assert(possible,
                      "complete(connection) needs save_checkpoint_on(connection, guard, text): for ODBC, <leasehold/odbc/fence.hpp>");
        if constexpr (possible)
            return in_transaction([&](const std::string& text) { return detail::save_in_transaction(connection, guard_, text); });
        else
            return false;
    }
    /// The same, reported in `ec`: does not throw.
    template <class Connection>
    bool complete(Connection&& connection, std::error_code& ec) & noexcept
    {
        if (!may_write(ec)) return false;
        bool done = false;
        detail::catch_into(ec, [&] {
            done = in_transaction([&](const std::string& text) { return detail::save_in_transaction(connection, guard_, text, ec); });
        });
        return done && !ec;
    }

    /// Says that the job has failed, and releases the lease: the fire stays open, and nobody begins it again before the pause of
    /// recurring_options::retry_min is over; after max_attempts it is given up. False: the lease was lost before, or the fire is completed,
    /// and nothing was noted.
    /// Does I/O.
    ///
    /// Throws store_error when the store fails, and std::system_error with errc::not_held when the run is empty.
    bool fail() &
    {
        bool given_up = false;
        const bool noted = reported("fail", [&](std::error_code& ec) { return fail(given_up, ec); });
        if (given_up && book_->options().on_given_up) book_->options().on_given_up(step_.fire);
        return noted;
    }
    /// The same, reported in `ec`: does not throw. What on_given_up throws is an error too.
    bool fail(std::error_code& ec) & noexcept
    {
        bool given_up = false;
        const bool noted = fail(given_up, ec);
        if (given_up && book_->options().on_given_up)
            detail::catch_into(ec, [this] { book_->options().on_given_up(step_.fire); });
        return noted;
    }

    /// Saves a text of the job's own for the next run of the name, as lease_guard::save_checkpoint() does: how far it has come. At most
    /// max_run_checkpoint_bytes (2,800) bytes of UTF-8 without a NUL. It is kept beside the record of the fires, and outlives them. False:
    /// the term is over, and nothing was written. Does I/O.
    ///
    /// Throws std::system_error with errc::invalid_data, which says what is wrong, or errc::not_held when the run is empty; and store_error
    /// when the store fails.
    bool save_checkpoint(std::string_view text) &
    {
        if (const char* rule = broken_text_rule(text)) detail::raise_invalid(errc::invalid_data, std::string{"the checkpoint "} + rule);
        return reported("save_checkpoint", [&](std::error_code& ec) { return save_checkpoint(text, ec); });
    }
    /// The same, reported in `ec`: does not throw.
    bool save_checkpoint(std::string_view text, std::error_code& ec) & noexcept
    {
        if (!may_write(ec)) return false;
        if (broken_text_rule(text)) ec = errc::invalid_data;
        bool saved = false;
        if (!ec)
            detail::catch_into(ec, [&] {
                if (!is_open(ec) && state_ != state::completed) return;
                fire_record record = record_;
                record.text = text;
                saved = write(std::move(record), ec, true);
            });
        return saved;
    }

    /// What this run or an earlier one has saved with save_checkpoint(); empty if nothing ever was, or the run is empty. No I/O.
    [[nodiscard]] std::optional<std::string> load_checkpoint() const&
    {
        return guard_.empty() ? std::nullopt : record_.text;
    }
    /// The same, reported in `ec`: does not throw. The error is that there is no memory.
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const& noexcept
    {
        std::optional<std::string> text;
        ec.clear();
        detail::catch_into(ec, [&] { text = load_checkpoint(); });
        return text;
    }

    /// Releases the lease. If the fire is not completed, it is open at once. Does I/O; throws like lease_guard::release().
    release_outcome release() { return guard_.release(); }
    /// The same, reported in `ec`: does not throw.
    release_outcome release(std::error_code& ec) noexcept { return guard_.release(ec); }

    explicit operator bool() const&& = delete;  ///< a temporary run has released: name it
    bool held() const&& = delete;  ///< a temporary run has released: name it
    duration remaining() const&& = delete;  ///< a temporary run has released: name it
    bool empty() const&& = delete;  ///< a temporary run has released: name it
    fencing_token token() const&& = delete;  ///< a temporary run has released: name it
    std::string_view name() const&& = delete;  ///< a temporary run has released: name it
    std::string_view owner() const&& = delete;  ///< a temporary run has released: name it
    void store() const&& = delete;  ///< a temporary run has released: name it
    std::stop_token stop_token() const&& = delete;  ///< a temporary run has released: name it
    std::error_code renewal_error() const&& = delete;  ///< a temporary run has released: name it
    void ensure_held() const&& = delete;  ///< a temporary run has released: name it
    const guard_type& guard() const&& = delete;  ///< a temporary run has released: name it
    fire_time fire() const&& = delete;  ///< a temporary run has released: name it
    int attempt() const&& = delete;  ///< a temporary run has released: name it
    bool completed() const&& = delete;  ///< a temporary run has released: name it
    bool handover_requested() const&& = delete;  ///< a temporary run has released: name it
    std::string handover_reason() const&& = delete;  ///< a temporary run has released: name it
    std::stop_token handover_token() const&& = delete;  ///< a temporary run has released: name it
    std::optional<std::string> load_checkpoint() const&& = delete;  ///< a temporary run has released: name it
    std::optional<std::string> load_checkpoint(std::error_code&) const&& = delete;  ///< a temporary run has released: name it
    bool renew() && = delete;  ///< a temporary run has released: name it
    bool renew(std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool renew(duration) && = delete;  ///< a temporary run has released: name it
    bool renew(duration, std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool publish(std::string_view) && = delete;  ///< a temporary run has released: name it
    bool publish(std::string_view, std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool save_checkpoint(std::string_view) && = delete;  ///< a temporary run has released: name it
    bool save_checkpoint(std::string_view, std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool complete() && = delete;  ///< a temporary run has released: name it
    bool complete(std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool complete(auto&&) && = delete;  ///< a temporary run has released: name it
    bool complete(auto&&, std::error_code&) && = delete;  ///< a temporary run has released: name it
    bool fail() && = delete;  ///< a temporary run has released: name it
    bool fail(std::error_code&) && = delete;  ///< a temporary run has released: name it

private:
    template <lease_store Store, schedule Schedule, lease_clock Clock, owner_id OwnerId, renew_policy RenewPolicy>
    friend class recurring;
    template <class Recurring>
    friend struct detail::recurring_access;
    friend detail::run_access;
    using book_type = detail::fire_book_of<Lease>;

    enum class state : std::uint8_t {
        open,
        failed,  // and that is noted
        completed,
        in_transaction  // of the user's: completed when that is committed
    };

    recurring_run(std::shared_ptr<book_type> book, guard_type guard, fire_record record, detail::fire_step step) noexcept
        : book_{std::move(book)}, guard_{std::move(guard)}, record_{std::move(record)}, step_{step}
    {
    }

    static const char* broken_text_rule(std::string_view text) noexcept
    {
        return text.size() > max_run_checkpoint_bytes ? "is longer than the 2800 bytes that are allowed in a run"
                                                      : detail::broken_encoding_rule(text);
    }
    static_assert(max_run_checkpoint_bytes == 2800, "the message above names the limit");

    // False also if the lease is lost, without an error.
    bool may_write(std::error_code& ec) const noexcept
    {
        ec = guard_.empty() ? make_error_code(errc::not_held) : std::error_code{};
        return guard_.held();
    }

    // See complete(ec), without the hooks.
    bool complete_untold(std::error_code& ec) noexcept
    {
        const bool may = may_write(ec);
        if (ec) return false;
        if (!may || state_ == state::completed) return state_ == state::completed;
        bool done = false;
        detail::catch_into(ec, [&] {
            book_->completes(step_.fire);
            done = write(detail::completed(record_, step_.fire, book_->now_at_hand(), guard_.owner()), ec);
        });
        if (done) state_ = state::completed;
        return done;
    }

    // See fail(ec), without the hook.
    bool fail(bool& given_up, std::error_code& ec) noexcept
    {
        if (!may_write(ec)) return false;
        bool noted = false;
        detail::catch_into(ec, [&] {
            if (state_ == state::completed || !is_open(ec)) return;
            noted = write(detail::failed(record_, book_->rules(), step_, book_->now_at_hand()), ec);
        });
        if (noted) state_ = state::failed;
        given_up = noted && !record_.open;
        std::error_code ignored;
        guard_.release(ignored);
        return noted;
    }

    // Nobody has worked under the run: an attempt that was noted for it does not count. The fire stays noted as one that was tried, so that
    // catch_up::none does not find it too late.
    void never_begun() noexcept
    {
        if (!held() || state_ != state::open || !record_.open) return;
        if (record_.open->fire != step_.fire || record_.open->attempts != step_.attempt) return;
        std::error_code ignored;
        detail::catch_into(ignored, [&] {
            fire_record record = record_;
            --record.open->attempts;
            write(std::move(record), ignored);
        });
    }

    // After complete(connection) only the store knows whether the transaction was committed.
    bool is_open(std::error_code& ec)
    {
        if (state_ != state::in_transaction) return state_ == state::open;
        std::optional<fire_record> record = book_->look_up(guard_.token(), ec);
        if (!record) return false;
        const bool committed = record->last && record->last->fire == step_.fire;
        if (committed && !guard_.empty()) book_->knows_up_to(guard_.token(), *record);
        record_ = std::move(*record);
        state_ = committed ? state::completed : state::open;
        return !committed;
    }

    // Whether it is noted what has become of the fire.
    [[nodiscard]] bool settled() const noexcept { return state_ == state::completed || state_ == state::failed; }

    bool write(fire_record record, std::error_code& ec, bool saves_text = false)
    {
        const bool written = book_->write(guard_.token(), record_, record, ec, saves_text);
        if (written) record_ = std::move(record);
        return written;
    }

    template <class Save>
    bool in_transaction(Save save)
    {
        if (guard_.empty()) detail::raise_invalid(errc::not_held, "the run is empty");
        if (state_ == state::completed || !guard_.held()) return false;
        fire_record record = detail::completed(record_, step_.fire, book_->now_at_hand(), guard_.owner());
        book_->sign(record);
        book_->forget();  // whether it is written is known only after the commit
        book_->completes(step_.fire);
        if (!save(to_text(record))) return false;
        if (state_ == state::in_transaction && !was_rolled_back()) return false;
        state_ = state::in_transaction;
        return true;
    }

    // The transaction that was to complete the fire before this one. This one has the row by now, so that one has ended.
    bool was_rolled_back()
    {
        std::error_code ec;
        const bool open = is_open(ec);
        if (ec) detail::raise_store_failure(book_->store(), ec, "complete", book_->name());
        return open;
    }

    template <class Call>
    bool reported(std::string_view operation, Call call)
    {
        if (guard_.empty()) detail::raise_invalid(errc::not_held, "the run is empty");
        const auto kept = book_;
        std::error_code ec;
        const bool result = call(ec);
        if (ec) detail::raise_store_failure(kept->store(), ec, operation, kept->name());
        return result;
    }

    std::shared_ptr<book_type> book_;
    guard_type guard_;  // destroyed first: it releases
    fire_record record_;
    detail::fire_step step_;
    state state_ = state::open;
};

}  // namespace leasehold::inline v0

#endif
