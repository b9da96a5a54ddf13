# cuda.h, which is needed to build and never to run: sets CULVERT_CUDA_INCLUDE_DIR.
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)

set(CULVERT_CUDA_MINIMUM 12.8)

# It is the same header for every target system, hence no root path.
find_path(CULVERT_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH
  DOC "The directory of cuda.h")
if(NOT CULVERT_CUDA_INCLUDE_DIR)
  message(FATAL_ERROR "cuda.h was not found. Install a CUDA toolkit from ${CULVERT_CUDA_MINIMUM} on (its headers "
    "are enough for the library) and set CUDA_HOME, or -DCULVERT_CUDA_INCLUDE_DIR= to the directory of cuda.h.")
endif()

file(STRINGS ${CULVERT_CUDA_INCLUDE_DIR}/cuda.h culvert_cuda_line REGEX "^#define CUDA_VERSION [0-9]+")
if(NOT culvert_cuda_line MATCHES "CUDA_VERSION ([0-9]+)")
  message(FATAL_ERROR "${CULVERT_CUDA_INCLUDE_DIR}/cuda.h does not define CUDA_VERSION")
endif()
math(EXPR culvert_cuda_major "${CMAKE_MATCH_1} / 1000")
math(EXPR culvert_cuda_minor "${CMAKE_MATCH_1} % 1000 / 10")
set(CULVERT_CUDA_VERSION ${culvert_cuda_major}.${culvert_cuda_minor})
if(CULVERT_CUDA_VERSION VERSION_LESS CULVERT_CUDA_MINIMUM)
  message(FATAL_ERROR "${CULVERT_CUDA_INCLUDE_DIR}/cuda.h is of CUDA ${CULVERT_CUDA_VERSION}; "
    "Culvert builds with ${CULVERT_CUDA_MINIMUM} or newer")
endif()
