// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_SITE_LIVE_SCENE_TEXT_HPP
#define LEASEHOLD_SITE_LIVE_SCENE_TEXT_HPP

#include "scene.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace live {

/// What happened, in words; empty for what is too frequent to be told.
inline std::string sentence(const event& each)
{
    const std::string who{scene::letter(each.replica)};
    const std::string number = std::to_string(each.number);
    switch (each.what) {
    case happening::started: return who + " starts";
    case happening::stopped: return who + " stops, and releases what it held";
    case happening::killed: return who + " is killed: it releases nothing";
    case happening::frozen: return who + " is frozen: it doesn't see time pass";
    case happening::thawed: return who + " runs again";
    case happening::cut: return who + " is cut off from the database";
    case happening::joined: return who + " reaches the database again";
    case happening::acquired: return who + " holds the lease, with token " + number;
    case happening::lost: return who + " has lost the term of token " + number + ", and stops";
    case happening::refused: return "the file refuses " + who + "'s late write with token " + number;
    case happening::took: return who + " takes shard " + number;
    case happening::gave: return who + " gives up shard " + number;
    case happening::wrote: break;
    }
    return {};
}

/// Writes JSON. Its texts need no escapes.
class json_text {
public:
    void open(char bracket)
    {
        comma();
        text_ += bracket;
    }
    void close(char bracket) { text_ += bracket; }
    void key(std::string_view name)
    {
        comma();
        (text_ += '"').append(name) += "\":";
    }
    void value(std::int64_t number)
    {
        comma();
        text_ += std::to_string(number);
    }
    void value(std::string_view text)
    {
        comma();
        (text_ += '"').append(text) += '"';
    }

    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    void comma()
    {
        if (!text_.empty() && std::string_view{"{[:"}.find(text_.back()) == std::string_view::npos) text_ += ',';
    }

    std::string text_;
};

/// The scene as JSON. Times are in milliseconds since its begin.
class scene_text {
public:
    explicit scene_text(const scene& shown) : scene_{shown}
    {
        json_.open('{');
        member("now", time(shown.now()));
        list("replicas", std::array<std::size_t, replica_count>{0, 1, 2}, [this](std::size_t i) { replica(i); });
        const auto record = shown.record();
        member("token", record ? record->token.value() : 0);
        member("left", record ? milliseconds(record->remaining) : 0);
        member("newest", shown.file().newest().value());
        member("written", shown.file().written());
        member("refused", shown.file().refused());
        member("violations", shown.violations());
        histories();
        json_.close('}');
    }

    [[nodiscard]] std::string take() { return json_.take(); }

private:
    void histories()
    {
        list("terms", scene_.terms(), [this](const term_span& each) {
            span(each);
            member("token", each.token);
            member("deadline", time(each.deadline));
            member("storeEnd", time(each.store_end));
        });
        list("shards", scene_.shards(), [this](const shard_span& each) {
            span(each);
            member("shard", static_cast<std::int64_t>(each.shard));
        });
        list("lives", scene_.lives(), [this](const life_span& each) {
            span(each);
            member("is", name(each.is));
        });
        list("events", scene_.events(), [this](const event& each) {
            member("at", time(each.at));
            member("replica", static_cast<std::int64_t>(each.replica));
            member("what", name(each.what));
            member("number", each.number);
            member("text", sentence(each));
        });
    }

    void replica(std::size_t i)
    {
        const live::replica* const there = scene_.at(i);
        const bool held = there && there->report().held();
        member("name", std::string_view{&"ABC"[i], 1});
        member("is", name(scene_.condition_of(i)));
        member("cut", scene_.is_cut(i) ? 1 : 0);
        member("token", held ? there->report().token().value() : 0);
        member("left", held ? milliseconds(there->report().remaining()) : 0);
        json_.key("shards");
        json_.open('[');
        for (std::size_t shard = 0; shard < shard_count; ++shard) {
            const bool owned = there && there->shard(shard).held();
            json_.value(std::string_view{!owned ? "" : there->drains(shard) ? "leaving" : "owned"});
        }
        json_.close(']');
    }

    void span(const live::span& each)
    {
        member("replica", static_cast<std::int64_t>(each.replica));
        member("from", time(each.from));
        member("to", each.to ? time(*each.to) : std::int64_t{-1});
    }

    static std::string_view name(condition is) noexcept
    {
        switch (is) {
        case condition::running: return "running";
        case condition::cut: return "cut";
        case condition::frozen: return "frozen";
        case condition::off: break;
        }
        return "off";
    }

    // What the page shows in its own way; everything else is only told.
    static std::string_view name(happening what) noexcept
    {
        switch (what) {
        case happening::wrote: return "wrote";
        case happening::refused: return "refused";
        case happening::took: return "took";
        case happening::gave: return "gave";
        default: return "told";
        }
    }

    [[nodiscard]] static std::int64_t milliseconds(lh::duration d) { return std::chrono::floor<std::chrono::milliseconds>(d).count(); }
    [[nodiscard]] std::int64_t time(lh::time_point when) const { return milliseconds(scene_.since_begin(when)); }

    void member(std::string_view key, std::int64_t value)
    {
        json_.key(key);
        json_.value(value);
    }
    void member(std::string_view key, std::string_view value)
    {
        json_.key(key);
        json_.value(value);
    }

    template <class All, class Each>
    void list(std::string_view name, const All& all, Each each)
    {
        json_.key(name);
        json_.open('[');
        for (const auto& one : all) {
            json_.open('{');
            each(one);
            json_.close('}');
        }
        json_.close(']');
    }

    const scene& scene_;
    json_text json_;
};

}  // namespace live

#endif
