# SPDX-License-Identifier: MIT
"""What Vulkan does with buffers in these tests."""
import ctypes

from culvert import vulkan as vk


def fill(gpu, buffer, word):
    _run(gpu, [buffer.handle], lambda c: gpu.functions.vkCmdFillBuffer(c, buffer.handle, 0, 2**64 - 1, word))


def copy(gpu, source, target):
    _run(gpu, [source.handle, target.handle], lambda c: gpu.functions.vkCmdCopyBuffer(
        c, source.handle, target.handle, 1, vk.VkBufferCopy(0, 0, source.size)))


def copy_out(gpu, parts, size):
    """The bytes that Vulkan finds in parts of adopted memory, read by a copy."""
    with gpu.vk.buffer(size) as target:
        def record(c):
            for p in parts:
                gpu.functions.vkCmdCopyBuffer(c, p.buffer, target.handle, 1,
                                              vk.VkBufferCopy(p.inner_offset, p.offset, p.size))
        _run(gpu, [target.handle] + [p.buffer for p in parts], record)
        return read(gpu, target)


def copy_in(gpu, source, parts):
    """Writes parts of adopted memory by a copy."""
    def record(c):
        for p in parts:
            gpu.functions.vkCmdCopyBuffer(c, source.handle, p.buffer, 1, vk.VkBufferCopy(p.offset, p.inner_offset, p.size))
    _run(gpu, [source.handle] + [p.buffer for p in parts], record)


def read(gpu, buffer):
    """The bytes of a buffer, by CUDA."""
    out = ctypes.create_string_buffer(buffer.size)
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyDtoH(out, buffer.pointer, buffer.size)
    return out.raw


def _run(gpu, buffers, record):
    f, commands = gpu.functions, gpu.commands()
    f.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
    gpu.barrier(commands, [gpu.vk.buffer_transfer(b, gpu.queue_family, True) for b in buffers])
    record(commands)
    gpu.barrier(commands, [gpu.vk.buffer_transfer(b, gpu.queue_family, False) for b in buffers])
    f.vkEndCommandBuffer(commands)
    gpu.submit(commands)
    gpu.wait_idle()
