/* SPDX-License-Identifier: MIT */
/* The arguments that all benchmarks take. See arguments.h. */
#include "arguments.h"

#include "culvert/culvert.h"
#include "exits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void arguments_wrong(const arguments *all, const char *text, const char *argument)
{
    fprintf(stderr, "%s: %s '%s'; see %s --help\n", all->program, text, argument, all->program);
    exit(EXITS_USAGE);
}

void arguments_unknown(const arguments *all, const char *argument)
{
    arguments_wrong(all, argument[0] == '-' ? "unknown option" : "unknown argument", argument);
}

const char *arguments_value(const char *argument, const char *name)
{
    size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                           : NULL;
}

uint64_t arguments_number_before(const arguments *all, const char *argument, const char *text,
                                 uint64_t least, uint64_t most, char **end)
{
    errno = 0;
    unsigned long long value = strtoull(text, end, 10);
    if (text[0] < '0' || text[0] > '9' || errno != 0 || value < least || value > most)
        arguments_wrong(all, "not a number in range:", argument);
    return value;
}

uint64_t arguments_number(const arguments *all, const char *argument, const char *text,
                          uint64_t least, uint64_t most)
{
    char *end = NULL;
    uint64_t value = arguments_number_before(all, argument, text, least, most, &end);
    if (*end != '\0') arguments_wrong(all, "not a number in range:", argument);
    return value;
}

void arguments_printed(void)
{
    exit(fflush(stdout) == 0 && ferror(stdout) == 0 ? EXIT_SUCCESS : EXITS_FAILURE);
}

bool arguments_take(const arguments *all, const char *argument)
{
    const char *value;
    if (strcmp(argument, "--quick") == 0) {
        *all->quick = true;
    } else if (strcmp(argument, "--json") == 0) {
        *all->json = "";
    } else if ((value = arguments_value(argument, "--json")) != NULL) {
        if (value[0] == '\0') arguments_wrong(all, "no file in", argument);
        *all->json = value;
    } else if ((value = arguments_value(argument, "--driver")) != NULL) {
        if (strcmp(value, "auto") != 0 && strcmp(value, "nvidia") != 0 &&
            strcmp(value, "soft") != 0)
            arguments_wrong(all, "auto, nvidia or soft, not", argument);
        *all->driver = value;
    } else if ((value = arguments_value(argument, "--device")) != NULL) {
        *all->device = (int)arguments_number(all, argument, value, 0, 1023);
    } else if ((value = arguments_value(argument, "--seed")) != NULL) {
        *all->seed = arguments_number(all, argument, value, 0, INT64_MAX);
    } else if (strcmp(argument, "--help") == 0) {
        fputs(all->usage, stdout);
        arguments_printed();
    } else if (strcmp(argument, "--version") == 0) {
        printf("%s %s\n", all->program, culv_version_string());
        arguments_printed();
    } else {
        return false;
    }
    return true;
}
