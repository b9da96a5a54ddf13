#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Python costs: a context, an export of a tensor, an adoption, a frame that is handed to a stream and back, a turn of a
ring, a picture of culvert.show(), OpenGL's turns; against the same calls of the C library and what ctypes itself takes.
Each number is the median of the rounds. Nothing is judged. scripts/report python makes a page of the JSON.

usage: bench.py [--json FILE] [--rounds N] [--quick]
With PyTorch, CuPy or NumPy, whichever is there, it also times from_dlpack() and frames with work in them."""
import argparse
import contextlib
import ctypes
import datetime
import importlib
import json
import os
import platform
import statistics
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import culvert  # noqa: E402
from culvert import declarations as d  # noqa: E402
from culvert import vulkan as vk  # noqa: E402


class Bench:
    def __init__(self, rounds, calls):
        self.rounds, self.calls, self.rows, self.left_out = rounds, calls, {}, {}

    def leave_out(self, name, why):
        self.left_out[name] = str(why)
        print(f"{name:58} left out: {why}", flush=True)

    def time(self, name, run, calls=None):
        """Microseconds a call of `run`: the median of the rounds."""
        calls = calls or self.calls
        run()
        took = []
        for _ in range(self.rounds):
            began = time.perf_counter_ns()
            for _ in range(calls):
                run()
            took.append((time.perf_counter_ns() - began) / calls / 1000)
        self.keep(name, took, "us")

    def keep(self, name, took, unit):
        self.rows[name] = {"median": round(statistics.median(took), 3), "least": round(min(took), 3),
                           "most": round(max(took), 3), "unit": unit}
        print(f"{name:58} {self.rows[name]['median']:10.3f} {unit}", flush=True)


def driver():
    """NVIDIA's, by its number."""
    try:
        with open("/proc/driver/nvidia/version") as f:
            words = f.readline().split()
    except OSError:
        return ""
    return next((w for w in words if w.count(".") >= 1 and w.replace(".", "").isdigit()), "")


def array_library(software):
    for name in ("numpy",) if software else ("torch", "cupy"):
        with contextlib.suppress(Exception):
            module = importlib.import_module(name)
            return name, module, module.asarray if name == "numpy" else module.from_dlpack
    return None, None, None


def exports(bench, gpu, buffer, module, array_of):
    out, delete = ctypes.c_void_p(), ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    desc = culvert.describe(d.culv_dlpack_desc)
    desc.type = d.culv_dl_type(2, 32, 1)
    inner, raw = buffer._cuda(), culvert.api.culv_buffer_get_dlpack.raw
    offset = d.culv_dl_managed_tensor_versioned.deleter.offset

    def c_call():
        raw(inner, ctypes.byref(desc), ctypes.byref(out))
        delete(ctypes.c_void_p.from_address(out.value + offset).value)(out.value)

    size = culvert.api.culv_buffer_size.raw
    bench.time("a call by ctypes that does nothing", lambda: size(inner))
    bench.time("culv_buffer_get_dlpack() and the deleter, by ctypes", c_call)
    bench.time("buffer.tensor()", lambda: buffer.tensor("float32"))
    bench.time("buffer.tensor() with a shape", lambda: buffer.tensor("float32", (512, 512)))
    sizes = iter(range(1, 1 << 30))
    bench.time("buffer.tensor() with a shape that it never had", lambda: buffer.tensor("float32", (1 + next(sizes) % 200_000,)))
    tensor = buffer.tensor("float32")
    if module is not None:
        bench.time(f"{module.__name__}: an array of a tensor", lambda: array_of(tensor))
        bench.time(f"{module.__name__}: an array of a buffer", lambda: array_of(buffer.tensor("float32")))


def hand_over(bench, gpu, timeline):
    """Wait and signal on a stream. Each value that is waited for has been signalled before."""
    stream, value = gpu.device.stream(), [timeline.last_value]
    inner, number = timeline._cuda(), culvert._lib.stream_handle(stream)
    wait, signal = culvert.api.culv_semaphore_wait.raw, culvert.api.culv_semaphore_signal.raw

    def c_calls():
        wait(inner, number, value[0])
        value[0] += 1
        signal(inner, number, value[0])

    def frame():
        with timeline.frame(value[0], value[0] + 1).cuda(stream):
            pass
        value[0] += 1

    bench.time("culv_semaphore_wait() and _signal(), by ctypes", c_calls, 200)
    stream.synchronize()
    bench.time("with timeline.frame().cuda(stream)", frame, 200)
    stream.synchronize()
    stream.close()


