# SPDX-License-Identifier: MIT
"""Buffers, images, timelines and tensors of other processes of this machine, by name: docs/ipc.md.

    with culvert.ipc.Client(device, "renderer") as renderer:           # a process in C or in Python
        vertices = renderer.buffer("vertices").tensor("float32", (-1, 3))
        timeline = renderer.timeline("turn")

    with culvert.ipc.Server(device, "trainer") as trainer:
        trainer.offer("weights", tensor)
        while training():
            trainer.poll()                                             # answers; waits for nothing

Rings of frames and vectors that grow are the C API's: culvert.api takes a Client and a Server as they are."""
import contextlib
import ctypes
import threading
import time
from ctypes import byref, c_uint32, c_void_p
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

from . import _declarations as d
from ._lib import BusyError, LateError, Making, Owned, api, describe, making
from ._objects import Arrays, Buffer, Device, Semaphore, VulkanBuffer, VulkanImage, VulkanSemaphore
from ._tensor import Tensor, look
from ._turns import SECOND
from ._types import TensorLike

_STEP = SECOND // 2  # of a wait, after which Ctrl-C is heard and another thread's close() comes in
_OPAQUE = int(d.culv_handle_type.CULV_HANDLE_OPAQUE_FD)


def _in_steps(call: Callable[[int], Any], timeout: int) -> Any:
    end = time.monotonic_ns() + timeout
    while True:
        left = max(end - time.monotonic_ns(), 0)
        try:
            return call(min(left, _STEP))
        except LateError as e:
            if left <= _STEP:
                raise e.after(timeout)
        except BusyError:  # a server that is full
            if left <= _STEP:
                raise


def _users(users: Optional[Sequence[int]]) -> Any:
    return None if users is None else (c_uint32 * max(len(users), 1))(*users)


class Image(Arrays, Owned):
    """An image of another process, and its arrays in CUDA."""

    _destroy = "culv_image_unmap"

    def __init__(self, device: Device, made: Making):
        super().__init__(device, made)
        self._device = device
        self.desc = describe(d.culv_image_desc)
        api.culv_image_get_desc(self._need(), self.desc)
        self.width, self.height, self.depth = self.desc.width, self.desc.height, self.desc.depth
        self.format, self.levels, self.layers = self.desc.format, self.desc.mip_levels, self.desc.array_layers

    def _cuda(self) -> Any:
        return self._need()


class Server(Owned):
    """What this process offers. It answers inside poll(). `users` are the numbers of the users whose processes are let in; None: this
    process's user alone."""

    _destroy = "culv_ipc_server_destroy"

    def __init__(self, device: Device, name: str, *, directory: Optional[str] = None, users: Optional[Sequence[int]] = None,
                 max_clients: int = 0, label: Optional[str] = None):
        self._device, self.name, self._turn = device, name, threading.RLock()  # one thread at a time
        desc = describe(d.culv_ipc_server_desc, name=name.encode(), directory=directory and directory.encode(), users=_users(users),
                        num_users=len(users or ()), max_clients=max_clients, label=label)
        super().__init__(device, making("culv_ipc_server_create", device._need(), desc))

    def _told(self) -> Iterator[str]:
        yield repr(self.name)
        yield f"{self.clients} clients"
        yield f"on {self._device.name!r}"

    @property
    def clients(self) -> int:
        with self._turn:
            return api.culv_ipc_server_clients(self._need())

    def fileno(self) -> int:
        """For select and asyncio: readable when poll() has something to do. -1 on Windows."""
        return api.culv_ipc_server_fd(self._need())

    def poll(self, timeout: int = 0) -> int:
        """Answers the clients, and says how many questions and departures there were. It waits up to `timeout` nanoseconds for one."""
        end, done = time.monotonic_ns() + timeout, c_uint32()
        while True:
            left = max(end - time.monotonic_ns(), 0)
            with self._turn:
                api.culv_ipc_server_poll(self._need(), min(left, _STEP), byref(done))
            if done.value or left <= _STEP:
                return done.value

    def offer(self, name: str, thing: "Union[VulkanBuffer, VulkanImage, VulkanSemaphore, TensorLike]", *, text: str = "") -> None:
        """Offers a buffer, an image or a timeline that Culvert made for Vulkan, or a tensor: one of Culvert's, or anybody's in CUDA's
        virtual memory (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True). The other process gets the whole allocation behind it, and
        `text`. You may close the thing: clients keep what they received, and the offer stays until withdraw()."""
        info = describe(d.culv_ipc_info, name=name.encode(), text=text.encode())
        with self._turn:
            if isinstance(thing, (VulkanBuffer, VulkanImage, VulkanSemaphore)) or \
                    isinstance(thing, Tensor) and isinstance(thing._source, VulkanBuffer):
                self._offer_vulkans(info, thing)
            else:
                self._offer_tensor(info, thing)

    def _offer_vulkans(self, info: d.culv_ipc_info, thing: Any) -> None:
        start, size = look(thing).require().span if isinstance(thing, Tensor) else (0, 0)
        owner = thing._source if isinstance(thing, Tensor) else thing
        pointer, vk, exported, bytes_ = owner._need(), owner._parent._need(), d.culv_handle(), ctypes.c_uint64()
        try:
            if isinstance(owner, VulkanSemaphore):
                info.kind, info.value = d.culv_ipc_kind.CULV_IPC_SEMAPHORE, owner.last_value
                info.semaphore_type = d.culv_semaphore_type.CULV_SEMAPHORE_TIMELINE
                api.culv_vk_semaphore_export_dup(vk, api.culv_vk_semaphore_handle(pointer), _OPAQUE, byref(exported))
            else:
                memory = (api.culv_vk_image_memory(pointer, byref(bytes_)) if isinstance(owner, VulkanImage)
                          else api.culv_vk_buffer_memory(pointer, byref(bytes_)))
                info.allocation_size = bytes_.value
                if isinstance(owner, VulkanImage):
                    of = describe(d.culv_image_desc)
                    api.culv_image_get_desc(owner._cuda(), of)
                    info.kind, info.dedicated, info.image_type = d.culv_ipc_kind.CULV_IPC_IMAGE, int(not any(of.plane_offsets)), of.type
                    info.format, info.usage = of.format, owner._info.usage
                    for field in ("width", "height", "depth", "array_layers", "mip_levels"):
                        setattr(info, field, getattr(of, field))
                else:
                    kind = api.culv_buffer_memory_kind(owner._cuda())
                    info.kind, info.dedicated = d.culv_ipc_kind.CULV_IPC_BUFFER, int(kind == d.culv_memory_kind.CULV_MEMORY_KIND_FAST)
                    info.offset = start - owner.pointer if size else 0
                    info.size = size or owner.size
                api.culv_vk_memory_export_dup(vk, memory, _OPAQUE, byref(exported))
            api.culv_ipc_offer(self._need(), info, d.culv_ipc_source(object=ctypes.addressof(exported)))
        finally:
            if exported.type:
                api.culv_handle_close(byref(exported))

    def _offer_tensor(self, info: d.culv_ipc_info, tensor: Any) -> None:
        seen = look(tensor).require()
        pointer, info.size = seen.span
        if seen.contiguous:
            info.element_size, info.element_count = seen.size, info.size // seen.size
        adopted, count, chunks = c_void_p(), ctypes.c_size_t(), (d.culv_part * 1)()
        try:
            api.culv_vmm_adopt(self._device._need(), pointer, info.size, byref(adopted))
            api.culv_vmm_adopted_get_parts(adopted, None, 0, byref(count))
            if count.value != 1:
                raise ValueError(f"the tensor lies in {count.value} allocations, and an offer has one: offer parts of it that lie in one "
                                 "each, or put it into a buffer of Vulkan's (vk.buffer())")
            api.culv_vmm_adopted_get_parts(adopted, chunks, 1, byref(count))
            info.offset = chunks[0].inner_offset
            api.culv_ipc_offer(self._need(), info, d.culv_ipc_source(d.culv_ipc_kind.CULV_IPC_VMM, chunks[0].allocation))
        finally:
            api.culv_vmm_adopted_destroy(byref(adopted))

    def withdraw(self, name: str) -> None:
        """Clients keep what they received."""
        with self._turn:
            api.culv_ipc_withdraw(self._need(), name)


