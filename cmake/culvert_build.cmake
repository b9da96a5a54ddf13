# Warnings, sanitizers and small helpers shared by every directory.
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)

# Joined by +, because a comma separates arguments of generator expressions.
set(CULVERT_SANITIZE "" CACHE STRING "Sanitizers for everything in this build: address+undefined, or thread")

# The one place where warnings are chosen; applied to all our targets, never to consumers.
function(culvert_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${CULVERT_WERROR}>:-Werror>)
endfunction()

if(CULVERT_SANITIZE)
  string(REPLACE "+" "," culvert_sanitizers "${CULVERT_SANITIZE}")
  add_compile_options(-fsanitize=${culvert_sanitizers} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${culvert_sanitizers})
elseif(NOT MSVC)
  # What a program does not use is left out of it: each test suite has a libculvert of its own, and the bundle all suites.
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-Wl,--gc-sections)
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
  add_library(culvert_no_unload OBJECT ${PROJECT_SOURCE_DIR}/tests/sanitizers/no_unload.c)
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
