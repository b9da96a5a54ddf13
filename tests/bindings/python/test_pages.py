# SPDX-License-Identifier: MIT
"""Every block of code of docs/python*.md runs as it stands there."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pages
import pytest

TOP = pathlib.Path(__file__).resolve().parents[3]
BLOCKS = pages.blocks()
# What a program prints: the whole of it, or a line.
PRINTS = {
    "a_buffer_of_both_sides_1": "8 1024 <culvert.VulkanBuffer open, 4096 bytes, pointer 0x",
    "from_a_tensor_to_a_picture_2": "[0. 3. 3. 3. 0.]\n",
    "frames_1": "9 <culvert.Ring open, 3 slots of 1 resource, Vulkan consumes, on ",
    "your_own_vkdevice_1": "1024\n",
    "what_goes_wrong_and_what_happens_then_1": "SIZE\nlate\n",
    "types_and_what_a_repr_says_1": "\nVkExtent2D(width=3, height=4)\n<culvert.VulkanBuffer closed>\n",
    "the_rest_of_the_c_api_1": "\nculv_vk_buffer_create(",
    "the_twin_in_ci_1": "1 passed",
}


@pytest.mark.parametrize("block", [b for b in BLOCKS if "install" not in b.words], ids=lambda b: f"{b.page}:{b.line}-{b.name}")
def test_a_block(block, tmp_path):
    for library in block.libraries:
        if importlib.util.find_spec(library) is None:
            pytest.skip(f"{block.page}:{block.line} needs {library}, which is not installed")
    if block.libraries and os.environ.get("CULVERT_SOFT") == "1":
        pytest.skip(f"{block.page}:{block.line} needs {block.libraries[0]} on a GPU")
    if block.needs_compiler:
        pytest.skip(f"{block.page}:{block.line} needs glslangValidator")
    said = block.run(tmp_path)
    assert PRINTS.get(block.name, "") in said


def test_installing(tmp_path):
    """apt only has to know the packages; pip installs what this build tree has."""
    [block] = [b for b in BLOCKS if "install" in b.words]
    if shutil.which("apt-cache") is None or shutil.which("apt") is None:
        pytest.skip("no apt here")
    if importlib.util.find_spec("ensurepip") is None:
        pytest.skip("no venv here (Debian: python3-venv)")
    path = tmp_path / "bin"
    path.mkdir()
    (path / "python3").symlink_to(sys.executable)
    (path / "apt").write_text('#!/bin/sh -e\n[ "$1" = install ]\nshift\nfor p; do dpkg-query -s "$p" >/dev/null 2>&1 || '
                                      'apt-cache show "$p" >/dev/null; done\n')
    (path / "apt").chmod(0o755)
    sources = tmp_path / "sources"
    sources.mkdir()
    subprocess.run([sys.executable, "-c", "import sys; sys.path.insert(0, 'python'); import culvert_wheel; "
                    f"culvert_wheel.build_sdist({str(tmp_path)!r})"], cwd=TOP, check=True)
    subprocess.run(["tar", "-xzf", next(tmp_path.glob("culvert-*.tar.gz")), "-C", sources, "--strip-components=1"], check=True)
    for made in ("_declarations.py", "_vulkan.py"):  # as in a clone
        (sources / "bindings/python/culvert" / made).unlink()
    (sources / "scripts").mkdir(exist_ok=True)
    shutil.copy(TOP / "scripts/python-declarations", sources / "scripts")
    build = pathlib.Path(os.environ["CULVERT_LIBRARY"]).parents[1]
    paths = {"PATH": f"{path}:{os.environ['PATH']}", "PYTHONPATH": "", "CULVERT_LIBRARY": "",
            "PIP_CONFIG_SETTINGS": f"build={build}", "PIP_NO_INDEX": "1"}
    said = block.run(sources, **paths)
    assert f"'library': '{sources}/build/venv/" in said and "'driver': 'soft'" in said, said


def test_the_fences_say_what_they_need():
    """A word that nobody knows would leave a block out, and a page without a block would not be looked at."""
    assert {b.page for b in BLOCKS} == {"python.md", "python-frameworks.md"} and len(BLOCKS) > 15
    for b in BLOCKS:
        assert b.language in ("python", "sh"), f"{b.page}:{b.line}: ```{b.language}"
        assert set(b.words) <= {*pages.LIBRARIES, "pytest", "notebook", "install"}, f"{b.page}:{b.line}: {b.words}"
        for library in pages.LIBRARIES:
            assert f"import {library}\n" not in b.code or library in b.words or (library, "triton" in b.words) == ("torch", True), \
                f"{b.page}:{b.line} imports {library}, and its fence does not say so"
    assert set(PRINTS) <= {b.name for b in BLOCKS}


def test_a_block_that_fails_is_told(tmp_path):
    for code, text in (("import culvert\nculvert.nothing\n", "has no attribute 'nothing'"), ("open(\"x.png\", \"wb\")\n", "is no PNG"),
                       ('name = "x.png"\n', "were to be written")):
        room = tmp_path / str(len(code))
        room.mkdir()
        with pytest.raises(AssertionError, match=text):
            pages.Block("page.md", 1, "x", "python", (), code).run(room)
