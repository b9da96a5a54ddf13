# hello_vulkan, which runs on the twin with CULVERT_SOFT=1 alone, where there is no GPU; after programs.cmake.
# SPDX-License-Identifier: MIT
find_library(VULKAN vulkan)
if(culvert_SOFT AND VULKAN_HEADERS AND VULKAN)
  foreach(kind IN ITEMS culvert shared static)
    if(TARGET culvert::${kind})
      consumer(c_soft_${kind} ../../../samples/hello/hello_vulkan.c ${kind})
      target_include_directories(c_soft_${kind} PRIVATE ${VULKAN_HEADERS})
      target_link_libraries(c_soft_${kind} PRIVATE ${VULKAN} m)
      set_target_properties(c_soft_${kind} PROPERTIES C_STANDARD 11 BUILD_RPATH "${culvert_SOFT_DIR}")
    endif()
  endforeach()
endif()
