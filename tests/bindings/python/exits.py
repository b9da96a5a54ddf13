# SPDX-License-Identifier: MIT
"""States in which a program may end: run.py runs each as a case, on the twin and on a GPU. The interpreter ends at once in
all of them, says nothing of its own, and leaves the exit status to the program."""
import os
import signal
import subprocess
import sys
import time
from typing import Dict, NamedTuple, Tuple

HEAD = """
import atexit, ctypes, faulthandler, gc, os, signal, sys, threading, time
faulthandler.register(signal.SIGUSR1, all_threads=True)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
import culvert
from culvert import vulkan as vk

def empty(of):
    c = of.commands()
    of.functions.vkBeginCommandBuffer(c, vk.VkCommandBufferBeginInfo())
    of.functions.vkEndCommandBuffer(c)
    return c

def everything():
    global gpu, buffer, timeline, stream, ring, vector, view
    gpu = culvert.vulkan.open()
    buffer, timeline, stream = gpu.vk.buffer(4097), gpu.vk.timeline(), gpu.device.stream()
    ring = gpu.vk.ring(gpu.queue, gpu.queue_family, [culvert.ring_buffer(4097)])
    vector = gpu.device.vector(4097, exportable=True)
    view = gpu.vk.vector_view(vector)

def cell():
    own = culvert.vulkan.open()
    b, t, s = own.vk.buffer(4097), own.vk.timeline(), own.device.stream()
    own.submit(empty(own), wait=[(t, 1)], signal=[(t, 2)])
    with t.frame(signal=1).cuda(s):
        own.device.cuda.cuMemsetD8Async(b.pointer, 7, 4097, s)

def capture():
    gpu.device.make_current()
    gpu.device.cuda.cuStreamBeginCapture(stream, 2)     # relaxed: other calls go on meanwhile
    gpu.device.cuda.cuMemsetD8Async(buffer.pointer, 3, 4097, stream)

def end_capture():
    graph = ctypes.c_void_p()
    gpu.device.cuda.cuStreamEndCapture(stream, ctypes.byref(graph))
    return graph

def on_opengl():
    global screen, gl
    import gl_headless
    with culvert.Device() as device:
        ordinal = None if device.is_software else device.caps.ordinal
    screen = gl_headless.Headless(ordinal=ordinal)
    gl = culvert.gl.attach()

def work():
    big = gpu.vk.buffer(64 << 20)
    gpu.device.make_current()
    for n in range(20 if gpu.device.is_software else 2000):
        gpu.device.cuda.cuMemsetD8Async(big.pointer, n & 255, big.size, stream)
    return big
"""


class State(NamedTuple):
    code: str
    code_after: str = ""  # behind "end", the last thing that a program says
    status: int = 0
    says: Tuple[str, ...] = ()  # of these one is in stderr; nothing else may be there, besides warnings
    needs: str = ""  # a library (torch, cupy), or gl: a context of OpenGL


