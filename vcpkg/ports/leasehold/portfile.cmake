get_filename_component(checkout "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE) # not in a registry
if(EXISTS "${checkout}/include/leasehold/version.hpp") # not in a registry
    set(SOURCE_PATH "${checkout}") # not in a registry
else() # not in a registry
vcpkg_from_github(
    OUT_SOURCE_PATH SOURCE_PATH
    REPO OWNER/leasehold
    REF "v${VERSION}"
    SHA512 0
    HEAD_REF main
)
endif() # not in a registry

set(VCPKG_BUILD_TYPE release) # header-only port

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
    FEATURES
        asio LEASEHOLD_ASIO
        odbc LEASEHOLD_ODBC
)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${feature_options}
        -DLEASEHOLD_CONTRACT=OFF
        -DLEASEHOLD_BUILD_TESTS=OFF
        -DLEASEHOLD_BUILD_EXAMPLES=OFF
        -DLEASEHOLD_BUILD_TOOL=OFF
        -DLEASEHOLD_INSTALL=ON
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/leasehold)

# vcpkg wants a .pc file that names a library under lib/.
file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/lib")
file(RENAME "${CURRENT_PACKAGES_DIR}/share/pkgconfig" "${CURRENT_PACKAGES_DIR}/lib/pkgconfig")
vcpkg_fixup_pkgconfig()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
file(REMOVE "${CURRENT_PACKAGES_DIR}/share/${PORT}/LICENSE")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
