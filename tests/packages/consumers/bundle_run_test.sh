#!/bin/sh
# A bundle's `run test` whose suite crashes, or which is ended: bundle_run_test.sh SOURCE DIRECTORY. The suite is made up: it says what
# the tests' harness says. What it had finished must be told, and the case that ran be named.
# SPDX-License-Identifier: MIT
set -eu

rm -rf "$2"
mkdir -p "$2/share/culvert" "$2/bin/tests" "$2/lib"
work=$(cd "$2" && pwd)
cp "$1/scripts/bundle_run.sh" "$work/run"
printf 'made-up\tbin/tests/made-up\t-\t-\n' >"$work/share/culvert/tests.list"
cat >"$work/bin/tests/made-up" <<'END'
#!/bin/sh
case " $* " in *" --list-times "*) printf '%s 60 shared\n' first second; echo "third 60 ${THIRD:-shared}"; exit 0 ;; esac
echo "MEASURED something 1"
echo "BEGIN first"
echo "PASS first (0.001 s)"
echo "BEGIN second"
echo "what second said"
[ "$HOW" != crash ] || kill -SEGV $$
[ "$HOW" != pass ] || { echo "PASS second (0.001 s)"; echo "BEGIN third"; echo "PASS third (0.001 s)"; exit 0; }
echo $$ >"$MARK.new"
mv "$MARK.new" "$MARK"
exec sleep 300
END
chmod +x "$work/run" "$work/bin/tests/made-up"

fail() {
    cat "$work/said"
    echo "FAILED: $HOW: $*" >&2
    exit 1
}
says() { grep -q "^$1" "$work/said" || fail "it does not say '$1'"; }

MARK=$work/mark
export HOW MARK
HOW=pass
"$work/run" test --driver=soft made-up >"$work/said" 2>&1 || fail "exit status $?"
says "PASS made-up.third (0.001 s)"
says "3 passed, 0 failed, 0 skipped"

# Those that say that they fault, without them, and where there are none.
THIRD=faults "$work/run" test --driver=soft --faults=only made-up >"$work/said" 2>&1 || fail "exit status $?"
says "PASS made-up.third"
says "1 passed, 0 failed, 0 skipped"
! grep -q "made-up.first" "$work/said" || fail "a case that does not fault ran"
THIRD=faults "$work/run" test --driver=soft --faults=without made-up >"$work/said" 2>&1 || fail "exit status $?"
says "2 passed, 0 failed, 0 skipped"
! grep -q "made-up.third" "$work/said" || fail "a case that faults ran"
"$work/run" test --driver=soft --faults=only made-up >"$work/said" 2>&1 || fail "exit status $?"
says "no such case"

HOW=crash
! "$work/run" test --driver=soft made-up >"$work/said" 2>&1 || fail "it passed"
says "PASS made-up.first (0.001 s)"
says "FAIL made-up.second: its program ended with status 139 while it ran"
says "    what second said"
says "FAIL made-up.third: it did not run"
says "1 passed, 2 failed, 0 skipped"

# To the group, as timeout(1) does it, and to the script alone.
for HOW in group alone; do
    rm -f "$MARK"
    setsid "$work/run" test --driver=soft made-up >"$work/said" 2>&1 &
    script=$!
    tries=0
    while [ ! -e "$MARK" ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { kill "$script"; fail "the suite does not start"; }
        sleep 0.1
    done
    # A child of a script without job control leads no group, so that setsid did not have to fork.
    if [ "$HOW" = group ]; then python3 -c "import os; os.killpg($script, 15)"; else kill -s TERM "$script"; fi
    status=0
    wait "$script" || status=$?
    [ $status -ne 0 ] || fail "it passed"
    says "PASS made-up.first (0.001 s)"
    says "FAIL made-up.second: the run was ended while it ran"
    says "    what second said"
    says "FAIL made-up.third: it did not run: the run was ended"
    says "The run was ended by a signal"
    says "1 passed, 2 failed, 0 skipped"
    ! kill -0 "$(cat "$MARK")" 2>/dev/null || fail "the suite still runs"
done
echo ok
