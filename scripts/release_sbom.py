"""release_sbom.py CLONE DIST VERSION: writes DIST/culvert-VERSION.spdx.json (SPDX 2.3), what a release is made of.

It has each artefact with its checksums, the commit, and what the libraries link and load, as they say themselves. Called
by scripts/release; the same artefacts give the same bytes.
SPDX-License-Identifier: MIT
"""
import datetime
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import uuid

clone, dist, version = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
commit = subprocess.run(["git", "-C", str(clone), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
created = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)


def spdx_id(text):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", text)


def needed(data):
    """The libraries that an ELF file links."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        said = subprocess.run(["readelf", "-d", file.name], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[([^\]]+)\]", said))


files, linked = [], set()
for path in sorted(p for p in dist.rglob("*") if p.is_file() and p.name != "SHA256SUMS" and not p.name.endswith(".spdx.json")):
    data = path.read_bytes()
    name = path.relative_to(dist).as_posix()
    files.append({"SPDXID": spdx_id("File-" + name), "fileName": "./" + name, "fileTypes": ["ARCHIVE"],
                  "checksums": [{"algorithm": "SHA1", "checksumValue": hashlib.sha1(data).hexdigest()},
                                {"algorithm": "SHA256", "checksumValue": hashlib.sha256(data).hexdigest()}],
                  "licenseConcluded": "MIT", "licenseInfoInFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION"})
    if "-linux-" in name:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            for member in archive:
                inside = archive.extractfile(member).read() if member.isfile() else b""
                if inside[:4] == b"\x7fELF":
                    linked |= needed(inside)
linked = sorted(one for one in linked if "culvert" not in one)

code = hashlib.sha1("".join(sorted(f["checksums"][0]["checksumValue"] for f in files)).encode()).hexdigest()
packages = [{
    "SPDXID": "SPDXRef-Package-culvert", "name": "culvert", "versionInfo": version, "downloadLocation": "NOASSERTION",
    "sourceInfo": f"git commit {commit}", "filesAnalyzed": True, "packageVerificationCode": {"packageVerificationCodeValue": code},
    "licenseConcluded": "MIT", "licenseDeclared": "MIT", "licenseInfoFromFiles": ["NOASSERTION"], "copyrightText": "NOASSERTION",
    "primaryPackagePurpose": "LIBRARY"}]
relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-Package-culvert"}]
relations += [{"spdxElementId": "SPDXRef-Package-culvert", "relationshipType": "CONTAINS", "relatedSpdxElement": f["SPDXID"]}
              for f in files]


def other(name, relation, comment):
    packages.append({"SPDXID": spdx_id("Package-" + name), "name": name, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
                     "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION", "copyrightText": "NOASSERTION",
                     "comment": comment})
    relations.append({"spdxElementId": "SPDXRef-Package-culvert", "relationshipType": relation,
                      "relatedSpdxElement": spdx_id("Package-" + name)})


for name in linked:
    other(name, "DYNAMIC_LINK", "linked by the files of the Linux archive; the system's")
other("libcuda.so.1", "RUNTIME_DEPENDENCY_OF", "NVIDIA's driver, 525 or newer, opened by name at run time where there is one")
other("libvulkan.so.1", "RUNTIME_DEPENDENCY_OF", "the Vulkan loader; culvert-info, the twin and the Python package open it by name")
other("Vulkan-Headers", "BUILD_DEPENDENCY_OF", "the machine's at build time")
for relation in relations: # "A is a dependency of B" names them the other way round
    if relation["relationshipType"].endswith("_OF"):
        relation["spdxElementId"], relation["relatedSpdxElement"] = relation["relatedSpdxElement"], relation["spdxElementId"]

document = {
    "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"culvert-{version}",
    "documentNamespace": f"https://spdx.org/spdxdocs/culvert-{version}-{uuid.uuid5(uuid.NAMESPACE_URL, commit + code)}",
    "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: culvert-scripts-release"]},
    "packages": packages, "files": files, "relationships": relations}
(dist / f"culvert-{version}.spdx.json").write_text(json.dumps(document, indent=1) + "\n")
