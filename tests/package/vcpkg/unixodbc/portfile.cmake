# SPDX-License-Identifier: BSL-1.0
set(VCPKG_POLICY_EMPTY_INCLUDE_FOLDER enabled)
set(VCPKG_BUILD_TYPE release)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/unofficial-unixodbc-config.cmake"
    DESTINATION "${CURRENT_PACKAGES_DIR}/share/unofficial-unixodbc")
file(WRITE "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright" "That of the system's unixODBC.\n")
