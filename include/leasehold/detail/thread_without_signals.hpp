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

// Starts every thread of the library. The thread blocks the signals that are sent to the program, since their handlers are
// for the program's own threads. It does not block signals that it causes itself, for crash handlers, sandboxes and
// profilers.
template <class Function>
std::thread thread_without_signals(Function&& function)
{
#if defined(__unix__) || defined(__APPLE__)
    struct signals_blocked {
        signals_blocked()
        {
            sigset_t sent;
            sigfillset(&sent);
            for (const int caused : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF})
                sigdelset(&sent, caused);
            pthread_sigmask(SIG_BLOCK, &sent, &before);
        }
        ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
        sigset_t before;
    } const for_the_new_thread;
#endif
    return std::thread{std::forward<Function>(function)};
}

}  // namespace leasehold::inline v0::detail

#endif
