# SPDX-License-Identifier: MIT
"""A window that a context can present to, by GLFW or SDL2, whichever the program has or the system."""
import ctypes
import sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_uint32, c_void_p
from typing import Any, Iterator, List, Optional, Tuple, Type, Union

from . import _declarations as d
from ._lib import Closing, told
from .vulkan import Context

Event = Tuple[Any, ...]  # ("close",), ("drag", dx, dy), ("scroll", steps), ("pointer", x, y), ("key", text)


class NoWindow(RuntimeError):
    """There is no library for windows, or no display."""


class _Glfw:
    def __init__(self, title: str, width: int, height: int):
        module = sys.modules.get("glfw")
        self.lib = lib = getattr(module, "_glfw", None) or ctypes.CDLL("libglfw.so.3")
        self.own = module is None  # else the program has started it, and ends it
        lib.glfwCreateWindow.restype = lib.glfwGetRequiredInstanceExtensions.restype = c_void_p
        if not lib.glfwInit():
            raise NoWindow("GLFW finds no display")
        lib.glfwWindowHint(0x00022001, 0)  # GLFW_CLIENT_API, GLFW_NO_API
        lib.glfwWindowHint(0x00020003, 0)  # GLFW_RESIZABLE
        made = lib.glfwCreateWindow(width, height, title.encode(), None, None)
        if not made:
            raise NoWindow("GLFW makes no window here")
        self.window = c_void_p(made)
        self.events: List[Event] = []
        self.at: Optional[Tuple[float, float]] = None
        scroll = ctypes.CFUNCTYPE(None, c_void_p, c_double, c_double)(
            lambda _, dx, dy: self.events.append(("scroll", dy)))
        move = ctypes.CFUNCTYPE(None, c_void_p, c_double, c_double)(lambda _, x, y: self._move(x, y))
        key = ctypes.CFUNCTYPE(None, c_void_p, c_uint32)(lambda _, c: self.events.append(("key", chr(c))))
        self.kept = scroll, move, key
        lib.glfwSetScrollCallback(self.window, scroll)
        lib.glfwSetCursorPosCallback(self.window, move)
        lib.glfwSetCharCallback(self.window, key)

    def _move(self, x: float, y: float) -> None:
        if self.at is not None and self.lib.glfwGetMouseButton(self.window, 0):
            self.events.append(("drag", x - self.at[0], y - self.at[1]))
        self.at = x, y
        self.events.append(("pointer", x, y))

    def extensions(self) -> List[str]:
        count = c_uint32()
        names = self.lib.glfwGetRequiredInstanceExtensions(byref(count))
        return [n.decode() for n in ctypes.cast(names, POINTER(c_char_p))[:count.value]] if names else []

    def surface(self, instance: int) -> int:
        out = ctypes.c_uint64()
        if self.lib.glfwCreateWindowSurface(c_void_p(instance), self.window, None, byref(out)) != 0:
            raise NoWindow("GLFW makes no surface")
        return out.value

    def poll(self) -> Iterator[Event]:
        self.lib.glfwPollEvents()
        if self.lib.glfwWindowShouldClose(self.window) or self.lib.glfwGetKey(self.window, 256) == 1:  # escape
            self.events.append(("close",))
        while self.events:
            yield self.events.pop(0)

    def title(self, text: str) -> None:
        self.lib.glfwSetWindowTitle(self.window, text.encode())

    def close(self) -> None:
        self.lib.glfwDestroyWindow(self.window)
        if self.own:
            self.lib.glfwTerminate()


class _SdlEvent(ctypes.Union):
    class Motion(ctypes.Structure):
        _fields_ = [("type", c_uint32), ("time", c_uint32), ("window", c_uint32), ("which", c_uint32), ("state", c_uint32),
                    ("x", c_int), ("y", c_int), ("dx", c_int), ("dy", c_int)]

    class Wheel(ctypes.Structure):
        _fields_ = [("type", c_uint32), ("time", c_uint32), ("window", c_uint32), ("which", c_uint32), ("x", c_int),
                    ("y", c_int)]

    class Key(ctypes.Structure):
        _fields_ = [("type", c_uint32), ("time", c_uint32), ("window", c_uint32), ("state", c_uint32), ("scancode", c_int),
                    ("symbol", c_int)]

    class Text(ctypes.Structure):
        _fields_ = [("type", c_uint32), ("time", c_uint32), ("window", c_uint32), ("text", ctypes.c_char * 32)]

    _fields_ = [("type", c_uint32), ("motion", Motion), ("wheel", Wheel), ("key", Key), ("text", Text),
                ("room", ctypes.c_uint8 * 128)]


