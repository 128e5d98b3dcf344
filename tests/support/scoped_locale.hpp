// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_SCOPED_LOCALE_HPP
#define LEASEHOLD_TESTS_SUPPORT_SCOPED_LOCALE_HPP

#include <support/child_process.hpp>
#include <support/environment.hpp>
#include <support/temporary_directory.hpp>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace leasehold_test {

/// While it lives, this process speaks another language: libraries translate their messages, and so do programs it starts
/// that are told its name. Built for the test, so the machine need not have it. For one thread at a time.
class scoped_locale {
public:
    /// As in "de_DE". Throws missing_requirement where its definition, or libpq's translation, is not on this machine.
    explicit scoped_locale(const std::string& language) : name_{language + ".UTF-8"}
    {
        const std::string catalogue = "/usr/share/locale/" + language.substr(0, 2) + "/LC_MESSAGES";
        std::error_code ignored;
        bool translated = false;
        for (const auto& file : std::filesystem::directory_iterator{catalogue, ignored})
            translated = translated || file.path().filename().string().starts_with("libpq");
        if (!translated) throw missing_requirement{"libpq does not speak " + language + " here"};
        // For servers' users too.
        std::filesystem::permissions(folder_.path(), std::filesystem::perms{0755});
        child_process localedef{{find_program({"localedef"}).string(), "--no-archive", "-i", language, "-f", "UTF-8",
                                 (folder_.path() / name_).string()},
                                {.output_file = folder_.path() / "log"}};
        if (!localedef.wait().success()) throw missing_requirement{"no definition of the locale " + language + " here"};
        ::setenv("LOCPATH", folder_.path().c_str(), 1);
        if (std::setlocale(LC_ALL, name_.c_str()) == nullptr) throw std::runtime_error{"no locale " + name_};
    }
    scoped_locale(const scoped_locale&) = delete;
    scoped_locale& operator=(const scoped_locale&) = delete;
    ~scoped_locale()
    {
        std::setlocale(LC_ALL, "C");
        ::unsetenv("LOCPATH");
    }

    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::string name_;
    temporary_directory folder_;
};

}  // namespace leasehold_test

#endif
