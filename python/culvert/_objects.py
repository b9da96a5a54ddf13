# SPDX-License-Identifier: MIT
"""Devices, buffers, images, timelines, rings, vectors and kernels. Each class is one object of the C API, whose call
that made it says more: help(culvert.api.culv_vk_buffer_create)."""
import contextlib
import ctypes
import weakref
from ctypes import byref, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from . import _declarations as d
from ._kernels import Kernel, Kernels, QueueKernels, kernel
from ._lib import InvalidError, Owned, _make, api, describe, handle, library, stream_handle
from ._tensor import Tensor, TensorSource, tensor_range

DEFAULT_BUFFER_USAGE = (d.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | d.VK_BUFFER_USAGE_TRANSFER_DST_BIT |
                        d.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | d.VK_BUFFER_USAGE_VERTEX_BUFFER_BIT |
                        d.VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT | d.VK_BUFFER_USAGE_INDEX_BUFFER_BIT)
DEFAULT_IMAGE_USAGE = (d.VK_IMAGE_USAGE_TRANSFER_SRC_BIT | d.VK_IMAGE_USAGE_TRANSFER_DST_BIT |
                       d.VK_IMAGE_USAGE_SAMPLED_BIT | d.VK_IMAGE_USAGE_STORAGE_BIT)
FOREVER = 2**64 - 1
SECOND = 10**9


class Cuda:
    """The driver's functions, of the driver that serves the device: device.cuda.cuMemcpyHtoDAsync(...). A result that
    is not CUDA_SUCCESS is a RuntimeError. Most of them need the device's context: device.make_current()."""

    def __init__(self, device: "Device"):
        self._device = weakref.ref(device)

    def __getattr__(self, name: str):
        try:
            version, parameters = d.CUDA[name]
        except KeyError:
            raise AttributeError(name) from None
        device = self._device()
        address = api.culv_device_cuda_proc(device._need(), name, version)
        if not address:
            raise AttributeError(f"the driver has no {name}")
        raw = ctypes.CFUNCTYPE(ctypes.c_int, *parameters)(address)

        def call(*args):
            answer = raw(*args)
            if answer != 0:
                raise RuntimeError(f"{name}: CUDA error {answer}")

        call.__name__ = name
        call.raw = raw
        setattr(self, name, call)
        return call


