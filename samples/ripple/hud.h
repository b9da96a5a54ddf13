/* SPDX-License-Identifier: MIT */
/* ripple's frame times on the overlay. */
#ifndef RIPPLE_HUD_H_
#define RIPPLE_HUD_H_

#include "overlay.h"

#define HUD_HISTORY 96u

/* Milliseconds. */
typedef struct hud_times {
    float simulation, drawing, whole; /* drawing is negative when unknown */
} hud_times;

typedef struct hud {
    hud_times history[HUD_HISTORY]; /* a ring */
    uint64_t num_times;
} hud;

void hud_add(hud *h, const hud_times *times);

/* The lines above the times. */
typedef struct hud_text {
    const char *device, *path, *state;
} hud_text;

/* Lists what is shown on a picture of this size. */
void hud_list(const hud *h, const hud_text *text, VkExtent2D extent, overlay *o);

#endif
