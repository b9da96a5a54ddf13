# SPDX-License-Identifier: MIT
"""Cases of Python's array libraries and compilers, for run.py. Bytes are compared on the other side each time."""
import ast
import contextlib
import ctypes
import gc
import importlib
import os
import random
import sys
import time
import warnings

import exits
import pages
import vulkan_work

import culvert
from culvert import vulkan as vk


class Skip(Exception):
    pass


LIBRARIES = ("numpy", "driver", "torch", "cupy", "jax", "triton", "numba")
ARRAYS = ("numpy", "torch", "cupy", "jax")
STREAMS = ("driver", "torch", "cupy")
ENVIRONMENT = {"jax": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}}
CASES = {}


class Case:
    def __init__(self, function, libraries, own, environment, seconds=0):
        self.run, self.libraries, self.own, self.environment = function, libraries, own or bool(environment), environment
        self.seconds = seconds


def case(*libraries, own=False, seconds=0, **environment):
    """A case of these libraries. `own`: in a process of its own, as is one with an environment. `seconds`: how long it may
    take, if that is longer than others may."""
    def keep(function):
        CASES[function.__name__] = Case(function, libraries, own, environment, seconds)
        return function
    return keep


def cases_of(library):
    return [name for name, c in CASES.items() if library in c.libraries]


