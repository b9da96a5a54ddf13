# Builds the tree in which this port stands.
# SPDX-License-Identifier: MIT
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/culvert/culvert.h")
  message(FATAL_ERROR "this port builds the sources around it: use it as an overlay, in place")
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    soft CULVERT_SOFT
    tools CULVERT_TOOLS)
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DCULVERT_TESTS=OFF
    -DCULVERT_SAMPLES=OFF
    -DCULVERT_BENCH=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/culvert)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES culvert-info AUTO_CLEAN)
endif()
# Its kernels' headers have moved to share; culvert_add_kernels() of the CMake package finds them there.
file(REMOVE "${CURRENT_PACKAGES_DIR}/bin/culvert-kernels" "${CURRENT_PACKAGES_DIR}/debug/bin/culvert-kernels")
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
