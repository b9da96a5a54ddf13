# SPDX-License-Identifier: MIT
"""Culvert: CUDA and graphics APIs on the same GPU memory, waiting for each other on the GPU, without copies.

    import culvert, numpy                                    # or torch, cupy, jax on a GPU
    with culvert.vulkan.open() as gpu:                       # or VulkanDevice(...) on a VkDevice of yours
        buffer = gpu.vk.buffer(1 << 20)                      # a VkBuffer: buffer.handle
        points = torch.from_dlpack(buffer.tensor("float32", (-1, 4)))
        timeline = gpu.vk.timeline()
        with timeline.frame(wait=1, signal=2).cuda(stream):  # the stream waits before, and signals after
            points += 1

Objects belong to their `with` block, or to close(), or to what they were made with. Errors are exceptions with `result`,
`reason` and `message`. culvert.api has every function of the C API; help(culvert.api.culv_vk_attach) is what its header
says. CULVERT_SOFT=1 allows the software twin, where there is no GPU: the tensors are then NumPy's."""
from . import _declarations as declarations
from ._lib import (AsyncError, BusyError, DriverError, Error, InternalError, InvalidError, LateError, NoDeviceError,
                   OutOfMemoryError, UnsupportedError, api, describe, handle, stream_handle)
from ._objects import (AdoptedBuffer, Buffer, Cuda, Device, Kernel, Kernels, LinearImage, Memory, QueueKernels, Ring, RingFrame,
                       Semaphore, Slot, Stream, TimelineFrame, Vector, VectorView, VulkanBuffer, VulkanDevice,
                       VulkanFrame, VulkanImage, VulkanSemaphore, buffer, info, kernel, ring_buffer, ring_image)
from ._tensor import Tensor, tensor_range
from ._allocate import free, malloc, rmm_resource, torch_pool
from . import draw, gl, ipc, vulkan
from .show import View, show

__version__ = "0.1.0"
__all__ = ["AdoptedBuffer", "AsyncError", "Buffer", "BusyError", "Cuda", "Device", "DriverError", "Error", "InternalError",
           "InvalidError", "Kernel", "Kernels", "LateError", "LinearImage", "Memory", "NoDeviceError",
           "OutOfMemoryError", "QueueKernels", "Ring", "RingFrame", "Semaphore", "Slot", "Stream", "Tensor",
           "TimelineFrame", "UnsupportedError", "Vector", "View", "VectorView", "VulkanBuffer", "VulkanDevice", "VulkanFrame",
           "VulkanImage",
           "VulkanSemaphore", "api", "buffer", "declarations", "describe", "draw", "free", "gl", "handle", "info", "ipc",
           "kernel", "malloc", "ring_buffer", "ring_image", "rmm_resource", "show",
           "stream_handle", "tensor_range", "torch_pool", "vulkan"]
