# SPDX-License-Identifier: MIT
"""Shared memory as tensors: DLPack, __cuda_array_interface__, and __array_interface__ on the software twin."""
import contextlib
import ctypes
import gc
import math
import operator
import struct
import sys
from ctypes import byref, c_char_p, c_void_p, py_object, string_at
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Sequence, Tuple

from . import _declarations as d
from ._lib import Single, _lasts, api, at_once, bury, describe, drop, last_of, process, stream_handle, told
from ._types import DType, Shape, StreamLike, TensorLike

_TYPES: Dict[str, Tuple[int, int, str]] = {"bool": (d.culv_dl_type_code.CULV_DL_BOOL, 8, "|b1"),
          "bfloat16": (d.culv_dl_type_code.CULV_DL_BFLOAT, 16, "<V2"),
          "float16": (2, 16, "<f2"), "float32": (2, 32, "<f4"), "float64": (2, 64, "<f8"),
          "complex64": (5, 64, "<c8"), "complex128": (5, 128, "<c16")}
for _bits in (8, 16, 32, 64):
    _TYPES[f"int{_bits}"] = (0, _bits, f"{'|' if _bits == 8 else '<'}i{_bits // 8}")
    _TYPES[f"uint{_bits}"] = (1, _bits, f"{'|' if _bits == 8 else '<'}u{_bits // 8}")
_ALIASES = {"bool_": "bool", "half": "float16", "double": "float64"}
_ALIASES.update({v[2][1:]: k for k, v in _TYPES.items() if k != "bfloat16"})


_ORDERS = "<>" if sys.byteorder == "little" else "><"  # the machine's, and the other one
_SWAPPED = ("is in the other byte order, which no GPU reads: pass a copy in the machine's, "
            "tensor.astype(tensor.dtype.newbyteorder('='))")


def type_of(dtype: DType) -> Tuple[int, int, str]:
    """(code, bits, typestr) of a type's name, of NumPy's, PyTorch's, CuPy's or JAX's types."""
    if type(dtype) is str and dtype in _TYPES:
        return _TYPES[dtype]
    name: Any = dtype if isinstance(dtype, str) else getattr(dtype, "name", None) or getattr(dtype, "__name__", None)
    name = (name or str(dtype)).split(".")[-1].lstrip(f"{_ORDERS[False]}|=")
    name = _ALIASES.get(name, name)
    order = getattr(dtype, "byteorder", name)  # NumPy's types have it
    if isinstance(order, str) and order.startswith(_ORDERS[True]):
        raise TypeError(f"{dtype!r} {_SWAPPED}")
    if name == "float":
        raise TypeError("float has 64 bits in NumPy and 32 in PyTorch: say 'float32' or 'float64'")
    if name not in _TYPES:
        raise TypeError(f"{dtype!r} is no type of an element; Culvert knows {', '.join(_TYPES)}")
    return _TYPES[name]


_deleter_t = ctypes.CFUNCTYPE(None, c_void_p)
_python = ctypes.pythonapi
_python.PyCapsule_New.restype = py_object
_python.PyCapsule_New.argtypes = [c_void_p, c_char_p, c_void_p]
_python.PyCapsule_IsValid.argtypes = [c_void_p, c_char_p]
_python.PyCapsule_GetPointer.restype = c_void_p
_python.PyCapsule_GetPointer.argtypes = [c_void_p, c_char_p]
_VERSIONED, _OLD = b"dltensor_versioned", b"dltensor"  # capsules keep these pointers, not the text
_LEGACY, _HOST = (int(d.culv_dlpack_stream.CULV_DLPACK_STREAM_LEGACY), int(d.culv_dlpack_stream.CULV_DLPACK_STREAM_HOST))
_CUDA = int(d.culv_dl_device_type.CULV_DL_DEVICE_CUDA)
_OF_THE_HOST = (int(d.culv_dl_device_type.CULV_DL_DEVICE_CPU), int(d.culv_dl_device_type.CULV_DL_DEVICE_CUDA_HOST))

# culv_dl_managed_tensor_versioned: a few structs in a row, which ctypes would read field by field, a microsecond together.
_MANAGED = struct.Struct("@IIPPQPiiiBBHPPQ")
assert _MANAGED.size == ctypes.sizeof(d.culv_dl_managed_tensor_versioned)
_deleters: Dict[int, Callable[[int], Any]] = {}  # there are as many as there are functions in the library


