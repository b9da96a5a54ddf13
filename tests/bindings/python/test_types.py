# SPDX-License-Identifier: MIT
"""Type checkers find no fault in the package and the samples, and find those of a program that has some."""
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = sorted((TOP / "samples" / "python").glob("*.py"))

RIGHT = """
    import ctypes
    from typing import List, Tuple

    import numpy as np
    import culvert
    from culvert import draw, vulkan as vk


    def first(gpu: vk.Context) -> Tuple[int, ...]:
        with gpu.vk.buffer(1 << 20, label="points") as buffer, gpu.vk.timeline() as timeline:
            points = np.asarray(buffer.tensor(np.float32, (-1, 4)))
            with timeline.frame(wait=1, signal=2).cuda(gpu.device.stream()) as frame:
                points += 1
            gpu.submit(gpu.commands(), wait=[(timeline, 2)])
            stream: culvert.Stream = gpu.device.stream()
            timeline.signal(stream, 3)
            timeline.signal(None, 4)
            timeline.signal(0, 5)
            view: culvert.View = culvert.show(points, colormap="gray", window=False)
            view.update(buffer.tensor("float32"))
            number: int = culvert.handle(buffer) + buffer.pointer + buffer.nbytes + len(buffer.tensor())
            return buffer.tensor().shape + (number,)


    def names(gpu: vk.Context) -> List[str]:
        info = vk.VkBufferCreateInfo(size=4096, usage=vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT)
        size: int = info.size
        gpu.functions.vkCmdFillBuffer(gpu.commands(), gpu.vk.buffer(size), 0, vk.VK_WHOLE_SIZE, 7)
        gpu.device.cuda.cuMemcpyDtoH(ctypes.create_string_buffer(4), 0, 4)
        text: bytes = culvert.api.culv_version_string()
        caps: culvert.declarations.culv_device_caps = gpu.device.caps
        try:
            with culvert.vulkan.open(kernels=True, features=["shaderInt64"]) as other, draw.Target(other, 64, 64) as picture:
                dots = draw.Pipeline(other, "", b"", topology="points")
                picture.draw(dots, 3, clear=(0, 0, 0, 1), anything=1.0)
                ring = other.vk.ring(other.queue, other.queue_family, [culvert.ring_buffer(4096)], depth=2)
                with ring.cuda() as frame:
                    frame.tensor("float32", (-1,)).pointer
                with other.ring([culvert.ring_buffer(4096)], depth=2).frame() as turn_of_vulkan:
                    commands: int = turn_of_vulkan.commands + turn_of_vulkan.buffer().handle
        except culvert.Error as e:
            return [e.reason, e.message]
        report: culvert.gl.Report = culvert.gl.check()
        with culvert.gl.attach(copies=True) as attached, attached.buffer(np.zeros(4097)) as vbo:
            with vbo.cuda(other.device.stream()) as turn:
                turn.write(turn.tensor("float32", (2, 2), strides=(1, 2)))
            mine = attached.register_buffer(vbo.name + 0, "float32", (4097,), access="read_only")
            with culvert.gl.mapped([mine]) as turns, attached.ring([culvert.gl.ring_texture(0x8058, 3, 4)], 2).frame() as shown:
                names: List[int] = [turns[0].pointer, shown.name, attached.texture(internal_format=0x8058, width=3).width]
            return [vbo.way, report.renderer, report.memory_reason, str(names)]
        return [text.decode(), caps.name.decode()]
"""
# A line of a program, and what mypy says of it.
WRONG = [
    ("gpu.vk.bufer(4096)", r'"VulkanDevice" has no attribute "bufer"; maybe "buffer"\?'),
    ("gpu.vk.buffer(4096).pointr", r'"VulkanBuffer" has no attribute "pointr"'),
    ("gpu.vk.buffer(4096).tensor().shpe", r'"Tensor" has no attribute "shpe"'),
    ("culvert.shw([1])", r'Module has no attribute "shw"'),
    ("vk.VK_BUFFER_USAGE_TRANSFER_DST", r'Module has no attribute "VK_BUFFER_USAGE_TRANSFER_DST"'),
    ("culvert.api.culv_buffer_sise(0)", r'"Api" has no attribute "culv_buffer_sise"'),
    ("gpu.functions.vkCmdFilBuffer(0)", r'"Functions" has no attribute "vkCmdFilBuffer"'),
    ("gpu.device.cuda.cuMemcpyDtoX(0)", r'"Cuda" has no attribute "cuMemcpyDtoX"'),
    ("gpu.vk.buffer(4096, usag=1)", r'Unexpected keyword argument "usag" for "buffer" of "VulkanDevice"'),
    ("culvert.vulkan.open(kernel=True)", r'Unexpected keyword argument "kernel" for "open"'),
    ("gpu.vk.timeline().frame(after=1)", r'Unexpected keyword argument "after" for "frame" of "Semaphore"'),
    ("vk.VkBufferCreateInfo(sice=4096)", r'Unexpected keyword argument "sice" for "VkBufferCreateInfo"'),
    ("culvert.show(np.zeros(3), colourmap='gray')", r'Unexpected keyword argument "colourmap" for "show"'),
    ("gpu.vk.buffer('1 MiB')", r'Argument 1 to "buffer" of "VulkanDevice" has incompatible type "str"; expected "int"'),
    ("gpu.vk.timeline().signal('stream', 1)", r'Argument 1 to "signal" of "Semaphore" has incompatible type "str"'),
    ("gpu.vk.buffer(4096).tensor('float32', '4')", r'Argument 2 to "tensor" of "TensorSource" has incompatible type "str"'),
    ("culvert.show('tensor')", r'Argument 1 to "show" has incompatible type "str"'),
    ("vk.VkBufferCreateInfo(size='4096')", r'Argument "size" to "VkBufferCreateInfo" has incompatible type "str"; expected "int"'),
    ("number: str = gpu.vk.buffer(4096).size", r'expression has type "int", variable has type "str"'),
    ("culvert.api.culv_buffer_size()", r'Too few arguments for "culv_buffer_size"'),
    ("gpu.ring([culvert.ring_buffer(4096)], deep=2)", r'Unexpected keyword argument "deep" for "ring" of "Context"'),
    ("culvert.gl.attach(copy=True)", r'Unexpected keyword argument "copy" for "attach"'),
    ("culvert.gl.check().rendrer", r'"Report" has no attribute "rendrer"'),
    ("gl.bufer(4096)", r'"Attachment" has no attribute "bufer"; maybe "buffer"\?'),
    ("gl.buffer('4 KiB')", r'Argument 1 to "buffer" of "Attachment" has incompatible type "str"'),
    ("gl.texture(internal_format=0x8058, widht=3)", r'Unexpected keyword argument "widht" for "texture" of "Attachment"'),
    ("gl.register_buffer(3, acces='read_only')", r'Unexpected keyword argument "acces" for "register_buffer" of "Attachment"'),
    ("gl.ring([4096])", r'List item 0 has incompatible type "int"; expected "Resource"'),
    ("name: str = gl.buffer(4096).name", r'expression has type "int", variable has type "str"'),
    ("gl.buffer(4096).cuda().tensor()", r'has no attribute "tensor"'),
    ("gpu.vk.timeline().frame(1, 2, 3)", r'Too many arguments for "frame" of "Semaphore"'),
]


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """Calls mypy with the repository's settings, and gives its exit status and what it says."""
    found = subprocess.run([sys.executable, "-m", "mypy", "--version"], capture_output=True).returncode == 0
    command = [sys.executable, "-m", "mypy"] if found else [shutil.which("mypy")]
    if command[0] is None:
        pytest.skip("mypy is not installed (Debian: mypy)")
    cache = tmp_path_factory.mktemp("mypy")

    def run(*files):
        ended = subprocess.run([*command, "--strict", f"--config-file={TOP / 'pyproject.toml'}", f"--cache-dir={cache}",
                                f"--python-executable={sys.executable}", "--no-error-summary", "--hide-error-context", *files],
                               cwd=TOP, capture_output=True, text=True)
        return ended.returncode, ended.stdout, ended.stderr

    return run


