"""check_site.py ROOT SITE: the site that scripts/docs made opens with the index; it has every page and every header; each
link, picture and anchor in it leads somewhere within it; and each page is reached from the index by links of the text.
check_site.py selftest: what is wrong is noticed. SPDX-License-Identifier: MIT
"""
import html.parser
import pathlib
import re
import sys
import tempfile
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors, self.title, self.in_title = [], set(), "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.in_title = tag == "title"
        self.anchors |= {named[key] for key in ("id", "name") if named.get(key)}
        self.links += [named[key] for key in ("href", "src") if named.get(key)]

    def handle_data(self, data):
        if self.in_title:
            self.title += data

    def handle_endtag(self, tag):
        self.in_title = False


def heading(path):
    return re.search(r"^# (.*)", path.read_text(encoding="utf-8"), re.M).group(1).replace("`", "")


def check(root, site):
    site = site.resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    start = site / "index.html"
    if start not in pages:
        return [f"there is no {start}"], 0
    bad, count, leads = [], 0, {}
    if not pages[start].title.endswith(heading(root / "docs/index.md")):
        bad.append(f"the site opens with {pages[start].title!r}, not with the index")
    for path, page in pages.items():
        leads[path] = set()
        for link in page.links:
            if re.match(r"(\w+:|//)", link):
                continue
            count += 1
            file, _, anchor = link.partition("#")
            target = (path.parent / urllib.parse.unquote(file.partition("?")[0])).resolve() if file else path
            if not target.is_file() or site not in target.parents:
                bad.append(f"{path.name}: there is no {link}")
            elif target in pages:
                leads[path].add(target)
                if anchor and urllib.parse.unquote(anchor) not in pages[target].anchors:
                    bad.append(f"{path.name}: {target.name} has no #{anchor}")
    titles = {}
    for path, page in pages.items():
        titles.setdefault(page.title.partition(": ")[2], path)
    reached, todo = {start}, [start]
    while todo:
        for target in leads[todo.pop()] - reached:
            reached.add(target)
            todo.append(target)
    for source in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("tools/*/docs/*.md"))]:
        name = heading(source)
        if name not in titles:
            bad.append(f"{source.relative_to(root)} is not in the site")
        elif titles[name] not in reached and source.name != "README.md": # that one is in the menu
            bad.append(f"no link leads from the index to {source.relative_to(root)}")
    for header in sorted((root / "include/culvert").glob("*.h")):
        if not any(path.name.startswith(re.sub(r"[.]", "_8", header.name)) or title.endswith(f"{header.name} File Reference")
                   for title, path in titles.items()):
            bad.append(f"{header.name} is not in the site")
    return bad, count


def selftest():
    def page(title, text):
        return f"<html><head><title>C: {title}</title></head><body>{text}</body></html>"
    good = {"index.html": page("I", '<a href="p.html#x">p</a><a href="q.html">q</a><a href="https://e.org">e</a><img src="a.png"/>'),
            "p.html": page("P", '<a id="x"></a><a href="#x">x</a>'), "q.html": page("A", ""), "r.html": page("C", '<a href="p.html">p</a>'), "a.png": ""}
    cases = [("good", {}, False), ("it opens with another page", {"index.html": page("P", '<a href="p.html">p</a>')}, True),
             ("a dead link", {"r.html": page("C", '<a href="s.html">s</a>')}, True),
             ("a dead anchor", {"r.html": page("C", '<a href="p.html#y">s</a>')}, True),
             ("a dead anchor of its own", {"p.html": page("P", '<a href="#x">x</a>')}, True),
             ("no picture", {"a.png": None}, True), ("a page is not there", {"q.html": None}, True),
             ("a page to which nothing leads", {"index.html": page("I", '<a href="r.html">r</a>'), "r.html": page("C", "")}, True)]
    failed = 0
    for name, changes, expected in cases:
        with tempfile.TemporaryDirectory() as work:
            root = pathlib.Path(work)
            (root / "docs").mkdir()
            (root / "site").mkdir()
            for file, title in (("README.md", "A"), ("CONTRIBUTING.md", "A"), ("docs/index.md", "I"), ("docs/p.md", "P")):
                (root / file).write_text(f"# {title}\n")
            for file, text in {**good, **changes}.items():
                if text is not None:
                    (root / "site" / file).write_text(text)
            if bool(check(root, root / "site")[0]) != expected:
                print(f"FAILED: {name}: {check(root, root / 'site')[0]}")
                failed += 1
    print(f"{len(cases) - failed} of {len(cases)} passed")
    return 1 if failed else 0


if sys.argv[1] == "selftest":
    sys.exit(selftest())
complaints, links = check(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
print("\n".join(complaints) or f"{links} links hold")
sys.exit(bool(complaints))
