// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP
#define LEASEHOLD_TESTS_SUPPORT_TEMPORARY_DIRECTORY_HPP

#include <filesystem>
#include <string>

namespace leasehold_test {

/// A new folder under TMPDIR, removed with all that is in it by the destructor.
class temporary_directory {
public:
    /// As root, the folder is given to `user` if there is such a user.
    explicit temporary_directory(const std::string& user = {});
    temporary_directory(const temporary_directory&) = delete;
    temporary_directory& operator=(const temporary_directory&) = delete;
    ~temporary_directory();

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

}  // namespace leasehold_test

#endif
