#!/usr/bin/env python3
"""Holds the list of formats, the format table and the tests' list of other APIs' numbers against the APIs' own files,
those that this machine has.

  check_formats.py PROGRAM VULKAN_INCLUDE_DIR    PROGRAM: the suite of formats, whose table.dump prints the table
  check_formats.py selftest                      the checks fail on tables made for it

Files: vulkan_core.h; Vulkan's registry (share/vulkan/registry/vk.xml); GL/glcorearb.h and GL/glext.h; mingw's
dxgiformat.h. A missing one is told; without any at all the exit status is 77.

SPDX-License-Identifier: MIT"""
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The numbers that are core in Vulkan 1.3, as in formats.c.
RANGES = [(1, 184), (1000066000, 1000066013), (1000156000, 1000156033), (1000330000, 1000330003),
          (1000340000, 1000340001)]
# Whose components the registry of 1.3.239 names in another order than the format's own name and the specification do.
ERRATA = {"B5G5R5A1_UNORM_PACK16", "R64G64_UINT", "R64G64_SINT", "R64G64_SFLOAT"}
GL_HEADERS = ["/usr/include/GL/glcorearb.h", "/usr/include/GL/glext.h", "/usr/include/GL/gl.h"]
DXGI_HEADERS = ["/usr/share/mingw-w64/include/dxgiformat.h", "/usr/include/wine/wine/windows/dxgiformat.h"]


def is_core(number):
    return any(low <= number <= high for low, high in RANGES)


def listed():
    text = (ROOT / "include" / "culvert" / "format_list.h").read_text()
    return {name: int(number) for name, number in re.findall(r"X\((\w+), (\d+)\)", text)}


def check_header(text, formats):
    """The list against vulkan_core.h: every core format, under its own name (not an alias of an extension)."""
    body = re.search(r"typedef enum VkFormat \{(.*?)\} VkFormat;", text, re.S).group(1)
    found = re.findall(r"VK_FORMAT_(\w+) = (\d+)\b", body)
    core = {name: int(number) for name, number in found if is_core(int(number))}
    bad = [f"vulkan_core.h: {n} = {core[n]} is not in format_list.h" for n in core if formats.get(n) != core[n]]
    return bad + [f"format_list.h: {n} is not in vulkan_core.h" for n in formats if n not in core]


def check_sorted(formats):
    numbers = list(formats.values())
    return [] if numbers == sorted(set(numbers)) else ["format_list.h is not sorted by number, each once"]


def read_dump(text):
    rows, planes = {}, {}
    for line in text.splitlines():
        fields = line.split()
        if fields[:1] == ["FORMAT"]:
            number, size, width, height, count = map(int, fields[2:7])
            rows[fields[1]] = (number, size, width, height, count, fields[7])
        if fields[:1] == ["PLANE"]:
            planes[fields[1], int(fields[2])] = (fields[3], int(fields[4]), int(fields[5]))
    return rows, planes


def expected_order(element, planes):
    letters = [(c.get("name"), c.get("planeIndex")) for c in element.findall("component")]
    order = "".join(name for name, _ in letters)
    if planes > 1:
        return "|".join("".join(n for n, p in letters if p == str(plane)) for plane in range(planes))
    packed, name = element.get("packed"), element.get("name")
    if packed and re.search(r"_PACK\d+$", name) and not re.search(r"_\dPACK\d+$|X\d", name):
        return order[::-1]  # one integer, whose lowest bits are the last component
    return order


