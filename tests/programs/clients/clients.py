"""clients.py SOFT_RUN VENDOR_LAYER GROUP [CHECK]: programs that others wrote, from Debian's packages, on the twin.
What comes through CUDA, Vulkan and OpenGL must be, bit by bit, what the program's own software path gives, and no call may
fail that is not expected to. VENDOR_LAYER is the directory of a Vulkan layer that says NVIDIA's vendor number, for which
FFmpeg asks. CHECK is culvert-check: each run is one under it, without a finding. Exit status 77: a program is missing.
SPDX-License-Identifier: MIT
"""
import itertools
import os
import pathlib
import re
import shutil
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
    "there and back": (BOTH, "hwupload=derive_device=cuda,hwupload,hwupload=derive_device=cuda,hwdownload"),
}
FORMATS = "nv12 yuv420p yuv444p p010le p016le yuv444p16le rgb0".split()
SIZES = "64x64 62x34 63x35 17x33 320x240 1920x1080".split()
# FFmpeg 5.1 takes an array of one channel for such a picture and copies rows that are wider, which NVIDIA's driver refuses.
REFUSED = {(chain, "rgb0") for chain in ("CUDA to Vulkan", "Vulkan to CUDA", "there and back")}
GSTREAMER = {
    "CUDA": ("cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload", 0),
    "OpenGL to CUDA": ("glupload ! video/x-raw(memory:GLMemory) ! cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload", 1),
    "CUDA to OpenGL": ("cudaupload ! video/x-raw(memory:CUDAMemory) ! cudadownload ! video/x-raw(memory:GLMemory) ! gldownload", 1),
}
GST_FORMATS = "NV12 I420 Y444 P010_10LE RGBA BGRA".split()
GST_SIZES = "64x48 72x34 320x240".split()
MPV = {"opengl": [], "vulkan": ["--vulkan-device={device}"]}

soft_run, vendor, group = sys.argv[1:4]
check = sys.argv[4:]
work = pathlib.Path(tempfile.mkdtemp())
env = {k: v for k, v in os.environ.items() if not k.startswith(("CULVERT_", "VK_"))}
env |= {"LC_ALL": "C", "LIBGL_ALWAYS_SOFTWARE": "1", "GST_REGISTRY": str(work / "registry"), "XDG_RUNTIME_DIR": str(work)}
failed, tried = [], 0


