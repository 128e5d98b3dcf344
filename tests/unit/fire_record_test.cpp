// SPDX-License-Identifier: BSL-1.0
#include <leasehold/fire_record.hpp>

#include <leasehold/limits.hpp>
#include <leasehold/schedule/concept.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>

BOOST_AUTO_TEST_SUITE(fire_record_test)

namespace lh = leasehold;
using namespace std::chrono_literals;

namespace {

constexpr lh::fire_time night = std::chrono::sys_days{std::chrono::year{2026} / 11 / 25} + 3h;

lh::fire_record whole()
{
    return {.schedule = "every 1d at 3h",
            .made_by = "host-1",
            .passed = night,
            .last = lh::completed_fire{night, night + 41'500ms, "host-2"},
            .open = lh::open_fire{night + 24h, 1, night + 24h + 1min},
            .text = "offset=4711\nopen: no"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(text_is_the_documented_one)
{
    BOOST_TEST(to_text(whole()) ==
               "leasehold fires 1\nschedule: every 1d at 3h\nmade by: host-1\npassed: 2026-11-25T03:00:00Z\nfire: 2026-11-25T03:00:00Z\n"
               "completed: 2026-11-25T03:00:41.5Z\nowner: host-2\nopen: 2026-11-26T03:00:00Z\nattempts: 1\n"
               "not before: 2026-11-26T03:01:00Z\ntext:\noffset=4711\nopen: no");
}

BOOST_AUTO_TEST_CASE(record_that_was_written_is_read_as_it_was)
{
    BOOST_TEST((lh::read_fire_record(to_text(whole())) == whole()));
    const lh::fire_record least{.schedule = "cron * * * * *", .made_by = "x"};
    BOOST_TEST((lh::read_fire_record(to_text(least)) == least));
    lh::fire_record odd = whole();
    odd.made_by = "a\\n\nb: c\\";
    odd.last->owner = "\n";
    odd.last->completed_at = night + 1ns;
    odd.text = "";
    BOOST_TEST((lh::read_fire_record(to_text(odd)) == odd));
    odd.text = "text:\nleasehold fires 2\n";
    BOOST_TEST((lh::read_fire_record(to_text(odd)) == odd));
}

BOOST_AUTO_TEST_CASE(checkpoint_of_another_kind_is_the_text_of_a_record_without_fires)
{
    for (const char* each : {"offset=4711", "", "leasehold"}) {
        const auto record = lh::read_fire_record(each);
        BOOST_REQUIRE(record.has_value());
        BOOST_TEST(record->schedule.empty());
        BOOST_TEST(!record->passed);
        BOOST_TEST(record->text.value() == each);
    }
}

BOOST_AUTO_TEST_CASE(own_text_is_what_the_job_has_saved)
{
    BOOST_TEST(lh::detail::own_text("offset=4711").value() == "offset=4711");
    BOOST_TEST(lh::detail::own_text(to_text(whole())).value() == "offset=4711\nopen: no");
    lh::fire_record no_text = whole();
    no_text.text.reset();
    BOOST_TEST(!lh::detail::own_text(to_text(no_text)));
    BOOST_TEST(lh::detail::own_text("leasehold fires 2\n").value() == "leasehold fires 2\n");
}

BOOST_AUTO_TEST_CASE(record_of_a_later_version_or_a_damaged_one_is_not_read)
{
    for (const char* each :
         {"leasehold fires 2\nschedule: x\n", "leasehold fires 1", "leasehold fires 1\n", "leasehold fires 10\nschedule: x\n"})
        BOOST_TEST(!lh::read_fire_record(each).has_value());
    for (const std::string each : {"passed: yesterday", "passed: 2026-02-30T03:00:00Z", "passed: 2026-11-25T24:00:00Z",
                                   "passed: 2026-11-25T03:00:00", "fire: 2026-11-25T03:00:00Z", "attempts: 1x", "attempts: 99999999999999"})
        BOOST_TEST(!lh::read_fire_record("leasehold fires 1\nschedule: x\n" + each + "\n").has_value());
}

BOOST_AUTO_TEST_CASE(lines_of_a_later_library_are_skipped)
{
    const auto record = lh::read_fire_record("leasehold fires 1\nschedule: x\ncolour: green\nno colon\nmade by: y\n");
    BOOST_REQUIRE(record.has_value());
    BOOST_TEST(record->made_by == "y");
}

BOOST_AUTO_TEST_CASE(longest_record_and_text_fit_a_checkpoint)
{
    lh::fire_record record = whole();
    record.schedule.assign(lh::max_schedule_bytes, 's');
    record.made_by.assign(lh::max_owner_bytes, '\n');
    record.last->owner.assign(lh::max_owner_bytes, '\n');
    for (auto* time : {&*record.passed, &record.last->fire, &record.last->completed_at, &record.open->fire, &record.open->not_before})
        *time += 123456789ns;
    record.open->attempts = 1'000'000'000;
    record.text = std::string(lh::max_run_checkpoint_bytes, 't');
    BOOST_TEST(to_text(record).size() <= lh::max_checkpoint_bytes);
    BOOST_TEST((lh::read_fire_record(to_text(record)).has_value()));
}

BOOST_AUTO_TEST_SUITE_END()
