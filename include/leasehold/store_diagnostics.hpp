// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_STORE_DIAGNOSTICS_HPP
#define LEASEHOLD_STORE_DIAGNOSTICS_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <string>
#include <utility>

namespace leasehold::inline v0 {

/// The details behind a store's error code.
struct store_diagnostics {
    std::string sqlstate;        ///< five characters, or empty if the store has none
    int native_error = 0;        ///< the database's own error number
    std::string advice;          ///< the store's own words: what went wrong and what to do about it; may be empty
    /// The server's or driver's words, which may repeat what was sent to it. odbc_store hides secrets of the connection
    /// string in it (see there), and escapes control, bidirectional and invisible characters.
    std::string server_message;
};

/// The details of each thread's last failed call of a store, for a diagnosing_store.
///
/// A static object may be destroyed after those of the main thread, and call a store meanwhile: those details are dropped.
class last_failure {
public:
    /// The calling thread's last call of `store` has failed.
    static void keep(const void* store, store_diagnostics details) noexcept
    {
        if (kept* const last = of_this_thread()) *last = {store, std::move(details)};
    }

    /// The details of the last failure that this thread has kept, if it was of `store`. May throw std::bad_alloc.
    [[nodiscard]] static store_diagnostics of(const void* store)
    {
        const kept* const last = of_this_thread();
        return last && last->store == store ? last->details : store_diagnostics{};
    }

private:
    struct kept {
        const void* store = nullptr;
        store_diagnostics details{};
    };

    // Null when the thread's objects have been destroyed.
    static kept* of_this_thread() noexcept
    {
        static thread_local bool gone = false;  // has no destructor, so it can be read until the thread has ended
        struct until_gone : kept {
            ~until_gone() { gone = true; }
        };
        static thread_local until_gone last;
        return gone ? nullptr : &last;
    }
};

}  // namespace leasehold::inline v0

#endif
