# SPDX-License-Identifier: MIT
"""Devices, buffers, images, timelines, rings, vectors and kernels. Each class is one object of the C API, whose call
that made it says more: help(culvert.api.culv_vk_buffer_create)."""
import contextlib
import ctypes
import functools
import sys
import threading
import time
import weakref
from ctypes import byref, c_uint32, c_uint64, c_void_p
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Type, TypeVar,
                    Union)

from . import _declarations as d
from ._kernels import Kernel as Kernel, Kernels as Kernels, QueueKernels as QueueKernels, kernel as kernel
from ._lib import (OUT, Closing, Gate, InvalidError, LateError, Left, Making, Once, Owned, Pointer, Single, _homes, _lasts, _make, api, at_once, bury, drop, last_of, describe, driver_of, handle, library, looks, making, not_negative, process,
                   stream_handle, told)
from ._struct import Structure
from ._tensor import _LEGACY, Seen, Source, Tensor as Tensor, TensorSource, look, tensor_range as tensor_range
from ._turns import SECOND, SLICE, Turns, check_value, until
from ._types import DType, Handle, Shape, StreamLike, TensorLike

if TYPE_CHECKING:
    from .vulkan import _Home

    _CudaFunctions = d._CudaFunctions
else:
    _CudaFunctions = object

DEFAULT_BUFFER_USAGE = (d.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | d.VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                        d.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | d.VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                        d.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | d.VK_BUFFER_USAGE_INDEX_BUFFER_BIT)
DEFAULT_IMAGE_USAGE = (d.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | d.VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                       d.VK_IMAGE_USAGE_SAMPLED_BIT | d.VK_IMAGE_USAGE_STORAGE_BIT)
FOREVER = 2**64 - 1
NO_SLOT = 2**32 - 1  # of a frame that nobody has acquired: the call that acquires it writes its slot
# DEINITIALIZED, INVALID_CONTEXT, INVALID_HANDLE, CONTEXT_IS_DESTROYED: the context has gone, and what it had with it.
_GONE = (4, 201, 400, 709)


class Cuda(_CudaFunctions):
    """The driver's functions, of the driver that serves the device: device.cuda.cuMemcpyHtoDAsync(...). A result that
    is not CUDA_SUCCESS is a RuntimeError. Most of them need the device's context: device.make_current()."""

    def __init__(self, device: "Device"):
        self._device = weakref.ref(device)

    if not TYPE_CHECKING:  # a checker has the functions of the base, and refuses other names
        def __getattr__(self, name: str) -> Any:
            return self._found(name)

    def __repr__(self) -> str:
        device = self._device()
        return told(self, device is None or device.closed, [] if device is None else [f"of {device.name!r}"])

    def _found(self, name: str) -> Any:
        try:
            version, parameters = d.CUDA[name]
        except KeyError:
            raise AttributeError(name) from None
        device = self._device()
        if device is None:
            raise ValueError("this Device is closed")
        address = api.culv_device_cuda_proc(device._need(), name, version)
        if not address:
            raise AttributeError(f"the driver has no {name}")
        raw = ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(address)
        names = api.culv_device_cuda_proc(device._need(), "cuGetErrorName", 6000)

        def error(answer: int) -> str:
            text = ctypes.c_char_p()
            if names:
                ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, c_void_p)(names)(answer, ctypes.addressof(text))
            return f"{(text.value or b'CUDA error').decode()} {answer}"

        enter, leave = device._gate.enter, device._gate.leave

        def call(*args: Any) -> None:
            enter()
            try:
                answer = raw(*args)
            finally:
                leave()
            if answer != 0:
                raise RuntimeError(f"{name}: {error(answer)}")

        call.__name__ = name
        setattr(call, "raw", raw)
        setattr(self, name, call)
        return call


def _end_stream(gate: Gate, has_context: Callable[[], bool], destroy: Callable[[Any], int], stream: c_void_p, once: List[int]) -> None:
    """Who takes the one number out of `once` does it."""
    try:
        gate.enter()
    except ValueError:  # it went with its device
        stream.value = None
        return
    answers: List[int] = []
    try:
        if not stream or not has_context():
            stream.value = None
        else:
            with contextlib.suppress(IndexError):
                at_once(once.pop, functools.partial(answers.extend, map(destroy, (stream.value,))),
                        functools.partial(setattr, stream, "value", None))
    finally:
        gate.leave()
    if any(answer not in (0, *_GONE) for answer in answers):
        raise RuntimeError(f"cuStreamDestroy: CUDA error {answers[0]}")


class Stream(Closing):
    """A CUDA stream of a device's context. It goes with close(), with its device, or when nobody has it any more."""

    def __init__(self, device: "Device", flags: int = 1):
        self._device = device
        device.make_current()
        self._gate = Gate("Stream")
        self._as_parameter_ = c_void_p()
        bury()
        self._key = last_of(self, [], [])
        context = device.context
        current, destroy = (getattr(call, "raw") for call in (device.cuda.cuCtxSetCurrent, device.cuda.cuStreamDestroy))
        _lasts[self._key].pinned = self._end = functools.partial(
            _end_stream, device._gate, lambda: current(context) not in _GONE, destroy, self._as_parameter_, [self._key])
        with looks:
            device._children.add(self)
        device.cuda.cuStreamCreate(byref(self._as_parameter_), flags)

    @property
    def closed(self) -> bool:
        return not self._as_parameter_ or self._gate.is_shut

    @property
    def pointer(self) -> int:
        """The CUstream, as a number."""
        if self.closed:
            raise ValueError("this Stream is closed, and 0 would be the default stream")
        return self._as_parameter_.value or 0

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self.pointer

    def synchronize(self, timeout: int = FOREVER) -> None:
        """Waits for what the stream has got, and hears Ctrl-C meanwhile. `timeout` is in nanoseconds (LateError)."""
        _wait_for_stream(self._device, self.pointer, timeout, lambda: "the stream has not done its work in time", self._gate)

    def close(self) -> None:
        """CUDA ends the stream when it has done its work. The call does not wait."""
        if process.forked:
            return
        with looks:
            if self.closed:
                return
            self._gate.shut_by = threading.get_ident()
        try:
            self._gate.shut("Stream.close")
            self._end()
        finally:
            if self._as_parameter_:
                self._gate.shut_by = 0
        drop(self._key)

    def __del__(self) -> None:
        if getattr(self, "_key", 0) and not process.forked and not sys.is_finalizing():
            self.close()
            drop(self._key)

    def __repr__(self) -> str:
        return told(self, self.closed, [f"CUstream {self._as_parameter_.value or 0:#x}", f"on {self._device.name!r}"])


def _wait_for_stream(device: "Device", stream: int, timeout: int, message: Callable[[], str], gate: Optional[Gate] = None) -> None:
    device.make_current()
    query = getattr(device.cuda.cuStreamQuery, "raw")

    def done() -> bool:
        gates = [device._gate, *([] if gate is None else [gate])]
        for n, one in enumerate(gates):
            try:
                one.enter()
            except ValueError:
                for passed in gates[:n]:
                    passed.leave()
                raise
        try:
            answer: int = query(stream)
        finally:
            for one in gates:
                one.leave()
        if answer not in (0, 600):  # CUDA_ERROR_NOT_READY
            raise RuntimeError(f"cuStreamQuery: CUDA error {answer}")
        return answer == 0

    until(done, timeout, message, "cuStreamQuery")


