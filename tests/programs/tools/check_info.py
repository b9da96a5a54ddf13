"""Checks culvert-info's JSON: its keys, their types, and that each no has a reason. SPDX-License-Identifier: MIT

usage: check_info.py FILE [unreachable] [no_graphics] [no_cuda] [two_lonely_cuda] [documented=PAGE]"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "bench"))
from check_json import check, keys_of  # noqa: E402: of the benchmarks'

TEXT = (str, type(None))
NUMBER = (int, type(None))
FLAG = (bool,)
TOP = {"schema": (int,), "culvert_version": (str,), "reachable": FLAG, "verdict": (str,), "hint": TEXT,
       "vulkan": (dict,), "cuda": (dict,), "system": (dict,), "graphics_devices": (list,), "cuda_devices": (list,),
       "opengl": (dict,), "environment": (dict,)}
OPENGL = {"why": TEXT, "egl_devices": (list,)}
EGL_DEVICE = {"renderer": TEXT, "version": TEXT, "vendor": TEXT, "uuid": TEXT, "vulkan_index": NUMBER, "memory_fd": FLAG,
              "semaphore_fd": FLAG, "why": TEXT}
VULKAN = {"usable": FLAG, "loader_path": TEXT, "loader_version": TEXT, "soft_layer": FLAG, "why": TEXT,
          "loader_messages": (list,)}
DRIVER = {"allowed": FLAG, "usable": FLAG, "path": TEXT, "cuda_version": TEXT, "release": TEXT,
          "num_devices": (int,), "pairs": (list,), "reason": TEXT, "why": TEXT}
PAIR = {"from": (int,), "to": (int,), "access": NUMBER, "array_access": NUMBER, "native_atomics": NUMBER, "performance_rank": NUMBER}
SYSTEM = {"nvidia_gpus": NUMBER, "nvidia_kernel_version": TEXT, "nvidia_kernel_open": FLAG, "nvidia_icd": TEXT,
          "iommu_units": NUMBER, "iommu_groups": NUMBER}
GRAPHICS = {"vulkan_index": (int,), "name": (str,), "type": (str,), "vendor_id": (int,), "uuid": (str,),
            "luid": TEXT, "node_mask": NUMBER, "api_version": (str,), "driver_name": TEXT, "driver_info": TEXT, "group_size": (int,),
            "reachable": FLAG, "reason": TEXT, "why": TEXT, "message": TEXT, "cuda": (dict, type(None)),
            "features": (dict,)}
MATCH = {"driver": (str,), "ordinal": (int,), "name": (str,)}
CUDA = {"driver": (str,), "ordinal": (int,), "opened": FLAG, "reason": TEXT, "why": TEXT, "vulkan_index": NUMBER,
        "name": TEXT, "uuid": TEXT, "luid": TEXT, "node_mask": NUMBER, "compute_capability": TEXT, "pci_bus_id": TEXT,
        "pcie_path": TEXT, "iommu_group": NUMBER, "total_memory": NUMBER,
        "mig_slice": (bool, type(None)), "features": (dict,)}
SHARE_FEATURES = {"buffer_opaque_fd", "timeline_opaque_fd", "binary_opaque_fd", "buffer_dma_buf",
                  "buffer_host_memory", "win32_handles"}
CUDA_FEATURES = {"timeline_semaphores", "vmm", "vmm_posix_fd", "vmm_win32", "vmm_fabric", "dma_buf_export",
                 "gpudirect_rdma", "sparse_arrays", "deferred_mapping_arrays", "pageable_memory_access", "multicast",
                 "integrated", "host_register_supported", "can_use_host_pointer_for_registered_mem", "pageable_memory_access_uses_host_page_tables"}


def check_features(place, features, names):
    assert set(features) == names, f"{place}: features {sorted(features)}"
    for name, row in features.items():
        assert row["supported"] in (True, False, None), f"{place}.{name}: {row}"
        assert row["supported"] is True or row["reason"], f"{place}.{name}: a no without a reason"
        assert ("attribute" in row) == ("value" in row) == (names is CUDA_FEATURES), f"{place}.{name}: {row}"


def check_report(report, wanted):
    check("report", report, TOP)
    assert report["schema"] == 1
    check("vulkan", report["vulkan"], VULKAN)
    check("system", report["system"], SYSTEM)
    check("opengl", report["opengl"], OPENGL)
    assert bool(report["opengl"]["why"]) != bool(report["opengl"]["egl_devices"]), report["opengl"]
    for device in report["opengl"]["egl_devices"]:
        check("egl_device", device, EGL_DEVICE)
        assert bool(device["why"]) != bool(device["renderer"] and device["version"]), device
        assert device["vulkan_index"] is None or device["uuid"] == next(
            g["uuid"] for g in report["graphics_devices"] if g["vulkan_index"] == device["vulkan_index"]), device
    check("cuda", report["cuda"], {"nvidia": (dict,), "soft": (dict,)})
    for name, driver in report["cuda"].items():
        check(f"cuda.{name}", driver, DRIVER)
        assert driver["usable"] or driver["why"], f"cuda.{name}: unusable without a reason"
        most = min(driver["num_devices"], 8)
        assert len(driver["pairs"]) == most * (most - 1), f"cuda.{name}: {len(driver['pairs'])} pairs"
        for pair in driver["pairs"]:
            check(f"cuda.{name}.pairs", pair, PAIR)
    for i, device in enumerate(report["graphics_devices"]):
        check(f"graphics_devices[{i}]", device, GRAPHICS)
        check_features(f"graphics_devices[{i}]", device["features"], SHARE_FEATURES)
        assert device["reachable"] or (device["reason"] and device["why"]), f"graphics_devices[{i}]: no reason"
        if device["cuda"] is not None:
            check(f"graphics_devices[{i}].cuda", device["cuda"], MATCH)
    for i, device in enumerate(report["cuda_devices"]):
        check(f"cuda_devices[{i}]", device, CUDA)
        check_features(f"cuda_devices[{i}]", device["features"], CUDA_FEATURES)
        lonely = device["vulkan_index"] is None
        assert device["why"] or (device["opened"] and not lonely), f"cuda_devices[{i}]: no reason"
    assert report["reachable"] == any(d["reachable"] for d in report["graphics_devices"])
    assert report["reachable"] or report["hint"], "nothing to try"
    assert report["vulkan"]["usable"] == bool(report["graphics_devices"])

    assert "unreachable" not in wanted or not report["reachable"]
    assert "no_graphics" not in wanted or (not report["graphics_devices"] and report["vulkan"]["why"])
    assert "no_cuda" not in wanted or not report["cuda_devices"]
    if "two_lonely_cuda" in wanted:
        names = [d["name"] for d in report["cuda_devices"] if d["vulkan_index"] is None]
        assert names == ["Culvert posing device 0", "Culvert posing device 1"], names
    for word in wanted:
        if word.startswith("documented="):
            with open(word.partition("=")[2], encoding="utf-8") as page:
                documented = set(re.findall(r"`([A-Za-z0-9_]+)`", page.read()))
            missing = sorted(set(keys_of(report)) - documented)
            assert not missing, f"keys that the page does not have: {missing}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    try:
        check_report(report, sys.argv[2:])
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}" if str(error) else f"{sys.argv[1]}: not as {sys.argv[2:]} say")


main()
