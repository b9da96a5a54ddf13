# SPDX-License-Identifier: MIT
"""Vulkan by ctypes, for scripts that bring none: structs (which set their sType), constants, the loader's functions,
and open(), which makes an instance, the device that CUDA reaches, and a queue."""
import atexit
import collections
import ctypes
import ctypes.util
import io
import itertools
import os
import sys
import threading
import time
import warnings
import weakref
from ctypes import byref, c_char_p, c_float, c_uint32, c_uint64, c_void_p
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from . import _declarations as d
from ._lib import (LIMITS, OUT, Error, Gate, LateError, Left, Single, _homes, _lasts, _own_error, _roots, api, bury, busy, describe,
                   driver_of, drop, handle, last_of, late, making, process, sweep, told)
from ._objects import Device, Ring, VulkanDevice, VulkanSemaphore, _wait_for_stream
from ._struct import Structure
from ._turns import SECOND, SLICE, Turns, after_reading, check_value, cuda_waits
from ._types import Handle
from ._vulkan import *  # noqa: F401,F403

if TYPE_CHECKING:
    from ._vulkan import _VulkanFunctions
    from .draw import _Queue
else:
    _VulkanFunctions = object

_loader: Optional[ctypes.CDLL] = None


class VulkanError(RuntimeError):
    """A VkResult below 0."""

    def __init__(self, call: str, result: int):
        self.result = result
        name = next((n for n in dir(d) if n.startswith("VK_ERROR_") and getattr(d, n) == result), "VkResult")
        super().__init__(f"{call}: {name} {result}")


    def about(self, names: Sequence[str]) -> "VulkanError":
        """What the program asked for, where there is no such thing."""
        if names and self.result in (d.VK_ERROR_LAYER_NOT_PRESENT, d.VK_ERROR_EXTENSION_NOT_PRESENT, d.VK_ERROR_FEATURE_NOT_PRESENT):
            self.args = (f"{self.args[0]}. You asked for {', '.join(names)}",)
        return self


def _no_driver(why: str) -> Error:
    return _own_error(d.culv_result.CULV_ERROR_UNSUPPORTED, d.culv_reason.CULV_REASON_DRIVER_MISSING, why, "vulkan.open")


def loader() -> ctypes.CDLL:
    """The Vulkan loader, libvulkan.so.1."""
    global _loader
    if _loader is None:
        name = "vulkan-1.dll" if sys.platform == "win32" else "libvulkan.so.1"
        try:
            _loader = ctypes.CDLL(name)
        except OSError as e:
            raise _no_driver(f"Vulkan's loader, {name}, could not be loaded ({e}): install it (Debian: libvulkan1)") from None
        _loader.vkGetInstanceProcAddr.restype = c_void_p
        _loader.vkGetInstanceProcAddr.argtypes = [c_void_p, c_char_p]
    return _loader


def get_instance_proc_addr() -> int:
    return ctypes.cast(loader().vkGetInstanceProcAddr, c_void_p).value or 0


# Passed as they are: numbers, text, arrays, and what byref() and pointer() give.
_PLAIN: Any = (int, float, bytes, ctypes.Array, type(byref(c_uint32())), ctypes._Pointer)


class Functions(_VulkanFunctions):
    """vk... functions of an instance or a device. A VkResult below 0 is a VulkanError. A struct may be passed as it
    is, for a pointer to it, and an object of Culvert's for its handle."""

    def __init__(self, instance: int = 0, gate: Optional[Gate] = None):
        self._instance = instance
        self._gate = Gate("Context") if gate is None else gate

    if not TYPE_CHECKING:  # a checker has the functions of the base, and refuses other names
        def __getattr__(self, name: str) -> Any:
            return self._found(name)

    def __repr__(self) -> str:
        return f"<culvert.vulkan.Functions of the VkInstance {self._instance:#x}>"

    def _found(self, name: str) -> Any:
        if name not in d.VULKAN:
            raise AttributeError(name)
        result, parameters = d.VULKAN[name]
        enter, leave = self._gate.enter, self._gate.leave
        enter()  # the loader does not live through a question about an instance that is gone
        try:
            address = loader().vkGetInstanceProcAddr(self._instance, name.encode())
        finally:
            leave()
        if not address:
            raise AttributeError(f"Vulkan has no {name} here")
        raw = ctypes.CFUNCTYPE(result, *parameters)(address)
        limits = [(i, *LIMITS[kind]) for i, kind in enumerate(parameters) if LIMITS.get(kind, (1,))[0] == 0]

        def call(*args: Any) -> Any:
            for i, least, most in limits:
                if i < len(args) and isinstance(args[i], int) and not least <= args[i] <= most:
                    raise ValueError(f"{name}: its argument {i} is {args[i]}; it is {least} to {most}")
            enter()
            try:
                answer = raw(*[a if a is None or isinstance(a, _PLAIN) else
                               byref(a) if isinstance(a, (ctypes.Structure, ctypes.Union)) else handle(a) for a in args])
            except TypeError as e:  # nothing was called
                raise TypeError(f"{name}: {e}") from None
            finally:
                leave()
            if result is ctypes.c_int and answer < 0:
                raise VulkanError(name, answer)
            return answer

        call.__name__ = name
        setattr(call, "raw", raw)
        setattr(self, name, call)
        return call

    def make(self, name: str, *args: Any) -> int:
        """A vkCreate... or vkAllocate... function's handle: make("vkCreateFence", device, info, None)."""
        out = c_void_p()
        getattr(self, name)(*args, byref(out))
        return out.value or 0