class Stream:
    """A CUDA stream of a device's context."""

    def __init__(self, device: "Device", flags: int = 1):
        self._device = device
        device.make_current()
        out = c_void_p()
        device.cuda.cuStreamCreate(byref(out), flags)
        self._as_parameter_ = out

    def __cuda_stream__(self) -> Tuple[int, int]:
        return 0, self._as_parameter_.value or 0

    def synchronize(self) -> None:
        self._device.make_current()
        self._device.cuda.cuStreamSynchronize(self._as_parameter_)

    def close(self) -> None:
        if self._as_parameter_:
            self._device.make_current()
            self._device.cuda.cuStreamDestroy(self._as_parameter_)
            self._as_parameter_ = c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Device(Owned):
    """A CUDA device, by ordinal or UUID. VulkanDevice and culvert.vulkan.open() find the one that is a Vulkan device.
    driver: "auto", "nvidia" or "soft" (the software twin)."""

    _destroy = "culv_device_close"

    def __init__(self, ordinal: int = 0, *, uuid: Optional[bytes] = None, driver: str = "auto",
                 label: Optional[str] = None, context=None, _pointer: int = 0):
        if not _pointer:
            desc = describe(d.culv_device_desc, driver=d.culv_driver["CULV_DRIVER_" + driver.upper()], label=label,
                            context=context)
            if uuid is not None:
                key = d.culv_uuid()
                key.bytes[:] = uuid
                _pointer = _make("culv_device_open_by_uuid", key, desc)
            else:
                _pointer = _make("culv_device_open_by_ordinal", ordinal, desc)
        super().__init__(None, _pointer)
        self.cuda = Cuda(self)
        self._foreign_kernels: Dict[bytes, Kernels] = {}  # of culvert.kernel()
        self._caps = describe(d.culv_device_caps)
        api.culv_device_get_caps(self, self._caps)

    @property
    def caps(self) -> "d.culv_device_caps":
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
        counts = describe(d.culv_device_counts)
        api.culv_device_get_counts(self._need(), counts)
        return {name: getattr(counts, name) for name, _ in counts._fields_ if name != "struct_size"}

    def collect(self) -> int:
        return api.culv_device_collect(self._need())

    def make_current(self) -> None:
        """Makes the device's context the calling thread's."""
        self.cuda.cuCtxSetCurrent(self.context)

    def stream(self) -> Stream:
        """A new stream that does not wait for the legacy default stream."""
        return Stream(self)

    def vector(self, size: int = 0, **desc) -> "Vector":
        """A buffer that grows without copying (culv_vector_desc)."""
        return Vector(self, size, **desc)

    def import_memory(self, fd: int, size: int, dedicated: bool = False, label: Optional[str] = None) -> "Memory":
        """Exported memory of a graphics API by its opaque file descriptor, which stays yours. `size` is that of the
        whole allocation."""
        desc = describe(d.culv_memory_desc, size=size, dedicated=int(dedicated), label=label)
        desc.handle.type = d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        desc.handle.value.fd = fd
        return Memory(self, _make("culv_memory_import_borrow", self._need(), desc))

    def import_timeline(self, fd: int, label: Optional[str] = None) -> "Semaphore":
        """An exported timeline semaphore by its opaque file descriptor, which stays yours."""
        desc = describe(d.culv_semaphore_desc, label=label, type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE)
        desc.handle.type = d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        desc.handle.value.fd = fd
        return Semaphore(self, _make("culv_semaphore_import_borrow", self._need(), desc))

    def kernels(self, source: Union[str, bytes], directory: Optional[str] = None,
                label: Optional[str] = None) -> "Kernels":
        """Kernels of a file (a path; or a name in `directory`, without the driver's ending) or of bytes (a cubin, a
        fatbin, PTX)."""
        if isinstance(source, bytes):
            pointer = _make("culv_kernels_load_data", self._need(), source, len(source), label)
        elif directory is not None:
            pointer = _make("culv_kernels_load", self._need(), directory, source)
        else:
            pointer = _make("culv_kernels_load_file", self._need(), source)
        return Kernels(self, pointer)

    def __repr__(self):
        return "<culvert.Device closed>" if self.closed else f"<culvert.Device {self.name!r}>"


class Buffer(Owned, TensorSource):
    """A range of imported memory, for CUDA."""

    _destroy = "culv_buffer_unmap"

    def _cuda(self):
        return self._need()

    def _device_of(self):
        return self._device._need() if not self._device.closed else None

    def __init__(self, parent, pointer: int, device: Device):
        super().__init__(parent, pointer)
        self._device = device
        self._described = {}

    @property
    def pointer(self) -> int:
        """The device pointer of the first byte."""
        return api.culv_buffer_pointer(self._cuda())

    @property
    def size(self) -> int:
        return api.culv_buffer_size(self._cuda())

    def _get_dlpack(self, desc, out):
        api.culv_buffer_get_dlpack(self._cuda(), desc, out)


class Memory(Owned):
    """An imported allocation. Buffers are ranges of it."""

    _destroy = "culv_memory_destroy"

    @property
    def size(self) -> int:
        return api.culv_memory_size(self._need())

    def buffer(self, offset: int = 0, size: int = 0) -> Buffer:
        desc = describe(d.culv_buffer_desc, offset=offset, size=size)
        device = self._parent if isinstance(self._parent, Device) else self._parent.device
        return Buffer(self, _make("culv_buffer_map", self._need(), desc), device)


class Semaphore(Owned):
    """A timeline or a binary semaphore, for CUDA's streams."""

    _destroy = "culv_semaphore_destroy"

    def _cuda(self):
        return self._need()

    def signal(self, stream, value: int = 0) -> None:
        """The stream signals it when it gets there."""
        api.culv_semaphore_signal(self._cuda(), stream_handle(stream), value)

    def wait(self, stream, value: int = 0) -> None:
        """The stream waits; the host does not."""
        api.culv_semaphore_wait(self._cuda(), stream_handle(stream), value)

    @property
    def last_value(self) -> int:
        return api.culv_semaphore_last_value(self._cuda())

    def frame(self, wait: Optional[int] = None, signal: Optional[int] = None) -> "TimelineFrame":
        """CUDA's turn between two values: `with timeline.frame(wait=1, signal=2).cuda(stream):`."""
        return TimelineFrame(self, wait, signal)


