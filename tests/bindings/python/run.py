#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the cases of libraries.py without pytest: each library in a process of its own, with a time limit. A library that
is not installed is a SKIP. A process that dies fails the case that it was at, and the next process goes on behind it.

usage: run.py [--list] [--seconds N] [LIBRARY[.CASE]...]
  --seconds N  how long one case may take (default: 120; a few say that they need more)
The libraries: numpy (on the software twin alone), driver, torch, cupy, jax, triton, numba.
CULVERT_SOFT=1 allows the software twin, where driver and numpy run."""
import argparse
import faulthandler
import os
import queue
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


def child(library, names):
    """Runs cases, and says before each which one it is."""
    faulthandler.enable()
    import libraries

    def say(*words):
        print(*words, flush=True)

    try:
        lib = libraries.Library(library)
    except libraries.Skip as e:
        say("\x01GONE", "-", e)
        return
    for name in names:
        say("\x01BEGIN", name)
        began = time.monotonic()
        try:
            libraries.CASES[name].run(lib)
        except libraries.Skip as e:
            say("\x01SKIP", name, e)
        except BaseException as e:  # noqa: BLE001: the others are to run, too
            traceback.print_exc()
            say("\x01FAIL", name, f"{type(e).__name__}: {e}".splitlines()[0] if str(e) else type(e).__name__)
        else:
            say("\x01PASS", name, f"{time.monotonic() - began:.3f}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # some libraries do not survive a reset of their device


def verdict(suite, name, word, rest, output):
    full = f"{suite}.{name}"
    if word == "PASS":
        print(f"PASS {full} ({rest} s)")
    else:
        print(f"{word} {full}: {rest}")
    for line in output:
        if word == "FAIL":
            print("    " + line)
        elif line.startswith("MEASURED "):
            print(f"MEASURED {full} {line[9:]}")
    sys.stdout.flush()
    return word


def run(library, cases, seconds):
    """Verdicts of a library's cases."""
    import libraries
    suite, words = f"python-{library}", []
    left = list(cases)
    while left:
        # Cases with an environment of their own, or that end their device, have a process each.
        own = libraries.CASES[left[0]].own
        batch = left[:1] if own else [n for n in left if not libraries.CASES[n].own]
        environment = {**os.environ, **libraries.ENVIRONMENT.get(library, {}), **libraries.CASES[batch[0]].environment}
        process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--child", library, *batch], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, errors="replace")
        lines = queue.Queue()

        def read(pipe=process.stdout, to=lines):
            for line in pipe:
                to.put(line.rstrip("\n"))
            to.put(None)

        threading.Thread(target=read, daemon=True).start()
        at, output, done, late = None, [], [], False
        end = time.monotonic() + max(seconds, getattr(libraries.CASES[batch[0]], "seconds", 0))
        while True:
            try:
                line = lines.get(timeout=max(end - time.monotonic(), 0))
            except queue.Empty:
                late = True
                process.kill()
                break
            if line is None:
                break
            if not line.startswith("\x01"):
                output.append(line)
                continue
            word, name, *rest = line[1:].split(" ", 2)
            end = time.monotonic() + max(seconds, getattr(libraries.CASES.get(name), "seconds", 0))
            if word == "GONE":
                return words + [verdict(suite, n, "SKIP", " ".join(rest), []) for n in left]
            if word == "BEGIN":
                at, output = name, []
            else:
                words.append(verdict(suite, name, word, " ".join(rest), output[-60:]))
                done.append(name)
                at, output = None, []
        code = process.wait()
        if len(done) < len(batch):
            lost = at or next(n for n in batch if n not in done)
            allowed = max(seconds, getattr(libraries.CASES[lost], "seconds", 0))
            why = f"it took more than {allowed} s" if late else f"its process ended with {code}"
            words.append(verdict(suite, lost, "FAIL", why, output[-60:]))
            done.append(lost)
        left = [n for n in left if n not in done]
    return words


def main():
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], sys.argv[3:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=int, default=120)
    parser.add_argument("wanted", nargs="*")
    options = parser.parse_args()
    import libraries
    began, words = time.monotonic(), []
    known = {f"{library}.{name}" for library in libraries.LIBRARIES for name in libraries.cases_of(library)}
    for w in options.wanted:
        if w not in libraries.LIBRARIES and w not in known:
            parser.error(f"there is no {w}; --list names all")
    for library in libraries.LIBRARIES:
        chosen = [name for name in libraries.cases_of(library)
                  if not options.wanted or library in options.wanted or f"{library}.{name}" in options.wanted]
        if options.list:
            print("".join(f"python-{library}.{name}\n" for name in chosen), end="")
        elif chosen:
            words += run(library, chosen, options.seconds)
    if not options.list:
        count = {word: words.count(word) for word in ("PASS", "FAIL", "SKIP")}
        print(f"{count['PASS']} passed, {count['FAIL']} failed, {count['SKIP']} skipped "
              f"in {time.monotonic() - began:.0f} s")
        sys.exit(1 if count["FAIL"] else 77 if not count["PASS"] else 0)


main()
