/* SPDX-License-Identifier: MIT */
/* See console.h. */
#include "console.h"
#include "files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool read_number(const argument *a, const char *text, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && value >= a->low &&
        value <= a->high) {
        *out = value;
        return true;
    }
    report("%s %s: expected a number from %llu to %llu", a->name, text, (unsigned long long)a->low,
           (unsigned long long)a->high);
    return false;
}

static bool read_size(const argument *a, const char *text)
{
    unsigned w = 0, h = 0;
    char rest = '\0';
    bool plain = strlen(text) <= 11 && text[strspn(text, "0123456789x")] == '\0';
    if (plain && sscanf(text, "%ux%u%c", &w, &h, &rest) == 2 && w >= a->low && h >= a->low &&
        w <= a->high && h <= a->high) {
        *(uint32_t *)a->out = w;
        *(uint32_t *)a->height = h;
        return true;
    }
    report("%s %s: expected WIDTHxHEIGHT, each from %llu to %llu", a->name, text,
           (unsigned long long)a->low, (unsigned long long)a->high);
    return false;
}

static bool read_word(const argument *a, const char *text)
{
    char all[256];
    size_t length = 0;
    for (unsigned i = 0; a->words[i] && length < sizeof all; i++) {
        if (strcmp(text, a->words[i]) == 0) {
            *(unsigned *)a->out = i;
            return true;
        }
        const char *before = i == 0 ? "" : a->words[i + 1] ? ", " : " or ";
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", before, a->words[i]);
    }
    report("%s %s: expected %s", a->name, text, all);
    return false;
}

static bool read_path(const argument *a, const char *text)
{
    size_t length = strlen(text);
    *(const char **)a->out = text;
    if (a->kind == ARGUMENT_TEXT && length > 0) return true;
    if (length >= 5 && length < FILES_PATH_MAX && strcmp(text + length - 4, ".png") == 0)
        return true;
    if (a->kind == ARGUMENT_TEXT)
        report("%s: expected something", a->name);
    else
        report("%s %s: expected a path that ends in .png", a->name, text);
    return false;
}

static bool read_value(const argument *a, const char *text)
{
    uint64_t number = 0;
    switch (a->kind) {
    case ARGUMENT_NUMBER: return read_number(a, text, a->out);
    case ARGUMENT_COUNT:
        if (!read_number(a, text, &number)) return false;
        *(uint32_t *)a->out = (uint32_t)number;
        return true;
    case ARGUMENT_SIZE: return read_size(a, text);
    case ARGUMENT_WORD: return read_word(a, text);
    default: return read_path(a, text);
    }
}

/* One argument, or two: *i is the last one's index. */
static bool read_argument(const argument *a, int argc, char **argv, int *i)
{
    const char *text = argv[*i];
    const size_t length = strcspn(text, "=");
    while (a->name && (strlen(a->name) != length || strncmp(text, a->name, length) != 0))
        a++;
    if (!a->name || (a->kind == ARGUMENT_FLAG && text[length] == '=')) {
        report("unknown option %s; --help lists them", text);
        return false;
    }
    if (a->kind == ARGUMENT_FLAG) return *(bool *)a->out = true;
    if (text[length] == '=') return read_value(a, text + length + 1);
    if (*i + 1 < argc) return read_value(a, argv[++*i]);
    report("%s: expected something after it; --help explains", a->name);
    return false;
}

arguments_result arguments_parse(const argument *table, const char *help, int first, int argc,
                                 char **argv)
{
    for (int i = first; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return ARGUMENTS_EXIT;
        }
        if (!read_argument(table, argc, argv, &i)) return ARGUMENTS_BAD;
    }
    return ARGUMENTS_RUN;
}

bool arguments_output(const char *output)
{
    char path[FILES_PATH_MAX];
    if (!files_numbered(path, output, UINT64_MAX)) {
        report("--output %s: after %% only d, or a width and d, as in %%04d.png", output);
        return false;
    }
    return true;
}

bool arguments_wants_picture(uint64_t frame, uint64_t frames, const char *output)
{
    return frame + 1 == frames || strchr(output, '%') != NULL;
}

/* Progress. */

double clock_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void progress_tell(uint64_t before, uint64_t done, uint64_t total)
{
    if (before * 4 / total != done * 4 / total)
        report("%" PRIu64 " of %" PRIu64 " frames", done, total);
}

/* Samples: error messages. */

static const char *program_name = "sample";

void report_set_program(const char *name)
{
    program_name = name;
}

void report(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

bool culv_ok(culv_result result, const char *what)
{
    if (result == CULV_OK) return true;
    report("%s: %s: %s", what, culv_result_name(result), culv_last_error_message());
    return false;
}

bool vk_ok(VkResult result, const char *what)
{
    if (result == VK_SUCCESS) return true;
    report("%s: VkResult %d", what, (int)result);
    return false;
}

void print_json_string(const char *text)
{
    putchar('"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') putchar('\\');
        if ((unsigned char)*text >= ' ') putchar(*text);
    }
    putchar('"');
}

bool cuda_ok(const culv_cuda_api *cu, CUresult result, const char *what)
{
    if (result == CUDA_SUCCESS) return true;
    const char *name = NULL, *text = NULL;
    if (cu->cuGetErrorName(result, &name) != CUDA_SUCCESS || !name) name = "CUresult";
    if (cu->cuGetErrorString(result, &text) != CUDA_SUCCESS || !text) text = "no description";
    report("%s: %s (%d): %s", what, name, (int)result, text);
    return false;
}
