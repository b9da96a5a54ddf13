/* SPDX-License-Identifier: MIT */
/* Results as JSON. See report.h. */
#include "report.h"

#include "json.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

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
