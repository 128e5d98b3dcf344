// SPDX-License-Identifier: BSL-1.0
#include <support/temporary_directory.hpp>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <pwd.h>
#include <unistd.h>

namespace leasehold_test {

temporary_directory::temporary_directory(const std::string& user)
{
    // Short: the path of a Unix socket in it has 107 bytes.
    std::string pattern = (std::filesystem::temp_directory_path() / "leasehold-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw std::system_error{errno, std::generic_category(), "mkdtemp " + pattern};
    path_ = pattern;
    if (user.empty() || ::geteuid() != 0) return;
    const passwd* entry = ::getpwnam(user.c_str());
    if (entry && ::chown(path_.c_str(), entry->pw_uid, entry->pw_gid) != 0) {
        const int error = errno;
        ::rmdir(path_.c_str());
        throw std::system_error{error, std::generic_category(), "chown " + pattern};
    }
}

temporary_directory::~temporary_directory()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace leasehold_test