class Device(Owned):
    """A CUDA device, by ordinal or UUID. VulkanDevice and culvert.vulkan.open() find the one that is a Vulkan device.
    driver: "auto", "nvidia" or "soft" (the software twin)."""

    _destroy = "culv_device_close"

    def __init__(self, ordinal: int = 0, *, uuid: Optional[bytes] = None, driver: str = "auto",
                 label: Optional[str] = None, context: Handle = None, _made: Optional[Making] = None):
        if _made is None:
            process.check("Device")
            desc = describe(d.culv_device_desc, driver=driver_of(driver), label=label, context=context)
            if uuid is not None:
                key = d.culv_uuid()
                if len(uuid) != 16:
                    raise ValueError(f"a UUID has 16 bytes, and this has {len(uuid)}: pass Device.uuid, or uuid.UUID(text).bytes")
                key.bytes[:] = list(uuid)
                _made = making("culv_device_open_by_uuid", key, desc)
            else:
                _made = making("culv_device_open_by_ordinal", ordinal, desc)
        self._thread = process.opener()
        super().__init__(None, _made)
        self.cuda = Cuda(self)
        self._foreign_kernels: Dict[bytes, Kernels] = {}  # of culvert.kernel()
        self._caps = describe(d.culv_device_caps)
        api.culv_device_get_caps(self, self._caps)

    @property
    def caps(self) -> d.culv_device_caps:
        """What the device is and can do (culv_device_caps)."""
        return self._caps

    @property
    def name(self) -> str:
        return self._caps.name.decode()

    @property
    def uuid(self) -> bytes:
        return bytes(self._caps.uuid.bytes)

    @property
    def is_software(self) -> bool:
        return bool(self._caps.is_software)

    @property
    def context(self) -> int:
        """The CUcontext, as a number."""
        return api.culv_device_context(self._need()) or 0

    def counts(self) -> Dict[str, int]:
        """Live objects, for leak checks. Releases what is due."""
        bury()
        counts = describe(d.culv_device_counts)
        api.culv_device_get_counts(self._need(), counts)
        fields: Any = counts._fields_
        return {name: getattr(counts, name) for name, _ in fields if name != "struct_size"}

    def collect(self) -> int:
        return api.culv_device_collect(self._need())

    def wait_stream(self, stream: StreamLike, other: StreamLike) -> None:
        """Makes a stream wait for what another one has been given so far: Stream.wait_stream() of PyTorch, but without its time
        slice of the GPU (2 ms a frame) where one of the two waits for Vulkan or OpenGL."""
        api.culv_stream_wait_stream(self._need(), stream_handle(stream), stream_handle(other))

    def make_current(self) -> None:
        """Makes the device's context the calling thread's."""
        self.cuda.cuCtxSetCurrent(self.context)

    def stream(self) -> Stream:
        """A new stream that does not wait for the legacy default stream."""
        return Stream(self)

    def vector(self, size: int = 0, *, exportable: bool = False, reserve: int = 0, label: Optional[str] = None,
               **desc: Any) -> "Vector":
        """A buffer that grows without copying, up to `reserve` bytes (culv_vector_desc, whose other fields may be given)."""
        return Vector(self, size, exportable=exportable, reserve=reserve, label=label, **desc)

    def import_memory(self, fd: int, size: int, dedicated: bool = False, label: Optional[str] = None) -> "Memory":
        """Exported memory of a graphics API by its opaque file descriptor, which stays yours. `size` is that of the
        whole allocation."""
        desc = describe(d.culv_memory_desc, size=size, dedicated=int(dedicated), label=label)
        desc.handle.type = d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        desc.handle.value.fd = fd
        return Memory(self, making("culv_memory_import", self._need(), desc))

    def import_timeline(self, fd: int, label: Optional[str] = None) -> "Semaphore":
        """An exported timeline semaphore by its opaque file descriptor, which stays yours."""
        desc = describe(d.culv_semaphore_desc, label=label, type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE)
        desc.handle.type = d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        desc.handle.value.fd = fd
        return Semaphore(self, making("culv_semaphore_import", self._need(), desc))

    def kernels(self, source: Union[str, bytes], directory: Optional[str] = None,
                label: Optional[str] = None) -> "Kernels":
        """Kernels of a file (a path; or a name in `directory`, without the driver's ending) or of bytes (a cubin, a
        fatbin, PTX)."""
        if isinstance(source, bytes):
            pointer = making("culv_kernels_load_data", self._need(), source, len(source), label)
            source = label or f"{len(source)} bytes"
        elif directory is not None:
            pointer = making("culv_kernels_load", self._need(), directory, source)
        else:
            pointer = making("culv_kernels_load_file", self._need(), source, None)
        return Kernels(self, pointer, source)

    def _told(self) -> Iterator[str]:
        yield repr(self.name)
        yield f"{self.caps.total_memory} bytes of memory"


class Buffer(Owned, TensorSource):
    """A range of imported memory, for CUDA."""

    _destroy = "culv_buffer_unmap"

    def _cuda(self) -> Any:
        return self._need()

    def _device_of(self) -> Any:
        return self._device._need()

    def __init__(self, parent: Owned, made: Making, device: Device):
        super().__init__(parent, made)
        self._device = device
        self._described = {}

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield f"pointer {self.pointer:#x}"
        yield f"on {self._device.name!r}"

    @property
    def pointer(self) -> int:
        """The device pointer of the first byte."""
        return api.culv_buffer_pointer(self._cuda())

    @property
    def size(self) -> int:
        return api.culv_buffer_size(self._cuda())

    def _get_dlpack(self, desc: Any, out: Any) -> None:
        api.culv_buffer_get_dlpack(self._cuda(), desc, out)


class Memory(Owned):
    """An imported allocation. Buffers are ranges of it."""

    _destroy = "culv_memory_destroy"

    def __init__(self, parent: "Union[Device, VulkanDevice]", made: Making):
        super().__init__(parent, made)
        self._device = parent if isinstance(parent, Device) else parent.device

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield f"on {self._device.name!r}"

    @property
    def size(self) -> int:
        return api.culv_memory_size(self._need())

    @property
    def nbytes(self) -> int:
        return self.size

    def buffer(self, offset: int = 0, size: int = 0) -> Buffer:
        desc = describe(d.culv_buffer_desc, offset=offset, size=size)
        return Buffer(self, making("culv_buffer_map", self._need(), desc), self._device)


