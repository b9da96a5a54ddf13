#!/usr/bin/env python3
"""Checks that what the library's messages call a field is one.

  check_messages.py ROOT       a message that says culv_x_desc.field or culv_x::field means a field of that struct; one
                               that says "%s.field", "field is set" or "a and b are both set" means a field of some struct
  check_messages.py selftest   wrong names are found

SPDX-License-Identifier: MIT"""
import pathlib
import re
import sys

LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
MEMBER = re.compile(r"(\w+)(?:\[[^\]]*\])*\s*(?=[,;])|\(\s*\*\s*(\w+)\s*\)\s*\(")
PATH = re.compile(r"\b(culv_\w+)(?:\.|::)([a-z]\w*)((?:\.[a-z]\w*)*)")
ANY_STRUCT = re.compile(r"(?<![/.])%s\.([a-z]\w*)")  # but not a file: "%s/%s.lock", "%s.%s.lock"
IS_SET = re.compile(r"(?<![:.\w])([a-z]\w*) is (?:not )?set\b")
BOTH_SET = re.compile(r"(?<![:.\w])([a-z]\w*) and ([a-z]\w*) are both set\b")


def structs(texts):
    """{name of a public struct: its fields, those of structs within included}"""
    found = {}
    for text in texts:
        text = COMMENT.sub(" ", text)
        for m in re.finditer(r"typedef struct (culv_\w+) \{", text):
            depth, at = 1, m.end()
            while depth > 0:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            body = text[m.end():at - 1].replace("}", ";")
            found[m.group(1)] = {a or b for a, b in MEMBER.findall(body)}
    return found


def check(sources, known):
    bad, fields = [], set().union(*known.values())
    for where, text in sources:
        text = COMMENT.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
        for literal in LITERAL.finditer(text):
            message = re.sub(r'"\s*(?:PRI\w+\s*)?"', "", literal.group())
            place = f"{where}:{text.count(chr(10), 0, literal.start()) + 1}"
            for name, field, rest in PATH.findall(message):
                if name not in known:
                    bad.append(f"{place}: there is no struct {name}")
                elif field not in known[name]:
                    bad.append(f"{place}: {name} has no {field}")
                bad += [f"{place}: no struct has {part}" for part in rest.split(".")[1:] if part not in fields]
            for field in ANY_STRUCT.findall(message) + IS_SET.findall(message) + [each for both in BOTH_SET.findall(message) for each in both]:
                if field not in fields:
                    bad.append(f"{place}: no struct has {field}")
    return bad


def check_root(root):
    known = structs(p.read_text() for folder in ("include", "extra/include") for p in sorted((root / folder).rglob("*.h")))
    sources = [(p.relative_to(root), p.read_text()) for folder in ("src", "extra/src") for p in sorted((root / folder).rglob("*.[ch]"))]
    return check(sources, known)


def selftest():
    known = structs(["/* int comment; */ typedef struct culv_a { int one, two[3]; void (*fn)(int x); "
                     "struct { int in; } part; } culv_a;"])
    assert known == {"culv_a": {"one", "two", "fn", "in", "part"}}, known
    wrong = ['f("culv_a.three")', 'f("culv_b::one is 0")', 'f("%s.three is 0")', 'f("three is not set")',
             'f("one and three are both set")', 'f("culv_a" ".three is %" PRIu64 "; " "set it")', 'f("culv_a.part.out is 0")']
    right = ['f("culv_a.one and culv_a::fn, %s.two")', 'f("one is set")', '/* "three is set" */', 'f("culv_a.part.in")',
             'f("culv_a.one is 0. Then three")', 'f("%s/%s.lock, %.*s.%s.lock")']
    for text in wrong:
        assert len(check([("x", text)], known)) == 1, text
    for text in right:
        assert not check([("x", text)], known), text


def main(arguments):
    if arguments == ["selftest"]:
        selftest()
        return 0
    bad = check_root(pathlib.Path(arguments[0]))
    print("\n".join(bad) if bad else "every field that a message names is there")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