def _host_follows(device: Device, stream) -> None:
    """NumPy works when it is called, not when a stream gets there."""
    if device.is_software:
        api.culv_dlpack_hand_over(device._need(), stream_handle(stream),
                                  d.culv_dlpack_stream.CULV_DLPACK_STREAM_HOST)


class TimelineFrame:
    """CUDA's turn with what a timeline orders."""

    def __init__(self, semaphore: Semaphore, wait: Optional[int], signal: Optional[int]):
        self._semaphore, self._wait, self._signal = semaphore, wait, signal

    def cuda(self, stream=None) -> "_Turn":
        """Waits on the stream before, and signals after. It signals after an exception too, because the other side
        would wait for ever. On the software twin, whose tensors are the host's, the host waits with the stream."""
        return _Turn(self, stream_handle(stream))


class _Turn:
    """What `with` holds. A class, since a generator takes longer than the calls."""

    def __init__(self, frame: TimelineFrame, stream: int):
        self._frame, self._stream = frame, stream

    def __enter__(self) -> TimelineFrame:
        frame = self._frame
        if frame._wait is not None:
            frame._semaphore.wait(self._stream, frame._wait)
            try:
                _host_follows(getattr(frame._semaphore._parent, "device", frame._semaphore._parent), self._stream)
            except BaseException:
                self.__exit__()
                raise
        return frame

    def __exit__(self, *_) -> None:
        if self._frame._signal is not None:
            self._frame._semaphore.signal(self._stream, self._frame._signal)


class _Layout:
    """A tensor's shape, without the tensor."""

    def __init__(self, interface):
        self.__cuda_array_interface__ = interface

    @staticmethod
    def of(tensor) -> "Optional[_Layout]":
        if hasattr(tensor, "data_ptr"):  # PyTorch, which has no interface for tensors that want a gradient
            size = tensor.element_size()
            return _Layout({"shape": tuple(tensor.shape), "typestr": f"|V{size}",
                            "strides": tuple(n * size for n in tensor.stride())})
        there = getattr(tensor, "__cuda_array_interface__", None) or getattr(tensor, "__array_interface__", None)
        return _Layout({k: there[k] for k in ("shape", "typestr", "strides") if k in there}) if there else None