class Semaphore(Owned):
    """A timeline or a binary semaphore, for CUDA's streams."""

    _destroy = "culv_semaphore_destroy"
    _turns: Optional[Turns] = None  # of the context that made it, which knows who waits for whom
    _number = 0  # its VkSemaphore, where Culvert made it

    def __init__(self, parent: "Union[Device, VulkanDevice]", made: Making):
        super().__init__(parent, made)
        self._device = parent if isinstance(parent, Device) else parent.device

    def _cuda(self) -> Any:
        return self._need()

    def _device_of(self) -> Device:
        return self._device

    def _told(self) -> Iterator[str]:
        yield f"last value {self.last_value}"
        yield f"on {self._device.name!r}"

    def signal(self, stream: StreamLike = None, value: int = 0) -> None:
        """The stream signals it when it gets there."""
        self._signal(stream_handle(stream), check_value(value, "value"))

    def wait(self, stream: StreamLike = None, value: int = 0) -> None:
        """The stream waits; the host does not."""
        self._wait(stream_handle(stream), check_value(value, "value"))

    def _signal(self, stream: int, value: int, again: bool = False) -> None:
        if not again or self.last_value < value:
            api.culv_semaphore_signal(self._cuda(), stream, value)
        if self._turns is not None:
            self._turns.note(stream, False, self._number, value)

    def _wait(self, stream: int, value: int) -> None:
        api.culv_semaphore_wait(self._cuda(), stream, value)
        if self._turns is not None:
            self._turns.note(stream, True, self._number, value)

    @property
    def last_value(self) -> int:
        return api.culv_semaphore_last_value(self._cuda())

    def frame(self, wait: Optional[int] = None, signal: Optional[int] = None) -> "TimelineFrame":
        """CUDA's turn between two values: `with timeline.frame(wait=1, signal=2).cuda(stream):`."""
        return TimelineFrame(self, wait, signal)


def _host_follows(device: Device, stream: int, timeout: int, message: Callable[[], str]) -> None:
    """NumPy works when it is called, not when a stream gets there."""
    if device.is_software:
        _wait_for_stream(device, stream, timeout, message)


class TimelineFrame(Single):
    """CUDA's turn with what a timeline orders."""

    def __init__(self, semaphore: Semaphore, wait: Optional[int], signal: Optional[int]):
        self._semaphore = semaphore
        self._wait = wait if wait is None else check_value(wait, "wait")
        self._signal = signal if signal is None else check_value(signal, "signal")

    def __repr__(self) -> str:
        return told(self, self._semaphore.closed, [f"waits for {self._wait}, signals {self._signal}",
                                                   f"of {self._semaphore!r}"])

    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> "_Turn":
        """Waits on the stream before, and signals after. It signals after an exception too, because the other side
        would wait for ever. Without a stream it is the current one of PyTorch or CuPy. On the software twin, whose
        tensors are the host's, the host waits with the stream, at most `timeout` nanoseconds (LateError)."""
        return _Turn(self, stream_handle(stream), timeout, stream)


class _Turn(Single):
    """What `with` holds. A class, since a generator takes longer than the calls."""

    def __init__(self, frame: TimelineFrame, stream: int, timeout: int, kept: StreamLike):
        self._frame, self._stream, self._timeout = frame, stream, timeout
        self._kept = kept  # a stream that nobody else has lives until the turn is over

    def __enter__(self) -> TimelineFrame:
        frame = self._frame
        if frame._wait is not None:
            frame._semaphore._wait(self._stream, frame._wait)
            try:
                _host_follows(frame._semaphore._device_of(), self._stream, self._timeout,
                              lambda: f"nobody has signaled {frame._wait}, for which the stream waits. Submit the "
                                      "other side's work first, or in another thread")
            except BaseException:
                self.__exit__()
                raise
        return frame

    def __exit__(self, *_: Any) -> None:
        value, semaphore = self._frame._signal, self._frame._semaphore
        if value is not None:
            try:
                semaphore._signal(self._stream, value)
            except KeyboardInterrupt:
                semaphore._signal(self._stream, value, again=True)
                raise


class _Layout:
    """A tensor's shape, without the tensor."""

    def __init__(self, seen: Seen):
        self.seen = seen._replace(kept=None)
        self.__cuda_array_interface__ = {"shape": seen.shape, "typestr": seen.typestr, "strides": seen.strides}