def frames(bench, gpu, name, module, array_of, count):
    """Whole frames: the library works on 8 MiB, Vulkan copies it, and both wait for each other on the GPU."""
    f, size = gpu.functions, 8 << 20
    with gpu.vk.buffer(size) as a, gpu.vk.buffer(size) as b, gpu.vk.timeline() as timeline:
        array = array_of(a.tensor("float32"))
        commands = gpu.commands()
        f.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo(
            flags=vk.VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT))
        gpu.barrier(commands, [gpu.vk.buffer_transfer(a, gpu.queue_family, True)])
        f.vkCmdCopyBuffer(commands, a.handle, b.handle, 1, vk.VkBufferCopy(0, 0, size))
        gpu.barrier(commands, [gpu.vk.buffer_transfer(a, gpu.queue_family, False)])
        f.vkEndCommandBuffer(commands)
        stream = {"torch": lambda: module.cuda.current_stream(), "cupy": lambda: module.cuda.get_current_stream(),
                  "numpy": lambda: None}[name]()
        inner, number = timeline._cuda(), culvert._lib.stream_handle(stream)
        wait, signal = culvert.api.culv_semaphore_wait.raw, culvert.api.culv_semaphore_signal.raw
        value = [0]

        def by_frame():
            with timeline.frame(value[0], value[0] + 1).cuda(stream):
                array.__iadd__(1)

        def by_calls():
            wait(inner, number, value[0])
            array.__iadd__(1)
            signal(inner, number, value[0] + 1)

        def host_waits():
            gpu.wait_idle()
            array.__iadd__(1)
            gpu.device.make_current()
            gpu.device.cuda.cuStreamSynchronize(number)
            signal(inner, number, value[0] + 1)

        ways = {"with frames": by_frame, "the C calls by ctypes": by_calls, "the host waits": host_waits}
        if gpu.device.is_software:  # NumPy does not wait with the stream
            del ways["the C calls by ctypes"]
        took = {way: [] for way in ways}
        for _ in range(bench.rounds):
            for way, step in ways.items():
                began = time.perf_counter_ns()
                for _ in range(count):
                    step()
                    gpu.submit(commands, wait=[(timeline, value[0] + 1)], signal=[(timeline, value[0] + 2)])
                    value[0] += 2
                gpu.wait_idle()
                took[way].append((time.perf_counter_ns() - began) / count / 1000)
        for way in ways:
            bench.keep(f"{name}: a frame of 8 MiB, {way}", took[way], "us")
        del array


def contexts(bench):
    def cell():
        with culvert.vulkan.open():
            pass

    bench.time("culvert.vulkan.open() and close()", cell, 3)


def adoptions(bench, gpu):
    """Chunks as PyTorch's expandable segments have them. `first` exports and imports the chunks; `again` finds them there."""
    pieces = ((1, 2), (1, 20), (8, 20)) if gpu.device.is_software else ((1, 2), (1, 20), (8, 20), (64, 20))
    for count, mib in pieces:
        size = count * mib << 20
        with gpu.device.vector(size, max_chunk=mib << 20, min_chunk=mib << 20, exportable=True) as memory:
            first, again = [], []
            parts = 0
            for _ in range(max(bench.rounds, 5)):
                began = time.perf_counter_ns()
                one = gpu.vk.adopt(memory.pointer, size, sparse_queue=gpu.sparse_queue or None)
                first.append((time.perf_counter_ns() - began) / 1000)
                began = time.perf_counter_ns()
                two = gpu.vk.adopt(memory.pointer, size, sparse_queue=gpu.sparse_queue or None)
                again.append((time.perf_counter_ns() - began) / 1000)
                parts = len(one.buffers())
                two.close()
                one.close()
        what = f"adopt() of {count} chunk{'s' * (count > 1)} of {mib} MiB"
        what += ", as one sparse buffer" if count > 1 == parts else ""
        bench.keep(f"{what}, first", first, "us")
        bench.keep(f"{what}, again", again, "us")
        with gpu.device.vector(size, max_chunk=mib << 20, min_chunk=mib << 20, exportable=True) as memory, \
                gpu.vk.adopt(memory.pointer, size) as view:
            bench.time(f"is_current of {count} chunk{'s' * (count > 1)} of {mib} MiB", lambda: view.is_current)


def rings(bench, gpu):
    with gpu.ring([culvert.ring_buffer(1 << 20)]) as ring:
        stream = gpu.device.stream()

        def turns():
            with ring.cuda(stream):
                pass
            with ring.frame():
                pass

        bench.time("with ring.cuda() and with ring.frame(), nothing in them", turns, 20 if bench.calls < 100 else 200)
        gpu.wait_idle()
        ring.drain()
        stream.close()