def test_the_package_and_the_samples(mypy):
    code, said, problems = mypy("bindings/python/culvert", *PROGRAMS)
    assert (code, said) == (0, ""), said + problems
    assert "error" not in problems, problems


def test_a_right_program(mypy, tmp_path):
    program = tmp_path / "right.py"
    program.write_text(textwrap.dedent(RIGHT))
    assert mypy(program)[:2] == (0, "")


def test_wrong_programs_are_refused(mypy, tmp_path):
    program = tmp_path / "wrong.py"
    head = ["import numpy as np", "import culvert", "from culvert import vulkan as vk", "gpu = culvert.vulkan.open()", "gl = culvert.gl.attach()"]
    program.write_text("\n".join(head + [line for line, _ in WRONG]) + "\n")
    code, said, _ = mypy(program)
    assert code == 1, said
    told = {}
    for number, text in re.findall(r"wrong\.py:(\d+): error: (.*)", said):
        told.setdefault(int(number), []).append(text)
    for number, (line, wanted) in enumerate(WRONG, len(head) + 1):
        assert any(re.search(wanted, text) for text in told.get(number, [])), (line, told.get(number))
    assert set(told) == set(range(len(head) + 1, len(head) + len(WRONG) + 1)), said


def test_every_call_has_its_types(mypy, tmp_path):
    """No public call of the package takes or gives Any without saying so."""
    program = tmp_path / "all.py"
    program.write_text("import culvert\nfrom culvert import draw, vulkan\n" + "".join(f"reveal_type({name})\n" for name in (
        "culvert.show", "culvert.buffer", "culvert.malloc", "culvert.VulkanDevice.buffer", "culvert.VulkanDevice.ring",
        "culvert.Tensor.__dlpack_device__", "culvert.Kernel.launch", "culvert.describe", "vulkan.open", "vulkan.Context.submit",
        "draw.Target.save", "draw.png", "culvert.gl.attach", "culvert.gl.mapped", "culvert.gl.Attachment.buffer",
        "culvert.gl.GLRing.cuda", "culvert.gl.Turn.tensor")))
    _, said, _ = mypy(program)
    shown = re.findall(r'Revealed type is "(.*)"', said)
    assert len(shown) == 17 and not any(text == "Any" or text.endswith("-> Any") for text in shown), said


def test_pyright():
    tool = shutil.which("pyright")
    if tool is None:
        pytest.skip("pyright is not installed (npm: pyright)")
    ended = subprocess.run([tool, f"--project={TOP / 'pyproject.toml'}", f"--pythonpath={sys.executable}"], cwd=TOP,
                           capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout
