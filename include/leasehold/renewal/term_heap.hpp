// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_RENEWAL_TERM_HEAP_HPP
#define LEASEHOLD_RENEWAL_TERM_HEAP_HPP
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
    [[nodiscard]] bool has(const watched_term& term) const noexcept { return place_of(term) != watched_term::in_heap::nowhere; }

    /// Makes room for this many terms, so that put() does not throw.
    void reserve(std::size_t terms)
    {
        if (terms > heap_.capacity()) heap_.reserve(std::max(terms, 2 * heap_.capacity()));
    }

    /// Queues `term` for `at`, or moves it there.
    void put(std::shared_ptr<watched_term> term, time_point at)
    {
        auto& [place, queued_for] = term->in_heaps_[kind_];
        queued_for.store(at, std::memory_order_relaxed);
        if (place == watched_term::in_heap::nowhere) {
            heap_.push_back({at, std::move(term)});
            place = heap_.size() - 1;
        }
        heap_[place].at = at;
        sift_down(sift_up(place));
    }

    std::shared_ptr<watched_term> take_first() { return take(0); }

    void erase(const watched_term& term)
    {
        if (has(term)) take(place_of(term));
    }

private:
    struct entry {
        time_point at;
        std::shared_ptr<watched_term> term;
    };

    [[nodiscard]] std::size_t place_of(const watched_term& term) const noexcept { return term.in_heaps_[kind_].place; }

    std::shared_ptr<watched_term> take(std::size_t i)
    {
        const std::size_t last = heap_.size() - 1;
        if (i != last) swap_entries(i, last);
        std::shared_ptr<watched_term> term = std::move(heap_.back().term);
        heap_.pop_back();
        if (i != last) sift_down(sift_up(i));
        auto& [place, queued_for] = term->in_heaps_[kind_];
        place = watched_term::in_heap::nowhere;
        queued_for.store(time_point::max(), std::memory_order_relaxed);
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
        heap_[a].term->in_heaps_[kind_].place = a;
        heap_[b].term->in_heaps_[kind_].place = b;
    }

    std::size_t kind_;
    std::vector<entry> heap_;
};

}  // namespace leasehold::inline v0::renewal

#endif
