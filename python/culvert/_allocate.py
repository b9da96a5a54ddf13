# SPDX-License-Identifier: MIT
"""Exportable memory under other libraries' allocators (culvert/torch.h)."""
from typing import Any

from ._lib import api, last_error, library, stream_handle

_kept = []  # a pool does not keep its allocator


def malloc(size: int, device: int = 0, stream=None) -> int:
    """Device memory that can be exported, for free(). A call makes and maps it: put a cache on top."""
    pointer = api.culvert_malloc(size, device, stream_handle(stream))
    if not pointer and size > 0:
        raise last_error("culvert_malloc")
    return pointer or 0


def free(pointer: int, size: int = 0, device: int = 0, stream=None) -> None:
    """Waits for the stream, and gives the memory back."""
    api.culvert_free(pointer, size, device, stream_handle(stream))


def torch_pool() -> Any:
    """A torch.cuda.MemPool whose memory culvert.buffer() takes: `with torch.cuda.use_mem_pool(pool):`. PyTorch caches
    on top, so that it costs no time in a training step."""
    import torch

    allocator = torch.cuda.memory.CUDAPluggableAllocator(library._name, "culvert_malloc", "culvert_free")
    _kept.append(allocator)
    return torch.cuda.MemPool(allocator.allocator())


def rmm_resource(device: int = 0) -> Any:
    """An rmm.mr.PoolMemoryResource on such memory, for rmm.mr.set_current_device_resource()."""
    import rmm

    return rmm.mr.PoolMemoryResource(rmm.mr.CallbackMemoryResource(
        lambda size, stream: malloc(size, device, stream),
        lambda pointer, size, stream: free(pointer, size, device, stream)))