class VulkanDevice(Owned):
    """A VkDevice of yours, attached to the CUDA device of the same GPU. All handles are numbers, or pointers of ctypes
    or cffi (those of the package `vulkan`; PySDL2 and glfw give numbers). Without `device` the CUDA device is found by
    the physical device, and closed with this object. The Vulkan handles stay yours and must outlive this object."""

    _destroy = "culv_vk_detach"

    def __init__(self, device: Optional[Device] = None, *, get_instance_proc_addr, instance, physical_device,
                 vk_device, api_version: int = 0x403000, label: Optional[str] = None, kernels: bool = False,
                 fallback: int = 0, driver: str = "auto"):
        self._desc = describe(d.culv_vk_device_desc, get_instance_proc_addr=get_instance_proc_addr, instance=instance,
                              physical_device=physical_device, device=vk_device, api_version=api_version, label=label,
                              kernels=int(kernels), fallback=fallback)
        own = None
        if device is None:
            desc = describe(d.culv_device_desc, driver=d.culv_driver["CULV_DRIVER_" + driver.upper()], label=label)
            device = own = Device(_pointer=_make("culv_device_open_for_vulkan", self._desc.get_instance_proc_addr,
                                                 self._desc.instance, self._desc.physical_device, desc))
        self.device = device
        self._own_device = own
        try:
            pointer = _make("culv_vk_attach", device._need(), self._desc)
        except BaseException:
            if own is not None:
                own.close()
            raise
        super().__init__(device, pointer)

    def close(self, after=None) -> None:
        super().close()
        if self._own_device is not None:
            self._own_device, own = None, self._own_device
            own.close()

    def buffer(self, size: int, usage: int = DEFAULT_BUFFER_USAGE, **desc) -> "VulkanBuffer":
        """A VkBuffer and the device pointer of the same bytes (culv_vk_buffer_create_desc)."""
        info = d.VkBufferCreateInfo(size=size, usage=usage)
        made = describe(d.culv_vk_buffer_create_desc, create_info=info, **desc)
        return VulkanBuffer(self, _make("culv_vk_buffer_create", self._need(), made), self.device)

    def image(self, format: int, width: int, height: int = 1, depth: int = 1, *, usage: int = DEFAULT_IMAGE_USAGE,
              levels: int = 1, layers: int = 1, **desc) -> "VulkanImage":
        """A VkImage and its CUDA arrays (culv_vk_image_create_desc)."""
        info = d.VkImageCreateInfo(
            imageType=d.VK_IMAGE_TYPE_3D if depth > 1 else d.VK_IMAGE_TYPE_2D, format=format,
            extent=d.VkExtent3D(width, height, depth), mipLevels=levels, arrayLayers=layers,
            samples=d.VK_SAMPLE_COUNT_1_BIT, tiling=d.VK_IMAGE_TILING_OPTIMAL, usage=usage)
        made = describe(d.culv_vk_image_create_desc, create_info=info, **desc)
        return VulkanImage(self, _make("culv_vk_image_create", self._need(), made))

    def timeline(self, value: int = 0, **desc) -> "VulkanSemaphore":
        """A timeline of both sides (culv_vk_semaphore_create_desc)."""
        made = describe(d.culv_vk_semaphore_create_desc, initial_value=value,
                        type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE, **desc)
        return VulkanSemaphore(self, _make("culv_vk_semaphore_create", self._need(), made))

    def import_memory(self, memory, size: int, dedicated: bool = False, **desc) -> Memory:
        """Exportable VkDeviceMemory of yours (culv_vk_memory_desc)."""
        made = describe(d.culv_vk_memory_desc, memory=memory, allocation_size=size, dedicated=int(dedicated), **desc)
        return Memory(self, _make("culv_vk_memory_import", self._need(), made))

    def import_timeline(self, semaphore, **desc) -> Semaphore:
        """An exportable timeline VkSemaphore of yours."""
        made = describe(d.culv_vk_semaphore_desc, semaphore=semaphore,
                        type=d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE, **desc)
        return Semaphore(self, _make("culv_vk_semaphore_import", self._need(), made))

    def linear_image(self, memory: Memory, image, create_info: "d.VkImageCreateInfo", level: int = 0,
                     offset: int = 0) -> "LinearImage":
        """A LINEAR VkImage of yours, bound to imported memory, as a buffer with pitches."""
        made = describe(d.culv_vk_image_desc, image=image, create_info=create_info, offset=offset)
        layout = describe(d.culv_subresource_layout)
        out = c_void_p()
        api.culv_vk_image_map_pitched(self._need(), memory._need(), made, level, 0, byref(out), layout)
        return LinearImage(memory, out.value, self.device, layout)

    def ring(self, queue, queue_family: int, resources: Sequence["d.culv_vk_ring_resource"], depth: int = 3,
             vulkan_consumes: bool = True, **desc) -> "Ring":
        """Frames in flight between the two sides (culv_vk_ring_desc). Culvert.ring_buffer() and ring_image() make
        resources."""
        array = (d.culv_vk_ring_resource * max(len(resources), 1))(*resources)
        side = d.culv_ring_side.CULV_RING_CONSUMER if vulkan_consumes else d.culv_ring_side.CULV_RING_PRODUCER
        made = describe(d.culv_vk_ring_desc, max_depth=depth, resources=array, num_resources=len(resources),
                        queue_family=queue_family, **desc)
        made.side = side
        return Ring(self, _make("culv_vk_ring_create", self._need(), handle(queue), made), self.device, side)

    def vector_view(self, vector: "Vector", usage: int = DEFAULT_BUFFER_USAGE, sparse_queue=None,
                    sparse_size: int = 0) -> "VectorView":
        """A vector's chunks as VkBuffers, or all of it as one sparse VkBuffer."""
        made = describe(d.culv_vk_vector_desc, usage=usage, sparse_queue=sparse_queue, sparse_size=sparse_size)
        return VectorView(self, _make("culv_vk_vector_create", self._need(), vector._need(), made), vector)

    def adopt(self, tensor, size: Optional[int] = None, usage: Optional[int] = None,
              sparse_queue=None) -> "AdoptedBuffer":
        """The memory of a tensor of anybody's (or of a device pointer and its size) as Vulkan buffers, where it lies.
        PyTorch's tensors need PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True; others are refused with the reason."""
        layout = _Layout.of(tensor) if size is None else None
        pointer, size = (handle(tensor), size) if size is not None else tensor_range(tensor)
        adopted = _make("culv_vmm_adopt", self.device._need(), pointer, size)
        try:
            if usage is None:
                usage = DEFAULT_BUFFER_USAGE | (d.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT if self._desc.kernels else 0)
            desc = describe(d.culv_vk_adopted_desc, usage=usage, sparse_queue=sparse_queue)
            view = _make("culv_vk_adopted_create", self._need(), adopted, desc)
        except BaseException:
            api.culv_vmm_adopted_destroy(byref(c_void_p(adopted)))
            raise
        return AdoptedBuffer(self, view, adopted, pointer, layout)

    def queue_kernels(self, kernels: "Kernels") -> "QueueKernels":
        """Kernels for command buffers (culvert/vulkan_kernel.h)."""
        return QueueKernels(self, _make("culv_vk_kernels_create", self._need(), kernels._need()), kernels)

    def buffer_transfer(self, buffer, queue_family: int, to_vulkan: bool, **fields) -> "d.VkBufferMemoryBarrier2":
        """The barrier that takes a buffer from CUDA (to_vulkan) or gives it back."""
        t = describe(d.culv_vk_buffer_transfer, buffer=getattr(buffer, "handle", buffer), queue_family=queue_family,
                     **fields)
        return _barrier("culv_vk_buffer_get_barrier2", t, to_vulkan, d.VkBufferMemoryBarrier2())

    def image_transfer(self, image, queue_family: int, to_vulkan: bool, **fields) -> "d.VkImageMemoryBarrier2":
        """The same for an image."""
        t = describe(d.culv_vk_image_transfer, image=getattr(image, "handle", image), queue_family=queue_family,
                     **fields)
        return _barrier("culv_vk_image_get_barrier2", t, to_vulkan, d.VkImageMemoryBarrier2())


