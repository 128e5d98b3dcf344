// SPDX-License-Identifier: BSL-1.0
#include <leasehold/leasehold.hpp>

// Another file of the program, which includes what core.cpp imports.
const void* category_of_headers()
{
    return &leasehold::lease_category();
}

leasehold::fencing_token token_of(const leasehold::lease_record& record)
{
    return record.token;
}