def _names(function: str, *args: Any) -> "Tuple[ctypes.Array[c_char_p], int]":
    count = c_uint32(64)
    names = (c_char_p * 64)()
    getattr(api, function)(*args, byref(count), names)
    return (c_char_p * max(count.value, 1))(*names[:count.value]), count.value


def _features(names: Sequence[str]) -> List[Any]:
    """A chain of the structs that have these features."""
    kinds = (d.VkPhysicalDeviceVulkan13Features, d.VkPhysicalDeviceVulkan12Features, d.VkPhysicalDeviceVulkan11Features,
             d.VkPhysicalDeviceFeatures2)
    chain: List[Any] = [kind() for kind in kinds]
    for name in names:
        for struct in chain:
            inner = struct.features if isinstance(struct, d.VkPhysicalDeviceFeatures2) else struct
            fields: Any = inner._fields_
            if name in (n for n, t in fields if t is c_uint32 and n not in ("sType", "pNext")):
                setattr(inner, name, 1)
                break
        else:
            raise ValueError(f"no feature of Vulkan 1.3 is called {name}")
    used = [s for s in chain if any(bytes(s)[16:])]
    for struct, following in zip(used, used[1:]):
        struct.pNext = ctypes.addressof(following)
    used[0].kept = used
    return used


_SPARSE = ("sparseBinding", "sparseResidencyBuffer")


class _Values:
    """What timelines of a device have got to, read and signaled by the host."""

    def __init__(self, functions: Functions):
        self.functions = functions
        self.devices: List[c_void_p] = []

    @property
    def device(self) -> int:
        return self.devices[-1].value or 0 if self.devices else 0

    def read(self, semaphore: int) -> int:
        value = c_uint64()
        self.functions.vkGetSemaphoreCounterValue(self.device, semaphore, byref(value))
        return value.value

    def signal(self, semaphore: int, value: int) -> None:
        self.functions.vkSignalSemaphore(self.device, d.VkSemaphoreSignalInfo(semaphore=semaphore, value=value))


_kept: Set[str] = set()
_numbers = itertools.count(1)  # of what contexts made


def _keep_the_driver() -> None:
    """The loader takes a driver out of the process with the last VkInstance. NVIDIA's (580) can be loaded some dozen times in
    a process, and then vkCreateInstance() answers ERROR_INCOMPATIBLE_DRIVER, so it stays."""
    if not sys.platform.startswith("linux"):
        return
    try:
        with io.open("/proc/self/maps", encoding="utf-8", errors="replace") as f:
            there = {line.split(None, 5)[5].strip() for line in f if "nvidia" in line and ".so" in line}
    except OSError:  # a root without /proc
        return
    for path in there - _kept:
        try:
            ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NODELETE)
        except OSError:
            pass  # a file that was replaced meanwhile
        _kept.add(path)


def _take_and_destroy(destroy: Any, owner: Tuple[int, ...], take: Callable[..., Any], *key: Any) -> None:
    """destroy(*owner, take(*key), NULL). No Python runs in between, and so no KeyboardInterrupt comes there: a handle that nobody
    has taken yet is there. For NULL Vulkan does nothing."""
    raw = getattr(destroy, "raw", destroy)
    collections.deque(map(raw, *((o,) for o in owner), itertools.starmap(take, (key,)), (None,)), maxlen=0)


