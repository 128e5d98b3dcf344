// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_LAGGING_READS_HPP
#define LEASEHOLD_TESTS_SUPPORT_LAGGING_READS_HPP

#include <leasehold/store/concept.hpp>
#include <leasehold/store/forwarding_store.hpp>

#include <optional>
#include <string_view>
#include <system_error>

namespace leasehold_test {

/// A store whose next looks at a checkpoint go to a node that lags, and so show what was, term and all.
template <class Store>
struct lagging_reads : leasehold::forwarding_store<Store, lagging_reads<Store>> {
    using leasehold::forwarding_store<Store, lagging_reads<Store>>::forwarding_store;

    std::optional<leasehold::checkpoint_record> checkpoint(std::string_view name, std::error_code& ec)
    {
        return look_at_checkpoint(name, ec).saved;
    }

    leasehold::checkpoint_look look_at_checkpoint(std::string_view name, std::error_code& ec)
    {
        leasehold::checkpoint_look seen = this->underlying().look_at_checkpoint(name, ec);
        if (lagging_looks == 0) return seen;
        --lagging_looks;
        was.now = seen.now;
        return was;
    }

    leasehold::checkpoint_look was{};
    int lagging_looks = 0;
};

}  // namespace leasehold_test

#endif