class Client(Owned):
    """A connection to another process's server. What was received stays usable when it is closed or that process has ended, but
    nobody signals the other side of a timeline then. `users` are the numbers of the users whose servers are trusted."""

    _destroy = "culv_ipc_client_destroy"

    def __init__(self, device: Device, name: str, *, timeout: int = 10 * SECOND, directory: Optional[str] = None,
                 users: Optional[Sequence[int]] = None, label: Optional[str] = None):
        self._device, self.name, self._turn = device, name, threading.RLock()
        desc = describe(d.culv_ipc_client_desc, name=name.encode(), directory=directory and directory.encode(), users=_users(users),
                        num_users=len(users or ()), label=label)
        _in_steps(lambda step: super(Client, self).__init__(
            device, making("culv_ipc_client_connect", device._need(), desc, step)), timeout)

    def _told(self) -> Iterator[str]:
        yield f"of {self.name!r}, process {self.server_pid}"
        yield f"on {self._device.name!r}"

    @property
    def server_pid(self) -> int:
        return api.culv_ipc_client_server_pid(self._need())

    @property
    def connected(self) -> bool:
        """Whether the other process is still there. It is not asked."""
        with self._turn:
            return bool(api.culv_ipc_client_connected(self._need()))

    def offers(self, timeout: int = 10 * SECOND) -> List[d.culv_ipc_info]:
        """What the server offers, as it describes it: kind, name, text, sizes."""
        found: List[d.culv_ipc_info] = []
        count = c_uint32(1)
        while len(found) < count.value:
            info, index = describe(d.culv_ipc_info), len(found)

            def ask(step: int) -> None:
                with self._turn:
                    api.culv_ipc_client_get_offer(self._need(), index, step, info, byref(count))

            _in_steps(ask, timeout)
            found.append(info)
        return found[:count.value]

    @contextlib.contextmanager
    def _received(self, name: str, timeout: int) -> Iterator[c_void_p]:
        thing = c_void_p()

        def ask(step: int) -> None:
            with self._turn:
                api.culv_ipc_client_receive(self._need(), name, step, byref(thing))

        try:
            _in_steps(ask, timeout)
            yield thing
        finally:
            api.culv_ipc_object_destroy(byref(thing))

    def buffer(self, name: str, timeout: int = 10 * SECOND) -> Buffer:
        """A buffer of the other process's graphics API, or memory of its CUDA (a tensor), in CUDA: its bytes are tensor()."""
        with self._received(name, timeout) as thing:
            return Buffer(self._device, making("culv_ipc_import_buffer", thing), self._device)

    def image(self, name: str, timeout: int = 10 * SECOND) -> Image:
        with self._received(name, timeout) as thing:
            return Image(self._device, making("culv_ipc_import_image", thing))

    def timeline(self, name: str, timeout: int = 10 * SECOND) -> Semaphore:
        """If the other process ends, nobody signals what it would have: timeline.signal(stream, value) does it in its place, by a stream
        that does not wait itself."""
        with self._received(name, timeout) as thing:
            return Semaphore(self._device, making("culv_ipc_import_semaphore", thing))
