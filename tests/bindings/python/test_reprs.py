# SPDX-License-Identifier: MIT
"""What a repr tells of every public object: its state, its size, and whose it is."""
import inspect
import os
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import culvert
from culvert import draw, vulkan as vk

COUNT = """#version 450
layout(binding = 0, std430) buffer Result { uint result[]; };
layout(push_constant) uniform Push { uint more; } push;
void main() { result[gl_GlobalInvocationID.x] += push.more; }
"""
DOT = """#version 450
void main() { gl_Position = vec4(0, 0, 0, 1); gl_PointSize = 1; }
"""
WHITE = """#version 450
layout(location = 0) out vec4 color;
void main() { color = vec4(1); }
"""


def test_buffers(gpu):
    where = f"on {gpu.device.name!r}"
    buffer = gpu.vk.buffer(4097)
    assert repr(buffer) == f"<culvert.VulkanBuffer open, 4097 bytes, pointer {buffer.pointer:#x}, {where}>"
    assert buffer.nbytes == 4097
    buffer.close()
    assert repr(buffer) == "<culvert.VulkanBuffer closed>"
    with gpu.device.vector(4097, exportable=True) as vector:
        assert repr(vector) == (f"<culvert.Vector open, 4097 bytes, {vector.committed} committed, pointer {vector.pointer:#x}, "
                                f"{where}>")
        with gpu.vk.vector_view(vector) as view:
            assert repr(view) == f"<culvert.VectorView open, 4097 bytes, 1 VkBuffers, of {vector!r}>"
            assert vector.nbytes == view.nbytes == 4097
    assert repr(vector) == "<culvert.Vector closed>" and repr(view) == "<culvert.VectorView closed>"


def test_an_adopted_tensor_is_mapped_or_replaced(gpu, monkeypatch):
    with gpu.device.vector(1 << 20, exportable=True) as vector, gpu.vk.adopt(vector.tensor("float32")) as view:
        assert repr(view) == (f"<culvert.AdoptedBuffer mapped, 1048576 bytes, pointer {view.pointer:#x}, 1 VkBuffers, "
                              f"on {gpu.device.name!r}>")
        assert view.nbytes == 1 << 20
        monkeypatch.setattr(type(view), "is_current", False)
        assert repr(view).startswith("<culvert.AdoptedBuffer replaced, 1048576 bytes")
    assert repr(view) == "<culvert.AdoptedBuffer closed>"


def test_images_semaphores_streams(gpu):
    where = f"on {gpu.device.name!r}"
    with gpu.vk.image(vk.VK_FORMAT_R8G8B8A8_UNORM, 253, 127, levels=2, layers=3) as image:
        assert repr(image) == f"<culvert.VulkanImage open, 253 x 127, VkFormat 37, 2 levels, 3 layers, {where}>"
    with gpu.vk.image(vk.VK_FORMAT_R32_SFLOAT, 8, 4, 2) as image:
        assert repr(image) == f"<culvert.VulkanImage open, 8 x 4 x 2, VkFormat 100, {where}>"
    with gpu.vk.timeline(7) as timeline:
        assert repr(timeline) == f"<culvert.VulkanSemaphore open, last value 7, {where}>"
        frame = timeline.frame(wait=8, signal=9)
        assert repr(frame) == f"<culvert.TimelineFrame open, waits for 8, signals 9, of {timeline!r}>"
    assert repr(frame) == "<culvert.TimelineFrame closed>"
    stream = gpu.device.stream()
    assert repr(stream) == f"<culvert.Stream open, CUstream {stream.pointer:#x}, {where}>"
    stream.close()
    assert repr(stream) == "<culvert.Stream closed>"


def test_tensors(gpu):
    buffer = gpu.vk.buffer(4096)
    tensor = buffer.tensor("float32", (-1, 4), read_only=True)
    assert repr(tensor) == (f"<culvert.Tensor mapped, float32 (256, 4), 4096 bytes, pointer {tensor.pointer:#x}, read-only, "
                            "of a VulkanBuffer that is open>")
    assert (tensor.dtype, tensor.itemsize, tensor.nbytes, len(tensor), tensor.ndim) == ("float32", 4, 4096, 256, 2)
    assert [buffer.tensor(t).dtype for t in ("bfloat16", np.int8, "float64", np.dtype("uint16"), "<c8", "bool")] == [
        "bfloat16", "int8", "float64", "uint16", "complex64", "bool"]
    assert buffer.tensor("uint8", (3, 5), strides=(100, 2)).nbytes == 15
    with pytest.raises(TypeError, match="without dimensions"):
        len(buffer.tensor("uint8", ()))
    for mistake in ("tensor[0]", "tensor[:] = 1", "tensor += 1", "buffer[0] = 1"):
        with pytest.raises(TypeError, match="an array library.s"):
            exec(mistake)
    buffer.close()
    assert repr(tensor).endswith("of a VulkanBuffer that is closed>")


