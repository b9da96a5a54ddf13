# SPDX-License-Identifier: MIT
"""What goes wrong in a script does no harm: no wait without an end, no crash, nothing kept for ever."""
import ctypes
import gc
import os
import pickle
import sys
import textwrap
import threading
import warnings
import weakref

import numpy as np
import pytest

import culvert
from culvert import vulkan as vk
from vulkan_work import hears_ctrl_c, recorded as empty, run, script

TICK = 50 * 10**6


def test_close_waits_for_the_default_stream():
    """CUDA may destroy a semaphore only when the program knows that its waits are over."""
    gate = threading.Event()
    held = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gate.wait(30) and None)
    gpu = culvert.vulkan.open()
    timeline = gpu.vk.timeline()
    gpu.submit(empty(gpu), signal=[(timeline, 1)])
    timeline.wait(value=1)
    gpu.device.make_current()
    gpu.device.cuda.cuLaunchHostFunc(0, held, None)
    try:
        with pytest.raises(culvert.LateError, match="the default stream"):
            gpu.close(TICK)
        assert not gpu.closed
    finally:
        gate.set()
    gpu.close()


def test_an_exception_while_vulkan_waits_for_cuda():
    timelines = []
    with pytest.warns(RuntimeWarning, match="Vulkan waited for 1 .* was given up"):
        with pytest.raises(KeyError):
            with culvert.vulkan.open() as gpu:
                timelines.append(gpu.vk.timeline())
                gpu.submit(empty(gpu), wait=[(timelines[0], 1)], signal=[(timelines[0], 2)])
                raise KeyError("before CUDA's frame")
    assert timelines[0].closed and not gpu.handle


