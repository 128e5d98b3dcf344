// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_RECORD_HPP
#define LEASEHOLD_TESTS_BENCHMARKS_HAND_OVER_RECORD_HPP

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace hand_over {

/// Nanoseconds of the monotonic clock, which is one clock for all processes of a host.
inline std::int64_t now()
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline constexpr std::size_t max_takers = 64;
inline constexpr std::size_t max_samples = 4096;
/// A term takes a millisecond at least, and a run less than half a minute.
inline constexpr std::size_t max_terms = 32'768;

/// A taker's term: when it asked for it and had it, and when it gave it back.
struct term {
    std::size_t taker = 0;
    std::int64_t token = 0;
    std::int64_t asked = 0, got = 0, releasing = 0, released = 0;  ///< ns
    bool was_held = false;                                         ///< what the release said
};

/// What all takers of a run write, in memory that their processes share.
struct record {
    struct alignas(64) taker {
        std::atomic<std::int64_t> grants;
        std::atomic<std::int64_t> longest_wait;  ///< ns
        std::atomic<std::int64_t> got_at;        ///< when it last became the holder
    };

    std::atomic<std::int64_t> connected;  ///< takers that wait for the first time, before the run
    std::atomic<std::int64_t> ready;      ///< takers that are about to begin
    std::atomic<bool> begin;
    std::atomic<std::int64_t> began;      ///< when
    std::atomic<bool> stop;
    std::atomic<std::int64_t> released;  ///< when the last holder began to release; 0: somebody has taken it since
    std::atomic<std::int64_t> samples;
    std::array<std::atomic<std::int64_t>, max_samples> took;      ///< ns from released to taken
    std::array<std::atomic<std::size_t>, max_samples> taken_by;  ///< by which taker
    std::array<taker, max_takers> takers;
    std::atomic<std::size_t> terms_ended;
    std::array<term, max_terms> terms;

    void add(const term& ended)
    {
        const std::size_t place = terms_ended.fetch_add(1);
        if (place < max_terms) terms[place] = ended;
    }

    void add(std::int64_t ns, std::size_t by)
    {
        const auto place = static_cast<std::size_t>(samples.fetch_add(1));
        if (place >= max_samples) return;
        took[place] = ns;
        taken_by[place] = by;
    }
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free, "shared between processes");

/// A record in a file, for as long as this object lives.
class shared_record {
public:
    explicit shared_record(const std::filesystem::path& file)
    {
        const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT, 0600);
        if (descriptor < 0) throw std::system_error{errno, std::generic_category(), file.string()};
        if (::ftruncate(descriptor, sizeof(record)) != 0) throw std::system_error{errno, std::generic_category(), file.string()};
        void* const at = ::mmap(nullptr, sizeof(record), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        const int failed = errno;
        ::close(descriptor);
        if (at == MAP_FAILED) throw std::system_error{failed, std::generic_category(), file.string()};
        record_ = static_cast<record*>(at);  // a new file's zeroes are a record that nothing has happened in
    }
    shared_record(const shared_record&) = delete;
    shared_record& operator=(const shared_record&) = delete;
    ~shared_record() { ::munmap(record_, sizeof(record)); }

    record& operator*() const noexcept { return *record_; }
    record* operator->() const noexcept { return record_; }

private:
    record* record_ = nullptr;
};

}  // namespace hand_over

#endif
