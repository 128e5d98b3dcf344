// error: this store keeps no checkpoints, where fires are recorded: it has to be a checkpointing_store
// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

namespace lh = leasehold;

struct my_store {
    lh::acquire_result try_acquire(std::string_view, std::string_view, lh::duration, std::error_code&);
    bool renew(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    bool release(std::string_view, std::string_view, lh::fencing_token, lh::duration, std::error_code&);
    std::optional<lh::lease_record> inspect(std::string_view, std::error_code&);
    lh::store_time now(std::error_code&);
#ifdef LEASEHOLD_COMPILE_OK
    bool save_checkpoint(std::string_view, std::string_view, lh::fencing_token, std::string_view, std::error_code&);
    std::optional<lh::checkpoint_record> checkpoint(std::string_view, std::error_code&);
#endif
};

void use(my_store& store)
{
    lh::recurring nightly{store, "report", lh::every{}};
    auto run = nightly.try_begin();
    run.complete();
}
