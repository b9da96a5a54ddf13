"""What the checks of the benchmarks' JSON share. Each has a program's rows; this has what all begin with, and the keys and types.
SPDX-License-Identifier: MIT

usage: check_NAME.py FILE [incomplete] [seed=N] [documented=PAGE] [what NAME knows besides: NAME or NAME=VALUE]"""
import json
import re
import sys

TEXT = (str, type(None))
NUMBER = (int, float)
OR_NOT = (*NUMBER, type(None))
BEGIN = {"schema": (int,), "program": (str,), "culvert_version": (str,), "date": (str,), "complete": (bool,), "quick": (bool,),
         "validation": (bool,), "seed": (int,), "seconds": NUMBER, "unit": (str,), "device": (dict,), "system": (dict,)}
DEVICE = {"name": (str,), "software": (bool,), "uuid": (str,), "cuda_version": (str,), "vulkan_name": (str,),
          "vulkan_driver": (str,), "vulkan_version": (str,), "queue_families": (list,)}
SYSTEM = {"processor": TEXT, "processors": (int,), "kernel": TEXT}
GAP = {"measurement": (str,), "reason": (str,)}
SPREAD = {"n": (int,), "median": NUMBER, "p10": NUMBER, "p90": NUMBER}
INTERVAL = {"value": NUMBER, "low": NUMBER, "high": NUMBER}


def check(place, value, keys):
    assert list(value) == list(keys), f"{place}: keys {list(value)}, expected {list(keys)}"
    for key, types in keys.items():
        # bool is a kind of int in Python, not in JSON
        fits = isinstance(value[key], types) and (bool in types or not isinstance(value[key], bool))
        assert fits, f"{place}.{key}: {value[key]!r} is not of {types}"


def check_spread(place, spread):
    check(place, spread, SPREAD)
    assert 0 <= spread["p10"] <= spread["median"] <= spread["p90"], f"{place}: {spread}"


def keys_of(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from keys_of(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from keys_of(inner)


def own_keys(run):
    """What every benchmark's JSON has is on the page of the first one."""
    return set(keys_of(run)) - set(DEVICE) - set(SYSTEM) - set(GAP)


def check_begin(run, program, top):
    check("report", run, BEGIN | top)
    assert run["schema"] == 1 and run["program"] == program, f"schema {run['schema']} of {run['program']}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", run["date"]), run["date"]
    check("device", run["device"], DEVICE)
    assert re.fullmatch(r"[0-9a-f]{32}", run["device"]["uuid"]) and run["device"]["queue_families"], run["device"]
    check("system", run["system"], SYSTEM)
    for i, gap in enumerate(run["left_out"]):
        check(f"left_out[{i}]", gap, GAP)
        assert gap["reason"], gap


def main(program, top, look, knows=(), keys=own_keys):
    """`look(run, options)` checks the program's own rows; `keys(run)` are those that its page must explain."""
    options = dict(word.partition("=")[::2] for word in sys.argv[2:])
    unknown = set(options) - {"incomplete", "seed", "documented", *knows}
    if unknown:
        sys.exit(f"unknown argument {unknown.pop()}")
    with open(sys.argv[1], encoding="utf-8") as file:
        run = json.load(file)
    try:
        check_begin(run, program, top)
        assert run["complete"] == ("incomplete" not in options), f"complete: {run['complete']}"
        look(run, options)
        assert "seed" not in options or run["seed"] == int(options["seed"]), f"seed {run['seed']}"
        if "documented" in options:
            with open(options["documented"], encoding="utf-8") as page:
                missing = sorted(set(keys(run)) - set(re.findall(r"`([A-Za-z0-9_]+)`", page.read())))
            assert not missing, f"keys that {options['documented']} does not have: {missing}"
    except AssertionError as error:
        sys.exit(f"{sys.argv[1]}: {error}" if str(error) else f"{sys.argv[1]}: not as {sys.argv[2:]} say")
