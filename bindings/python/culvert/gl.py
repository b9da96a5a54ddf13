# SPDX-License-Identifier: MIT
"""OpenGL, in the context that is current on this thread, whoever made it: moderngl, PyOpenGL, pyglet, GLFW, Qt, SDL2.

    with culvert.gl.attach() as gl:
        vbo = gl.buffer(points)                      # a GL buffer with the bytes of a tensor; gl.share(points): its own memory
        with vbo.cuda() as turn:                     # CUDA's turn, on the current stream of PyTorch or CuPy
            torch.from_dlpack(turn.tensor())[:] += 1
        glBindBuffer(GL_ARRAY_BUFFER, vbo.name)      # OpenGL's later commands wait for it

There are three ways, and the best one that works is taken: "memory" (memory objects: nothing is copied), "register"
(cuGraphicsGLRegisterBuffer: nothing is copied) and "staged" (copies through the host), which attach(copies=True) allows."""
import atexit
import contextlib
import ctypes
import math
import numbers
import os
import sys
import warnings
import weakref
from ctypes import byref, c_int, c_int64, c_size_t, c_uint64, c_void_p
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, NamedTuple, NoReturn, Optional, Sequence, Tuple, TypeVar,
                    Union)

from . import _declarations as d
from ._lib import (Closing, Error, InvalidError, Left, Making, NoDeviceError, Once, Owned, Single, UnsupportedError, Pointer, _make, _own_error, api, describe, destroy, driver_of, handle, making, process,
                   stream_handle, told)
from ._objects import NO_SLOT, Device, Ring, VulkanDevice, _host_follows, _wait_for_stream
from ._struct import Structure
from ._tensor import _LEGACY, Source, Tensor, TensorSource, look, type_of
from ._turns import SECOND, cuda_waits, settle_cuda
from ._types import DType, Shape, StreamLike, TensorLike
from .vulkan import give_up_waits

GL_TEXTURE_2D = 0x0de1
_ACCESS = {"read_write": 0, "read_only": 1, "write_discard": 2}
_SIDES = {"cuda": d.culv_ring_side.CULV_RING_CONSUMER, "opengl": d.culv_ring_side.CULV_RING_PRODUCER}
_LIBRARIES = (("libEGL.so.1", "eglGetCurrentContext", "eglGetProcAddress"),
              ("libGL.so.1", "glXGetCurrentContext", "glXGetProcAddressARB"),
              ("libGLX.so.0", "glXGetCurrentContext", "glXGetProcAddressARB"))
# Sized internal formats by an element's type, for 1, 2 and 4 channels.
_FORMATS = {"uint8": (0x8229, 0x822b, 0x8058), "uint16": (0x822a, 0x822c, 0x805b), "float16": (0x822d, 0x822f, 0x881a),
            "float32": (0x822e, 0x8230, 0x8814), "int8": (0x8231, 0x8237, 0x8d8e), "int16": (0x8233, 0x8239, 0x8d88),
            "int32": (0x8235, 0x823b, 0x8d82), "uint32": (0x8236, 0x823c, 0x8d70)}
