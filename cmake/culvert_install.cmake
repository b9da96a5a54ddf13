# What `cmake --install` puts where, find_package(culvert) and pkg-config. The twin's libraries and the Vulkan layer
# bring their own rules (soft/).
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(culvert_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/culvert)

set_target_properties(culvert_shared PROPERTIES EXPORT_NAME shared)
set_target_properties(culvert_static PROPERTIES EXPORT_NAME static)
install(TARGETS culvert_shared culvert_static EXPORT culvertTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/culvert DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

install(EXPORT culvertTargets NAMESPACE culvert:: DESTINATION ${culvert_config_dir})
set(culvert_has_soft OFF)
if(CULVERT_SOFT)
  set(culvert_has_soft ON)
endif()
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/culvertConfig.cmake.in
  ${PROJECT_BINARY_DIR}/install/culvertConfig.cmake INSTALL_DESTINATION ${culvert_config_dir}
  NO_SET_AND_CHECK_MACRO)
# While the major version is 0, a minor version may break; from 1.0 on this becomes SameMajorVersion.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/install/culvertConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/install/culvertConfig.cmake
  ${PROJECT_BINARY_DIR}/install/culvertConfigVersion.cmake
  DESTINATION ${culvert_config_dir})
# culvert_add_kernels(), for programs whose kernels run on the twin too, and what their sources include.
install(FILES ${PROJECT_SOURCE_DIR}/cmake/culvert_kernels.cmake ${PROJECT_SOURCE_DIR}/cmake/culvert_cuda.cmake
  DESTINATION ${culvert_config_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/soft/cuda/ DESTINATION ${culvert_config_dir}/kernels/cuda
  FILES_MATCHING PATTERN "culvert_*.h")
install(FILES ${PROJECT_SOURCE_DIR}/soft/shared/module_abi.h DESTINATION ${culvert_config_dir}/kernels/shared)
install(FILES ${CULVERT_CUDA_ABI_DIR}/vector_types.h ${CULVERT_CUDA_ABI_DIR}/vector_functions.h
  ${CULVERT_CUDA_ABI_DIR}/surface_types.h ${CULVERT_CUDA_ABI_DIR}/texture_types.h DESTINATION ${culvert_config_dir}/kernels/abi)

# The same for programs that are built without CMake. Where it is from the directory of programs, so that an installed
# tree may be moved.
set(culvert_kernels_from_bin ${CMAKE_INSTALL_FULL_LIBDIR}/cmake/culvert/kernels)
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} AND NOT IS_ABSOLUTE ${CMAKE_INSTALL_BINDIR})
  file(RELATIVE_PATH culvert_kernels_from_bin /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${culvert_config_dir}/kernels)
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/culvert-kernels.in ${PROJECT_BINARY_DIR}/install/culvert-kernels @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/install/culvert-kernels DESTINATION ${CMAKE_INSTALL_BINDIR})

# The paths in culvert.pc are relative to itself, so that an installed tree may be moved.
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  set(culvert_pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH culvert_pc_prefix /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" culvert_pc_prefix "${culvert_pc_prefix}")
  string(PREPEND culvert_pc_prefix "\${pcfiledir}/")
endif()
foreach(dir IN ITEMS LIBDIR INCLUDEDIR BINDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(culvert_pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(culvert_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/cmake/culvert.pc.in ${PROJECT_BINARY_DIR}/install/culvert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/culvert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
