# SPDX-License-Identifier: MIT
"""Bytes of Vulkan and of NumPy are the same bytes, and a tensor keeps them. Tensors of programs that know nothing of Culvert: NumPy
has none in CUDA's virtual memory, so a vector's chunks stand for an allocator's, and only their addresses are handed over."""
import ctypes
import gc
import threading

import numpy as np
import pytest

import culvert
from culvert import vulkan as vk
import libraries
import vulkan_work


@pytest.mark.parametrize("name", ["vulkan_writes_and_it_reads", "it_writes_and_vulkan_reads", "shapes_strides_and_offsets", "frames_of_a_ring"])
def test_bytes_of_both_sides(name):
    """The cases that a GPU's libraries have, too."""
    libraries.CASES[name].run(libraries.Library("numpy"))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                   "float16", "float32", "float64", "complex64", "complex128"])
def test_types(gpu, dtype):
    with gpu.vk.buffer(4096) as buffer:
        for given in (dtype, np.dtype(dtype), np.dtype(dtype).type, np.dtype(dtype).str):
            t = buffer.tensor(given)
            if dtype == "bool" and np.__version__.startswith("1.2"):  # NumPy knows DLPack's bool from 2.0 on
                with pytest.raises((RuntimeError, BufferError)):
                    np.from_dlpack(t)
            else:
                assert np.from_dlpack(t).dtype == np.dtype(dtype)
            assert np.asarray(t).dtype == np.dtype(dtype)
            assert t.shape == (4096 // np.dtype(dtype).itemsize,)
    with pytest.raises(TypeError, match="float13"):
        buffer.tensor("float13")


def test_shapes(gpu):
    with gpu.vk.buffer(4096) as buffer:
        words = np.asarray(buffer.tensor("int32"))
        words[:] = np.arange(1024)
        for make in (np.from_dlpack, np.asarray):
            assert make(buffer.tensor("int32", ())).shape == ()
            assert make(buffer.tensor("int32", (), offset=20)) == 20 // 4
            assert (make(buffer.tensor("int32", (2, 3), offset=4)) == [[1, 2, 3], [4, 5, 6]]).all()
            assert (make(buffer.tensor("int32", (3, 2), strides=(1, 100))) == [[0, 100], [1, 101], [2, 102]]).all()
            assert (make(buffer.tensor("int32", (4,), strides=(-1,), offset=12)) == [3, 2, 1, 0]).all()
            assert (make(buffer.tensor("int32", (3, 4), strides=(0, 1))) == [[0, 1, 2, 3]] * 3).all()
            assert make(buffer.tensor("int32", (0, 4))).shape == (0, 4)
        for bad in (dict(shape=(1025,)), dict(shape=(4,), strides=(-1,)), dict(shape=(2, -3)), dict(offset=2),
                    dict(offset=5000)):
            with pytest.raises(culvert.InvalidError) as e:
                buffer.tensor("int32", **bad)
            assert e.value.reason in ("RANGE", "SIZE") and e.value.message in str(e.value)
        for bad in ((-1, 7), (-1, -1), (-1, 0), (2, 1000, -1)):
            with pytest.raises(ValueError, match="of the shape"):
                buffer.tensor("int32", bad)
        with pytest.raises(ValueError, match="strides"):
            buffer.tensor("int32", (4,), strides=(1, 1))


def test_the_same_tensor_again(gpu):
    """What a buffer said of a tensor is kept. It must be right for every other one, and not outlive the buffer."""
    with gpu.vk.buffer(4096) as buffer:
        for _ in range(3):
            for dtype, shape, strides, offset in (("uint32", None, None, 0), ("float32", None, None, 0), ("uint8", (64, 64), None, 0),
                                                  ("uint32", [4, 8], None, 0), ("uint32", (4, 8), (16, 1), 0), ("uint32", (4, 8), None, 64),
                                                  ("uint32", (-1, 16), None, 2048)):
                t = buffer.tensor(dtype, shape, strides=strides, offset=offset)
                size = np.dtype(dtype).itemsize
                expected = (4096 // size,) if shape is None else tuple(4096 // size // 32 if n == -1 else n for n in shape)
                assert t.shape == expected and t.ndim == len(expected) and t.pointer == buffer.pointer + offset
                assert t.strides == (strides or tuple(np.cumprod((1,) + expected[:0:-1])[::-1])), (dtype, shape, strides)
                assert np.asarray(t).shape == expected and np.asarray(t).dtype == np.dtype(dtype)
        for n in range(100):  # more than are kept
            assert buffer.tensor("uint8", (n + 1,)).shape == (n + 1,)
        assert not np.asarray(buffer.tensor("uint8", (8,), read_only=True)).flags.writeable
        assert np.asarray(buffer.tensor("uint8", (8,))).flags.writeable
        with pytest.raises(culvert.InvalidError):
            buffer.tensor("uint32", (2000,))
        with pytest.raises(culvert.InvalidError):
            buffer.tensor("uint32", (2000,))
    with pytest.raises(ValueError):
        buffer.tensor("uint32")
    with pytest.raises(ValueError):
        buffer.tensor("uint8", (8,))


def test_read_only(gpu):
    with gpu.vk.buffer(4096) as buffer:
        t = buffer.tensor("int32", read_only=True)
        assert not np.asarray(t).flags.writeable
        with pytest.raises(BufferError, match="read-only"):
            t.__dlpack__()
        capsule = t.__dlpack__(max_version=(1, 0))
        assert "dltensor_versioned" in repr(capsule)
        assert 'dltensor"' in repr(buffer.tensor("int32").__dlpack__())


def test_what_it_does_not_do(gpu):
    with gpu.vk.buffer(4096) as buffer:
        t = buffer.tensor()
        kind, number = t.__dlpack_device__()
        assert (kind, number) == ((1, 0) if gpu.device.is_software else (2, gpu.device.caps.ordinal))
        with pytest.raises(BufferError, match="copy"):
            t.__dlpack__(dl_device=(4, 0))
        with pytest.raises(BufferError, match="copies"):
            t.__dlpack__(copy=True)
        t.__dlpack__(dl_device=(kind, number), copy=False)
        assert hasattr(t, "__cuda_array_interface__") != gpu.device.is_software
        with pytest.raises(culvert.InvalidError, match="0"):
            t.__dlpack__(stream=0)


def test_a_tensor_outlives_all(gpu):
    with culvert.vulkan.open() as other:
        buffer = other.vk.buffer(4096)
        by_dlpack = np.from_dlpack(buffer.tensor("int32"))
        by_address = np.asarray(buffer.tensor("int32"))
        by_address[:] = np.arange(1024)
        buffer.close()
        assert buffer.closed
        with pytest.raises(ValueError, match="closed"):
            buffer.tensor()
        assert other.device.counts()["buffers"] == 2
    gc.collect()
    by_address += 1
    assert (by_dlpack == np.arange(1, 1025)).all()
    thread = threading.Thread(target=by_dlpack.__class__.sum, args=(by_dlpack,))
    thread.start()
    thread.join()
    del by_dlpack
    assert by_address[1023] == 1024
    holder = [by_address]
    del by_address, thread
    thread = threading.Thread(target=holder.clear)
    thread.start()
    thread.join()


def test_an_offer_stands_while_somebody_holds_it(gpu):
    """A capsule is given up when nobody can take it any more, and not before."""
    with gpu.vk.buffer(4096) as buffer:
        np.asarray(buffer.tensor("int32"))[:] = 3
        t = buffer.tensor("int32")
        before = gpu.device.counts()["buffers"]
        capsule = t.__dlpack__()
        for _ in range(1000):
            np.from_dlpack(t)
            t.__dlpack__(max_version=(1, 1))  # nobody takes it over
        gc.collect()
        assert gpu.device.counts()["buffers"] == before + 1

        class Consumer:
            def __dlpack__(self):
                return capsule

        assert (np.from_dlpack(Consumer()) == 3).all()
        del capsule, Consumer
        gc.collect()
        assert gpu.device.counts()["buffers"] == before


def test_a_part_of_a_vector(device):
    with device.vector(1 << 20) as vector:
        array = np.asarray(vector.tensor("uint16", (-1,)))
        array[:] = 7
        vector.grow(1 << 23)
        again = np.from_dlpack(vector.tensor("uint16"))
        assert again.shape == (1 << 22,) and (again[:1 << 19] == 7).all()
        with pytest.raises(culvert.BusyError) as e:
            vector.shrink(0)
        assert e.value.reason == "OWNED"
        pointer = vector.pointer
    again = again[:4]
    assert array.ctypes.data == pointer and (again == 7).all() and array.sum() == 7 << 19


def test_a_linear_image(gpu):
    width, height, f = 61, 33, gpu.functions
    external = vk.VkExternalMemoryImageCreateInfo(handleTypes=1)
    info = vk.VkImageCreateInfo(pNext=ctypes.addressof(external), imageType=vk.VK_IMAGE_TYPE_2D,
                                format=vk.VK_FORMAT_R8G8B8A8_UNORM, extent=vk.VkExtent3D(width, height, 1),
                                mipLevels=1, arrayLayers=1, samples=1, tiling=vk.VK_IMAGE_TILING_LINEAR,
                                usage=vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT)
    image = f.make("vkCreateImage", gpu.handle, info, None)
    needs = vk.VkMemoryRequirements()
    f.vkGetImageMemoryRequirements(gpu.handle, image, needs)
    dedicated = vk.VkMemoryDedicatedAllocateInfo(image=image)
    export = vk.VkExportMemoryAllocateInfo(pNext=ctypes.addressof(dedicated), handleTypes=1)
    index = (needs.memoryTypeBits & -needs.memoryTypeBits).bit_length() - 1
    memory = f.make("vkAllocateMemory", gpu.handle, vk.VkMemoryAllocateInfo(
        pNext=ctypes.addressof(export), allocationSize=needs.size, memoryTypeIndex=index), None)
    f.vkBindImageMemory(gpu.handle, image, memory, 0)
    whole = vk.VkImageSubresourceRange(vk.VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1)
    colour = vk.VkClearColorValue()
    colour.float32[:] = (1, 0, 0.2, 1)

    def record(commands):
        gpu.barrier(commands, images=[vk.VkImageMemoryBarrier2(
            dstStageMask=vk.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT, dstAccessMask=vk.VK_ACCESS_2_TRANSFER_WRITE_BIT,
            newLayout=vk.VK_IMAGE_LAYOUT_GENERAL, image=image, subresourceRange=whole, srcQueueFamilyIndex=2**32 - 1,
            dstQueueFamilyIndex=2**32 - 1)])
        f.vkCmdClearColorImage(commands, image, vk.VK_IMAGE_LAYOUT_GENERAL, colour, 1, whole)
    vulkan_work.run(gpu, record)
    with gpu.vk.import_memory(memory, needs.size, dedicated=True) as imported:
        with gpu.vk.linear_image(imported, image, info) as linear:
            texels = np.asarray(linear.texels())
            assert texels.shape == (height, width, 4)
            assert (texels == [255, 0, 51, 255]).all()
            one = np.from_dlpack(linear.texels("uint32", 1))
            assert one.shape == (height, width) and (one == 0xff3300ff).all()
            del texels, one
    f.vkDestroyImage(gpu.handle, image, None)
    f.vkFreeMemory(gpu.handle, memory, None)


CHUNK = 1 << 21


def copy_out(gpu, parts, size):
    return np.frombuffer(vulkan_work.copy_out(gpu, parts, size), np.uint8)


def test_a_tensor_across_chunks(gpu):
    with gpu.device.vector(4 * CHUNK, max_chunk=CHUNK, exportable=True) as memory:
        everything = np.asarray(memory.tensor("uint32"))
        everything[:] = np.arange(everything.size)
        tensor = everything[CHUNK // 8:CHUNK // 8 + CHUNK // 2].reshape(-1, 64)  # half a chunk, whole, half
        with culvert.buffer(tensor) as adopted:
            parts = adopted.buffers()
            assert [p.size for p in parts] == [CHUNK // 2, CHUNK, CHUNK // 2] and adopted.size == tensor.nbytes
            assert (copy_out(gpu, parts, tensor.nbytes).view(np.uint32) == tensor.ravel()).all()
            with pytest.raises(ValueError, match="3 buffers"):
                adopted.handle
            assert adopted.is_current
            small = everything[5:15]
            with gpu.vk.adopt(small) as one, gpu.vk.adopt(everything[100:110]) as two:
                assert one.handle == two.handle and one.offset == 20 and two.offset == 400
                assert (copy_out(gpu, one.buffers(), 40).view(np.uint32) == small).all()
                small += 7
                assert (copy_out(gpu, one.buffers(), 40).view(np.uint32) == np.arange(12, 22)).all()
            with gpu.vk.adopt(everything[::2][:100]) as strided:
                assert strided.size == 99 * 8 + 4
        with gpu.vk.adopt(memory.pointer, 64) as by_number:
            assert by_number.offset == 0 and by_number.size == 64
        del everything, tensor, small


def test_a_default_tensor_is_refused(gpu):
    with gpu.vk.buffer(4096) as buffer:  # imported memory, as cudaMalloc's, is nobody's chunk
        with pytest.raises(culvert.InvalidError, match="expandable_segments:True") as e:
            culvert.buffer(buffer.tensor(), gpu.vk)
        assert e.value.reason == "NOT_EXPORTABLE"
    with gpu.device.vector(CHUNK) as private:
        with pytest.raises(culvert.InvalidError, match="requestedHandleTypes"):
            gpu.vk.adopt(private.pointer, 64)


def test_unmapped_memory_is_noticed(gpu):
    stream = gpu.device.stream()
    with gpu.device.vector(2 * CHUNK, max_chunk=CHUNK, exportable=True) as memory:
        with gpu.vk.adopt(memory.pointer + CHUNK, CHUNK) as adopted:
            assert adopted.is_current
            memory.shrink(CHUNK, stream)
            stream.synchronize()
            gpu.device.collect()
            assert not adopted.is_current
            with pytest.raises(culvert.InvalidError, match="unmapped"):
                adopted.check()
            memory.grow(2 * CHUNK)
            with pytest.raises(culvert.InvalidError, match="replaced"):
                adopted.check()
    stream.close()


def test_the_allocator(gpu):
    """What PyTorch and RMM call. Its memory is adopted at once."""
    stream = gpu.device.stream()
    pointer = culvert.malloc(20 << 20, 0, stream)
    assert pointer % 512 == 0
    words = np.arange(1024, dtype=np.uint32)
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyHtoDAsync(pointer + 4096, words.ctypes.data, 4096, stream)
    stream.synchronize()
    with gpu.vk.adopt(pointer + 4096, 4096) as adopted:
        assert adopted.offset == 4096
        assert (copy_out(gpu, adopted.buffers(), 4096).view(np.uint32) == words).all()
        culvert.free(pointer, 20 << 20, 0, stream)
        assert not adopted.is_current
    assert culvert.malloc(0) == 0
    with pytest.raises(culvert.Error, match="no device -1"):
        culvert.malloc(4096, -1)
    stream.close()
