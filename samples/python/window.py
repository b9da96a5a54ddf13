# SPDX-License-Identifier: MIT
"""A window for the samples, by PySDL2 or glfw (Debian: python3-sdl2), whose handles Culvert takes as numbers."""
import ctypes
from ctypes import byref, c_uint32, c_void_p

import culvert
from culvert import vulkan as vk


class Sdl:
    def __init__(self, title, width, height):
        import sdl2
        import sdl2.vulkan
        self.sdl = sdl2
        if sdl2.SDL_Init(sdl2.SDL_INIT_VIDEO) != 0:
            raise RuntimeError(sdl2.SDL_GetError().decode())
        self.window = sdl2.SDL_CreateWindow(title.encode(), sdl2.SDL_WINDOWPOS_CENTERED, sdl2.SDL_WINDOWPOS_CENTERED,
                                            width, height, sdl2.SDL_WINDOW_VULKAN)
        if not self.window:
            raise RuntimeError(sdl2.SDL_GetError().decode())

    def extensions(self):
        count = c_uint32()
        self.sdl.vulkan.SDL_Vulkan_GetInstanceExtensions(self.window, byref(count), None)
        names = (ctypes.c_char_p * count.value)()
        self.sdl.vulkan.SDL_Vulkan_GetInstanceExtensions(self.window, byref(count), names)
        return [n.decode() for n in names]

    def surface(self, instance):
        out = ctypes.c_uint64()
        if not self.sdl.vulkan.SDL_Vulkan_CreateSurface(self.window, instance, byref(out)):
            raise RuntimeError(self.sdl.SDL_GetError().decode())
        return out.value

    def closed(self):
        event = self.sdl.SDL_Event()
        while self.sdl.SDL_PollEvent(byref(event)):
            if event.type == self.sdl.SDL_QUIT or (event.type == self.sdl.SDL_KEYDOWN and
                                                   event.key.keysym.sym == self.sdl.SDLK_ESCAPE):
                return True
        return False

    def close(self):
        self.sdl.SDL_DestroyWindow(self.window)
        self.sdl.SDL_Quit()


class Glfw:
    def __init__(self, title, width, height):
        import glfw
        self.glfw = glfw
        if not glfw.init():
            raise RuntimeError("glfw finds no display")
        glfw.window_hint(glfw.CLIENT_API, glfw.NO_API)
        glfw.window_hint(glfw.RESIZABLE, False)
        self.window = glfw.create_window(width, height, title, None, None)

    def extensions(self):
        return list(self.glfw.get_required_instance_extensions())

    def surface(self, instance):
        out = c_void_p()
        if self.glfw.create_window_surface(c_void_p(instance), self.window, None, byref(out)) != 0:
            raise RuntimeError("glfw makes no surface")
        return out.value

    def closed(self):
        self.glfw.poll_events()
        return self.glfw.window_should_close(self.window) or \
            self.glfw.get_key(self.window, self.glfw.KEY_ESCAPE) == self.glfw.PRESS

    def close(self):
        self.glfw.terminate()


