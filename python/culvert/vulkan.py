# SPDX-License-Identifier: MIT
"""Vulkan by ctypes, for scripts that bring none: structs (which set their sType), constants, the loader's functions,
and open(), which makes an instance, the device that CUDA reaches, and a queue."""
import ctypes
import ctypes.util
import sys
import weakref
from ctypes import byref, c_char_p, c_float, c_uint32, c_void_p
from typing import Optional, Sequence

from . import _declarations as d
from ._lib import _roots, api, describe, handle
from ._objects import Device, VulkanDevice, _make
from ._vulkan import *  # noqa: F401,F403

_loader: Optional[ctypes.CDLL] = None


class VulkanError(RuntimeError):
    """A VkResult below 0."""

    def __init__(self, call: str, result: int):
        self.result = result
        super().__init__(f"{call}: VkResult {result}")


def loader() -> ctypes.CDLL:
    """The Vulkan loader, libvulkan.so.1."""
    global _loader
    if _loader is None:
        name = "vulkan-1.dll" if sys.platform == "win32" else "libvulkan.so.1"
        _loader = ctypes.CDLL(name)
        _loader.vkGetInstanceProcAddr.restype = c_void_p
        _loader.vkGetInstanceProcAddr.argtypes = [c_void_p, c_char_p]
    return _loader


def get_instance_proc_addr() -> int:
    return ctypes.cast(loader().vkGetInstanceProcAddr, c_void_p).value


class Functions:
    """vk... functions of an instance or a device. A VkResult below 0 is a VulkanError. A struct may be passed as it
    is, for a pointer to it."""

    def __init__(self, instance: int = 0):
        self._instance = instance

    def __getattr__(self, name: str):
        if name not in d.VULKAN:
            raise AttributeError(name)
        result, parameters = d.VULKAN[name]
        address = loader().vkGetInstanceProcAddr(self._instance, name.encode())
        if not address:
            raise AttributeError(f"Vulkan has no {name} here")
        raw = ctypes.CFUNCTYPE(result, *parameters)(address)

        def call(*args):
            answer = raw(*[byref(a) if isinstance(a, (ctypes.Structure, ctypes.Union)) else
                           a.value if isinstance(a, c_void_p) else a for a in args])
            if result is ctypes.c_int and answer < 0:
                raise VulkanError(name, answer)
            return answer

        call.__name__ = name
        setattr(self, name, call)
        return call

    def make(self, name: str, *args) -> int:
        """A vkCreate... or vkAllocate... function's handle: make("vkCreateFence", device, info, None)."""
        out = c_void_p()
        getattr(self, name)(*args, byref(out))
        return out.value or 0


def _names(function: str, *args) -> ctypes.Array:
    count = c_uint32(64)
    names = (c_char_p * 64)()
    getattr(api, function)(*args, byref(count), names)
    return (c_char_p * max(count.value, 1))(*names[:count.value]), count.value


