/* SPDX-License-Identifier: MIT */
#include "failures.h"

#include "harness.h"

static void run_with(const failing_program *program, const char *call, run_result *r)
{
    char says[64];
    REQUIRE(setenv("CULVERT_SOFT_FAIL_AT", call, 1) == 0);
    program->run(r, program->context);
    REQUIRE(unsetenv("CULVERT_SOFT_FAIL_AT") == 0);
    snprintf(says, sizeof says, "%s: ", program->name);
    if ((r->status != 0 && r->status != 1) || strstr(r->text, "Sanitizer") ||
        strstr(r->text, "runtime error"))
        FAIL("%s: status %d:\n%s", call, r->status, r->text);
    if (r->status == 1 && !strstr(r->text, says))
        FAIL("%s: it ended without a word:\n%s", call, r->text);
}

void failures_need_the_twin(const failing_program *program)
{
    run_result r;
    program->run(&r, program->context);
    if (r.status != 0)
        SKIP("the software twin, which alone fails on demand, has no device: %s", r.text);
}

void failures_must_end(const failing_program *program, const char *const *calls)
{
    run_result r;
    for (; *calls; calls++) {
        run_with(program, *calls, &r);
        if (r.status != 1) FAIL("%s: the run went on:\n%s", *calls, r.text);
    }
}

void failures_sweep(const failing_program *program, const char *kind, unsigned first, unsigned last,
                    unsigned stride, unsigned enough)
{
    /* A start of a sample costs a second, most of it lavapipe's shader compiler. */
    if (test_option("sweep", NULL) == NULL) return;
    unsigned ended = 0, in_a_row = 0;
    for (unsigned n = first; n <= last && (enough == 0 || in_a_row < enough); n += stride) {
        run_result r;
        char call[32];
        snprintf(call, sizeof call, "%s:%u", kind, n);
        run_with(program, call, &r);
        ended += r.status == 1;
        in_a_row = r.status == 0 ? in_a_row + 1 : 0;
    }
    MEASURED("runs_that_ended", "%s: %u", kind, ended);
}