def test_waits_that_are_given_up_go_in_order():
    """Vulkan 1 -> 2, then CUDA 4 -> 5, then Vulkan 5 -> 6: nobody signals 1 and 4."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with culvert.vulkan.open() as gpu:
            timeline, stream = gpu.vk.timeline(), gpu.device.stream()
            gpu.submit(empty(gpu), wait=[(timeline, 1)], signal=[(timeline, 2)])
            timeline.wait(stream, 4)
            timeline.signal(stream, 5)
            gpu.submit(empty(gpu), wait=[(timeline, 5)], signal=[(timeline, 6)])
            number = timeline.handle
    assert [f"{who} waited for {value} of the timeline {number:#x}" in str(t.message)
            for t, (who, value) in zip(told, (("Vulkan", 1), ("CUDA", 4)))] == [True, True], [str(t.message) for t in told]
    assert len(told) == 2


def test_a_wait_that_will_end_is_not_given_up():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with culvert.vulkan.open() as gpu:
            timeline, stream = gpu.vk.timeline(), gpu.device.stream()
            gpu.submit(empty(gpu), wait=[(timeline, 1)], signal=[(timeline, 2)])
            timeline.signal(stream, 1)


def test_a_frame_that_nobody_feeds(gpu):
    timeline, stream = gpu.vk.timeline(), gpu.device.stream()
    with pytest.raises(culvert.LateError, match="nobody has signaled 1"):
        with timeline.frame(wait=1, signal=2).cuda(stream, timeout=TICK):
            raise AssertionError("the host went on before the stream")
    gpu.submit(empty(gpu), signal=[(timeline, 1)])
    stream.synchronize()
    gpu.wait_idle()
    assert stream.closed is False and timeline.last_value == 2


def test_a_stream_that_only_the_turn_has(gpu):
    timeline = gpu.vk.timeline()
    for n in range(3):
        with timeline.frame(wait=2 * n, signal=2 * n + 1).cuda(gpu.device.stream()):
            gc.collect()
        gpu.submit(empty(gpu), wait=[(timeline, 2 * n + 1)], signal=[(timeline, 2 * n + 2)])
    gpu.wait_idle()
    assert timeline.last_value == 5


def test_values_that_no_timeline_has(gpu):
    timeline = gpu.vk.timeline()
    for wrong in (-1, 2**64):
        for call in (lambda: timeline.frame(wait=wrong), lambda: timeline.frame(signal=wrong),
                     lambda: timeline.signal(None, wrong), lambda: timeline.wait(None, wrong),
                     lambda: gpu.submit(empty(gpu), wait=[(timeline, wrong)])):
            with pytest.raises(ValueError, match="2\\^64-1"):
                call()


@pytest.mark.parametrize("wait", ["gpu.wait_idle(3600 * 10**9)", "stream.synchronize()",
                                  "timeline.frame(wait=2).cuda(stream, timeout=3600 * 10**9).__enter__()",
                                  "ring.acquire(3600 * 10**9)"])
def test_ctrl_c_is_heard(wait):
    hears_ctrl_c("""
        gpu = culvert.vulkan.open()
        timeline, stream = gpu.vk.timeline(), gpu.device.stream()
        ring = gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)])
        c = gpu.commands(); f = gpu.functions
        f.vkBeginCommandBuffer(c, culvert.vulkan.VkCommandBufferBeginInfo()); f.vkEndCommandBuffer(c)
        gpu.submit(c, wait=[(timeline, 1)])
        timeline.wait(stream, 1)
    """, wait)


def test_vulkan_takes_culverts_objects(gpu):
    buffer = gpu.vk.buffer(4097 * 4)
    run(gpu, lambda commands: gpu.functions.vkCmdFillBuffer(commands, buffer, 0, vk.VK_WHOLE_SIZE, 7))
    assert np.all(np.asarray(buffer.tensor("uint32")) == 7)
    assert culvert.handle(buffer) == buffer.handle and culvert.handle(gpu) == gpu.handle
    assert culvert.describe(vk.VkDescriptorBufferInfo, buffer=buffer).buffer == buffer.handle
    assert vk.VkDescriptorBufferInfo(buffer=buffer).buffer == vk.VkDescriptorBufferInfo(buffer).buffer == buffer.handle
    image, timeline = gpu.vk.image(vk.VK_FORMAT_R8G8B8A8_UNORM, 253, 127), gpu.vk.timeline()
    assert culvert.handle(image) == image.handle and culvert.handle(timeline) == timeline.handle
    ring = gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)])
    assert culvert.handle(ring.buffer(0)) == ring.buffer(0).handle


def test_dropped_contexts_are_given_back():
    def files():
        gc.collect()
        return len(os.listdir("/proc/self/fd"))

    counts = []
    for n in range(6):
        gpu = culvert.vulkan.open()
        timeline, stream = gpu.vk.timeline(), gpu.device.stream()
        buffer = gpu.vk.buffer(4097)
        gpu.submit(empty(gpu), wait=[(timeline, 1)], signal=[(timeline, 2)])
        with timeline.frame(signal=1).cuda(stream):
            np.asarray(buffer.tensor())[:] = n
        if n % 2:
            del gpu, timeline, stream
            assert np.asarray(buffer.tensor())[4096] == n  # a buffer keeps what it lives on
        del buffer
        counts.append(files())
    assert counts[1] == counts[3] == counts[5]


@pytest.mark.parametrize("pending", [False, True])
@pytest.mark.parametrize("turn", range(3))
def test_a_context_in_a_cycle(pending, turn):
    """The collector ends the objects of a cycle in any order, as those that an exception's frames keep in a notebook."""
    ended = script(f"""
        import culvert, gc, os
        gc.disable()

        def cell():
            gpu = culvert.vulkan.open()
            buffer, timeline, stream = gpu.vk.buffer(4097), gpu.vk.timeline(), gpu.device.stream()
            ring = gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)])
            view = gpu.vk.vector_view(gpu.device.vector(4097, exportable=True))
            c = gpu.commands(); f = gpu.functions
            f.vkBeginCommandBuffer(c, culvert.vulkan.VkCommandBufferBeginInfo()); f.vkEndCommandBuffer(c)
            if {pending}:
                gpu.submit(c, wait=[(timeline, 1)])
            kept = [buffer, gpu, timeline, gpu.vk, ring, view, stream, buffer.tensor()]
            kept[:] = kept[{turn} * 3:] + kept[:{turn} * 3]
            kept.append(kept)

        counts = []
        for _ in range(4):
            cell()
            gc.collect()
            counts.append(len(os.listdir("/proc/self/fd")))
        print(counts[1] == counts[3], len(culvert._lib._roots))
    """)
    assert (ended.stdout, ended.returncode) == ("True 0\n", 0), ended.stderr
    assert pending == ("The wait was given up" in ended.stderr) and "still there" not in ended.stderr