def _deleter_of(deleter: Optional[int]) -> Callable[[Any], Any]:
    if not deleter:
        return bool
    call = _deleters.get(deleter)
    if call is None:
        call = _deleters[deleter] = _deleter_t(deleter)
    return call


def _delete_at(out: c_void_p, versioned: bool, once: List[Any]) -> None:
    """The export whose address it has. Of several threads the one that takes the one thing out of `once` does it."""
    managed = out.value
    if managed and once:
        kind: Any = d.culv_dl_managed_tensor_versioned if versioned else d.culv_dl_managed_tensor
        with contextlib.suppress(IndexError):
            at_once(once.pop, partial(_deleter_of(kind.from_address(managed).deleter), managed))


class _Export:
    """A culv_dl_managed_tensor_versioned, or the older struct, whose address C writes into `out`. It goes with this object,
    whatever exception comes."""
    __slots__ = ("out", "once", "_end", "_key", "__weakref__")

    def __init__(self, versioned: bool = True):
        self._key = 0
        self.out = c_void_p()
        self.once = [self.out]  # empty: somebody else has it
        self._end = partial(_delete_at, self.out, versioned, self.once)
        bury()
        key = last_of(self, [], [])
        _lasts[key].pinned = self._end
        self._key = key

    def close(self) -> None:
        self._end()
        drop(self._key)

    def __del__(self) -> None:
        if getattr(self, "_key", 0) and not sys.is_finalizing():
            self.close()


def _int64s(at: int, count: int) -> Tuple[int, ...]:
    return struct.unpack(f"={count}q", string_at(at, 8 * count)) if count else ()


# Capsules that nobody has taken over yet. A destructor of Python's would be called while the consumer's exception is
# set, and ctypes would lose that; so capsules that their consumers refused are found later, at the latest in the next
# garbage collection.
_offered: List[Any] = []


def _references() -> int:
    """What getrefcount() says of something that only a list has: it differs between versions of Python."""
    probe = [object()]
    return sys.getrefcount(probe[0])


_ALONE = _references()


def _sweep(*_ignored: Any) -> None:
    for _ in range(len(_offered)):
        mine: List[Any] = []
        try:
            mine.extend(map(_offered.pop, (-1,)))
            for name in (_VERSIONED, _OLD):
                if _python.PyCapsule_IsValid(id(mine[0]), name):
                    if sys.getrefcount(mine[0]) == _ALONE:  # else somebody may still take it
                        _delete_at(c_void_p(_python.PyCapsule_GetPointer(id(mine[0]), name)), name is _VERSIONED, mine)
                    break
            else:
                mine.clear()
        except IndexError:  # another thread's sweep
            return
        finally:
            _offered[:0] = mine


gc.callbacks.append(lambda phase, info: _sweep() if phase == "stop" else None)


_NAMES = {typestr: name for name, (_, _, typestr) in _TYPES.items()}


_FOR_GPUS = ("this memory is the GPU's, which NumPy does not reach: make an array by torch.from_dlpack(), cupy.from_dlpack() or "
             "jax.dlpack.from_dlpack(), or copy it to the host")


