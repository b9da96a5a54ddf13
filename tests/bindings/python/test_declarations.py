# SPDX-License-Identifier: MIT
"""The declarations are those of the headers, the library and the C compiler."""
import ctypes
import pathlib
import re
import subprocess

import pytest

import culvert
from culvert import declarations as d

TOP = pathlib.Path(__file__).resolve().parents[3]


def test_every_exported_function_is_declared_and_there():
    headers = "".join(h.read_text() for h in (TOP / "include" / "culvert").glob("*.h"))
    exported = set(re.findall(r"^CULV_EXPORT\b[^;]*?\b(culv(?:ert)?_\w+)\(", headers, re.M))
    assert len(exported) > 300
    assert exported == set(d.FUNCTIONS)
    for name in exported:
        call = getattr(culvert.api, name)
        assert name in call.__doc__


def test_every_reason_and_result_has_its_name():
    culvert.api.culv_reason_name.raw.argtypes = [ctypes.c_int]
    for reason in d.culv_reason:
        assert culvert.api.culv_reason_name(int(reason)).decode() == reason.name[len("CULV_REASON_"):]
    for result in d.culv_result:
        assert culvert.api.culv_result_name(int(result)).decode() == result.name


def test_structs_are_as_large_as_the_compiler_says(tmp_path):
    """Sizes and offsets of every struct, and what every _init() writes."""
    structs = {n: s for n, s in vars(d).items() if n.startswith("culv_") and isinstance(s, type)
               and issubclass(s, ctypes.Structure)}
    vk = {n: s for n, s in vars(d).items() if n.startswith("Vk") and isinstance(s, type)
          and issubclass(s, ctypes.Structure) and s is not d.VkStructure}
    lines = ["#include <stddef.h>", "#include <stdio.h>"]
    lines += [f"#include <culvert/{h.name}>" for h in sorted((TOP / "include/culvert").glob("*.h")) if h.name != "cudart.h"]
    lines += ["int main(void) {"]
    for name, struct in {**structs, **vk}.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        for field in struct._fields_:
            if len(field) == 2:
                lines.append(f'printf("{name}.{field[0]} %zu\\n", offsetof({name}, {field[0]}));')
    for name in d.INITIAL:
        argument = "0" if name == "culv_kernel_call" else ""
        lines.append(f'{{ {name} s = {name}_init({argument}); const unsigned char *b = (void *)&s; '
                     f'printf("{name}_init "); for (size_t i = 0; i < sizeof s; i++) printf("%02x", b[i]); '
                     f'printf("\\n"); }}')
    lines += ["return 0; }"]
    source, program = tmp_path / "sizes.c", tmp_path / "sizes"
    source.write_text("\n".join(lines))
    subprocess.run(["cc", "-std=c11", "-DCULV_EXPERIMENTAL", f"-I{TOP / 'include'}", f"-I{TOP / 'cuda_headers'}", source, "-o", program], check=True)
    said = dict(line.split() for line in
                subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines())
    assert len(said) > 1000
    for name, struct in {**structs, **vk}.items():
        assert ctypes.sizeof(struct) == int(said[name]), name
        for field in struct._fields_:
            if len(field) == 2:
                assert getattr(struct, field[0]).offset == int(said[f"{name}.{field[0]}"]), f"{name}.{field[0]}"
    for name in d.INITIAL:
        assert bytes(culvert.describe(getattr(d, name))).hex() == said[name + "_init"], name


def test_vulkan_structs_know_their_type():
    values = (TOP / "bindings" / "python" / "culvert" / "_vulkan.py").read_text()
    assert d.VkBufferCreateInfo().sType == 12
    assert d.VkDependencyInfo().sType == d.VK_STRUCTURE_TYPE_DEPENDENCY_INFO
    for name, struct in vars(d).items():
        if name.startswith("Vk") and isinstance(struct, type) and issubclass(struct, d.VkStructure) \
                and struct is not d.VkStructure:
            assert name in d.STRUCTURE_TYPES, name
    assert "VkStructure" in values


def test_an_unknown_function_is_an_attribute_error():
    with pytest.raises(AttributeError, match="culv_no_such_call"):
        culvert.api.culv_no_such_call
