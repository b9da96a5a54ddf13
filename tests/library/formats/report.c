/* SPDX-License-Identifier: MIT */
/* The results file of the format sweep: a line of JSON for each row of the table, each answer and
 * the machine. A line is written by one write(), so that processes may share the file. */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

typedef struct line {
    char text[4096];
    size_t length;
} line;

void answer_set(answer *a, outcome what, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    a->outcome = what;
    vsnprintf(a->reason, sizeof a->reason, format, args);
    va_end(args);
}

static void put(line *l, const char *text)
{
    size_t length = strlen(text);
    REQUIRE(l->length + length + 2 < sizeof l->text);
    memcpy(l->text + l->length, text, length + 1);
    l->length += length;
}

static void put_key(line *l, const char *key)
{
    put(l, l->length == 0 ? "{\"" : ", \"");
    put(l, key);
    put(l, "\": ");
}

static void put_string(line *l, const char *key, const char *value)
{
    put_key(l, key);
    put(l, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        char escaped[8];
        if (*c == '"' || *c == '\\')
            snprintf(escaped, sizeof escaped, "\\%c", *c);
        else if (*c < 0x20)
            snprintf(escaped, sizeof escaped, "\\u%04x", *c);
        else
            snprintf(escaped, sizeof escaped, "%c", *c);
        put(l, escaped);
    }
    put(l, "\"");
}

static void put_number(line *l, const char *key, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_key(l, key);
    put(l, text);
}

static void end(line *l)
{
    char joined[TEST_PATH_MAX];
    const char *path = test_option("jsonl", NULL), *dir = test_option("results", NULL);
    if (path == NULL && dir == NULL) return;
    if (path == NULL) {
        snprintf(joined, sizeof joined, "%s/formats.jsonl", dir);
        path = joined;
    }
    put(l, "}\n");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) FAIL("%s: %s", path, strerror(errno));
    ssize_t written = write(fd, l->text, l->length);
    close(fd);
    REQUIRE(written == (ssize_t)l->length);
}

void sweep_report(const cell *what, way by, const answer *a)
{
    static const char *const names[] = {"none", "right", "wrong", "skipped", "refused"};
    line l = {.length = 0};
    put_string(&l, "format", what->format->name);
    put_string(&l, "dimension", sweep_dimension_names[what->dimension]);
    put_string(&l, "form", what->texels == CULV_TEXELS_NORMALIZED ? "normalized" : "stored");
    put_string(&l, "origin", what->origin == ORIGIN_CALLERS ? "caller's" : "culvert's");
    put_string(&l, "way", sweep_way_names[by]);
    put_string(&l, "result", names[a->outcome]);
    if (a->outcome != OUTCOME_RIGHT) put_string(&l, "reason", a->reason);
    end(&l);
}

void sweep_report_machine(sweep *s)
{
    VkPhysicalDeviceDriverProperties driver = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &driver};
    culv_device_caps caps = culv_device_caps_init();
    line l = {.length = 0};
    char text[320], date[16];
    time_t now = time(NULL);
    struct tm day;
    REQUIRE(gmtime_r(&now, &day) != NULL && strftime(date, sizeof date, "%Y-%m-%d", &day) > 0);
    vkGetPhysicalDeviceProperties2(s->w.vk.physical, &properties);
    LIB_OK(culv_device_get_caps(s->w.device, &caps));
    put_string(&l, "machine", properties.properties.deviceName);
    put_number(&l, "software", s->w.cu->software ? 1 : 0);
    put_string(&l, "cuda_device", caps.name);
    snprintf(text, sizeof text, "%d.%d", s->w.cu->driver_version / 1000,
             s->w.cu->driver_version % 1000 / 10);
    put_string(&l, "cuda", text);
    snprintf(text, sizeof text, "%s", driver.driverInfo);
    put_string(&l, "vulkan_driver", text);
    put_string(&l, "date", date);
    end(&l);
}

void sweep_report_row(const culv_format_info *f)
{
    line l = {.length = 0};
    put_string(&l, "row", f->name);
    put_number(&l, "mapped", f->mapped);
    put_string(&l, "why", f->reason_text);
    put_number(&l, "vk", f->vk_format);
    put_number(&l, "dxgi", f->dxgi_format);
    put_number(&l, "gl", f->gl_internal_format);
    put_number(&l, "cuda", f->cuda_array_format);
    put_number(&l, "channels", f->channels);
    put_number(&l, "cuda_normalized", f->normalized_array_format);
    put_number(&l, "normalized_channels", f->normalized_channels);
    put_number(&l, "bytes", f->bytes_per_block);
    put_number(&l, "block_width", f->block_width);
    put_number(&l, "block_height", f->block_height);
    put_number(&l, "planes", f->planes);
    put_number(&l, "kind", (uint64_t)f->kind);
    put_string(&l, "order", f->channel_order);
    put_string(&l, "kernel_type", f->kernel_type);
    put_number(&l, "cuda_version", f->cuda_version);
    put_number(&l, "normalized_cuda_version", f->normalized_cuda_version);
    end(&l);
}