class Library:
    """What the cases need of a library."""

    def __init__(self, name):
        self.name = name
        try:
            with culvert.Device() as device:
                self.software = device.is_software
        except culvert.Error as e:
            raise Skip(f"no device: {e}") from None
        if self.software and name not in ("numpy", "driver"):
            raise Skip(f"{name} is for a GPU")
        if not self.software and name == "numpy":
            raise Skip("NumPy reads no GPU's memory")
        self.np = self._import("numpy") if name != "driver" else None
        self.module = None if name == "driver" else self._import(name if name != "numba" else "numba.cuda")
        self.torch = None
        if name in ("triton", "torch"):
            self.torch = self._import("torch")
            if not self.torch.cuda.is_available():
                raise Skip("PyTorch sees no GPU")
        if name == "cupy" and self.module.cuda.runtime.getDeviceCount() == 0:
            raise Skip("CuPy sees no GPU")
        if name == "numba":
            self._try_numba()
        if name == "jax":
            if not any(d.platform in ("gpu", "cuda") for d in self.module.devices()):
                raise Skip("JAX sees no GPU")

    def _try_numba(self):
        """Numba imports the greater part of itself when it compiles the first kernel."""
        if not self.module.is_available():
            raise Skip("Numba sees no GPU")

        def nothing():
            pass

        try:
            self.module.jit("void()")(nothing)
        except Exception as e:  # noqa: BLE001: whatever it is, it is no kernel of Culvert's
            raise Skip(f"numba compiles nothing here: {type(e).__name__}: {e}".splitlines()[0]) from None

    @staticmethod
    def _import(name):
        try:
            return importlib.import_module(name)
        except Exception as e:  # noqa: BLE001: whatever it is, the library does not serve here
            raise Skip(f"{name} is not there: {type(e).__name__}: {e}".splitlines()[0]) from None

    def array(self, tensor):
        if self.name == "numpy":
            return self.np.asarray(tensor)
        if self.name == "jax":
            return importlib.import_module("jax.dlpack").from_dlpack(tensor)
        return self.module.from_dlpack(tensor)

    def host(self, array):
        if self.name == "torch":
            return array.cpu().numpy()
        if self.name == "cupy":
            return self.module.asnumpy(array)
        return self.np.array(array)

    def write(self, array, values):
        if self.name == "torch":
            array.copy_(self.module.from_numpy(values))
        elif self.name == "cupy":
            array.set(values)
        else:
            array[...] = values

    def stream(self, device):
        if self.name == "driver":
            return device.stream()
        return self.module.cuda.Stream() if self.name == "torch" else self.module.cuda.Stream(non_blocking=True)

    @contextlib.contextmanager
    def on(self, stream):
        if self.name == "driver":
            yield
        elif self.name == "torch":
            with self.module.cuda.stream(stream):
                yield
        else:
            with stream:
                yield

    def fill(self, array, buffer, device, stream, word):
        """Writes a word everywhere, on the stream."""
        if self.name == "driver":
            device.make_current()
            device.cuda.cuMemsetD32Async(buffer.pointer, word, buffer.size // 4, stream)
        else:
            with self.on(stream):
                array.fill_(word) if self.name == "torch" else array.fill(word)


@contextlib.contextmanager
def opened(**options):
    """A Vulkan context. Nothing may be left when the case has closed what it made."""
    with culvert.vulkan.open(**options) as gpu:
        yield gpu
        gpu.wait_idle()
        settled(gpu, {name: int(name == "attached_devices") for name in gpu.device.counts()})


def settled(gpu, wanted):
    """The device's counts become these. JAX gives arrays back on a thread of its own."""
    for _ in range(100):
        gc.collect()
        left = gpu.device.counts()
        if left == wanted:
            return
        time.sleep(0.05)
    assert left == wanted, f"left: {left}, wanted: {wanted}"


def upload(gpu, pointer, data):
    gpu.device.make_current()
    gpu.device.cuda.cuMemcpyHtoD(pointer, data, len(data))
    gpu.device.cuda.cuCtxSynchronize()  # a small copy of pageable memory may return early


def synchronize(gpu):
    gpu.device.make_current()
    gpu.device.cuda.cuCtxSynchronize()


def noise(np, count, dtype, seed=1):
    return np.frombuffer(np.random.RandomState(seed).bytes(count * np.dtype(dtype).itemsize), dtype)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


# Bytes ---------------------------------------------------------------------------------------------------------------

@case(*ARRAYS)
def vulkan_writes_and_it_reads(lib):
    np = lib.np
    with opened() as gpu:
        for i, dtype in enumerate(("int32", "float32", "uint8", "float16", "uint16" if lib.name != "torch" else "int16")):
            data = noise(np, 1 << 14, dtype, i).tobytes()
            with gpu.vk.buffer(len(data)) as a, gpu.vk.buffer(len(data)) as b:
                upload(gpu, a.pointer, data)
                vulkan_work.copy(gpu, a, b)
                array = lib.array(b.tensor(dtype, (-1, 64)))
                assert tuple(array.shape) == (256, 64)
                assert lib.host(array).tobytes() == data, dtype
                del array


@case("numpy", "torch", "cupy")
def it_writes_and_vulkan_reads(lib):
    np = lib.np
    with opened() as gpu:
        for i, dtype in enumerate(("int32", "float32", "uint8", "int64")):
            values = noise(np, 1 << 14, dtype, 10 + i).reshape(256, 64).copy()
            with gpu.vk.buffer(values.nbytes) as a, gpu.vk.buffer(values.nbytes) as b:
                array = lib.array(a.tensor(dtype, (256, 64)))
                lib.write(array, values)
                synchronize(gpu)
                vulkan_work.copy(gpu, a, b)
                assert vulkan_work.read(gpu, b) == values.tobytes(), dtype
                del array


@case("numpy", "torch", "cupy")
def shapes_strides_and_offsets(lib):
    np = lib.np
    with opened() as gpu, gpu.vk.buffer(1 << 14) as buffer:
        data = noise(np, 1 << 12, "int32").copy()
        upload(gpu, buffer.pointer, data.tobytes())
        for shape, strides, offset in (((64, 64), None, 0), ((64, 64), (1, 64), 0), ((10, 7), (64, 3), 1024), ((), None, 512),
                                       ((5,), (100,), 4), ((3, 4, 5), (400, 40, 2), 256)):
            array = lib.array(buffer.tensor("int32", shape, strides=strides, offset=offset))
            steps = strides or [int(np.prod(shape[k + 1:])) for k in range(len(shape))]
            want = np.lib.stride_tricks.as_strided(data[offset // 4:], shape, [4 * s for s in steps])
            assert tuple(array.shape) == shape and (lib.host(array) == want).all(), (shape, strides, offset)
            del array


@case("jax")
def a_result_goes_into_vulkan(lib):
    """JAX's arrays do not change: its result is copied on the device."""
    jax, np = lib.module, lib.np
    with opened() as gpu, gpu.vk.buffer(1 << 16) as a, gpu.vk.buffer(1 << 16) as b:
        upload(gpu, a.pointer, noise(np, 1 << 14, "int32").tobytes())
        source = lib.array(a.tensor("int32", (128, 128)))
        result = jax.jit(lambda x: x.T * 3 + 1)(source).block_until_ready()
        gpu.device.make_current()
        gpu.device.cuda.cuMemcpyDtoD(a.pointer, result.unsafe_buffer_pointer(), 1 << 16)
        vulkan_work.copy(gpu, a, b)
        want = noise(np, 1 << 14, "int32").reshape(128, 128).T * np.int32(3) + np.int32(1)
        assert vulkan_work.read(gpu, b) == want.tobytes()
        try:
            with culvert.buffer(result, gpu.vk) as view:
                assert vulkan_work.copy_out(gpu, view.buffers(), 1 << 16) == want.tobytes()
            print("MEASURED memory of JAX's own allocator: taken")
        except culvert.Error as e:
            assert e.reason == "NOT_EXPORTABLE", e
            print("MEASURED memory of JAX's own allocator: refused")
        del source, result


# Lifetimes -----------------------------------------------------------------------------------------------------------

@case(*ARRAYS, own=True)
def outlives_the_device_and_the_package(lib):
    with culvert.vulkan.open() as other:
        buffer = other.vk.buffer(4096)
        vulkan_work.fill(other, buffer, 77)
        array, second = lib.array(buffer.tensor("int32")), lib.array(buffer.tensor("int32", (4,), offset=16))
    del buffer, other
    gc.collect()
    assert (lib.host(array) == 77).all()
    for name in [n for n in sys.modules if n.partition(".")[0] in ("culvert", "vulkan_work")]:
        del sys.modules[name]
    for name in ("culvert", "vk", "vulkan_work"):
        globals()[name] = None
    gc.collect()
    assert (lib.host(array) == 77).all() and (lib.host(second) == 77).all()
    del array
    gc.collect()
    assert (lib.host(second) == 77).all()
    del second
    gc.collect()


@case(*ARRAYS, own=True)
def outlives_a_reset(lib):
    """What cudaDeviceReset() ends is gone, and giving the array back afterwards is no error."""
    gpu = culvert.vulkan.open()
    buffer = gpu.vk.buffer(4096)
    vulkan_work.fill(gpu, buffer, 5)
    array = lib.array(buffer.tensor("int32"))
    assert (lib.host(array) == 5).all()
    gpu.device.cuda.cuDevicePrimaryCtxReset(gpu.device.caps.ordinal)
    del array
    gc.collect()
    with contextlib.suppress(culvert.Error):
        buffer.close()


@case(*ARRAYS)
def exports_10000_leave_nothing(lib):
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    with opened() as gpu, gpu.vk.buffer(4096) as buffer:
        tensor = buffer.tensor("float32")

        def left():
            gc.collect()
            gpu.device.make_current()
            gpu.device.cuda.cuMemGetInfo(ctypes.byref(free), ctypes.byref(total))
            return gpu.device.counts(), descriptors(), free.value

        for _ in range(100):
            lib.array(tensor)
        counts, files, memory = left()
        for _ in range(10000):
            lib.array(tensor)
        settled(gpu, counts)
        now = left()
        assert now[1] == files, (now, files)
        if not lib.software:  # others may use the GPU
            assert memory - now[2] < 32 << 20
        del tensor


CELLS = (  # of a notebook, in any order: names are bound again, and nothing is closed
    "gpu = culvert.vulkan.open()\nbuffer, timeline, stream = gpu.vk.buffer(4097), gpu.vk.timeline(), gpu.device.stream()",
    "tensor = buffer.tensor()\narray = array_of(tensor)",
    "value = timeline.last_value\nwith timeline.frame(signal=value + 1).cuda():\n    fill(buffer)",
    "gpu.submit(empty(gpu), wait=[(timeline, timeline.last_value + 1)], signal=[(timeline, timeline.last_value + 2)])\n"
    "with timeline.frame(signal=timeline.last_value + 1).cuda(stream):\n    fill(buffer)\n1 / 0",
    "view = culvert.show(gpu.vk.buffer(32 * 32 * 4).tensor('float32', (32, 32)), gpu=gpu, window=False, size=(64, 64))\nview",
    "view.update()\nview",
    "ring = gpu.ring([culvert.ring_buffer(4096)], depth=2)\nfor _ in range(3):\n    with ring.cuda(): pass\n"
    "    with ring.frame(): pass",
    "with ring.cuda() as turn:\n    raise KeyError('in a turn')",
    "view = culvert.show(view.gpu.vk.buffer(4096).tensor('float32', (32, 32)), window=False, size=(64, 64))\nview",
    "vector = gpu.device.vector(4097, exportable=True)\nadopted = gpu.vk.adopt(vector.pointer, 64)\n"
    "shown = gpu.vk.vector_view(vector)",
    "gpu.vk.buffer(0)",
    "cycle = [gpu, buffer, tensor, array]\ncycle.append(cycle)\ndel cycle",
    "del gpu, buffer, array, tensor, timeline, ring",
    "gpu = culvert.vulkan.open()\nbuffer, timeline, stream = gpu.vk.buffer(4097), gpu.vk.timeline(), gpu.device.stream()\n"
    "ring = gpu.ring([culvert.ring_buffer(4096)])\ntensor = buffer.tensor()\narray = array_of(tensor)",
)


def a_cell(text, names):
    """As IPython runs it: the last expression is shown, and the last exception is kept with its frames."""
    tree = ast.parse(text)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "cell", "exec"), names)  # noqa: S102
        if last is not None:
            names["_"] = eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307
            if hasattr(names["_"], "_repr_png_"):
                assert names["_"]._repr_png_().startswith(b"\x89PNG")
    except Exception as e:  # noqa: BLE001: as a notebook
        names["last_error"] = e
        return type(e).__name__
    return ""


@case("numpy", "driver", "torch", "cupy", own=True, seconds=500)
def a_thousand_cells_leave_nothing(lib):
    """Descriptors, the host's memory and the device's are flat, whatever a notebook's cells drop."""
    def fill(buffer):
        buffer._device.make_current()
        buffer._device.cuda.cuMemsetD8Async(buffer.pointer, 3, buffer.size, culvert.stream_handle(None))

    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    names = dict(culvert=culvert, empty=vulkan_work.recorded, fill=fill, array_of=lib.array if lib.name != "driver" else lambda t: t)
    seen, raised = [], {}
    with culvert.Device() as device, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # waits that are given up
        for number in range(1001):
            if number % 100 == 0:
                gc.collect()
                device.make_current()
                device.cuda.cuMemGetInfo(ctypes.byref(free), ctypes.byref(total))
                with open("/proc/self/status") as f:
                    resident = next(int(line.split()[1]) for line in f if line.startswith("VmRSS:"))
                seen.append((descriptors(), resident, free.value))
            error = a_cell(CELLS[number % len(CELLS)], names)
            raised[error] = raised.get(error, 0) + 1
        names.clear()
        gc.collect()
        left = descriptors()
    print(f"MEASURED descriptors after each 100 cells: {[s[0] for s in seen]}, at the end {left}")
    print(f"MEASURED resident KiB: {[s[1] for s in seen]}")
    print(f"MEASURED free MiB of the device: {[s[2] >> 20 for s in seen]}")
    assert set(raised) == {"", "ZeroDivisionError", "KeyError", "InvalidError"} and raised[""] > 700, raised
    # The cells are not the same at each look, but as many: what is open then differs by a few descriptors.
    early, late = seen[2:6], seen[7:]
    assert max(s[0] for s in late) <= max(s[0] for s in early) + 3, seen
    # Mesa 25 keeps memory for what it compiled, less and less of it. NVIDIA's driver takes its memory in steps of some
    # MiB (one of 12 in a thousand cells). A leak would go on at the same pace.
    more = max(8192, (seen[5][1] - seen[0][1]) // 3) if lib.software else 20480
    assert max(s[1] for s in late) <= max(s[1] for s in early) + more, seen
    if not lib.software:  # others may use the GPU
        assert min(s[2] for s in late) >= min(s[2] for s in early) - (64 << 20), seen


# Streams -------------------------------------------------------------------------------------------------------------

def two_streams(lib, ordered):
    """The producer's stream is late. What a consumer on another stream sees."""
    with opened() as gpu, gpu.vk.buffer(1 << 16) as buffer:
        producer, consumer = lib.stream(gpu.device), lib.stream(gpu.device)
        mine = lib.array(buffer.tensor("int32"))
        # What is used below was used before: the driver may load a kernel, or make memory, only when streams do not wait.
        seen = lib.module.empty_like(mine)
        for stream in (producer, consumer):
            lib.fill(mine, buffer, gpu.device, stream, 1)
            with lib.on(stream):
                seen[:] = mine
        synchronize(gpu)
        with gpu.vk.timeline() as timeline:
            timeline.wait(producer, 1)  # Vulkan signals it below: the producer is late for certain
            lib.fill(mine, buffer, gpu.device, producer, 2)
            tensor = buffer.tensor("int32", stream=producer)
            number = culvert._lib.stream_handle(consumer)
            capsule = tensor.__dlpack__(stream=number if ordered else -1, max_version=(1, 0))
            with lib.on(consumer):
                if lib.name == "torch":
                    seen[:] = lib.module.utils.dlpack.from_dlpack(capsule)
                else:
                    seen[:] = lib.module.from_dlpack(Once(capsule, tensor.__dlpack_device__()))
            if not ordered:
                consumer.synchronize()  # it waits for nobody
            gpu.submit(vulkan_work.recorded(gpu), signal=[(timeline, 1)])
            synchronize(gpu)
            assert (lib.host(seen) == (2 if ordered else 1)).all()
            del mine, seen, capsule, tensor


class Once:
    """A capsule for those who want an object."""

    def __init__(self, capsule, device):
        self.capsule, self.device = capsule, device

    def __dlpack__(self, **_):
        capsule, self.capsule = self.capsule, None
        return capsule

    def __dlpack_device__(self):
        return self.device


@case("torch", "cupy")
def a_consumer_waits_for_the_producer(lib):
    two_streams(lib, True)


@case("torch", "cupy")
def without_the_hand_over_it_reads_too_early(lib):
    two_streams(lib, False)


@contextlib.contextmanager
def turn(lib, timeline, stream):
    if lib.software:  # there a frame makes the host wait, too
        timeline.wait(stream, 1)
        yield
        timeline.signal(stream, 2)
    else:
        with timeline.frame(wait=1, signal=2).cuda(stream):
            yield


def frame_on(lib, wrong):
    """CUDA's turn comes after Vulkan's, unless the work goes to another stream than the frame's."""
    with opened() as gpu, gpu.vk.buffer(1 << 16) as buffer, gpu.vk.timeline() as timeline:
        right, other = lib.stream(gpu.device), lib.stream(gpu.device)
        array = lib.array(buffer.tensor("int32")) if lib.name != "driver" else None
        for stream in (right, other):  # the driver may load a kernel only when no stream waits
            lib.fill(array, buffer, gpu.device, stream, 1)
        synchronize(gpu)
        with turn(lib, timeline, right):
            lib.fill(array, buffer, gpu.device, other if wrong else right, 3)
        if wrong:
            other.synchronize()
        def fill_two(commands):
            gpu.functions.vkCmdFillBuffer(commands, buffer.handle, 0, 2**64 - 1, 2)
            gpu.barrier(commands, [gpu.vk.buffer_transfer(buffer, gpu.queue_family, False)])
        gpu.submit(vulkan_work.recorded(gpu, fill_two), signal=[(timeline, 1)])
        gpu.wait_idle()
        right.synchronize()
        assert timeline.last_value >= 2
        words = (ctypes.c_uint32 * 16384).from_buffer_copy(vulkan_work.read(gpu, buffer))
        assert set(words) == {2 if wrong else 3}
        if lib.name == "driver":
            right.close()
            other.close()
        del array


@case(*STREAMS)
def a_frame_orders_its_stream(lib):
    frame_on(lib, False)


@case(*STREAMS)
def a_wrong_stream_is_seen(lib):
    frame_on(lib, True)


@case("numpy", "torch", "cupy")
def frames_of_a_ring(lib):
    """200 frames through three slots. Vulkan keeps a word of each."""
    frames, words = 200, 1024
    with opened() as gpu, gpu.vk.buffer(frames * 4) as kept:
        f = gpu.functions
        ring = gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(words * 4)], depth=3)
        lists = [gpu.commands() for _ in range(frames)]  # one may still be used when its slot comes again
        stream = lib.stream(gpu.device) if lib.name != "numpy" else None
        for i in range(frames):
            with ring.cuda(stream) as frame:
                array = lib.array(frame.tensor("int32", stream=stream))
                if stream is None:
                    array[:] = 1000 + i
                else:
                    with lib.on(stream):
                        array[:] = 1000 + i
                del array
            got = ring.acquire()
            slot = ring.buffer(got.slot)

            def record(c):
                f.vkCmdPipelineBarrier2(c, ring.barriers(got.slot, "acquire"))
                f.vkCmdCopyBuffer(c, slot.handle, kept.handle, 1, vk.VkBufferCopy(4 * (i % words), 4 * i, 4))
                f.vkCmdPipelineBarrier2(c, ring.barriers(got.slot, "release"))
            ring.submit(gpu.queue, vulkan_work.recorded(gpu, record, commands=lists[i]), got)
        gpu.wait_idle()
        ring.drain()
        said = (ctypes.c_uint32 * frames).from_buffer_copy(vulkan_work.read(gpu, kept))
        assert list(said) == [1000 + i for i in range(frames)]
        ring.close()


