# culvert_add_kernels(<target> <source.cu> [SOFT_ONLY]): compiles one .cu source for every driver. <name> is the source's.
#   <build>/share/culvert/<name>.soft.so   for the software twin, by the host compiler as C++17 (CULVERT_SOFT)
#   <build>/share/culvert/<name>.fatbin    for NVIDIA devices, where nvcc is found, unless SOFT_ONLY
# Include this file in the directory that calls the function: languages are enabled by directory. With an installed
# Culvert that is find_package(culvert COMPONENTS kernels). docs/kernels.md has the whole way.
include_guard(DIRECTORY)
cmake_policy(VERSION 3.22...3.25) # CMP0119: a .cu source is compiled as the language that is set for it

include(${CMAKE_CURRENT_LIST_DIR}/culvert_cuda.cmake)
if(NOT DEFINED CULVERT_SOFT)
  set(CULVERT_SOFT ${culvert_SOFT}) # of the package: whether it has the twin
endif()

if(CULVERT_SOFT)
  enable_language(CXX)
endif()

if(CULVERT_CUDA_INCLUDE_DIR)
  set(culvert_nvcc_hint ${CULVERT_CUDA_INCLUDE_DIR}/../bin)
endif()
find_program(CULVERT_NVCC nvcc HINTS ${culvert_nvcc_hint} ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin
  PATHS /usr/local/cuda DOC "The CUDA compiler; kernels for NVIDIA devices are made only with it")
set(CULVERT_CUDA_ARCHITECTURES 75 80 90 100 120 CACHE STRING "Devices that get machine code; others compile PTX")
set(culvert_kernel_include ${CMAKE_CURRENT_LIST_DIR}/../soft/cuda)
if(NOT EXISTS ${culvert_kernel_include}/culvert_kernel.h) # installed (culvert_install.cmake)
  set(culvert_kernel_include ${CMAKE_CURRENT_LIST_DIR}/kernels/cuda)
endif()

function(culvert_add_kernels target source)
  cmake_parse_arguments(PARSE_ARGV 2 arg SOFT_ONLY "" "")
  cmake_path(GET source STEM name)
  cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(directory ${PROJECT_BINARY_DIR}/share/culvert)
  add_custom_target(${target} ALL)

  if(CULVERT_SOFT)
    set(sanitize)
    set(optimize -O3)
    if(CULVERT_SANITIZE MATCHES address)
      set(optimize -O0) # with it, -O3 takes ten times as long to compile and saves less than that when it runs
    elseif(CULVERT_SANITIZE)
      set(optimize -O1) # half of the time to compile; nothing vectorizes between ThreadSanitizer's calls anyway
    endif()
    if(CULVERT_SANITIZE MATCHES undefined AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
      set(sanitize -fno-sanitize=function) # its runtime half is only in programs linked as C++
    endif()
    add_library(${target}_soft MODULE ${source})
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX)
    target_include_directories(${target}_soft PRIVATE ${culvert_kernel_include})
    # Of a toolkit, where there is one: a kernel may use more of it than vector types.
    target_include_directories(${target}_soft SYSTEM PRIVATE
      $<IF:$<BOOL:${CULVERT_CUDA_INCLUDE_DIR}>,${CULVERT_CUDA_INCLUDE_DIR},${CULVERT_CUDA_ABI_DIR}>)
    # No contraction, here and by nvcc: host and GPU compute the same bits. The next three let loops vectorize and change no result.
    target_compile_options(${target}_soft PRIVATE ${optimize} -ffp-contract=off -fno-math-errno -fno-trapping-math
      -fopenmp-simd ${sanitize} -Wall -Wextra $<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed> $<$<BOOL:${CULVERT_WERROR}>:-Werror>)
    # What the compiler says of a kernel of nvcc's alone.
    target_compile_definitions(${target}_soft PRIVATE __global__=include_culvert_kernel_h_and_write_CULV_KERNEL_for_extern_C___global__)
    # What is nowhere is told when it is linked, not when it is loaded. A sanitizer's runtime comes with the program.
    if(WIN32)
      target_link_options(${target}_soft PRIVATE -static) # libgcc and the threads' library are not in the system directory
    elseif(NOT CULVERT_SANITIZE AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize" AND NOT APPLE)
      target_link_options(${target}_soft PRIVATE -Wl,-z,defs)
    endif()
    set_target_properties(${target}_soft PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
      CXX_VISIBILITY_PRESET hidden PREFIX "" OUTPUT_NAME ${name} SUFFIX .soft.so LIBRARY_OUTPUT_DIRECTORY ${directory})
    add_dependencies(${target} ${target}_soft)
  endif()

  if(arg_SOFT_ONLY)
    return()
  endif()
  if(CULVERT_NVCC)
    set(codes)
    foreach(architecture IN LISTS CULVERT_CUDA_ARCHITECTURES)
      list(APPEND codes -gencode arch=compute_${architecture},code=sm_${architecture})
    endforeach()
    list(GET CULVERT_CUDA_ARCHITECTURES 0 oldest)
    file(MAKE_DIRECTORY ${directory})
    add_custom_command(OUTPUT ${directory}/${name}.fatbin
      COMMAND ${CULVERT_NVCC} -fatbin -std=c++17 -O3 -fmad=false ${codes} -gencode arch=compute_${oldest},code=compute_${oldest}
        -I${culvert_kernel_include} -MD -MF ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin.d
        -MT ${directory}/${name}.fatbin -o ${directory}/${name}.fatbin ${source}
      DEPENDS ${source} ${culvert_kernel_include}/culvert_kernel.h
      DEPFILE ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin.d
      COMMENT "Compiling ${name}.cu for NVIDIA devices" VERBATIM)
    add_custom_target(${target}_fatbin DEPENDS ${directory}/${name}.fatbin)
    add_dependencies(${target} ${target}_fatbin)
  else()
    message(STATUS "nvcc not found: ${name}.fatbin is not made, ${name} runs on the software twin only")
  endif()
endfunction()
