# SPDX-License-Identifier: MIT
"""Kernels: of files, and those that Triton, CuPy and Numba compiled; on streams, and in Vulkan's command buffers."""
import ctypes
import re
import struct
import weakref
from ctypes import c_uint64
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _declarations as d
from ._lib import Error, Making, Owned, Single, _make, _roots, api, describe, handle, looks, stream_handle, told
from ._tensor import look
from ._types import Handle, StreamLike

if TYPE_CHECKING:
    from ._objects import Device, VulkanDevice


class Kernels(Owned):
    """A loaded file of kernels."""

    _destroy = "culv_kernels_unload"

    def __init__(self, parent: "Device", made: Making, source: str):
        super().__init__(parent, made)
        self.device = parent
        self._source = source
        self._in_queues: "weakref.WeakKeyDictionary[VulkanDevice, QueueKernels]" = weakref.WeakKeyDictionary()

    def _told(self) -> Iterator[str]:
        yield f"of {self._source}"
        yield f"on {self.device.name!r}"

    def __getitem__(self, name: str) -> "Kernel":
        return Kernel(self, name)

    def in_queue(self, vk: "VulkanDevice") -> "QueueKernels":
        """The kernels as a VulkanDevice has them: the same object each time."""
        there = self._in_queues.get(vk)
        if there is None or there.closed:
            there = self._in_queues[vk] = vk.queue_kernels(self)
        return there


class Parameter(NamedTuple):
    """One that a foreign compiler told of: "pointer", "array" (of Numba, `more` dimensions), or a ctypes type."""
    kind: Any
    divisor: int = 1  # what the compiler takes for granted of the value
    more: int = 0