# PyTorch's own tensors -----------------------------------------------------------------------------------------------

def both_ways(gpu, torch, tensor):
    """Vulkan reads a tensor of PyTorch's, and writes it."""
    torch.cuda.synchronize()
    with culvert.buffer(tensor, gpu.vk) as view:
        assert vulkan_work.copy_out(gpu, view.buffers(), tensor.numel() * 4) == tensor.detach().cpu().numpy().tobytes()
        data = (ctypes.c_uint8 * view.size)(*os.urandom(4096)) if view.size >= 4096 else (ctypes.c_uint8 * view.size)()
        with gpu.vk.buffer(view.size) as source:
            upload(gpu, source.pointer, bytes(data))
            vulkan_work.copy_in(gpu, source, view.buffers())
        assert tensor.detach().cpu().numpy().tobytes() == bytes(data) and view.is_current
        return len(view.buffers())


@case("torch", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
def expandable_segments(lib):
    torch = lib.torch
    small = torch.arange(1000, dtype=torch.int32, device="cuda")
    large = torch.arange(20_000_000, dtype=torch.int32, device="cuda")
    weight = torch.nn.Parameter(torch.rand(300, 500, device="cuda"))
    with opened() as gpu:
        for tensor in (small, large, weight):
            print(f"MEASURED buffers of {tensor.numel() * 4} bytes: {both_ways(gpu, torch, tensor)}")
        view = culvert.buffer(large, gpu.vk)
        del large, tensor
        torch.cuda.empty_cache()
        assert not view.is_current
        view.close()


@case("torch")
def a_pool(lib):
    torch = lib.torch
    with torch.cuda.use_mem_pool(culvert.torch_pool()):
        tensor, second = torch.rand(100_000, device="cuda"), torch.rand(100, device="cuda")
    with opened() as gpu:
        both_ways(gpu, torch, tensor)
        both_ways(gpu, torch, second)


@case("torch")
def a_default_tensor_is_refused(lib):
    if "expandable_segments" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""):
        raise Skip("expandable segments are on")
    with opened() as gpu:
        try:
            culvert.buffer(lib.torch.zeros(1000, device="cuda"), gpu.vk)
        except culvert.InvalidError as e:
            assert "expandable_segments:True" in e.message, e.message
        else:
            raise AssertionError("it was taken")


