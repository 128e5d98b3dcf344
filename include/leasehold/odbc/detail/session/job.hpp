// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_SESSION_JOB_HPP
#define LEASEHOLD_ODBC_DETAIL_SESSION_JOB_HPP

#include <leasehold/odbc/detail/flow/batch_flow.hpp>
#include <leasehold/odbc/detail/flow/fault.hpp>
#include <leasehold/odbc/detail/flow/flow.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace leasehold::inline v0::odbc::detail {

class session;

// Texts for the statements of a call: views of the caller's arguments, which a session copies before the caller can leave.
struct call_texts {
    std::string_view name{};
    std::string_view owner{};
    std::string_view data{};
    std::string_view checkpoint{};
    std::string_view replaced{};  // the checkpoint that is to be there
    std::optional<std::string_view> wakes{};  // of an attempt: see term_request. No session copies it
};

// What a job has to do with the session lock of a name.
enum class lock_use : std::uint8_t { none, waits, takes, gives_back };

// How a session treats a job.
struct job_traits {
    lock_use lock = lock_use::none;
    bool uses_table = true;        // false: it creates the table, checks it as a whole, or has nothing to do with it
    bool repeats_if_locked = true;  // tries again after a lock time-out
    std::int64_t ends_token = 0;   // ends the term with this token
};

// One attempt of a job at a name. `answer`: null if there is none.
struct job_attempt {
    std::string_view name, owner, wakes;
    const grant_answer* answer;
};

// A session has room for a job of this size, so that to begin a call allocates nothing.
inline constexpr std::size_t largest_job = 320;

// What a call does on a session, with copies of its arguments, and its result. The session keeps a copy, which is abandoned with it.
class job {
public:
    explicit job(job_traits how) noexcept : traits{how} {}
    job& operator=(const job&) = delete;
    virtual ~job() = default;

    // Tries once. `repeated`: a try before may have done it, with the reply lost.
    virtual fault try_once(session& on, bool repeated) = 0;
    // After conflicts for long enough: whether the rows can be read, and show that an attempt is busy. Then that is the result.
    virtual bool read_as_busy(session&) { return false; }

    // The attempts that it makes. `texts`: those of the call.
    [[nodiscard]] virtual item_number attempts_made() const noexcept { return 0; }
    [[nodiscard]] virtual job_attempt attempt(item_number, const call_texts&) const noexcept { return {}; }

    // Copies it to a place of largest_job bytes.
    virtual job* copy_to(void* place) const noexcept = 0;
    // Moves the result here from the copy that a session has carried out.
    virtual void take_result(job& done) noexcept = 0;

    const job_traits traits;

protected:
    job(const job&) = default;
};

template <class Derived, class Result>
class job_with_result : public job {
public:
    using job::job;

    job* copy_to(void* place) const noexcept override
    {
        static_assert(sizeof(Derived) <= largest_job && alignof(Derived) <= alignof(std::max_align_t));
        return ::new (place) Derived(static_cast<const Derived&>(*this));
    }
    void take_result(job& done) noexcept override { result = std::move(static_cast<job_with_result&>(done).result); }

    Result result{};
};

template <class Returned>
struct result_in {
    static_assert(sizeof(Returned) == 0, "a step returns an outcome<T>");
};
template <class T>
struct result_in<outcome<T>> {
    using type = T;
};
// The type of a step's result.
template <class Step>
using result_of = typename result_in<std::invoke_result_t<Step&, session&, bool>>::type;

// A job that is a step: a function outcome<T>(session& on, bool repeated).
template <class Step>
class job_of final : public job_with_result<job_of<Step>, result_of<Step>> {
public:
    explicit job_of(Step step, job_traits how = {}) noexcept : job_with_result<job_of, result_of<Step>>{how}, step_{std::move(step)} {}

    fault try_once(session& on, bool repeated) override
    {
        auto came_to = step_(on, repeated);
        this->result = std::move(*came_to);
        return came_to.failed();
    }

private:
    static_assert(std::is_nothrow_copy_constructible_v<Step>,
                  "a step captures numbers and shared pointers: the session copies texts that stand in call_texts");

    Step step_;
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
