// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ASIO_DETAIL_ERROR_CODES_HPP
#define LEASEHOLD_ASIO_DETAIL_ERROR_CODES_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/asio/detail/net.hpp>
#include <leasehold/error.hpp>

#include <concepts>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <type_traits>

namespace leasehold::inline v0 {
namespace detail {

/// What a cancelled operation reports.
inline std::error_code aborted() noexcept
{
    return net_error_code{net::error::operation_aborted};
}

#ifndef LEASEHOLD_STANDALONE_ASIO

inline constexpr bool boost_knows_std_errors = std::constructible_from<net_error_code, std::error_code>;

/// Boost before 1.76 can't make its error codes from those of the standard library.
class boost_category final : public boost::system::error_category {
public:
    explicit boost_category(const std::error_category& of) noexcept : of_{of} {}
    [[nodiscard]] const char* name() const noexcept override { return of_.name(); }
    [[nodiscard]] std::string message(int value) const override { return of_.message(value); }

    /// The same for the same category, and never destroyed. May throw std::bad_alloc.
    static const boost_category& of(const std::error_category& wanted)
    {
        static std::mutex mutex;
        static auto& known = *new std::map<const std::error_category*, std::unique_ptr<const boost_category>>;
        const std::lock_guard lock{mutex};
        auto& found = known[&wanted];
        if (!found) found = std::make_unique<const boost_category>(wanted);
        return *found;
    }

    [[nodiscard]] const std::error_category& wrapped() const noexcept { return of_; }

private:
    const std::error_category& of_;
};

#endif

/// As the handlers of Asio's own tokens get it.
inline net_error_code to_net(const std::error_code& ec)
{
#ifdef LEASEHOLD_STANDALONE_ASIO
    return ec;
#else
    if (!ec) return {};
    if (ec.category() == std::system_category()) return {ec.value(), boost::system::system_category()};
    if (ec.category() == std::generic_category()) return {ec.value(), boost::system::generic_category()};
    const auto convert = [](const auto& code) -> net_error_code {
        if constexpr (boost_knows_std_errors)
            return code;
        else
            return {code.value(), boost_category::of(code.category())};
    };
    return convert(ec);
#endif
}

/// A plain function gets a std::error_code. Asio's own tokens (use_awaitable, use_future and others) get Asio's, which they turn
/// into exceptions.
template <class Token, class... Results>
using error_code_for =
    std::conditional_t<std::invocable<std::decay_t<Token>, std::error_code, Results...>, std::error_code, net_error_code>;

template <class Error>
Error error_as(const std::error_code& ec)
{
    if constexpr (std::same_as<Error, std::error_code>)
        return ec;
    else
        return to_net(ec);
}

}  // namespace detail

#ifndef LEASEHOLD_STANDALONE_ASIO
/// Compares an error code of Boost, as in an exception of a coroutine, with one of the library. With Boost before 1.76, no
/// conversion to a std::error_code keeps them equal.
template <std::same_as<boost::system::error_code> Error>
    requires(!std::constructible_from<Error, std::error_code>)
[[nodiscard]] bool operator==(const Error& a, errc b) noexcept
{
    const auto* const wrapped = dynamic_cast<const detail::boost_category*>(&a.category());
    return wrapped && std::error_code{a.value(), wrapped->wrapped()} == b;
}
#endif

}  // namespace leasehold::inline v0

#endif
