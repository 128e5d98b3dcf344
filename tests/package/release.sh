# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # what is not set here is set in ./run, which sources this

# The files of a release: from a tag, the same each time, and what a user makes of them.
way_release()
{
    need python3
    published "$PWD/public"
    refuses "has no section '## $version, YYYY-MM-DD'" public/.github/release --tag "v$version" undated
    sed -i "0,/^## .*/s//## $version, 2026-11-23/" public/CHANGELOG.md
    "${in_public[@]}" commit -q -a -m "$version, dated"
    "${in_public[@]}" tag -f "v$version" >/dev/null
    sed -i 's/^int /this is not committed/' public/include/leasehold/version.hpp public/LICENSE
    quietly public/.github/release --tag "v$version" files
    quietly public/.github/release --tag "v$version" again
    quietly diff -r files again
    (cd files && quietly sha256sum --strict --check SHA256SUMS)
    [ "$(sed 's/.*  //' files/SHA256SUMS | sort | paste -sd ' ')" = "changes.md leasehold-$version.cdx.json leasehold-$version.tar.gz leasehold.hpp" ] ||
        fail "SHA256SUMS is of other files: $(cat files/SHA256SUMS)"

    # The archive is the one that the recipes' hashes are of, and a program can be made with it, and with the one header.
    quietly git -C public checkout -q -- .
    quietly public/.github/pin_release --archive "v$version"
    grep -qF "$(sha256sum <"files/leasehold-$version.tar.gz" | cut -d' ' -f1)" public/conan/conan_center/recipes/leasehold/all/conandata.yml ||
        fail "the recipes' hash is of another archive"
    tar -xzf "files/leasehold-$version.tar.gz"
    quietly "$CXX" -std=c++20 -I "leasehold-$version/include" "$here/core.cpp" -o service -pthread
    holds_lease ./service
    first_lease release
    quietly "$CXX" -std=c++20 -fsyntax-only -x c++ files/leasehold.hpp

    # The command that changes the version, or the public address, changes it everywhere.
    refuses "three numbers" public/.github/pin_release --version 1.2
    quietly public/.github/pin_release --version 7.8.9 --owner somebody
    refuses "CHANGELOG.md: its first heading is not 7.8.9" public/.github/pin_release --check
    sed -i "0,/^## .*/s//## 7.8.9, unreleased/" public/CHANGELOG.md
    quietly public/.github/pin_release --check
    ! grep -rnE --exclude=CHANGELOG.md "(leasehold[/-]|[Vv]ersion |버전 |v)${version//./\\.}|github\.com/OWNER" public --exclude-dir=.git ||
        fail "the old version or address is left"
    ! grep -n -e OWNER -e "no public address" public/README*.md public/docs/site/index.md || fail "a page still says that there is no address"
    refuses "the tag v$version has the version 7.8.9" env -C public sh -c "
        git -c user.name=test -c user.email=test@localhost commit -q -a -m wrong && git tag -f v$version && .github/release --tag v$version ../wrong"

    need node npm
    [ "${LEASEHOLD_NO_INSTALL:-0}" = 0 ] || not_tried "npm may fetch nothing, so nothing checks the bill of materials"
    cp -R "$here/bill_of_materials" .
    npm install --no-package-lock --silent --no-audit --no-fund --prefix bill_of_materials >npm.log 2>&1 ||
        not_tried "npm can't fetch the library that checks the bill of materials: $(tail -n 1 npm.log)"
    quietly node bill_of_materials/check.mjs "files/leasehold-$version.cdx.json" "$version" "files/leasehold-$version.tar.gz"
}
