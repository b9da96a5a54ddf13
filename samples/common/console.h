/* SPDX-License-Identifier: MIT */
/* Samples: error messages of the sample itself, of Culvert, of Vulkan and of CUDA, on stderr. */
#ifndef CULVERT_SAMPLES_CONSOLE_H_
#define CULVERT_SAMPLES_CONSOLE_H_

#include <culvert/cuda_api.h>
#include <culvert/culvert.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* The name that precedes every message. */
void report_set_program(const char *name);

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
void report(const char *format, ...);

/* True when the call succeeded; otherwise says what failed and why. */
bool culv_ok(culv_result result, const char *what);
bool vk_ok(VkResult result, const char *what); /* VK_MADE(): Vulkan leaves *made undefined then */
#define VK_MADE(result, what, made) (vk_ok(result, what) || (*(made) = VK_NULL_HANDLE, false))
bool cuda_ok(const culv_cuda_api *cu, CUresult result, const char *what);

/* To stdout, for RESULT lines; names of devices are ASCII. */
void print_json_string(const char *text);

/* Samples: command lines, by a table of options. */

typedef enum argument_kind {
    ARGUMENT_FLAG,   /* bool; no value */
    ARGUMENT_NUMBER, /* uint64_t, from low to high */
    ARGUMENT_COUNT,  /* uint32_t, likewise */
    ARGUMENT_SIZE,   /* two uint32_t: WIDTHxHEIGHT, each from low to high */
    ARGUMENT_WORD,   /* unsigned: which one of `words` it is */
    ARGUMENT_TEXT,   /* const char *; not empty */
    ARGUMENT_PNG     /* const char *: a path that ends in .png */
} argument_kind;

typedef struct argument {
    const char *name; /* NULL ends a table */
    argument_kind kind;
    void *out, *height; /* height: of a size */
    uint64_t low, high;
    const char *const *words; /* NULL ends them */
} argument;

typedef enum arguments_result { ARGUMENTS_RUN, ARGUMENTS_EXIT, ARGUMENTS_BAD } arguments_result;

/* Reads argv[first] and what follows. A value stands behind a "=", or is the next argument.
 * EXIT: --help was printed. BAD: a message that names the option was. */
arguments_result arguments_parse(const argument *table, const char *help, int first, int argc,
                                 char **argv);

/* --output of a run of several frames: with "%d" in it there is a picture of each frame, otherwise
 * of the last one. False, with a message, if there is something else. */
bool arguments_output(const char *output);
/* Is there a picture of this frame to write? */
bool arguments_wants_picture(uint64_t frame, uint64_t frames, const char *output);

/* Monotonic seconds. */
double clock_seconds(void);

/* How far a run is, on stderr: a line when it comes from `before` to `done` over a quarter. */
void progress_tell(uint64_t before, uint64_t done, uint64_t total);

#endif
