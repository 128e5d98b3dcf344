// SPDX-License-Identifier: BSL-1.0
#include "circumstances.hpp"

#include <array>
#include <random>

namespace campaign {

namespace {

constexpr auto names = std::to_array<const char*>({
    "FATAL:  password authentication failed; no pg_hba.conf entry; role \"r\" and database \"d\" do not exist",
    "FATAL:  the database system is starting up; sorry, too many clients; remaining connection slots; too many connections for r",
    "[SQLite]UNIQUE constraint; NOT NULL constraint; no such table; no such column; unknown database; database is locked",
    "[SQLite]table t has no column named c; ON CONFLICT clause does not match; ERROR: DECLARE CURSOR",
    "[ma-3.1.15][10.11.19-MariaDB]23000; [MySQL]3819; ERROR: user lacks privilege or object not found",
    "[unixODBC][Driver Manager]Can't open lib 'password' : file not found",
    "40001 deadlock; 08S01 lost connection; HYT00 timeout; 25006 read-only; 23505 duplicate key; 1045; 1213; 2006; 1290",
    "'; drop table leasehold; -- \" ` \\ % %s ? {fn now()} ${HOME} :name $1 \xF0\x9F\x94\x92",
});

// Each has a translation of libpq and of both servers in Debian; one is written from other letters, one without blanks.
constexpr std::array<const char*, 6> languages{"", "", "", "de_DE", "ja_JP", "ru_RU"};

}  // namespace

std::span<const char* const> names_like_messages() noexcept { return names; }

circumstances drawn_circumstances(std::uint32_t seed)
{
    std::mt19937 random{seed ^ 0x9e3779b9U};
    circumstances c;
    c.tls = random() % 2 == 0;
    c.language = languages[random() % languages.size()];
    if (const std::size_t which = random() % (names.size() + 2); which < names.size()) c.name = names[which];
    return c;
}

}  // namespace campaign