def training(torch, steps=200):
    """(the last loss, milliseconds a step) of a small network"""
    torch.manual_seed(3)
    layers = [layer for _ in range(6) for layer in (torch.nn.Linear(1024, 1024), torch.nn.GELU())]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(1024, 16)).cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4)
    inputs, wanted = torch.rand(4096, 1024, device="cuda"), torch.rand(4096, 16, device="cuda")

    def step():
        optimizer.zero_grad()
        loss = ((net(inputs) - wanted) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    for _ in range(10):
        step()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(steps):
        loss = step()
    end.record()
    torch.cuda.synchronize()
    return loss.item(), begin.elapsed_time(end) / steps


@case("torch", own=True)
def a_training_step_in_the_pool(lib):
    """The same numbers as with PyTorch's own allocator. The times are told, and not judged."""
    torch = lib.torch
    plain = training(torch)
    lib.pool = culvert.torch_pool()  # what cuBLAS keeps lies in it
    with torch.cuda.use_mem_pool(lib.pool):
        pooled = training(torch)
    again = training(torch)
    assert abs(pooled[0] - plain[0]) <= 1e-3 * plain[0], (plain, pooled)
    print(f"MEASURED training step, default allocator: {plain[1]:.3f} ms, again {again[1]:.3f} ms")
    print(f"MEASURED training step, Culvert's pool: {pooled[1]:.3f} ms")


# Kernels in the queue ------------------------------------------------------------------------------------------------

def with_kernels():
    try:
        return culvert.vulkan.open(kernels=True)
    except culvert.UnsupportedError as e:
        raise Skip(f"no kernels in the queue: {e}") from None


def words_of(gpu, buffer, ctype):
    return list((ctype * (buffer.size // ctypes.sizeof(ctype))).from_buffer_copy(vulkan_work.read(gpu, buffer)))


@case("triton")
def kernels_in_the_queue(lib):
    """A Triton kernel with a float, an int and a constant, and one that reduces through shared memory."""
    import triton_kernels
    torch = lib.torch
    n = 100_000
    kernel = triton_kernels.axpy.warmup(torch.float32, torch.float32, 2.5, n, BLOCK=1024, grid=(1,))
    total = triton_kernels.sums.warmup(torch.float32, torch.float32, n, BLOCK=1024, grid=(1,))
    with with_kernels() as gpu, gpu.vk.buffer(4 * n) as x, gpu.vk.buffer(4 * n) as y, gpu.vk.buffer(400) as s:
        mine, sums = culvert.kernel(kernel), culvert.kernel(total)
        a, b = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
        torch.from_dlpack(x.tensor("float32")).copy_(a)
        torch.from_dlpack(y.tensor("float32")).copy_(b)
        torch.cuda.synchronize()
        blocks = (n + 1023) // 1024

        def record(commands):
            mine.record(gpu.vk, commands, gpu.queue_family, [x, y, 2.5, n], grid=(blocks,))
            between = vk.VkMemoryBarrier2()
            culvert.api.culv_vk_kernel_get_barrier2(between)
            gpu.functions.vkCmdPipelineBarrier2(commands, vk.VkDependencyInfo(
                memoryBarrierCount=1, pMemoryBarriers=ctypes.addressof(between)))
            sums.record(gpu.vk, commands, gpu.queue_family, [y, s, n], grid=(blocks,))

        vulkan_work.run(gpu, record)
        want = 2.5 * a + b
        got = torch.from_dlpack(y.tensor("float32")).clone()
        assert torch.allclose(got, want), (got - want).abs().max()
        parts = torch.from_dlpack(s.tensor("float32"))[:blocks].clone()
        padded = torch.zeros(blocks * 1024, device="cuda")
        padded[:n] = want
        assert torch.allclose(parts, padded.reshape(blocks, 1024).sum(1), rtol=1e-4)
        # The same object on a stream of PyTorch's, on PyTorch's own tensors.
        mine.launch([a, b, 2.5, n], grid=(blocks,), stream=torch.cuda.current_stream())
        torch.cuda.synchronize()
        assert torch.allclose(b, want)
        del got, parts


@case("triton")
def on_a_tensor_of_pytorch(lib):
    """Vulkan's queue runs Triton's kernel on memory that PyTorch has allocated."""
    import triton_kernels
    torch = lib.torch
    n = 50_000
    kernel = triton_kernels.axpy.warmup(torch.float32, torch.float32, -1.0, n, BLOCK=512, grid=(1,))
    with torch.cuda.use_mem_pool(culvert.torch_pool()):
        a, b = torch.rand(n, device="cuda"), torch.rand(n, device="cuda")
    want = b - a
    torch.cuda.synchronize()
    with with_kernels() as gpu, gpu.vk.adopt(a) as x, gpu.vk.adopt(b) as y:
        mine = culvert.kernel(kernel)
        try:
            mine.record(gpu.vk, gpu.commands(), gpu.queue_family, [a, b, -1.0, n])
        except ValueError as e:
            assert "adopt" in str(e), e
        else:
            raise AssertionError("a tensor without an address in Vulkan was taken")
        vulkan_work.run(gpu, lambda c: mine.record(gpu.vk, c, gpu.queue_family, [x, y, -1.0, n], grid=((n + 511) // 512,)))
        assert torch.equal(b, want), (b - want).abs().max()


RAW = r"""
extern "C" __global__ void scale(float *x, float by, int n)
{
    extern __shared__ float room[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    room[threadIdx.x] = i < n ? x[i] : 0.0f;
    __syncthreads();
    if (i < n) x[i] = by * room[threadIdx.x] + (float)i;
}
"""
TEMPLATE = r"""
template <typename T> __global__ void twice(T *x, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 2;
}
"""


@case("cupy")
def raw_kernels_in_the_queue(lib):
    cupy, np = lib.module, lib.np
    n = 10_000
    with with_kernels() as gpu, gpu.vk.buffer(4 * n) as x:
        array = cupy.from_dlpack(x.tensor("float32"))
        array.set(np.arange(n, dtype=np.float32))
        synchronize(gpu)
        scale = culvert.kernel(cupy.RawKernel(RAW, "scale"))
        arguments = [x, ctypes.c_float(0.5), ctypes.c_int(n)]
        vulkan_work.run(gpu, lambda c: scale.record(gpu.vk, c, gpu.queue_family, arguments, grid=((n + 255) // 256,), block=(256,),
                                             shared_bytes=1024))
        assert (cupy.asnumpy(array) == np.arange(n) * 1.5).all()
        scale.launch(arguments, grid=((n + 255) // 256,), block=(256,), shared_bytes=1024,
                     stream=cupy.cuda.get_current_stream())
        synchronize(gpu)
        assert (cupy.asnumpy(array) == np.arange(n) * 1.75).all()
        twice = culvert.kernel(cupy.RawKernel(TEMPLATE, "twice<float>"))
        vulkan_work.run(gpu, lambda c: twice.record(gpu.vk, c, gpu.queue_family, [x, ctypes.c_uint(n)], grid=((n + 255) // 256,),
                                             block=(256,)))
        assert (cupy.asnumpy(array) == np.arange(n) * 3.5).all()
        del array


@case("numba")
def a_kernel_in_the_queue(lib):
    cuda, np = lib.module, lib.np

    def body(x, y, by):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = by * x[i] + y[i]

    compiled = cuda.jit("void(float32[:], float32[::1], float32)")(body)
    n = 10_000
    with with_kernels() as gpu, gpu.vk.buffer(8 * n) as x, gpu.vk.buffer(4 * n) as y:
        upload(gpu, x.pointer, np.arange(2 * n, dtype=np.float32).tobytes())
        upload(gpu, y.pointer, np.ones(n, dtype=np.float32).tobytes())
        kernel = culvert.kernel(compiled)
        every_second = x.tensor("float32", (n,), strides=(2,))
        vulkan_work.run(gpu, lambda c: kernel.record(gpu.vk, c, gpu.queue_family, [every_second, y.tensor("float32"), 0.5],
                                              grid=((n + 127) // 128,), block=(128,)))
        assert words_of(gpu, y, ctypes.c_float) == [i + 1.0 for i in range(n)]


# OpenGL, by EGL without a screen ---------------------------------------------------------------------------------------

GL_WAYS = ("memory", "register", "staged")


@contextlib.contextmanager
def on_opengl(lib):
    """A context on the device that CUDA has, and Culvert on it. Nothing may be left when the case has closed what it made."""
    import gl_headless
    with culvert.Device() as device:
        try:
            screen = gl_headless.Headless(ordinal=None if device.is_software else device.caps.ordinal)
        except RuntimeError as e:
            raise Skip(f"no OpenGL here: {e}") from None
        try:
            with culvert.gl.attach(device) as gl:
                yield screen, gl
                gc.collect()
            gc.collect()
            left = {name: n for name, n in device.counts().items() if n}
            assert not left, left
        finally:
            screen.close()


def each_way(gl, make):
    """(the way, what make(way) gave) for each way that works here. One at least does."""
    worked = 0
    for way in GL_WAYS:
        try:
            made = make(way)
        except culvert.UnsupportedError as e:
            print(f"MEASURED {way}: refused, {e.reason}")
            continue
        with made:
            assert made.way == way
            yield way, made
        print(f"MEASURED {way}: works")
        worked += 1
    assert worked, gl.report.text


def bytes_of(count, seed):
    return random.Random(seed).getrandbits(8 * count).to_bytes(count, "little")


def put(lib, turn, data):
    """The library writes into what OpenGL will read."""
    if lib.name == "driver":
        turn.device.make_current()
        turn.device.cuda.cuMemcpyHtoDAsync(turn.pointer, data, len(data), turn.stream)
    else:
        lib.write(lib.array(turn.tensor("uint8", (len(data),))), lib.np.frombuffer(bytearray(data), "uint8"))


def got(lib, turn, count):
    """What the library reads of what OpenGL has written."""
    if lib.name != "driver":
        return lib.host(lib.array(turn.tensor("uint8", (count,)))).tobytes()
    out = ctypes.create_string_buffer(count)
    turn.device.make_current()
    turn.device.cuda.cuMemcpyDtoHAsync(out, turn.pointer, count, turn.stream)
    turn.device.cuda.cuStreamSynchronize(turn.stream)
    return out.raw


@contextlib.contextmanager
def other_stream(lib, device, number):
    """Every second turn is on a stream that is not the default one, and is the library's current one."""
    if lib.name == "numpy" or number % 2 == 0:
        yield None
        return
    stream = lib.stream(device)
    with lib.on(stream):
        yield stream if lib.name == "driver" else None
    stream.synchronize()
    if lib.name == "driver":
        stream.close()


GL_LIBRARIES = ("numpy", "driver", "torch", "cupy")


@case(*GL_LIBRARIES)
def opengl_reads_a_buffer(lib):
    with on_opengl(lib) as (screen, gl):
        for size in (1, 4097, 1 << 20):
            for _, buffer in each_way(gl, lambda way: gl.buffer(size, way=way)):
                for i in range(4):
                    data = bytes_of(size, i)
                    with other_stream(lib, gl.device, i) as stream, buffer.cuda(stream) as turn:
                        put(lib, turn, data)
                    assert screen.read_buffer(buffer.name, size) == data, (buffer.way, size, i)


@case(*GL_LIBRARIES)
def opengl_writes_a_buffer(lib):
    size = 4097
    with on_opengl(lib) as (screen, gl):
        for _, buffer in each_way(gl, lambda way: gl.buffer(size, writer="opengl", way=way)):
            for i in range(4):
                data = bytes_of(size, i)
                mine = screen.buffer(size, data)
                screen.glCopyNamedBufferSubData(mine, buffer.name, 0, 0, size)
                with other_stream(lib, gl.device, i) as stream, buffer.cuda(stream) as turn:
                    assert got(lib, turn, size) == data, (buffer.way, i)
                screen.delete_buffer(mine)


def source_of(lib, device, data, dtype, shape):
    """(a tensor of the library's own, what is to be closed after its use)"""
    if lib.name == "driver":
        vector = device.vector(len(data))
        device.make_current()
        device.cuda.cuMemcpyHtoD(vector.pointer, data, len(data))
        device.cuda.cuCtxSynchronize()
        return vector.tensor(dtype, shape), vector
    values = lib.np.frombuffer(bytearray(data), dtype).reshape(shape)
    if lib.name == "torch":
        return lib.module.from_numpy(values).cuda(), contextlib.ExitStack()
    return (lib.module.asarray(values) if lib.name == "cupy" else values), contextlib.ExitStack()


@case(*GL_LIBRARIES)
def opengl_has_textures_of_tensors(lib):
    rows, columns = 127, 253
    kinds = [(4, "uint8", 0x1908, 0x1401), (1, "uint8", 0x1903, 0x1401), (1, "float32", 0x1903, 0x1406), (4, "float32", 0x1908, 0x1406)]
    if lib.name == "numpy":  # torch has no uint32 before 2.3
        kinds += [(2, "float16", 0x8227, 0x140b), (1, "uint32", 0x8d94, 0x1405)]
    with on_opengl(lib) as (screen, gl):
        for channels, dtype, format_, kind in kinds:
            shape = (rows, columns, channels) if channels > 1 else (rows, columns)
            texel = {"uint8": 1, "float16": 2}.get(dtype, 4)
            size = rows * columns * channels * texel
            pictures = [bytes_of(size, i) for i in range(3)]
            if dtype.startswith("float"):  # no NaN, which a texture need not keep
                pictures = [bytes(b & 0x3f if i % texel == texel - 1 else b for i, b in enumerate(p)) for p in pictures]
            tensor, kept = source_of(lib, gl.device, pictures[0], dtype, shape)
            for way, texture in each_way(gl, lambda w: gl.texture(tensor, way=w)):
                assert screen.read_texture(texture.name, size, format_, kind) == pictures[0], (way, dtype, channels)
                for picture in pictures[1:]:
                    more, kept_too = source_of(lib, gl.device, picture, dtype, shape)
                    texture.update(more)
                    assert screen.read_texture(texture.name, size, format_, kind) == picture, (way, dtype, channels)
                    del more
                    kept_too.close()
            del tensor
            kept.close()


@case(*GL_LIBRARIES)
def a_ring_of_opengl(lib):
    size = 4097
    with on_opengl(lib) as (screen, gl):
        for writer in ("cuda", "opengl"):
            for way, ring in each_way(gl, lambda w: gl.ring([culvert.gl.ring_buffer(size)], 3, writer=writer, way=w)):
                for i in range(50):
                    data = bytes_of(size, i)
                    if writer == "cuda":
                        with ring.cuda() as turn:
                            put(lib, turn, data)
                        with ring.frame() as frame:
                            assert screen.read_buffer(frame.name, size) == data, (way, i)
                        continue
                    mine = screen.buffer(size, data)
                    with ring.frame() as frame:
                        screen.glCopyNamedBufferSubData(mine, frame.name, 0, 0, size)
                    screen.delete_buffer(mine)
                    with ring.cuda() as turn:
                        assert got(lib, turn, size) == data, (way, i)
                ring.drain()


@case(*GL_LIBRARIES)
def opengls_own_buffers(lib):
    """Five registrations of a viewer's own buffers, mapped by one call."""
    size, count = 4097, 5
    with on_opengl(lib) as (screen, gl), contextlib.ExitStack() as stack:
        names = [screen.buffer(size) for _ in range(count)]
        try:
            mine = [stack.enter_context(gl.register_buffer(name)) for name in names]
        except culvert.UnsupportedError as e:
            raise Skip(f"no registration here: {e}") from None
        for frame in range(3):
            with culvert.gl.mapped(mine) as turns:
                for i, turn in enumerate(turns):
                    put(lib, turn, bytes_of(size, 10 * frame + i))
            for i, name in enumerate(names):
                assert screen.read_buffer(name, size) == bytes_of(size, 10 * frame + i), (frame, i)


def shared_with_opengl(lib, tensor):
    """PyTorch's own memory as a GL buffer: what either side writes, the other one has."""
    torch = lib.torch
    with on_opengl(lib) as (screen, gl), gl.share(tensor) as shared:
        assert len(shared.parts) == 1, shared.parts
        size = shared.offset + tensor.numel() * 4
        for i in range(4):
            with torch.cuda.stream(torch.cuda.Stream() if i % 2 else torch.cuda.default_stream()):
                with shared.cuda():
                    tensor.copy_(torch.arange(tensor.numel(), device="cuda", dtype=torch.int32) * (i + 1))
            want = (ctypes.c_int32 * tensor.numel())(*[n * (i + 1) for n in range(tensor.numel())])
            assert screen.read_buffer(shared.name, size)[shared.offset:] == bytes(want), i
            mine = screen.buffer(4, (-1 - i).to_bytes(4, "little", signed=True))
            screen.glCopyNamedBufferSubData(mine, shared.name, 0, shared.offset + 8, 4)
            screen.delete_buffer(mine)
            with shared.cuda():
                assert tensor[2].item() == -1 - i and tensor[3].item() == 3 * (i + 1)
        with gl.buffer(tensor) as copied:
            print(f"MEASURED says: {copied.says}")
            assert "share(tensor)" in copied.says[0]


@case("torch", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
def opengl_has_a_tensors_own_memory(lib):
    shared_with_opengl(lib, lib.torch.zeros(5000, dtype=lib.torch.int32, device="cuda"))


@case("torch", own=True)
def opengl_has_a_tensor_of_the_pool(lib):
    torch = lib.torch
    with torch.cuda.use_mem_pool(culvert.torch_pool()):
        tensor = torch.zeros(5000, dtype=torch.int32, device="cuda")
    shared_with_opengl(lib, tensor)


# Pictures ------------------------------------------------------------------------------------------------------------

@case("torch", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
def a_view_of_many_chunks(lib):
    """144 MB of PyTorch's in many chunks are one sparse buffer, and nothing is copied."""
    torch = lib.torch
    large = torch.linspace(0, 1, 6000 * 6000, device="cuda").reshape(6000, 6000)
    with opened() as gpu:
        adopted = gpu.vk.adopt(large)
        print(f"MEASURED chunks: {len(adopted.buffers())}")
        adopted.close()
        small = torch.from_dlpack(gpu.vk.buffer(600 * 600 * 4).tensor("float32", (600, 600)))
        with culvert.show(large, gpu=gpu, size=(600, 600), range=(0, 1)) as view:
            assert view.says == [], view.says
            for _ in range(2):
                small.copy_(large[5::10, 5::10])
                view.update()
                with culvert.show(small, gpu=gpu, size=(600, 600), range=(0, 1)) as other:
                    assert torch.equal(torch.from_dlpack(view.target.tensor()), torch.from_dlpack(other.target.tensor()))
                large.mul_(-1).add_(1)
        del small
    del large


SIDE = 96  # of the picture that is learnt


def a_target(lib, gpu):
    """What Vulkan renders of 3,000 coloured points: (SIDE, SIDE, 3), 0 to 1, the library's own."""
    np = lib.np
    turns = np.linspace(0, 12, 3000, dtype="float32")
    points = np.stack([turns * np.cos(turns), turns * np.sin(turns)], -1)
    tints = (127.5 + 127.5 * np.stack([np.sin(turns), np.cos(turns), np.sin(turns / 3)], -1)).astype("uint8")
    with gpu.vk.buffer(points.nbytes) as a, gpu.vk.buffer(tints.nbytes) as b:
        there, paint = lib.array(a.tensor("float32", points.shape)), lib.array(b.tensor("uint8", tints.shape))
        lib.write(there, points)
        lib.write(paint, tints)
        with culvert.show(there, colors=paint, gpu=gpu, size=(SIDE, SIDE), point_size=6.0) as view:
            seen = lib.host(lib.array(view.target.tensor()))[..., :3].astype("float32") / 255
        del there, paint
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 100
    return seen


def drawn_as_learnt(lib, view, learnt):
    """Vulkan's picture is what the library has learnt, texel by texel."""
    picture = lib.host(lib.array(view.target.tensor()))[..., :3].astype("int32")
    want = lib.np.rint(lib.host(learnt).reshape(SIDE, SIDE, 3) * 255).astype("int32")
    assert lib.np.abs(picture - want).max() <= 1, lib.np.abs(picture - want).max()


@case("numpy")
def a_fit_that_draws(lib):
    """The colours of splats, fitted by descent, and drawn as they get better."""
    np = lib.np
    with opened() as gpu:
        target = a_target(lib, gpu).reshape(-1, 3)
        learnt = lib.array(gpu.vk.buffer(target.nbytes).tensor("float32", (SIDE, SIDE, 3)))
        y, x = np.meshgrid(*[np.linspace(-1, 1, SIDE, dtype="float32")] * 2, indexing="ij")
        random = np.random.RandomState(3)
        centres = random.uniform(-1, 1, (200, 2)).astype("float32")
        weights = np.exp(-((x.reshape(-1, 1) - centres[:, 0]) ** 2 + (y.reshape(-1, 1) - centres[:, 1]) ** 2) / 0.01)
        weights /= weights.sum(1, keepdims=True) + 1e-6
        colours, losses = np.zeros((200, 3), "float32"), []
        learnt[:] = 0
        with culvert.show(learnt, gpu=gpu, range=(0, 1), size=(SIDE, SIDE), layout="HWC") as view:
            for _ in range(30):
                image = weights @ colours
                losses.append(float(((image - target) ** 2).mean()))
                colours -= 0.02 * weights.T @ (image - target)
                learnt[:] = image.clip(0, 1).reshape(learnt.shape)
                view.update()
                drawn_as_learnt(lib, view, learnt)
            assert view.says == []
        assert losses[-1] < 0.7 * losses[0], losses
        del learnt


# The interpreter's end ------------------------------------------------------------------------------------------------

def _of_an_end(name, state):
    def run(lib):
        if state.needs == "gl":
            with on_opengl(lib):
                pass
        print(f"MEASURED seconds: {exits.run(name, state):.2f}")
    return run


for _name, _state in exits.STATES.items():
    CASES[f"ends_{_name}"] = Case(_of_an_end(_name, _state), (_state.needs if _state.needs in LIBRARIES else "driver",), False,
                                  {})


# The pages' blocks ----------------------------------------------------------------------------------------------------

def _of_a_page(block):
    def run(lib):
        if block.needs_compiler:
            raise Skip("no glslangValidator")
        block.run_anywhere()
    return run


# Each is a process by itself. Those without a library are test_pages.py's.
for _block in pages.blocks():
    if _block.libraries:
        CASES[f"page_{_block.name}"] = Case(_of_a_page(_block), (_block.libraries[0],), True, {})


@case("driver")
def it_says_what_there_is(lib):
    said = culvert.info()
    assert said["devices"] and said["version"]
    for device in said["devices"]:
        print(f"MEASURED device: {device['driver']} {device['name']}")
