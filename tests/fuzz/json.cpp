// SPDX-License-Identifier: BSL-1.0
// What the command writes as JSON, another parser reads back to the same texts. Input: name, owner, token, milliseconds, whether
// there are data and a request (choices), data; then the reason of the request.
#include "fuzz.hpp"
#include "targets.hpp"

#include <json.hpp>
#include <records.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace lh = leasehold;

// Each byte that is no UTF-8 is one U+FFFD.
std::string repaired(std::string_view text)
{
    std::string result;
    while (!text.empty()) {
        std::size_t length = 1;
        while (length < 4 && length < text.size() && !fuzz::is_utf8(text.substr(0, length))) ++length;
        const bool right = fuzz::is_utf8(text.substr(0, length));
        result += right ? text.substr(0, length) : std::string_view{"\xEF\xBF\xBD"};
        text.remove_prefix(right ? length : 1);
    }
    return result;
}

nlohmann::json parsed(std::string_view text)
{
    nlohmann::json result = nlohmann::json::parse(text, nullptr, false);
    fuzz::require(!result.is_discarded(), "another parser reads it", text);
    return result;
}

void is_the_same(const nlohmann::json& read, const lh::lease_record& written)
{
    fuzz::require(read.at("name") == repaired(written.name), "the name is read back", written.name);
    const bool hold = written.is_hold(), count = written.is_count();
    fuzz::require(written.owner.empty() || hold ? read.at("owner").is_null() : read.at("owner") == repaired(written.owner),
                  "the owner is read back", written.owner);
    fuzz::require(hold ? read.at("hold") == repaired(written.hold_reason()) : !read.contains("hold"), "the reason of a hold is read back",
                  written.owner);
    fuzz::require(count ? read.at("is_count") == true : !read.contains("is_count"), "a count is told apart", written.owner);
    fuzz::require(read.at("token").get<std::int64_t>() == written.token.value(), "the token is read back", read.dump());
    fuzz::require(read.at("remaining_ms").get<std::int64_t>() ==
                      std::chrono::duration_cast<std::chrono::milliseconds>(written.remaining).count(),
                  "the time is read back", read.dump());
    fuzz::require(written.data.empty() ? !read.contains("data") : read.at("data") == repaired(written.data),
                  "the data is read back", written.data);
    fuzz::require(written.handover_request ? read.at("asked") == repaired(*written.handover_request)
                                           : !read.contains("asked"),
                  "the request is read back", read.dump());
    const std::size_t more = (hold ? 1U : 0U) + (count ? 1U : 0U) + (written.data.empty() ? 0U : 1U) + (written.handover_request ? 1U : 0U);
    fuzz::require(read.size() == 4U + more, "nothing else is there", read.dump());
}

}  // namespace

void fuzz::json(std::string_view input)
{
    reader in{input};
    lh::lease_record record{std::string{in.line()}, std::string{in.line()}, lh::fencing_token{}, {}};
    record.token = lh::fencing_token{in.number()};
    record.remaining = lh::duration{in.number()};
    const bool data = in.choice(2) == 1, request = in.choice(2) == 1;
    if (const std::string_view text = in.line(); data) record.data = text;
    if (request) record.handover_request = std::string{in.rest()};

    const std::string one = tool::to_json(record);
    require(is_harmless(one), "JSON is shown without controls", one);
    is_the_same(parsed(one), record);
    const std::vector<lh::lease_record> records{record, {"job", "me", lh::fencing_token{1}, {}}, record};
    const nlohmann::json all = parsed(tool::to_json(records));
    require(all.size() == records.size(), "no record is lost", all.dump());
    for (std::size_t i = 0; i < records.size(); ++i) is_the_same(all.at(i), records[i]);
    require(parsed(tool::json_string(input)) == repaired(input), "any text is read back", input);
}
