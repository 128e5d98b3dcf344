# SPDX-License-Identifier: BSL-1.0
# shellcheck shell=bash
# shellcheck disable=SC2154  # what is not set here is set in ./run, which sources this
# The ways of ./run by Conan and vcpkg.

need() # command...
{
    local command
    for command in "$@"; do
        command -v "$command" >/dev/null || not_tried "there is no $command on PATH here."
    done
}

conan_home()
{
    export CONAN_HOME=$PWD/conan_home
    quietly conan profile detect
    quietly conan remote remove '*'
    echo "tools.cmake.cmaketoolchain:generator=Ninja" >"$CONAN_HOME/global.conf"
    quietly conan export "$top/conan/system_unixodbc"
}

with_conan=(-pr "$top/conan/system_unixodbc/profile")
with_odbc=(-o "leasehold/*:with_odbc=True")

links_only_what_the_page_names() # log of conan install, which tells users what to link
{
    local target targets
    targets=$(grep -o 'leasehold::[a-z-]*' "$1" | sort -u)
    [ -n "$targets" ] || fail "conan names no target: $(cat "$1")"
    for target in $targets; do
        grep -q "\`$target\`" "$top/conan/README.md" || fail "conan tells users to link $target, which the page does not know"
    done
}

way_conan()
{
    need conan
    conan_home
    published "$PWD/public"
    started=$(clock)
    (cd public && quietly conan create conan "${with_conan[@]}" "${with_odbc[@]}" --build=missing)
    mkdir with_conan
    cp "$here/conan/conanfile.txt" with_conan/
    conan install with_conan "${with_conan[@]}" --output-folder=with_conan >install.log 2>&1 || fail "$(cat install.log)"
    links_only_what_the_page_names install.log
    local toolchain=("-DCMAKE_TOOLCHAIN_FILE=$PWD/with_conan/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release)
    cmake_project installed odbc "${toolchain[@]}"
    first_lease conan

    cmake_project installed_core core "${toolchain[@]}"
    if grep -e -lodbc -e libodbc installed_core/build/build.ninja; then fail "users of the core link ODBC"; fi
    # A target of the project's that is called odbc is not taken for the library.
    sed -i 's/^find_package/add_library(odbc INTERFACE)\n&/' installed/CMakeLists.txt
    quietly cmake --build installed/build --clean-first
    # shellcheck disable=SC2046  # options, one word each
    PKG_CONFIG_PATH=$PWD/with_conan quietly "$CXX" -std=c++20 "$here/odbc.cpp" -o service \
        $(PKG_CONFIG_PATH=$PWD/with_conan pkg-config --cflags --libs leasehold-odbc)
    conan create public/conan "${with_conan[@]}" >core.log 2>&1 || fail "$(cat core.log)"
    if grep -E '^ +odbc/' core.log; then fail "the recipe requires ODBC by default"; fi
    if conan create public/conan "${with_conan[@]}" -s compiler.cppstd=17 >cppstd.log 2>&1; then fail "the recipe takes C++17"; fi
    grep -q "required C++ standard (20)" cppstd.log || fail "no word of C++20: $(cat cppstd.log)"
    if conan create public/conan "${with_conan[@]}" -s compiler=clang -s compiler.version=19 \
        -s compiler.libcxx=libc++ -s compiler.cppstd=20 \
        >libcxx.log 2>&1; then fail "the recipe takes libc++ 19"; fi
    grep -q "libc++ has from version 20 on" libcxx.log || fail "no word of std::stop_token: $(cat libcxx.log)"

    # From a checkout, which stays as clean as it was.
    (
        cd public
        quietly conan build conan "${with_conan[@]}"
        quietly conan editable add conan
        quietly conan install "$OLDPWD/with_conan" "${with_conan[@]}" --output-folder="$OLDPWD/editable"
        quietly conan editable remove conan
        untracked=$(git status --porcelain)
        [ -z "$untracked" ] || fail "conan leaves files in the checkout: $untracked"
    )
    rm -rf installed_core
    cmake_project installed_core core "-DCMAKE_TOOLCHAIN_FILE=$PWD/editable/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release
}

system_boost() # the file `profile`: the system's Boost in place of ConanCenter's
{
    quietly conan export "$here/conan/system_boost"
    cat "$top/conan/system_unixodbc/profile" - >profile <<<'boost/*: boost/system'
}

way_conan_asio()
{
    need conan
    conan_home
    system_boost
    checkout public
    quietly conan create public/conan -pr "$PWD/profile" -o "leasehold/*:with_asio=True" --build=missing
    quietly conan install --requires "leasehold/$version" -g CMakeDeps -g CMakeToolchain -pr "$PWD/profile" \
        -o "leasehold/*:with_asio=True" --output-folder=with_conan
    cmake_project installed_asio asio "-DCMAKE_TOOLCHAIN_FILE=$PWD/with_conan/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release
}

# The headers are the system's, and nothing but the API is linked, whose providers do nothing until a program sets its own.
way_conan_opentelemetry()
{
    need conan
    [ -e /usr/include/opentelemetry/version.h ] || not_tried "there are no headers of OpenTelemetry here (Debian 13: opentelemetry-cpp-dev)"
    conan_home
    quietly conan export "$here/conan/system_opentelemetry"
    cat "$top/conan/system_unixodbc/profile" - >profile <<<'opentelemetry-cpp/*: opentelemetry-cpp/system'
    checkout public
    local options=(-pr "$PWD/profile" -o "leasehold/*:with_opentelemetry=True")
    quietly conan create public/conan "${options[@]}" --build=missing
    quietly conan install --requires "leasehold/$version" -g CMakeDeps -g CMakeToolchain "${options[@]}" --output-folder=with_conan
    cmake_project installed_opentelemetry opentelemetry "-DCMAKE_TOOLCHAIN_FILE=$PWD/with_conan/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release
}

way_conan_contract()
{
    need conan
    conan_home
    system_boost
    checkout public
    quietly conan create public/conan -pr "$PWD/profile" -tf "" -o "leasehold/*:enable_contract=True" --build=missing
    quietly conan install --requires "leasehold/$version" -g CMakeDeps -g CMakeToolchain -pr "$PWD/profile" \
        -o "leasehold/*:enable_contract=True" --output-folder=with_conan
    mkdir contract
    contract_project contract "-DCMAKE_TOOLCHAIN_FILE=$PWD/with_conan/conan_toolchain.cmake" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O0  # run once
}

way_conan_center()
{
    need conan python3
    conan_home
    pinned "$PWD/public" "$PWD/leasehold.tar.gz"
    local recipe=$PWD/public/conan/conan_center/recipes/leasehold/all
    sed -i "s|url: .*|url: \"file://$PWD/leasehold.tar.gz\"|" "$recipe/conandata.yml"
    quietly conan create "$recipe" --version "$version" "${with_conan[@]}" "${with_odbc[@]}" --build=missing
}

vcpkg_installs() # option...; what vcpkg.json in this folder asks for
{
    quietly vcpkg install "$@" "--overlay-ports=$here/vcpkg/unixodbc" --x-install-root=vcpkg_installed \
        --downloads-root="$downloads" --x-buildtrees-root=trees --x-packages-root=packages --binarysource=clear
    [ -e "$(echo vcpkg_installed/*/share/leasehold/leasehold-config.cmake)" ] || fail "not where vcpkg looks for packages"
}

vcpkg_project() # name, option of vcpkg...; a project of its own, built and run with what vcpkg installs for it
{
    local name=$1
    shift
    mkdir "$name"
    cp "$here/vcpkg/vcpkg.json" "$name/"
    (
        cd "$name"
        if [ -e ../vcpkg-configuration.json ]; then cp ../vcpkg-configuration.json .; fi
        vcpkg_installs "$@"
        cmake_project installed odbc "-DCMAKE_TOOLCHAIN_FILE=$vcpkg_root/scripts/buildsystems/vcpkg.cmake" \
            -DVCPKG_MANIFEST_MODE=OFF "-DVCPKG_INSTALLED_DIR=$PWD/vcpkg_installed"
    )
}

way_vcpkg()
{
    need vcpkg python3
    export VCPKG_DISABLE_METRICS=1 VCPKG_FORCE_SYSTEM_BINARIES=1
    local downloads=$PWD/downloads  # where the archive lies as if it had been downloaded
    local vcpkg_root=${VCPKG_ROOT:-$(dirname "$(readlink -f "$(command -v vcpkg)")")}
    mkdir "$downloads"
    pinned "$PWD/public" "$downloads/OWNER-leasehold-v$version.tar.gz"
    started=$(clock)
    # The README's command, in a checkout: nothing is downloaded.
    checkout as_cloned
    local words
    read -ra words <<<"$(grep -m 1 '^vcpkg install' "$top/vcpkg/README.md" | tr -d '"')"
    (cd as_cloned && quietly "${words[@]}" "--overlay-ports=$here/vcpkg/unixodbc" --x-install-root=vcpkg_installed \
        --x-buildtrees-root=../trees --x-packages-root=../packages --downloads-root=../none --binarysource=clear)
    [ -e "$(echo as_cloned/vcpkg_installed/*/include/leasehold/leasehold.hpp)" ] || fail "vcpkg installs no headers from a checkout"
    [ ! -e "$(echo as_cloned/vcpkg_installed/*/share/leasehold/contract)" ] || fail "vcpkg installs the contract suite"
    first_lease "vcpkg, to installed headers"

    # As in vcpkg's own tree: without what is for a checkout only, and with the archive.
    mkdir -p ports
    cp -R public/vcpkg/ports/leasehold ports/
    sed -i '/# not in a registry$/d' ports/leasehold/portfile.cmake
    ! grep -q checkout ports/leasehold/portfile.cmake || fail "what is for a checkout is in the port for vcpkg's tree"
    started=$(clock)
    vcpkg_project overlay "--overlay-ports=$PWD/ports"
    first_lease vcpkg
    (
        cd overlay
        ask versions_and_names "$(echo vcpkg_installed/*-*)"
        echo '{ "dependencies": [ "leasehold" ] }' >vcpkg.json
        vcpkg_installs "--overlay-ports=$PWD/../ports"
        ask installed_without_components "$(echo vcpkg_installed/*-*)"
        echo '{ "dependencies": [ { "name": "leasehold", "features": [ "asio" ] } ] }' >vcpkg.json
        vcpkg_installs "--overlay-ports=$PWD/../ports" "--overlay-ports=$here/vcpkg/boost-asio"
        cmake_project installed_asio asio "-DCMAKE_TOOLCHAIN_FILE=$vcpkg_root/scripts/buildsystems/vcpkg.cmake" \
            -DVCPKG_MANIFEST_MODE=OFF "-DVCPKG_INSTALLED_DIR=$PWD/vcpkg_installed"
    )

    # As a registry, by the address that users write.
    local commit ports=$vcpkg_root/ports
    commit=$("${in_public[@]}" commit-tree -m "$version" HEAD:vcpkg)
    "${in_public[@]}" branch vcpkg-registry "$commit"
    sed "s/\"baseline\": .*/\"baseline\": \"$commit\",/" "$here/vcpkg/vcpkg-configuration.json" >vcpkg-configuration.json
    XDG_CACHE_HOME=$PWD/cache vcpkg_project registry_user "--overlay-ports=$ports/vcpkg-cmake" "--overlay-ports=$ports/vcpkg-cmake-config"
}

# With a driver manager of its own: a program that is linked so knows nothing of the system's odbcinst.ini.
own_manager() # option of cmake...
{
    local driver
    driver=$(find /usr/lib /usr/lib64 /usr/local/lib -name 'libsqlite3odbc.so' 2>/dev/null | head -n 1)
    [ -n "$driver" ] || fail "there is no driver libsqlite3odbc.so here"
    mkdir by_path
    cp "$here/installed/CMakeLists.txt" by_path/
    sed "s|Driver=SQLite3|Driver=$driver|" "$here/odbc.cpp" >by_path/main.cpp
    quietly cmake -S by_path -B by_path/build "$@"
    quietly cmake --build by_path/build
    (cd by_path && holds_lease build/service)
    # Not by name, and then it is told what to do.
    cp "$here/odbc.cpp" by_path/main.cpp
    quietly cmake --build by_path/build
    if (cd by_path && build/service) >said 2>&1; then fail "that is the system's driver manager: it knows the driver SQLite3"; fi
    grep -q "the driver's full path as Driver=" said || fail "no word of a path: $(cat said)"
}

way_conan_own_odbc()
{
    need conan
    export CONAN_HOME=$PWD/conan_home
    quietly conan profile detect
    checkout public
    quietly conan create public/conan -s compiler.cppstd=20 "${with_odbc[@]}" --build=missing
    mkdir with_conan
    cp "$here/conan/conanfile.txt" with_conan/
    quietly conan install with_conan -s compiler.cppstd=20 --build=missing --output-folder=with_conan
    own_manager "-DCMAKE_TOOLCHAIN_FILE=$PWD/with_conan/conan_toolchain.cmake" -DCMAKE_BUILD_TYPE=Release
}

way_vcpkg_own_odbc()
{
    need vcpkg
    export VCPKG_DISABLE_METRICS=1
    local vcpkg_root=${VCPKG_ROOT:-$(dirname "$(readlink -f "$(command -v vcpkg)")")}
    checkout public
    cp "$here/vcpkg/vcpkg.json" .
    quietly vcpkg install "--overlay-ports=$PWD/public/vcpkg/ports" --x-install-root=vcpkg_installed
    own_manager "-DCMAKE_TOOLCHAIN_FILE=$vcpkg_root/scripts/buildsystems/vcpkg.cmake" -DVCPKG_MANIFEST_MODE=OFF \
        "-DVCPKG_INSTALLED_DIR=$PWD/vcpkg_installed"
}
