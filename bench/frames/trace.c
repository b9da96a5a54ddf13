/* SPDX-License-Identifier: MIT */
/* See trace.h. */
#include "trace.h"

#include "harness.h"
#include "statistics.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 256 };
static const double LEAST = 1.0, MOST = 1e6; /* as of --loads */

static bool good(double us)
{
    return us >= LEAST && us <= MOST;
}

/* 1: a frame, 0: nothing that counts, -1: something else. */
static int read_line(const char *line, double *solver, double *renderer)
{
    char *end;
    while (isspace((unsigned char)*line))
        line++;
    if (*line == '\0' || *line == '#') return 0;
    *solver = strtod(line, &end);
    if (end == line) return -1;
    while (isspace((unsigned char)*end))
        end++;
    if (*end != ',' && *end != ';') return -1;
    line = end + 1;
    *renderer = strtod(line, &end);
    if (end == line) return -1;
    while (isspace((unsigned char)*end))
        end++;
    return *end == '\0' && good(*solver) && good(*renderer) ? 1 : -1;
}

bool trace_read(trace *t, const char *path, char error[TRACE_ERROR])
{
    char line[LINE];
    unsigned number = 0;
    bool fine = true;
    FILE *file = fopen(path, "r");
    memset(t, 0, sizeof *t);
    if (file == NULL) {
        snprintf(error, TRACE_ERROR, "the trace %.100s cannot be read", path);
        return false;
    }
    while (fine && fgets(line, sizeof line, file) != NULL) {
        double solver, renderer;
        const int found = read_line(line, &solver, &renderer);
        number++;
        if (found < 0 && number == 1 && isalpha((unsigned char)line[0])) continue; /* names */
        if (found < 0) {
            snprintf(error, TRACE_ERROR,
                     "line %u of the trace is not SOLVER,RENDERER, each 1 to 1000000 microseconds",
                     number);
            fine = false;
        } else if (found > 0 && t->count == TRACE_MOST) {
            snprintf(error, TRACE_ERROR, "the trace has more than %d frames", (int)TRACE_MOST);
            fine = false;
        } else if (found > 0) {
            t->solver_us[t->count] = solver;
            t->renderer_us[t->count++] = renderer;
        }
    }
    fclose(file);
    if (fine && t->count == 0) {
        snprintf(error, TRACE_ERROR, "the trace has no frame");
        fine = false;
    }
    return fine;
}

double trace_mean(const double *us, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += us[i];
    return sum / count;
}

double trace_quantile(const double *us, uint32_t count, double q)
{
    return statistics_quantile(us, count, q);
}

void trace_choose(trace *t, uint32_t frames)
{
    const double mean = trace_mean(t->solver_us, t->count) + trace_mean(t->renderer_us, t->count);
    double sum = 0, nearest = INFINITY;
    t->used = frames < t->count ? frames : t->count;
    t->first = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        sum += t->solver_us[i] + t->renderer_us[i];
        if (i >= t->used) sum -= t->solver_us[i - t->used] + t->renderer_us[i - t->used];
        if (i + 1 < t->used) continue;
        const double off = fabs(sum / t->used - mean);
        if (off >= nearest) continue;
        nearest = off;
        t->first = i + 1 - t->used;
    }
}