class Tensor(Single):
    """Shared memory with a shape and a type. It copies nothing. numpy.from_dlpack(), torch.from_dlpack(),
    cupy.from_dlpack() and jax.dlpack.from_dlpack() take it, and what they make keeps the memory alive: the buffer,
    its device and this object may go first.

    `stream` is the producer's: who takes the tensor is ordered after what was submitted to it so far."""

    def __init__(self, source: "TensorSource", dtype: DType = "uint8", shape: Optional[Shape] = None,
                 strides: Optional[Sequence[int]] = None, offset: int = 0, read_only: bool = False,
                 stream: StreamLike = None, device_type: int = 0):
        code, bits, self.typestr = type_of(dtype)
        if not (shape is None or type(shape) is tuple or type(shape) is list):
            there: Any = shape
            try:
                shape = (operator.index(there),)
            except TypeError:
                shape = tuple(there)
        if offset < 0:
            raise ValueError(f"offset={offset} is negative")
        if shape is not None and -1 in shape:
            rest = math.prod(n for n in shape if n != -1)
            whole = (source.size - offset) // (bits // 8)
            if list(shape).count(-1) > 1:
                raise ValueError("only one number of the shape may be -1")
            if rest <= 0 or whole % rest != 0:
                raise ValueError(f"the memory has {whole} elements from offset {offset} on, which is no multiple of the "
                                 f"{rest} that the rest of the shape {tuple(shape)} has")
            shape = [whole // rest if n == -1 else n for n in shape]
        self._source = source
        self._pin: Optional[_Export] = None
        self.stream = stream
        self.ndim: int
        self.shape: Tuple[int, ...]
        self.strides: Tuple[int, ...]
        self.pointer: int
        self._device: Tuple[int, int]
        self._desc: d.culv_dlpack_desc
        key = (code, bits, None if shape is None else tuple(shape), None if strides is None else tuple(strides), offset, read_only,
               device_type)
        known = source._described
        there = None if known is None else known.get(key)
        if there is None:
            self._describe(*key)
            there = self._desc, self._look()
            if known is not None and len(known) < 64:
                known[key] = there
        else:
            source._need()
        self._desc, (self.ndim, self.shape, self.strides, self.pointer, self._device) = there

    def _describe(self, code: int, bits: int, shape: Optional[Tuple[int, ...]], strides: Optional[Tuple[int, ...]],
                  offset: int, read_only: bool, device_type: int) -> None:
        self._desc = describe(d.culv_dlpack_desc, offset=offset, read_only=int(read_only), device_type=device_type)
        self._desc.type = d.culv_dl_type(code, bits, 1)
        if shape is not None:
            self._set_shape(shape, strides)

    def _look(self) -> Tuple[int, Tuple[int, ...], Tuple[int, ...], int, Tuple[int, int]]:
        """What an export says of itself. It refuses what is wrong now, not at the consumer."""
        made = _Export()
        self._export(made.out)
        _, _, _, _, _, data, kind, number, ndim, _, _, _, shape, strides, _ = _MANAGED.unpack(
            string_at(made.out.value or 0, _MANAGED.size))
        seen = ndim, _int64s(shape, ndim), _int64s(strides, ndim), data, (kind, number)
        made.close()
        return seen

    def _set_shape(self, shape: Sequence[int], strides: Optional[Sequence[int]]) -> None:
        if strides is not None and len(strides) != len(shape):
            raise ValueError(f"{len(shape)} dimensions and {len(strides)} strides")
        for n in (*shape, *(strides or ())):
            if not -2**63 <= operator.index(n) < 2**63:
                raise ValueError(f"{n} in the shape {tuple(shape)} or its strides has more than 64 bits")
        array = ctypes.c_int64 * max(len(shape), 1)
        kept = [array(*numbers) for numbers in (shape, strides) if numbers is not None]
        self._desc.kept += kept
        self._desc.ndim = len(shape)
        self._desc.shape = ctypes.addressof(kept[0])
        if strides is not None:
            self._desc.strides = ctypes.addressof(kept[1])

    @property
    def dtype(self) -> str:
        """The type of an element by its name: "float32"."""
        return _NAMES[self.typestr]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.typestr[2:])

    @property
    def nbytes(self) -> int:
        """Bytes of all elements together, without what strides leave out."""
        return math.prod(self.shape) * self.itemsize

    def __len__(self) -> int:
        """The first number of the shape."""
        if not self.shape:
            raise TypeError("a tensor without dimensions has no len()")
        return self.shape[0]

    def __getitem__(self, *which: Any) -> NoReturn:
        raise TypeError("elements are an array library's: numpy.asarray(tensor)[...] on the twin, torch.from_dlpack(tensor) on a GPU")
    __setitem__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = __getitem__

    @property
    def address(self) -> int:
        """The VkDeviceAddress of the first element, or 0: for kernels in command buffers."""
        there: int = getattr(self._source, "address", 0)
        return there + self.pointer - self._source.pointer if there else 0

    @property
    def read_only(self) -> bool:
        return bool(self._desc.read_only)

    def _export(self, out: c_void_p) -> None:
        """Writes a culv_dl_managed_tensor_versioned's address there. Its owner is who has `out`, whatever exception comes."""
        self._source._get_dlpack(byref(self._desc), byref(out))

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._device

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        if dl_device is not None and tuple(dl_device) != tuple(self._device):
            raise BufferError(f"the memory is on device {self._device} and Culvert does not copy it to {dl_device}")
        if copy:
            raise BufferError("Culvert's tensors are never copies")
        if stream is None:
            stream = _HOST if self._device[0] in _OF_THE_HOST else _LEGACY
        elif stream != -1:
            stream = stream_handle(stream)
        versioned = max_version is not None and max_version[0] >= 1
        if self._desc.read_only and not versioned:
            raise BufferError("the tensor is read-only, which this consumer's DLPack cannot say")
        if len(_offered) > 32:
            _sweep()
        mine, name = _Export(), _VERSIONED
        capsules: List[Any] = []
        try:
            self._export(mine.out)
            api.culv_dlpack_hand_over(self._source._device_of(), stream_handle(self.stream), stream)
            if not versioned:
                new, mine, name = mine, _Export(False), _OLD
                self._source._to_unversioned(new.out, mine.out)
                new.close()
            at_once(partial(capsules.extend, map(_python.PyCapsule_New, (mine.out,), (name,), (None,))),
                    partial(_offered.extend, capsules), mine.once.clear)
            return capsules[0]
        finally:
            mine.close()

    def _interface(self) -> Dict[str, Any]:
        # Who takes an address keeps this object, and this object keeps the memory.
        if self._pin is None:
            pin = _Export()
            self._export(pin.out)
            self._pin = pin
        size = self.itemsize
        return {"shape": self.shape, "typestr": self.typestr, "data": (self.pointer, self.read_only),
                "strides": tuple(s * size for s in self.strides), "version": 3}

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        """For CuPy, Numba and torch.as_tensor(), which keep this object, and it keeps the memory."""
        if self._device[0] != _CUDA:
            raise AttributeError("this memory is the host's")
        return dict(self._interface(), stream=stream_handle(self.stream) or 1)

    @property
    def __array_interface__(self) -> Dict[str, Any]:
        """For numpy.asarray(), where the memory is the host's. NumPy 1's from_dlpack() gives arrays that cannot be
        written; those of asarray() can."""
        if self._device[0] == _CUDA:
            raise AttributeError(_FOR_GPUS)
        return self._interface()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        """NumPy asks this where there is no __array_interface__, and would make an array of one object without it."""
        raise TypeError(_FOR_GPUS)

    def __repr__(self) -> str:
        source = self._source
        return told(self, False, [f"{self.dtype} {self.shape}", f"{self.nbytes} bytes", f"pointer {self.pointer:#x}",
                                  *(["read-only"] if self.read_only else []),
                                  f"of a {type(source).__name__} that is {'closed' if source.closed else 'open'}"], "mapped")