class Kernel(Single):
    """A kernel by its name. Arguments are ctypes values, whose types must be the kernel's, or something with a pointer,
    such as a Buffer, a Vector, a Tensor or an AdoptedBuffer. A kernel of culvert.kernel() knows its types, where its
    compiler tells them: it takes numbers then, and on streams tensors of anybody's."""

    def __init__(self, kernels: Kernels, name: str, *, block: Sequence[int] = (1,), shared_bytes: int = 0,
                 parameters: Optional[List[Parameter]] = None, scratch: Optional[Tuple[int, int]] = None):
        self._kernels, self.name = kernels, name
        self._as_parameter_ = kernels._behind(_make("culv_kernels_get", kernels._need(), name))
        self.block, self.shared_bytes = tuple(block), shared_bytes
        self._parameters, self._scratch = parameters, scratch

    def __repr__(self) -> str:
        return told(self, self._kernels.closed, self._says())

    def _says(self) -> Iterator[str]:
        yield repr(self.name)
        yield f"blocks of {' x '.join(map(str, self.block))}"
        if self._parameters is not None:
            yield f"{len(self._parameters)} arguments"
        yield f"on {self._kernels.device.name!r}"

    def _count(self) -> int:
        """How many parameters the kernel takes, or -1 where the driver does not tell."""
        owner = self._kernels.device
        owner.make_current()
        try:
            ask = getattr(owner.cuda.cuFuncGetParamInfo, "raw")
        except AttributeError:
            return -1
        function = api.culv_kernel_native_handle(self._as_parameter_)
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        for i in range(d.CULV_KERNEL_ARGS_MAX + 1):
            if ask(function, i, ctypes.byref(offset), ctypes.byref(size)) != 0:
                return i
        return -1

    def _values(self, args: Sequence[Any]) -> Iterator[Tuple[Any, Any]]:
        """(the value on a stream, that in a queue: the same, another one, or a text that says why there is none)"""
        wanted = self._parameters
        if wanted is not None and len(args) != len(wanted):
            raise TypeError(f"{len(args)} arguments for a kernel that takes {len(wanted)}; constants of the compiler count not")
        for i, a in enumerate(args):
            p = wanted[i] if wanted is not None else None
            if isinstance(a, (ctypes._SimpleCData, ctypes.Structure, ctypes.Array)):
                yield a, a
            elif p is not None and p.kind == "array":
                yield from _numba_array(i, a, p.more)
            elif p is not None and p.kind != "pointer":
                yield from ((v, v) for v in _number(i, a, p))
            elif p is not None or hasattr(a, "pointer"):
                on_stream, in_queue = _places(i, a)
                for n in (on_stream, in_queue):
                    if p is not None and isinstance(n, int) and n % p.divisor != 0:
                        raise ValueError(f"argument {i}: the kernel was compiled for addresses that {p.divisor} divides, "
                                         f"and {n:#x} is not one")
                yield c_uint64(on_stream), c_uint64(in_queue) if isinstance(in_queue, int) else in_queue
            else:
                raise TypeError(f"{a!r}: pass a ctypes value, such as c_float({a!r}), or something with a pointer")

    def call(self, args: Sequence[Any], grid: Sequence[int] = (1,), block: Optional[Sequence[int]] = None,
             shared_bytes: Optional[int] = None, scratch: Any = None) -> d.culv_kernel_call:
        """The launch written down once, for launch() and record(). `block` and `shared_bytes` may be left out where the
        compiler chose them. `scratch` is memory for a kernel that wants it (Triton's global scratch)."""
        values = list(self._values(args))
        if self._scratch is not None:
            size, hidden = self._scratch
            blocks = _product(grid)
            place: Tuple[int, Any] = (0, 0)
            if size > 0:
                if scratch is None or scratch.size < size * blocks:
                    raise ValueError(f"the kernel wants {size * blocks} bytes of scratch for this grid: scratch=buffer")
                place = _places("scratch", scratch)
            for i in range(hidden):
                on_stream, in_queue = place if i == 0 else (0, 0)
                values.append((c_uint64(on_stream), c_uint64(in_queue) if isinstance(in_queue, int) else in_queue))
        array = (d.culv_kernel_call_arg * max(len(values), 1))()
        for slot, (value, in_queue) in zip(array, values):
            slot.value, slot.size = ctypes.addressof(value), ctypes.sizeof(value)
            if not isinstance(in_queue, str) and in_queue is not value:
                slot.queue_value = ctypes.addressof(in_queue)
        made = describe(d.culv_kernel_call, kernel=self._as_parameter_.value, args=array, num_args=len(values),
                        shared_bytes=self.shared_bytes if shared_bytes is None else shared_bytes)
        sizes: Any = made
        sizes.grid[:] = [*grid, 1, 1][:3]
        sizes.block[:] = [*(self.block if block is None else block), 1, 1][:3]
        made.kept.append(values)
        made.refused = [v for _, v in values if isinstance(v, str)]
        return made

    def launch(self, args: Sequence[Any], grid: Sequence[int] = (1,), block: Optional[Sequence[int]] = None,
               stream: StreamLike = None, shared_bytes: Optional[int] = None, scratch: Any = None) -> None:
        """On a CUDA stream."""
        gate = self._kernels._need().gate
        gate.enter()
        try:
            api.culv_kernel_call_launch(self.call(args, grid, block, shared_bytes, scratch), stream_handle(stream))
        finally:
            gate.leave()

    def record(self, vk: "VulkanDevice", commands: Handle, queue_family: int, args: Sequence[Any], grid: Sequence[int] = (1,),
               block: Optional[Sequence[int]] = None, shared_bytes: Optional[int] = None, scratch: Any = None) -> None:
        """In a command buffer of Vulkan's. `vk` is a VulkanDevice that was made with kernels=True. Memory is passed as
        something that has an address there: a VulkanBuffer, its Tensor, a ring's slot, a VectorView, an AdoptedBuffer."""
        self._kernels.in_queue(vk).record(self.call(args, grid, block, shared_bytes, scratch), commands, queue_family)


class QueueKernels(Owned):
    """Kernels for command buffers."""

    _destroy = "culv_vk_kernels_destroy"

    def __init__(self, parent: "VulkanDevice", made: Making, kernels: Kernels):
        self._kernels = kernels
        super().__init__(parent, made)
        with looks:
            kernels._children.add(self)  # it goes before them

    def _told(self) -> Iterator[str]:
        return self._kernels._told()

    def record(self, call: d.culv_kernel_call, commands: Handle, queue_family: int) -> None:
        if call.refused:
            raise ValueError(call.refused[0])
        api.culv_vk_kernel_call_record(self._need(), call, handle(commands), queue_family)


