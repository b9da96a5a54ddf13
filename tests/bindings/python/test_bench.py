# SPDX-License-Identifier: MIT
"""The benchmark's report."""
import json
import pathlib
import subprocess
import sys


def test_it_reports_each_row(tmp_path):
    program = pathlib.Path(__file__).with_name("bench.py")
    said = subprocess.run([sys.executable, program, "--quick", "--json", tmp_path / "bench.json"], check=True, text=True,
                          capture_output=True)
    report = json.loads((tmp_path / "bench.json").read_text())
    assert report["benchmark"] == "python" and report["device"] and report["library"].startswith("numpy")
    assert all(f"{name} " in said.stdout for name in report["rows"])
    told = " ".join(report["rows"])
    for row in ("culvert.vulkan.open()", "buffer.tensor() with a shape", "with timeline.frame()", "a frame of 8 MiB, with frames",
                "adopt() of 8 chunks of 20 MiB, first", "adopt() of 8 chunks of 20 MiB, again", "with ring.cuda() and with ring.frame()",
                "floats, drawn", "floats that are copied, the call"):
        assert row in told, row
    assert "gl.buffer().cuda(), by register" in told or "OpenGL" in report["left_out"], report["left_out"]
    for row in report["rows"].values():
        assert 0 < row["least"] <= row["median"] <= row["most"] and row["unit"] == "us"


MEASURED = """
PASS python-driver.ends_in_a_capture (0.5 s)
MEASURED python-driver.a_thousand_cells_leave_nothing descriptors after each 100 cells: [4, 35], at the end 4
MEASURED python-driver.a_thousand_cells_leave_nothing resident KiB: [81044, 253180]
"""


def test_its_page(tmp_path):
    """scripts/report python: every row is on the page, and what is not a run is refused."""
    top = pathlib.Path(__file__).resolve().parents[3]

    def report(*results):
        return subprocess.run([sys.executable, top / "scripts" / "report", "python", *results, "--output", tmp_path / "page.md"],
                              text=True, capture_output=True)

    rows = {"buffer.tensor()": 1.5, "adopt() of 1 chunk of 2 MiB, first": 1234.0, "with gl.share().cuda()": 9.25}
    run = {"benchmark": "python", "device": "GPU | 1", "python": "3.12.3", "version": "0.1.0", "library": "", "quick": False,
           "date": "2026-11-27T10:00:00Z", "left_out": {"OpenGL": "no EGL"},
           "rows": {name: {"median": t, "least": t / 2, "most": t * 2, "unit": "us"} for name, t in rows.items()}}
    (tmp_path / "python.json").write_text(json.dumps(run))
    (tmp_path / "python.txt").write_text(MEASURED)
    for results in ([tmp_path], [tmp_path / "python.json", tmp_path / "python.txt"]):
        done = report(*results)
        assert done.returncode == 0, done.stderr
        page = (tmp_path / "page.md").read_text()
        for text in ("## GPU | 1, 2026-11-27", "| adopt() of 1 chunk of 2 MiB, first | 1,234 (617.0..2,468) |", "Left out: OpenGL: no EGL.",
                     "| driver | resident | [81044, 253180] |",
                     "| driver | descriptors | [4, 35], at the end 4 |", "1 PASS, 0 FAIL, 0 SKIP."):
            assert text in page, (text, page)
    run["rows"]["something else"] = run["rows"]["buffer.tensor()"]
    (tmp_path / "python.json").write_text(json.dumps(run))
    assert "knows no group for something else" in report(tmp_path).stderr
    (tmp_path / "python.json").write_text("{}")
    assert report(tmp_path).returncode == 1
