// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_QUIET_THREAD_HPP
#define LEASEHOLD_DETAIL_QUIET_THREAD_HPP

#include <thread>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <csignal>
#include <pthread.h>
#endif

namespace leasehold::inline v0::detail {

// Starts a thread that receives no signals: the program's handlers are for the program's threads.
template <class Function>
std::thread quiet_thread(Function&& function)
{
#if defined(__unix__) || defined(__APPLE__)
    struct signals_blocked {
        signals_blocked()
        {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
        }
        ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
        sigset_t before;
    } const for_the_new_thread;
#endif
    return std::thread{std::forward<Function>(function)};
}

}  // namespace leasehold::inline v0::detail

#endif