def check_registry(root, rows, planes):
    bad = []
    core = {"VK_FORMAT_UNDEFINED"}
    for enums in root.findall("enums"):
        if enums.get("name") == "VkFormat":
            core |= {e.get("name") for e in enums.findall("enum")}
    for feature in root.findall("feature"):
        major, minor = map(int, feature.get("number").split("."))
        if (major, minor) <= (1, 3) and "vulkan" in feature.get("api", "vulkan").split(","):
            core |= {e.get("name") for e in feature.iter("enum") if e.get("extends") == "VkFormat"}
    wanted = {name.removeprefix("VK_FORMAT_") for name in core} - {"UNDEFINED"}
    bad += [f"vk.xml: {n} of Vulkan 1.3 has no row" for n in sorted(wanted - set(rows))]
    bad += [f"{n} is no format of Vulkan 1.3 in vk.xml" for n in sorted(set(rows) - wanted)]
    described = {e.get("name").removeprefix("VK_FORMAT_"): e for e in root.find("formats")}
    for name, (_, size, width, height, count, order) in rows.items():
        element = described.get(name)
        if element is None:
            bad.append(f"vk.xml does not describe {name}")
            continue
        of = element.findall("plane")
        extent = [int(x) for x in element.get("blockExtent", "1,1,1").split(",")][:2]
        if count != max(1, len(of)):
            bad.append(f"{name} has {count} planes, in vk.xml {len(of)}")
        if count == 1 and size != int(element.get("blockSize")):
            bad.append(f"{name} has blocks of {size} bytes, in vk.xml of {element.get('blockSize')}")
        if [width, height] != extent:
            bad.append(f"{name} has blocks of {width} x {height}, in vk.xml of {extent}")
        theirs = expected_order(element, count)  # which leaves padding and exponents out
        if name not in ERRATA and order.replace("X", "").replace("E", "") != theirs.replace("E", ""):
            bad.append(f"{name} has the order {order}, by vk.xml {theirs}")
        for plane in of:
            mine = planes.get((name, int(plane.get("index"))))
            theirs = (plane.get("compatible").removeprefix("VK_FORMAT_"), int(plane.get("widthDivisor")),
                      int(plane.get("heightDivisor")))
            if mine != theirs:
                bad.append(f"plane {plane.get('index')} of {name} is {mine}, in vk.xml {theirs}")
    return bad


def numbers_of(macro):
    text = (ROOT / "tests" / "library" / "cuda" / "format_numbers.h").read_text()
    body = re.search(rf"#define {macro}\(X\)(.*?)(?:\n\n|\n#)", text, re.S).group(1)
    return [(api, int(number, 0)) for _, api, number in re.findall(r"X\((\w+), (\w+), (\w+)\)", body)]


def check_names(known, pairs, what, newer=()):
    bad = []
    for name, number in pairs:
        if name not in known and name not in newer:
            bad.append(f"{what}: there is no {name}")
        elif known.get(name, number) != number:
            bad.append(f"{what}: {name} is {known[name]}, not {number}")
    return bad


def defines(paths, pattern):
    known = {}
    for path in paths:
        if path.exists():
            known.update({n: int(v, 0) for n, v in re.findall(pattern, path.read_text(errors="replace"))})
    return known


def main_check(program, include):
    bad, seen = [], 0
    formats = listed()
    include = pathlib.Path(include)
    bad += check_header((include / "vulkan" / "vulkan_core.h").read_text(), formats) + check_sorted(formats)
    output = subprocess.run([program, "table.dump"], capture_output=True, text=True, check=True).stdout
    rows, planes = read_dump(output)
    bad += [f"{n} of format_list.h is not in the table" for n in formats if n not in rows]
    registry = include.parent / "share" / "vulkan" / "registry" / "vk.xml"
    gl = defines(map(pathlib.Path, GL_HEADERS), r"#define GL_(\w+)\s+(0x[0-9A-Fa-f]+)\b")
    dxgi = defines(map(pathlib.Path, DXGI_HEADERS), r"DXGI_FORMAT_(\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)")
    for there, what, check in [
            (registry.exists(), "Vulkan's registry",
             lambda: check_registry(ElementTree.parse(registry).getroot(), rows, planes)),
            (gl, "GL's headers", lambda: check_names(gl, numbers_of("GL_FORMATS"), "GL")),
            # Windows 10's newest; older headers end before it.
            (dxgi, "dxgiformat.h",
             lambda: check_names(dxgi, numbers_of("DXGI_FORMATS"), "DXGI", {"A4B4G4R4_UNORM"}))]:
        print(f"{what}: {'checked' if there else 'not on this machine'}")
        if there:
            seen += 1
            bad += check()
    for line in bad:
        print(line)
    print(f"{len(rows)} formats, {len(bad)} complaints")
    return 1 if bad else 0 if seen else 77