# Arguments -----------------------------------------------------------------------------------------------------------

def _product(numbers: Iterable[int]) -> int:
    result = 1
    for n in numbers:
        result *= n
    return result


def _places(i: Union[int, str], a: Any) -> Tuple[int, Any]:
    """(the address on CUDA's streams, that in Vulkan or a text that says why there is none)"""
    if a is None:
        return 0, 0
    if isinstance(a, int):
        return a, a
    if hasattr(a, "pointer"):
        try:
            there = getattr(a, "address", 0)
        except (Error, ValueError, TypeError) as e:
            return a.pointer, f"argument {i}: {e}"
        return a.pointer, there or (
            f"argument {i} has no address in Vulkan: pass a VulkanBuffer of a VulkanDevice with kernels=True, its tensor, "
            "a VectorView, or what adopt() gave")
    if not any(hasattr(a, name) for name in ("data_ptr", "__cuda_array_interface__", "__array_interface__")):
        raise TypeError(f"argument {i}: {a!r} has no pointer")
    seen = look(a)
    if seen.copied or seen.swapped:  # its strides are the kernel's affair
        seen.require()
    return seen.pointer, f"argument {i} is a tensor, which has no address in Vulkan: pass vk.adopt(tensor)"


def _number(i: int, a: Any, p: Parameter) -> List[Any]:
    if p.kind in ("float16", "bfloat16"):
        if p.kind == "float16":
            bits = struct.unpack("<H", struct.pack("<e", float(a)))[0]
        else:
            bits = struct.unpack("<I", struct.pack("<f", float(a)))[0] + 0x7fff  # to the nearest, ties to even
            bits = (bits + (((bits - 0x7fff) >> 16) & 1)) >> 16 & 0xffff
        return [ctypes.c_uint16(bits)]
    if isinstance(p.kind, tuple):  # a complex number
        return [kind(part) for kind, part in zip(p.kind, (complex(a).real, complex(a).imag))]
    if p.kind in (ctypes.c_float, ctypes.c_double):
        return [p.kind(a)]
    value = p.kind(int(a))
    if value.value != int(a):
        raise ValueError(f"argument {i}: {a} is no {p.kind.__name__[2:]}")
    if int(a) % p.divisor != 0:
        raise ValueError(f"argument {i}: the kernel was compiled for numbers that {p.divisor} divides, and {a} is not one")
    return [value]


def _numba_array(i: int, a: Any, ndim: int) -> Iterator[Tuple[Any, Any]]:
    """An array as Numba's kernels take it: two pointers that they do not read, the count of elements, the size of one, the
    address, the shape, and the strides in bytes."""
    layout = getattr(a, "layout_of", None)
    if layout is None and not any(hasattr(a, name) for name in ("data_ptr", "__cuda_array_interface__", "__array_interface__")):
        raise TypeError(f"argument {i}: {a!r} has no shape")
    seen = layout.seen if layout is not None else look(a)
    shape, strides, size = seen.shape, seen.strides, seen.size
    if len(shape) != ndim:
        raise TypeError(f"argument {i}: {len(shape)} dimensions, where the kernel was compiled for {ndim}")
    on_stream, in_queue = _places(i, a)
    for number in (0, 0, _product(shape), size):
        value = c_uint64(number)
        yield value, value
    yield c_uint64(on_stream), c_uint64(in_queue) if isinstance(in_queue, int) else in_queue
    for number in (*shape, *strides):
        signed = ctypes.c_int64(number)
        yield signed, signed


# Kernels of other compilers ------------------------------------------------------------------------------------------

class Foreign(NamedTuple):
    """What a compiler made of a kernel."""
    code: bytes
    name: str
    block: Tuple[int, ...] = (1,)
    shared_bytes: int = 0
    parameters: Optional[List[Parameter]] = None
    scratch: Optional[int] = None  # bytes a block; the parameters for it are hidden behind the others


