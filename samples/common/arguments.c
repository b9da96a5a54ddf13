/* SPDX-License-Identifier: MIT */
/* See arguments.h. */
#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "report.h"

bool argument_number(const char *name, const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < low ||
        value > high) {
        report("%s %s: expected a number from %llu to %llu", name, text, (unsigned long long)low,
               (unsigned long long)high);
        return false;
    }
    *out = value;
    return true;
}

bool argument_size(const char *name, const char *text, uint32_t low, uint32_t high, uint32_t *width,
                   uint32_t *height)
{
    unsigned w = 0, h = 0;
    char rest = '\0';
    bool plain = strlen(text) <= 11 && text[strspn(text, "0123456789x")] == '\0';
    if (!plain || sscanf(text, "%ux%u%c", &w, &h, &rest) != 2 || w < low || h < low || w > high ||
        h > high) {
        report("%s %s: expected WIDTHxHEIGHT, each from %u to %u", name, text, low, high);
        return false;
    }
    *width = w;
    *height = h;
    return true;
}

const char *argument_valued(const char *const *valued, int argc, char **argv, int *i,
                            const char **value)
{
    const char *argument = argv[*i];
    const size_t length = strcspn(argument, "=");
    while (*valued && (strlen(*valued) != length || strncmp(argument, *valued, length) != 0))
        valued++;
    if (!*valued) {
        report("unknown option %s; --help lists them", argument);
    } else if (argument[length] == '=') {
        *value = argument + length + 1;
    } else if (*i + 1 == argc) {
        report("%s: expected something after it; --help explains", *valued);
        return NULL;
    } else {
        *value = argv[++*i];
    }
    return *valued;
}

bool argument_png(const char *name, const char *path)
{
    size_t length = strlen(path);
    if (length >= 5 && length < FILES_PATH_MAX && strcmp(path + length - 4, ".png") == 0)
        return true;
    report("%s %s: expected a path that ends in .png", name, path);
    return false;
}