class Window:
    """`with Window(...) as window:` window.gpu is a culvert.vulkan.Context that can present."""

    def __init__(self, title, width, height):
        self.width, self.height = width, height
        try:
            self.own = Sdl(title, width, height)
        except ImportError:
            self.own = Glfw(title, width, height)
        self.gpu = gpu = culvert.vulkan.open(instance_extensions=self.own.extensions(), extensions=["VK_KHR_swapchain"])
        self.surface, f = self.own.surface(gpu.instance), gpu.functions
        there = c_uint32()
        f.vkGetPhysicalDeviceSurfaceSupportKHR(gpu.physical_device, gpu.queue_family, self.surface, byref(there))
        if not there.value:
            raise RuntimeError("the queue does not present to this window")
        says, count = vk.VkSurfaceCapabilitiesKHR(), c_uint32(64)
        f.vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu.physical_device, self.surface, says)
        formats = (vk.VkSurfaceFormatKHR * 64)()
        f.vkGetPhysicalDeviceSurfaceFormatsKHR(gpu.physical_device, self.surface, byref(count), formats)
        unorm = [x for x in formats[:count.value] if x.format in (vk.VK_FORMAT_B8G8R8A8_UNORM, vk.VK_FORMAT_R8G8B8A8_UNORM)]
        self.swapchain = f.make("vkCreateSwapchainKHR", gpu.handle, vk.VkSwapchainCreateInfoKHR(
            surface=self.surface, minImageCount=max(says.minImageCount, 2), imageFormat=(unorm or formats)[0].format,
            imageColorSpace=(unorm or formats)[0].colorSpace, imageExtent=vk.VkExtent2D(width, height), imageArrayLayers=1,
            imageUsage=vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT, preTransform=says.currentTransform,
            compositeAlpha=vk.VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR, presentMode=vk.VK_PRESENT_MODE_FIFO_KHR, clipped=1), None)
        count = c_uint32(16)
        images = (ctypes.c_uint64 * 16)()
        f.vkGetSwapchainImagesKHR(gpu.handle, self.swapchain, byref(count), images)
        self.images = list(images[:count.value])
        # The picture is a buffer: an image between them lets the blit put the colours in the window's order.
        self.between = gpu.vk.image(vk.VK_FORMAT_R8G8B8A8_UNORM, width, height)
        self.fence = f.make("vkCreateFence", gpu.handle, vk.VkFenceCreateInfo(), None)
        self.commands = gpu.commands()

    def show(self, picture):
        """Shows a buffer of RGBA bytes. False: the window was closed."""
        gpu, f, c, index = self.gpu, self.gpu.functions, self.commands, c_uint32()
        gpu.wait_idle()
        f.vkAcquireNextImageKHR(gpu.handle, self.swapchain, 2**64 - 1, 0, self.fence, byref(index))
        fences = (ctypes.c_uint64 * 1)(self.fence)
        f.vkWaitForFences(gpu.handle, 1, fences, 1, 2**64 - 1)
        f.vkResetFences(gpu.handle, 1, fences)
        layers = vk.VkImageSubresourceLayers(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1)
        f.vkBeginCommandBuffer(c, vk.VkCommandBufferBeginInfo())
        gpu.barrier(c, [gpu.vk.buffer_transfer(picture, gpu.queue_family, True)], [
            self.to(self.between.handle, vk.VK_IMAGE_LAYOUT_UNDEFINED, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL),
            self.to(self.images[index.value], vk.VK_IMAGE_LAYOUT_UNDEFINED, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL)])
        f.vkCmdCopyBufferToImage(c, picture.handle, self.between.handle, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                                 vk.VkBufferImageCopy(0, 0, 0, layers, vk.VkOffset3D(),
                                                      vk.VkExtent3D(self.width, self.height, 1)))
        gpu.barrier(c, [gpu.vk.buffer_transfer(picture, gpu.queue_family, False)], [
            self.to(self.between.handle, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)])
        box = (vk.VkOffset3D * 2)(vk.VkOffset3D(), vk.VkOffset3D(self.width, self.height, 1))
        f.vkCmdBlitImage(c, self.between.handle, vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, self.images[index.value],
                         vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1, vk.VkImageBlit(layers, box, layers, box),
                         vk.VK_FILTER_NEAREST)
        gpu.barrier(c, [], [self.to(self.images[index.value], vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
                                    vk.VK_IMAGE_LAYOUT_PRESENT_SRC_KHR)])
        f.vkEndCommandBuffer(c)
        gpu.submit(c)
        gpu.wait_idle()
        chains, indices = (ctypes.c_uint64 * 1)(self.swapchain), (c_uint32 * 1)(index.value)
        f.vkQueuePresentKHR(gpu.queue, vk.VkPresentInfoKHR(
            swapchainCount=1, pSwapchains=ctypes.addressof(chains), pImageIndices=ctypes.addressof(indices)))
        return not self.own.closed()

    @staticmethod
    def to(image, old, new):
        everything = vk.VK_ACCESS_2_MEMORY_READ_BIT | vk.VK_ACCESS_2_MEMORY_WRITE_BIT
        return vk.VkImageMemoryBarrier2(
            srcStageMask=vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, srcAccessMask=everything,
            dstStageMask=vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, dstAccessMask=everything, oldLayout=old, newLayout=new,
            srcQueueFamilyIndex=2**32 - 1, dstQueueFamilyIndex=2**32 - 1, image=image,
            subresourceRange=vk.VkImageSubresourceRange(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        gpu, f = self.gpu, self.gpu.functions
        gpu.wait_idle()
        self.between.close()
        f.vkDestroyFence(gpu.handle, self.fence, None)
        f.vkDestroySwapchainKHR(gpu.handle, self.swapchain, None)
        f.vkDestroySurfaceKHR(gpu.instance, self.surface, None)
        gpu.close()
        self.own.close()
