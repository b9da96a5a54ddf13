# What `cmake --install` puts where, find_package(culvert) and pkg-config. The twin's libraries and the Vulkan layer
# bring their own rules (soft/).
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(culvert_config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/culvert)

# A file for each kind, so that a package may leave the static library out.
foreach(kind IN LISTS culvert_kinds)
  install(TARGETS culvert_${kind} EXPORT culvert_${kind}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT culvert_${kind} NAMESPACE culvert:: DESTINATION ${culvert_config_dir} FILE culvert_${kind}.cmake)
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/culvert DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp" PATTERN abi EXCLUDE)
# What culvert/cuda_api.h includes where there is no CUDA toolkit. In the source tree a header there includes cuda_headers/cuda.h.
install(FILES ${CULVERT_CUDA_ABI_DIR}/cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/culvert/abi)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

string(TOUPPER "${CMAKE_BUILD_TYPE}" culvert_build_type)
get_target_property(culvert_archive culvert_static OUTPUT_NAME)
set(culvert_archive
  ${CMAKE_STATIC_LIBRARY_PREFIX}${culvert_archive}${CMAKE_${culvert_build_type}_POSTFIX}${CMAKE_STATIC_LIBRARY_SUFFIX})
set(culvert_libdir ${CMAKE_INSTALL_LIBDIR})
set(culvert_softdir ${CMAKE_INSTALL_LIBDIR})
set(culvert_soft_file libculvert-soft.so.0)
if(WIN32)
  set(culvert_softdir ${CMAKE_INSTALL_BINDIR})
  set(culvert_soft_file culvert-soft.dll)
  # From which anybody can make an import library, and the one for the other linker.
  install(FILES ${PROJECT_BINARY_DIR}/src/culvert.def DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET culvert_msvc_lib AND "shared" IN_LIST culvert_kinds)
    install(FILES ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/culvert.lib DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()
endif()
set(culvert_layerdir ${CMAKE_INSTALL_DATADIR}/vulkan/explicit_layer.d)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/culvertConfig.cmake.in
  ${PROJECT_BINARY_DIR}/install/culvertConfig.cmake INSTALL_DESTINATION ${culvert_config_dir}
  PATH_VARS culvert_libdir culvert_softdir culvert_layerdir NO_SET_AND_CHECK_MACRO)
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
foreach(dir IN ITEMS LIBDIR INCLUDEDIR DATADIR BINDIR)
  if(IS_ABSOLUTE ${CMAKE_INSTALL_${dir}})
    set(culvert_pc_${dir} ${CMAKE_INSTALL_${dir}})
  else()
    set(culvert_pc_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
# Where there is a static library only, what it needs is needed without --static, too.
if(shared IN_LIST culvert_kinds)
  set(culvert_pc_libs "Libs: -L\${libdir} -lculvert\nLibs.private: -ldl -pthread")
  set(culvert_pc_cflags "Cflags: -I\${includedir}\nCflags.private: -DCULV_STATIC")
else()
  set(culvert_pc_libs "Libs: -L\${libdir} -lculvert -ldl -pthread")
  set(culvert_pc_cflags "Cflags: -I\${includedir} -DCULV_STATIC")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/culvert.pc.in ${PROJECT_BINARY_DIR}/install/culvert.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/install/culvert.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Python's package, without its tests. It finds the library beside itself: in PREFIX/lib.
if(CULVERT_PYTHON)
  set(CULVERT_PYTHON_DIR lib/python3/dist-packages CACHE STRING "Where Python looks for packages, below the prefix")
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/bindings/python/culvert DESTINATION ${CULVERT_PYTHON_DIR}
    FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE)
endif()

# The pages that headers and messages speak of, by the same names below this directory; without their pictures (7 MB).
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs
  FILES_MATCHING PATTERN "*.md" PATTERN images EXCLUDE PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/check/docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs FILES_MATCHING PATTERN "*.md")
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The sources of the samples, to which pages link by this name.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/samples PATTERN __pycache__ EXCLUDE)
file(RELATIVE_PATH include_from_docs ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
if(IS_ABSOLUTE ${CMAKE_INSTALL_DOCDIR})
  set(docs_at ${CMAKE_INSTALL_DOCDIR})
else()
  set(docs_at \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR})
endif()
install(CODE "set(ROOT \"\$ENV{DESTDIR}${docs_at}\")
  set(INCLUDE \"${include_from_docs}\")
  include(\"${PROJECT_SOURCE_DIR}/cmake/install_pages.cmake\")")

# Programs to begin with; tests/programs/samples compiles them from here.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/samples/hello/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples
  FILES_MATCHING PATTERN "*.c" PATTERN "*.cpp" PATTERN "*.cu" PATTERN "README.md")

# Manual pages of the programs that are installed.
if(NOT WIN32)
  set(pages culvert-kernels)
  if(TARGET culvert_soft_run)
    list(APPEND pages culvert-soft-run)
  endif()
  if(TARGET culvert-info)
    list(APPEND pages culvert-info)
  endif()
  list(TRANSFORM pages PREPEND ${PROJECT_SOURCE_DIR}/docs/man/)
  list(TRANSFORM pages APPEND .1)
  install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
