#!/bin/sh
# GL_RGB5_A1 of Mesa has other bits than Vulkan's format of that name, on the same memory.
# Version: mesa-vulkan-drivers and libgl1-mesa-dri 22.3.6-1+deb12u2 (25.0.7 of backports does the
#   same).
# Guess: a Vulkan image of R5G5B5A1_UNORM_PACK16 whose memory llvmpipe imports as a texture of
#   GL_RGB5_A1 keeps its colors, as the other formats of one name do (RGBA8, RGB565, RGB10_A2,
#   R11F_G11F_B10F, all the depth formats).
# Behaviour: Vulkan has alpha in bit 0, OpenGL in bit 15. A picture that Vulkan cleared to red is
#   read by OpenGL as another color, and no call fails. The pair that fits is
#   A1R5G5B5_UNORM_PACK16.
# Seen: RGB565: Vulkan's red is f800, OpenGL reads ff0000ff, error 0
#       RGB5_A1: Vulkan's red is f801, OpenGL reads f70008ff, error 0 RGB5_A1 on A1R5G5B5: Vulkan's red is fc00, OpenGL reads ff0000ff, error 0
# SPDX-License-Identifier: MIT
# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"
lavapipe22
debian12 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2 libegl-dev=1.6.0-1 libgl-dev=1.6.0-1
compile names -lvulkan -lEGL -lGL <<'END'
#include "vk.h"
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#define GL(type, name) ((type)(void (*)(void))eglGetProcAddress(name))

static void measure(const char *name, VkFormat format, GLenum internal)
{
    VkExternalMemoryHandleTypeFlagBits type = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkExternalMemoryImageCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO, .handleTypes = type};
    VkExportMemoryAllocateInfo exported = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                           .handleTypes = type};
    VkImageSubresourceRange range = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
    VkImage image = row(
        format, 1, VK_IMAGE_USAGE_TRANSFER_DST_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT, &external);
    VkBufferImageCopy one = texels(1);
    VkMemoryRequirements needs;
    GLuint object, texture;
    uint8_t color[4] = {0};
    int fd;
    struct bytes out = bytes(4, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    vkGetImageMemoryRequirements(device, image, &needs);
    VkDeviceMemory under = memory(needs.size, &exported);
    OK(vkBindImageMemory(device, image, under, 0));
    VkCommandBuffer commands = begin();
    general(commands, image);
    vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_GENERAL,
                         &(VkClearColorValue){{1, 0, 0, 1}}, 1, &range);
    barrier(commands);
    vkCmdCopyImageToBuffer(commands, image, VK_IMAGE_LAYOUT_GENERAL, out.buffer, 1, &one);
    run(commands);
    OK(((PFN_vkGetMemoryFdKHR)vkGetDeviceProcAddr(device, "vkGetMemoryFdKHR"))(
        device,
        &(VkMemoryGetFdInfoKHR){
            .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = under, .handleType = type},
        &fd));
    GL(PFNGLCREATEMEMORYOBJECTSEXTPROC, "glCreateMemoryObjectsEXT")(1, &object);
    GL(PFNGLIMPORTMEMORYFDEXTPROC, "glImportMemoryFdEXT")
    (object, needs.size, GL_HANDLE_TYPE_OPAQUE_FD_EXT, fd);
    glCreateTextures(GL_TEXTURE_2D, 1, &texture);
    GL(PFNGLTEXTURESTORAGEMEM2DEXTPROC, "glTextureStorageMem2DEXT")
    (texture, 1, internal, 1, 1, object, 0);
    glGetTextureImage(texture, 0, GL_RGBA, GL_UNSIGNED_BYTE, sizeof color, color);
    printf("%s: Vulkan's red is %04x, OpenGL reads %02x%02x%02x%02x, error %x\n", name,
           *(uint16_t *)out.host, color[0], color[1], color[2], color[3], glGetError());
}

int main(void)
{
    const char *extension = "VK_KHR_external_memory_fd";
    EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, 4, EGL_CONTEXT_MINOR_VERSION, 5, EGL_NONE};
    EGLDisplay display =
        eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    eglInitialize(display, NULL, NULL);
    eglBindAPI(EGL_OPENGL_API);
    if (!eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE,
                        eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, version)))
        return 3;
    start(&extension, 1, NULL);
    measure("RGB565", VK_FORMAT_R5G6B5_UNORM_PACK16, GL_RGB565);
    measure("RGB5_A1", VK_FORMAT_R5G5B5A1_UNORM_PACK16, GL_RGB5_A1);
    measure("RGB5_A1 on A1R5G5B5", VK_FORMAT_A1R5G5B5_UNORM_PACK16, GL_RGB5_A1);
    return 0;
}
END
LIBGL_ALWAYS_SOFTWARE=1
export LIBGL_ALWAYS_SOFTWARE
same "RGB565: Vulkan's red is f800, OpenGL reads ff0000ff, error 0
RGB5_A1: Vulkan's red is f801, OpenGL reads f70008ff, error 0
RGB5_A1 on A1R5G5B5: Vulkan's red is fc00, OpenGL reads ff0000ff, error 0" "$("$work/names")"