class TensorSource:
    """What has Culvert's memory."""

    # Descriptors of its tensors, into which nobody writes, and what their exports said; None where that changes.
    _described: Optional[Dict[Tuple[Any, ...], Any]] = None

    if TYPE_CHECKING:  # what has memory has these
        @property
        def pointer(self) -> int: ...

        @property
        def size(self) -> int: ...

        def _need(self) -> Any: ...

        def _device_of(self) -> Any: ...

        def _get_dlpack(self, desc: Any, out: Any) -> None: ...

    def __getitem__(self, *which: Any) -> NoReturn:
        raise TypeError("memory has no elements: take a tensor() of it, and an array library's view of that")
    __setitem__ = __getitem__

    def _to_unversioned(self, mine: c_void_p, old: c_void_p) -> None:
        api.culv_dlpack_to_unversioned(byref(mine), byref(old))

    @property
    def closed(self) -> bool:
        return False

    @property
    def nbytes(self) -> int:
        """The same as size, by NumPy's name."""
        return self.size

    def tensor(self, dtype: DType = "uint8", shape: Optional[Shape] = None, *,
               strides: Optional[Sequence[int]] = None, offset: int = 0, read_only: bool = False,
               stream: StreamLike = None, device_type: int = 0) -> Tensor:
        """The memory, or a part of it, as a tensor. One number of the shape may be -1. `strides` are in elements,
        `offset` is in bytes, and `stream` is the producer's."""
        return Tensor(self, dtype, shape, strides, offset, read_only, stream, device_type)

    def __dlpack__(self, *, stream: Any = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        return self.tensor().__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self.tensor().__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        """numpy.asarray() of the object itself: its bytes, where they are the host's."""
        import numpy
        made = numpy.asarray(self.tensor())
        return made if dtype is None else made.astype(dtype, copy=False)


HOSTS = "It lies in the host's own memory, which Vulkan does not have"
COPY = "copy it into shared memory, shared = gpu.vk.buffer(bytes).tensor(dtype, shape), numpy.asarray(shared)[...] = it, and pass shared"


def is_hosts(tensor: Any) -> bool:
    """An array of NumPy's own, or a tensor of PyTorch's on the CPU."""
    device = getattr(tensor, "device", None)
    return getattr(device, "type", None) == "cpu" if hasattr(tensor, "data_ptr") else \
        hasattr(tensor, "__array_interface__") and not hasattr(tensor, "__cuda_array_interface__")


def bytes_of(typestr: str) -> int:
    """Of an element."""
    if not typestr[2:].isdigit():
        raise TypeError(f"elements of type {typestr!r} are no numbers")
    return int(typestr[2:])


class Seen(NamedTuple):
    """How a tensor of anybody's lies. Everything that takes one looks at it by look(), and says by require() what it needs."""
    what: str  # its kind, for messages
    pointer: int  # the first element
    typestr: str
    size: int  # bytes of an element
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  # bytes
    read_only: bool = False
    on_host: bool = False
    stream: Optional[int] = None  # of the interface
    kept: Any = None  # a capsule
    copied: bool = False  # `kept` is a copy, because the tensor has no memory of its own

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.size

    @property
    def span(self) -> Tuple[int, int]:
        """(the lowest address, bytes up to the highest one)"""
        if 0 in self.shape:
            raise ValueError("the tensor has no elements")
        spans = [(n - 1) * s for n, s in zip(self.shape, self.strides)]
        low, high = sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
        return self.pointer + low, high - low + self.size

    @property
    def swapped(self) -> bool:
        return self.size > 1 and self.typestr[0] == _ORDERS[True]

    @property
    def contiguous(self) -> bool:
        follow = _packed(self.shape, self.size)
        return all(n == 1 or s == f for n, s, f in zip(self.shape, self.strides, follow)) or 0 in self.shape

    def require(self, *, contiguous: bool = False, writable: bool = False, memory: bool = True) -> "Seen":
        """`contiguous`: its elements lie one behind the other; otherwise the first one is at the lowest address at least.
        `writable`: somebody will write it. `memory`: it has memory of its own."""
        tensor = f"the tensor {self.shape}"
        if self.copied and memory:
            raise TypeError(f"a {self.what} gives a copy of its bytes and has no memory to share: pass numpy.asarray() of it")
        if self.swapped:
            raise TypeError(f"{tensor} of {self.typestr} {_SWAPPED}")
        if contiguous and not self.contiguous:
            raise ValueError(f"{tensor} with strides of {self.strides} bytes has gaps or another order of its elements: pass a "
                             "contiguous one, numpy.ascontiguousarray(tensor) or tensor.contiguous(), in memory of both sides")
        if any(s < 0 and n > 1 for n, s in zip(self.shape, self.strides)):
            raise ValueError(f"{tensor} with strides of {self.strides} bytes runs backwards, and its first element is not where its "
                             "memory begins: pass it as it lies there, or a contiguous copy")
        if writable and self.read_only:
            raise ValueError(f"{tensor} is read-only, and it would be written: pass one that may be, or declare the shader's buffer "
                             "readonly")
        return self


def _packed(shape: Sequence[int], size: int) -> Tuple[int, ...]:
    return tuple(size * math.prod(shape[i + 1:]) for i in range(len(shape)))


def look(tensor: Any, stream: Optional[int] = None) -> Seen:
    """By PyTorch's calls, __cuda_array_interface__, __array_interface__ or DLPack. `stream` is who will read it, and DLPack's
    producer makes that wait."""
    kind = type(tensor).__name__
    if isinstance(tensor, TensorSource):
        tensor = tensor.tensor()
    if isinstance(tensor, Tensor):
        if not tensor._pin:
            _ = tensor._source.pointer  # its source must be open
        size = tensor.itemsize
        return Seen(kind, tensor.pointer, tensor.typestr, size, tensor.shape, tuple(s * size for s in tensor.strides), tensor.read_only,
                    tensor._device[0] in _OF_THE_HOST, stream_handle(tensor.stream) or _LEGACY)
    if hasattr(tensor, "data_ptr"):  # PyTorch, which has no interface for tensors that want a gradient
        size = tensor.element_size()
        for lazy, way in (("is_conj", "resolve_conj"), ("is_neg", "resolve_neg")):
            if getattr(tensor, lazy, bool)():
                raise ValueError(f"the tensor's elements are not what its memory has: pass tensor.{way}()")
        try:
            typestr = type_of(tensor.dtype)[2]
        except TypeError:
            typestr = f"|V{size}"
        return Seen(kind, tensor.data_ptr(), typestr, size, tuple(tensor.shape), tuple(n * size for n in tensor.stride()),
                    on_host=is_hosts(tensor))
    there = getattr(tensor, "__cuda_array_interface__", None) or getattr(tensor, "__array_interface__", None)
    if there is not None:
        return _of_interface(kind, tensor, there)
    if not hasattr(tensor, "__dlpack__"):
        raise TypeError(f"{kind} is no tensor: it has neither __dlpack__, __cuda_array_interface__ nor data_ptr(); make it an array")
    reads = stream is not None and tensor.__dlpack_device__()[0] not in _OF_THE_HOST
    number = (stream or _LEGACY) if reads else -1
    try:
        capsule = tensor.__dlpack__(stream=number, max_version=(1, 0))  # which says of itself that it is read-only
    except TypeError:
        capsule = tensor.__dlpack__(stream=number)
    kinds: List[Tuple[bytes, Any]] = [(_OLD, d.culv_dl_managed_tensor), (_VERSIONED, d.culv_dl_managed_tensor_versioned)]
    for name, struct_ in kinds:
        if _python.PyCapsule_IsValid(id(capsule), name):
            managed: Any = struct_.from_address(_python.PyCapsule_GetPointer(id(capsule), name))
            t = managed.dl_tensor
            size = t.dtype.bits * t.dtype.lanes // 8
            shape = _int64s(t.shape, t.ndim)
            strides = tuple(n * size for n in _int64s(t.strides, t.ndim)) if t.strides else _packed(shape, size)
            typestr = next((s for code, bits, s in _TYPES.values() if (int(code), bits, 1) == (t.dtype.code, t.dtype.bits, t.dtype.lanes)),
                           f"|V{size}")
            return Seen(kind, (t.data or 0) + t.byte_offset, typestr, size, shape, strides, bool(getattr(managed, "flags", 0) & 1),
                        t.device.device_type in _OF_THE_HOST, kept=(tensor, capsule))
    raise TypeError(f"{kind}.__dlpack__() gave no tensor")


def _of_interface(kind: str, tensor: Any, there: Dict[str, Any]) -> Seen:
    typestr, shape, data = there["typestr"], tuple(there["shape"]), there.get("data")
    size = bytes_of(typestr)
    if typestr[1:] == "V2" and any(name for name, *_ in there.get("descr", ())):
        raise TypeError(f"elements of several fields {there['descr']} are no numbers")
    if there.get("mask") is not None:
        raise ValueError("the tensor has a mask, which is not looked at: pass one without")
    strides = there.get("strides")
    strides = _packed(shape, size) if strides is None else tuple(strides)
    on_host = not hasattr(tensor, "__cuda_array_interface__")
    stream = None if on_host else there.get("stream")
    if isinstance(data, tuple):
        return Seen(kind, data[0] or 0, typestr, size, shape, strides, bool(data[1]), on_host, stream)
    raw = memoryview(tensor if data is None else data).tobytes()  # as PIL gives it
    seen = Seen(kind, there.get("offset", 0), typestr, size, shape, strides, True, True, None, None, True)
    if 0 not in shape and (seen.span[0] < 0 or sum(seen.span) > len(raw)):
        raise ValueError(f"the tensor {shape} needs {sum(seen.span)} bytes, and its interface gives {len(raw)}")
    kept = ctypes.create_string_buffer(raw, len(raw) or 1)
    return seen._replace(pointer=ctypes.addressof(kept) + seen.pointer, kept=kept)


def tensor_range(tensor: TensorLike) -> Tuple[int, int]:
    """(address, bytes) of a tensor of anybody's, by __cuda_array_interface__ (NumPy's on the software twin), data_ptr() or DLPack."""
    seen = look(tensor)
    if seen.copied:
        seen.require()
    return seen.span


class Source:
    """Somebody's tensor, which is to be copied: its address, shape and type. `stream` is who will read it, and
    `self.stream` whom that one has to wait for: None if nobody."""

    def __init__(self, tensor: Any, stream: Optional[int] = None):
        if isinstance(tensor, TensorSource):
            tensor = tensor.tensor()
        seen = look(tensor, stream).require(contiguous=True, memory=False)
        self.address, self.shape, self.dtype, self.size = seen.pointer, seen.shape, seen.typestr, seen.nbytes
        if self.size == 0:
            raise ValueError("the tensor has no elements")
        self.on_host, self.kept = seen.on_host, (tensor, seen.kept)
        self.stream: Optional[int] = None if seen.on_host else seen.stream
        if hasattr(tensor, "data_ptr") and not seen.on_host:
            self.stream = sys.modules["torch"].cuda.current_stream(tensor.device).cuda_stream or _LEGACY