class VulkanDevice(Owned):
    """A VkDevice of yours, attached to the CUDA device of the same GPU. All handles are numbers, or pointers of ctypes
    or cffi (those of the package `vulkan`; PySDL2 and glfw give numbers). Without `device` the CUDA device is found by
    the physical device, and closed with this object. The Vulkan handles stay yours and must outlive this object.
    With allow_other_gpu `device` may be another GPU, which works on this one's buffers in place: their tensors are on
    cuda:1, say (docs/two-gpus.md)."""

    _destroy = "culv_vk_detach"

    def __init__(self, device: Optional[Device] = None, *, get_instance_proc_addr: Handle, instance: Handle,
                 physical_device: Handle, vk_device: Handle, api_version: int = 0x403000, label: Optional[str] = None,
                 kernels: bool = False, fallback: int = 0, driver: str = "auto", allow_other_gpu: bool = False,
                 _home: "Optional[_Home]" = None):
        self._desc = describe(d.culv_vk_device_desc, get_instance_proc_addr=get_instance_proc_addr, instance=instance,
                              physical_device=physical_device, device=vk_device, api_version=api_version, label=label,
                              kernels=int(kernels), fallback=fallback, allow_other_gpu=int(allow_other_gpu))
        if 0 < (self._desc.get_instance_proc_addr or 0) < 4096:
            raise ValueError(f"get_instance_proc_addr={self._desc.get_instance_proc_addr} is no address of a function: pass "
                             "culvert.vulkan.get_instance_proc_addr(), or your loader's vkGetInstanceProcAddr")
        own: Optional[Device] = None
        if device is None:
            process.check("VulkanDevice")
            desc = describe(d.culv_device_desc, driver=driver_of(driver), label=label)
            device = own = Device(_made=making("culv_device_open_for_vk", self._desc.get_instance_proc_addr,
                                               self._desc.instance, self._desc.physical_device, desc))
        self.device = device
        self._own_device = own
        try:
            # A context's VkDevice, taken by its number, lives as long as this.
            self._lives_on = _homes.get(self._desc.device or 0)
            if self._lives_on is not None:
                self._lives_on.attached.add(self)
            super().__init__(device, making("culv_vk_attach", device._need(), self._desc), _home)
        except BaseException:
            self.close()
            if own is not None:
                own.close()
            raise

    def _told(self) -> Iterator[str]:
        yield f"VkDevice {self._desc.device or 0:#x}"
        yield f"on {self.device.name!r}"

    def close(self, after: StreamLike = None) -> None:
        super().close()
        if self._own_device is not None:
            own, self._own_device = self._own_device, None
            own.close()

    def buffer(self, size: int, usage: int = DEFAULT_BUFFER_USAGE, *, label: Optional[str] = None,
               memory_properties: Optional[int] = None, memory_kind: Optional[int] = None, fallback: Optional[int] = None,
               host_memory: Optional[int] = None, host_pointer: Handle = None,
               host_size: Optional[int] = None) -> "VulkanBuffer":
        """A VkBuffer and the device pointer of the same bytes (culv_vk_buffer_create_desc)."""
        info = d.VkBufferCreateInfo(size=not_negative(size=size), usage=usage)
        made = describe(d.culv_vk_buffer_create_desc, create_info=info, label=label, memory_properties=memory_properties,
                        memory_kind=memory_kind, fallback=fallback, host_memory=host_memory, host_pointer=host_pointer,
                        host_size=host_size)
        return VulkanBuffer(self, making("culv_vk_buffer_create", self._need(), made), self.device)

    def image(self, format: int, width: int, height: int = 1, depth: int = 1, *, usage: int = DEFAULT_IMAGE_USAGE,
              levels: int = 1, layers: int = 1, label: Optional[str] = None, memory_properties: Optional[int] = None,
              texels: Optional[int] = None, no_surfaces: Optional[bool] = None,
              fallback: Optional[int] = None) -> "VulkanImage":
        """A VkImage and its CUDA arrays (culv_vk_image_create_desc)."""
        not_negative(2**32 - 1, width=width, height=height, depth=depth, levels=levels, layers=layers)
        info = d.VkImageCreateInfo(
            imageType=d.VK_IMAGE_TYPE_3D if depth > 1 else d.VK_IMAGE_TYPE_2D, format=format,
            extent=d.VkExtent3D(width, height, depth), mipLevels=levels, arrayLayers=layers,
            samples=d.VK_SAMPLE_COUNT_1_BIT, tiling=d.VK_IMAGE_TILING_OPTIMAL, usage=usage)
        made = describe(d.culv_vk_image_create_desc, create_info=info, label=label, memory_properties=memory_properties,
                        texels=texels, no_surfaces=no_surfaces, fallback=fallback)
        return VulkanImage(self, making("culv_vk_image_create", self._need(), made), info)

    def timeline(self, value: int = 0, *, label: Optional[str] = None, untracked: Optional[bool] = None,
                 fallback: Optional[int] = None) -> "VulkanSemaphore":
        """A timeline of both sides (culv_vk_semaphore_create_desc)."""
        made = describe(d.culv_vk_semaphore_create_desc, initial_value=value, label=label, untracked=untracked,
                        fallback=fallback, type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE)
        return VulkanSemaphore(self, making("culv_vk_semaphore_create", self._need(), made))

    def import_memory(self, memory: Handle, size: int, dedicated: bool = False, *, buffer: Handle = None,
                      buffer_offset: Optional[int] = None, image: Handle = None, image_offset: Optional[int] = None,
                      label: Optional[str] = None) -> Memory:
        """Exportable VkDeviceMemory of yours (culv_vk_memory_desc)."""
        made = describe(d.culv_vk_memory_desc, memory=memory, allocation_size=size, dedicated=int(dedicated), buffer=buffer,
                        buffer_offset=buffer_offset, image=image, image_offset=image_offset, label=label)
        return Memory(self, making("culv_vk_memory_import", self._need(), made))

    def import_timeline(self, semaphore: Handle, *, label: Optional[str] = None, untracked: Optional[bool] = None,
                        signal_pending: Optional[bool] = None) -> Semaphore:
        """An exportable timeline VkSemaphore of yours."""
        made = describe(d.culv_vk_semaphore_desc, semaphore=semaphore, label=label, untracked=untracked,
                        signal_pending=signal_pending, type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE)
        return Semaphore(self, making("culv_vk_semaphore_import", self._need(), made))

    def linear_image(self, memory: Memory, image: Handle, create_info: d.VkImageCreateInfo, level: int = 0,
                     offset: int = 0) -> "LinearImage":
        """A LINEAR VkImage of yours, bound to imported memory, as a buffer with pitches."""
        made = describe(d.culv_vk_image_desc, image=image, create_info=create_info, offset=offset)
        layout = describe(d.culv_subresource_layout)
        return LinearImage(memory, making("culv_vk_image_map_pitched", self._need(), memory._need(), made, level, 0, OUT, layout),
                           self.device, layout)

    def ring(self, queue: Handle, queue_family: int, resources: Sequence[d.culv_vk_ring_resource], depth: int = 3,
             vulkan_consumes: bool = True, *, label: Optional[str] = None, wait_stage: Optional[int] = None,
             waits: Optional[int] = None, settings: Optional[Structure] = None) -> "Ring":
        """Frames in flight between the two sides (culv_vk_ring_desc). Culvert.ring_buffer() and ring_image() make
        resources."""
        if isinstance(resources, d.culv_vk_ring_resource):
            resources = [resources]
        for resource in resources:
            if not isinstance(resource, d.culv_vk_ring_resource):
                raise TypeError(f"{resource!r} is nothing that a slot has: make it by culvert.ring_buffer() or ring_image()")
        array = (d.culv_vk_ring_resource * max(len(resources), 1))(*resources)
        side = d.culv_ring_side.CULV_RING_CONSUMER if vulkan_consumes else d.culv_ring_side.CULV_RING_PRODUCER
        made = describe(d.culv_vk_ring_desc, max_depth=depth, resources=array, num_resources=len(resources),
                        queue_family=queue_family, label=label, wait_stage=wait_stage, waits=waits, settings=settings)
        made.side = side
        ring = Ring(self, making("culv_vk_ring_create", self._need(), handle(queue), made), self.device, side, depth,
                    len(resources))
        ring._queue = queue
        return ring

    def vector_view(self, vector: "Vector", usage: int = DEFAULT_BUFFER_USAGE, sparse_queue: Handle = None,
                    sparse_size: int = 0) -> "VectorView":
        """A vector's chunks as VkBuffers, or all of it as one sparse VkBuffer."""
        made = describe(d.culv_vk_vector_view_desc, usage=usage, sparse_queue=sparse_queue, sparse_size=sparse_size)
        return VectorView(self, making("culv_vk_vector_view_create", self._need(), vector._need(), made), vector)

    def adopt(self, tensor: Union[TensorLike, int, c_void_p], size: Optional[int] = None, usage: Optional[int] = None,
              sparse_queue: Handle = None) -> "AdoptedBuffer":
        """The memory of a tensor of anybody's (or of a device pointer and its size) as Vulkan buffers, where it lies.
        PyTorch's tensors need PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; others are refused with the reason."""
        layout, there = None, tensor  # its kind goes with `size`
        if size is None:
            seen = look(there).require()
            layout = _Layout(seen)
            pointer, size = seen.span
        else:
            pointer, size = handle(there), not_negative(size=size)
        if usage is None:
            usage = DEFAULT_BUFFER_USAGE | (d.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT if self._desc.kernels else 0)
        desc = describe(d.culv_vk_adopted_desc, usage=usage, sparse_queue=sparse_queue)
        adopted = Pointer()
        try:
            api.culv_vmm_adopt(self.device._need(), pointer, size, byref(adopted))
            return AdoptedBuffer(self, making("culv_vk_adopted_create", self._need(), adopted.value, desc), adopted, pointer, layout)
        except BaseException:
            api.culv_vmm_adopted_destroy(byref(adopted))
            raise

    def queue_kernels(self, kernels: Kernels) -> QueueKernels:
        """Kernels for command buffers (culvert/vulkan_kernel.h)."""
        return QueueKernels(self, making("culv_vk_kernels_create", self._need(), kernels._need()), kernels)

    def buffer_transfer(self, buffer: Handle, queue_family: int, to_vulkan: bool, *, offset: Optional[int] = None,
                        size: Optional[int] = None, use: Optional[int] = None, stage: Optional[int] = None,
                        access: Optional[int] = None) -> d.VkBufferMemoryBarrier2:
        """The barrier that takes a buffer from CUDA (to_vulkan) or gives it back (culv_vk_buffer_transfer)."""
        t = describe(d.culv_vk_buffer_transfer, buffer=buffer, queue_family=queue_family, offset=offset, size=size, use=use,
                     stage=stage, access=access)
        return _barrier("culv_vk_buffer_get_barrier2", t, to_vulkan, d.VkBufferMemoryBarrier2())

    def image_transfer(self, image: Handle, queue_family: int, to_vulkan: bool, **fields: int) -> d.VkImageMemoryBarrier2:
        """The same for an image, with the fields of culv_vk_image_transfer."""
        t = describe(d.culv_vk_image_transfer, image=image, queue_family=queue_family, **fields)
        return _barrier("culv_vk_image_get_barrier2", t, to_vulkan, d.VkImageMemoryBarrier2())


