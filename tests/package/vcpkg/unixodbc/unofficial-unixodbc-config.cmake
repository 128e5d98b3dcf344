# SPDX-License-Identifier: BSL-1.0
if(NOT TARGET unofficial::unixodbc::unixodbc)
    find_library(UNIXODBC_LIBRARY odbc REQUIRED)
    add_library(unofficial::unixodbc::unixodbc UNKNOWN IMPORTED)
    set_target_properties(unofficial::unixodbc::unixodbc PROPERTIES IMPORTED_LOCATION "${UNIXODBC_LIBRARY}")
endif()
