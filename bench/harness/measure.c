/* SPDX-License-Identifier: MIT */
/* The comparison loop. See measure.h. */
#include "measure.h"
#include "json.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { QUICK_PAIRS = 3, LEAST_PAIRS = 40, MOST_PAIRS = 4000, WARM_UP_PAIRS = 10 };

void bench_set_up(bench *b, bool quick, uint64_t seed, const char *json)
{
    b->quick = quick;
    b->seconds = 1.0;
    b->seed = b->random.state = seed;
    b->text = json == NULL || json[0] != '\0' ? stdout : NULL;
}

void bench_variant(bench *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(b->variant, sizeof b->variant, format, args);
    va_end(args);
    b->headed = false;
    b->checks = 0;
    b->first_of_variant = b->num_results;
    char what[128];
    snprintf(what, sizeof what, "%s%s%s", b->measurement, b->variant[0] != '\0' ? ", " : "",
             b->variant);
    exits_watch(60u + (unsigned)(10.0 * b->seconds), what);
}

void bench_checked(bench *b)
{
    b->checks++;
    for (size_t i = b->first_of_variant; i < b->num_results; i++)
        b->results[i].checks = b->checks;
}

void bench_left_out(bench *b, const char *reason)
{
    REQUIRE(b->num_gaps < BENCH_MAX_GAPS);
    bench_gap *gap = &b->gaps[b->num_gaps++];
    gap->measurement = b->measurement;
    snprintf(gap->reason, sizeof gap->reason, "%s", reason);
    if (b->text != NULL) text_gap(b, gap);
}

/* Both sides once, in an order drawn by lot. */
static void pair_of_turns(bench *b, bench_series *s, bool keep)
{
    bool alone = s->setup.kind == BENCH_SCALE;
    size_t first = alone ? BENCH_RAW : random_below(&b->random, BENCH_SIDES);
    for (size_t turn = 0; turn < (alone ? 1u : (size_t)BENCH_SIDES); turn++) {
        size_t side = turn == 0 ? first : 1 - first;
        double ns[BENCH_MAX_PHASES] = {0};
        s->setup.turn(s->setup.state, (bench_side)side, ns);
        for (unsigned phase = 0; keep && phase < s->setup.num_phases; phase++)
            s->samples[side][phase][s->n] = ns[phase];
    }
    s->n += keep;
}

void bench_begin(bench *b, bench_series *out, bench_setup setup)
{
    size_t most = b->quick ? QUICK_PAIRS : MOST_PAIRS;
    memset(out, 0, sizeof *out);
    out->setup = setup;
    REQUIRE(setup.num_phases > 0 && setup.num_phases <= BENCH_MAX_PHASES && setup.calls > 0);
    for (size_t side = 0; side < BENCH_SIDES; side++) {
        for (unsigned phase = 0; phase < setup.num_phases; phase++) {
            out->samples[side][phase] = calloc(most, sizeof(double));
            REQUIRE(out->samples[side][phase] != NULL);
        }
    }
    for (size_t i = 0; i < (b->quick ? 1u : (size_t)WARM_UP_PAIRS); i++)
        pair_of_turns(b, out, false);
    double end = bench_now() + b->seconds * 1e9;
    while (out->n < most && (b->quick || out->n < LEAST_PAIRS || bench_now() < end))
        pair_of_turns(b, out, true);
}

void bench_end(bench_series *series)
{
    for (size_t side = 0; side < BENCH_SIDES; side++)
        for (unsigned phase = 0; phase < BENCH_MAX_PHASES; phase++)
            free(series->samples[side][phase]);
    memset(series, 0, sizeof *series);
}

static bench_result *new_result(bench *b)
{
    if (b->num_results == b->capacity) {
        size_t capacity = b->capacity != 0 ? 2 * b->capacity : 64;
        bench_result *more = realloc(b->results, capacity * sizeof *more);
        REQUIRE(more != NULL);
        b->results = more;
        b->capacity = capacity;
    }
    bench_result *result = &b->results[b->num_results++];
    memset(result, 0, sizeof *result);
    return result;
}