_TRITON: Dict[str, Any] = {"i1": ctypes.c_int8, "u1": ctypes.c_uint8, "fp32": ctypes.c_float, "f32": ctypes.c_float,
           "fp64": ctypes.c_double, "fp16": "float16", "bf16": "bfloat16"}
for _bits in (8, 16, 32, 64):
    _TRITON[f"i{_bits}"] = getattr(ctypes, f"c_int{_bits}")
    _TRITON[f"u{_bits}"] = getattr(ctypes, f"c_uint{_bits}")


def _triton(k: Any) -> Foreign:
    def meta(name: str, default: Any = None) -> Any:
        there = k.metadata
        return there.get(name, default) if isinstance(there, dict) else getattr(there, name, default)

    name = meta("name") or k.name
    clusters = _product(meta("cluster_dims") or (meta("num_ctas") or 1,))
    if clusters != 1:
        raise ValueError(f"{name} is compiled for clusters of {clusters} blocks, which a launch here does not make: num_ctas=1")
    if meta("launch_cooperative_grid"):
        raise ValueError(f"{name} wants a cooperative launch of the whole grid")
    if meta("profile_scratch_size"):
        raise ValueError(f"{name} is instrumented: compile it without a profiler")
    parameters = []
    constants = getattr(k.src, "constants", None) or {}
    attributes = getattr(k.src, "attrs", None) or {}
    for i, (key, kind) in enumerate(k.src.signature.items()):
        if kind == "constexpr" or key in constants or (i,) in constants:
            continue
        facts = attributes.get((i,), ()) if isinstance(attributes, dict) else ()
        divisor = next((n for what, n in facts if what == "tt.divisibility"), 1)
        if isinstance(kind, str) and kind.startswith("*"):
            parameters.append(Parameter("pointer", divisor))
        elif kind in _TRITON:
            parameters.append(Parameter(_TRITON[kind], divisor))
        else:
            raise ValueError(f"{name}: parameter {key!r} is a {kind}, which Culvert does not pass")
    warp = getattr(meta("target"), "warp_size", None) or meta("warp_size", 32)
    return Foreign(k.asm["cubin"], name, (meta("num_warps") * warp,), meta("shared") or 0, parameters,
                   meta("global_scratch_size") or 0)


def _cupy(k: Any) -> Foreign:
    """RawKernel keeps its source: it is compiled once more, for the GPU that is current in CuPy."""
    import cupy
    try:
        from cupy.cuda import nvrtc
    except ImportError:
        from cupy_backends.cuda.libs import nvrtc

    if not k.code:
        raise ValueError(f"{k.name} has no source: pass a RawKernel of the source, or the bytes of the cubin with name=")
    if getattr(k, "enable_cooperative_groups", False):
        raise ValueError(f"{k.name} wants a cooperative launch of the whole grid")
    program = nvrtc.createProgram(k.code, "culvert.cu", (), ())
    try:
        plain = re.fullmatch(r"\w+", k.name) is not None and 'extern "C"' in k.code
        if not plain:
            nvrtc.addNameExpression(program, k.name)
        options = tuple(o for o in k.options if "gpu-architecture" not in o and not o.startswith("-arch"))
        nvrtc.compileProgram(program, options + (f"--gpu-architecture=sm_{cupy.cuda.Device().compute_capability}",))
        code = nvrtc.getCUBIN(program)
        name = k.name if plain else nvrtc.getLoweredName(program, k.name)
    except nvrtc.NVRTCError as e:
        raise ValueError(f"{k.name} does not compile alone: {nvrtc.getProgramLog(program) or e}") from None
    finally:
        nvrtc.destroyProgram(program)
    return Foreign(bytes(code), name if isinstance(name, str) else name.decode())