def test_what_vulkan_works_with_is_not_closed(gpu):
    timeline, stream = gpu.vk.timeline(), gpu.device.stream()
    buffer, other = gpu.vk.buffer(4097), gpu.vk.buffer(819200)
    before = gpu.device.counts()["created"]
    gpu.submit(empty(gpu), wait=[(timeline, 1)], signal=[(timeline, 2)])
    with pytest.raises(culvert.BusyError, match="waits for 1 of the timeline"):
        buffer.close()
    assert not buffer.closed
    del other  # goes when Vulkan has done
    gc.collect()
    assert gpu.device.counts()["created"] == before
    timeline.signal(stream, 1)
    buffer.close()
    assert buffer.closed and gpu.device.counts()["created"] == before - 2


@pytest.mark.parametrize("what", ["buffer", "ring", "timeline", "vector"])
def test_nothing_is_closed_while_a_stream_waits_in_vain(gpu, monkeypatch, what):
    """CUDA waits for all streams where it gives memory back, without an end."""
    import culvert._turns as turns
    monkeypatch.setattr(turns.Patience, "CUDA", 10**8)
    timeline, stream = gpu.vk.timeline(), gpu.device.stream()
    things = {"buffer": gpu.vk.buffer(4097), "timeline": timeline, "vector": gpu.device.vector(4097),
              "ring": gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)])}
    dropped = gpu.vk.buffer(4097)
    timeline.wait(stream, 1)
    with pytest.raises(culvert.BusyError, match=f"stream {stream.pointer:#x} waits for 1 of the timeline {timeline.handle:#x}"):
        things[what].close()
    assert not things[what].closed
    del dropped  # goes later
    gc.collect()
    gpu.submit(empty(gpu), signal=[(timeline, 1)])
    things[what].close()
    assert things[what].closed


def test_errors_go_to_other_processes(gpu):
    with pytest.raises(culvert.InvalidError) as e:
        gpu.vk.buffer(0)
    again = pickle.loads(pickle.dumps(e.value))
    assert type(again) is culvert.InvalidError and str(again) == str(e.value)
    assert (again.reason, again.result, again.call) == ("SIZE", e.value.result, "culv_vk_buffer_create")


def test_a_closed_stream_is_not_the_default_stream(gpu):
    stream = gpu.device.stream()
    assert culvert.stream_handle(stream) == stream.pointer != 0
    stream.close()
    for call in (lambda: culvert.stream_handle(stream), stream.synchronize,
                 lambda: gpu.vk.timeline().signal(stream, 1)):
        with pytest.raises(ValueError, match="is closed"):
            call()


def test_a_forked_child_gives_nothing_back():
    ended = script("""
        import culvert, numpy, os, sys
        gpu = culvert.vulkan.open()
        buffer, timeline, stream = gpu.vk.buffer(4097), gpu.vk.timeline(), gpu.device.stream()
        a = numpy.asarray(buffer.tensor())
        pid = os.fork()
        if pid == 0:
            buffer.close()
            sys.exit(0)     # every destructor of the parent's objects runs in the child
        assert os.waitpid(pid, 0)[1] == 0
        with timeline.frame(signal=1).cuda(stream):
            a[:] = 3
        assert buffer.tensor().shape == (4097,) and not buffer.closed
        gpu.wait_idle()
        print("goes on")
    """)
    assert (ended.stdout, ended.returncode) == ("goes on\n", 0), ended.stderr


def test_a_child_opens_where_its_parent_had_not():
    """And not where it had."""
    ended = script("""
        import culvert, os, sys
        def child(opens):
            if os.fork() == 0:
                try:
                    with culvert.vulkan.open() as gpu, gpu.vk.buffer(4097) as buffer:
                        said = str(buffer.size)
                    said += str(gpu.closed)
                except culvert.UnsupportedError as e:
                    said = e.reason
                print(said, flush=True)
                sys.exit(3)
            assert os.wait()[1] == 3 << 8
        child(True)
        with culvert.vulkan.open():
            pass
        child(False)
    """)
    assert (ended.stdout, ended.returncode) == ("4097True\nFORKED\n", 0), ended.stderr