def test_rings(gpu):
    with gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)], depth=2) as ring:
        assert repr(ring) == f"<culvert.Ring open, 2 slots of 1 resource, Vulkan consumes, on {gpu.device.name!r}>"
        assert len(ring) == 2
        with ring.cuda() as frame:
            assert repr(frame) == f"<culvert.RingFrame open, frame {frame.number}, slot {frame.slot}, of {ring!r}>"
            slot = frame.buffer()
            assert repr(slot) == (f"<culvert.Slot open, slot {frame.slot}, 4097 bytes, pointer {slot.pointer:#x}, "
                                  f"on {gpu.device.name!r}>")
            assert slot.nbytes == 4097
        assert repr(frame) == "<culvert.RingFrame closed>"
    assert repr(ring) == "<culvert.Ring closed>" and repr(slot) == "<culvert.Slot closed>" and slot.closed


def test_devices_and_contexts():
    with culvert.vulkan.open() as gpu:
        name = gpu.device.name
        assert repr(gpu) == f"<culvert.vulkan.Context open, VkDevice {gpu.handle:#x}, on {name!r}>"
        assert repr(gpu.vk) == f"<culvert.VulkanDevice open, VkDevice {gpu.handle:#x}, on {name!r}>"
        assert repr(gpu.device) == f"<culvert.Device open, {name!r}, {gpu.device.caps.total_memory} bytes of memory>"
        assert repr(gpu.device.cuda) == f"<culvert.Cuda open, of {name!r}>"
        assert repr(gpu.functions) == f"<culvert.vulkan.Functions of the VkInstance {gpu.instance:#x}>"
        assert not gpu.closed
    assert gpu.closed and repr(gpu) == "<culvert.vulkan.Context closed>"
    assert (repr(gpu.vk), repr(gpu.device)) == ("<culvert.VulkanDevice closed>", "<culvert.Device closed>")
    assert repr(gpu.device.cuda) == "<culvert.Cuda closed>"
    assert repr(culvert.api) == (f"<culvert.api of libculvert {culvert.api.culv_version_string().decode()}, "
                                 f"{culvert.info()['library']}>")


@pytest.mark.skipif("CULVERT_TEST_KERNELS" not in os.environ, reason="CULVERT_TEST_KERNELS names no directory of kernels")
def test_kernels(device):
    with device.kernels("library_kernels", os.environ["CULVERT_TEST_KERNELS"]) as kernels:
        assert repr(kernels) == f"<culvert.Kernels open, of library_kernels, on {device.name!r}>"
        kernel = kernels["library_add"]
        assert repr(kernel) == f"<culvert.Kernel open, 'library_add', blocks of 1, on {device.name!r}>"
        assert kernel.name == "library_add"
    assert repr(kernels) == "<culvert.Kernels closed>" and repr(kernel) == "<culvert.Kernel closed>"


@pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")
def test_what_draws(gpu):
    where = f"on {gpu.device.name!r}"
    with draw.Compute(gpu, COUNT) as count, draw.Pipeline(gpu, DOT, WHITE, topology="points") as dots, \
            draw.Target(gpu, 64, 32) as picture:
        assert repr(count) == f"<culvert.draw.Compute open, takes Result, result, more, {where}>"
        assert repr(dots) == f"<culvert.draw.Pipeline open, takes nothing, {where}>"
        assert repr(picture) == f"<culvert.draw.Target open, 64 x 32, {where}>"
    for thing in (count, dots, picture):
        assert repr(thing) == f"<culvert.draw.{type(thing).__name__} closed>" and thing.closed
    view = culvert.show(np.zeros((31, 45), "float32"), window=False)
    told = f"<culvert.View open, {view.width} x {view.height}, image of shape (31, 45), without a window, on "
    assert repr(view).startswith(told)
    view.close()
    assert repr(view) == "<culvert.View closed>"


def test_a_forked_child_asks_nothing():
    program = textwrap.dedent("""
        import culvert, os
        gpu = culvert.vulkan.open()
        buffer = gpu.vk.buffer(4097)
        pid = os.fork()
        if pid == 0:
            print(buffer, gpu, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
    """)
    said = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60).stdout
    assert said == "<culvert.VulkanBuffer of the parent process> <culvert.vulkan.Context of the parent process>\n"


def test_every_public_class_has_a_repr():
    """None is the address that Python gives by itself."""
    kinds = [getattr(culvert, name) for name in culvert.__all__]
    kinds += [kind for module in (vk, draw) for name, kind in vars(module).items()
              if not name.startswith("_") and getattr(kind, "__module__", "") == module.__name__]
    kinds = [kind for kind in kinds if inspect.isclass(kind) and not issubclass(kind, Exception)]
    assert len(kinds) > 20
    for kind in kinds:
        assert kind.__repr__ is not object.__repr__, kind
