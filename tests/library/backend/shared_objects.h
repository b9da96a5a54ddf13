/* SPDX-License-Identifier: MIT */
/* The calls of back-ends whose objects are the culv_shared_... of the library. */
#ifndef CULVERT_TESTS_SHARED_OBJECTS_H_
#define CULVERT_TESTS_SHARED_OBJECTS_H_

#include "backend.h"

#include <culvert/shared.h>

#define SHARED_OBJECT(kind, half)                                                                  \
    static void kind##_destroy(void **object, bool has_last_use, CUstream last_use)                \
    {                                                                                              \
        culv_shared_##kind *mine = *object;                                                        \
        *object = NULL;                                                                            \
        REQUIRE_EQ(culv_shared_##kind##_destroy(&mine, has_last_use ? &last_use : NULL), CULV_OK); \
        REQUIRE(mine == NULL);                                                                     \
    }                                                                                              \
    static half *kind##_cuda(const void *object)                                                   \
    {                                                                                              \
        return culv_shared_##kind##_cuda(object);                                                  \
    }

SHARED_OBJECT(buffer, culv_buffer)
SHARED_OBJECT(image, culv_image)
SHARED_OBJECT(semaphore, culv_semaphore)

#undef SHARED_OBJECT

#endif