def test_what_nobody_has_goes_without_a_collection(gpu):
    """Each context has threads and memory of the driver's, and a collection may be long in coming."""
    gc.disable()
    try:
        for _ in range(3):
            own = culvert.vulkan.open()
            array = np.asarray(own.vk.buffer(4097).tensor())
            with own.vk.timeline().frame(signal=1).cuda(own.device.stream()):
                array[:] = 7
            home = weakref.ref(own._home)
            del own
            assert home().device and array.sum() == 7 * 4097
            del array
            assert home() is None
    finally:
        gc.enable()


def test_threads_share_a_context(gpu):
    failed, sums = [], []

    def work(k):
        try:
            stream, timeline = gpu.device.stream(), gpu.vk.timeline()
            for i in range(40):
                buffer = gpu.vk.buffer(4097)
                array = np.asarray(buffer)
                with timeline.frame(wait=2 * i, signal=2 * i + 1).cuda(stream):
                    array[:] = 5
                commands = empty(gpu, lambda c: gpu.functions.vkCmdFillBuffer(c, buffer, 0, 4096, 0x01010101 * (k + 1)))
                gpu.submit(commands, wait=[(timeline, 2 * i + 1)], signal=[(timeline, 2 * i + 2)])
                with timeline.frame(wait=2 * i + 2).cuda(stream):
                    sums.append(int(array.sum()) - 5 == 4096 * (k + 1))
        except BaseException as e:  # noqa: BLE001: it is told
            failed.append(repr(e))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert failed == [] and sums == [True] * 200


def test_a_vk_device_of_a_context_by_its_number():
    """It lives as long as what is attached to it, and goes with the context's close()."""
    def attached(of):
        return culvert.VulkanDevice(get_instance_proc_addr=vk.get_instance_proc_addr(), instance=of.instance,
                                    physical_device=of.physical_device, vk_device=of.handle)
    own = culvert.vulkan.open()
    there = attached(own)
    home = weakref.ref(own._home)
    del own
    gc.collect()
    with there, there.buffer(4097) as buffer:
        assert np.asarray(buffer.tensor()).size == 4097
    assert home() is None or not home().device
    own = culvert.vulkan.open()
    there = attached(own)
    buffer = there.buffer(64)
    own.close()
    assert there.closed and buffer.closed


def test_wrong_arguments_are_told(gpu):
    buffer, timeline = gpu.vk.buffer(4096), gpu.vk.timeline()
    with culvert.vulkan.open() as other:
        theirs = other.vk.timeline()
        for error, text, call in (
                (ValueError, "no driver 'nvidea'; there are 'auto'", lambda: culvert.vulkan.open(driver="nvidea")),
                (ValueError, "size=-1 is negative", lambda: gpu.vk.buffer(-1)),
                (ValueError, "size=-1 is negative", lambda: culvert.malloc(-1)),
                (ValueError, "width=-4 is negative", lambda: gpu.vk.image(37, -4)),
                (ValueError, "offset=-4 is negative", lambda: buffer.tensor("float32", (4,), offset=-4)),
                (ValueError, "culv_vector_desc.reserve is -1", lambda: gpu.device.vector(4096, reserve=-1)),
                (ValueError, "get_instance_proc_addr=1 is no address", lambda: culvert.VulkanDevice(
                    get_instance_proc_addr=1, instance=1, physical_device=1, vk_device=1)),
                (ValueError, "is of another VkDevice", lambda: gpu.submit(empty(gpu), wait=[(theirs, 0)])),
                (TypeError, r"wait=.*pass pairs of a semaphore and a value", lambda: gpu.submit(empty(gpu), wait=[timeline])),
                (TypeError, "vkCmdDraw: ", lambda: gpu.functions.vkCmdDraw(1, 1)),
                (TypeError, "culv_vk_buffer_create_desc.host_pointer: .* is no handle",
                 lambda: gpu.vk.buffer(4096, host_pointer=object())),
                (vk.VulkanError, "vkCreateDevice: VK_ERROR_EXTENSION_NOT_PRESENT", lambda: culvert.vulkan.open(extensions=["VK_KHR_no"])),
                (RuntimeError, "cuStreamQuery: CUDA_ERROR_INVALID_HANDLE 400", lambda: gpu.device.cuda.cuStreamQuery(8))):
            with pytest.raises(error, match=text):
                call()
    assert buffer.tensor("float32", 16).shape == (16,)
    assert np.asarray(buffer).shape == (4096,) and np.asarray(buffer, "int64").dtype == np.int64
    with pytest.raises(TypeError, match="the GPU's, which NumPy does not reach"):
        buffer.tensor().__array__()
    ring = gpu.ring([culvert.ring_buffer(4096)], depth=1)
    with ring.cuda():
        pass
    with pytest.raises(culvert.LateError, match="within 0.1 s"):
        with ring.cuda(timeout=2 * TICK):
            pass


