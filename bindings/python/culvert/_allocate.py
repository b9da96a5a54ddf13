# SPDX-License-Identifier: MIT
"""Exportable memory under other libraries' allocators (culvert/vmm.h)."""
from typing import Any, List

from ._lib import api, last_error, library, not_negative, process, stream_handle
from ._types import StreamLike

_kept: List[Any] = []  # a pool does not keep its allocator


def malloc(size: int, device: int = 0, stream: StreamLike = None) -> int:
    """Device memory that can be exported, for free(). A call makes and maps it: put a cache on top."""
    not_negative(size=size)
    process.check("malloc")
    pointer = api.culv_torch_malloc(size, device, stream_handle(stream))
    if not pointer and size > 0:
        raise last_error("culv_torch_malloc")
    return pointer or 0


def free(pointer: int, size: int = 0, device: int = 0, stream: StreamLike = None) -> None:
    """Waits for the stream, and gives the memory back."""
    api.culv_torch_free(pointer, size, device, stream_handle(stream))


def torch_pool() -> Any:
    """A torch.cuda.MemPool whose memory culvert.buffer() takes: `with torch.cuda.use_mem_pool(pool):`. PyTorch caches
    on top, so that it costs no time in a training step."""
    import torch

    process.check("torch_pool")
    allocator = torch.cuda.memory.CUDAPluggableAllocator(library._name, "culv_torch_malloc", "culv_torch_free")
    _kept.append(allocator)
    return torch.cuda.MemPool(allocator.allocator())


def rmm_resource(device: int = 0) -> Any:
    """An rmm.mr.PoolMemoryResource on such memory, for rmm.mr.set_current_device_resource()."""
    import rmm

    return rmm.mr.PoolMemoryResource(rmm.mr.CallbackMemoryResource(
        lambda size, stream: malloc(size, device, stream),
        lambda pointer, size, stream: free(pointer, size, device, stream)))