class _Home(Single):
    """An instance, a device and what a context made on it. It goes when the last object that was made there goes."""

    PATIENCE = 10 * SECOND

    def __init__(self, info: d.VkInstanceCreateInfo, key: int):
        self.gate = Gate("Context")
        self.instances: List[c_void_p] = [c_void_p()]  # this one, while it is there
        self.functions = Functions(0, self.gate)
        self._values = _Values(self.functions)  # the turns know this, and not their home, which goes with its last user
        self._counter, self._signal = self._values.read, self._values.signal
        self.queue = self.family = self.done = 0
        self.uncounted = False  # a ring has submitted to the queue since
        self.sent = collections.deque([(0, 0)], maxlen=1)  # the last submission's number, and what the driver answered
        self.lock = threading.RLock()  # of the queue, which one thread may use at a time
        self.pools: Dict[int, c_void_p] = {}  # each thread's command pool
        self.retired: List[int] = []  # command buffers that nobody has any more
        self.made_by: Dict[int, int] = {}  # the thread in whose pool a command buffer is
        self.users = {key}  # the Context, and each object of Culvert's that is open here
        self.ending = False  # handles have gone
        self.later: List[Left] = []  # what went while Vulkan's queue was at work
        self.turns = Turns(self._counter, self._signal)
        self.attached: "weakref.WeakSet[VulkanDevice]" = weakref.WeakSet()
        self.objects: Dict[int, c_void_p] = {}  # of culvert.draw and windows, in the order in which they were made
        self.kinds: Dict[int, str] = {}
        _lasts[key].home = self
        self.functions.vkCreateInstance(info, None, byref(self.instances[0]))
        self.functions._instance = self.instance

    @property
    def instance(self) -> int:
        return self.instances[-1].value or 0 if self.instances else 0

    @property
    def is_open(self) -> bool:
        return bool(self.device) and not self.ending and not self.gate.is_shut

    @property
    def submitted(self) -> int:
        """How many submissions there were."""
        number, answer = self.sent[-1]
        return number if answer >= 0 else number - 1

    def make(self, kind: str, *args: Any, call: str = "") -> int:
        """A VkSampler and so on, which goes by drop(), or with the device."""
        with self.lock:
            number, made = self.keep(kind, 0)
            try:
                getattr(self.functions, call or "vkCreate" + kind)(self.device, *args, byref(made))
            finally:
                if not made:
                    self.objects.pop(number)
        return made.value or 0

    def keep(self, kind: str, made: int) -> Tuple[int, c_void_p]:
        """Something that goes with the device. 0: Vulkan writes it there."""
        number = next(_numbers)
        self.kinds[number] = kind
        self.objects[number] = c_void_p(made)
        return number, self.objects[number]

    def send(self, info: d.VkSubmitInfo2, fence: int) -> None:
        """Submits, under the lock, what signals `done` to submitted + 1. The call and its count are one step for a
        KeyboardInterrupt."""
        self.gate.enter()
        try:
            raw = getattr(self.functions.vkQueueSubmit2, "raw")
            self.sent.extend(zip((self.submitted + 1,), itertools.starmap(raw, ((self.queue, 1, byref(info), fence),))))
        finally:
            self.gate.leave()
        if self.sent[-1][1] < 0:
            raise VulkanError("vkQueueSubmit2", self.sent[-1][1])

    def drop(self, kind: str, made: int) -> None:
        with self.lock:  # the device does not go meanwhile
            for number, there in list(self.objects.items()):
                if there.value == made and self.kinds[number] == kind:
                    self._drop(number)

    def _drop(self, number: int) -> None:
        kind = self.kinds[number]
        owner = self.instance if kind == "SurfaceKHR" else self.device
        _take_and_destroy(getattr(self.functions, "vkDestroy" + kind), (owner,), self.objects.pop, number, None)
        self.kinds.pop(number, None)

    @property
    def device(self) -> int:
        """The VkDevice."""
        return self._values.device

    def make_device(self, physical: int, info: d.VkDeviceCreateInfo) -> None:
        self._values.devices.append(c_void_p())
        self.functions.vkCreateDevice(physical, info, None, byref(self._values.devices[-1]))
        _homes[self.device] = self

    def commands(self) -> int:
        """A new command buffer, which goes with the device. Threads may record at a time, each in its own."""
        me = threading.get_ident()
        pool = self.pools.get(me)
        if not pool:
            with self.lock:
                pool = self.pools[me] = c_void_p()
                self.functions.vkCreateCommandPool(
                    self.device, d.VkCommandPoolCreateInfo(flags=d.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
                                                           queueFamilyIndex=self.family), None, byref(pool))
        made = self.functions.make("vkAllocateCommandBuffers", self.device,
                                   d.VkCommandBufferAllocateInfo(commandPool=pool.value, commandBufferCount=1))
        self.made_by[made] = me
        return made

    def is_idle(self, number: Optional[int] = None) -> bool:
        if number is None:
            self._count()
            number = self.submitted
        return number == 0 or self._counter(self.done) >= number

    def wait(self, timeout: int, call: str, number: Optional[int] = None) -> None:
        """For what Context.submit() was given so far, or up to a number, in slices, so that Ctrl-C is heard."""
        number = self.submitted if number is None else number
        semaphores = (c_uint64 * 1)(self.done)
        values = (c_uint64 * 1)(number)
        info = d.VkSemaphoreWaitInfo(semaphoreCount=1, pSemaphores=ctypes.addressof(semaphores),
                                     pValues=ctypes.addressof(values))
        end = time.monotonic_ns() + timeout
        while not self.is_idle(number):
            left = end - time.monotonic_ns()
            if left <= 0:
                raise late(f"Vulkan's queue has not done its work in {timeout / SECOND:g} s", call)
            self.functions.vkWaitSemaphores(self.device, info, min(left, SLICE))

    def settle(self, call: str) -> None:
        """Before something goes that Vulkan's work may use."""
        if not self.is_idle():
            waits = [(timeline, value) for side, timeline, value in self.turns.stuck() if side == "Vulkan"]
            if waits:
                raise busy(f"Vulkan's queue waits for {waits[0][1]} of the timeline {waits[0][0]:#x}, which nobody was "
                           "asked to signal: signal it, or close the context, which gives up such waits", call)
            self.wait(self.PATIENCE, call)
        self.sweep()

    def sweep(self) -> None:
        sweep(self.later, self.turns.forget)

    def end(self, timeout: int, call: str) -> None:
        """Gives up waits that nothing ends, waits for the rest, and for what was submitted without the context."""
        if self.device:
            try:
                self.give_up_waits(timeout)
                self.wait_for_all(timeout, call)
            except VulkanError as e:
                if e.result != d.VK_ERROR_DEVICE_LOST:  # a lost device is idle
                    raise
        self.sweep()

    def give_up_waits(self, timeout: int) -> None:
        for side, timeline, value in self.turns.free(timeout):
            warnings.warn(f"{'Vulkan' if side == 'Vulkan' else 'CUDA'} waited for {value} of the timeline {timeline:#x}, and "
                          "nobody was asked to signal it. The wait was given up: what it guarded is not right", RuntimeWarning,
                          stacklevel=4)

    def signal_all(self) -> None:
        """A queue that waits for a timeline of Culvert's goes on, whoever told it to wait, and whatever the value. NVIDIA's
        driver would wait for it at the process's end, without a bound."""
        for timeline in self.turns.known:
            self._signal(timeline, self._counter(timeline) + 2**31 - 1)  # the least maxTimelineSemaphoreValueDifference

    def wait_for_all(self, timeout: int, call: str) -> None:
        """vkDeviceWaitIdle() has no bound and is deaf to Ctrl-C. A signal comes after all that the queue got before it,
        whoever submitted that, and is waited for in slices. A thread would do it too, but Python 3.12 starts none when
        the interpreter ends."""
        if not self.queue:
            return
        self.wait(timeout, call)
        self._signal_behind()
        self.wait(timeout, call)
        with self.lock:
            self.functions.vkDeviceWaitIdle(self.device)  # of presenting, which no semaphore tells
            me = threading.get_ident()
            mine = [commands for commands in self.retired if self.made_by[commands] == me]  # others record in their pools
            if mine:
                self.functions.vkFreeCommandBuffers(self.device, self.pools[me], len(mine), (c_void_p * len(mine))(*mine))
            for commands in mine:
                self.retired.remove(commands)
                del self.made_by[commands]

    def _signal_behind(self) -> None:
        with self.lock:
            semaphores = (d.VkSemaphoreSubmitInfo * 1)(d.VkSemaphoreSubmitInfo(
                semaphore=self.done, value=self.submitted + 1, stageMask=d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT))
            self.send(d.VkSubmitInfo2(signalSemaphoreInfoCount=1, pSignalSemaphoreInfos=ctypes.addressof(semaphores)), 0)
            self.uncounted = False

    def _count(self) -> None:
        """A ring's submissions are followed by one of the context's, which tells when they have ended."""
        if self.uncounted and self.done and not self.ending:
            try:
                self._signal_behind()
            except VulkanError as e:
                if e.result != d.VK_ERROR_DEVICE_LOST:  # a lost device is idle
                    raise
                self.uncounted = False

    def destroy(self, call: str = "Context.close") -> None:
        with process.works(), self.lock:
            if self.gate.is_shut:  # another thread has done it
                return
            self.gate.shut_by = threading.get_ident()
            try:
                self.gate.shut(call)
                if self.device and self.done and not self.ending:
                    try:
                        self.wait(self.PATIENCE, call)  # what another thread has submitted meanwhile
                    except VulkanError as e:
                        if e.result != d.VK_ERROR_DEVICE_LOST:
                            raise
                self._destroy()
            finally:
                if not self.instance:
                    self.gate.shut_by = Gate.GONE
                elif not self.ending:  # else this thread may go on with it
                    self.gate.shut_by = 0

    def _destroy(self) -> None:
        self.functions._instance = self.instance
        self.sweep()
        self.turns.clear()
        self.ending = True
        while self.objects:
            self._drop(next(reversed(self.objects)))
        while self.pools:
            _take_and_destroy(self.functions.vkDestroyCommandPool, (self.device,), self.pools.pop, next(iter(self.pools)))
        self.made_by.clear()
        self.retired.clear()
        if self.device:
            _take_and_destroy(self.functions.vkDestroyDevice, (), self._values.devices.pop)
        if self.instance:
            _take_and_destroy(self.functions.vkDestroyInstance, (), self.instances.pop)
        self.queue = self.done = 0
        self.sent.append((0, 0))

    def left(self, user: int) -> None:
        """A user has gone. It may say so twice."""
        self.users.discard(user)
        if not self.users:
            self.go()

    def go(self) -> None:
        if self.instance and not process.forked and not sys.is_finalizing():
            if after_reading(self.go):
                return
            try:
                if not self.ending:
                    self.end(SECOND, "Context")
                self.destroy("Context")
            except Error as e:
                warnings.warn(f"a context that nobody has any more was not given back: {e}", ResourceWarning)