def _barrier(function, transfer, to_vulkan, out):
    direction = d.culv_vk_direction.CULV_VK_ACQUIRE if to_vulkan else d.culv_vk_direction.CULV_VK_RELEASE
    getattr(api, function)(transfer, direction, out)
    return out


class VulkanBuffer(Buffer):
    """A VkBuffer that Culvert made, and its bytes in CUDA."""

    _destroy = "culv_vk_buffer_destroy"
    _inner = None

    def _cuda(self):
        pointer = self._need()
        if self._inner is None:
            self._inner = api.culv_vk_buffer_cuda(pointer)
        return self._inner

    @property
    def handle(self) -> int:
        """The VkBuffer."""
        return api.culv_vk_buffer_handle(self._need())

    @property
    def memory(self) -> int:
        """The VkDeviceMemory."""
        return api.culv_vk_buffer_memory(self._need(), None)

    @property
    def address(self) -> int:
        """The VkDeviceAddress, or 0."""
        return api.culv_vk_buffer_address(self._need())


class LinearImage(Buffer):
    """A level of a LINEAR image."""

    def __init__(self, parent, pointer, device, layout):
        super().__init__(parent, pointer, device)
        self.layout = layout

    def texels(self, dtype="uint8", channels: int = 4, **more) -> Tensor:
        """Rows, columns and channels, with the image's pitches."""
        from ._tensor import type_of
        code, bits, _ = type_of(dtype)
        shape, strides = (ctypes.c_int64 * 4)(), (ctypes.c_int64 * 4)()
        desc = describe(d.culv_dlpack_desc)
        desc.type = d.culv_dl_type(code, bits, 1)
        api.culv_dlpack_describe_image(self.layout, channels, desc, shape, strides)
        return self.tensor(dtype, list(shape)[:desc.ndim], strides=list(strides)[:desc.ndim], **more)


