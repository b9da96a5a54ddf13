# SPDX-License-Identifier: MIT
"""Kernels of Triton, CuPy and Numba on the twin: objects with what those libraries tell, and the twin's code in them."""
import ctypes
import os
import pathlib
import types

import numpy as np
import pytest

import culvert
from culvert import vulkan as vk
from culvert._kernels import _foreign
from vulkan_work import run as in_queue

CODE = pathlib.Path(os.environ.get("CULVERT_TEST_KERNELS", ".")) / "library_kernels.soft.so"
pytestmark = pytest.mark.skipif(not CODE.exists(), reason="CULVERT_TEST_KERNELS has no library_kernels.soft.so")


def triton(signature, name="library_add", attrs=None, **metadata):
    told = dict(name=name, num_warps=4, num_ctas=1, cluster_dims=(1, 1, 1), shared=0, global_scratch_size=0,
                profile_scratch_size=0, target=types.SimpleNamespace(warp_size=32))
    return types.SimpleNamespace(asm={"cubin": CODE.read_bytes()}, name=name,
                                 metadata=types.SimpleNamespace(**{**told, **metadata}),
                                 src=types.SimpleNamespace(signature=signature, constants={}, attrs=attrs or {}))


ADD = {"words": "*u32", "count": "u32", "BLOCK": "constexpr", "more": "i32"}


def numba(*kinds, name="library_add"):
    class Library:
        @staticmethod
        def get_cubin():
            return CODE.read_bytes()

    one = types.SimpleNamespace(entry_name=name, argument_types=kinds, _codelibrary=Library(), cooperative=False)
    return types.SimpleNamespace(overloads={kinds: one})


def kind_of_numba(text, kind="Integer", **more):
    return type(kind, (), {"__str__": lambda self: text, **more})()


@pytest.fixture
def gpu():
    with culvert.vulkan.open(kernels=True) as context:
        yield context


def test_triton_on_both_sides(gpu):
    kernel = culvert.kernel(triton(ADD, attrs={(0,): [["tt.divisibility", 16]]}))
    assert kernel.block == (128,)
    with gpu.vk.buffer(4096) as buffer:
        words = np.asarray(buffer.tensor("uint32"))
        words[:] = np.arange(1024)
        kernel.launch([buffer, 1024, 5], grid=(8,))
        gpu.device.make_current()
        gpu.device.cuda.cuCtxSynchronize()
        assert (words == np.arange(1024) + 5).all()
        in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [buffer, 1024, 2], grid=(8,)))
        assert (words == np.arange(1024) + 7).all()
        # The second half alone, as a tensor with an offset.
        half = buffer.tensor("uint32", (512,), offset=2048)
        in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [half, 512, 100], grid=(4,)))
        assert (words[:512] == np.arange(512) + 7).all() and (words[512:] == np.arange(512, 1024) + 107).all()
        with pytest.raises(ValueError, match="16 divides"):
            kernel.call([buffer.tensor("uint32", (1,), offset=4), 1, 1])
        del words, half


def test_a_vector_and_adopted_memory(gpu):
    kernel = culvert.kernel(triton(ADD))
    usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vk.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
    with gpu.device.vector(4096, exportable=True) as vector, gpu.vk.vector_view(vector, usage) as view:
        words = np.asarray(vector.tensor("uint32", (1024,)))
        words[:] = 1
        in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [view, 1024, 3], grid=(8,)))
        assert (words == 4).all()
        with pytest.raises(ValueError, match="argument 0 has no address in Vulkan"):
            in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [vector, 1024, 3], grid=(8,)))
        # A view that cannot tell an address serves on streams.
        vector.grow(8 * vector.committed)
        view.update()
        assert len(view.buffers()) > 1
        kernel.launch([view, 1024, 1], grid=(8,))
        gpu.device.make_current()
        gpu.device.cuda.cuCtxSynchronize()
        assert (words == 5).all()
        with pytest.raises(ValueError, match="argument 0: "):
            in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [view, 1024, 1], grid=(8,)))
        del words
    pointer = culvert.malloc(1 << 20)
    try:
        words = np.ctypeslib.as_array((ctypes.c_uint32 * 1024).from_address(pointer + 512))
        words[:] = 10
        with gpu.vk.adopt(words) as view:
            in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [view, 1024, 3], grid=(8,)))
        assert (words == 13).all()
        with pytest.raises(ValueError, match="pass vk.adopt"):
            kernel.record(gpu.vk, gpu.commands(), gpu.queue_family, [words, 1024, 3])
    finally:
        culvert.free(pointer)


