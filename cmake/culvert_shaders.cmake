# culvert_add_shaders(<target> <prefix> <shader>...): compiles GLSL to <build>/share/culvert/<prefix><name>.spv, the
# name with its stage: water.frag becomes <prefix>water.frag.spv. Shaders may include files of their own directory.
# culvert_add_gl_shaders(<target> <prefix> <shader>...): OpenGL compiles them when the program runs, so they go to
# <build>/share/culvert/<prefix><name> as they are, checked here. A file that others include (.glsl) keeps its name.
# SPDX-License-Identifier: MIT
include_guard(GLOBAL)

find_program(CULVERT_GLSLANG NAMES glslangValidator glslang DOC "The GLSL compiler of the samples' shaders")
if(NOT CULVERT_GLSLANG)
  message(FATAL_ERROR "glslangValidator was not found (Debian: glslang-tools); "
    "-DCULVERT_SAMPLES=OFF builds without it")
endif()

function(culvert_add_shaders target prefix)
  set(directory ${PROJECT_BINARY_DIR}/share/culvert)
  file(MAKE_DIRECTORY ${directory})
  set(outputs)
  foreach(shader IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH shader BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET shader FILENAME name)
    cmake_path(GET shader PARENT_PATH parent)
    set(output ${directory}/${prefix}${name}.spv)
    file(GLOB includes CONFIGURE_DEPENDS ${parent}/*.glsl)
    add_custom_command(OUTPUT ${output}
      COMMAND ${CULVERT_GLSLANG} --quiet --target-env vulkan1.3 -I${parent} ${shader} -o ${output}
      DEPENDS ${shader} ${includes}
      COMMENT "Compiling ${prefix}${name}" VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${outputs})
endfunction()

function(culvert_add_gl_shaders target prefix)
  set(directory ${PROJECT_BINARY_DIR}/share/culvert)
  file(MAKE_DIRECTORY ${directory})
  set(outputs)
  foreach(shader IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH shader BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    cmake_path(GET shader FILENAME name)
    cmake_path(GET shader PARENT_PATH parent)
    set(output ${directory}/${prefix}${name})
    file(GLOB includes CONFIGURE_DEPENDS ${parent}/*.glsl)
    set(insert) # OpenGL's compilers do not know #include
    foreach(include IN LISTS includes)
      cmake_path(GET include FILENAME part)
      list(APPEND insert -e "/^#include .${part}/r ${include}")
    endforeach()
    add_custom_command(OUTPUT ${output}
      COMMAND ${CULVERT_GLSLANG} --quiet --target-env opengl -I${parent} ${shader} -o /dev/null
      COMMAND sed -e /GL_GOOGLE_include/d ${insert} -e "/^#include/d" ${shader} > ${output}
      DEPENDS ${shader} ${includes}
      COMMENT "Checking ${prefix}${name}" VERBATIM)
    list(APPEND outputs ${output})
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${outputs})
endfunction()