class VulkanImage(Owned):
    """A VkImage that Culvert made, and its arrays in CUDA."""

    _destroy = "culv_vk_image_destroy"

    @property
    def handle(self) -> int:
        """The VkImage."""
        return api.culv_vk_image_handle(self._need())

    def array(self, level: int = 0) -> int:
        """The CUarray of a level."""
        return _make("culv_image_get_array", api.culv_vk_image_cuda(self._need()), level)

    def surface(self, level: int = 0) -> int:
        """The surface object of a level, for kernels."""
        out = c_uint64()
        api.culv_image_get_surface(api.culv_vk_image_cuda(self._need()), level, byref(out))
        return out.value


class VulkanSemaphore(Semaphore):
    """A VkSemaphore that Culvert made, and its half in CUDA."""

    _destroy = "culv_vk_semaphore_destroy"
    _inner = None

    def _cuda(self):
        pointer = self._need()
        if self._inner is None:
            self._inner = api.culv_vk_semaphore_cuda(pointer)
        return self._inner

    @property
    def handle(self) -> int:
        """The VkSemaphore."""
        return api.culv_vk_semaphore_handle(self._need())


def ring_buffer(size: int, usage: int = DEFAULT_BUFFER_USAGE, **fields) -> "d.culv_vk_ring_resource":
    """A buffer in each slot of a ring."""
    info = d.VkBufferCreateInfo(size=size, usage=usage)
    return describe(d.culv_vk_ring_resource, buffer=describe(d.culv_vk_buffer_create_desc, create_info=info), **fields)


def ring_image(format: int, width: int, height: int, usage: int = DEFAULT_IMAGE_USAGE, **fields) \
        -> "d.culv_vk_ring_resource":
    """An image in each slot of a ring."""
    info = d.VkImageCreateInfo(
        imageType=d.VK_IMAGE_TYPE_2D, format=format, extent=d.VkExtent3D(width, height, 1), mipLevels=1,
        arrayLayers=1, samples=d.VK_SAMPLE_COUNT_1_BIT, tiling=d.VK_IMAGE_TILING_OPTIMAL, usage=usage)
    return describe(d.culv_vk_ring_resource, image=describe(d.culv_vk_image_create_desc, create_info=info), **fields)


class Slot(TensorSource):
    """A buffer of a ring's slot, which the ring owns."""

    def __init__(self, ring: "Ring", slot: int, resource: int):
        self._ring, self._slot, self._resource = ring, slot, resource

    def _vk(self) -> int:
        buffer = api.culv_vk_ring_buffer(self._ring._need(), self._slot, self._resource)
        if not buffer:
            raise IndexError(f"slot {self._slot} has no buffer {self._resource}")
        return buffer

    def _device_of(self):
        return self._ring.device._need()

    @property
    def handle(self) -> int:
        """The VkBuffer."""
        return api.culv_vk_buffer_handle(self._vk())

    @property
    def pointer(self) -> int:
        return api.culv_vk_ring_pointer(self._ring._need(), self._slot, self._resource)

    @property
    def size(self) -> int:
        return api.culv_buffer_size(api.culv_vk_buffer_cuda(self._vk()))

    @property
    def address(self) -> int:
        """The VkDeviceAddress, or 0."""
        return api.culv_vk_buffer_address(self._vk())

    def _get_dlpack(self, desc, out):
        api.culv_buffer_get_dlpack(api.culv_vk_buffer_cuda(self._vk()), desc, out)


class RingFrame:
    """CUDA's turn with a slot of a ring. It ends with the block of Ring.cuda(): the slot is the other side's then."""

    def __init__(self, ring: "Ring", frame: "d.culv_ring_frame"):
        self._ring, self.frame = ring, frame
        self._over = False

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

    def tensor(self, dtype="uint8", shape=None, resource: int = 0, **more) -> Tensor:
        return self.buffer(resource).tensor(dtype, shape, **more)


