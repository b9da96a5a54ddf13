"""clients.py SOFT_RUN VENDOR_LAYER GROUP [CHECK]: programs that others wrote, from Debian's packages, on the twin.
What comes through CUDA, Vulkan and OpenGL must be, bit by bit, what the program's own software path gives, and no call may
fail that is not expected to. VENDOR_LAYER is the directory of a Vulkan layer that says NVIDIA's vendor number, for which
FFmpeg 5.1 asks. CHECK is culvert-check: each run is one under it, without a finding. Exit status 77: a program is missing.
SPDX-License-Identifier: MIT
"""
import collections
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CUDA = ["-init_hw_device", "cuda=cu", "-filter_hw_device", "cu"]
VULKAN = ["-init_hw_device", "vulkan=vk", "-filter_hw_device", "vk"]
BOTH = ["-init_hw_device", "cuda=cu", "-init_hw_device", "vulkan=vk@cu", "-filter_hw_device", "vk"]
# name: devices, filters. "=derive_device" goes from one API's frames to the other's.
FFMPEG = {
    "CUDA": (CUDA, "hwupload_cuda,hwdownload"),
    "Vulkan": (VULKAN, "hwupload,hwdownload"),
    "CUDA to Vulkan": (CUDA, "hwupload_cuda,hwupload=derive_device=vulkan,hwdownload"),
    "Vulkan to CUDA": (VULKAN, "hwupload,hwupload=derive_device=cuda,hwdownload"),
    "Vulkan, of CUDA's device, to CUDA": (BOTH, "hwupload,hwupload=derive_device=cuda,hwdownload"),
    "there and back": (BOTH, "hwupload=derive_device=cuda,hwupload,hwupload=derive_device=cuda,hwdownload"),
}
FORMATS = "nv12 yuv420p yuv444p p010le p016le yuv444p16le rgb0".split()
SIZES = "64x64 62x34 63x35 17x33 320x240 1920x1080".split()
# What FFmpeg breaks by itself: chains, formats, versions, and what is then said. Such a row fails once it works.
REFUSED = [
    # Its hwupload takes no frames of CUDA's into Vulkan: hwcontext_vulkan.c names the formats, before a call is made.
    (["CUDA to Vulkan", "there and back"], FORMATS, "7.1", "Impossible to convert between the formats"),
    # It takes an array of one channel for such a picture and copies rows that are wider, which NVIDIA's driver refuses. Then
    # it destroys a semaphore in use, as culvert-check rightly tells: there these rows are left out.
    (list(FFMPEG)[2:], ["rgb0"], "", "cuMemcpy2DAsync.*CUDA_ERROR_INVALID_VALUE"),
    # It makes one image of all planes and exports the memory of each; but not for a device that is made from CUDA's.
    (["Vulkan to CUDA"], FORMATS, "7.1", "vkGetMemoryFdKHR: memory is VK_NULL_HANDLE"),
]
GSTREAMER = {
    "CUDA, then Vulkan": ("cudaupload ! cudadownload ! vulkanupload ! video/x-raw(memory:VulkanImage) ! vulkandownload", 0),
    "CUDA": ("cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload", 0),
    "OpenGL to CUDA": ("glupload ! video/x-raw(memory:GLMemory) ! cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload", 1),
    "CUDA to OpenGL": ("cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload ! video/x-raw(memory:GLMemory) ! gldownload", 1),
}
GST_FORMATS = "NV12 I420 Y444 P010_10LE RGBA BGRA".split()
GST_SIZES = "64x48 72x34 320x240".split()
GST_IPC = [("legacy", "copy"), ("legacy", "import"), ("mmap", "copy")]
# On Vulkan by libplacebo: 0.40's own way there mostly shows black under Xvfb, also without the twin.
MPV = {"opengl": ["--vo=gpu"], "vulkan": ["--vo=gpu-next", "--vulkan-device={device}"]}

soft_run, vendor, group = sys.argv[1:4]
check = sys.argv[4:]
work = pathlib.Path(tempfile.mkdtemp())
env = {k: v for k, v in os.environ.items() if not k.startswith(("CULVERT_", "VK_"))}
env |= {"LC_ALL": "C", "LIBGL_ALWAYS_SOFTWARE": "1", "GST_REGISTRY": str(work / "registry"), "XDG_RUNTIME_DIR": str(work)}
failed, tried, refusals = [], 0, collections.Counter()


