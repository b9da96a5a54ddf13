/* SPDX-License-Identifier: MIT */
/* A linear field into an image by a kernel: four to five times as fast as CUDA's copies into
 * arrays. */
#ifndef CULVI_CORE_FIELD_H_
#define CULVI_CORE_FIELD_H_

#include "core/staging.h"

enum { CULVI_FIELD_GEOMETRIES = 3, CULVI_FIELD_CHUNKS = 5 };

/* One kernel for each way to walk through a surface and each size of what a thread carries. */
struct culvi_fields {
    CUmodule modules[CULVI_FIELD_GEOMETRIES];
    /* NULL until they are loaded */
    _Atomic(CUfunction) functions[CULVI_FIELD_GEOMETRIES][CULVI_FIELD_CHUNKS];
};

/* Whether a kernel of culv_image_prepare_write()'s wrote the field, or *result is an error of the
 * driver's. False: CUDA's copy is needed; nothing was enqueued. In the device's context. */
bool culvi_field_write(culv_image *image, const culv_image_field *field, const culvi_part *part,
                       CUstream stream, CUresult *result);

#endif