class Ring(Owned):
    """Slots that the two sides use in turn. CUDA's side is `with ring.cuda(stream) as frame:`. Vulkan's side is
    acquire(), submit() and flush()."""

    _destroy = "culv_vk_ring_destroy"

    def __init__(self, parent, pointer, device, side):
        super().__init__(parent, pointer)
        self.device = device
        self.side = side
        self._other = d.culv_ring_side.CULV_RING_PRODUCER if side == d.culv_ring_side.CULV_RING_CONSUMER \
            else d.culv_ring_side.CULV_RING_CONSUMER

    @property
    def core(self) -> int:
        """The culv_ring."""
        return api.culv_vk_ring_core(self._need())

    @contextlib.contextmanager
    def cuda(self, stream=None, timeout: int = 10 * SECOND) -> Iterator[RingFrame]:
        """CUDA's turn: the stream waits for the other side before, and signals after. After an exception the slot is
        given back as if it had not been acquired. On the software twin, whose tensors are the host's, the host waits
        with the stream."""
        frame = d.culv_ring_frame()
        number = stream_handle(stream)
        api.culv_ring_acquire_on(self.core, self._other, number, timeout, byref(frame))
        turn = RingFrame(self, frame)
        try:
            _host_follows(self.device, stream)
            yield turn
        except BaseException:
            api.culv_ring_cancel(self.core, self._other, byref(frame))
            raise
        finally:
            turn._over = True
        api.culv_ring_release_on(self.core, self._other, number, byref(frame))

    def flush(self, stream=None) -> None:
        """CUDA's side hands over a burst that is not full."""
        api.culv_ring_flush_on(self.core, self._other, stream_handle(stream))

    def acquire(self, timeout: int = 10 * SECOND) -> "d.culv_vk_ring_frame":
        """Vulkan's turn (culv_vk_ring_acquire)."""
        frame = d.culv_vk_ring_frame()
        api.culv_vk_ring_acquire(self._need(), timeout, byref(frame))
        return frame

    def submit(self, queue, commands, frame: "d.culv_vk_ring_frame", fence=None) -> None:
        """Releases the frame and submits its command buffer."""
        api.culv_vk_ring_submit(self._need(), handle(queue), handle(commands), handle(fence), byref(frame))

    def buffer(self, slot: int, resource: int = 0) -> Slot:
        return Slot(self, slot, resource)

    def image(self, slot: int, resource: int = 0) -> int:
        """The VkImage of a slot."""
        return api.culv_vk_image_handle(api.culv_vk_ring_image(self._need(), slot, resource))

    def drain(self, timeout: int = 10 * SECOND, force: bool = False) -> None:
        api.culv_ring_drain(self.core, timeout, int(force))


class Vector(Owned, TensorSource):
    """A buffer of CUDA's memory that grows without copying."""

    _destroy = "culv_vector_destroy"

    def __init__(self, device: Device, size: int = 0, **desc):
        self._device = device
        if desc.pop("exportable", False):
            desc["handle_types"] = 1 << d.culv_handle_type.CULV_HANDLE_OPAQUE_FD
        made = describe(d.culv_vector_desc, size=size, **desc)
        super().__init__(device, _make("culv_vector_create", device._need(), made))

    def _device_of(self):
        return self._device._need()

    def grow(self, size: int) -> None:
        api.culv_vector_grow(self._need(), size)

    def shrink(self, size: int, last_use=None) -> None:
        api.culv_vector_shrink(self._need(), size, stream_handle(last_use))

    @property
    def pointer(self) -> int:
        return api.culv_vector_pointer(self._need())

    @property
    def size(self) -> int:
        return api.culv_vector_size(self._need())

    @property
    def committed(self) -> int:
        return api.culv_vector_committed(self._need())

    def _get_dlpack(self, desc, out):
        api.culv_vector_get_dlpack(self._need(), desc, out)


