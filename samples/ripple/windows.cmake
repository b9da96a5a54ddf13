# ripple for Windows: Vulkan and Direct3D, without OpenGL and windows, and without libraries but the system's.
# ripple_program is all of it but main.c, for the tests as well, which put Direct3D's shared handles in place first.
# SPDX-License-Identifier: MIT
if(NOT CULVERT_VOLK_INCLUDE_DIR OR NOT TARGET culvert_static)
  message(STATUS "volk.h not found (Debian: libvulkan-volk-dev), or no static library: ripple is not built")
  return()
endif()
set(common ${PROJECT_SOURCE_DIR}/samples/common)
add_library(ripple_program OBJECT ${sources} window_none.c gl_none.c d3d_run.c d3d12_renderer.c d3d11_renderer.c
  ${common}/arguments.c ${common}/files.c ${common}/png_plain.c ${common}/progress.c ${common}/report.c ${common}/cuda_side.c
  ${common}/vulkan_setup.c ${common}/vulkan_memory.c ${common}/vulkan_pipeline.c ${common}/interop.c)
culvert_warnings(ripple_program)
target_compile_options(ripple_program PRIVATE -ffp-contract=off)
target_compile_definitions(ripple_program PUBLIC VK_NO_PROTOTYPES __USE_MINGW_ANSI_STDIO=1)
target_include_directories(ripple_program SYSTEM PUBLIC ${CULVERT_CUDA_ABI_DIR} ${CULVERT_VOLK_INCLUDE_DIR})
target_link_libraries(ripple_program PUBLIC culvert::static d3d12 d3d11 dxgi)

# Direct3D's shaders are made from the same sources beforehand: shaders/ripple/dxbc/make.
file(GLOB dxbc ${shaders}/dxbc/*.dxbc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/culvert)
foreach(shader IN LISTS dxbc)
  cmake_path(GET shader FILENAME name)
  configure_file(${shader} ${PROJECT_BINARY_DIR}/share/culvert/ripple_${name} COPYONLY)
endforeach()

add_executable(ripple main.c)
culvert_warnings(ripple)
target_link_options(ripple PRIVATE -static)
target_link_libraries(ripple PRIVATE ripple_program)
add_dependencies(ripple ripple_kernels ripple_shaders)
