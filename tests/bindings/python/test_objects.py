# SPDX-License-Identifier: MIT
"""Devices, timelines, rings and kernels, who gives what back, and what a repr tells of each: its state, its size, and whose it is."""
import ctypes
import inspect
import os
import shutil

import numpy as np
import pytest

import culvert
from culvert import draw, vulkan as vk
from vulkan_work import recorded, run, script


def test_info():
    said = culvert.info()
    assert said["version"] == culvert.api.culv_version_string().decode() and culvert.__version__ in said["version"]
    assert any(d["driver"] == "soft" and d["total_memory"] > 0 and d["name"] for d in said["devices"]) \
        or any(d["driver"] == "nvidia" for d in said["devices"])


def test_errors_say_what_and_why():
    with pytest.raises(culvert.NoDeviceError) as e:
        culvert.Device(99)
    assert e.value.result == culvert.declarations.culv_result.CULV_ERROR_NO_DEVICE
    assert e.value.reason == "DEVICE_UNKNOWN" and "99" in e.value.message
    with pytest.raises(ValueError) as e:
        culvert.api.culv_buffer_map(None, None, None)
    assert e.value.reason == "NULL_ARGUMENT" and e.value.call == "culv_buffer_map"
    with pytest.raises(ValueError, match="no driver 'amd'; there are 'auto'"):
        culvert.Device(driver="amd")


def test_by_uuid(device):
    with culvert.Device(uuid=device.uuid) as same:
        assert same.name == device.name and same.uuid == device.uuid
        assert same.caps.vmm and same.context != 0


def test_closing_order():
    context = culvert.vulkan.open()
    buffer, timeline = context.vk.buffer(4096), context.vk.timeline()
    ring = context.vk.ring(context.queue, context.queue_family, [culvert.ring_buffer(4096)])
    device = context.device
    context.close()  # closes what was made with it first
    assert buffer.closed and timeline.closed and ring.closed and device.closed
    for thing in (buffer, timeline, ring, device, context):
        thing.close()
    for call in (context.wait_idle, context.commands, lambda: context.submit(0), lambda: context.vk.buffer(4096),
                 lambda: context.device.vector(4096)):
        with pytest.raises(ValueError, match="is closed"):
            call()


def test_close_after_a_stream(gpu):
    stream = gpu.device.stream()
    buffer = gpu.vk.buffer(4096)
    buffer.close(after=stream)
    stream.synchronize()
    stream.close()
    gpu.device.collect()
    assert gpu.device.counts()["created"] == 0


def test_a_timeline_both_ways(gpu):
    """CUDA writes and signals; Vulkan waits, copies and signals; CUDA waits and reads."""
    device, f = gpu.device, gpu.functions
    with gpu.vk.buffer(4096) as a, gpu.vk.buffer(4096) as b, gpu.vk.timeline() as timeline, device.stream() as stream:
        commands = recorded(gpu, lambda c: f.vkCmdCopyBuffer(c, a.handle, b.handle, 1, vk.VkBufferCopy(0, 0, 4096)), (a, b))
        gpu.submit(commands, wait=[(timeline, 1)], signal=[(timeline, 2)])  # before CUDA's signal
        words = np.arange(1024, dtype=np.uint32)
        read = np.zeros(1024, np.uint32)
        device.make_current()
        with timeline.frame(signal=1).cuda(stream):
            device.cuda.cuMemcpyHtoDAsync(a.pointer, words.ctypes.data, 4096, stream)
        with timeline.frame(wait=2, signal=3).cuda(stream):
            device.cuda.cuMemcpyDtoHAsync(read.ctypes.data, b.pointer, 4096, stream)
        stream.synchronize()
        assert (read == words).all() and timeline.last_value == 3
        with pytest.raises(ZeroDivisionError):
            with timeline.frame(signal=4).cuda(stream):
                1 / 0
        stream.synchronize()
        value = ctypes.c_uint64()
        f.vkGetSemaphoreCounterValue(gpu.handle, timeline.handle, ctypes.byref(value))
        assert value.value == 4  # the other side does not wait for ever
        with pytest.raises(culvert.InvalidError) as e:
            timeline.signal(stream, 2)
        assert e.value.reason == "TIMELINE_BACKWARDS"