_CHANNELS = (1, 2, 4)
_TEXELS = {number: channels * (type_of(name)[1] // 8) for name, numbers in _FORMATS.items()
           for channels, number in zip(_CHANNELS, numbers)}
_TEXELS.update({0x8232: 1, 0x8238: 2, 0x8d7c: 4, 0x8234: 2, 0x823a: 4, 0x8d76: 8, 0x8c43: 4})  # ..UI, SRGB8_ALPHA8


class WayWarning(UserWarning):
    """The best way is not available. The text says why, and what to do."""


def function(name: str, result: Any = None, *parameters: Any) -> Callable[..., Any]:
    """A function of OpenGL by its name, for the context that is current: function("glFinish")()."""
    for library, current, proc in _LIBRARIES:
        try:
            there = ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
            asked, find = getattr(there, current), getattr(there, proc)
        except (OSError, AttributeError):
            continue
        asked.restype, find.restype, find.argtypes = c_void_p, c_void_p, [ctypes.c_char_p]
        if asked():
            address = find(name.encode())
            if not address:
                raise AttributeError(f"OpenGL has no {name} here")
            return ctypes.CFUNCTYPE(result, *parameters)(address)
    raise RuntimeError(f"{name}: no context of EGL or GLX is current on this thread")


def _depth_of_caller() -> int:
    """The stacklevel of the program's line that called this module."""
    frame, depth = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        frame, depth = frame.f_back, depth + 1
    return depth


def _way(way: Optional[str]) -> int:
    if way is None:
        return 0
    try:
        return int(d.culv_gl_way["CULV_GL_WAY_" + way.upper()])
    except KeyError:
        raise ValueError(f"there is no way {way!r}; there are 'memory', 'register' and 'staged'") from None


def _side(writer: str) -> d.culv_ring_side:
    if writer not in _SIDES:
        raise ValueError(f"writer={writer!r}: 'cuda' or 'opengl' writes, and the other one reads")
    return _SIDES[writer]


class Report:
    """What culv_gl_check_context() found. str() is its text: what the context is, which ways work, why the others do not, and
    what to do. Other fields are those of culv_gl_report."""

    def __init__(self, found: "d.culv_gl_report"):
        self._found = found

    @property
    def way(self) -> str:
        """The best way: "memory", "register", "staged" or "none"."""
        return api.culv_gl_way_name(self._found.way).decode().lower()

    @property
    def text(self) -> str:
        return self._found.text.decode(errors="replace")

    if TYPE_CHECKING:  # a checker has these, and refuses other names
        platform: int
        is_software: int
        vendor: str
        renderer: str
        version: str
        has_uuid: int
        uuid: d.culv_uuid
        driver_uuid: d.culv_uuid
        num_gpus: int
        cuda_ordinal: int
        cuda_name: str
        devices_all: int
        devices_current_frame: int
        devices_next_frame: int
        has_direct_state_access: int
        has_memory_object: int
        has_semaphore: int
        has_timeline_semaphore: int
        memory_reason: str
        register_reason: str
    else:
        def __getattr__(self, name: str) -> Any:
            value = getattr(self._found, name)
            if name.endswith("_reason"):
                return d.culv_reason(value).name[len("CULV_REASON_"):]
            return value.decode(errors="replace") if isinstance(value, bytes) else value

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<culvert.gl.Report {self.way}, {self.renderer!r}>"


def check(device: Optional[Device] = None) -> Report:
    """Examines the context that is current on this thread, and makes nothing. It is no error that nothing works."""
    process.check("gl.check")
    found = describe(d.culv_gl_report)
    api.culv_gl_check_context(None, None if device is None else device._need(), byref(found))
    return Report(found)


def _closes(thing: Any) -> bool:
    """Closes what nobody has any more. False: it goes later, where its context is current again, and no stream waits in
    vain."""
    try:
        if cuda_waits():
            return False
        thing.close()
        return True
    except InvalidError as e:
        if e.reason != "CONTEXT":
            raise
        return False


class _InContext(Owned):
    """What goes on a thread where a context of the attachment is current, and nowhere else."""

    def __init__(self, gl: "Attachment", made: Making):
        self.gl = gl
        super().__init__(gl, made)

    def __del__(self) -> None:
        if not self._as_parameter_ or self._gate.is_shut or process.forked or sys.is_finalizing():
            return
        if not _closes(self):
            self._give_up()

    def _to(self) -> List[Left]:
        return self.gl._later


class _Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D."""
    _fields_ = [("src_x", c_size_t), ("src_y", c_size_t), ("src_type", c_int), ("src_host", c_void_p),
                ("src_device", c_uint64), ("src_array", c_void_p), ("src_pitch", c_size_t), ("dst_x", c_size_t),
                ("dst_y", c_size_t), ("dst_type", c_int), ("dst_host", c_void_p), ("dst_device", c_uint64),
                ("dst_array", c_void_p), ("dst_pitch", c_size_t), ("width", c_size_t), ("height", c_size_t)]


_exported: Dict[int, Any] = {}  # what consumers of registered memory's tensors have not given back


def _forget_one(managed: int, exported: Dict[int, Any] = _exported) -> None:
    exported.pop(managed, None)


_forget = ctypes.CFUNCTYPE(None, c_void_p)(_forget_one)

ctypes.pythonapi.Py_IncRef(ctypes.py_object(_forget))  # a consumer's tensor may go after this module


def _describe_mapped(pointer: int, size: int, on_host: bool, ordinal: int, desc: "d.culv_dlpack_desc") -> int:
    """A managed tensor of memory that is the driver's and lasts until the unmap: nothing keeps it alive."""
    item = desc.type.bits // 8
    if desc.shape:
        shape = list((c_int64 * desc.ndim).from_address(desc.shape))
        if desc.strides:
            strides = list((c_int64 * desc.ndim).from_address(desc.strides))
        else:
            strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    else:
        shape, strides = [(size - desc.offset) // item], [1]
    spans = [(n - 1) * s * item for n, s in zip(shape, strides)]
    low, high = desc.offset + sum(s for s in spans if s < 0), desc.offset + sum(s for s in spans if s > 0) + item
    if 0 not in shape and (low < 0 or high > size):
        raise ValueError(f"the tensor {tuple(shape)} at offset {desc.offset} needs {high} bytes; the buffer has {size}")
    layout = (c_int64 * max(2 * len(shape), 1))(*shape, *strides)
    made = d.culv_dl_managed_tensor_versioned(deleter=ctypes.cast(_forget, c_void_p).value, flags=int(desc.read_only))
    made.version.major = 1
    t = made.dl_tensor
    t.data, t.byte_offset = pointer + desc.offset, 0
    t.device.device_type = int(d.culv_dl_device_type.CULV_DL_DEVICE_CPU if on_host else
                               d.culv_dl_device_type.CULV_DL_DEVICE_CUDA)
    t.device.device_id = 0 if on_host else ordinal
    t.ndim, t.dtype = len(shape), desc.type
    t.shape = ctypes.addressof(layout)
    t.strides = ctypes.addressof(layout) + 8 * len(shape)
    address = ctypes.addressof(made)
    _exported[address] = made, layout
    return address


class _Slot(Single, TensorSource):
    """A buffer that CUDA has now."""

    def __init__(self, turn: "Turn", resource: int):
        self._turn, self._resource = turn, resource

    def _need(self) -> Pointer:
        buffer = self._turn._owner_buffer(self._resource)
        if not buffer:
            raise IndexError(f"there is no buffer {self._resource} here")
        return buffer

    def _device_of(self) -> Any:
        return self._turn.device._need()

    @property
    def pointer(self) -> int:
        return api.culv_buffer_pointer(self._need())

    @property
    def size(self) -> int:
        return api.culv_buffer_size(self._need())

    def _get_dlpack(self, desc: Any, out: Any) -> None:
        if self._turn.registered:
            out._obj.value = _describe_mapped(self.pointer, self.size, self._turn.device.is_software,
                                              self._turn.device.caps.ordinal, desc._obj)
        else:
            api.culv_buffer_get_dlpack(self._need(), desc, out)

    def _to_unversioned(self, mine: c_void_p, old: c_void_p) -> None:
        if not self._turn.registered:
            return super()._to_unversioned(mine, old)
        made, layout = _exported.pop(mine.value or 0)
        made_old = d.culv_dl_managed_tensor(dl_tensor=made.dl_tensor, deleter=made.deleter)
        _exported[ctypes.addressof(made_old)] = made_old, layout
        mine.value, old.value = None, ctypes.addressof(made_old)


class Turn(Single):
    """What CUDA has between the beginning and the end of a `with` block. What is OpenGL's again afterwards must not be
    touched then: a tensor that was made here is not kept over the block's end."""

    def __init__(self, owner: "Union[GLRing, Registration]", stream: int, frame: Optional[d.culv_ring_frame] = None):
        self._owner, self.stream, self.frame = owner, stream, frame
        self.device: Device = owner.gl.device
        self.registered = isinstance(owner, Registration) or owner.way == "register"
        self._over = False

    def _check(self) -> None:
        if self._over:
            raise ValueError("this turn of CUDA's is over, and the object is OpenGL's; use it inside the block of cuda()")

    def _owner_buffer(self, resource: int) -> Pointer:
        self._check()
        return self._owner._cuda_buffer(self.slot, resource)

    @property
    def slot(self) -> int:
        return self.frame.slot if self.frame is not None else 0

    @property
    def number(self) -> int:
        """Of a ring's frame."""
        return self.frame.number if self.frame is not None else 0

    def buffer(self, resource: int = 0) -> _Slot:
        self._check()
        return _Slot(self, resource)

    @property
    def pointer(self) -> int:
        """The device pointer of the (first) buffer."""
        return self.buffer().pointer

    def tensor(self, dtype: Optional[DType] = None, shape: Optional[Shape] = None, resource: int = 0, *,
               strides: Optional[Sequence[int]] = None, offset: int = 0, read_only: bool = False,
               stream: StreamLike = None) -> Tensor:
        """The buffer as a tensor; of the type and shape that it was made with, if none is said."""
        if dtype is None and shape is None:
            dtype, shape = self._owner.dtype, self._owner.shape
        return self.buffer(resource).tensor(dtype or "uint8", shape, strides=strides, offset=offset, read_only=read_only,
                                            stream=self.stream if stream is None else stream)

    def _image(self, resource: int) -> Pointer:
        self._check()
        image = self._owner._cuda_image(self.slot, resource)
        if not image:
            raise IndexError(f"there is no texture {resource} here")
        return image

    def array(self, level: int = 0, resource: int = 0) -> int:
        """The CUarray of a level of a texture."""
        return _make("culv_image_get_array", self._image(resource), level, 0)

    def surface(self, level: int = 0, resource: int = 0) -> int:
        """The surface object of a level of a texture, for kernels."""
        out = c_uint64()
        api.culv_image_get_surface(self._image(resource), level, 0, byref(out))
        return out.value

    def write(self, tensor: Union[TensorLike, TensorSource], resource: int = 0) -> None:
        """Copies a contiguous tensor, on the turn's stream, into the buffer or level 0 of the texture. The copy of a
        host's array is over when the call returns."""
        source = Source(tensor, self.stream)
        self._check()
        if source.stream is not None and source.stream != (self.stream or _LEGACY):
            api.culv_dlpack_hand_over(self.device._need(), source.stream, self.stream or _LEGACY)
        self.device.make_current()
        if self._owner._cuda_buffer(self.slot, resource):
            self._write_buffer(source, resource)
        else:
            self._write_texture(source, resource)
        if source.on_host:
            _wait_for_stream(self.device, self.stream, 10 * SECOND, lambda: "the copy has not ended in 10 s")

    def _write_buffer(self, source: Source, resource: int) -> None:
        there = self.buffer(resource)
        if source.size > there.size:
            raise ValueError(f"the tensor has {source.size} bytes and the buffer {there.size}")
        copy = self.device.cuda.cuMemcpyHtoDAsync if source.on_host else self.device.cuda.cuMemcpyDtoDAsync
        copy(there.pointer, source.address, source.size, self.stream)

    def _write_texture(self, source: Source, resource: int) -> None:
        width, height, texel = self._owner._extent(resource)
        row = width * texel
        if source.size != row * height or source.shape[:2] != (height, width):
            raise ValueError(f"the tensor is {source.shape} of {source.dtype}; the texture has {height} rows of {width} "
                             f"texels of {texel} bytes")
        self.device.cuda.cuMemcpy2DAsync(byref(_Copy2D(
            src_type=1 if source.on_host else 2, src_host=source.address if source.on_host else None,
            src_device=0 if source.on_host else source.address, src_pitch=row, dst_type=3,
            dst_array=self.array(0, resource), width=row, height=height)), self.stream)

    def __repr__(self) -> str:
        return f"<culvert.gl.Turn{' over' if self._over else ''} of {self._owner!r}>"


class Frame(Single):
    """OpenGL's turn with a slot of a ring."""

    def __init__(self, ring: "GLRing", frame: "d.culv_ring_frame"):
        self._ring, self.frame = ring, frame

    @property
    def number(self) -> int:
        return self.frame.number

    @property
    def slot(self) -> int:
        return self.frame.slot

    @property
    def name(self) -> int:
        """OpenGL's name of the slot's (first) buffer or texture."""
        return self.name_of(0)

    def name_of(self, resource: int) -> int:
        return api.culv_gl_ring_name(self._ring._need(), self.frame.slot, resource)


class Resource:
    """What each slot of a ring has. ring_buffer(), ring_texture() and ring_registrations() make it."""

    def __init__(self, extent: Tuple[int, int, int] = (0, 0, 0), kept: Any = None, **fields: Any):
        self.extent, self.kept = extent, kept
        self.fields = fields


def ring_buffer(size: int) -> Resource:
    """A buffer in each slot."""
    return Resource(buffer=describe(d.culv_gl_buffer_create_desc, size=size))


def ring_texture(internal_format: int, width: int, height: int = 1, *, target: Optional[int] = None, depth: Optional[int] = None,
                 array_layers: Optional[int] = None, mip_levels: Optional[int] = None, texels: Optional[int] = None,
                 no_surfaces: Optional[bool] = None, label: Optional[str] = None) -> Resource:
    """A texture in each slot (culv_gl_image_create_desc)."""
    return Resource((width, height, _TEXELS.get(internal_format, 0)),
                    image=describe(d.culv_gl_image_create_desc, internal_format=internal_format, width=width, height=height,
                                   target=target, depth=depth, array_layers=array_layers, mip_levels=mip_levels, texels=texels,
                                   no_surfaces=no_surfaces, label=label))


def ring_registrations(registrations: "Sequence[Registration]") -> Resource:
    """Registered objects of yours, one for each slot. They must outlive the ring."""
    array = (c_void_p * len(registrations))(*[r._need().value for r in registrations])
    return Resource(registrations[0]._extent(0), registrations, registrations=array)


class GLRing(_InContext):
    """Slots that CUDA and OpenGL use in turn. CUDA's side is `with ring.cuda(stream) as turn:`, OpenGL's is
    `with ring.frame() as frame:` or `for frame in ring.frames():`."""

    _destroy = "culv_ring_destroy"
    dtype: Optional[DType] = None
    shape: Optional[Shape] = None

    def __init__(self, gl: "Attachment", resources: Sequence[Resource], depth: int, writer: str, way: Optional[str], *,
                 settings: Optional[Structure] = None, label: Optional[str] = None):
        side = _side(writer)
        for resource in resources:
            if not isinstance(resource, Resource):
                raise TypeError(f"{resource!r} is nothing that a slot has: make it by gl.ring_buffer(), ring_texture() or "
                                "ring_registrations()")
        gl._sweep()
        fallback = d.culv_fallback.CULV_FALLBACK_HOST if gl.copies else 0
        kept: List[Any] = []
        array = (d.culv_gl_ring_resource * max(len(resources), 1))()
        for one, resource in zip(array, resources):
            for name, value in resource.fields.items():
                if hasattr(value, "fallback"):
                    value.fallback = int(fallback)
                kept.append(value)
                setattr(one, name, ctypes.addressof(value))
        made = describe(d.culv_gl_ring_desc, max_depth=depth, resources=array, num_resources=len(resources),
                        settings=settings, label=label)
        made.side, made.way = side, _way(way)
        super().__init__(gl, making("culv_gl_ring_create", gl._need(), made))
        self._resources = list(resources)
        self._depth = depth
        self._mine, self._cudas = side, 1 - side
        if way is None and self.refusals:
            warnings.warn(f"by {self.way.upper()}, because\n{self.refusals}{gl.report.text}", WayWarning,
                          stacklevel=_depth_of_caller())

    @property
    def way(self) -> str:
        """"memory", "register" or "staged"."""
        return (api.culv_gl_way_name(self._info().way) or b"").decode().lower()

    @property
    def refusals(self) -> str:
        """Why the ways before were refused, a line for each."""
        return (self._info().refusals or b"").decode(errors="replace")

    @property
    def waits_on_host(self) -> bool:
        """Whether OpenGL's turns wait on the CPU."""
        return bool(self._info().waits_on_host)

    def _info(self) -> d.culv_gl_ring_info:
        info = describe(d.culv_gl_ring_info)
        api.culv_gl_ring_get_info(self._need(), info)
        return info

    def _cuda_buffer(self, slot: int, resource: int) -> Pointer:
        return self._behind(api.culv_ring_buffer(self._need(), slot, resource))

    def _cuda_image(self, slot: int, resource: int) -> Pointer:
        return self._behind(api.culv_ring_image(self._need(), slot, resource))

    def _extent(self, resource: int) -> Tuple[int, int, int]:
        return self._resources[resource].extent

    def names(self, resource: int = 0) -> List[int]:
        """OpenGL's names, slot by slot: never delete them."""
        return [api.culv_gl_ring_name(self._need(), slot, resource) for slot in range(self._depth)]

    def _acquire_on(self, stream: int, timeout: int, frame: d.culv_ring_frame) -> None:
        Ring._in_slices(lambda slice_: api.culv_ring_acquire_on(self._need(), self._cudas, stream, slice_, byref(frame)), timeout)

    def _acquire(self, timeout: int, frame: d.culv_ring_frame) -> None:
        Ring._in_slices(lambda slice_: api.culv_ring_acquire(self._need(), self._mine, slice_, byref(frame)), timeout)

    def _holds(self, frame: d.culv_ring_frame) -> bool:
        """It was acquired. The ring may be closed when the interpreter ends."""
        return frame.slot != NO_SLOT and not self.closed

    def _cancel(self, end: Once, side: int, frame: d.culv_ring_frame) -> None:
        if self._holds(frame):
            end("culv_ring_cancel", self._need(), side, byref(frame))

    def _release(self, end: Once, frame: d.culv_ring_frame) -> None:
        if self._holds(frame):
            end("culv_ring_release", self._need(), self._mine, byref(frame))

    def _follow(self, stream: int, timeout: int, frame: d.culv_ring_frame) -> None:
        _host_follows(self.gl.device, stream, timeout,
                      lambda: f"OpenGL's work with slot {frame.slot} has not ended in time")

    @contextlib.contextmanager
    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[Turn]:
        """CUDA's turn, on the current stream of PyTorch or CuPy if none is said. After an exception the slot is given
        back as if it had not been acquired. In the way "register" a context of the attachment must be current."""
        number, frame, end = stream_handle(stream), d.culv_ring_frame(slot=NO_SLOT), Once()
        turn = Turn(self, number, frame)
        try:
            self._acquire_on(number, timeout, frame)
            self._follow(number, timeout, frame)
            yield turn
            turn._over = True
            end("culv_ring_release_on", self._need(), self._cudas, number, byref(frame))
        except BaseException:
            turn._over = True
            end.last(lambda: self._cancel(end, self._cudas, frame))
            raise

    @contextlib.contextmanager
    def frame(self, timeout: int = 10 * SECOND) -> Iterator[Frame]:
        """OpenGL's turn: its later commands wait for CUDA's. After an exception the slot is given back as if it had not
        been acquired."""
        frame, end = d.culv_ring_frame(slot=NO_SLOT), Once()
        try:
            self._acquire(timeout, frame)
            yield Frame(self, frame)
            end("culv_ring_release", self._need(), self._mine, byref(frame))
        except BaseException:
            end.last(lambda: self._cancel(end, self._mine, frame))
            raise

    def frames(self, timeout: int = 10 * SECOND) -> Iterator[Frame]:
        """OpenGL's turns, until the ring is stopped. A frame goes back when the loop asks for the next one, or ends."""
        while True:
            frame, end = d.culv_ring_frame(slot=NO_SLOT), Once()
            try:
                try:
                    self._acquire(timeout, frame)
                except Error as e:
                    if e.reason == "RING_STOPPED":
                        return
                    raise
                yield Frame(self, frame)
                self._release(end, frame)
            except BaseException:
                end.last(lambda: self._release(end, frame))
                raise

    def stop(self) -> None:
        """Ends the waits of both sides, from any thread."""
        api.culv_ring_stop(self._need())

    def drain(self, timeout: int = 10 * SECOND) -> None:
        """Waits until the GPU has done with all frames that were handed over."""
        Ring._in_slices(lambda slice_: api.culv_ring_drain(self._need(), slice_, 0), timeout)

    def _told(self) -> Iterator[str]:
        yield f"way {self.way}"


class _One(GLRing):
    """One object. It is OpenGL's, save in the block of cuda()."""

    def __init__(self, gl: "Attachment", resource: Resource, writer: str, way: Optional[str]):
        self._held = d.culv_ring_frame(slot=NO_SLOT)  # by OpenGL
        self._due = False  # OpenGL's turn, which did not begin in time
        super().__init__(gl, [resource], 1, writer, way)
        if writer == "opengl":
            self._due = True
            self._take(10 * SECOND)

    @property
    def name(self) -> int:
        """OpenGL's name. Never delete it."""
        return api.culv_gl_ring_name(self._need(), 0, 0)

    def _take(self, timeout: int) -> None:
        if self._due and not self._holds(self._held):
            self._acquire(timeout, self._held)
        self._due = False

    @contextlib.contextmanager
    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[Turn]:
        """CUDA's turn, on the current stream of PyTorch or CuPy if none is said. It begins after OpenGL's earlier
        commands, and OpenGL's later ones come after it, also when an exception ends the block."""
        number, frame, end = stream_handle(stream), d.culv_ring_frame(slot=NO_SLOT), Once()
        turn = Turn(self, number, frame)
        try:
            self._take(timeout)
            if self._holds(self._held):
                Once()("culv_ring_release", self._need(), self._mine, byref(self._held), then=[(self._held, "slot", NO_SLOT)])
            self._acquire_on(number, timeout, frame)
            self._follow(number, timeout, frame)
            yield turn
            self._give_back(end, turn, timeout)
        except BaseException:
            end.last(lambda: self._give_back(end, turn, timeout))
            raise

    def _give_back(self, end: Once, turn: Turn, timeout: int) -> None:
        turn._over = True
        frame = turn.frame
        if frame is not None and self._holds(frame):
            end("culv_ring_release_on", self._need(), self._cudas, turn.stream, byref(frame), then=[(self, "_due", True)])
            self._take(timeout)

    def frame(self, timeout: int = 10 * SECOND) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} is OpenGL's outside the blocks of cuda(): draw there")

    def frames(self, timeout: int = 10 * SECOND) -> NoReturn:
        self.frame()

    def update(self, tensor: Union[TensorLike, TensorSource], stream: StreamLike = None) -> None:
        """Copies a tensor into it, in a turn of CUDA's."""
        with self.cuda(stream) as turn:
            turn.write(tensor)


_OneSelf = TypeVar("_OneSelf", bound=_One)


class GLBuffer(_One):
    """A GL buffer for both sides. Where the GPU's driver keeps copies, read it by OpenGL through another buffer
    (glCopyNamedBufferSubData)."""

    def __init__(self, gl: "Attachment", size: int, dtype: Optional[DType], shape: Optional[Shape], writer: str,
                 way: Optional[str]):
        self.dtype, self.shape, self.size = dtype, shape, size
        self.says: List[str] = []  # what one may want to know: that it is a copy of a tensor, and why
        super().__init__(gl, ring_buffer(size), writer, way)

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield from super()._told()


class Part(NamedTuple):
    """A GL buffer on memory in which a tensor lies."""
    name: int
    offset: int  # of the tensor's part in the buffer, in bytes
    size: int
    tensor_offset: int  # of the part in the tensor


class _Shared(Single):
    """What a SharedTensor gives back, where the context is current."""

    def __init__(self, gl: "Attachment"):
        self.gl = gl
        self.adopted = c_void_p()
        self.memories: List[c_void_p] = []
        self.names: List[int] = []
        self.semaphores: List[c_void_p] = []

    def end(self) -> None:
        if not self.gl._lost and not self.gl.closed and not self.gl.is_current:
            raise _own_error(d.culv_result.CULV_ERROR_INVALID, d.culv_reason.CULV_REASON_CONTEXT,
                             "no context of the attachment is current on this thread", "SharedTensor.close")
        while self.names:
            name = self.names.pop()
            if not self.gl._lost:
                function("glDeleteBuffers", None, c_int, c_void_p)(1, byref(ctypes.c_uint(name)))
        for call, things in (("culv_gl_memory_destroy", self.memories), ("culv_shared_semaphore_destroy", self.semaphores)):
            while things:
                destroy(call, things[-1])
                things.pop()
        api.culv_vmm_adopted_destroy(byref(self.adopted))


class SharedTensor(Closing):
    """A tensor's own memory as GL buffers, without a copy: one buffer for each chunk of memory in which it lies, and for most
    tensors that is one. The tensor stays its library's; `with shared.cuda():` orders what both sides do."""

    way = "memory"

    def __init__(self, gl: "Attachment", tensor: Any):
        gl._sweep()
        self.gl, self.tensor = gl, tensor
        self._value = self._due = 0
        self._ends: Optional[_Shared] = None
        ends = _Shared(gl)
        pointer, size = look(tensor).require().span
        try:
            ends.adopted = c_void_p(_make("culv_vmm_adopt", gl.device._need(), pointer, size))
            self.parts = self._bind(ends)
            for _ in range(2):  # OpenGL's signals, and CUDA's
                ends.semaphores.append(c_void_p(_make("culv_gl_semaphore_create", gl._need(), None)))
        except BaseException:
            ends.end()
            raise
        self._ends = ends
        self.size = size
        gl._children.add(self)

    def _bind(self, ends: _Shared) -> List[Part]:
        count = c_size_t()
        api.culv_vmm_adopted_get_parts(ends.adopted, None, 0, byref(count))
        listed = (d.culv_part * count.value)()
        api.culv_vmm_adopted_get_parts(ends.adopted, listed, count.value, byref(count))
        create = function("glCreateBuffers", None, c_int, c_void_p)
        parts: List[Part] = []
        for part in listed:
            ends.memories.append(c_void_p(_make("culv_gl_memory_from_vmm", self.gl._need(), part.allocation, None)))
            name = ctypes.c_uint()
            create(1, byref(name))
            ends.names.append(name.value)
            # From the chunk's beginning: not every driver honours another offset.
            api.culv_gl_memory_bind(ends.memories[-1], name.value, 0, part.inner_offset + part.size, None)
            parts.append(Part(name.value, part.inner_offset, part.size, part.offset))
        return parts

    def _need(self) -> _Shared:
        if self._ends is None:
            raise ValueError("this SharedTensor is closed")
        return self._ends

    @property
    def closed(self) -> bool:
        return self._ends is None

    @property
    def nbytes(self) -> int:
        return self.size

    def _one(self) -> Part:
        self._need()
        if len(self.parts) != 1:
            raise ValueError(f"the tensor lies in {len(self.parts)} chunks of memory, each of which is a GL buffer: use `parts`")
        return self.parts[0]

    @property
    def name(self) -> int:
        """OpenGL's name of the buffer, where there is one. Never delete it."""
        return self._one().name

    @property
    def offset(self) -> int:
        """Where the tensor begins in it, in bytes: as in glVertexAttribPointer(..., offset)."""
        return self._one().offset

    @contextlib.contextmanager
    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[Any]:
        """CUDA's turn with the tensor, which it gives. It begins after OpenGL's earlier commands, and OpenGL's later ones come
        after it, also when an exception ends the block."""
        number, semaphores, end = stream_handle(stream), self._need().semaphores, Once()
        self._wait(timeout)
        self._value += 1
        api.culv_gl_semaphore_signal(semaphores[0], self._value, self._uses())
        api.culv_semaphore_wait(api.culv_shared_semaphore_cuda(semaphores[0]), number, self._value)
        try:
            _host_follows(self.gl.device, number, timeout, lambda: "OpenGL's work with the tensor has not ended in time")
            yield self.tensor
            self._give_back(end, number, timeout)
        except BaseException:
            end.last(lambda: self._give_back(end, number, timeout))
            raise

    def _give_back(self, end: Once, stream: int, timeout: int) -> None:
        if not self.closed:
            end("culv_semaphore_signal", api.culv_shared_semaphore_cuda(self._need().semaphores[1]), stream, self._value,
                then=[(self, "_due", self._value)])
            self._wait(timeout)

    def _wait(self, timeout: int) -> None:
        if self._due:
            second, uses = self._need().semaphores[1], self._uses()
            Ring._in_slices(lambda slice_: api.culv_gl_semaphore_wait(second, self._due, slice_, uses), timeout)
            self._due = 0

    def _uses(self) -> d.culv_gl_uses:
        names = (ctypes.c_uint * len(self.parts))(*[p.name for p in self.parts])
        return describe(d.culv_gl_uses, num_buffers=len(self.parts), buffers=names)

    def close(self) -> None:
        """Deletes the GL buffers, where the context is current. The memory stays the tensor's."""
        if self._ends is not None and not process.forked:
            settle_cuda("SharedTensor.close")
            self._ends.end()
            self._ends = None

    def __del__(self) -> None:
        ends = getattr(self, "_ends", None)
        if ends is None or process.forked or sys.is_finalizing():
            return
        if not _closes(self):
            self.gl._shared_later.append(ends)

    def __repr__(self) -> str:
        return told(self, self.closed, [f"{self.size} bytes", f"in {len(self.parts)} GL buffers"])


class GLTexture(_One):
    """A 2D texture for both sides."""

    def __init__(self, gl: "Attachment", internal_format: int, width: int, height: int, writer: str, way: Optional[str],
                 **desc: Any):
        self.internal_format, self.width, self.height = internal_format, width, height
        self.says: List[str] = []  # what one may want to know: that it is a copy of a tensor, and why
        super().__init__(gl, ring_texture(internal_format, width, height, **desc), writer, way)

    def _told(self) -> Iterator[str]:
        yield f"{self.width} x {self.height}"
        yield from super()._told()


class Registration(_InContext):
    """A buffer, texture or renderbuffer of the program's own, registered with CUDA. CUDA has it in the block of
    cuda()."""

    _destroy = "culv_registration_destroy"

    def __init__(self, gl: "Attachment", made: Making, extent: Tuple[int, int, int], dtype: Optional[DType] = None,
                 shape: Optional[Shape] = None):
        super().__init__(gl, made)
        self._size, self.dtype, self.shape = extent, dtype, shape

    def _cuda_buffer(self, slot: int, resource: int) -> Pointer:
        return self._behind(api.culv_registration_buffer(self._need()))

    def _cuda_image(self, slot: int, resource: int) -> Pointer:
        return self._behind(api.culv_registration_image(self._need()))

    def _extent(self, resource: int) -> Tuple[int, int, int]:
        return self._size

    @property
    def mapped(self) -> bool:
        return bool(api.culv_registration_is_mapped(self._need()))

    @contextlib.contextmanager
    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[Turn]:
        """CUDA's turn: maps, and unmaps at the end of the block, also after an exception. The driver may wait in an unmap
        for the stream, without a bound: `timeout` is for the host's wait on the software twin."""
        with mapped([self], stream, timeout) as turns:
            yield turns[0]

    def update(self, tensor: Union[TensorLike, TensorSource], stream: StreamLike = None) -> None:
        """Copies a tensor into it, in a turn of CUDA's."""
        with self.cuda(stream) as turn:
            turn.write(tensor)


@contextlib.contextmanager
def mapped(registrations: Sequence[Registration], stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[List[Turn]]:
    """CUDA's turn with all of these, in one call of the driver: `with mapped([points, colors]) as (p, c):`."""
    number, begin, end = stream_handle(stream), Once(), Once()
    turns = [Turn(r, number) for r in registrations]
    array = (c_void_p * max(len(turns), 1))(*[r._need().value for r in registrations])

    def give_back() -> None:
        for turn in turns:
            turn._over = True
        if begin.made:
            end("culv_registration_unmap", array, len(turns), number)

    try:
        begin("culv_registration_map", array, len(turns), number)
        if turns:
            _host_follows(turns[0].device, number, timeout, lambda: "OpenGL's work has not ended in time")
        yield turns
        give_back()
    except BaseException:
        end.last(give_back)
        raise


def _name_of(thing: Any) -> int:
    """OpenGL's name: a number of Python's or ctypes', moderngl's buffer or texture, or pyglet's."""
    for name in ("glo", "value", "id"):
        if not hasattr(thing, "__index__") and hasattr(thing, name):
            thing = getattr(thing, name)
    if not hasattr(thing, "__index__"):
        raise TypeError(f"{type(thing).__name__} is no name of OpenGL's: pass the number that glGenBuffers() gave, or moderngl's "
                        "buffer.glo")
    return int(thing)


class Attachment(Owned):
    """The context that is current on this thread, with Culvert on it. It is closed on a thread where the context is
    current; after lose_contexts() on any."""

    _destroy = "culv_gl_detach"

    def __init__(self, device: Optional[Device] = None, *, vk: Optional[VulkanDevice] = None, copies: bool = False,
                 label: Optional[str] = None, driver: str = "auto",
                 get_proc_address: Any = None, allow_other_gpu: bool = False):
        if driver == "soft":
            api.culv_soft_enable()
        self.copies = copies
        self._later: List[Left] = []
        self._shared_later: List[_Shared] = []
        self._lost = False
        self._proc: Any = None  # OpenGL's functions come by it: a function of Python's, or a pointer to one of C
        if get_proc_address is not None:
            kind: Any = ctypes.CFUNCTYPE(c_void_p, ctypes.c_char_p)
            of_c = isinstance(get_proc_address, getattr(ctypes, "_CFuncPtr")) or not callable(get_proc_address)
            self._proc = get_proc_address if of_c else kind(lambda name: handle(get_proc_address(name)) or None)
        if device is None and vk is not None:
            device = vk.device
        desc = describe(d.culv_gl_desc, get_proc_address=self._proc, vk=None if vk is None else vk._need().value,
                        label=label, fallback=int(d.culv_fallback.CULV_FALLBACK_HOST) if copies else 0,
                        allow_other_gpu=int(allow_other_gpu))
        own: Optional[Device] = None
        if device is None:
            device = own = self._open_device(desc, label, driver)
        self.device: Device = device
        self._own_device, self._vk = own, vk
        try:
            super().__init__(device, making("culv_gl_attach", device._need(), desc))
        except BaseException:
            if own is not None:
                own.close()
            raise
        self.report = check(device)
        _attachments.add(self)

    def _open_device(self, desc: d.culv_gl_desc, label: Optional[str], driver: str) -> Device:
        process.check("gl.attach")
        cuda = describe(d.culv_device_desc, driver=driver_of(driver), label=label)
        try:
            return Device(_made=making("culv_device_open_for_gl", desc, cuda))
        except (NoDeviceError, UnsupportedError):
            if not self.copies:
                raise
            try:  # another GPU draws: what it draws is copied
                return Device(driver=driver, label=label)
            except Error:
                pass
            raise

    def _told(self) -> Iterator[str]:
        yield f"{self.report.renderer!r} on {self.device.name!r}"

    @property
    def is_current(self) -> bool:
        """Whether the attached context, or one that shares objects with it, is current on this thread."""
        return bool(api.culv_gl_is_current(self._need()))

    def lose_contexts(self) -> None:
        """Tells that the context is destroyed. What is left closes on any thread then."""
        api.culv_gl_lose_contexts(self._need())
        self._lost = True

    def _sweep(self) -> None:
        """Destroys what was dropped on threads where the context was not current."""
        self._need()
        try:
            while self._shared_later:
                self._shared_later[-1].end()
                self._shared_later.pop()
        except InvalidError:
            return
        for _ in range(len(self._later)):
            call, pointer, _number = self._later.pop()
            try:
                destroy(call, pointer)
            except InvalidError:
                self._later.append((call, pointer, 0))
                return

    def close(self, after: StreamLike = None) -> None:
        if self.closed or process.forked:
            return
        self._close_children()
        self._sweep()
        super().close()
        if self._own_device is not None:
            own, self._own_device = self._own_device, None
            own.close()

    def buffer(self, what: Union[int, TensorLike, TensorSource], dtype: Optional[DType] = None,
               shape: Optional[Shape] = None, *, writer: str = "cuda", way: Optional[str] = None) -> GLBuffer:
        """A GL buffer for CUDA and OpenGL: of so many bytes, or with the bytes, type and shape of a tensor. `writer` is
        who writes it, "cuda" or "opengl". `way` forces one; otherwise the best one is taken, and a WayWarning says
        why a better one was not."""
        if isinstance(what, numbers.Integral):
            return GLBuffer(self, int(what), dtype, shape, writer, way)
        source = Source(what)
        made = GLBuffer(self, source.size, dtype or source.dtype, source.shape if shape is None else shape, writer, way)
        made.says.append(self._why_a_copy(source, writer))
        return self._filled(made, what, writer)

    def _why_a_copy(self, source: Source, writer: str) -> str:
        if writer == "opengl":
            return "the buffer has the tensor's size and type; OpenGL writes it"
        adopted = c_void_p()
        try:
            api.culv_vmm_adopt(self.device._need(), source.address, source.size, byref(adopted))
            api.culv_vmm_adopted_destroy(byref(adopted))
        except Error as e:
            return f"the buffer has a copy of the tensor's bytes: {e.message}"
        return "the buffer has a copy of the tensor's bytes; share(tensor) makes a GL buffer of the tensor's own memory"

    def share(self, tensor: Union[TensorLike, TensorSource]) -> SharedTensor:
        """The tensor's own memory as a GL buffer (one for each chunk of it), without a copy: PyTorch's with
        PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True or from culvert.torch_pool(), a vector's that is exportable, and what
        else lies in exportable memory of cuMemCreate. What cannot be shared is an error that says why; buffer(tensor) copies
        it then."""
        return SharedTensor(self, tensor)

    @staticmethod
    def _filled(made: _OneSelf, tensor: Any, writer: str) -> _OneSelf:
        if writer == "cuda":
            try:
                made.update(tensor)
            except BaseException:
                made.close()
                raise
        return made

    def texture(self, what: Union[None, TensorLike, TensorSource] = None, *, internal_format: int = 0, width: int = 0,
                height: int = 1, writer: str = "cuda", way: Optional[str] = None, target: Optional[int] = None,
                depth: Optional[int] = None,
                array_layers: Optional[int] = None, mip_levels: Optional[int] = None, texels: Optional[int] = None,
                no_surfaces: Optional[bool] = None, label: Optional[str] = None) -> GLTexture:
        """A 2D texture for CUDA and OpenGL: of an internal format and extent, or with a copy of the texels of a tensor of
        rows, columns and 1, 2 or 4 channels. It is always a copy, on the device: a texture's memory is in the GPU's own order,
        in which no tensor lies."""
        desc: Dict[str, Any] = dict(target=target, depth=depth, array_layers=array_layers, mip_levels=mip_levels, texels=texels,
                                    no_surfaces=no_surfaces, label=label)
        if what is None:
            return GLTexture(self, internal_format, width, height, writer, way, **desc)
        source = Source(what)
        height, width = (*source.shape, 1, 1)[:2]
        internal_format = internal_format or format_of(source.dtype, source.shape)
        made = GLTexture(self, internal_format, width, height, writer, way, **desc)
        made.says.append("the texture has the tensor's size and type; OpenGL writes it" if writer == "opengl" else
                         "the texture has a copy of the tensor's texels: a texture's memory is in the GPU's own order. A buffer "
                         "can be the tensor's own memory (share), and a shader can read texels from it")
        return self._filled(made, what, writer)

    def register_buffer(self, name: Any, dtype: Optional[DType] = None, shape: Optional[Shape] = None, *,
                        access: str = "read_write", unchecked: Optional[bool] = None,
                        label: Optional[str] = None) -> Registration:
        """A GL buffer of the program's own (culv_gl_register_desc), by its name or as moderngl's or pyglet's object. Give it
        storage first."""
        return Registration(self, self._register("culv_gl_register_buffer", [_name_of(name)], access, dict(
            unchecked=unchecked, label=label)), (0, 0, 0), dtype, shape)

    def register_texture(self, name: Any, target: int = GL_TEXTURE_2D, *, access: str = "read_write",
                         no_surfaces: Optional[bool] = None, texture_gather: Optional[bool] = None,
                         unchecked: Optional[bool] = None, label: Optional[str] = None) -> Registration:
        """A texture or renderbuffer of the program's own (culv_gl_register_desc)."""
        name = _name_of(name)
        pointer = self._register("culv_gl_register_image", [name, target], access, dict(
            no_surfaces=no_surfaces, texture_gather=texture_gather, unchecked=unchecked, label=label))
        return Registration(self, pointer, _extent_of(name) if target == GL_TEXTURE_2D else (0, 0, 0))

    def _register(self, call: str, names: List[int], access: str, desc: Dict[str, Any]) -> Making:
        if access not in _ACCESS:
            raise ValueError(f"access={access!r}: {', '.join(map(repr, _ACCESS))}")
        self._sweep()
        made = describe(d.culv_gl_register_desc, **desc)
        made.access = _ACCESS[access]
        return making(call, self._need(), *names, made)

    def ring(self, resources: Sequence[Resource], depth: int = 3, *, writer: str = "cuda", way: Optional[str] = None,
             settings: Optional[Structure] = None, label: Optional[str] = None) -> GLRing:
        """Frames in flight between the two sides (culv_gl_ring_desc). ring_buffer(), ring_texture() and
        ring_registrations() make resources."""
        return GLRing(self, resources, depth, writer, way, settings=settings, label=label)


def format_of(dtype: DType, shape: Sequence[int]) -> int:
    """The internal format for a tensor of rows, columns and channels: 0x8058 (GL_RGBA8) for 4 of "uint8"."""
    channels = shape[2] if len(shape) == 3 else 1
    name = {t[2]: n for n, t in ((n, type_of(n)) for n in _FORMATS)}.get(type_of(dtype)[2])
    if len(shape) not in (2, 3) or channels not in _CHANNELS or name is None:
        raise ValueError(f"a tensor {tuple(shape)} of {dtype} is no texture: it has rows, columns and 1, 2 or 4 channels of "
                         f"{', '.join(_FORMATS)}; three channels become four")
    return _FORMATS[name][_CHANNELS.index(channels)]


def _extent_of(texture: int) -> Tuple[int, int, int]:
    ask = function("glGetTextureLevelParameteriv", None, ctypes.c_uint, c_int, ctypes.c_uint, c_void_p)
    out = []
    for what in (0x1000, 0x1001, 0x1003):  # width, height, internal format
        value = c_int()
        ask(texture, 0, what, byref(value))
        out.append(value.value)
    return out[0], out[1], _TEXELS.get(out[2], 0)


def attach(device: Optional[Device] = None, *, vk: Optional[VulkanDevice] = None, copies: bool = False,
           label: Optional[str] = None, driver: str = "auto", get_proc_address: Any = None,
           allow_other_gpu: bool = False) -> Attachment:
    """Attaches to the context that is current on this thread (Attachment). Without `device` the CUDA device is the one
    that draws the context. What cannot be shared is an error; copies=True allows copies through the host there.
    allow_other_gpu lets `device` be another GPU, which works on this one's buffers in place (docs/two-gpus.md)."""
    return Attachment(device, vk=vk, copies=copies, label=label, driver=driver, get_proc_address=get_proc_address,
                      allow_other_gpu=allow_other_gpu)


_attachments: "weakref.WeakSet[Attachment]" = weakref.WeakSet()


@atexit.register
def _close_attachments() -> None:
    """The interpreter ends: where the context is gone, nothing of OpenGL's is called."""
    process.end()
    give_up_waits()
    for gl in list(_attachments):
        try:
            gl.close()
        except Error:
            gl.lose_contexts()
            gl.close()


__all__ = ["Attachment", "Frame", "GLBuffer", "GLRing", "GLTexture", "Part", "Registration", "Report", "Resource", "SharedTensor",
           "Turn", "WayWarning", "attach", "check", "format_of", "function", "mapped", "ring_buffer", "ring_registrations",
           "ring_texture"]
