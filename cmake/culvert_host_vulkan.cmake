# Vulkan's headers, and volk's, for a cross build: the host's serve every system, but nothing else of /usr/include may be
# seen, so the directory that is searched has links to them alone. Sets CULVERT_VULKAN_INCLUDE_DIR, and with volk
# CULVERT_VOLK_INCLUDE_DIR.
# SPDX-License-Identifier: MIT
if(NOT CMAKE_CROSSCOMPILING OR (CULVERT_VULKAN_INCLUDE_DIR AND DEFINED CULVERT_VOLK_INCLUDE_DIR))
  return()
endif()
find_path(culvert_host_vulkan vulkan/vulkan_core.h NO_CACHE NO_CMAKE_FIND_ROOT_PATH PATHS /usr/include)
if(culvert_host_vulkan)
  set(directory ${PROJECT_BINARY_DIR}/host_vulkan)
  file(MAKE_DIRECTORY ${directory})
  foreach(part IN ITEMS vulkan vk_video)
    file(CREATE_LINK ${culvert_host_vulkan}/${part} ${directory}/${part} SYMBOLIC)
  endforeach()
  if(EXISTS ${culvert_host_vulkan}/volk.c)
    foreach(part IN ITEMS volk.h volk.c)
      file(CREATE_LINK ${culvert_host_vulkan}/${part} ${directory}/${part} SYMBOLIC)
    endforeach()
    set(CULVERT_VOLK_INCLUDE_DIR ${directory} CACHE PATH "Directory of volk.h")
  endif()
  set(CULVERT_VULKAN_INCLUDE_DIR ${directory} CACHE PATH "Directory of vulkan/vulkan_core.h")
endif()
