// SPDX-License-Identifier: BSL-1.0
// Readers and writers of two processes that wait for each other without threads, on real databases.
#include <asio/stores/scene.hpp>
#include <contract/asked_once.hpp>


using namespace leasehold_test;

namespace {

using shared = lh::shared_lease<lh::odbc_store>;
using writer_guard = shared::guard_type;
using reader_guard = shared::shared_guard_type;
using several_readers = a_writer;  // what it says of the rows: a gate and four shares

template <class Database>
struct readers_and_writers : two_processes<Database> {
    const std::string name = new_name();
    shared ours = several_readers::on(this->mine, name, terms), others = several_readers::on(this->theirs, name, terms);

    [[nodiscard]] std::size_t taken() { return rows_taken<several_readers>(this->theirs, name); }
    // Whether a writer has the gate and all shares that readers don't have, and waits for those.
    [[nodiscard]] bool writer_waits()
    {
        return eventually([&] { return this->waiting() == 1 && taken() == several_readers::own_rows; });
    }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(asio_shared_on_stores)

BOOST_AUTO_TEST_CASE_TEMPLATE(a_waiting_writer_goes_before_new_readers_of_other_processes_and_after_old_ones, Database, databases)
{
    readers_and_writers<Database> s;
    auto first = s.others.acquire_shared(), second = s.others.acquire_shared();
    recorder<writer_guard> writes;
    recorder<reader_guard> reads;
    lh::async_acquire(s.ours, writes.on(s.io.context));
    BOOST_TEST_REQUIRE(s.writer_waits());
    BOOST_TEST(is_empty(s.others.try_acquire_shared()));
    lh::async_acquire_shared(s.others, reads.on(s.io.context));
    first.release();
    BOOST_TEST(!writes.called(50ms));
    second.release();
    auto writer = writes.get();
    BOOST_TEST((!writer.ec && writer.result.held()));
    BOOST_TEST(!reads.called(20ms));
    writer.result.release();
    const auto reader = reads.get();
    BOOST_TEST((!reader.ec && reader.result.held()));
    BOOST_TEST(s.taken() == 1u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cancelled_writer_lets_the_readers_in_that_waited_for_it, Database, databases)
{
    readers_and_writers<Database> s;
    const auto reader = s.others.acquire_shared();
    cancellation slots;
    recorder<writer_guard> writes;
    recorder<reader_guard> reads;
    lh::async_acquire(s.ours, slots.on(writes.on(s.io.context)));
    BOOST_TEST_REQUIRE(s.writer_waits());
    lh::async_acquire_shared(s.others, reads.on(s.io.context));
    BOOST_TEST(!reads.called(50ms));
    slots.cancel(s.io.context);
    const auto end = writes.get();
    BOOST_TEST(end.ec == aborted);
    BOOST_TEST(end.result.empty());
    const auto second = reads.get();
    BOOST_TEST((!second.ec && second.result.held()));
    BOOST_TEST(s.taken() == 2u, "the gate and the other shares are free");
    BOOST_TEST(is_held(s.others.try_acquire_shared()));
    BOOST_TEST(s.nobody_waits());
}

BOOST_AUTO_TEST_SUITE_END()