STATES: Dict[str, State] = {
    "nothing_was_opened": State(""),
    "a_context_is_open": State("everything()"),
    "nine_contexts_are_open": State("kept = [culvert.vulkan.open() for _ in range(9)]"),
    "nine_contexts_were_dropped": State("for _ in range(9): cell()"),
    # As it was when an end hung on a GPU and nobody could say why.
    "nine_were_dropped_a_child_has_ended_and_a_frame_was_captured": State(
        "everything()\nfor _ in range(9): cell()\npid = os.fork()\nif pid == 0: sys.exit(6)\n"
        "assert os.waitpid(pid, 0)[1] == 6 << 8\ncapture()\ngraph = end_capture()"),
    "nine_in_cycles_that_nobody_collects": State(
        "gc.disable()\ndef keep():\n    own = culvert.vulkan.open()\n    kept = [own, own.vk.buffer(4097), own.vk.timeline()]\n"
        "    kept.append(kept)\nfor _ in range(9): keep()"),
    "vulkan_waits_for_cuda": State("everything()\ngpu.submit(empty(gpu), wait=[(timeline, 1)])"),
    "cuda_waits_for_vulkan": State("everything()\ntimeline.wait(stream, 1)"),
    "each_waits_for_the_other": State(
        "everything()\nother = gpu.vk.timeline()\ngpu.submit(empty(gpu), wait=[(timeline, 1)], signal=[(other, 1)])\n"
        "other.wait(stream, 2)\ntimeline.signal(stream, 1)"),
    "a_wait_that_culvert_was_not_told_of": State(
        "everything()\n"
        "w = (vk.VkSemaphoreSubmitInfo * 1)(vk.VkSemaphoreSubmitInfo(semaphore=timeline, value=1, stageMask=1 << 16))\n"
        "gpu.functions.vkQueueSubmit2(gpu.queue, 1, vk.VkSubmitInfo2(waitSemaphoreInfoCount=1, "
        "pWaitSemaphoreInfos=ctypes.addressof(w)), 0)"),
    "a_forked_child_says_what_it_has": State(
        "everything()\nr, w = os.pipe()\nif os.fork() == 0:\n    os.dup2(w, 1)\n    sys.stdout.write('mine')\n    sys.exit(7)\n"
        "assert os.WEXITSTATUS(os.wait()[1]) == 7 and os.read(r, 9) == b'mine'"),
    "in_cudas_turn": State("everything()\nturn = ring.cuda(stream)\nframe = turn.__enter__()"),
    "in_vulkans_turn": State("everything()\nwith ring.cuda(stream): pass\ngot = ring.acquire()"),
    "in_a_frame_of_a_timeline": State("everything()\nturn = timeline.frame(signal=1).cuda(stream)\nturn.__enter__()"),
    "frames_are_under_way": State("everything()\nfor n in range(3):\n    with ring.cuda(stream): pass"),
    "cuda_is_at_work": State("everything()\nbig = work()"),
    "in_a_capture": State("everything()\ncapture()"),
    "a_graph_was_captured": State("everything()\ncapture()\ngraph = end_capture()"),
    "an_exception_in_a_block": State(
        "everything()\n", "with gpu:\n    gpu.submit(empty(gpu), wait=[(timeline, 1)])\n    raise KeyError('mine')", status=1,
        says=("KeyError: 'mine'",)),
    "an_exception_outside": State("everything()\n", "raise KeyError('mine')", status=1, says=("KeyError: 'mine'",)),
    "sys_exit_in_a_block": State("everything()\n", "with gpu, timeline.frame(wait=None, signal=1).cuda(stream):\n    sys.exit(3)",
                              status=3),
    "ctrl_c_in_a_block": State("everything()\n", "with gpu:\n    signal.raise_signal(signal.SIGINT)", status=-signal.SIGINT,
                            says=("KeyboardInterrupt",)),
    "a_thread_waits_for_vulkan": State(
        "everything()\ngpu.submit(empty(gpu), wait=[(timeline, 1)])\n"
        "threading.Thread(target=lambda: gpu.wait_idle(3600 * 10**9), daemon=True).start()\ntime.sleep(0.2)"),
    "a_thread_waits_for_cuda": State(
        "everything()\ntimeline.wait(stream, 1)\nthreading.Thread(target=stream.synchronize, daemon=True).start()\n"
        "time.sleep(0.2)", says=("",)),
    "a_daemon_thread_opens_and_drops_contexts": State(
        "def again():\n    while True:\n        own = culvert.vulkan.open()\n        b = own.vk.buffer(4097)\n"
        "threading.Thread(target=again, daemon=True).start()\ntime.sleep(0.3)", says=("",)),
    "a_forked_child_ends_later": State("everything()\nif os.fork() == 0:\n    time.sleep(0.5)\n    sys.exit(0)"),
    "the_device_was_closed": State("everything()\ngpu.device.close()"),
    "vulkans_half_was_closed": State("everything()\ngpu.vk.close()"),
    "everything_was_closed": State("everything()\ngpu.close()"),
    "the_primary_context_was_reset": State("everything()\ngpu.device.cuda.cuDevicePrimaryCtxReset(gpu.device.caps.ordinal)"),
    "kernels_in_the_queue": State(
        "try:\n    gpu = culvert.vulkan.open(kernels=True)\nexcept culvert.UnsupportedError:\n    pass"),
    "a_view_is_open": State(
        "everything()\nshown = culvert.show(buffer.tensor('float32', (32, 32)), gpu=gpu, window=False)\nshown.update()"),
    "a_view_with_a_context_of_its_own": State(
        "everything()\nshown = culvert.show(buffer.tensor('float32', (32, 32)), window=False)\nshown.update()"),
    "somebody_keeps_all_to_the_very_end": State(
        "everything()\nimport builtins\nbuiltins.kept = gpu, buffer, timeline, stream, ring, vector, view\n"
        "sys.modules['kept'] = builtins.kept"),
    "a_tensor_is_kept_to_the_very_end": State(
        "everything()\nimport builtins\ntensor = buffer.tensor()\n"
        "builtins.kept = tensor, tensor.__dlpack__(), tensor.__dlpack__(max_version=(1, 0))"),
    "a_later_handler_uses_what_is_closed": State(
        "everything()\n@atexit.register\ndef use():\n    buffer.close()\n    assert repr(gpu)", says=("",)),
    "an_earlier_handler_uses_what_is_closed": State(
        "everything()", "", says=("",)),
    "no_thread_can_be_started": State(  # as in Python 3.12 and later
        "gpu, other = culvert.vulkan.open(), culvert.vulkan.open()\ntimeline = gpu.vk.timeline()\n"
        "gpu.submit(empty(gpu), wait=[(timeline, 1)])\n"
        "def start(self): raise RuntimeError(\"can't create new thread at interpreter shutdown\")\n"
        "threading.Thread.start = start"),
    "the_process_leaves_without_the_interpreter": State(
        "everything()\ngpu.submit(empty(gpu), wait=[(timeline, 1)])\ntimeline.wait(stream, 4)", "os._exit(5)", status=5),
    "a_process_of_spawn": State(
        "everything()\nimport subprocess\nsubprocess.run([sys.executable, '-c', 'import culvert; g = culvert.vulkan.open()'],"
        " check=True)"),
    "opengl_has_a_buffer": State("on_opengl()\nbuffer = gl.buffer(4097)", needs="gl"),
    "opengl_is_in_cudas_turn": State("on_opengl()\nbuffer = gl.buffer(4097)\nturn = buffer.cuda()\nturn.__enter__()", needs="gl"),
    "opengl_has_a_ring_under_way": State(
        "on_opengl()\nring = gl.ring([culvert.gl.ring_buffer(4097)])\nwith ring.cuda(): pass\nframe = ring.frame()\n"
        "frame.__enter__()", needs="gl"),
    "opengls_context_has_gone": State("on_opengl()\nbuffer = gl.buffer(4097)\nscreen.close()", needs="gl"),
    "opengl_and_vulkan": State("everything()\non_opengl()\nbuffer = gl.buffer(4097)\ntimeline.wait(stream, 1)", needs="gl"),
    "pytorch_waits_on_its_stream": State(
        "import torch\neverything()\nx = torch.from_dlpack(buffer.tensor())\ns = torch.cuda.Stream()\n"
        "x += 1\ntorch.cuda.synchronize()  # loads the kernel, which waits for all streams\ntimeline.wait(s, 1)\n"
        "with torch.cuda.stream(s): x += 1", needs="torch"),
    "pytorch_has_tensors_of_the_pool": State(
        "import torch\npool = culvert.torch_pool()\nwith torch.cuda.use_mem_pool(pool): x = torch.ones(5000, device='cuda')\n"
        "everything()\nadopted = gpu.vk.adopt(x)", needs="torch"),
    "pytorch_has_gone_backward": State(
        "import torch\neverything()\nx = torch.from_dlpack(buffer.tensor('float32', (16, 16))).clone().requires_grad_()\n"
        "(x * 2).sum().backward()", needs="torch"),
    "cupy_has_arrays": State(
        "import cupy\neverything()\nx = cupy.from_dlpack(buffer.tensor('float32', (16, 16)))\ny = x + 1\n"
        "s = cupy.cuda.Stream(non_blocking=True)\ntimeline.wait(s, 1)", needs="cupy"),
}
EARLY = {"an_earlier_handler_uses_what_is_closed":  # registered before Culvert's own, so it runs after that
         "import atexit\n@atexit.register\ndef use():\n    buffer.close()\n    stream.close()\n"
         "    assert repr(gpu) and gpu.closed\n"}