@pytest.mark.parametrize("burst", [1, 2])
def test_vulkans_frames(gpu, burst):
    """The context's command buffers, used again when the queue has done with them."""
    settings = culvert.describe(culvert.declarations.culv_ring_settings, burst=burst)
    rows, made = gpu.vk.buffer(200 * 256), []
    gpu._home.commands = lambda: made.append(type(gpu._home).commands(gpu._home)) or made[-1]
    with gpu.ring([culvert.ring_buffer(256)], 4, settings=settings) as ring:
        for n in range(0, 200, burst):
            for i in range(burst):
                with ring.cuda() as turn:
                    np.asarray(turn.tensor())[:] = n + i
            for i in range(burst):
                with ring.frame() as frame:
                    assert frame.commands and frame.slot == (n + i) % 4 and frame.buffer().size == 256
                    gpu.functions.vkCmdCopyBuffer(frame.commands, frame.buffer(), rows, 1, vk.VkBufferCopy(0, 256 * (n + i), 256))
                for use in (lambda: frame.commands, frame.buffer, frame.image):
                    with pytest.raises(ValueError, match="inside the block of ring.frame"):
                        use()
        gpu.wait_idle()
        assert (np.asarray(rows.tensor("uint8", (200, 256))) == np.arange(200)[:, None]).all()
        ring.drain()
    assert 0 < len(made) < 50, len(made)  # of 200 frames
    assert len(gpu._home.retired) == len(made)
    gpu.wait_idle()
    assert not gpu._home.retired
    del gpu._home.commands


def test_vulkans_frames_that_fail_and_that_write(gpu):
    with gpu.ring([culvert.ring_buffer(256)], 2, vulkan_consumes=False) as ring:
        for n in range(6):
            with pytest.raises(KeyError), ring.frame() as frame:
                gpu.functions.vkCmdFillBuffer(frame.commands, frame.buffer(), 0, vk.VK_WHOLE_SIZE, 0x99999999)
                raise KeyError
            with ring.frame() as frame:
                gpu.functions.vkCmdFillBuffer(frame.commands, frame.buffer(), 0, vk.VK_WHOLE_SIZE, 0x01010101 * n)
                assert repr(frame).startswith(f"<culvert.VulkanFrame open, frame {frame.number}, slot {frame.slot}, of <culvert.Ring")
            with ring.cuda() as turn:
                assert (np.asarray(turn.tensor()) == n).all()
        gpu.wait_idle()
    with gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(256)], depth=2) as ring:
        with pytest.raises(RuntimeError, match="mine"), ring.cuda():
            raise RuntimeError("mine")
        with ring.cuda() as frame:
            assert frame.number == 0  # the one that was given back
        with pytest.raises(ValueError, match="frame 0 was given back"):
            frame.tensor("uint32")
        with pytest.raises(ValueError, match="inside the block of ring.cuda"):
            frame.buffer()
    with culvert.VulkanDevice(get_instance_proc_addr=vk.get_instance_proc_addr(), instance=gpu.instance,
                              physical_device=gpu.physical_device, vk_device=gpu.handle) as mine:
        with mine.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(256)]) as ring:
            with pytest.raises(TypeError, match="a VkDevice of yours: use"), ring.frame():
                pass


def test_a_vector_in_vulkan(gpu):
    with gpu.device.vector(1 << 21, max_chunk=1 << 21, exportable=True, label="cells") as vector:
        with gpu.vk.vector_view(vector) as view:
            assert len(view.buffers()) == 1
            vector.grow(1 << 23)
            view.update()
            parts = view.buffers()
            assert sum(p.size for p in parts) == 1 << 23 and all(p.buffer for p in parts)


def test_images(gpu):
    with gpu.vk.image(vk.VK_FORMAT_R8G8B8A8_UNORM, 61, 33, levels=2, label="frame") as image:
        assert image.handle and image.array() and image.array(1) != image.array() and image.surface()
        with pytest.raises(culvert.InvalidError) as e:
            image.array(2)
        assert e.value.reason == "LEVEL" and "frame" in e.value.message
        with gpu.vk.buffer(30 * 16 * 4) as field, gpu.device.stream() as stream, gpu.device.stream() as other:
            np.asarray(field.tensor("int32"))[:] = range(480)
            image.prepare_write()
            image.write(field.tensor("uint8", (16, 30, 4), stream=other), stream, level=1)
            gpu.device.wait_stream(other, stream)
            row = (ctypes.c_uint32 * 30)()
            copy = culvert.gl._Copy2D(src_type=3, src_array=image.array(1), src_y=15, dst_type=1, dst_host=ctypes.addressof(row),
                                      dst_pitch=120, width=120, height=1)
            gpu.device.make_current()
            gpu.device.cuda.cuMemcpy2DAsync(ctypes.byref(copy), other)
            gpu.device.cuda.cuStreamSynchronize(other)
            assert list(row) == list(range(450, 480))
            for wrong in ((15, 30, 4), (16, 29, 4), (16,)):
                with pytest.raises(ValueError, match="level 1 has 30 x 16 x 1 texels in 1 layers, 1920 bytes"):
                    image.write(field.tensor("uint8", wrong), stream, level=1)