def run(command, env=env, seconds=120):
    done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def twin(more={}, outer=False):
    """The environment; outer: with the vendor layer outside of the twin's."""
    of = dict(line.split("=", 1) for line in run([soft_run, "--env"], env | more)[1].splitlines())
    if outer:
        of["VK_INSTANCE_LAYERS"] = "VK_LAYER_CLIENTS_vendor:" + of["VK_INSTANCE_LAYERS"]
        of["VK_ADD_LAYER_PATH"] = vendor + ":" + of["VK_ADD_LAYER_PATH"]
    of["GST_REGISTRY"] = env["GST_REGISTRY"] + "-twin"  # GStreamer remembers which elements there were
    return env | of | more


def checked(command, errors):
    """What is left of stderr without culvert-check's lines, which must tell of no finding."""
    if check and "culvert-check: 0 findings" not in errors:
        failed.append(f"under culvert-check: {' '.join(command)}: {errors[-1500:]}")
    return "\n".join(line for line in errors.splitlines() if "culvert-check" not in line)


def on_the_twin(command, **how):
    code, out, errors = run(check + command, twin(**how))
    return code, out, checked(command, errors)


def judge(row, want, code, got, errors, refused=None):
    global tried
    tried += 1
    if refused:
        refusals[f"{row.rsplit(', ', 2)[0]}: {refused}"] += 1
    if not (code and got != want and re.search(refused, errors) if refused else
            code == 0 and want and got == want and not errors.strip()):
        failed.append(f"{row}: exit {code}, {'the same' if got == want else 'not the same'}: {errors[:600]}")


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"skipped: {program} is missing")
            sys.exit(77)


def ffmpeg(formats, sizes):
    need("ffmpeg")
    version = re.match(r"ffmpeg version (\d+\.\d+)", run(["ffmpeg", "-version"])[1]).group(1)
    for fmt, size in itertools.product(formats, sizes):
        def frames(devices, filters, by):
            code, out, errors = by(["ffmpeg", "-nostdin", "-v", "error", *devices, "-f", "lavfi", "-i", f"testsrc2=s={size}:r=5:d=0.6",
                                    "-vf", f"format={fmt}{filters}", "-f", "framemd5", "-"])
            return code, [line.split(",")[-1] for line in out.splitlines() if not line.startswith("#")], errors
        want = frames([], "", run)[1]
        for chain, (devices, filters) in FFMPEG.items():
            refused = next((said for chains, formats, of, said in REFUSED
                            if chain in chains and fmt in formats and version.startswith(of)), None)
            # FFmpeg 7.1 gives a frame back while its upload to Vulkan goes on, also without the twin: a copy is drawn by nobody else.
            got = frames(devices, f",copy,{filters},format={fmt}", lambda command: on_the_twin(command, outer=version < "6"))
            judge(f"FFmpeg {version}, {chain}, {fmt}, {size}", want, *got, refused)


@contextlib.contextmanager
def on_a_screen():
    """The environment of a new screen."""
    need("Xvfb")
    with open(work / "screen", "w+") as number, subprocess.Popen(
            ["Xvfb", "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp"], stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.dup2(number.fileno(), 3), pass_fds=(3,)) as screen:
        try:
            until = time.monotonic() + 60
            while not (work / "screen").read_text().strip() and time.monotonic() < until:
                time.sleep(0.1)
            yield env | {"DISPLAY": ":" + (work / "screen").read_text().strip()}
        finally:
            screen.terminate()


def gstreamer():
    need("gst-launch-1.0")
    env.update(stack.enter_context(on_a_screen()))
    version = re.search(r"version (\d+\.\d+)", run(["gst-launch-1.0", "--version"])[1]).group(1)

    def sums(chain, by):
        code, out, errors = by(f"gst-launch-1.0 -q {chain} ! checksumsink".split(" "))
        return code, [line.split(" ")[-1] for line in out.splitlines()], errors

    for fmt, size in itertools.product(GST_FORMATS, GST_SIZES):
        caps = "video/x-raw,format={},width={},height={}".format(fmt, *size.split("x"))
        source = f"videotestsrc num-buffers=2 ! {caps}"
        want = sums(source, run)[1]
        for name, (chain, maps) in GSTREAMER.items():
            # Also without the twin, 1.26 crashes in some runs while it destroys lavapipe's device. P010 it refuses there.
            if "Vulkan" in name and (version != "1.22" or fmt == "P010_10LE"):
                continue
            # How often OpenGL's objects are mapped, by the line about a call that was to fail and did not come.
            counted = {"CULVERT_SOFT_FAIL_AT": "cuda:cuGraphicsMapResources:100000"}
            code, got, errors = sums(f"{source} ! {chain} ! {caps}", lambda command: on_the_twin(command, more=counted))
            count = re.search(r"ends after (\d+) calls of cuGraphicsMapResources", errors)
            if not count or (int(count.group(1)) > 0) != bool(maps):
                failed.append(f"GStreamer, {name}, {fmt}: OpenGL's objects are mapped {count and count.group(1)} times")
            judge(f"GStreamer {version}, {name}, {fmt}, {size}", want, code, got, re.sub(r".*CULVERT_SOFT_FAIL_AT.*\n?", "", errors))

        still = f"videotestsrc pattern=smpte75 ! {caps}"
        want = sums(still.replace(" ", " num-buffers=2 ", 1), run)[1]
        for mode, io in GST_IPC if version != "1.22" else []:  # which has no such elements
            door = f"address={work}/{tried}"
            command = f"gst-launch-1.0 -q {still} ! cudaupload ! cudaipcsink {door} ipc-mode={mode}".split(" ")
            with subprocess.Popen(check + command, env=twin(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                  start_new_session=True) as other:
                judge(f"GStreamer {version}, CUDA's IPC, {mode}, {io}, {fmt}, {size}", want,
                      *sums(f"cudaipcsrc {door} io-mode={io} connection-timeout=60 num-buffers=2 ! cudadownload ! {caps}", on_the_twin))
                os.killpg(other.pid, signal.SIGINT)  # culvert-check hands no signal on
                checked(command, other.communicate()[1])


def picture(env):
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "x11grab", "-draw_mouse", "0", "-video_size", "320x240", "-i",
                           env["DISPLAY"] + "+0,0", "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], env=env,
                          capture_output=True).stdout