_Barrier = TypeVar("_Barrier", bound=Structure)


def _barrier(function: str, transfer: Structure, to_vulkan: bool, out: _Barrier) -> _Barrier:
    direction = d.culv_vk_direction.CULV_VK_ACQUIRE if to_vulkan else d.culv_vk_direction.CULV_VK_RELEASE
    getattr(api, function)(transfer, direction, out)
    return out


class VulkanBuffer(Buffer):
    """A VkBuffer that Culvert made, and its bytes in CUDA."""

    _destroy = "culv_shared_buffer_destroy"
    _inner: Optional[Pointer] = None

    def _cuda(self) -> Any:
        pointer = self._need()
        if self._inner is None:
            self._inner = self._behind(api.culv_shared_buffer_cuda(pointer))
        return self._inner

    @property
    def handle(self) -> int:
        """The VkBuffer."""
        return api.culv_vk_buffer_handle(self._need()) or 0

    @property
    def memory(self) -> int:
        """The VkDeviceMemory."""
        return api.culv_vk_buffer_memory(self._need(), None) or 0

    @property
    def address(self) -> int:
        """The VkDeviceAddress, or 0."""
        return api.culv_vk_buffer_address(self._need())


class LinearImage(Buffer):
    """A level of a LINEAR image."""

    def __init__(self, parent: Memory, made: Making, device: Device, layout: d.culv_subresource_layout):
        super().__init__(parent, made, device)
        self.layout = layout

    def texels(self, dtype: DType = "uint8", channels: int = 4, *, read_only: bool = False,
               stream: StreamLike = None) -> Tensor:
        """Rows, columns and channels, with the image's pitches."""
        from ._tensor import type_of
        code, bits, _ = type_of(dtype)
        shape, strides = (ctypes.c_int64 * 4)(), (ctypes.c_int64 * 4)()
        desc = describe(d.culv_dlpack_desc)
        desc.type = d.culv_dl_type(code, bits, 1)
        api.culv_dlpack_describe_image(self.layout, channels, desc, shape, strides)
        return self.tensor(dtype, list(shape)[:desc.ndim], strides=list(strides)[:desc.ndim], read_only=read_only,
                           stream=stream)


