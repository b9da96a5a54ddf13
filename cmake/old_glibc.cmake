# Toolchain: this machine's gcc with the C library of an older Debian, so that what it links runs there, and on newer
# ones. CULVERT_OLD_ROOT is a root of that Debian that has libc6-dev. scripts/release uses it.
# SPDX-License-Identifier: MIT
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CULVERT_OLD_ROOT)
if(NOT EXISTS "${CULVERT_OLD_ROOT}/usr/include/features.h")
  message(FATAL_ERROR "CULVERT_OLD_ROOT, which is '${CULVERT_OLD_ROOT}', is no root with libc6-dev")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER gcc)
set(CMAKE_SYSROOT ${CULVERT_OLD_ROOT})
# gcc looks for libc.so and crt1.o beside itself before it looks in the other root, so that root's come first by name.
set(CMAKE_EXE_LINKER_FLAGS_INIT -B${CULVERT_OLD_ROOT}/usr/lib/x86_64-linux-gnu/)
set(CMAKE_SHARED_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
set(CMAKE_MODULE_LINKER_FLAGS_INIT ${CMAKE_EXE_LINKER_FLAGS_INIT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
