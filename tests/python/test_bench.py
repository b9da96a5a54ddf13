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
    assert len(report["rows"]) == 11 and all(f"{name} " in said.stdout for name in report["rows"])
    for row in report["rows"].values():
        assert 0 < row["least"] <= row["median"] <= row["most"] and row["unit"] == "us"
