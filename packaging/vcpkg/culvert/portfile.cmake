# Builds the tree in which this port stands.
# SPDX-License-Identifier: MIT
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT EXISTS "${SOURCE_PATH}/include/culvert/culvert.h")
  message(FATAL_ERROR "this port builds the sources around it: use it as an overlay, in place")
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    soft CULVERT_SOFT
    tools CULVERT_TOOLS
    tools CULVERT_CHECK)
# Programs find the twin, the layers and the kernels' headers from their own place on, so they are installed where vcpkg
# has programs, and not moved there. On Windows there is one, beside the DLL, and it needs nothing else. vcpkg itself
# sets this directory behind OPTIONS, and before the options of each kind.
set(PLACES "")
if(NOT VCPKG_TARGET_IS_WINDOWS)
  set(PLACES "-DCMAKE_INSTALL_BINDIR=tools/${PORT}")
endif()
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DCULVERT_TESTS=OFF
    -DCULVERT_SAMPLES=OFF
    -DCULVERT_BENCH=OFF
  OPTIONS_RELEASE
    ${PLACES}
  OPTIONS_DEBUG
    ${PLACES})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/culvert)
vcpkg_fixup_pkgconfig()
if(VCPKG_TARGET_IS_WINDOWS)
  if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES culvert-info AUTO_CLEAN)
  endif()
  # A shell script.
  file(REMOVE "${CURRENT_PACKAGES_DIR}/bin/culvert-kernels" "${CURRENT_PACKAGES_DIR}/debug/bin/culvert-kernels")
else()
  # Its headers have moved with the CMake package.
  vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/tools/${PORT}/culvert-kernels"
    lib/cmake/culvert/kernels share/culvert/kernels)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/tools" "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
  "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
