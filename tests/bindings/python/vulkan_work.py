# SPDX-License-Identifier: MIT
"""What these tests share: programs of their own, pictures, and what Vulkan does with buffers."""
import ctypes
import os
import signal
import struct
import subprocess
import sys
import textwrap
import zlib

from culvert import vulkan as vk


def fill(gpu, buffer, word):
    run(gpu, lambda c: gpu.functions.vkCmdFillBuffer(c, buffer.handle, 0, 2**64 - 1, word), [buffer.handle])


def copy(gpu, source, target):
    run(gpu, lambda c: gpu.functions.vkCmdCopyBuffer(c, source.handle, target.handle, 1, vk.VkBufferCopy(0, 0, source.size)),
        [source.handle, target.handle])


def copy_out(gpu, parts, size):
    """The bytes that Vulkan finds in parts of adopted memory, read by a copy."""
    with gpu.vk.buffer(size) as target:
        def record(c):
            for p in parts:
                gpu.functions.vkCmdCopyBuffer(c, p.buffer, target.handle, 1,
                                              vk.VkBufferCopy(p.inner_offset, p.offset, p.size))
        run(gpu, record, [target.handle] + [p.buffer for p in parts])
        return read(gpu, target)


def copy_in(gpu, source, parts):
    """Writes parts of adopted memory by a copy."""
    def record(c):
        for p in parts:
            gpu.functions.vkCmdCopyBuffer(c, source.handle, p.buffer, 1, vk.VkBufferCopy(p.offset, p.inner_offset, p.size))
    run(gpu, record, [source.handle] + [p.buffer for p in parts])


def read(gpu, buffer):
    """The bytes of a buffer, by CUDA."""
    out = ctypes.create_string_buffer(buffer.size)
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyDtoH(out, buffer.pointer, buffer.size)
    return out.raw


def recorded(gpu, record=None, buffers=(), commands=None):
    """A command buffer with what record(commands) puts there, between the hand-overs of the buffers."""
    f, commands = gpu.functions, commands or gpu.commands()
    f.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
    for acquire in (True, False):
        if buffers:
            gpu.barrier(commands, [gpu.vk.buffer_transfer(b, gpu.queue_family, acquire) for b in buffers])
        if acquire and record:
            record(commands)
    f.vkEndCommandBuffer(commands)
    return commands


def run(gpu, record, buffers=()):
    gpu.submit(recorded(gpu, record, buffers))
    gpu.wait_idle()


def script(text, *arguments, timeout=60, **environment):
    """A program of its own, which must end. It finds the modules beside this one."""
    text = f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\n" + textwrap.dedent(text)
    return subprocess.run([sys.executable, "-c", text, *arguments], capture_output=True, text=True, timeout=timeout,
                          env={**os.environ, **environment})


def hears_ctrl_c(opens, wait):
    """A program that opens something, waits for what does not come, and hears of SIGINT."""
    text = (f"import sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})\nimport culvert\n{textwrap.dedent(opens)}\n"
            f"print('waits', flush=True)\ntry:\n    {wait}\nexcept KeyboardInterrupt:\n    print('heard', flush=True)\n")
    with subprocess.Popen([sys.executable, "-W", "ignore", "-c", text], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "waits\n"
            answer = ""
            for _ in range(600):  # until the wait has begun
                child.send_signal(signal.SIGINT)
                try:
                    answer = child.communicate(timeout=0.1)[0]
                    break
                except subprocess.TimeoutExpired:
                    pass
            assert answer == "heard\n" or child.returncode in (-signal.SIGINT, 130)
            assert child.returncode is not None, "Ctrl-C was not heard"
        finally:
            child.kill()


def read_png(path):
    """(width, height, the rows' bytes, each behind its filter's, RGBA)"""
    with open(path, "rb") as f:
        data, at, packed = f.read(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    return (*struct.unpack(">II", data[16:24]), zlib.decompress(packed))
