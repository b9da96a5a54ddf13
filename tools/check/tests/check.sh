#!/bin/sh
# culvert-check itself: its options, its exit status, and how programs reach the driver. CHECK is culvert-check, SOFT_RUN
# is culvert-soft-run, PROGRAMS the directory of the programs, STRANGERS that of Culvert's own tests, if they are built.
# SPDX-License-Identifier: MIT
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CULVERT_SOFT CULVERT_SOFT_PATH LD_LIBRARY_PATH LD_PRELOAD VK_INSTANCE_LAYERS VK_LAYER_PATH VK_ADD_LAYER_PATH

fail() {
    cat "$work/out" "$work/err" >&2
    echo "FAIL: $*" >&2
    exit 1
}
# status N COMMAND...
status() {
    expected=$1
    shift
    got=0
    "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$expected" ] || fail "exit status $got instead of $expected: $*"
}
says() {
    grep -qF -- "$1" "$work/err" || fail "it does not say: $1"
}
seed() {
    "$SOFT_RUN" "$CHECK" "$@"
}
seeds=$PROGRAMS/check-seeds

# It links neither driver, nor Culvert.
if readelf -d "$(dirname "$CHECK")/../lib/libculvert-check.so" | grep NEEDED | grep -E 'cuda|vulkan|culvert'; then
    fail "the library is linked with one of them"
fi
status 0 "$CHECK" --help
status 0 "$CHECK" --version
status 125 "$CHECK"
status 125 "$CHECK" --no-such-option true
says "there is no such option"
status 125 "$CHECK" --error-exitcode 256 true
status 125 "$CHECK" --json
status 127 "$CHECK" -- /no/such/program
# A program that has nothing to do with it keeps its exit status.
status 0 "$CHECK" true
says "0 findings in true"
says "neither CUDA's driver nor a VkInstance was used"
printf 'int main(void) { return 0; }' | cc -static -x c - -o "$work/static" && status 0 "$CHECK" "$work/static" && says "the program is linked statically"
status 3 "$CHECK" sh -c 'exit 3'
status 137 "$CHECK" sh -c 'kill -9 $$'
# Of a kernel it knows the addresses that it is given, no more, and says no more.
status 99 seed "$seeds" kernel_early wrong "$(dirname "$CHECK")/../share/culvert"
says ") uses memory from byte 0 on, and nothing orders that after vkCmdFillBuffer ("
says "), which writes it."
status 0 seed "$seeds" kernel_unsure wrong "$(dirname "$CHECK")/../share/culvert"
says "1 of them not judged: nothing orders them after the other API's"
# A storage buffer counts as read if the shader says so.
for of in set_read_only set_read_only_variable; do
  status 0 seed "$seeds" $of wrong "$(dirname "$CHECK")/../share/culvert"
  says "1 of them not judged"
  status 0 seed "$seeds" $of right "$(dirname "$CHECK")/../share/culvert"
  says "and 2 accesses to shared memory."
done
# What no driver minds is a note.
status 0 env SEEDS_NO_TIMELINES=1 "$SOFT_RUN" "$CHECK" "$seeds" no_acquire wrong x
says "Vulkan recorded no barrier from VK_QUEUE_FAMILY_EXTERNAL for what CUDA wrote"
says "did not enable the feature timelineSemaphore"
status 0 seed "$seeds" layout_not_general wrong x
says "Vulkan recorded no barrier to VK_IMAGE_LAYOUT_GENERAL for an image that CUDA uses"
status 0 seed "$seeds" no_acquire right x
grep -q "no barrier\|did not enable" "$work/err" && fail "it notes what is right"
# Whoever ends it ends the program, and gets the report.
status 124 timeout 1 "$CHECK" sleep 60
says "0 findings in sleep"
status 124 timeout -k 30 1 "$CHECK" --stuck 1 sh -c 'trap "" TERM; exec sleep 60'
says "0 findings in sh"

# What was found, as text and as JSON; a name with quotes; the exit status.
status 7 seed --error-exitcode 7 --json "$work/found.json" --text "$work/found.text" "$seeds" read_early wrong x
[ ! -s "$work/err" ] || fail "the report went to stderr, too"
for what in "(e) read-after-write" "here:    cuMemcpyDtoHAsync" "before:  vkQueueSubmit" "rule:" "source:" "mend:" "read:    docs/culvert-check-findings.md#read-after-write" "1 finding in"; do
    grep -qF -- "$what" "$work/found.text" || fail "the text has no $what"
done
python3 - "$work/found.json" <<'END' || fail "the JSON"
import json, sys
told = json.load(open(sys.argv[1], encoding="utf-8"))
(row,) = told["findings"]
assert told["status"] == 0 and row["class"] == "e" and row["id"] == "read-after-write"
assert row["here"]["call"] == "cuMemcpyDtoHAsync" and row["before"]["call"] == "vkQueueSubmit"
assert all(row[key] for key in ("sentence", "object", "rule", "source", "mend"))
assert row["read"] == "docs/culvert-check-findings.md#read-after-write"
END
status 99 seed --sarif "$work/found.sarif" "$seeds" read_early wrong x
python3 - "$work/found.sarif" <<'END' || fail "the SARIF"
import json, sys
told = json.load(open(sys.argv[1], encoding="utf-8"))
assert told["version"] == "2.1.0" and told["$schema"].endswith("sarif-2.1.0.json")
(run,) = told["runs"]
driver = run["tool"]["driver"]
(result,) = run["results"]
assert driver["name"] == "culvert-check" and [rule["id"] for rule in driver["rules"]] == ["read-after-write"]
assert all(driver["rules"][0][key]["text"] for key in ("shortDescription", "fullDescription", "help"))
assert driver["rules"][0]["helpUri"].startswith("file:///") and driver["rules"][0]["helpUri"].endswith("-findings.md#read-after-write")
assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0}]
assert result["ruleId"] == "read-after-write" and result["level"] == "error" and "cuMemcpyDtoHAsync" in result["message"]["text"]
for site, call in ((result["locations"], "cuMemcpyDtoHAsync"), (result["relatedLocations"], "vkQueueSubmit")):
    assert site[0]["message"]["text"] == call and site[0]["logicalLocations"][0]["fullyQualifiedName"]
    place = site[0].get("physicalLocation")  # needs addr2line and debug information
    assert place is None or (place["artifactLocation"]["uri"].startswith("file:///") and place["region"]["startLine"] > 0)
END
status 0 seed --sarif "$work/found.sarif" "$seeds" read_early right x
python3 -c 'import json, sys; (run,) = json.load(open(sys.argv[1]))["runs"]; assert run["results"] == []' "$work/found.sarif" ||
    fail "the SARIF of nothing"
status 0 seed --fast "$seeds" read_early wrong x
says "0 findings"
grep -q "was watched" "$work/err" && fail "both sides were watched"
# A program that links libcuda.so.1, one that opens it, and one that uses Culvert besides: of the tests of culvert-soft-run.
if [ -n "${STRANGERS-}" ]; then
    for kind in linked opened linked_culvert; do
        status 0 seed "$STRANGERS/soft-run-$kind"
        says "2 imports into CUDA, 1 works of Vulkan's queues, 4 of CUDA's streams"
    done
    status 0 seed "$(dirname "$CHECK")/culvert-info" --soft
    says "Nothing was judged: no memory and no semaphore went from one API to the other"
    # In a directory that the loader asks first.
    status 0 env VK_LAYER_PATH="$work" "$SOFT_RUN" "$CHECK" "$STRANGERS/soft-run-opened"
    says "2 imports into CUDA"
fi