def test_an_end_that_does_not_come_is_told():
    """exits.py has the states in which a program ends; run.py runs them."""
    import exits
    assert len(exits.STATES) > 30
    for state, text in ((exits.State("", "time.sleep(100)"), "has not ended 1 s after its last word\n(?s:.*)File"),
                        (exits.State("", "raise KeyError"), "status 1 and not 0"), (exits.State("nothing"), "not get that far"),
                        (exits.State("@atexit.register\ndef f(): 1 / 0"), "Exception ignored")):
        with pytest.raises(AssertionError, match=text):
            exits.run("x", state, 1 if "sleep" in state.code_after else 40)


def test_a_misspelled_field():
    with pytest.raises(TypeError, match="VkBufferCreateInfo has no field sice"):
        vk.VkBufferCreateInfo(sice=3)
    info = vk.VkBufferCreateInfo(size=3)
    with pytest.raises(AttributeError):
        info.usagee = 5
    with pytest.raises(AttributeError):
        culvert.declarations.culv_buffer_desc().ofset = 1
    assert repr(vk.VkExtent2D(3, 4)) == "VkExtent2D(width=3, height=4)"


def test_constants():
    assert vk.VK_WHOLE_SIZE == 2**64 - 1 and vk.VK_QUEUE_FAMILY_IGNORED == vk.VK_REMAINING_MIP_LEVELS == 2**32 - 1
    assert vk.VK_QUEUE_FAMILY_EXTERNAL == 2**32 - 2 and vk.VK_TRUE == 1 and vk.VK_SUBPASS_EXTERNAL == 2**32 - 1


class FakeTorch:
    class cuda:
        stream = 0

        @staticmethod
        def is_initialized():
            return True

        @classmethod
        def current_stream(cls):
            return type("Stream", (), {"cuda_stream": cls.stream})()


def test_the_current_stream_of_a_library(monkeypatch):
    from culvert._lib import stream_handle
    assert stream_handle(None) == 0
    monkeypatch.setitem(sys.modules, "torch", FakeTorch)
    assert stream_handle(None) == 0
    monkeypatch.setattr(FakeTorch.cuda, "stream", 0x70)
    assert stream_handle(None) == 0x70 and stream_handle(0) == 0
    cupy = type("cupy", (), {"cuda": type("cuda", (), {"get_current_stream": staticmethod(
        lambda: type("Stream", (), {"ptr": 0x80})())})})
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    with pytest.raises(ValueError, match="PyTorch works on stream 0x70 and CuPy on 0x80"):
        stream_handle(None)


def test_a_collector_ends_no_context_whose_counters_are_read():
    """It may run between any two of them, of every context's, while something of another one's is closed."""
    program = """
        import culvert, gc
        gc.disable()
        mine, other = culvert.vulkan.open(), culvert.vulkan.open()
        buffer, stream = mine.vk.buffer(4097), other.device.stream()
        timelines = [other.vk.timeline() for _ in range(3)]
        for timeline in timelines:
            timeline.wait(stream, 1)
        turns, read, left = other._home.turns, other._home.turns._counter, [2]

        def counter(number):
            value, left[0] = read(number), left[0] - 1
            if left[0] == 0:
                gc.collect()
            return value

        turns._counter = counter
        cycle = [other, stream, timeline, timelines]
        cycle.append(cycle)
        del other, stream, timeline, timelines, turns, cycle
        buffer.close()
        mine.close()
        print("goes on", left[0] < 0)
    """
    ended = script("import warnings; warnings.simplefilter('ignore')\n" + textwrap.dedent(program))
    assert (ended.returncode, ended.stdout) == (0, "goes on True\n"), ended.stderr