_ELSEWHERE = {name: f"gpu.vk.{name}()" for name in ("adopt", "buffer", "buffer_transfer", "image", "image_transfer", "import_memory",
                                                    "linear_image", "timeline", "vector_view")}
_ELSEWHERE.update({name: f"gpu.device.{name}()" for name in ("make_current", "stream", "vector")}, cuda="gpu.device.cuda",
                  name="gpu.device.name", context="gpu.device.context", vk_device="gpu.handle", vkdevice="gpu.handle")


def _semaphores(pairs: Sequence[Tuple[Handle, int]], name: str) -> List[Handle]:
    try:
        return [semaphore for semaphore, _ in pairs]
    except TypeError:
        raise TypeError(f"{name}={pairs!r}: pass pairs of a semaphore and a value, such as {name}=[(timeline, 1)]") from None


class Context(Single):
    """An instance, the device that CUDA reaches, one queue, and Culvert on it. close() destroys them all; a context
    that nobody has any more, and nothing of it, goes by itself. `features` are names of Vulkan 1.0 to 1.3, such as
    "shaderInt64"; `validation` enables the validation layer, which prints what it finds. `solver` is the ordinal of a
    CUDA device that may be another GPU than the one that draws: tensors of the context's buffers are on it
    (docs/two-gpus.md)."""

    _draws: "_Queue"  # of culvert.draw, where that is used

    def __init__(self, *, driver: str = "auto", extensions: Sequence[str] = (), instance_extensions: Sequence[str] = (),
                 kernels: bool = False, use: int = d.culv_vk_queue_use.CULV_VK_QUEUE_GRAPHICS, label: Optional[str] = None,
                 one_address: bool = False, features: Sequence[str] = (), layers: Sequence[str] = (),
                 validation: bool = False, solver: Optional[int] = None):
        get = get_instance_proc_addr()
        self.queue = self.queue_family = self.physical_device = 0
        self.sparse_queue = 0  # the queue, where the device has sparse buffers: one shows a tensor that lies in many chunks
        self.functions: Functions
        self.device: Device
        self.vk: VulkanDevice  # these three are there when the constructor has returned
        self._home: Optional[_Home] = None
        bury()
        self._key = last_of(self, [], [])
        self._thread = process.opener()
        _contexts.add(self)
        try:
            with process.works(opens="vulkan.open"):
                self._open(get, driver, extensions, instance_extensions, kernels, use, label, one_address, features,
                           [*layers, *(["VK_LAYER_KHRONOS_validation"] if validation else [])], solver)
        except BaseException:
            self.close()
            raise

    @property
    def instance(self) -> int:
        """The VkInstance, or 0 when the context is closed."""
        return self._home.instance if self._home is not None else 0

    @property
    def handle(self) -> int:
        """The VkDevice, or 0 when the context is closed."""
        return self._home.device if self._home is not None else 0

    def _open(self, get: int, driver: str, extensions: Sequence[str], instance_extensions: Sequence[str], kernels: bool,
              use: int, label: Optional[str], one_address: bool, features: Sequence[str], mine: Sequence[str],
              solver: Optional[int]) -> None:
        cuda_driver = driver_of(driver)
        extensions, instance_extensions, features, mine = ([names] if isinstance(names, str) else names for names in (
            extensions, instance_extensions, features, mine))
        if driver == "soft":
            api.culv_soft_enable()
        app = d.VkApplicationInfo(apiVersion=0x403000)
        layers, num_layers = _names("culv_vk_merge_instance_layers", get, len(mine),
                                    (c_char_p * max(len(mine), 1))(*[n.encode() for n in mine]))
        wanted = (c_char_p * max(len(instance_extensions), 1))(*[n.encode() for n in instance_extensions])
        info = d.VkInstanceCreateInfo(
            pApplicationInfo=ctypes.addressof(app), enabledLayerCount=num_layers,
            ppEnabledLayerNames=ctypes.addressof(layers), enabledExtensionCount=len(instance_extensions),
            ppEnabledExtensionNames=ctypes.addressof(wanted))
        try:
            self._home = home = _Home(info, self._key)
        except VulkanError as e:
            if e.result in (d.VK_ERROR_INCOMPATIBLE_DRIVER, d.VK_ERROR_INITIALIZATION_FAILED):
                raise _no_driver(
                    f"Vulkan has no driver here ({e}): install the GPU's, and look at VK_DRIVER_FILES, which may leave it out. A "
                    "container needs NVIDIA_DRIVER_CAPABILITIES=all (or graphics). culvert-info says what there is") from None
            raise e.about([*mine, *instance_extensions]) from None
        self.functions = home.functions
        cuda = describe(d.culv_device_desc, driver=cuda_driver, label=label)
        physical = c_void_p()
        self.device = Device(_made=making("culv_vk_choose_physical_device", get, self.instance, cuda, byref(physical), OUT))
        self._crosses = False  # from GPU to GPU
        if solver is not None and solver != self.device.caps.ordinal:
            with self.device as draws:
                kind_of = "soft" if draws.is_software else "nvidia"
            self.device = Device(solver, driver=kind_of, label=label)
            self._crosses = True
        self.physical_device = physical.value or 0
        family = c_uint32()
        api.culv_vk_find_queue_family(get, self.instance, self.physical_device, use, byref(family))
        self.queue_family = home.family = family.value
        desc = describe(d.culv_vk_device_desc, get_instance_proc_addr=get, instance=self.instance,
                        physical_device=self.physical_device, api_version=0x403000, kernels=int(kernels))
        more = (c_char_p * max(len(extensions), 1))(*[n.encode() for n in extensions])
        names, num_names = _names("culv_vk_merge_device_extensions", desc, len(extensions), more)
        storage = describe(d.culv_vk_device_features, one_address=int(one_address))
        sparse = _SPARSE if self._has_sparse_buffers() else ()
        structs = _features(["dynamicRendering", "synchronization2", "maintenance4", *sparse, *features])
        chain = c_void_p()
        api.culv_vk_merge_device_features(desc, ctypes.addressof(structs[0]), storage, byref(chain))
        priority = c_float(1)
        queue = d.VkDeviceQueueCreateInfo(queueFamilyIndex=self.queue_family, queueCount=1,
                                          pQueuePriorities=ctypes.addressof(priority))
        made = d.VkDeviceCreateInfo(pNext=chain.value, queueCreateInfoCount=1, pQueueCreateInfos=ctypes.addressof(queue),
                                    enabledExtensionCount=num_names, ppEnabledExtensionNames=ctypes.addressof(names))
        try:
            home.make_device(self.physical_device, made)
        except VulkanError as e:
            raise e.about([*extensions, *features]) from None
        kind = d.VkSemaphoreTypeCreateInfo(semaphoreType=d.VK_SEMAPHORE_TYPE_TIMELINE)
        _keep_the_driver()
        home.done = home.make("Semaphore", d.VkSemaphoreCreateInfo(pNext=ctypes.addressof(kind)), None)
        out = c_void_p()
        self.functions.vkGetDeviceQueue(self.handle, self.queue_family, 0, byref(out))
        self.queue = home.queue = out.value or 0
        self.sparse_queue = self.queue if sparse else 0
        self.vk = VulkanDevice(self.device, get_instance_proc_addr=get, instance=self.instance,
                               physical_device=self.physical_device, vk_device=self.handle, kernels=kernels,
                               allow_other_gpu=solver is not None, _home=home)

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            there = _ELSEWHERE.get(name)
            raise AttributeError(f"a Context has no {name}" + (f": it is {there}" if there else ""))

    def _has_sparse_buffers(self) -> bool:
        f, count = self.functions, c_uint32(32)
        there, families = d.VkPhysicalDeviceFeatures2(), (d.VkQueueFamilyProperties * 32)()
        f.vkGetPhysicalDeviceFeatures2(self.physical_device, there)
        f.vkGetPhysicalDeviceQueueFamilyProperties(self.physical_device, byref(count), families)
        return all(getattr(there.features, name) for name in _SPARSE) and \
            bool(families[self.queue_family].queueFlags & d.VK_QUEUE_SPARSE_BINDING_BIT)

    def commands(self) -> int:
        """A new command buffer, which goes with the context."""
        return self._open_home().commands()

    def ring(self, resources: Sequence[d.culv_vk_ring_resource], depth: int = 3, vulkan_consumes: bool = True, *,
             label: Optional[str] = None, wait_stage: Optional[int] = None, waits: Optional[int] = None,
             settings: Optional[Structure] = None) -> Ring:
        """Frames in flight between CUDA and the context's queue (VulkanDevice.ring)."""
        return self.vk.ring(self.queue, self.queue_family, resources, depth, vulkan_consumes, label=label, wait_stage=wait_stage,
                            waits=waits, settings=settings)

    def barrier(self, commands: Handle, buffers: Sequence[d.VkBufferMemoryBarrier2] = (),
                images: Sequence[d.VkImageMemoryBarrier2] = ()) -> None:
        """Records barriers, such as those of VulkanDevice.buffer_transfer() and image_transfer()."""
        b = (d.VkBufferMemoryBarrier2 * max(len(buffers), 1))(*buffers)
        i = (d.VkImageMemoryBarrier2 * max(len(images), 1))(*images)
        info = d.VkDependencyInfo(bufferMemoryBarrierCount=len(buffers), pBufferMemoryBarriers=ctypes.addressof(b),
                                  imageMemoryBarrierCount=len(images), pImageMemoryBarriers=ctypes.addressof(i))
        self.functions.vkCmdPipelineBarrier2(handle(commands), info)

    def submit(self, commands: Handle, wait: Sequence[Tuple[Handle, int]] = (), signal: Sequence[Tuple[Handle, int]] = (),
               fence: Handle = None) -> None:
        """Submits a command buffer. wait and signal are (semaphore, value)."""
        home = self._open_home()

        for semaphore in _semaphores(wait, "wait") + _semaphores(signal, "signal"):
            if isinstance(semaphore, VulkanSemaphore) and semaphore._home is not home:
                raise ValueError(f"{semaphore!r} is of another VkDevice than {self!r}")

        def points(pairs: Sequence[Tuple[Handle, int]]) -> "ctypes.Array[d.VkSemaphoreSubmitInfo]":
            return (d.VkSemaphoreSubmitInfo * max(len(pairs), 1))(*[d.VkSemaphoreSubmitInfo(
                semaphore=handle(s), value=check_value(v, "value"), stageMask=d.VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT)
                for s, v in pairs])
        if not handle(commands):
            raise ValueError(f"commands={commands!r} is no command buffer: commands() makes one")
        # One timeline more, for the host alone: wait_idle() and close() wait for it with a bound.
        signal = list(signal)
        one = d.VkCommandBufferSubmitInfo(commandBuffer=handle(commands))
        with home.lock:
            waits, signals = points(wait), points(signal + [(home.done, home.submitted + 1)])
            info = d.VkSubmitInfo2(waitSemaphoreInfoCount=len(wait), pWaitSemaphoreInfos=ctypes.addressof(waits),
                                   commandBufferInfoCount=1, pCommandBufferInfos=ctypes.addressof(one),
                                   signalSemaphoreInfoCount=len(signal) + 1, pSignalSemaphoreInfos=ctypes.addressof(signals))
            home.send(info, handle(fence))
            for waits_, pairs in ((True, wait), (False, signal)):
                for semaphore, value in pairs:
                    if isinstance(semaphore, VulkanSemaphore):
                        home.turns.note("Vulkan", waits_, semaphore.handle, value)

    def _open_home(self) -> _Home:
        if self._home is None or not self._home.is_open:
            raise ValueError(f"this {type(self).__name__} is closed")
        return self._home

    def wait_idle(self, timeout: int = 10 * SECOND) -> None:
        """Waits until Vulkan has done all its work, at most `timeout` nanoseconds (LateError), and hears Ctrl-C."""
        home = self._open_home()
        bury()
        home.wait_for_all(timeout, "Context.wait_idle")
        if not cuda_waits():
            home.sweep()

    def close(self, timeout: int = 10 * SECOND) -> None:
        """Waits for Vulkan and destroys what the context made, and what was made with it. Waits that nobody was asked to
        end are given up, with a warning. After a LateError all is as before, and close() may be called again."""
        bury()
        if process.forked or self._home is None or self._home.gate.is_shut:
            return
        if not self._home.ending:
            self._home.end(timeout, "Context.close")
            self._wait_for_default_stream(timeout)
        for made in [*self._home.attached, getattr(self, "device", None)]:
            if made is not None:
                made.close()
        self._home.destroy()  # vk and device stay, and say that they are closed

    def _wait_for_default_stream(self, timeout: int) -> None:
        """CUDA may destroy a semaphore only when the program knows that its waits are over, and Vulkan's end does not tell that.
        Other streams are their owners', who may have destroyed them."""
        device = getattr(self, "device", None)
        if device is None or device.closed or self._home is None or not self._home.turns.has(0):
            return
        device.make_current()
        capture = ctypes.c_int()
        if getattr(device.cuda.cuStreamIsCapturing, "raw")(0, byref(capture)) != 0 or capture.value != 0:
            return  # a query would break the capture of a stream that this one waits for
        try:
            _wait_for_stream(device, 0, timeout, lambda: "the default stream has not done its work in time")
        except RuntimeError:
            pass  # of a context that failed nothing is waited for

    def __del__(self) -> None:
        if not process.forked and not sys.is_finalizing():
            drop(getattr(self, "_key", 0))

    @property
    def closed(self) -> bool:
        return self._home is None or not self._home.is_open

    def __repr__(self) -> str:
        def more() -> Iterator[str]:
            yield f"VkDevice {self.handle:#x}"
            yield f"on {self.device.name!r}"
        return told(self, self.closed, more())

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        try:
            self.close()
        except Error as e:
            if kind is None:
                raise
            warnings.warn(f"the context was not closed after the exception: {e}", ResourceWarning)


