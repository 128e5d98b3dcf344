// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_DETAIL_RUN_ACCESS_HPP
#define LEASEHOLD_DETAIL_RUN_ACCESS_HPP

namespace leasehold::inline v0::detail {

// Lets code that drops a fire's run use more than its public interface.
struct run_access {
    // Nobody has worked under it: no attempt counts. Does I/O.
    template <class Run>
    static auto never_begun(Run& run) noexcept -> decltype(run.never_begun())
    {
        run.never_begun();
    }
};

}  // namespace leasehold::inline v0::detail

#endif
