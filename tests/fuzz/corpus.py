#!/usr/bin/env python3
"""The kept inputs of a fuzz target: one a line, in base64, as libFuzzer prints what fails; # begins a comment.

    corpus.py unpack LIST DIRECTORY    each as a file, as libFuzzer wants them
    corpus.py add LIST FILE...         those that are not there yet, a line each

SPDX-License-Identifier: MIT"""
import base64
import hashlib
import pathlib
import sys


def read(path):
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [base64.b64decode(line, validate=True) for line in lines if line]


def unpack(path, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    for data in read(path):
        (directory / hashlib.sha1(data).hexdigest()).write_bytes(data)


def add(path, files):
    known = set(read(path))
    with path.open("a") as out:
        for data in (file.read_bytes() for file in files):
            if data and data not in known:
                known.add(data)
                out.write(base64.b64encode(data).decode() + "\n")


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "unpack":
        unpack(pathlib.Path(arguments[1]), pathlib.Path(arguments[2]))
    elif len(arguments) >= 3 and arguments[0] == "add":
        add(pathlib.Path(arguments[1]), sorted(pathlib.Path(name) for name in arguments[2:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
