// SPDX-License-Identifier: BSL-1.0
// What the page calls. docs/site/build compiles it to WebAssembly.
#include "scene_text.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace {

std::unique_ptr<live::scene> scene;
std::string text;

std::size_t index(int replica)
{
    return static_cast<std::size_t>(replica) % live::replica_count;
}

}  // namespace

extern "C" {

/// Begins from nothing: no replica runs.
void live_begin()
{
    scene = std::make_unique<live::scene>();
}
void live_advance(int milliseconds)
{
    scene->advance(std::chrono::milliseconds{milliseconds});
}
void live_start(int replica)
{
    scene->start(index(replica));
}
void live_stop(int replica)
{
    scene->stop(index(replica));
}
void live_kill(int replica)
{
    scene->kill(index(replica));
}
void live_freeze(int replica, int now)
{
    scene->freeze(index(replica), now != 0);
}
void live_cut(int replica, int now)
{
    scene->cut(index(replica), now != 0);
}
/// The scene as JSON; valid until the next call.
const char* live_state()
{
    text = live::scene_text{*scene}.take();
    return text.c_str();
}
}
