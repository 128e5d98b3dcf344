// SPDX-License-Identifier: BSL-1.0
#include "metrics_file.hpp"

#include "exit_code.hpp"
#include "failure.hpp"
#include "message.hpp"

#include <leasehold/detail/utf8.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tool {

namespace {

using namespace std::chrono_literals;

constexpr auto longest_pause = 15s;
constexpr auto between_calls = 1s;  // for what is not urgent

std::string cant_write(const std::string& file) { return "can't write the metrics file '" + file + "'"; }

bool is_utf8(std::string_view text)
{
    while (!text.empty()) {
        const std::size_t length = leasehold::detail::utf8_sequence_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string name_in_folder(const std::string& file) { return std::filesystem::path{file}.filename().string(); }

/// What can never be replaced by a file, such as a folder, and what must not, such as /dev/null.
void check(const std::string& file)
{
    if (file.empty()) throw failure{exit_code::usage, "--metrics-file is empty: name a file, or leave it out"};
    std::error_code ignored;
    const auto there = std::filesystem::status(file, ignored);
    if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
        throw failure{exit_code::usage, cant_write(file) + ": what is there is not a regular file"};
    const std::string name = name_in_folder(file);
    if (name.empty()) throw failure{exit_code::usage, cant_write(file) + ": it ends with a folder"};
    if (!is_utf8(name)) throw failure{exit_code::usage, cant_write(file) + ": its name is not UTF-8, which Prometheus wants labels to be"};
}

/// False: errno says why.
bool write_whole(const std::string& file, std::string_view text) noexcept
{
    ::unlink(file.c_str());  // left there by a process of our number that was killed
    const int out = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (out < 0) return false;
    while (!text.empty()) {
        const ssize_t written = ::write(out, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) {
            const int error = errno;
            ::close(out);
            errno = error;
            return false;
        }
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    return ::close(out) == 0;  // a full disk may be told of only here
}

}  // namespace

metrics_file::metrics_file(std::string file) : file_{std::move(file)}, beside_{file_ + "." + std::to_string(::getpid()) + ".tmp"}
{
    check(file_);
    try {
        write();
    } catch (const std::system_error& error) {
        throw failure{exit_code::usage, error.what()};
    }
    thread_ = std::jthread{[this](const std::stop_token& stop) { write_when_changed(stop); }};
}

metrics_file::~metrics_file()
{
    thread_.request_stop();
    thread_.join();
    write_or_complain();
}

void metrics_file::count(const leasehold::store_call& call, const leasehold::store_call_report& report) noexcept
{
    metrics_(call, report);
    changed(false);
}

void metrics_file::count(const leasehold::lease_event& event) noexcept
{
    metrics_(event);
    changed(true);
}

leasehold::recurring_options metrics_file::counting_fires(std::string_view name, leasehold::recurring_options with)
{
    return metrics_.counting_fires(name, std::move(with));
}

void metrics_file::count(const leasehold::shard_event& event) noexcept
{
    metrics_(event);
    changed(true);
}

void metrics_file::changed(bool urgent) noexcept
{
    const std::lock_guard lock{mutex_};
    changed_ = true;
    urgent_ = urgent_ || urgent;
    wake_.notify_one();
}

void metrics_file::write_when_changed(const std::stop_token& stop)
{
    std::unique_lock lock{mutex_};
    while (!stop.stop_requested()) {
        wake_.wait_for(lock, stop, longest_pause, [this] { return changed_; });
        wake_.wait_for(lock, stop, between_calls, [this] { return urgent_; });
        changed_ = urgent_ = false;
        lock.unlock();
        write_or_complain();
        lock.lock();
    }
}

// Once for each time that it begins to fail: the command matters more than its metrics.
void metrics_file::write_or_complain() noexcept
{
    try {
        write();
        failing_ = false;
    } catch (const std::exception& error) {
        if (!std::exchange(failing_, true)) complain(error.what());
    }
}

void metrics_file::write() const
{
    std::ostringstream text;
    metrics_.write_prometheus(text, name_in_folder(file_));
    const std::string whole = text.str();
    if (write_whole(beside_, whole) && ::rename(beside_.c_str(), file_.c_str()) == 0) return;
    const int error = errno;
    ::unlink(beside_.c_str());
    throw std::system_error{error, std::generic_category(), cant_write(file_)};
}

}  // namespace tool
