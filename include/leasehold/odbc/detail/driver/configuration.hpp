// SPDX-License-Identifier: BSL-1.0
#ifndef LEASEHOLD_ODBC_DETAIL_DRIVER_CONFIGURATION_HPP
#define LEASEHOLD_ODBC_DETAIL_DRIVER_CONFIGURATION_HPP

#include <leasehold/odbc/detail/driver/connect_gate.hpp>
#include <leasehold/odbc/detail/driver/driver_manager.hpp>
#include <leasehold/odbc/detail/driver/keywords.hpp>
#include <leasehold/odbc/detail/driver/secrets.hpp>
#include <leasehold/odbc/detail/driver/statement_catalog.hpp>
#include <leasehold/odbc/detail/flow/observations.hpp>
#include <leasehold/odbc/dialect/spec.hpp>
#include <leasehold/odbc/odbc_options.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leasehold::inline v0::odbc::detail {

// Settings that all connections of a store share. Each connection owns them too: one that was given up outlives its store.
class configuration {
public:
    using describe_function = dialect::spec (*)(const dialect::server_info&);

    configuration(std::string_view connection_string, odbc_options options, describe_function described_by)
        : connection_string_{without_blanks_beside_keywords(connection_string)}, options_{std::move(options)},
          secrets_{passwords_in(connection_string_)}, describe_{described_by}, pooler_{options_.pooler}
    {
    }

    [[nodiscard]] const std::string& connection_string() const noexcept { return connection_string_; }
    [[nodiscard]] const odbc_options& options() const noexcept { return options_; }
    [[nodiscard]] const std::vector<std::string>& secrets() const noexcept { return secrets_; }

    // Read once. Thread-safe.
    [[nodiscard]] const driver_manager_settings& driver_manager() const
    {
        std::call_once(driver_manager_read_, [this] { driver_manager_ = settings_of_driver_manager(connection_string_); });
        return driver_manager_;
    }

    // The rows as this store has seen them, for expiry by observation. Thread-safe.
    [[nodiscard]] observations& seen() const noexcept { return seen_; }
    // A call waits for two locks at most, and has other things to do. One for many names or terms waits while it has time for two more.
    [[nodiscard]] duration lock_timeout() const noexcept { return std::min(options_.lock_timeout, options_.call_timeout / 3); }

    // The SQL for the database that the first connection met. Thread-safe.
    [[nodiscard]] std::shared_ptr<const statement_catalog> catalog_for(std::string_view dbms_name, std::string_view dbms_version) const
    {
        const std::lock_guard lock{mutex_};
        if (!catalog_) {
            dbms_name_ = dbms_name;
            dbms_version_ = dbms_version;
            make_catalog();
        }
        return catalog_;
    }
    // Null before the first connection.
    [[nodiscard]] std::shared_ptr<const statement_catalog> catalog() const
    {
        const std::lock_guard lock{mutex_};
        return catalog_;
    }

    [[nodiscard]] bool is_current(const statement_catalog* catalog) const
    {
        const std::lock_guard lock{mutex_};
        return catalog_.get() == catalog;
    }

    // Whether a pooler gives each transaction another session, as far as is known. Once it does, it is taken to do so for ever.
    [[nodiscard]] bool pooled() const noexcept { return pooler_ == transaction_pooler::present; }
    [[nodiscard]] bool looks_for_pooler() const noexcept { return pooler_ == transaction_pooler::detect; }
    void note_pooler() const
    {
        const std::lock_guard lock{mutex_};
        locks_failed_ = true;
        const transaction_pooler known = pooler_.exchange(transaction_pooler::present);
        if (known == transaction_pooler::present || !catalog_) return;
        try {
            make_catalog();
        } catch (...) {
            pooler_ = known;  // without the statements for it; it is met again
            throw;
        }
    }
    void note_no_pooler() const noexcept
    {
        transaction_pooler unknown = transaction_pooler::detect;
        pooler_.compare_exchange_strong(unknown, transaction_pooler::absent);
    }
    // The next connection may meet another pooler, or the same in another mode. A pooler that keeps prepared statements for each client
    // shows in nothing else, and ends a connection that uses a statement's name twice.
    void note_lost_connection() const noexcept
    {
        transaction_pooler seen = transaction_pooler::absent;
        if (options_.pooler == transaction_pooler::detect) pooler_.compare_exchange_strong(seen, transaction_pooler::detect);
    }

    // Whether the connection string names a database that other connections see too, as far as is known.
    [[nodiscard]] bool file_is_shared() const noexcept { return file_is_shared_; }
    void note_shared_file() const noexcept { file_is_shared_ = true; }