class Context:
    """An instance, the device that CUDA reaches, one queue, and Culvert on it. close() destroys them all."""

    def __init__(self, *, driver: str = "auto", extensions: Sequence[str] = (), instance_extensions: Sequence[str] = (),
                 kernels: bool = False, use: int = d.culv_vk_queue_use.CULV_VK_QUEUE_GRAPHICS, label=None,
                 one_address: bool = False):
        get = get_instance_proc_addr()
        self.instance = self.handle = self.queue = self.pool = 0
        self.vk = None
        self.device: Optional[Device] = None
        _contexts.add(self)
        try:
            self._open(get, driver, extensions, instance_extensions, kernels, use, label, one_address)
        except BaseException:
            self.close()
            raise

    def _open(self, get, driver, extensions, instance_extensions, kernels, use, label, one_address):
        if driver == "soft":
            api.culv_soft_enable()
        app = d.VkApplicationInfo(apiVersion=0x403000)
        layers, num_layers = _names("culv_vk_merge_instance_layers", get, 0, None)
        wanted = (c_char_p * max(len(instance_extensions), 1))(*[n.encode() for n in instance_extensions])
        info = d.VkInstanceCreateInfo(
            pApplicationInfo=ctypes.addressof(app), enabledLayerCount=num_layers,
            ppEnabledLayerNames=ctypes.addressof(layers), enabledExtensionCount=len(instance_extensions),
            ppEnabledExtensionNames=ctypes.addressof(wanted))
        self.instance = Functions().make("vkCreateInstance", info, None)
        self.functions = Functions(self.instance)
        cuda = describe(d.culv_device_desc, driver=d.culv_driver["CULV_DRIVER_" + driver.upper()], label=label)
        physical, device = c_void_p(), c_void_p()
        api.culv_vk_choose_physical_device(get, self.instance, cuda, byref(physical), byref(device))
        self.physical_device = physical.value
        self.device = Device(_pointer=device.value)
        family = c_uint32()
        api.culv_vk_find_queue_family(get, self.instance, self.physical_device, use, byref(family))
        self.queue_family = family.value
        desc = describe(d.culv_vk_device_desc, get_instance_proc_addr=get, instance=self.instance,
                        physical_device=self.physical_device, api_version=0x403000, kernels=int(kernels))
        mine = (c_char_p * max(len(extensions), 1))(*[n.encode() for n in extensions])
        names, num_names = _names("culv_vk_merge_device_extensions", desc, len(extensions), mine)
        storage = describe(d.culv_vk_device_features, one_address=int(one_address))
        rendering = d.VkPhysicalDeviceVulkan13Features(dynamicRendering=1, synchronization2=1, maintenance4=1)
        chain = c_void_p()
        api.culv_vk_merge_device_features(desc, ctypes.addressof(rendering), storage, byref(chain))
        priority = c_float(1)
        queue = d.VkDeviceQueueCreateInfo(queueFamilyIndex=self.queue_family, queueCount=1,
                                          pQueuePriorities=ctypes.addressof(priority))
        info = d.VkDeviceCreateInfo(pNext=chain.value, queueCreateInfoCount=1, pQueueCreateInfos=ctypes.addressof(queue),
                                    enabledExtensionCount=num_names, ppEnabledExtensionNames=ctypes.addressof(names))
        self.handle = self.functions.make("vkCreateDevice", self.physical_device, info, None)
        out = c_void_p()
        self.functions.vkGetDeviceQueue(self.handle, self.queue_family, 0, byref(out))
        self.queue = out.value
        self.vk = VulkanDevice(self.device, get_instance_proc_addr=get, instance=self.instance,
                               physical_device=self.physical_device, vk_device=self.handle, kernels=kernels)

    def commands(self) -> int:
        """A new command buffer, which goes with the context."""
        self._check_open()
        if not self.pool:
            self.pool = self.functions.make(
                "vkCreateCommandPool", self.handle,
                d.VkCommandPoolCreateInfo(flags=d.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                          queueFamilyIndex=self.queue_family), None)
        info = d.VkCommandBufferAllocateInfo(commandPool=self.pool, commandBufferCount=1)
        return self.functions.make("vkAllocateCommandBuffers", self.handle, info)

    def barrier(self, commands, buffers: Sequence = (), images: Sequence = ()) -> None:
        """Records barriers, such as those of VulkanDevice.buffer_transfer() and image_transfer()."""
        b = (d.VkBufferMemoryBarrier2 * max(len(buffers), 1))(*buffers)
        i = (d.VkImageMemoryBarrier2 * max(len(images), 1))(*images)
        info = d.VkDependencyInfo(bufferMemoryBarrierCount=len(buffers), pBufferMemoryBarriers=ctypes.addressof(b),
                                  imageMemoryBarrierCount=len(images), pImageMemoryBarriers=ctypes.addressof(i))
        self.functions.vkCmdPipelineBarrier2(handle(commands), info)

    def submit(self, commands, wait: Sequence = (), signal: Sequence = (), fence=None) -> None:
        """Submits a command buffer. wait and signal are (semaphore, value)."""
        self._check_open()
        def points(pairs):
            return (d.VkSemaphoreSubmitInfo * max(len(pairs), 1))(*[d.VkSemaphoreSubmitInfo(
                semaphore=getattr(s, "handle", s), value=v, stageMask=d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
                for s, v in pairs])
        waits, signals = points(wait), points(signal)
        one = d.VkCommandBufferSubmitInfo(commandBuffer=handle(commands))
        info = d.VkSubmitInfo2(waitSemaphoreInfoCount=len(wait), pWaitSemaphoreInfos=ctypes.addressof(waits),
                               commandBufferInfoCount=1, pCommandBufferInfos=ctypes.addressof(one),
                               signalSemaphoreInfoCount=len(signal), pSignalSemaphoreInfos=ctypes.addressof(signals))
        self.functions.vkQueueSubmit2(self.queue, 1, info, handle(fence))

    def _check_open(self) -> None:
        if not self.handle:
            raise ValueError(f"this {type(self).__name__} is closed")

    def wait_idle(self) -> None:
        self._check_open()
        self.functions.vkDeviceWaitIdle(self.handle)

    def close(self) -> None:
        """Waits for Vulkan and destroys what the context made, and what was made with it."""
        if self.handle:
            self.functions.vkDeviceWaitIdle(self.handle)
        if self.vk is not None:
            self.vk.close()
        if self.pool:
            self.functions.vkDestroyCommandPool(self.handle, self.pool, None)
        if self.device is not None:
            self.device.close()
        if self.handle:
            self.functions.vkDestroyDevice(self.handle, None)
        if self.instance:
            self.functions.vkDestroyInstance(self.instance, None)
        self.instance = self.handle = self.pool = 0  # vk and device stay, and say that they are closed

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


_contexts: "weakref.WeakSet[Context]" = weakref.WeakSet()


def open(**options) -> Context:  # noqa: A001: culvert.vulkan.open() reads well
    """A headless Vulkan context on the device that CUDA reaches, with Culvert attached (Context)."""
    return Context(**options)


__all__ = [n for n in dir(d) if n.startswith(("Vk", "VK_"))]
__all__ += ["Context", "Functions", "VulkanError", "get_instance_proc_addr", "loader", "open"]
_ = (_roots, _make)