void bench_row(bench *b, const bench_series *series, bench_row_desc desc)
{
    bench_result *r = new_result(b);
    snprintf(r->measurement, sizeof r->measurement, "%s", b->measurement);
    snprintf(r->variant, sizeof r->variant, "%s", b->variant);
    snprintf(r->name, sizeof r->name, "%s", desc.name);
    r->kind = series->setup.kind;
    r->calls = series->setup.calls;
    r->checks = b->checks;
    r->goal = desc.goal;
    r->judged = !b->quick && !b->validated && !b->rig.caps.is_software;
    double *us[BENCH_SIDES];
    for (size_t side = 0; side < BENCH_SIDES; side++) {
        us[side] = calloc(series->n, sizeof(double));
        REQUIRE(us[side] != NULL);
        for (unsigned phase = 0; phase < series->setup.num_phases; phase++) {
            if ((desc.phases >> phase & 1u) == 0) continue;
            for (size_t i = 0; i < series->n; i++)
                us[side][i] +=
                    series->samples[side][phase][i] / (1e3 * (double)series->setup.calls);
        }
        if (side == BENCH_RAW || r->kind != BENCH_SCALE)
            r->sides[side] = statistics_spread(us[side], series->n);
    }
    if (r->kind != BENCH_SCALE)
        r->compared = statistics_compare(us[BENCH_CULVERT], us[BENCH_RAW], series->n, &b->random);
    free(us[BENCH_CULVERT]);
    free(us[BENCH_RAW]);
    if (b->text != NULL) text_row(b, r);
}

const char *bench_verdict(const bench_result *result)
{
    if (result->goal <= 0.0 || !result->judged) return NULL;
    if (result->compared.ratio.high <= result->goal) return "yes";
    return result->compared.ratio.low > result->goal ? "no" : "open";
}

/* Results for people. */

void text_heading(const bench *b, const char *program)
{
    const rig *r = &b->rig;
    fprintf(b->text, "%s %s: %s by %s, CUDA %u.%u; %s\n", program, culv_version_string(),
            r->caps.name, r->caps.is_software ? "the software twin" : "NVIDIA's driver",
            r->caps.driver_version / 1000u, r->caps.driver_version % 1000u / 10u, r->vulkan_driver);
    if (r->caps.is_software)
        fprintf(b->text, "The twin is no GPU: its times tell nothing of one, the ratios little.\n");
    if (b->quick) fprintf(b->text, "--quick: too few turns for the times to mean anything.\n");
    if (b->validated)
        fprintf(b->text, "--validation: the times are those of the validation layer.\n");
    fprintf(
        b->text,
        "Microseconds a call: median (10 %% .. 90 %%). Added: median difference of neighbours.\n"
        "Ratio of medians (95 %% interval).\n");
    fprintf(b->text, "\n%-26s %30s %30s %10s   %s\n", "", "Culvert", "raw calls", "added", "ratio");
}

void text_gap(const bench *b, const bench_gap *gap)
{
    fprintf(b->text, "%s\n  left out: %s\n", gap->measurement, gap->reason);
}

static void put_time(FILE *out, const spread *s)
{
    char text[64] = "-";
    int digits = s->median < 100.0 ? 3 : 1;
    if (s->n != 0)
        snprintf(text, sizeof text, "%.*f (%.*f .. %.*f)", digits, s->median, digits, s->p10,
                 digits, s->p90);
    fprintf(out, " %30s", text);
}

