/* SPDX-License-Identifier: MIT */
/* What imports of memory and of semaphores share. */
#ifndef CULVI_CORE_IMPORT_H_
#define CULVI_CORE_IMPORT_H_

#include "base/handle.h"
#include "cuda/device.h"

/* An import of a handle; `what` is "memory" or "semaphore". */
typedef struct culvi_import {
    const char *what;
    const char *call;   /* the driver's function */
    const char *field;  /* where the handle came in */
    const char *source; /* the call that makes such handles */
    culvi_handle_use use;
    const culv_handle *handle;
    culvi_handle_facts facts; /* of the handle, by culvi_import_check() */
    const char *label;
    uint64_t *count; /* of the device's, counted up by a success */
    bool take;       /* close the caller's handle after a success */
    bool exported;   /* by culvi_import_trust() */
    bool lent;       /* the driver does not keep file descriptors of this kind */
    CUresult (*give)(culv_device *device, const culv_handle *duplicate, void *object);
    void (*describe)(const void *object, culvi_text *text); /* what the handle should have been */
} culvi_import;

culv_result culvi_import_check(const culv_device *device, culvi_import *import,
                               const culv_uuid *exporter);
/* In place of the check, of a handle that Culvert has exported a moment ago, of this very GPU's,
 * for this import alone. It is not examined where the system could tell nothing of it, and given
 * away without a duplicate where drivers never close it. File descriptors are duplicated still: of
 * those that they refuse some drivers close one and leave another (docs/nvidia-measured.md), and
 * the number alone does not tell whose it is by then. */
culv_result culvi_import_trust(const culv_device *device, culvi_import *import);
/* What is known of such a handle without asking; NULL: ask. */
const culvi_handle_facts *culvi_import_known_facts(const culv_device *device);
/* On success the device has one reference more, the object's. */
culv_result culvi_import_run(culv_device *device, const culvi_import *import, void *object);

#endif
