/* SPDX-License-Identifier: MIT */
/* What validation layers may say, for the benchmarks, too, which have no harness. */
#include "harness.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Cuts off what stands before the next `|`, without the blanks around it; NULL at the end. */
static char *next_part(char **rest)
{
    char *part = *rest;
    if (part == NULL) return NULL;
    char *bar = strchr(part, '|');
    *rest = bar != NULL ? bar + 1 : NULL;
    if (bar != NULL) *bar = '\0';
    while (isspace((unsigned char)*part))
        part++;
    size_t length = strlen(part);
    while (length > 0 && isspace((unsigned char)part[length - 1]))
        part[--length] = '\0';
    return part;
}

/* "before 1.4.318", or what the text must have. */
static bool part_holds(const char *part, const char *text, uint32_t version)
{
    unsigned major, minor, patch;
    if (sscanf(part, "before %u.%u.%u", &major, &minor, &patch) == 3)
        return version < (major << 22 | minor << 12 | patch);
    return strstr(text, part) != NULL;
}

static bool line_allows(char *line, const char *vuid, const char *text, uint32_t version)
{
    char *rest = line;
    const char *part = next_part(&rest);
    if (*part == '\0' || *part == '#' || strcmp(part, vuid) != 0) return false;
    while ((part = next_part(&rest)) != NULL)
        if (!part_holds(part, text, version)) return false;
    return true;
}

bool test_message_allowed(const char *file, const char *vuid, const char *text, uint32_t version)
{
    char line[1024];
    bool found = false;
    FILE *list = fopen(file, "r");
    if (list == NULL) return false;
    while (!found && fgets(line, sizeof line, list) != NULL)
        found = line_allows(line, vuid != NULL ? vuid : "", text != NULL ? text : "", version);
    fclose(list);
    return found;
}