class Plain:
    """Memory of cuMemAlloc, which cannot be shared, or NumPy's."""

    def __init__(self, gpu, shape):
        size = 4 * shape[0] * shape[1]
        self.gpu, pointer = gpu, ctypes.c_uint64()
        if gpu.device.is_software:
            import numpy
            self.kept = numpy.zeros(shape, "float32")
            self.__array_interface__ = self.kept.__array_interface__
            return
        gpu.device.make_current()
        gpu.device.cuda.cuMemAlloc(ctypes.byref(pointer), size)
        gpu.device.cuda.cuMemsetD8(pointer.value, 0, size)
        self.kept = pointer
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<f4", "data": (pointer.value, False), "version": 3}

    def close(self):
        if not self.gpu.device.is_software:
            self.gpu.device.make_current()
            self.gpu.device.cuda.cuMemFree(self.kept)


def pictures(bench, gpu):
    """view.update(), until it returns and until the GPU has drawn, with the range found by the GPU."""
    side = 128 if bench.calls < 100 else 1024
    shape = (side, side)
    stream = gpu.device.stream()

    def measure(name, tensor):
        with culvert.show(tensor, gpu=gpu, size=shape, stream=stream) as view:
            bench.time(f"view.update() of {name}, the call", view.update, 10 if bench.calls < 100 else 50)

            def whole():
                view.update()
                stream.synchronize()

            bench.time(f"view.update() of {name}, drawn", whole, 10 if bench.calls < 100 else 50)

    with gpu.vk.buffer(4 * side * side) as buffer:
        gpu.device.make_current()
        gpu.device.cuda.cuMemsetD8(buffer.pointer, 0, buffer.size)
        measure(f"{side} x {side} floats", buffer.tensor("float32", shape))
    plain = Plain(gpu, shape)
    measure(f"{side} x {side} floats that are copied", plain)
    plain.close()
    stream.close()


def opengl(bench, gpu):
    """CUDA's turns with a buffer of OpenGL's, with nothing in them."""
    import gl_headless
    try:
        screen = gl_headless.Headless(ordinal=None if gpu.device.is_software else gpu.device.caps.ordinal)
    except RuntimeError as e:
        return bench.leave_out("OpenGL", e)
    calls = 10 if bench.calls < 100 else 200
    with culvert.gl.attach(gpu.device) as gl:
        for way in ("memory", "register", "staged"):
            try:
                buffer = gl.buffer(1 << 20, way=way)
            except culvert.Error as e:
                bench.leave_out(f"OpenGL by {way}", e)
                continue

            def turn(buffer=buffer):
                with buffer.cuda():
                    pass

            bench.time(f"with gl.buffer().cuda(), by {way}", turn, calls)
            buffer.close()
        try:
            with gpu.device.vector(1 << 20, exportable=True) as memory:
                bench.time("gl.share() and close()", lambda: gl.share(memory.tensor()).close(), 5)
                with gl.share(memory.tensor()) as shared:
                    def turn_of_a_tensor():
                        with shared.cuda():
                            pass

                    bench.time("with gl.share().cuda()", turn_of_a_tensor, calls)
        except culvert.Error as e:
            bench.leave_out("OpenGL: gl.share()", e)
        screen.glFinish()
    screen.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    bench = Bench(3 if options.quick else options.rounds, 20 if options.quick else 1000)
    contexts(bench)
    with culvert.vulkan.open() as gpu:
        name, module, array_of = array_library(gpu.device.is_software)
        with gpu.vk.buffer(1 << 20) as buffer:
            exports(bench, gpu, buffer, module, array_of)
        with gpu.vk.timeline() as timeline:
            hand_over(bench, gpu, timeline)
        if module is not None:
            frames(bench, gpu, name, module, array_of, 5 if options.quick else 200)
        else:
            bench.leave_out("frames of a library", "neither PyTorch nor CuPy is there")
        for part in (adoptions, rings, pictures, opengl):
            part(bench, gpu)
        report = {"benchmark": "python", "device": gpu.device.name, "python": platform.python_version(),
                  "version": culvert.__version__, "library": f"{name} {getattr(module, '__version__', '')}".strip(),
                  "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                  "software": gpu.device.is_software, "driver": driver(), "quick": options.quick, "rounds": bench.rounds,
                  "left_out": bench.left_out, "rows": bench.rows}
    if options.json:
        with open(options.json, "w") as f:
            json.dump(report, f, indent=2)


main()