def shown(*commands):
    """Their windows, once these are one picture and not one colour, and what the last one said."""
    with contextlib.ExitStack() as stack:
        screens = [stack.enter_context(on_a_screen()) for _ in commands]
        log = stack.enter_context(open(work / "mpv.log", "w+"))
        players = [stack.enter_context(subprocess.Popen(command, env=env, cwd=work, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
                   for command, env, out in zip(commands, screens, (subprocess.DEVNULL, log))]
        until, windows = time.monotonic() + 300, []
        while time.monotonic() < until and not any(p.poll() for p in players):
            windows = [picture(env) for env in screens]
            if len(set(windows)) == 1 and len(set(windows[0])) > 8:
                break
            time.sleep(0.5)
        for player in players:
            player.terminate()
            player.wait()
        log.seek(0)
        return *(w if len(set(w)) > 8 else b"" for w in windows), log.read()


def mpv():
    need("mpv", "ffmpeg")
    # One picture that is drawn again and again: what is drawn once can come before its window does.
    common = ["--no-config", "--no-audio", "--no-osc", "--osd-level=0", "--geometry=320x240+0+0", "--no-border", "--gpu-sw",
              "av://lavfi:testsrc2=s=320x240:r=5,trim=end_frame=1,loop=-1:1"]
    device = re.search(r"'(.*)' \(GPU", run(["mpv", "--vulkan-device=help"])[1])
    for api, options in MPV.items():
        options = [*common, *(o.format(device=device.group(1)) for o in options), f"--gpu-api={api}"]
        want, got, log = shown(["mpv", *options, "--vf=format=nv12"],
                               [soft_run, *check, "mpv", *options, "--gpu-hwdec-interop=cuda", "--vf=lavfi=[format=nv12,hwupload_cuda]"])
        good = "cuda[nv12]" in log and (not check or "culvert-check: 0 findings" in log)
        judge(f"mpv on {api}", want, 0 if good else 1, got, re.sub(r"VO: .*|.*after cuGraphicsUnmapResources.*", "", log)
              if "rror" in log or got != want else "")


def page():
    """What docs/twin-for-ci.md tells its reader to run."""
    need("ffmpeg", "gst-launch-1.0", "mpv", "xvfb-run", "xauth")
    text = (pathlib.Path(__file__).resolve().parents[3] / "docs/twin-for-ci.md").read_text()
    env["PATH"] = f"{pathlib.Path(soft_run).parent}:{env['PATH']}"
    for line in re.search(r"^# where there are FFmpeg.*\n((?:.+\n)+?)```", text, re.M).group(1).splitlines():
        code, out, errors = run(["bash", "-c", line])
        good = "cuda[nv12]" in out + errors if " mpv " in line else re.search(r"\b[0-9a-f]{32,}\b", out)
        judge(line, "said", code, "said" if good else "not said", "" if good else out + errors)


with contextlib.ExitStack() as stack:
    {"ffmpeg-short": lambda: ffmpeg(["nv12", "p010le"], ["62x34", "320x240"]), "ffmpeg": lambda: ffmpeg(FORMATS[:-1] if check else FORMATS, SIZES),
     "gstreamer": gstreamer, "mpv": mpv, "page": page}[group]()
shutil.rmtree(work)
print("\n".join([f"{row} ({count})" for row, count in refusals.items()] + [f"FAIL: {f}" for f in failed] + [f"{tried} tried, {len(failed)} failed"]))
sys.exit(1 if failed else 0)
