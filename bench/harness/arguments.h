/* SPDX-License-Identifier: MIT */
/* The arguments that all benchmarks take, and how each reads its own. A wrong one ends the program
 * with EXITS_USAGE. */
#ifndef CULVERT_BENCH_ARGUMENTS_H_
#define CULVERT_BENCH_ARGUMENTS_H_

#include <stdbool.h>
#include <stdint.h>

/* Where what all of them take goes. */
typedef struct arguments {
    const char *program, *usage;
    const char **driver; /* auto, nvidia or soft */
    const char **json;   /* "" is standard output */
    int *device;
    uint64_t *seed;
    bool *quick;
} arguments;

/* --driver, --device, --json, --seed, --quick; --help and --version end the program. False: it is
 * another argument. */
bool arguments_take(const arguments *all, const char *argument);
_Noreturn void arguments_wrong(const arguments *all, const char *text, const char *argument);
/* Of an argument that nothing has taken. */
_Noreturn void arguments_unknown(const arguments *all, const char *argument);
/* The value of --NAME=VALUE; NULL where the argument is something else. */
const char *arguments_value(const char *argument, const char *name);
/* A number from `text` on; *end is what follows it. */
uint64_t arguments_number_before(const arguments *all, const char *argument, const char *text,
                                 uint64_t least, uint64_t most, char **end);
/* A number, and nothing behind it. */
uint64_t arguments_number(const arguments *all, const char *argument, const char *text,
                          uint64_t least, uint64_t most);
/* Ends the program once what was asked for is printed. */
_Noreturn void arguments_printed(void);

#endif
