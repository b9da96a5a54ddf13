# SPDX-License-Identifier: MIT
import ctypes
import gc
import glob
import os

import pytest

import culvert

if os.environ.get("CULVERT_SOFT"):
    # The twin draws with the software driver alone: each context would find, load and relocate all of them again.
    manifests = glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
    if len(manifests) == 1:  # else one may be another machine's
        os.environ.setdefault("VK_DRIVER_FILES", manifests[0])
    try:
        ctypes.CDLL("libvulkan_lvp.so")
    except OSError:
        pass


def software():
    try:
        with culvert.Device() as device:
            return device.is_software
    except culvert.Error:
        return True


def pytest_collection_modifyitems(items):
    """NumPy reads the twin's memory and no GPU's. On a GPU run.py does the same with its libraries."""
    if not software():
        for item in items:
            if item.module.__name__ != "test_declarations":
                item.add_marker(pytest.mark.skip(reason="NumPy reads no GPU's memory"))


@pytest.fixture
def gpu():
    """A Vulkan context with Culvert on it. Nothing may be left when the test has closed what it made."""
    with culvert.vulkan.open() as context:
        yield context
        gc.collect()
        context.wait_idle()
        if hasattr(context, "_draws"):  # culvert.draw keeps a timeline for each context
            context._draws.drop()
        for name, left in context.device.counts().items():
            assert left == (1 if name == "attached_devices" else 0), f"{left} {name} are left"


@pytest.fixture
def device():
    with culvert.Device() as opened:
        yield opened
        gc.collect()
        for name, left in opened.counts().items():
            assert left == 0, f"{left} {name} are left"