    // Whether a name can have one row only, as far as is known.
    [[nodiscard]] bool name_is_key() const noexcept { return name_is_key_; }
    // True: it was known, and is asked for again before the next statement.
    bool forget_name_key() const noexcept { return name_is_key_.exchange(false); }
    // `key`: see dialect::server_info. True: the statements are others now.
    bool note_name_key(std::string_view key) const
    {
        const std::lock_guard lock{mutex_};
        name_key_ = key;
        const bool changes = describe().by_name != catalog_->spec().by_name;
        if (changes) make_catalog();
        name_is_key_ = true;
        return changes;
    }

    // Shared by all sessions, so that they don't all try to connect to a server that is starting.
    [[nodiscard]] connect_gate& gate() const noexcept { return gate_; }

    // The connection string for a database that is known, with the additions of its dialect.
    [[nodiscard]] std::string connection_string(const dialect::spec& spec) const
    {
        std::string text{spec.connection_prefix};
        text += connection_string_;
        if (!spec.connection_suffix.empty()) text.append(text.ends_with(';') ? "" : ";").append(spec.connection_suffix);
        return text;
    }

    // Whether the database has session locks that work, as far as is known.
    [[nodiscard]] bool session_locks() const
    {
        const std::lock_guard lock{mutex_};
        return catalog_ && catalog_->spec().locks.available() && !locks_failed_;
    }
    // Before the first connection the driver's name is all there is to go by.
    [[nodiscard]] bool likely_in_process() const noexcept
    {
        const std::lock_guard lock{mutex_};
        if (catalog_) return catalog_->spec().in_process;
        return connection_string_.find("SQLite") != std::string::npos || connection_string_.find("sqlite") != std::string::npos;
    }
    // How many terms are worth one call, as far as is known.
    [[nodiscard]] std::size_t batch_size() const noexcept
    {
        const std::lock_guard lock{mutex_};
        return catalog_ && catalog_->batches().available() && !batches_failed_ ? catalog_->batches().most : 1;
    }
    // The statements for many terms are too much for the database.
    void disable_batches() const noexcept { batches_failed_ = true; }
    [[nodiscard]] bool batches_disabled() const noexcept { return batches_failed_; }
    // Whether what one connection wrote has been seen by another.
    void note_commits() const noexcept { commits_ = true; }
    [[nodiscard]] bool is_known_to_commit() const noexcept { return commits_; }
    // Session locks don't work: the node or the product has none, or the user may not take them.
    void disable_session_locks() const noexcept { locks_failed_ = true; }
    [[nodiscard]] bool session_locks_disabled() const noexcept { return locks_failed_; }

private:
    // Under the mutex.
    dialect::spec describe() const
    {
        const dialect::server_info at{.dbms_name = dbms_name_,
                                      .dbms_version = dbms_version_,
                                      .lock_timeout = lock_timeout(),
                                      .call_timeout = options_.call_timeout,
                                      .name_key = name_key_,
                                      .pooled = pooled()};
        return describe_(at);
    }
    void make_catalog() const
    {
        dialect::spec described = describe();
        // To wait for a lock would stop all other calls where the driver manager lets one through at a time.
        if (!options_.session_locks || driver_manager().one_call_at_a_time) described.locks = {};
        if (described.session.empty()) pooler_ = transaction_pooler::absent;  // it has no statements for a pooler
        catalog_ = std::make_shared<const statement_catalog>(std::move(described), options_);
    }

    std::string connection_string_;
    odbc_options options_;
    std::vector<std::string> secrets_;
    describe_function describe_;
    mutable std::once_flag driver_manager_read_;
    mutable driver_manager_settings driver_manager_;
    mutable observations seen_;
    mutable std::mutex mutex_;
    mutable std::string dbms_name_;
    mutable std::string dbms_version_;
    mutable std::string name_key_;
    mutable std::shared_ptr<const statement_catalog> catalog_;
    // What was found out about the database. Each stands alone: a thread that does not see it yet finds it out again. If a
    // statement depends on it, the catalogue is made again under the mutex.
    mutable std::atomic<transaction_pooler> pooler_;
    mutable std::atomic<bool> locks_failed_ = false;
    mutable std::atomic<bool> batches_failed_ = false;
    mutable std::atomic<bool> commits_ = false;
    mutable std::atomic<bool> file_is_shared_ = false;
    mutable std::atomic<bool> name_is_key_ = false;
    mutable connect_gate gate_{std::random_device{}()};
};

}  // namespace leasehold::inline v0::odbc::detail

#endif
