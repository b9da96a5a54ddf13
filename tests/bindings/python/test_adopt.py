# SPDX-License-Identifier: MIT
"""Tensors of programs that know nothing of Culvert. NumPy has none in CUDA's virtual memory, so a vector's chunks stand
for an allocator's: only their addresses are handed over."""
import numpy as np
import pytest

import culvert
import vulkan_work

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