class Arrays:
    """What has an image in CUDA's arrays."""

    if TYPE_CHECKING:
        _device: Device
        format: int
        width: int
        height: int
        depth: int
        levels: int
        layers: int

        def _cuda(self) -> Any: ...

    def _told(self) -> Iterator[str]:
        yield " x ".join(str(n) for n in (self.width, self.height, *([self.depth] if self.depth > 1 else [])))
        yield f"VkFormat {self.format}"
        for count, what in ((self.levels, "levels"), (self.layers, "layers")):
            if count > 1:
                yield f"{count} {what}"
        yield f"on {self._device.name!r}"

    def array(self, level: int = 0, plane: int = 0) -> int:
        """The CUarray of a level, or of a plane of NV12 and its kin."""
        return _make("culv_image_get_array", self._cuda(), level, plane)

    def surface(self, level: int = 0, plane: int = 0) -> int:
        """The surface object of a level or plane, for kernels."""
        out = c_uint64()
        api.culv_image_get_surface(self._cuda(), level, plane, byref(out))
        return out.value

    def prepare_write(self) -> None:
        """Loads the kernel that makes write() faster. Call it while no work on the GPU waits for this thread (culv_image_prepare_write)."""
        api.culv_image_prepare_write(self._cuda())

    def write(self, tensor: Union[TensorLike, TensorSource], stream: StreamLike = None, level: int = 0) -> None:
        """Copies a contiguous tensor of the GPU's into a whole level, on `stream`, which waits for the tensor's own (culv_image_write)."""
        device, number = self._device, stream_handle(stream)
        source = Source(tensor, number)
        if source.on_host and not device.is_software:
            raise ValueError("the tensor is in host memory: pass a copy on the GPU")
        image, of = self._cuda(), describe(d.culv_subresource_layout)
        api.culv_image_get_layout(image, level, 0, of)
        bytes_ = -(-of.width // of.block_width) * -(-of.height // of.block_height) * of.depth * of.array_layers * of.bytes_per_block
        if source.size != bytes_:
            raise ValueError(f"the tensor is {source.shape} of {source.dtype}, {source.size} bytes; level {level} has {of.width} x "
                             f"{of.height} x {of.depth} texels in {of.array_layers} layers, {bytes_} bytes")
        if source.stream is not None and source.stream != (number or _LEGACY):
            api.culv_dlpack_hand_over(device._need(), source.stream, number or _LEGACY)
        field = describe(d.culv_image_field)
        field.pointer, field.level = source.address, level
        api.culv_image_write(image, field, number)


class VulkanImage(Arrays, Owned):
    """A VkImage that Culvert made, and its arrays in CUDA."""

    _destroy = "culv_shared_image_destroy"

    def __init__(self, parent: VulkanDevice, made: Making, info: d.VkImageCreateInfo):
        super().__init__(parent, made)
        self._device, self._info = parent.device, info
        self.width, self.height, self.depth = info.extent.width, info.extent.height, info.extent.depth
        self.format, self.levels, self.layers = info.format, info.mipLevels, info.arrayLayers

    @property
    def handle(self) -> int:
        """The VkImage."""
        return api.culv_vk_image_handle(self._need()) or 0

    def _cuda(self) -> Any:
        return self._behind(api.culv_shared_image_cuda(self._need()))


class VulkanSemaphore(Semaphore):
    """A VkSemaphore that Culvert made, and its half in CUDA."""

    _destroy = "culv_shared_semaphore_destroy"
    _inner: Optional[Pointer] = None

    def __init__(self, parent: VulkanDevice, made: Making):
        super().__init__(parent, made)
        self._number = api.culv_vk_semaphore_handle(self._need()) or 0
        if self._home is not None:
            with looks:
                self._need()  # another thread may have closed it
                self._turns = self._home.turns
                self._turns.known.add(self._number)
                _lasts[self._key].left[:] = self._left_over()

    def _goes(self) -> None:
        if self._turns is not None:
            self._turns.forget(self._number)  # before: another thread may be reading it

    def _left_over(self) -> List[Left]:
        return [(self._destroy, self._as_parameter_, self._number)]

    def _cuda(self) -> Any:
        pointer = self._need()
        if self._inner is None:
            self._inner = self._behind(api.culv_shared_semaphore_cuda(pointer))
        return self._inner

    @property
    def handle(self) -> int:
        """The VkSemaphore."""
        self._need()
        return self._number


def ring_buffer(size: int, usage: int = DEFAULT_BUFFER_USAGE, **fields: int) -> d.culv_vk_ring_resource:
    """A buffer in each slot of a ring, with the fields of culv_vk_ring_resource."""
    info = d.VkBufferCreateInfo(size=not_negative(size=size), usage=usage)
    return describe(d.culv_vk_ring_resource, buffer=describe(d.culv_vk_buffer_create_desc, create_info=info), **fields)


def ring_image(format: int, width: int, height: int, usage: int = DEFAULT_IMAGE_USAGE,
               **fields: int) -> d.culv_vk_ring_resource:
    """An image in each slot of a ring, with the fields of culv_vk_ring_resource."""
    not_negative(2**32 - 1, width=width, height=height)
    info = d.VkImageCreateInfo(
        imageType=d.VK_IMAGE_TYPE_2D, format=format, extent=d.VkExtent3D(width, height, 1), mipLevels=1,
        arrayLayers=1, samples=d.VK_SAMPLE_COUNT_1_BIT, tiling=d.VK_IMAGE_TILING_OPTIMAL, usage=usage)
    return describe(d.culv_vk_ring_resource, image=describe(d.culv_vk_image_create_desc, create_info=info), **fields)


class Slot(Single, TensorSource):
    """A buffer of a ring's slot, which the ring owns."""

    def __init__(self, ring: "Ring", slot: int, resource: int):
        self._ring, self._slot, self._resource = ring, slot, resource

    def _vk(self) -> Pointer:
        buffer = api.culv_ring_shared_buffer(self._ring._need(), self._slot, self._resource)
        if not buffer:
            raise IndexError(f"slot {self._slot} has no buffer {self._resource}")
        return self._ring._behind(buffer)

    def _cuda(self) -> Pointer:
        return self._ring._behind(api.culv_shared_buffer_cuda(self._vk()))

    def _device_of(self) -> Any:
        return self._ring.device._need()

    def __repr__(self) -> str:
        return told(self, self._ring.closed, self._told())

    def _told(self) -> Iterator[str]:
        yield f"slot {self._slot}"
        yield f"{self.size} bytes"
        yield f"pointer {self.pointer:#x}"
        yield f"on {self._ring.device.name!r}"

    @property
    def closed(self) -> bool:
        return self._ring.closed

    @property
    def handle(self) -> int:
        """The VkBuffer."""
        return api.culv_vk_buffer_handle(self._vk()) or 0

    @property
    def pointer(self) -> int:
        return api.culv_ring_pointer(self._ring._need(), self._slot, self._resource)

    @property
    def size(self) -> int:
        return api.culv_buffer_size(self._cuda())

    @property
    def address(self) -> int:
        """The VkDeviceAddress, or 0."""
        return api.culv_vk_buffer_address(self._vk())

    def _get_dlpack(self, desc: Any, out: Any) -> None:
        api.culv_buffer_get_dlpack(self._cuda(), desc, out)


class RingFrame(Single):
    """CUDA's turn with a slot of a ring. It ends with the block of Ring.cuda(): the slot is the other side's then."""

    def __init__(self, ring: "Ring", frame: d.culv_ring_frame):
        self._ring, self.frame = ring, frame
        self._over = False

    def __repr__(self) -> str:
        return told(self, self._over, [f"frame {self.number}", f"slot {self.slot}", f"of {self._ring!r}"])

    @property
    def number(self) -> int:
        return self.frame.number

    @property
    def slot(self) -> int:
        return self.frame.slot

    def buffer(self, resource: int = 0) -> Slot:
        if self._over:
            raise ValueError(f"frame {self.number} was given back, and its slot is the other side's; use it inside the "
                             "block of ring.cuda()")
        return Slot(self._ring, self.frame.slot, resource)

    def tensor(self, dtype: DType = "uint8", shape: Optional[Shape] = None, resource: int = 0, *,
               strides: Optional[Sequence[int]] = None, offset: int = 0, read_only: bool = False,
               stream: StreamLike = None) -> Tensor:
        return self.buffer(resource).tensor(dtype, shape, strides=strides, offset=offset, read_only=read_only, stream=stream)


class VulkanFrame(Single):
    """Vulkan's turn with a slot of a ring: what is recorded in `commands` works with it. It ends with the block of
    Ring.frame()."""

    def __init__(self, ring: "Ring", frame: d.culv_ring_frame):
        self._ring, self.frame, self._commands = ring, frame, 0
        self._over = False

    def __repr__(self) -> str:
        return told(self, self._over, [f"frame {self.number}", f"slot {self.slot}", f"of {self._ring!r}"])

    @property
    def number(self) -> int:
        return self.frame.number

    @property
    def slot(self) -> int:
        return self.frame.slot

    def _need(self) -> None:
        if self._over:
            raise ValueError(f"frame {self.number} was submitted, and its slot is the other side's; use it inside the block of "
                             "ring.frame()")

    @property
    def commands(self) -> int:
        """The VkCommandBuffer. The slot is Vulkan's in it."""
        self._need()
        return self._commands

    def buffer(self, resource: int = 0) -> Slot:
        self._need()
        return Slot(self._ring, self.slot, resource)

    def image(self, resource: int = 0) -> int:
        """The VkImage."""
        self._need()
        return self._ring.image(self.slot, resource)


class Ring(Owned):
    """Slots that the two sides use in turn. CUDA's side is `with ring.cuda(stream) as frame:`, Vulkan's is
    `with ring.frame() as frame:`, or acquire(), submit() and flush()."""

    _destroy = "culv_ring_destroy"

    def __init__(self, parent: VulkanDevice, made: Making, device: Device, side: d.culv_ring_side, depth: int, resources: int):
        self._recorded: List[Tuple[int, int]] = []  # (a command buffer, the value that is signaled behind it, or 0)
        self._free: List[int] = []
        super().__init__(parent, made)
        self.device = device
        self.side = side
        self._depth, self._resources = depth, resources
        self._queue: Handle = 0
        self._other = d.culv_ring_side.CULV_RING_PRODUCER if side == d.culv_ring_side.CULV_RING_CONSUMER \
            else d.culv_ring_side.CULV_RING_CONSUMER

    def __len__(self) -> int:
        """How many slots it has."""
        return self._depth

    def _told(self) -> Iterator[str]:
        yield f"{self._depth} slots of {self._resources} resource{'s' if self._resources != 1 else ''}"
        yield f"Vulkan {'consumes' if self.side == d.culv_ring_side.CULV_RING_CONSUMER else 'produces'}"
        yield f"on {self.device.name!r}"

    @contextlib.contextmanager
    def cuda(self, stream: StreamLike = None, timeout: int = 10 * SECOND) -> Iterator[RingFrame]:
        """CUDA's turn: the stream waits for the other side before, and signals after. After an exception the slot is
        given back as if it had not been acquired. On the software twin, whose tensors are the host's, the host waits
        with the stream."""
        frame, end = d.culv_ring_frame(slot=NO_SLOT), Once()
        number = stream_handle(stream)
        turn = RingFrame(self, frame)
        try:
            self._in_slices(lambda slice_: api.culv_ring_acquire_on(self._need(), self._other, number, slice_, byref(frame)),
                            timeout)
            _host_follows(self.device, number, timeout,
                          lambda: f"the other side's work with slot {frame.slot} has not ended in time")
            yield turn
            turn._over = True
            end("culv_ring_release_on", self._need(), self._other, number, byref(frame))
        except BaseException:
            turn._over = True
            end.last(lambda: self._cancel(end, self._other, frame))
            raise

    def _cancel(self, end: Once, side: d.culv_ring_side, frame: d.culv_ring_frame) -> None:
        if frame.slot != NO_SLOT and not self.closed:  # as it may be when the interpreter ends
            end("culv_ring_cancel", self._need(), side, byref(frame))

    @staticmethod
    def _in_slices(call: Callable[[int], Any], timeout: int) -> None:
        """A call that waits up to the time that it is given, again and again, so that Ctrl-C is heard."""
        end = time.monotonic_ns() + timeout
        while True:
            left = end - time.monotonic_ns()
            try:
                call(max(min(left, SLICE), 0))
                return
            except LateError as e:
                if left <= SLICE:
                    raise e.after(timeout)

    def flush(self, stream: StreamLike = None) -> None:
        """CUDA's side hands over a burst that is not full."""
        api.culv_ring_flush_on(self._need(), self._other, stream_handle(stream))

    def acquire(self, timeout: int = 10 * SECOND) -> d.culv_ring_frame:
        """Vulkan's turn (culv_ring_acquire)."""
        frame = d.culv_ring_frame()
        self._acquire(timeout, frame)
        return frame

    def _acquire(self, timeout: int, frame: d.culv_ring_frame) -> None:
        self._in_slices(lambda slice_: api.culv_ring_acquire(self._need(), self.side, slice_, byref(frame)), timeout)

    def barriers(self, slot: int, which: Literal["acquire", "release"]) -> int:
        """The barriers of a slot, for vkCmdPipelineBarrier2(): "acquire" before its use, "release" behind (a
        VkDependencyInfo, culv_vk_ring_barriers)."""
        direction = {"acquire": d.culv_vk_direction.CULV_VK_ACQUIRE, "release": d.culv_vk_direction.CULV_VK_RELEASE}[which]
        return api.culv_vk_ring_barriers(self._need(), slot, direction) or 0

    def submit(self, queue: Handle, commands: Handle, frame: d.culv_ring_frame, fence: Handle = None) -> None:
        """Releases the frame and submits its command buffer."""
        self._submit(Once(), queue, commands, fence, frame)

    def _submit(self, end: Once, queue: Handle, commands: Handle, fence: Handle, frame: d.culv_ring_frame) -> None:
        with self._lock():
            if self._home is not None:
                self._home.uncounted = True  # first: its end waits for this
            end("culv_vk_ring_submit", self._need(), handle(queue), handle(commands), handle(fence), byref(frame))

    def _lock(self) -> Any:
        """Of the queue, where it is a context's."""
        return contextlib.nullcontext() if self._home is None else self._home.lock

    @contextlib.contextmanager
    def frame(self, timeout: int = 10 * SECOND) -> Iterator[VulkanFrame]:
        """Vulkan's turn, in a command buffer of the context's: it is begun and has the barrier before; at the end of the block
        it gets the barrier behind and is submitted. After an exception the slot is given back as if it had not been
        acquired, and nothing is submitted."""
        home = self._home
        if home is None:
            raise TypeError("frame() records in a command buffer of a context's, and this ring is on a VkDevice of yours: use "
                            "acquire() and submit()")
        got, end, f = d.culv_ring_frame(slot=NO_SLOT), Once(), home.functions
        turn = VulkanFrame(self, got)
        try:
            self._acquire(timeout, got)
            with home.lock:
                commands = turn._commands = self._commands()
            f.vkBeginCommandBuffer(commands, d.VkCommandBufferBeginInfo(flags=d.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT))
            f.vkCmdPipelineBarrier2(commands, self.barriers(got.slot, "acquire"))
            yield turn
            turn._over = True
            f.vkCmdPipelineBarrier2(commands, self.barriers(got.slot, "release"))
            f.vkEndCommandBuffer(commands)
            self._submit(end, self._queue, commands, None, got)
            self._recorded.append((commands, got.signal_value))
        except BaseException:
            turn._over = True
            if end.left and turn._commands and not self.closed:
                self._free.append(turn._commands)
            end.last(lambda: self._cancel(end, self.side, got))
            raise

    def close(self, after: StreamLike = None) -> None:
        super().close(after)
        if self.closed:
            self._retire()

    def _give_up(self) -> None:
        self._retire()
        super()._give_up()

    def _retire(self) -> None:
        if self._home is not None:
            self._home.retired += [*self._free, *(commands for commands, _ in self._recorded)]
        self._free, self._recorded = [], []

    def _commands(self) -> int:
        """A command buffer with which the queue has done. In a burst the last one has the signal for all."""
        assert self._home is not None
        if self._recorded:
            reached = self._home._counter(api.culv_vk_ring_semaphore(self._need(), self.side) or 0)
            done = max((i + 1 for i, (_, value) in enumerate(self._recorded) if 0 < value <= reached), default=0)
            self._free += [commands for commands, _ in self._recorded[:done]]
            del self._recorded[:done]
        me = threading.get_ident()
        mine = next((i for i, commands in enumerate(self._free) if self._home.made_by.get(commands) == me), None)
        return self._home.commands() if mine is None else self._free.pop(mine)

    def buffer(self, slot: int, resource: int = 0) -> Slot:
        return Slot(self, slot, resource)

    def image(self, slot: int, resource: int = 0) -> int:
        """The VkImage of a slot."""
        return api.culv_vk_image_handle(self._behind(api.culv_ring_shared_image(self._need(), slot, resource))) or 0

    def drain(self, timeout: int = 10 * SECOND, force: bool = False) -> None:
        """Waits until the GPU has done with all frames that were handed over."""
        if force:
            api.culv_ring_drain(self._need(), timeout, 1)
        else:
            self._in_slices(lambda slice_: api.culv_ring_drain(self._need(), slice_, 0), timeout)


class Vector(Owned, TensorSource):
    """A buffer of CUDA's memory that grows without copying."""

    _destroy = "culv_vector_destroy"

    def __init__(self, device: Device, size: int = 0, *, exportable: bool = False, **desc: Any):
        self._device = device
        if exportable:
            desc["handle_types"] = 1 << d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        made = describe(d.culv_vector_desc, size=size, **desc)
        super().__init__(device, making("culv_vector_create", device._need(), made))

    def _device_of(self) -> Any:
        return self._device._need()

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield f"{self.committed} committed"
        yield f"pointer {self.pointer:#x}"
        yield f"on {self._device.name!r}"

    def grow(self, size: int) -> None:
        api.culv_vector_grow(self._need(), not_negative(size=size))

    def shrink(self, size: int, last_use: StreamLike = None) -> None:
        api.culv_vector_shrink(self._need(), not_negative(size=size), stream_handle(last_use))

    @property
    def pointer(self) -> int:
        return api.culv_vector_pointer(self._need())

    @property
    def size(self) -> int:
        return api.culv_vector_size(self._need())

    @property
    def committed(self) -> int:
        return api.culv_vector_committed(self._need())

    def _get_dlpack(self, desc: Any, out: Any) -> None:
        api.culv_vector_get_dlpack(self._need(), desc, out)


class VectorView(Owned):
    """Vulkan's view of a vector."""

    _destroy = "culv_vector_view_destroy"

    def __init__(self, parent: VulkanDevice, made: Making, vector: "Vector"):
        super().__init__(parent, made)
        self._vector = vector

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield f"{len(self.buffers())} VkBuffers"
        yield f"of {self._vector!r}"

    @property
    def nbytes(self) -> int:
        return self.size

    @property
    def pointer(self) -> int:
        """The vector's device pointer."""
        return self._vector.pointer

    @property
    def size(self) -> int:
        return self._vector.size

    @property
    def address(self) -> int:
        """The VkDeviceAddress of the first byte. The view has the usage SHADER_DEVICE_ADDRESS and one buffer."""
        out = c_uint64()
        api.culv_vk_vector_view_get_address(self._need(), byref(out))
        return out.value

    def update(self) -> None:
        """Imports what the vector has got since."""
        api.culv_vector_view_update(self._need())

    def buffers(self) -> List[d.culv_part]:
        """VkBuffers with their offsets in the vector."""
        count = ctypes.c_size_t()
        api.culv_vector_view_get_parts(self._need(), None, 0, byref(count))
        parts = (d.culv_part * max(count.value, 1))()
        api.culv_vector_view_get_parts(self._need(), parts, count.value, byref(count))
        return list(parts)[:count.value]


class AdoptedBuffer(Owned):
    """Somebody's tensor in Vulkan. It keeps the tensor's memory alive, but the tensor's owner may map other memory at
    its address: check() notices that."""

    _destroy = "culv_vk_adopted_destroy"

    def __init__(self, parent: VulkanDevice, made: Making, adopted: Pointer, pointer: int, layout: Optional[_Layout]):
        self._adopted = adopted
        super().__init__(parent, made)
        self.pointer = pointer
        self.layout_of = layout  # for Numba's kernels
        self._device = parent.device

    def __repr__(self) -> str:
        return told(self, self.closed, self._told(), "mapped" if self.closed or process.forked or self.is_current else "replaced")

    def _told(self) -> Iterator[str]:
        yield f"{self.size} bytes"
        yield f"pointer {self.pointer:#x}"
        yield f"{len(self.buffers())} VkBuffers"
        yield f"on {self._device.name!r}"

    @property
    def nbytes(self) -> int:
        return self.size

    def _left(self) -> None:
        if self._gate.shut_by == Gate.GONE:  # else another thread is making the view of it
            api.culv_vmm_adopted_destroy(byref(self._adopted))
        super()._left()

    def _left_over(self) -> List[Left]:
        self._adopted.gate = self._gate
        return [*super()._left_over(), ("culv_vmm_adopted_destroy", self._adopted, 0)]

    def check(self) -> None:
        """Raises InvalidError (NOT_MAPPED) when the memory was unmapped or replaced: adopt the tensor anew."""
        self._need()
        api.culv_vmm_check_adopted(self._adopted)

    @property
    def is_current(self) -> bool:
        try:
            self.check()
        except InvalidError as e:
            if e.reason != "NOT_MAPPED":
                raise
            return False
        return True

    def buffers(self) -> List[d.culv_part]:
        """VkBuffers with the offset of the tensor's part in each: one for each chunk, or one sparse buffer."""
        count = ctypes.c_size_t()
        api.culv_vk_adopted_get_parts(self._need(), None, 0, byref(count))
        parts = (d.culv_part * max(count.value, 1))()
        api.culv_vk_adopted_get_parts(self._need(), parts, count.value, byref(count))
        return list(parts)[:count.value]

    def _one(self) -> d.culv_part:
        parts = self.buffers()
        if len(parts) != 1:
            raise ValueError(f"the tensor lies in {len(parts)} buffers; use buffers(), or give a sparse queue")
        return parts[0]

    @property
    def handle(self) -> int:
        """The VkBuffer, where there is one."""
        return self._one().buffer

    @property
    def offset(self) -> int:
        """Where the tensor begins in it, in bytes."""
        return self._one().inner_offset

    @property
    def size(self) -> int:
        return api.culv_vmm_adopted_size(self._adopted)

    @property
    def address(self) -> int:
        """The VkDeviceAddress of the tensor's first byte, where there is one buffer. `usage` has the bit
        SHADER_DEVICE_ADDRESS, as it has by itself where the VulkanDevice was made with kernels=True."""
        part, out = self._one(), c_uint64()
        api.culv_vk_get_buffer_address(self._parent and self._parent._need(), part.buffer, byref(out))
        return out.value + part.inner_offset


def buffer(tensor: Union[TensorLike, int, c_void_p], vk: Optional[VulkanDevice] = None, *, size: Optional[int] = None,
           usage: Optional[int] = None, sparse_queue: Handle = None) -> AdoptedBuffer:
    """A tensor of an unmodified program in Vulkan (VulkanDevice.adopt). `vk` may be left out where one is open."""
    if vk is None:
        from ._lib import _roots
        with looks:
            there = [c for root in list(_roots) for c in list(root._children) if isinstance(c, VulkanDevice) and not c.closed]
        if len(there) != 1:
            raise ValueError(f"{len(there)} VulkanDevices are open: say which one is to have the tensor")
        vk = there[0]
    return vk.adopt(tensor, size, usage, sparse_queue)


def info() -> Dict[str, Any]:
    """What there is: versions, and the CUDA devices of each driver with their capabilities, or why there are none."""
    found: Dict[str, Any] = {"version": api.culv_version_string().decode(), "library": library._name, "devices": [],
                             "problems": []}
    for driver in ("nvidia", "soft"):
        ordinal = 0
        while True:
            try:
                with Device(ordinal, driver=driver) as device:
                    caps = device.caps
                    fields: Any = caps._fields_
                    found["devices"].append({
                        "driver": driver, "ordinal": ordinal, "name": device.name, "uuid": device.uuid.hex(),
                        **{n: getattr(caps, n) for n, t in fields
                           if t in (c_uint32, c_uint64) and n != "node_mask"}})
            except Exception as e:  # noqa: BLE001: it is told
                if ordinal == 0:
                    found["problems"].append(f"{driver}: {e}")
                break
            ordinal += 1
    return found