def run(command, env=env, seconds=120):
    done = subprocess.run(command, env=env, cwd=work, capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def on_the_twin(command, more=None):
    """With the vendor layer outside of the twin's, where FFmpeg is to cross."""
    of = dict(line.split("=", 1) for line in subprocess.run([soft_run, "--env"], env=env | (more or {}), capture_output=True, text=True,
                                                            check=True).stdout.splitlines())
    of["VK_INSTANCE_LAYERS"] = "VK_LAYER_CLIENTS_vendor:" + of["VK_INSTANCE_LAYERS"]
    of["VK_ADD_LAYER_PATH"] = vendor + ":" + of["VK_ADD_LAYER_PATH"]
    of["GST_REGISTRY"] = env["GST_REGISTRY"] + "-twin"  # GStreamer remembers which elements there were
    code, out, errors = run(check + command, env | of | (more or {}))
    if check and "culvert-check: 0 findings" not in errors:
        failed.append(f"under culvert-check: {' '.join(command)}: {errors[-1500:]}")
    return code, out, "\n".join(line for line in errors.splitlines() if "culvert-check" not in line)


def judge(row, want, code, got, errors, refused=False):
    global tried
    tried += 1
    if refused:
        good = got != want and "cuMemcpy2DAsync" in errors and "CUDA_ERROR_INVALID_VALUE" in errors
    else:
        good = code == 0 and want and got == want and not errors.strip()
    if not good:
        failed.append(f"{row}: exit {code}, {'the same' if got == want else 'not the same'}: {errors[:600]}")


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            print(f"skipped: {program} is missing")
            sys.exit(77)


def ffmpeg(formats, sizes):
    need("ffmpeg")
    for fmt, size in itertools.product(formats, sizes):
        def frames(devices, filters, by):
            code, out, errors = by(["ffmpeg", "-nostdin", "-v", "error", *devices, "-f", "lavfi", "-i", f"testsrc2=s={size}:r=5:d=0.6",
                                    "-vf", f"format={fmt}{filters}", "-f", "framemd5", "-"])
            return code, [line.split(",")[-1] for line in out.splitlines() if not line.startswith("#")], errors
        want = frames([], "", run)[1]
        for chain, (devices, filters) in FFMPEG.items():
            judge(f"FFmpeg, {chain}, {fmt}, {size}", want, *frames(devices, f",{filters},format={fmt}", on_the_twin), (chain, fmt) in REFUSED)


def on_a_screen(what):
    need("Xvfb")
    with open(work / "screen", "w+") as number, subprocess.Popen(
            ["Xvfb", "-displayfd", "3", "-screen", "0", "640x480x24", "-nolisten", "tcp"], stderr=subprocess.DEVNULL,
            preexec_fn=lambda: os.dup2(number.fileno(), 3), pass_fds=(3,)) as screen:
        try:
            until = time.monotonic() + 60
            while not (work / "screen").read_text().strip() and time.monotonic() < until:
                time.sleep(0.1)
            env["DISPLAY"] = ":" + (work / "screen").read_text().strip()
            return what()
        finally:
            screen.terminate()


def gstreamer():
    need("gst-launch-1.0")
    for fmt, size in itertools.product(GST_FORMATS, GST_SIZES):
        caps = "video/x-raw,format={},width={},height={}".format(fmt, *size.split("x"))

        def sums(chain, by):
            code, out, errors = by(["gst-launch-1.0", "-q", *f"videotestsrc num-buffers=2 ! {caps} !{chain} checksumsink".split(" ")])
            return code, [line.split(" ")[-1] for line in out.splitlines()], errors
        want = sums("", run)[1]
        for name, (chain, maps) in GSTREAMER.items():
            # How often OpenGL's objects are mapped, by the line about a call that was to fail and did not come.
            counted = {"CULVERT_SOFT_FAIL_AT": "cuda:cuGraphicsMapResources:100000"}
            code, got, errors = sums(f" {chain} ! {caps} !", lambda command: on_the_twin(command, counted))
            count = re.search(r"ends after (\d+) calls of cuGraphicsMapResources", errors)
            if not count or (int(count.group(1)) > 0) != bool(maps):
                failed.append(f"GStreamer, {name}, {fmt}: OpenGL's objects are mapped {count and count.group(1)} times")
            judge(f"GStreamer, {name}, {fmt}, {size}", want, code, got, re.sub(r".*CULVERT_SOFT_FAIL_AT.*\n?", "", errors))


def picture():
    return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "x11grab", "-video_size", "320x240", "-i", env["DISPLAY"] + "+0,0",
                           "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], env=env, capture_output=True).stdout


def shown(command, want):
    """The window, once it is `want`, or, without, once it is a picture that stays."""
    log = work / "mpv.log"
    with open(log, "w") as out, subprocess.Popen(command, env=env, cwd=work, stdout=out, stderr=out, stdin=subprocess.DEVNULL) as mpv:
        until, last, now = time.monotonic() + 60, None, b""
        while time.monotonic() < until and mpv.poll() is None and not (now == want if want else now == last and len(set(now)) > 8):
            time.sleep(0.5)
            last, now = now, picture()
        mpv.terminate()
        mpv.wait()
    return now, log.read_text()


def mpv():
    need("mpv", "ffmpeg")
    common = ["--no-config", "--no-audio", "--pause", "--no-osc", "--osd-level=0", "--geometry=320x240+0+0", "--no-border", "--vo=gpu",
              "--gpu-sw", "av://lavfi:testsrc2=s=320x240:r=1:d=60"]
    device = re.search(r"'(.*)' \(GPU", run(["mpv", "--vulkan-device=help"])[1])
    for api, options in MPV.items():
        options = [o.format(device=device.group(1)) for o in options] + [f"--gpu-api={api}"]
        plain = ["mpv", *common, *options, "--vf=format=nv12"]
        cuda = [soft_run, *check, "mpv", *common, *options, "--gpu-hwdec-interop=cuda", "--vf=lavfi=[format=nv12,hwupload_cuda]"]
        want, _ = on_a_screen(lambda: shown(plain, None))  # each has a screen of its own: a picture stays on one
        got, log = on_a_screen(lambda: shown(cuda, want))
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


{"ffmpeg-short": lambda: ffmpeg(["nv12", "p010le"], ["62x34", "320x240"]), "ffmpeg": lambda: ffmpeg(FORMATS, SIZES),
 "gstreamer": lambda: on_a_screen(gstreamer), "mpv": mpv, "page": page}[group]()
shutil.rmtree(work)
print("\n".join([f"FAIL: {f}" for f in failed] + [f"{tried} tried, {len(failed)} failed"]))
sys.exit(1 if failed else 0)