class _Sdl:
    def __init__(self, title: str, width: int, height: int):
        module = sys.modules.get("sdl2")
        self.lib = lib = ctypes.CDLL(module.dll.dll.libfile if module is not None else "libSDL2-2.0.so.0")
        lib.SDL_CreateWindow.restype = c_void_p
        lib.SDL_GetError.restype = c_char_p
        if lib.SDL_InitSubSystem(0x20) != 0:  # SDL_INIT_VIDEO
            raise NoWindow(self._error())
        made = lib.SDL_CreateWindow(title.encode(), 0x2FFF0000, 0x2FFF0000, width, height, 0x10000000)  # SDL_WINDOW_VULKAN
        if not made:
            raise NoWindow(self._error())
        self.window = c_void_p(made)
        lib.SDL_StartTextInput()

    def _error(self) -> str:
        said: bytes = self.lib.SDL_GetError()
        return said.decode()

    def extensions(self) -> List[str]:
        count = c_uint32()
        self.lib.SDL_Vulkan_GetInstanceExtensions(self.window, byref(count), None)
        names = (c_char_p * count.value)()
        self.lib.SDL_Vulkan_GetInstanceExtensions(self.window, byref(count), names)
        return [n.decode() for n in names if n is not None]

    def surface(self, instance: int) -> int:
        out = ctypes.c_uint64()
        if not self.lib.SDL_Vulkan_CreateSurface(self.window, c_void_p(instance), byref(out)):
            raise NoWindow(self._error())
        return out.value

    def poll(self) -> Iterator[Event]:
        event = _SdlEvent()
        while self.lib.SDL_PollEvent(byref(event)):
            if event.type == 0x100 or (event.type == 0x300 and event.key.symbol == 27):  # SDL_QUIT; escape
                yield ("close",)
            elif event.type == 0x400:
                if event.motion.state & 1:
                    yield ("drag", event.motion.dx, event.motion.dy)
                yield ("pointer", event.motion.x, event.motion.y)
            elif event.type == 0x403:
                yield ("scroll", event.wheel.y)
            elif event.type == 0x303:
                yield ("key", event.text.text.decode(errors="replace"))

    def title(self, text: str) -> None:
        self.lib.SDL_SetWindowTitle(self.window, text.encode())

    def close(self) -> None:
        self.lib.SDL_DestroyWindow(self.window)
        self.lib.SDL_QuitSubSystem(0x20)


def _made(title: str, width: int, height: int) -> Union[_Glfw, _Sdl]:
    kinds: List[Type[Union[_Glfw, _Sdl]]] = [_Sdl, _Glfw] if "sdl2" in sys.modules and "glfw" not in sys.modules else [_Glfw, _Sdl]
    problems = []
    for kind in kinds:
        try:
            return kind(title, width, height)
        except (OSError, AttributeError, NoWindow) as e:
            problems.append(f"{kind.__name__[1:].upper()}: {e}")
    raise NoWindow("; ".join(problems))


