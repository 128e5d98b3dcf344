// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_TESTS_SUPPORT_SURROUNDINGS_HPP
#define LEASEHOLD_TESTS_SUPPORT_SURROUNDINGS_HPP

#include <support/database_server.hpp>
#include <support/environment.hpp>
#include <support/scoped_locale.hpp>
#include <support/tls_files.hpp>

#include <cstdlib>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leasehold_test {

enum class server_family { postgresql, mysql };

/// Servers that are not like the authors' own: they speak through TLS, and another language, which this process speaks too.
/// It must outlive the servers, which read its files.
class surroundings {
public:
    /// `language`: as in "de_DE", or empty for English. Throws missing_requirement where it isn't spoken.
    surroundings(server_family family, bool tls, std::string language) : family_{family}, language_{std::move(language)}
    {
        if (!language_.empty()) locale_.emplace(language_);
        if (tls)
            tls_.emplace(family_ == server_family::postgresql ? std::vector<std::string>{"postgres"}
                                                              : std::vector<std::string>{"mysql", "nobody"});
    }

    /// As LEASEHOLD_ABROAD says: the language, and TLS; without it nothing.
    static surroundings of_environment(server_family family)
    {
        const char* const language = std::getenv("LEASEHOLD_ABROAD");
        const bool abroad = language != nullptr && *language != '\0';
        return {family, abroad, abroad ? language : ""};
    }

    /// For the server's command line, after `others`.
    [[nodiscard]] std::vector<std::string> server_arguments(std::vector<std::string> others = {}) const
    {
        const bool postgresql = family_ == server_family::postgresql;
        const auto add = [&](const std::string& setting) {
            if (postgresql) others.emplace_back("-c");
            others.push_back((postgresql ? "" : "--") + setting);
        };
        if (tls_ && postgresql) {
            add("ssl=on");
            add("ssl_cert_file=" + tls_->certificate());
            add("ssl_key_file=" + tls_->key());
        }
        else if (tls_) {
            add("ssl-cert=" + tls_->certificate());
            add("ssl-key=" + tls_->key());
            add("require-secure-transport=on");
        }
        // Not MariaDB's own language: its log says in English when it is ready.
        if (locale_) add(postgresql ? "lc_messages=" + locale_->name() : "init-connect=set lc_messages = '" + language_ + "'");
        return others;
    }

    [[nodiscard]] bool tls() const noexcept { return tls_.has_value(); }
    [[nodiscard]] std::string certificate() const { return tls_->certificate(); }

    /// For the end of a connection string.
    [[nodiscard]] std::string connection_attributes() const
    {
        if (!tls_) return "";
        return family_ == server_family::postgresql ? ";SSLmode=require" : ";FORCETLS=1";
    }

    /// For the processes that are started.
    [[nodiscard]] std::map<std::string, std::string> environment() const
    {
        if (!locale_) return {};
        return {{"LC_ALL", locale_->name()}, {"LANGUAGE", ""}};
    }

    /// Throws missing_requirement for a server without the translation, which speaks English and says nothing of it.
    void check(database_server& server) const
    {
        if (!locale_) return;
        const std::string session = family_ == server_family::postgresql ? "" : "set lc_messages = '" + language_ + "'; ";
        std::string said;
        try {
            server.execute_sql(session + "select * from missing");
        } catch (const std::runtime_error& error) {
            said = error.what();
        }
        if (said.find("does not exist") != std::string::npos || said.find("doesn't exist") != std::string::npos)
            throw missing_requirement{"the server does not speak " + language_ + " here"};
    }

private:
    server_family family_;
    std::string language_;
    std::optional<scoped_locale> locale_;
    std::optional<tls_files> tls_;
};

}  // namespace leasehold_test

#endif