void text_row(bench *b, const bench_result *r)
{
    if (!b->headed) {
        fprintf(b->text, "%s%s%s\n", r->measurement, r->variant[0] != '\0' ? ", " : "", r->variant);
        b->headed = true;
    }
    char name[sizeof r->name + 8];
    snprintf(name, sizeof name, "%s%s", r->name, r->kind == BENCH_CONTROL ? " [A/A]" : "");
    fprintf(b->text, "  %-24s", name);
    put_time(b->text, &r->sides[BENCH_CULVERT]);
    put_time(b->text, &r->sides[BENCH_RAW]);
    if (r->kind != BENCH_SCALE) {
        const comparison *c = &r->compared;
        fprintf(b->text, "  %+9.3f   %.4f (%.4f .. %.4f)", c->added.value, c->ratio.value,
                c->ratio.low, c->ratio.high);
        const char *verdict = bench_verdict(r);
        if (verdict != NULL)
            fprintf(b->text, "  within %.0f %%: %s", 100.0 * (r->goal - 1.0), verdict);
    }
    fprintf(b->text, "  n %zu\n", r->sides[BENCH_RAW].n);
    fflush(b->text);
}

/* Results as JSON. */

/* Six digits are more than any time here is good for. Keys are plain. */
void report_number(struct json *json, const char *key, double value)
{
    fprintf(json->out, "%s\n%*s\"%s\": %.6g", json->first ? "" : ",", 2 * json->depth, "", key,
            value);
    json->first = false;
}

static void put_date(struct json *json)
{
    char text[32];
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL ||
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        text[0] = '\0';
    json_text(json, "date", text);
}

static void put_device(struct json *json, const rig *r)
{
    char text[64];
    json_begin(json, "device", '{');
    json_string(json, "name", r->caps.name);
    json_bool(json, "software", r->caps.is_software != 0);
    for (size_t i = 0; i < sizeof r->caps.uuid.bytes; i++)
        snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", r->caps.uuid.bytes[i]);
    json_string(json, "uuid", text);
    snprintf(text, sizeof text, "%u.%u", r->caps.driver_version / 1000u,
             r->caps.driver_version % 1000u / 10u);
    json_string(json, "cuda_version", text);
    json_string(json, "vulkan_name", r->vk.properties.deviceName);
    json_string(json, "vulkan_driver", r->vulkan_driver);
    uint32_t version = r->vk.properties.apiVersion;
    snprintf(text, sizeof text, "%u.%u.%u", VK_API_VERSION_MAJOR(version),
             VK_API_VERSION_MINOR(version), VK_API_VERSION_PATCH(version));
    json_string(json, "vulkan_version", text);
    json_begin(json, "queue_families", '[');
    for (uint32_t i = 0; i < r->vk.queue_count; i++)
        json_integer(json, NULL, r->vk.queues[i].flags);
    json_end(json, ']');
    json_end(json, '}');
}

