/* SPDX-License-Identifier: MIT */
/* COM interfaces that Wine's objects lack, with complete tables. A part belongs to an object of
 * Wine's. Its table has a slot for every method of the interface: one of ours, or a few
 * instructions that call the same slot of Wine's object, or, where Wine's object has no such
 * slot, ones that answer E_NOTIMPL and say so once. On x64 a call may be passed on without knowing
 * its arguments: they stay in their registers and on the stack, and the caller cleans up.
 * Source: https://learn.microsoft.com/en-us/cpp/build/x64-calling-convention */
#ifndef CULVERT_SOFT_WINE_PART_H_
#define CULVERT_SOFT_WINE_PART_H_

#include <stddef.h>
#include <windows.h>

typedef struct part {
    const void *table;
    void *real; /* Wine's object, not a reference; NULL: no method is passed on */
    const char *name;
} part;

/* Fills `table`, which has `size` bytes, from its first slot on. Slots below `passed` are passed on
 * to the part's `real`, the others are not there. Write your own methods over them afterwards. */
void part_fill(void *table, size_t size, unsigned passed);

/* Replaces one entry of an object's table in place, since Wine asserts that the table is its own.
 * `before` gets the entry that was there. */
void part_replace(void *slot, void (*function)(void), void *before);
#define PART_REPLACE(object, method, function, before)                                             \
    part_replace((void *)&(object)->lpVtbl->method, (void (*)(void))(function), &(before))

/* To stderr, with the rig's name before it. */
void rig_say(const char *format, ...) __attribute__((format(gnu_printf, 1, 2)));

#endif
