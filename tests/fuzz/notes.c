/* SPDX-License-Identifier: MIT */
/* What an input shows of a real driver and is no failure: counted and told. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>

enum { MOST_NOTES = 8 };

static struct {
    const char *name;
    unsigned count;
    char first[512];
} notes[MOST_NOTES];

unsigned fuzz_note(const char *name, const char *format, ...)
{
    unsigned i = 0;
    while (i < MOST_NOTES && notes[i].name != NULL && strcmp(notes[i].name, name) != 0)
        i++;
    FUZZ_REQUIRE(i < MOST_NOTES, "more than %d notes", MOST_NOTES);
    if (notes[i].name == NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(notes[i].first, sizeof notes[i].first, format, args);
        va_end(args);
        notes[i].name = name;
    }
    return ++notes[i].count;
}

void fuzz_each_note(void (*tell)(const char *name, unsigned count, const char *first))
{
    for (unsigned i = 0; i < MOST_NOTES && notes[i].name != NULL; i++)
        tell(notes[i].name, notes[i].count, notes[i].first);
}
