# SPDX-License-Identifier: BSL-1.0
set(VCPKG_POLICY_EMPTY_PACKAGE enabled)
