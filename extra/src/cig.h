/* SPDX-License-Identifier: MIT */
/* CIG contexts: what a graphics API gives for one. */
#ifndef CULVI_X_CIG_H_
#define CULVI_X_CIG_H_

#include "culvert/extra/cig.h"

#include "inside.h"

typedef struct culvi_cig_source {
    CUdevice_attribute attribute;
    CUcigDataType type;
    void *data; /* read while the context is made */
    /* Ends what the API keeps for the context: after it, or if none could be made. May be NULL. */
    void (*end)(void *user);
    void *user;
} culvi_cig_source;

culv_result culvi_cig_create(culv_device *device, const culvi_cig_source *source, const char *label,
                             culv_cig **out);

#endif