static void put_processor(struct json *json)
{
    char line[512], model[512] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (colon == NULL || strncmp(line, "model name", 10) != 0) continue;
        colon += 1 + strspn(colon + 1, " \t");
        snprintf(model, sizeof model, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    if (file != NULL) fclose(file);
    json_text(json, "processor", model);
}

static void put_system(struct json *json)
{
    struct utsname names;
    json_begin(json, "system", '{');
    put_processor(json);
    json_integer(json, "processors", sysconf(_SC_NPROCESSORS_ONLN));
    json_text(json, "kernel", uname(&names) == 0 ? names.release : "");
    json_end(json, '}');
}

void report_spread(struct json *json, const char *key, const spread *s)
{
    if (s->n == 0) {
        json_null(json, key);
        return;
    }
    json_begin(json, key, '{');
    json_integer(json, "n", (int64_t)s->n);
    report_number(json, "median", s->median);
    report_number(json, "p10", s->p10);
    report_number(json, "p90", s->p90);
    json_end(json, '}');
}

void report_interval(struct json *json, const char *key, const interval *i)
{
    json_begin(json, key, '{');
    report_number(json, "value", i->value);
    report_number(json, "low", i->low);
    report_number(json, "high", i->high);
    json_end(json, '}');
}

static void put_interval(struct json *json, const char *key, const bench_result *r,
                         const interval *i)
{
    if (r->kind == BENCH_SCALE)
        json_null(json, key);
    else
        report_interval(json, key, i);
}

static void put_result(struct json *json, const bench_result *r)
{
    static const char *const kinds[] = {"pair", "control", "scale"};
    json_begin(json, NULL, '{');
    json_string(json, "measurement", r->measurement);
    json_text(json, "variant", r->variant);
    json_string(json, "name", r->name);
    json_string(json, "kind", kinds[r->kind]);
    json_integer(json, "calls_per_turn", r->calls);
    json_integer(json, "checks", r->checks);
    report_spread(json, "culvert", &r->sides[BENCH_CULVERT]);
    report_spread(json, "raw", &r->sides[BENCH_RAW]);
    put_interval(json, "added", r, &r->compared.added);
    put_interval(json, "ratio", r, &r->compared.ratio);
    if (r->goal <= 0.0) {
        json_null(json, "goal");
    } else {
        json_begin(json, "goal", '{');
        report_number(json, "ratio", r->goal);
        json_string(json, "met", bench_verdict(r));
        json_end(json, '}');
    }
    json_end(json, '}');
}

void report_left_out(struct json *json, const bench *b)
{
    json_begin(json, "left_out", '[');
    for (size_t i = 0; i < b->num_gaps; i++) {
        json_begin(json, NULL, '{');
        json_string(json, "measurement", b->gaps[i].measurement);
        json_string(json, "reason", b->gaps[i].reason);
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void put_frames(struct json *json, const report_frames *frames)
{
    if (frames == NULL) {
        json_null(json, "allocations");
        return;
    }
    json_begin(json, "allocations", '{');
    json_bool(json, "counted", frames->counted);
    json_integer(json, "frames", (int64_t)frames->frames);
    json_integer(json, "culvert", (int64_t)frames->culvert);
    json_integer(json, "others", (int64_t)frames->others);
    json_integer(json, "control", (int64_t)frames->control);
    json_end(json, '}');
}

FILE *report_open(const char *path)
{
    return path[0] != '\0' ? fopen(path, "w") : stdout;
}

bool report_close(FILE *out, bool written, const char *path, const char *program)
{
    const bool to_file = path[0] != '\0';
    if (to_file && out != NULL && fclose(out) != 0) written = false;
    if (!written)
        fprintf(stderr, "%s: %s could not be written\n", program, to_file ? path : "the report");
    return written;
}

bool report_printed(const char *program)
{
    if (fflush(stdout) == 0 && ferror(stdout) == 0) return true;
    fprintf(stderr, "%s: the table could not be written\n", program);
    return false;
}

void report_head(struct json *json, const bench *b, const char *program, bool complete)
{
    json_integer(json, "schema", 1);
    json_string(json, "program", program);
    json_string(json, "culvert_version", culv_version_string());
    put_date(json);
    json_bool(json, "complete", complete);
    json_bool(json, "quick", b->quick);
    json_bool(json, "validation", b->validated);
    json_integer(json, "seed", (int64_t)b->seed);
    report_number(json, "seconds", b->seconds);
    json_string(json, "unit", "us");
    put_device(json, &b->rig);
    put_system(json);
}

void report_results(struct json *json, const char *key, const bench *b)
{
    json_begin(json, key, '[');
    for (size_t i = 0; i < b->num_results; i++)
        put_result(json, &b->results[i]);
    json_end(json, ']');
}

void report_json(const bench *b, const char *program, const report_frames *frames, bool complete,
                 FILE *out)
{
    struct json json = {.out = out, .first = true};
    json_begin(&json, NULL, '{');
    report_head(&json, b, program, complete);
    put_frames(&json, frames);
    report_left_out(&json, b);
    report_results(&json, "results", b);
    json_end(&json, '}');
}
