/* Handles, Windows half: imports of NT and KMT handles are not there yet, so each is refused with its reason.
 * SPDX-License-Identifier: MIT */
#include "platform.h"

#include <stdio.h>

bool culvi_handle_check(const culv_handle *handle, culv_reason *problem, char *text, size_t size)
{
    *problem = CULV_REASON_HANDLE_TYPE;
    snprintf(text, size, "handle.type is %d; this version of Culvert imports no handle on Windows yet",
             (int)handle->type);
    return false;
}

bool culvi_handle_duplicate(const culv_handle *handle, culvi_duplicate *out, int *os_error)
{
    (void)handle;
    (void)out;
    *os_error = 0;
    return false;
}

void culvi_handle_close_refused(const culvi_duplicate *duplicate, const culv_handle *original)
{
    (void)duplicate;
    (void)original;
}

void culvi_handle_close(const culv_handle *handle)
{
    (void)handle;
}

uint64_t culvi_handle_size_limit(const culv_handle *handle)
{
    (void)handle;
    return UINT64_MAX;
}