def test_imports_by_file_descriptor(gpu):
    """What another library exported, by number."""
    with gpu.vk.buffer(4096) as buffer, gpu.vk.timeline() as timeline:
        fd = culvert.declarations.culv_handle()
        size = ctypes.c_uint64()
        memory = culvert.api.culv_vk_buffer_memory(buffer, ctypes.byref(size))
        culvert.api.culv_vk_memory_export_dup(
            gpu.vk, memory, culvert.declarations.culv_handle_type.CULV_HANDLE_OPAQUE_FD, ctypes.byref(fd))
        np.asarray(buffer.tensor("uint8"))[:] = 9
        with gpu.device.import_memory(fd.value.fd, size.value, dedicated=True) as memory:
            os.close(fd.value.fd)
            with memory.buffer(16, 32) as part:
                assert (np.asarray(part.tensor()) == 9).all() and part.size == 32
        with gpu.vk.import_timeline(timeline.handle) as same, gpu.device.stream() as stream:
            same.signal(stream, 5)
            timeline.wait(stream, 5)
            stream.synchronize()


@pytest.fixture
def directory():
    if not os.environ.get("CULVERT_TEST_KERNELS"):
        pytest.skip("CULVERT_TEST_KERNELS names no directory of kernels")
    return os.environ["CULVERT_TEST_KERNELS"]


def test_kernels(device, directory):
    with device.kernels("library_kernels", directory) as kernels, device.vector(4096) as vector:
        with pytest.raises(culvert.InvalidError) as e:
            kernels["no_such_kernel"]
        assert e.value.reason == "KERNEL"
        words = np.asarray(vector.tensor("uint32"))
        words[:] = np.arange(1024)
        kernels["library_add"].launch([vector, ctypes.c_uint32(1024), ctypes.c_uint32(5)], grid=(4,), block=(256,))
        device.make_current()
        device.cuda.cuCtxSynchronize()
        assert (words == np.arange(1024) + 5).all()
        with pytest.raises(TypeError, match="ctypes"):
            kernels["library_add"].launch([vector, 1024, 5])
        del words


def test_kernels_in_the_queue(directory):
    """The same call on a stream and in a command buffer."""
    with culvert.vulkan.open(kernels=True) as gpu:
        with gpu.vk.buffer(4096) as buffer, gpu.device.kernels("library_kernels", directory) as kernels:
            words = np.asarray(buffer.tensor("uint32"))
            words[:] = 1
            address = ctypes.c_uint64(buffer.address)
            assert address.value != 0
            add = kernels["library_add"]
            call = add.call([address, ctypes.c_uint32(1024), ctypes.c_uint32(5)], grid=(4,), block=(256,))
            with gpu.vk.queue_kernels(kernels) as in_queue:
                run(gpu, lambda commands: in_queue.record(call, commands, gpu.queue_family))
                assert (words == 6).all()
            add.launch([buffer, ctypes.c_uint32(1024), ctypes.c_uint32(2)], grid=(4,), block=(256,))
            gpu.device.make_current()
            gpu.device.cuda.cuCtxSynchronize()
            assert (words == 8).all()
            del words


def test_handles_of_other_packages():
    class Mine:
        _as_parameter_ = ctypes.c_void_p(7)

    assert [culvert.handle(x) for x in (5, None, ctypes.c_void_p(6), Mine())] == [5, 0, 6, 7]
    number = ctypes.c_int(3)
    assert culvert.handle(ctypes.pointer(number)) == ctypes.addressof(number)
    with pytest.raises(TypeError):
        culvert.handle("a string")
    backend = pytest.importorskip("_cffi_backend")
    ffi = backend.FFI()
    assert culvert.handle(ffi.cast("void *", 0x1234)) == 0x1234


def test_streams_of_other_packages():
    class Torch:
        cuda_stream = 11

    class Cupy:
        ptr = 12

    class Protocol:
        def __cuda_stream__(self):
            return (0, 13)

    assert [culvert.stream_handle(s) for s in (None, 1, Torch(), Cupy(), Protocol())] == [0, 1, 11, 12, 13]


def test_features_layers_and_validation():
    with culvert.vulkan.open(features=["shaderInt64", "samplerAnisotropy", "hostQueryReset", "multiview"],
                             validation=True) as gpu, gpu.vk.buffer(4097) as buffer:
        assert buffer.size == 4097
    with pytest.raises(ValueError, match="no feature of Vulkan 1.3 is called shaderInt65"):
        culvert.vulkan.open(features=["shaderInt65"])
    with pytest.raises(vk.VulkanError, match="vkCreateInstance"):
        culvert.vulkan.open(layers=["VK_LAYER_there_is_none"])


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


def test_reprs_of_buffers(gpu):
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


def test_reprs_of_images_semaphores_streams(gpu):
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


def test_reprs_of_tensors(gpu):
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


def test_reprs_of_rings(gpu):
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


def test_reprs_of_devices_and_contexts():
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


def test_reprs_of_kernels(device, directory):
    with device.kernels("library_kernels", directory) as kernels:
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
    said = script("""
        import culvert, os
        gpu = culvert.vulkan.open()
        buffer = gpu.vk.buffer(4097)
        pid = os.fork()
        if pid == 0:
            print(buffer, gpu, flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
    """).stdout
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
