#!/bin/sh
# The offset into a memory object means nothing to Mesa's llvmpipe: all textures lie at its begin.
# Version: libgl1-mesa-dri and mesa-vulkan-drivers 22.3.6-1+deb12u2.
# Guess: glTextureStorageMem2DEXT(texture, levels, format, width, height, memory, offset) puts the
#   texture at the offset, as Vulkan bound its image there, or raises an error.
# Behaviour: there is no error, and the texture lies at offset 0: a second texture shows the first
#   one's picture, and drawing to it destroys the first one's. Buffers do the same. One exported
#   allocation for each object is what works.
# Seen: texture at 0: Vulkan cleared to red, OpenGL reads red, error 0
#       texture at 65536: Vulkan cleared to green, OpenGL reads red, error 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2 libegl-dev=1.6.0-1 libgl-dev=1.6.0-1
compile offset -lvulkan -lEGL -lGL <<'C'
#include "vk.h"
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#define GL(type, name) ((type)(void (*)(void))eglGetProcAddress(name))
enum { OFFSET = 65536 };

int main(void)
{
    const char *extension = "VK_KHR_external_memory_fd";
    VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = type};
    VkExportMemoryAllocateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                           .handleTypes = type};
    VkClearColorValue red = {{1, 0, 0, 1}}, green = {{0, 1, 0, 1}};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    EGLDisplay display =
        eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    GLuint object, textures[2];
    int fd;
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                        eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, version)))
        return 3;
    start(&extension, 1, NULL);
    VkDeviceMemory both = memory(2 * OFFSET, &exported);
    VkCommandBuffer commands = begin();
    for (VkDeviceSize i = 0; i < 2; i++) {
        VkImage image =
            row(VK_FORMAT_R8G8B8A8_UNORM, 16, VK_IMAGE_USAGE_TRANSFER_DST_BIT, &external);
        OK(vkBindImageMemory(device, image, both, i * OFFSET));
        general(commands, image);
        vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL, i ? &green : &red, 1,
                             &range);
    }
    run(commands);
    OK(((PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR"))(
        device,
        &(VkMemoryGetFdInfoKHR){
            .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = both, .handleType = type},
        &fd));
    GL(PFNGLCREATEMEMORYOBJECTSEXTPROC, "glCreateMemoryObjectsEXT")(1, &object);
    GL(PFNGLIMPORTMEMORYFDEXTPROC, "glImportMemoryFdEXT")
    (object, 2 * OFFSET, GL_HANDLE_TYPE_OPAQUE_FD_EXT, fd);
    glCreateTextures(GL_TEXTURE_2D, 2, textures);
    for (GLuint64 i = 0; i < 2; i++) {
        uint8_t color[64] = {0};
        GL(PFNGLTEXTURESTORAGEMEM2DEXTPROC, "glTextureStorageMem2DEXT")
        (textures[i], 1, GL_RGBA8, 16, 1, object, i * OFFSET);
        glGetTextureImage(textures[i], 0, GL_RGBA, GL_UNSIGNED_BYTE, sizeof color, color);
        printf("texture at %d: Vulkan cleared to %s, OpenGL reads %s, error %x\n", (int)i * OFFSET,
               i ? "green" : "red",
               color[0] > color[1]   ? "red"
               : color[1] > color[0] ? "green"
                                     : "neither",
               glGetError());
    }
    return 0;
}
C
LIBGL_ALWAYS_SOFTWARE=1
export LIBGL_ALWAYS_SOFTWARE
same "texture at 0: Vulkan cleared to red, OpenGL reads red, error 0
texture at 65536: Vulkan cleared to green, OpenGL reads red, error 0" "$("$work/offset")"
