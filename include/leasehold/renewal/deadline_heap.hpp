// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_DEADLINE_HEAP_HPP
#define LEASEHOLD_RENEWAL_DEADLINE_HEAP_HPP
#ifndef LEASEHOLD_SHOW_WARNINGS
#pragma GCC system_header
#endif

#include <leasehold/duration.hpp>
#include <leasehold/renewal/watched_term.hpp>
#include <leasehold/time_point.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace leasehold::inline v0::renewal {

/// A binary heap of terms by an instant, each at most once. A term knows its place, so it can be moved or removed
/// without a search. All operations take O(log n); it allocates only when it grows. Not thread-safe.
class term_heap {
public:
    /// Which of a term's places it uses: a term can be in one heap of each kind.
    explicit term_heap(watched_term::heap kind) noexcept : kind_{static_cast<std::size_t>(kind)} {}

    [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }
    [[nodiscard]] time_point first_at() const noexcept { return heap_.empty() ? time_point::max() : heap_.front().at; }
    /// Null when empty.
    [[nodiscard]] const watched_term* first() const noexcept { return heap_.empty() ? nullptr : heap_.front().term.get(); }
    [[nodiscard]] bool has(const watched_term& term) const noexcept { return place_of(term) != watched_term::not_queued; }

    /// Makes room for this many terms, so that put() does not throw.
    void reserve(std::size_t terms)
    {
        if (terms > heap_.capacity()) heap_.reserve(std::max(terms, 2 * heap_.capacity()));
    }

    /// Queues `term` for `at`, or moves it there.
    void put(std::shared_ptr<watched_term> term, time_point at)
    {
        std::size_t& place = term->heap_places_[kind_];
        if (place == watched_term::not_queued) {
            heap_.push_back({at, std::move(term)});
            place = heap_.size() - 1;
        }
        heap_[place].at = at;
        sift_down(sift_up(place));
    }

    std::shared_ptr<watched_term> take_first() { return take(0); }

    /// Returns it; null if it was not there.
    std::shared_ptr<watched_term> erase(const watched_term& term) { return has(term) ? take(place_of(term)) : nullptr; }

protected:
    struct entry {
        time_point at;
        std::shared_ptr<watched_term> term;
    };

    [[nodiscard]] const std::vector<entry>& entries() const noexcept { return heap_; }

private:
    [[nodiscard]] std::size_t place_of(const watched_term& term) const noexcept { return term.heap_places_[kind_]; }

    std::shared_ptr<watched_term> take(std::size_t i)
    {
        const std::size_t last = heap_.size() - 1;
        if (i != last) swap_entries(i, last);
        std::shared_ptr<watched_term> term = std::move(heap_.back().term);
        heap_.pop_back();
        if (i != last) sift_down(sift_up(i));
        term->heap_places_[kind_] = watched_term::not_queued;
        return term;
    }

    std::size_t sift_up(std::size_t i)
    {
        for (; i > 0 && heap_[i].at < heap_[(i - 1) / 2].at; i = (i - 1) / 2) swap_entries(i, (i - 1) / 2);
        return i;
    }

    void sift_down(std::size_t i)
    {
        for (;;) {
            std::size_t least = 2 * i + 1;
            if (least >= heap_.size()) return;
            if (least + 1 < heap_.size() && heap_[least + 1].at < heap_[least].at) ++least;
            if (heap_[i].at <= heap_[least].at) return;
            swap_entries(i, least);
            i = least;
        }
    }

    void swap_entries(std::size_t a, std::size_t b)
    {
        std::swap(heap_[a], heap_[b]);
        heap_[a].term->heap_places_[kind_] = a;
        heap_[b].term->heap_places_[kind_] = b;
    }

    std::size_t kind_;
    std::vector<entry> heap_;
};

/// Terms by their next instant. Not thread-safe.
class deadline_heap : private term_heap {
public:
    deadline_heap() noexcept : term_heap{watched_term::heap::instants} {}

    using term_heap::empty, term_heap::first_at, term_heap::reserve;

    /// Queues `term` for `at`, or moves it there. From `early_from` on, each_early() returns it.
    void put(std::shared_ptr<watched_term> term, time_point at, time_point early_from = time_point::max())
    {
        term->wakes_at_.store(at, std::memory_order_relaxed);
        term->early_from_ = early_from;
        term_heap::put(std::move(term), at);
    }

    std::shared_ptr<watched_term> take_first()
    {
        std::shared_ptr<watched_term> term = term_heap::take_first();
        term->wakes_at_.store(time_point::max(), std::memory_order_relaxed);
        return term;
    }

    /// How much earlier than its instant the first term could have gone; zero if it couldn't.
    [[nodiscard]] duration first_lead() const noexcept
    {
        if (empty() || first()->early_from_ >= first_at()) return duration::zero();
        return first_at() - first()->early_from_;
    }

    /// Calls take(term) for up to `most` terms with an instant up to `until` that may go early since `now` or before. The
    /// terms stay in the heap, but are not taken again until they are put again. Looks only at terms before `until`, and is
    /// linear in them.
    template <class Take>
    void each_early(time_point now, time_point until, std::size_t most, Take take)
    {
        const auto within = [&](std::size_t i) { return i < entries().size() && entries()[i].at <= until; };
        for (std::size_t i = 0; within(i) && most != 0; i = next_of_top(i, within)) {
            const std::shared_ptr<watched_term>& term = entries()[i].term;
            if (term->early_from_ > now) continue;
            term->early_from_ = time_point::max();
            take(term);
            --most;
        }
    }

    void erase(const watched_term& term)
    {
        if (const auto erased = term_heap::erase(term)) erased->wakes_at_.store(time_point::max(), std::memory_order_relaxed);
    }

private:
    // The part of a heap up to some instant is a tree with the same root: this walks it in preorder.
    template <class Within>
    std::size_t next_of_top(std::size_t i, Within within) const
    {
        if (within(2 * i + 1)) return 2 * i + 1;
        if (within(2 * i + 2)) return 2 * i + 2;
        for (; i != 0; i = (i - 1) / 2)
            if (i % 2 == 1 && within(i + 1)) return i + 1;
        return entries().size();
    }
};

}  // namespace leasehold::inline v0::renewal

#endif
