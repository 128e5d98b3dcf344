// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SIMULATION_PERMIT_JUDGE_HPP
#define LEASEHOLD_TESTS_SIMULATION_PERMIT_JUDGE_HPP

#include "message.hpp"
#include "several.hpp"
#include "world.hpp"

#include <leasehold/detail/agreed_count.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace sim {

// What must be true of permits whose count changes, judged by the record in the store and by what the processes believe and were told.
class permit_judge {
    using record = leasehold::detail::agreed_count;

public:
    static constexpr int name = 2;  // of lease_names

    // What each process makes may say so many permits.
    permit_judge(world& of, std::size_t most) : world_{of}, limit_{most} {}

    // So many permits that a process holds, from after they were granted until before they are released.
    class belief {
    public:
        template <class Guard>
        belief(permit_judge& all, const process& of, const Guard& got, std::size_t size)
            : all_{all}, of_{of}, held_{[&got] { return got.held(); }}, size_{size}
        {
            all_.all_.push_back(this);
            all_.check();
        }
        belief(const belief&) = delete;
        belief& operator=(const belief&) = delete;
        ~belief() { std::erase(all_.all_, this); }

        [[nodiscard]] std::size_t held() const { return !of_.dead && held_() ? size_ : 0; }

    private:
        permit_judge& all_;
        const process& of_;
        std::function<bool()> held_;
        std::size_t size_;
    };

    // After each step. A record that is away for a moment, between two statements of a change, allows what it did before. So does one that
    // has fallen back: somebody who has not heard of a change has written it in that moment.
    void check()
    {
        if (const auto found = in_store(); found && found->change >= change_) {
            change_ = found->change;
            limit_ = found->limit();
            changing_ = found->changing();
        }
        std::size_t held = 0;
        for (const belief* each : all_) held += each->held();
        if (held > limit_ && changing_) broken("never more permits than the larger of two counts", held);
        if (held > limit_ && !changing_) broken("never more permits than the count that is agreed", held);
    }

    // What a process was told. ---------------------------------------------------------------------------------------------------------
    // It has asked for so many permits, and got these.
    void took(const process& of, std::size_t wanted, const std::vector<std::size_t>& got)
    {
        const std::set<std::size_t> different{got.begin(), got.end()};
        if (got.size() != wanted || different.size() != wanted)
            world_.fail("so many permits or none", of.label + " got " + std::to_string(different.size()) + " of " + std::to_string(wanted));
    }

    // It holds nothing, and got nothing of what it has asked for.
    void took_none(const process& of, int owner)
    {
        if (!world_.planned.calm) return;
        for (const char* each : {"pool/0", "pool/1", "pool/2", "pool/3"}) {
            const row_view row = world_.db.look(number_of_name(each));
            if (row.live && row.owner == owner)
                world_.fail("so many permits or none", of.label + " got nothing, and still has '" + each + "'");
        }
    }

    void lost(const process& of)
    {
        if (world_.planned.calm && !world_.time.draining())
            world_.fail("no permit is taken away", of.label + " has lost its permits although nothing has gone wrong");
    }

    void refused(const process& of)
    {
        world_.fail("who has agreed on a count is not refused", of.label + " is told that the record says another count");
    }

    // `done`: without an error. With one, the count may have changed or not.
    void resized(std::size_t to, bool done)
    {
        asked_.insert(to);
        changed_ = changed_ || done;
    }

    // Long after the last fault. -------------------------------------------------------------------------------------------------------
    void never_got(const process& of, const std::string& why)
    {
        world_.fail("a permit is had in the end", of.label + " got none: " + why);
    }

    // A process has got as many permits as it knows of; or could not.
    [[nodiscard]] bool is_final(std::size_t got) const
    {
        const auto found = in_store();
        return found && !found->changing() && found->count == got;
    }
    void never_final(const process& of)
    {
        world_.fail("the count is final in the end", of.label + " never got all of the permits");
    }

    void in_the_end() const
    {
        if (const auto found = in_store(); changed_ && (!found || !asked_.contains(found->count)))
            world_.fail("what resize() has changed stays changed", found ? "the record says " + found->text("permits") : "no record");
    }

    // Stands for who believes now.
    [[nodiscard]] std::uint64_t beliefs() const
    {
        std::uint64_t print = all_.size();
        for (const belief* each : all_) print += each->held();
        return print;
    }

private:
    [[nodiscard]] std::optional<record> in_store() const
    {
        const row_view row = world_.db.look(name);
        if (!row.live || row.owner == nobody) return std::nullopt;
        return record::of(world_.owners[static_cast<std::size_t>(row.owner)], "permits");
    }

    void broken(const char* rule, std::size_t held)
    {
        world_.fail(rule, std::to_string(held) + " permits are held, the record allows " + std::to_string(limit_));
    }

    world& world_;
    std::vector<belief*> all_;
    std::size_t limit_;
    std::size_t change_ = 0;  // the latest that the record has had
    bool changing_ = false;
    std::set<std::size_t> asked_;
    bool changed_ = false;
};

}  // namespace sim

#endif
