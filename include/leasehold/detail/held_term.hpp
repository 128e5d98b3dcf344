// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_HELD_TERM_HPP
#define LEASEHOLD_DETAIL_HELD_TERM_HPP

#include <leasehold/detail/catch_into.hpp>
#include <leasehold/detail/checkpoint_since.hpp>
#include <leasehold/detail/store_failure.hpp>
#include <leasehold/duration.hpp>
#include <leasehold/error.hpp>
#include <leasehold/fencing_token.hpp>
#include <leasehold/release_outcome.hpp>
#include <leasehold/renewal/keeper_handle.hpp>
#include <leasehold/renewal/term.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/store/concept.hpp>

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace leasehold::inline v0::detail {

// One term, which a guard holds. A copy refers to the same term, also after the guard has gone.
template <class Keeper>
class held_term {
public:
    using kept_in = typename Keeper::store_type;
    using handle_type = renewal::keeper_handle<Keeper>;
    static constexpr bool is_one_term = true;

    held_term() noexcept = default;
    held_term(handle_type handle, std::shared_ptr<renewal::term> term) noexcept : handle_{std::move(handle)}, term_{std::move(term)} {}

    [[nodiscard]] bool empty() const noexcept { return !term_; }
    [[nodiscard]] duration remaining() const noexcept { return term_ ? term_->remaining(keeper().clock()) : duration::zero(); }
    [[nodiscard]] fencing_token token() const noexcept { return term_ ? term_->token : fencing_token{}; }
    [[nodiscard]] std::string_view name() const noexcept { return term_ ? std::string_view{keeper().name()} : std::string_view{}; }
    [[nodiscard]] std::string_view owner() const noexcept { return term_ ? std::string_view{keeper().owner()} : std::string_view{}; }
    [[nodiscard]] kept_in* store() const noexcept { return term_ ? std::addressof(keeper().store()) : nullptr; }
    [[nodiscard]] std::stop_token stop_token() const { return term_ ? keeper().stop_token(term_) : std::stop_token{}; }
    [[nodiscard]] std::error_code renewal_error() const noexcept { return term_ ? keeper().renewal_error(term_) : std::error_code{}; }
    [[nodiscard]] bool handover_requested() const noexcept { return term_ && keeper().handover_requested(term_); }
    [[nodiscard]] std::string handover_reason() const { return term_ ? keeper().handover_reason(term_) : std::string{}; }
    [[nodiscard]] std::stop_token handover_token() const { return term_ ? keeper().handover_token(term_) : std::stop_token{}; }
    // The threads that serve the lease; null if there is no term.
    [[nodiscard]] auto engine() const { return term_ ? keeper().serving_engine() : nullptr; }

    // Of a term that there is:
    [[nodiscard]] Keeper& keeper() const noexcept { return *handle_; }
    [[nodiscard]] const std::shared_ptr<renewal::term>& term() const noexcept { return term_; }
    [[nodiscard]] std::string_view name_of_loss() const noexcept { return name(); }
    [[nodiscard]] const char* broken_rule(duration ttl) const { return keeper().broken_rule(ttl); }
    bool extend(std::optional<duration> ttl, std::error_code& ec) noexcept { return keeper().extend(term_, ttl, ec); }
    // A function that extends the term, also after the guard has gone.
    [[nodiscard]] auto extension() const
    {
        return [kept = *this](std::optional<duration> ttl, std::error_code& ec) mutable { return kept.extend(ttl, ec); };
    }
    bool publish(std::string_view data, std::error_code& ec) noexcept
    {
        bool published = false;
        if (remaining() > duration::zero())
            catch_into(ec, [&] { published = keeper().store().publish(name(), owner(), token(), data, ec); });
        return published && !ec;
    }
    bool save_checkpoint(std::string_view text, std::error_code& ec) noexcept
    {
        bool saved = false;
        if (remaining() > duration::zero())
            catch_into(ec, [&] { saved = keeper().store().save_checkpoint(name(), owner(), token(), text, ec); });
        return saved && !ec;
    }
    [[nodiscard]] std::optional<std::string> load_checkpoint(std::error_code& ec) const noexcept
    {
        std::optional<std::string> text;
        catch_into(ec, [&] {
            if (auto saved = checkpoint_since(keeper().store(), name(), token(), ec); saved && !ec) text = std::move(saved->text);
        });
        return text;
    }
    release_outcome end(std::error_code& ec) noexcept { return keeper().end(std::exchange(term_, nullptr), ec); }
    void drop() noexcept
    {
        std::error_code ignored;
        end(ignored);
    }
    // Ends the term in this process alone. `reason`: why the store is not asked.
    void leave(std::error_code reason = {}) noexcept
    {
        const auto left = std::exchange(term_, nullptr);
        static_cast<void>(keeper().end_here(left));
        keeper().has_ended(left, release_outcome::unknown, reason);
    }
    // Nobody works under the term any more, or it was not worked under as it should: it does not keep its name closed.
    void forget_min_hold() const noexcept
    {
        if (term_) keeper().forget_min_hold(term_);
    }
    [[noreturn]] void raise_failure(std::error_code ec, std::string_view operation) const
    {
        raise_store_failure(keeper().store(), ec, operation, keeper().name());
    }

private:
    handle_type handle_;
    std::shared_ptr<renewal::term> term_;
};

}  // namespace leasehold::inline v0::detail

#endif
