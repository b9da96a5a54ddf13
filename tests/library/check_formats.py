#!/usr/bin/env python3
"""Holds the list of formats and the format table, with its numbers of other APIs, against the APIs' own files, those
that this machine has.

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
# What Direct3D and OpenGL call formats whose names follow from no rule.
DXGI_NAMES = {"E5B9G9R9_UFLOAT_PACK32": "R9G9B9E5_SHAREDEXP", "D24_UNORM_S8_UINT": "D24_UNORM_S8_UINT",
              "D32_SFLOAT_S8_UINT": "D32_FLOAT_S8X24_UINT", "BC6H_UFLOAT_BLOCK": "BC6H_UF16",
              "BC6H_SFLOAT_BLOCK": "BC6H_SF16", "G8B8G8R8_422_UNORM": "YUY2", "G8_B8R8_2PLANE_420_UNORM": "NV12",
              "G8_B8R8_2PLANE_422_UNORM": "P208", "G10X6B10X6G10X6R10X6_422_UNORM_4PACK16": "Y210",
              "G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16": "P010", "G16B16G16R16_422_UNORM": "Y216",
              "G16_B16R16_2PLANE_420_UNORM": "P016"}
GL_NAMES = {"R5G6B5_UNORM_PACK16": "RGB565", "A1R5G5B5_UNORM_PACK16": "RGB5_A1", "R8_SRGB": "SR8_EXT",
            "R8G8_SRGB": "SRG8_EXT", "A2B10G10R10_UNORM_PACK32": "RGB10_A2", "A2B10G10R10_UINT_PACK32": "RGB10_A2UI",
            "B10G11R11_UFLOAT_PACK32": "R11F_G11F_B10F", "E5B9G9R9_UFLOAT_PACK32": "RGB9_E5",
            "D16_UNORM": "DEPTH_COMPONENT16", "X8_D24_UNORM_PACK32": "DEPTH_COMPONENT24",
            "D32_SFLOAT": "DEPTH_COMPONENT32F", "S8_UINT": "STENCIL_INDEX8", "D24_UNORM_S8_UINT": "DEPTH24_STENCIL8",
            "D32_SFLOAT_S8_UINT": "DEPTH32F_STENCIL8"}
GL_NAMES |= {f"{name}_BLOCK": f"COMPRESSED_{gl}" for name, gl in {
    "BC1_RGB_UNORM": "RGB_S3TC_DXT1_EXT", "BC1_RGB_SRGB": "SRGB_S3TC_DXT1_EXT",
    "BC1_RGBA_UNORM": "RGBA_S3TC_DXT1_EXT", "BC1_RGBA_SRGB": "SRGB_ALPHA_S3TC_DXT1_EXT",
    "BC2_UNORM": "RGBA_S3TC_DXT3_EXT", "BC2_SRGB": "SRGB_ALPHA_S3TC_DXT3_EXT",
    "BC3_UNORM": "RGBA_S3TC_DXT5_EXT", "BC3_SRGB": "SRGB_ALPHA_S3TC_DXT5_EXT",
    "BC4_UNORM": "RED_RGTC1", "BC4_SNORM": "SIGNED_RED_RGTC1", "BC5_UNORM": "RG_RGTC2", "BC5_SNORM": "SIGNED_RG_RGTC2",
    "BC6H_UFLOAT": "RGB_BPTC_UNSIGNED_FLOAT", "BC6H_SFLOAT": "RGB_BPTC_SIGNED_FLOAT", "BC7_UNORM": "RGBA_BPTC_UNORM",
    "BC7_SRGB": "SRGB_ALPHA_BPTC_UNORM", "ETC2_R8G8B8_UNORM": "RGB8_ETC2", "ETC2_R8G8B8_SRGB": "SRGB8_ETC2",
    "ETC2_R8G8B8A1_UNORM": "RGB8_PUNCHTHROUGH_ALPHA1_ETC2", "ETC2_R8G8B8A1_SRGB": "SRGB8_PUNCHTHROUGH_ALPHA1_ETC2",
    "ETC2_R8G8B8A8_UNORM": "RGBA8_ETC2_EAC", "ETC2_R8G8B8A8_SRGB": "SRGB8_ALPHA8_ETC2_EAC",
    "EAC_R11_UNORM": "R11_EAC", "EAC_R11_SNORM": "SIGNED_R11_EAC", "EAC_R11G11_UNORM": "RG11_EAC",
    "EAC_R11G11_SNORM": "SIGNED_RG11_EAC"}.items()}
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
    rows, planes, numbers = {}, {}, {}
    for line in text.splitlines():
        fields = line.split()
        if fields[:1] == ["FORMAT"]:
            number, size, width, height, count = map(int, fields[2:7])
            rows[fields[1]] = (number, size, width, height, count, fields[7])
        if fields[:1] == ["PLANE"]:
            planes[fields[1], int(fields[2])] = (fields[3], int(fields[4]), int(fields[5]))
        if fields[:1] == ["NUMBERS"]:
            numbers[fields[1]] = int(fields[2]), int(fields[3])
    return rows, planes, numbers


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


def channels(name):
    """Those of a format without padding, from the lowest bits on: [("R", "8"), ...]; and the kind of their numbers."""
    found = re.fullmatch(r"((?:[A-Z]\d+)+)_([A-Z]+)(_PACK\d+)?", name)
    if not found or "X" in found[1]:
        return [], ""
    parts = re.findall(r"([A-Z])(\d+)", found[1])
    return parts[::-1] if found[3] else parts, found[2]


def dxgi_name(name):
    block = re.fullmatch(r"(BC\d)(?:_RGBA)?_(\w+)_BLOCK", name)
    parts, kind = ([(block[1], "")], block[2]) if block else channels(name)
    kind = {"SRGB": "UNORM_SRGB", "SFLOAT": "FLOAT", "UFLOAT": "FLOAT"}.get(kind, kind)
    return DXGI_NAMES.get(name, "".join(map("".join, parts)) + "_" + kind)


def gl_name(name):
    if block := re.fullmatch(r"ASTC_(\w+)_(UNORM|SRGB|SFLOAT)_BLOCK", name):
        return f"COMPRESSED_{'SRGB8_ALPHA8' if block[2] == 'SRGB' else 'RGBA'}_ASTC_{block[1]}_KHR"
    parts, kind = channels(name)
    letters, bits = "".join(letter for letter, _ in parts), {bits for _, bits in parts}
    if name in GL_NAMES or len(bits) != 1 or int(min(bits)) < 8:
        return GL_NAMES.get(name)
    if kind == "SRGB":
        return {"RGB": "SRGB8", "RGBA": "SRGB8_ALPHA8"}.get(letters)
    suffix = {"UNORM": "", "SNORM": "_SNORM", "UINT": "UI", "SINT": "I", "SFLOAT": "F"}.get(kind)
    return None if suffix is None else letters + min(bits) + suffix


def check_numbers(known, name_of, numbers, what):
    """Of each format: the number that the API's header has of its name; 0 where the header has none."""
    wanted = {name: known.get(name_of(name), 0) for name in numbers}
    return [f"{what}: {name} is {numbers[name]}, not {name_of(name)}, {wanted[name]}"
            for name in numbers if numbers[name] != wanted[name]]


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
    rows, planes, numbers = read_dump(output)
    bad += [f"{n} of format_list.h is not in the table" for n in formats if n not in rows]
    registry = include.parent / "share" / "vulkan" / "registry" / "vk.xml"
    gl = defines(map(pathlib.Path, GL_HEADERS), r"#define GL_(\w+)\s+(0x[0-9A-Fa-f]+)\b")
    dxgi = defines(map(pathlib.Path, DXGI_HEADERS), r"DXGI_FORMAT_(\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)")
    for there, what, check in [
            (registry.exists(), "Vulkan's registry",
             lambda: check_registry(ElementTree.parse(registry).getroot(), rows, planes)),
            (gl, "GL's headers",
             lambda: check_numbers(gl, gl_name, {name: both[1] for name, both in numbers.items()}, "GL")),
            # Windows 10's newest is not in older headers.
            (dxgi, "dxgiformat.h",
             lambda: check_numbers({"A4B4G4R4_UNORM": 191} | dxgi, dxgi_name,
                                   {name: both[0] for name, both in numbers.items()}, "DXGI"))]:
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
    expect(check_registry(registry, *read_dump(good)[:2]), None)
    for old, new, wanted in [
            ("R8G8_UNORM 1 2 1 1", "R8G8_UNORM 1 4 1 1", "blocks of 4 bytes"),
            ("R8G8_UNORM 1 2 1 1", "R8G8_UNORM 1 2 4 1", "blocks of 4 x 1"), ("1 RG", "1 GR", "the order GR"),
            ("2 G|B", "2 GB", "the order GB"), ("FORMAT P 2 0 1 1 2", "FORMAT P 2 0 1 1 3", "has 3 planes"),
            ("R8G8_UNORM 2 2", "R8G8_UNORM 2 1", "plane 1 of P"),
            ("FORMAT P ", "FORMAT Q ", "vk.xml: P of Vulkan 1.3 has no row"),
            ("FORMAT P ", "FORMAT Q ", "Q is no format")]:
        if old not in good:
            problems.append(f"the self-test's own fault {old!r} is not in its table")
        expect(check_registry(registry, *read_dump(good.replace(old, new))[:2]), wanted)
    numbers = read_dump("NUMBERS R8G8_SNORM 7 9\nNUMBERS R4G4_UNORM_PACK8 0 0\n")[2]
    expect(check_numbers({"R8G8_SNORM": 7}, dxgi_name, {n: d for n, (d, _) in numbers.items()}, "DXGI"), None)
    expect(check_numbers({"RG8_SNORM": 9}, gl_name, {n: g for n, (_, g) in numbers.items()}, "GL"), None)
    expect(check_numbers({"RG8_SNORM": 8}, gl_name, {"R8G8_SNORM": 9}, "GL"), "is 9, not RG8_SNORM, 8")
    expect(check_numbers({}, gl_name, {"R8G8_SNORM": 9}, "GL"), "is 9, not RG8_SNORM, 0")
    expect(check_numbers({"RG8_SNORM": 9}, gl_name, {"R8G8_SNORM": 0}, "GL"), "is 0, not RG8_SNORM, 9")
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
