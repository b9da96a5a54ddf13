/* SPDX-License-Identifier: MIT */
/* Native devices and their CUDA match. */
#ifndef CULVI_GRAPHICS_MATCH_H_
#define CULVI_GRAPHICS_MATCH_H_

#include "graphics/graphics.h"

/* A native device before it is attached. */
typedef struct culvi_adapter {
    char name[256];
    culv_uuid uuid;
    culv_luid luid;     /* Windows'; all zero: not known */
    uint32_t node_mask; /* its node among linked GPUs, if the LUID is known */
    bool software;      /* it draws on the CPU */
    bool nvidia;        /* NVIDIA's hardware, whosever driver */
    const char *cause;  /* the API knows why CUDA does not have it; NULL: it does not */
} culvi_adapter;

/* The CUDA device that is this one. NULL: there is none, and *reason and `why` say why. They also
 * do so for another node of linked GPUs, with which nothing can be shared. */
const culvi_cuda_device *culvi_match_find(const culvi_words *words, const culvi_probe *probe,
                                          const culvi_adapter *adapter, culv_reason *reason,
                                          culvi_text *why);

/* Opens the CUDA device that is `adapter`. */
culv_result culvi_match_open(const culvi_words *words, const culvi_adapter *adapter,
                             const culv_device_desc *desc, culv_device **out);

#endif