def test_numba_on_both_sides(gpu):
    """Scalars and a pointer run; what an array becomes is compared with what Numba's launcher passes."""
    pointer, number = kind_of_numba("uint32*", "CPointer"), kind_of_numba("uint32")
    kernel = culvert.kernel(numba(pointer, number, number))
    with gpu.vk.buffer(4096) as buffer:
        words = np.asarray(buffer.tensor("uint32"))
        words[:] = 1
        in_queue(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [buffer, 1024, 6], grid=(8,), block=(128,)))
        assert (words == 7).all()
        arrays = culvert.kernel(numba(kind_of_numba("array(uint32, 2d, A)", "Array", ndim=2)))
        part = buffer.tensor("uint32", (4, 8), strides=(16, 1), offset=64)
        found = list(arrays._values([part]))
        assert [v.value for v, _ in found] == [0, 0, 32, 4, buffer.pointer + 64, 4, 8, 64, 4]
        assert [q.value for _, q in found] == [0, 0, 32, 4, buffer.address + 64, 4, 8, 64, 4]
        with pytest.raises(TypeError, match="1 dimensions"):
            arrays.call([buffer.tensor("uint32")])
        del words, part, found


def test_hidden_parameters_and_scratch(gpu):
    """The driver tells how many parameters stand behind those of the signature."""
    kernel = culvert.kernel(triton({"words": "*u32"}))
    assert kernel._scratch == (0, 2)
    wants = culvert.kernel(triton({"words": "*u32"}, global_scratch_size=64))
    with gpu.vk.buffer(4096) as buffer, gpu.vk.buffer(256) as scratch:
        with pytest.raises(ValueError, match="512 bytes of scratch"):
            wants.call([buffer], grid=(8,), scratch=scratch)
        call = wants.call([buffer], grid=(4,), scratch=scratch)
        assert [v.value for v, _ in call.kept[-1]] == [buffer.pointer, scratch.pointer, 0]


def test_numbers_are_the_kernels():
    one = [culvert._kernels.Parameter(k) for k in (ctypes.c_float, ctypes.c_int8, "float16", "bfloat16", ctypes.c_uint64)]
    values = [culvert._kernels._number(0, a, p)[0] for a, p in zip((1.5, -3, 1.5, 1.0 / 3, 2**64 - 1), one)]
    assert [v.value for v in values] == [1.5, -3, 0x3e00, 0x3eab, 2**64 - 1]
    with pytest.raises(ValueError, match="300 is no"):
        culvert._kernels._number(0, 300, one[1])
    with pytest.raises(ValueError, match="16 divides"):
        culvert._kernels._number(0, 24, culvert._kernels.Parameter(ctypes.c_int32, 16))


def test_the_same_code_is_loaded_once(gpu):
    first, second = culvert.kernel(triton(ADD)), culvert.kernel(triton(ADD), gpu.device)
    assert first._kernels is second._kernels
    named = culvert.kernel(CODE.read_bytes(), name="library_add")
    assert named._kernels is first._kernels
    with pytest.raises(culvert.InvalidError, match="no_such_kernel"):
        culvert.kernel(CODE.read_bytes(), name="no_such_kernel")


@pytest.mark.parametrize("what, said", [
    (lambda: triton(ADD, num_ctas=2, cluster_dims=(2, 1, 1)), "clusters of 2"),
    (lambda: triton(ADD, launch_cooperative_grid=True), "cooperative"),
    (lambda: triton(ADD, profile_scratch_size=8), "instrumented"),
    (lambda: triton({"t": "tensordesc<fp16>"}), "tensordesc"),
    (lambda: types.SimpleNamespace(asm={"ptx": ""}, metadata=None), "no cubin"),
    (lambda: types.SimpleNamespace(warmup=None), "not compiled"),
    (lambda: types.SimpleNamespace(overloads={}), "0 signatures"),
    (lambda: numba(kind_of_numba("Tuple(int32)", "Tuple")), "Tuple"),
    (lambda: b"", "say which kernel"),
    (lambda: 7, "no kernel"),
])
def test_what_is_refused(what, said):
    with pytest.raises((ValueError, TypeError), match=said):
        _foreign(what(), None)
