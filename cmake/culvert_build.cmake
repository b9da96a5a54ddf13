# Warnings, sanitizers and small helpers shared by every directory.
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)

# Joined by +, because a comma separates arguments of generator expressions.
set(CULVERT_SANITIZE "" CACHE STRING "Sanitizers for everything in this build: address+undefined, or thread")

# Whether objects have Microsoft's ABI and its linker links them: cl, clang-cl, and clang for that target.
set(culvert_microsoft OFF)
if(MSVC OR CMAKE_C_SIMULATE_ID STREQUAL "MSVC")
  set(culvert_microsoft ON)
endif()

# The one place where warnings are chosen; applied to all our targets, never to consumers.
function(culvert_warnings target)
  if(MSVC)
    # From level 4 on cl warns of C99 itself (C4204, C4221). clang-cl's level 4 is -Wall -Wextra.
    target_compile_options(${target} PRIVATE $<IF:$<C_COMPILER_ID:MSVC>,/W3,/W4> $<$<BOOL:${CULVERT_WERROR}>:/WX>)
    return()
  endif()
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow ${culvert_more_warnings}
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${CULVERT_WERROR}>:-Werror>)
endfunction()

if(CULVERT_SANITIZE)
  string(REPLACE "+" "," culvert_sanitizers "${CULVERT_SANITIZE}")
  add_compile_options(-fsanitize=${culvert_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${culvert_sanitizers})
elseif(MSVC)
  # cl has C11's atomics behind a switch (from Visual Studio 2022 17.5 on) and takes sources for the system's code page.
  add_compile_options($<$<COMPILE_LANG_AND_ID:C,MSVC>:/experimental:c11atomics> $<$<C_COMPILER_ID:MSVC>:/utf-8>)
elseif(NOT culvert_microsoft)
  # What a program does not use is left out of it: each test suite has a libculvert of its own, and the bundle all suites.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
endif()

if(culvert_microsoft)
  # Warnings that name Microsoft's own functions for ISO C's and POSIX's.
  add_compile_definitions(_CRT_SECURE_NO_WARNINGS _CRT_NONSTDC_NO_WARNINGS)
elseif(WIN32)
  # Linked twice, a program or DLL is the same, byte for byte.
  add_link_options(-Wl,--no-insert-timestamp)
endif()

# culvert_reuse_objects(<again> <objects> <target> <macro>): for a target of the same sources that differs in a macro.
# <again> gets the target's sources that ask for the macro, <objects> what the others were compiled to.
function(culvert_reuse_objects again objects target macro)
  get_target_property(sources ${target} SOURCES)
  set(asking)
  foreach(source IN LISTS sources)
    get_source_file_property(generated ${source} GENERATED)
    if(source MATCHES "[$]<" OR generated) # cannot be read yet
      continue()
    endif()
    file(STRINGS ${source} lines REGEX "(^|[^A-Za-z0-9_])${macro}([^A-Za-z0-9_]|$)")
    if(lines)
      list(APPEND asking ${source})
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${asking})
  list(JOIN asking "|" pattern)
  set(${again} ${asking} PARENT_SCOPE)
  set(${objects} $<FILTER:$<TARGET_OBJECTS:${target}>,EXCLUDE,/\(${pattern}\)\.o\(bj\)?$$> PARENT_SCOPE)
endfunction()

# Sanitized programs of these directories never unload a module: a leak report cannot name, nor suppress, frames of
# a module that is gone, and lavapipe leaves 128 bytes in one (on AMD's CPUs, of which it lists the caches).
function(culvert_keep_modules_loaded)
  add_library(culvert_no_unload OBJECT ${PROJECT_SOURCE_DIR}/tests/support/sanitizers/no_unload.c)
  culvert_warnings(culvert_no_unload)
  set(directories ${ARGN})
  list(TRANSFORM directories PREPEND ${PROJECT_SOURCE_DIR}/)
  get_property(built DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY SUBDIRECTORIES)
  foreach(directory IN LISTS directories) # an option may leave one out
    if(NOT directory IN_LIST built)
      list(REMOVE_ITEM directories ${directory})
    endif()
  endforeach()
  while(directories)
    list(POP_FRONT directories directory)
    get_property(children DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
    list(APPEND directories ${children})
    get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(type STREQUAL EXECUTABLE)
        target_sources(${target} PRIVATE $<TARGET_OBJECTS:culvert_no_unload>)
        target_link_options(${target} PRIVATE -Wl,--export-dynamic-symbol=dlclose)
      endif()
    endforeach()
  endwhile()
endfunction()
