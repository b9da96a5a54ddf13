/* SPDX-License-Identifier: MIT */
/* culv_cig: a CIG context and what the graphics API keeps for it. */
#ifndef CULVI_GRAPHICS_CIG_SOURCE_H_
#define CULVI_GRAPHICS_CIG_SOURCE_H_

#include "cuda/cig.h"
#include "culvert/cig.h"
#include "graphics/graphics.h"

/* What a graphics API gives for a context. */
typedef struct culvi_cig_source {
    CUdevice_attribute attribute;
    CUcigDataType type;
    void *data;      /* read while the context is made */
    uint64_t object; /* native; 0: none */
    /* Ends `object` after the context, and if none could be made. May be NULL. */
    void (*end)(culvi_graphics *graphics, uint64_t object);
} culvi_cig_source;

culv_result culvi_cig_create(culvi_graphics *graphics, const culvi_cig_source *source,
                             const char *label, culv_cig **out);

#endif