class VectorView(Owned):
    """Vulkan's view of a vector."""

    _destroy = "culv_vk_vector_destroy"

    def __init__(self, parent: VulkanDevice, pointer: int, vector: "Vector"):
        super().__init__(parent, pointer)
        self._vector = vector

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
        api.culv_vk_vector_get_address(self._need(), byref(out))
        return out.value

    def update(self) -> None:
        """Imports what the vector has got since."""
        api.culv_vk_vector_update(self._need())

    def buffers(self) -> List["d.culv_vk_vector_buffer"]:
        """VkBuffers with their offsets in the vector."""
        count = ctypes.c_size_t()
        api.culv_vk_vector_get_buffers(self._need(), None, 0, byref(count))
        parts = (d.culv_vk_vector_buffer * max(count.value, 1))()
        api.culv_vk_vector_get_buffers(self._need(), parts, count.value, byref(count))
        return list(parts)[:count.value]


class AdoptedBuffer(Owned):
    """Somebody's tensor in Vulkan. It keeps the tensor's memory alive, but the tensor's owner may map other memory at
    its address: check() notices that."""

    _destroy = "culv_vk_adopted_destroy"

    def __init__(self, parent: VulkanDevice, view: int, adopted: int, pointer: int, layout: Optional[_Layout]):
        super().__init__(parent, view)
        self._adopted = c_void_p(adopted)
        self.pointer = pointer
        self.layout_of = layout  # for Numba's kernels

    def close(self, after=None) -> None:
        if not self.closed:
            super().close()
            api.culv_vmm_adopted_destroy(byref(self._adopted))

    def check(self) -> None:
        """Raises InvalidError (NOT_MAPPED) when the memory was unmapped or replaced: adopt the tensor anew."""
        self._need()
        api.culv_vmm_adopted_check(self._adopted)

    @property
    def is_current(self) -> bool:
        try:
            self.check()
        except InvalidError as e:
            if e.reason != "NOT_MAPPED":
                raise
            return False
        return True

    def buffers(self) -> List["d.culv_vk_adopted_buffer"]:
        """VkBuffers with the offset of the tensor's part in each: one for each chunk, or one sparse buffer."""
        count = ctypes.c_size_t()
        api.culv_vk_adopted_get_buffers(self._need(), None, 0, byref(count))
        parts = (d.culv_vk_adopted_buffer * max(count.value, 1))()
        api.culv_vk_adopted_get_buffers(self._need(), parts, count.value, byref(count))
        return list(parts)[:count.value]

    def _one(self) -> "d.culv_vk_adopted_buffer":
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
        return self._one().offset

    @property
    def size(self) -> int:
        return api.culv_vmm_adopted_size(self._adopted)

    @property
    def address(self) -> int:
        """The VkDeviceAddress of the tensor's first byte, where there is one buffer. `usage` has the bit
        SHADER_DEVICE_ADDRESS, as it has by itself where the VulkanDevice was made with kernels=True."""
        part, out = self._one(), c_uint64()
        api.culv_vk_get_buffer_address(self._parent._need(), part.buffer, byref(out))
        return out.value + part.offset


def buffer(tensor, vk: Optional[VulkanDevice] = None, **options) -> AdoptedBuffer:
    """A tensor of an unmodified program in Vulkan (VulkanDevice.adopt). `vk` may be left out where one is open."""
    if vk is None:
        from ._lib import _roots
        there = [c for root in list(_roots) for c in list(root._children)
                 if isinstance(c, VulkanDevice) and not c.closed]
        if len(there) != 1:
            raise ValueError(f"{len(there)} VulkanDevices are open: say which one is to have the tensor")
        vk = there[0]
    return vk.adopt(tensor, **options)


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
                    found["devices"].append({
                        "driver": driver, "ordinal": ordinal, "name": device.name, "uuid": device.uuid.hex(),
                        **{n: getattr(caps, n) for n, t in caps._fields_
                           if t in (c_uint32, c_uint64) and n != "node_mask"}})
            except Exception as e:  # noqa: BLE001: it is told
                if ordinal == 0:
                    found["problems"].append(f"{driver}: {e}")
                break
            ordinal += 1
    return found


__all__ = [n for n in dir() if n[0].isupper() and n not in ("Any", "Dict", "Iterator", "List", "Optional", "Sequence",
                                                           "Tuple", "Union", "Owned", "InvalidError")]
__all__ += ["buffer", "ring_buffer", "ring_image", "info", "tensor_range"]