def selftest():
    header = "typedef enum VkFormat {\n VK_FORMAT_A = 1,\n VK_FORMAT_B = 2,\n VK_FORMAT_N = 1000000000,\n} VkFormat;"
    registry = ElementTree.fromstring("""<registry>
        <enums name='VkFormat'><enum name='VK_FORMAT_R8G8_UNORM'/><enum name='VK_FORMAT_P'/></enums>
        <formats>
          <format name='VK_FORMAT_R8G8_UNORM' blockSize='2'><component name='R'/><component name='G'/></format>
          <format name='VK_FORMAT_P' blockSize='3'>
            <component name='G' planeIndex='0'/><component name='B' planeIndex='1'/>
            <plane index='0' widthDivisor='1' heightDivisor='1' compatible='VK_FORMAT_R8G8_UNORM'/>
            <plane index='1' widthDivisor='2' heightDivisor='2' compatible='VK_FORMAT_R8G8_UNORM'/>
          </format>
        </formats></registry>""")
    good = ("FORMAT R8G8_UNORM 1 2 1 1 1 RG 1\nFORMAT P 2 0 1 1 2 G|B 1\n"
            "PLANE P 0 R8G8_UNORM 1 1\nPLANE P 1 R8G8_UNORM 2 2\n")
    problems, checked = [], 0

    def expect(bad, wanted):
        nonlocal checked
        checked += 1
        if not (any(wanted in line for line in bad) if wanted else not bad):
            problems.append(f"wanted {wanted!r}, got {bad}")

    expect(check_header(header, {"A": 1, "B": 2}), None)
    expect(check_header(header, {"A": 1}), "B = 2 is not in")
    expect(check_header(header, {"A": 2, "B": 2}), "A = 1 is not in")
    expect(check_header(header, {"A": 1, "B": 2, "C": 3}), "C is not in vulkan_core.h")
    expect(check_sorted({"A": 1, "B": 2}), None)
    expect(check_sorted({"B": 2, "A": 1}), "not sorted")
    expect(check_sorted({"B": 2, "A": 2}), "not sorted")
    expect(check_registry(registry, *read_dump(good)), None)
    for old, new, wanted in [
            ("R8G8_UNORM 1 2 1 1", "R8G8_UNORM 1 4 1 1", "blocks of 4 bytes"),
            ("R8G8_UNORM 1 2 1 1", "R8G8_UNORM 1 2 4 1", "blocks of 4 x 1"), ("1 RG", "1 GR", "the order GR"),
            ("2 G|B", "2 GB", "the order GB"), ("FORMAT P 2 0 1 1 2", "FORMAT P 2 0 1 1 3", "has 3 planes"),
            ("R8G8_UNORM 2 2", "R8G8_UNORM 2 1", "plane 1 of P"),
            ("FORMAT P ", "FORMAT Q ", "vk.xml: P of Vulkan 1.3 has no row"),
            ("FORMAT P ", "FORMAT Q ", "Q is no format")]:
        if old not in good:
            problems.append(f"the self-test's own fault {old!r} is not in its table")
        expect(check_registry(registry, *read_dump(good.replace(old, new))), wanted)
    expect(check_names({"A": 1}, [("A", 1)], "GL"), None)
    expect(check_names({"A": 1}, [("A", 2)], "GL"), "A is 1, not 2")
    expect(check_names({"A": 1}, [("B", 2)], "GL"), "there is no B")
    expect(check_names({"A": 1}, [("B", 2)], "GL", {"B"}), None)
    for macro, least in [("GL_FORMATS", 100), ("DXGI_FORMATS", 70)]:
        expect([] if len(numbers_of(macro)) > least else [f"{macro} has {len(numbers_of(macro))}"], None)
    for problem in problems:
        print(problem)
    print(f"{checked} expectations, {len(problems)} not met")
    return 1 if problems else 0


def main(arguments):
    if arguments == ["selftest"]:
        return selftest()
    if len(arguments) == 2:
        return main_check(*arguments)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
