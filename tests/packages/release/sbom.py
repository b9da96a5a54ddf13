"""sbom.py ROOT LIBRARY: the SBOM of a made-up release names each file with its checksum and what the library links, is
the same when it is made again, and every element that it relates exists.
SPDX-License-Identifier: MIT
"""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

root, library = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
if subprocess.run(["git", "-C", str(root), "rev-parse", "-q", "--verify", "HEAD"], capture_output=True).returncode:
    print("SKIP: this is no git checkout")
    sys.exit(77)
with tempfile.TemporaryDirectory() as room:
    dist = pathlib.Path(room)
    (dist / "crates").mkdir()
    (dist / "crates/a b.crate").write_bytes(b"crate")
    (dist / "culvert-9.9-windows-x86_64.zip").write_bytes(b"zip")
    with tarfile.open(dist / "culvert-9.9-linux-x86_64.tar.gz", "w:gz") as archive:
        archive.add(library.resolve(), "lib/libculvert.so.0")
    made = []
    for _ in range(2):
        subprocess.run([sys.executable, str(root / "scripts/release_sbom.py"), str(root), room, "9.9"], check=True,
                       env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        made.append((dist / "culvert-9.9.spdx.json").read_bytes())
    assert made[0] == made[1], "not the same bytes"
    document = json.loads(made[0])
    assert document["spdxVersion"] == "SPDX-2.3" and document["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    sums = {f["fileName"]: f["checksums"][1]["checksumValue"] for f in document["files"]}
    assert sums["./crates/a b.crate"] == hashlib.sha256(b"crate").hexdigest() and len(sums) == 3, sums
    assert sums["./culvert-9.9-windows-x86_64.zip"] == hashlib.sha256(b"zip").hexdigest(), sums
    names = {p["name"] for p in document["packages"]}
    assert {"culvert", "libc.so.6", "libcuda.so.1", "libvulkan.so.1"} <= names, names
    elements = {"SPDXRef-DOCUMENT"} | {e["SPDXID"] for e in document["packages"] + document["files"]}
    for relation in document["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= elements, relation
    print(len(document["relationships"]), "relations hold")