class Window(Closing):
    """A window of fixed size. window.gpu is a context that presents to it."""

    def __init__(self, title: str, width: int, height: int, **options: Any):
        self.width, self.height = width, height
        self.swapchain = self.surface = self.fence = 0  # the context gives them back
        self.rendered: List[int] = []
        self.gpu: Context
        self.own: Union[_Glfw, _Sdl] = _made(title, width, height)
        self.closed = False
        try:
            self._open(options)
        except BaseException:
            self.close()
            raise

    def _open(self, options: Any) -> None:
        self.gpu = gpu = Context(instance_extensions=self.own.extensions(), extensions=["VK_KHR_swapchain"], **options)
        self.surface, f, home = self.own.surface(gpu.instance), gpu.functions, gpu._open_home()
        home.keep("SurfaceKHR", self.surface)
        there = c_uint32()
        f.vkGetPhysicalDeviceSurfaceSupportKHR(gpu.physical_device, gpu.queue_family, self.surface, byref(there))
        if not there.value:
            raise NoWindow("the GPU's queue does not present to this window")
        says, count = d.VkSurfaceCapabilitiesKHR(), c_uint32(64)
        f.vkGetPhysicalDeviceSurfaceCapabilitiesKHR(gpu.physical_device, self.surface, says)
        formats = (d.VkSurfaceFormatKHR * 64)()
        f.vkGetPhysicalDeviceSurfaceFormatsKHR(gpu.physical_device, self.surface, byref(count), formats)
        unorm = [x for x in formats[:count.value] if x.format in (d.VK_FORMAT_B8G8R8A8_UNORM, d.VK_FORMAT_R8G8B8A8_UNORM)]
        chosen = (unorm or formats)[0]
        self.swapchain = home.make("SwapchainKHR", d.VkSwapchainCreateInfoKHR(
            surface=self.surface, minImageCount=max(says.minImageCount, 3 if says.maxImageCount != 2 else 2),
            imageFormat=chosen.format, imageColorSpace=chosen.colorSpace,
            imageExtent=d.VkExtent2D(self.width, self.height), imageArrayLayers=1,
            imageUsage=d.VK_IMAGE_USAGE_TRANSFER_DST_BIT, preTransform=says.currentTransform,
            compositeAlpha=d.VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR, presentMode=d.VK_PRESENT_MODE_FIFO_KHR, clipped=1), None)
        count = c_uint32(16)
        images = (ctypes.c_uint64 * 16)()
        f.vkGetSwapchainImagesKHR(gpu.handle, self.swapchain, byref(count), images)
        self.images = list(images[:count.value])
        self.commands = [gpu.commands() for _ in self.images]
        self.ends = [0] * len(self.images)  # of Context.submit()
        for _ in self.images:
            self.rendered.append(home.make("Semaphore", d.VkSemaphoreCreateInfo(), None))
        self.fence = home.make("Fence", d.VkFenceCreateInfo(), None)

    def present(self, image: int, barrier: d.VkImageMemoryBarrier2, timeout: int = 0) -> bool:
        """Shows an image of the window's size, in GENERAL. False: the display has no room for a frame yet."""
        gpu, f, index = self.gpu, self.gpu.functions, c_uint32()
        if f.vkAcquireNextImageKHR(gpu.handle, self.swapchain, timeout, 0, self.fence, byref(index)) not in (
                d.VK_SUCCESS, d.VK_SUBOPTIMAL_KHR):
            return False
        fences = (ctypes.c_uint64 * 1)(self.fence)
        while f.vkWaitForFences(gpu.handle, 1, fences, 1, 5 * 10**7) != d.VK_SUCCESS:
            pass
        f.vkResetFences(gpu.handle, 1, fences)
        i = index.value
        commands, target = self.commands[i], self.images[i]
        gpu._open_home().wait(gpu._open_home().PATIENCE, "present", self.ends[i])
        f.vkBeginCommandBuffer(commands, d.VkCommandBufferBeginInfo())
        gpu.barrier(commands, [], [barrier, moved(target, d.VK_IMAGE_LAYOUT_UNDEFINED, d.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL)])
        layers = d.VkImageSubresourceLayers(d.VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1)
        box = (d.VkOffset3D * 2)(d.VkOffset3D(), d.VkOffset3D(self.width, self.height, 1))
        # A blit puts the colours in the window's order.
        f.vkCmdBlitImage(commands, image, d.VK_IMAGE_LAYOUT_GENERAL, target, d.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                         d.VkImageBlit(layers, box, layers, box), d.VK_FILTER_NEAREST)
        gpu.barrier(commands, [], [moved(target, d.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, d.VK_IMAGE_LAYOUT_PRESENT_SRC_KHR)])
        f.vkEndCommandBuffer(commands)
        gpu.submit(commands, signal=[(self.rendered[i], 0)])
        self.ends[i] = gpu._open_home().submitted
        chains, indices = (ctypes.c_uint64 * 1)(self.swapchain), (c_uint32 * 1)(i)
        waits = (ctypes.c_uint64 * 1)(self.rendered[i])
        f.vkQueuePresentKHR(gpu.queue, d.VkPresentInfoKHR(
            waitSemaphoreCount=1, pWaitSemaphores=ctypes.addressof(waits), swapchainCount=1,
            pSwapchains=ctypes.addressof(chains), pImageIndices=ctypes.addressof(indices)))
        return True

    def close(self) -> None:
        gpu = getattr(self, "gpu", None)
        if gpu is not None:
            gpu.close()
        if not self.closed:
            self.closed = True
            self.own.close()

    def __repr__(self) -> str:
        return told(self, self.closed, [f"{self.width} x {self.height}", f"by {type(self.own).__name__[1:].upper()}"])


def moved(image: int, old: int, new: int) -> d.VkImageMemoryBarrier2:
    everything = d.VK_ACCESS_2_MEMORY_READ_BIT | d.VK_ACCESS_2_MEMORY_WRITE_BIT
    return d.VkImageMemoryBarrier2(
        srcStageMask=d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, srcAccessMask=everything,
        dstStageMask=d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, dstAccessMask=everything, oldLayout=old, newLayout=new,
        srcQueueFamilyIndex=d.VK_QUEUE_FAMILY_IGNORED, dstQueueFamilyIndex=d.VK_QUEUE_FAMILY_IGNORED, image=image,
        subresourceRange=d.VkImageSubresourceRange(d.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1))


