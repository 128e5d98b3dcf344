# SPDX-License-Identifier: BSL-1.0
# The toolchain: cmake -DCMAKE_TOOLCHAIN_FILE=arm-none-eabi.cmake ...
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)  # nothing can be linked before there is a startup