_contexts: "weakref.WeakSet[Context]" = weakref.WeakSet()


def _contexts_to_close() -> List[Context]:
    """All but those of threads that go on while the interpreter ends. They may be at work with them."""
    return [context for context in list(_contexts) if not process.goes_on(context._thread)]


def give_up_waits() -> None:
    """Of all contexts, when the interpreter ends: one that waits would keep CUDA from ending anything."""
    for context in _contexts_to_close():
        if context._home is not None and context._home.device and not process.forked:
            try:
                context._home.give_up_waits(2 * SECOND)
            except (Error, RuntimeError):
                pass


def _close_last(context: Context) -> None:
    try:
        context.close(2 * SECOND)
    except LateError:
        if context._home is not None:
            context._home.signal_all()
        context.close(2 * SECOND)


@atexit.register
def _close_contexts() -> None:
    """The interpreter ends, and never waits long for that."""
    process.end()
    give_up_waits()
    for context in _contexts_to_close():
        try:
            _close_last(context)
        except (Error, RuntimeError):  # VulkanError, and CUDA's: the system takes it all
            device = getattr(context, "device", None)
            if device is not None:
                _roots.discard(device)


def open(*, driver: str = "auto", extensions: Sequence[str] = (),  # noqa: A001: culvert.vulkan.open() reads well
         instance_extensions: Sequence[str] = (), kernels: bool = False,
         use: int = d.culv_vk_queue_use.CULV_VK_QUEUE_GRAPHICS, label: Optional[str] = None, one_address: bool = False,
         features: Sequence[str] = (), layers: Sequence[str] = (), validation: bool = False,
         solver: Optional[int] = None) -> Context:
    """A headless Vulkan context on the device that CUDA reaches, with Culvert attached (Context)."""
    return Context(driver=driver, extensions=extensions, instance_extensions=instance_extensions, kernels=kernels, use=use,
                   label=label, one_address=one_address, features=features, layers=layers, validation=validation, solver=solver)


if not TYPE_CHECKING:  # a checker takes what has no underscore
    __all__ = [n for n in dir(d) if n.startswith(("Vk", "VK_"))]
    __all__ += ["Context", "Functions", "VulkanError", "get_instance_proc_addr", "loader", "open"]
