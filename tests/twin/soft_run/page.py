"""page.py PAGE SOFT_RUN PROGRAM SOURCES [KERNELS]: runs what docs/twin-for-ci.md tells its reader to run, in a new directory
in which ./program is PROGRAM. Of its blocks of commands those run that do not begin with "# as root" or "# where"; the
first lines of other blocks name the files that they are. The steps of the YAML block that need no network run too.
SOFT_RUN and KERNELS are culvert-soft-run and culvert-kernels; without KERNELS the test makes one of the sources.
SPDX-License-Identifier: MIT
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

page, soft_run, program, sources = (pathlib.Path(a).resolve() for a in sys.argv[1:5])
blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page.read_text(), re.M | re.S)
work = pathlib.Path(tempfile.mkdtemp())
ran = []


def run(text, environment):
    """As a reader would type it, in a shell that ends with the first command that fails."""
    done = subprocess.run(["bash", "-ec", text], cwd=work, env=environment, capture_output=True, text=True, timeout=120)
    ran.append(text)
    if done.returncode:
        sys.exit(f"FAILED ({done.returncode}): {text}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def need(what, said):
    if not what:
        sys.exit(f"FAILED: {said}")


try:
    (work / "bin").mkdir()
    (work / "bin/culvert-soft-run").symlink_to(soft_run)
    shutil.copy(program, work / "program")
    if len(sys.argv) > 5:
        (work / "bin/culvert-kernels").symlink_to(pathlib.Path(sys.argv[5]).resolve())
    else:
        (work / "kernels").mkdir()
        for name, where in (("cuda", "soft/cuda"), ("shared", "soft/shared"), ("abi", "cuda_headers")):
            (work / "kernels" / name).symlink_to(sources / where)
        tool = (sources / "cmake/culvert-kernels.in").read_text().replace("@culvert_kernels_from_bin@", str(work / "kernels"))
        (work / "bin/culvert-kernels").write_text(tool)
        (work / "bin/culvert-kernels").chmod(0o755)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("CULVERT_", "VK_")) and k != "LD_LIBRARY_PATH"}
    clean |= {"PATH": f"{work}/bin:{clean['PATH']}", "GITHUB_ENV": str(work / "github_env")}

    for language, text in blocks:
        named = re.match(r"// (\S+)\n", text)
        if named:
            (work / named.group(1)).write_text(text)
    said = ""
    for language, text in blocks:
        if language == "sh" and not text.startswith(("# as root", "# where")):
            said += run(text, clean)
    need(said.count(": 0 of 100000 are wrong") >= 4, f"the program did not say that all is right:\n{said}")
    need(said.count("it told, and ended") == 2, f"calls that fail did not end the program:\n{said}")
    need("CUDA_ERROR_OUT_OF_MEMORY" in said and "CUDA_ERROR_ILLEGAL_ADDRESS" in said, f"the errors are not told:\n{said}")
    need("CULVERT_SOFT_FAIL_AT: call 1, cuMemAlloc_v2, fails" in said, f"no line tells which call failed:\n{said}")

    # Without the twin it is not the twin that answers.
    alone = subprocess.run([work / "program"], env=clean, capture_output=True, text=True)
    need(alone.returncode != 0 or "llvmpipe" not in alone.stdout, "libcuda.so.1 was the twin already")

    # GitHub's file of variables, and then a step that has them.
    steps = [s.split("#")[0].strip() for _, text in blocks if _ == "yaml" for s in re.findall(r"- run: (.*)", text)]
    local = [s for s in steps if "culvert-soft-run" in s or s == "./program"]
    need(local == ['culvert-soft-run --env >> "$GITHUB_ENV"', "./program"], f"the steps are others: {steps}")
    run(local[0], clean)
    variables = dict(line.split("=", 1) for line in (work / "github_env").read_text().splitlines())
    need("are wrong" in run(local[1], clean | variables), "a step with the variables")

    # The module, by a Tcl that knows its commands: what it sets is what the script sets.
    module = soft_run.parent.parent / "share/culvert/modulefiles/culvert-soft"
    need(module.is_file(), f"there is no {module}")
    if shutil.which("tclsh"):
        stand_ins = ("proc module-whatis text {}\nproc setenv {n v} {puts \"$n=$v\"}\n"
                     "proc prepend-path {n v} {puts \"$n=$v\"}\nproc append-path {n v} {puts \"$n=$v\"}\n"
                     f"set ModulesCurrentModulefile {{{module}}}\nsource {{{module}}}\n")
        told = subprocess.run(["tclsh"], input=stand_ins, env=clean, capture_output=True, text=True, check=True).stdout
        of_module = dict(line.split("=", 1) for line in told.splitlines())
        need(of_module.pop("PATH", "") == str(soft_run.parent), f"the module's PATH: {told}")
        paths = ("LD_LIBRARY_PATH", "VK_ADD_LAYER_PATH")
        for name in paths:
            need(os.path.realpath(of_module[name]) == os.path.realpath(variables[name]), f"the module's {name}: {told}")
        need({k: v for k, v in of_module.items() if k not in paths} == {k: v for k, v in variables.items() if k not in paths},
             f"the module sets {of_module}, the script {variables}")
        need("are wrong" in run("./program", clean | of_module), "a program with the module")
    else:
        print("the module is not evaluated: tclsh is not installed")
    print(f"{len(ran)} blocks ran")
finally:
    shutil.rmtree(work)