def _numba(k: Any) -> Foreign:
    if hasattr(k, "overloads"):
        if len(k.overloads) != 1:
            raise ValueError(f"the kernel is compiled for {len(k.overloads)} signatures: pass kernel.overloads[signature], "
                             "or compile it for one: @cuda.jit(\"void(float32[:], int32)\")")
        k = next(iter(k.overloads.values()))
    if getattr(k, "cooperative", False):
        raise ValueError(f"{k.entry_name} wants a cooperative launch of the whole grid")
    parameters = []
    for t in k.argument_types:
        text, kind = str(t), type(t).__name__
        if kind == "Array":
            parameters.append(Parameter("array", more=t.ndim))
        elif kind == "CPointer":
            parameters.append(Parameter("pointer"))
        elif re.fullmatch(r"u?int(8|16|32|64)", text):
            parameters.append(Parameter(getattr(ctypes, f"c_{text}")))
        elif text in ("float32", "float64", "float16"):
            parameters.append(Parameter({"float32": ctypes.c_float, "float64": ctypes.c_double}.get(text, text)))
        elif text in ("bool", "boolean"):
            parameters.append(Parameter(ctypes.c_uint8))
        elif text in ("complex64", "complex128"):
            parameters.append(Parameter((ctypes.c_float if text == "complex64" else ctypes.c_double,) * 2))
        else:
            raise ValueError(f"{k.entry_name}: a parameter is a {text}, which Culvert does not pass")
    code = k._codelibrary.get_cubin()
    code = getattr(code, "code", code)
    return Foreign(bytes(code), k.entry_name, parameters=parameters)


def _foreign(k: Any, name: Optional[str]) -> Foreign:
    if isinstance(k, str):  # PTX
        k = k.encode()
    if isinstance(k, (bytes, bytearray)):
        if not name:
            raise TypeError("bytes have no name: say which kernel, name=\"...\"")
        return Foreign(bytes(k), name)
    if hasattr(k, "result") and not hasattr(k, "asm"):  # Triton compiles on another thread
        k = k.result()
    if hasattr(k, "asm") and hasattr(k, "metadata"):
        if "cubin" not in k.asm:
            raise ValueError(f"Triton has made no cubin of it, but {', '.join(k.asm)}")
        return _triton(k)
    if hasattr(k, "warmup"):
        raise TypeError("Triton has not compiled it: pass what kernel.warmup(..., grid=(1,)) or kernel[grid](...) gives")
    if hasattr(k, "overloads") or hasattr(k, "_codelibrary"):
        return _numba(k)
    if type(k).__module__.partition(".")[0] == "cupy" and hasattr(k, "code") and hasattr(k, "options"):
        return _cupy(k)
    raise TypeError(f"{k!r} is no kernel of Triton, CuPy or Numba, and no bytes of a cubin, a fatbin or PTX")


def kernel(k: Any, device: "Optional[Device]" = None, *, name: Optional[str] = None) -> Kernel:
    """A kernel that Triton, CuPy (RawKernel) or Numba compiled, or bytes of a cubin, a fatbin or PTX with the kernel's
    name, for streams and for Vulkan's command buffers: kernel.launch(), kernel.record(). `device` may be left out where
    one is open. Triton's warps, shared bytes and scratch parameters are filled in. What was loaded stays with the
    device, and the same code is loaded once."""
    made = _foreign(k, name)
    if device is None:
        there: List[Any] = [r for r in list(_roots) if hasattr(r, "_foreign_kernels") and not r.closed]
        if len(there) != 1:
            raise ValueError(f"{len(there)} devices are open: say which one is to have the kernel")
        device = there[0]
    assert device is not None
    loaded = device._foreign_kernels.get(made.code)
    if loaded is None or loaded.closed:
        loaded = device._foreign_kernels[made.code] = device.kernels(made.code, label=made.name[:63])
    found = Kernel(loaded, made.name, block=made.block, shared_bytes=made.shared_bytes, parameters=made.parameters)
    if made.scratch is not None:
        # One pointer or two, which differs between versions of Triton: the driver tells how many parameters there are.
        count = found._count()
        found._scratch = (made.scratch, count - len(made.parameters or ()) if count >= 0 else 2)
    return found