def _threads(pid: int) -> str:
    """Where the kernel has each thread of a process that does not end."""
    told = []
    for thread in sorted(os.listdir(f"/proc/{pid}/task")):
        words = []
        for what in ("comm", "wchan", "syscall"):
            try:
                with open(f"/proc/{pid}/task/{thread}/{what}") as f:
                    words.append(f.read().strip())
            except OSError:
                words.append("?")
        told.append(f"thread {thread}: {', '.join(words)}")
    return "\n".join(told)


def run(name: str, state: State, seconds: float = 40) -> float:
    """Seconds from "end" until the process has gone. AssertionError with what is known, where it is not as it should be."""
    program = f"{EARLY.get(name, '')}{HEAD}\n{state.code}\nprint('end', flush=True)\n{state.code_after}\n"
    paths = [os.path.dirname(os.path.abspath(__file__)), *filter(None, [os.environ.get("PYTHONPATH")])]  # of gl_headless
    child = subprocess.Popen([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    began = time.monotonic()
    said = child.stdout.readline()
    ended = time.monotonic()
    try:
        _, problems = child.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        where = _threads(child.pid)
        child.send_signal(signal.SIGUSR1)  # Python's own threads, if it can still tell
        time.sleep(1)
        child.kill()
        problems = child.communicate()[1]
        raise AssertionError(f"the process has not ended {seconds:g} s after its last word\n{where}\n{problems}") from None
    took = time.monotonic() - ended
    assert said == "end\n", f"it did not get that far ({ended - began:.1f} s):\n{problems}"
    assert child.returncode == state.status, f"status {child.returncode} and not {state.status}:\n{problems}"
    for bad in ("Traceback", "Exception ignored", "Fatal Python error"):
        mine = state.says and any(text in problems for text in state.says)
        assert bad not in problems or (mine and bad == "Traceback"), problems
    for text in state.says:
        assert text in problems, problems
    return took
