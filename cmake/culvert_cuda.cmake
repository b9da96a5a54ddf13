# CUDA's declarations. CULVERT_CUDA_ABI_DIR has those that Culvert needs, so that it builds without a CUDA toolkit.
# CULVERT_CUDA_INCLUDE_DIR is a toolkit's, or false: kernels for NVIDIA's GPUs and culvert/cudart.h need one.
# SPDX-License-Identifier: MIT
include_guard(DIRECTORY) # it sets variables

set(CULVERT_CUDA_MINIMUM 12.8)
cmake_path(SET CULVERT_CUDA_ABI_DIR NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../cuda_headers)
if(NOT EXISTS ${CULVERT_CUDA_ABI_DIR}/vector_types.h) # installed, what kernels need of it (culvert_install.cmake)
  set(CULVERT_CUDA_ABI_DIR ${CMAKE_CURRENT_LIST_DIR}/kernels/abi)
endif()

# It is the same header for every target system, hence no root path.
find_path(CULVERT_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH
  DOC "The directory of a CUDA toolkit's cuda.h, if there is one")
if(CULVERT_CUDA_INCLUDE_DIR)
  file(STRINGS ${CULVERT_CUDA_INCLUDE_DIR}/cuda.h culvert_cuda_line REGEX "^#define CUDA_VERSION +[0-9]+")
  if(culvert_cuda_line MATCHES "CUDA_VERSION +([0-9]+)")
    math(EXPR culvert_cuda_major "${CMAKE_MATCH_1} / 1000")
    math(EXPR culvert_cuda_minor "${CMAKE_MATCH_1} % 1000 / 10")
    set(CULVERT_CUDA_VERSION ${culvert_cuda_major}.${culvert_cuda_minor})
  endif()
  if(CULVERT_CUDA_VERSION VERSION_LESS CULVERT_CUDA_MINIMUM)
    message(STATUS "${CULVERT_CUDA_INCLUDE_DIR} is of CUDA '${CULVERT_CUDA_VERSION}', older than ${CULVERT_CUDA_MINIMUM}, and is not used")
    set(CULVERT_CUDA_INCLUDE_DIR FALSE)
  endif()
endif()
if(NOT CULVERT_CUDA_INCLUDE_DIR AND PROJECT_IS_TOP_LEVEL)
  message(STATUS "No CUDA toolkit: kernels are built for the software twin alone. culvert/cudart.h is installed; whoever includes it brings a toolkit")
endif()
