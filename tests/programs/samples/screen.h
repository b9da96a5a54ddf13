/* SPDX-License-Identifier: MIT */
/* Tests of samples: a screen without a screen (Xvfb), its windows, their pictures and a hand at
 * mouse and keys. */
#ifndef CULVERT_TESTS_SAMPLES_SCREEN_H_
#define CULVERT_TESTS_SAMPLES_SCREEN_H_

#include <stdbool.h>
#include <stdint.h>

#include "run.h"

/* RGBA rows. */
typedef struct picture {
    uint32_t width, height;
    uint8_t *pixels; /* for free() */
} picture;

/* Starts an X server of its own and sets DISPLAY. Skips where there is none, or no xdotool or
 * xwd. */
void screen_start(void);

/* The window of exactly this title; waits until there is one. Fails when the process ends first,
 * with what it said; skips when that is that it has no GLFW. */
typedef struct screen_window {
    char id[32];
} screen_window;
screen_window screen_find(run_process *process, const char *title);

picture screen_picture(const screen_window *window);
bool picture_equal(const picture *a, const picture *b);

/* xdotool's words after its name, NULL at the end. */
void screen_do(const char *const *words);

#endif
