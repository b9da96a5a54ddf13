/* SPDX-License-Identifier: MIT */
/* Errors, descriptors, memory. */
#include "inside.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Errors --------------------------------------------------------------------------------------- */

culv_result culvi_x_fail_as(culv_device *device, const char *object, culv_result result,
                            culv_reason reason, culv_native_api api, int64_t code, const char *call,
                            const char *format, ...)
{
    culv_error e = culv_error_init();
    va_list args;
    e.result = result;
    e.reason = reason;
    e.native_api = api;
    e.native_code = code;
    snprintf(e.native_call, sizeof e.native_call, "%s", call);
    va_start(args, format);
    vsnprintf(e.message, sizeof e.message, format, args);
    va_end(args);
    return culv_device_fail(device, object, &e);
}

culv_result culvi_x_fail_null(culv_device *device, const char *call, const char *name)
{
    return culvi_x_fail(device, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                        "%s: %s is NULL", call, name);
}

culv_result culvi_x_fail_host_memory(culv_device *device, const char *object)
{
    return culvi_x_fail(device, object, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                        "out of host memory");
}

/* Structs that begin with their size ----------------------------------------------------------- */

culv_result culvi_x_out_check(culv_device *device, const char *call, const void *out,
                              const char *name)
{
    size_t given = 0;
    if (out == NULL) return culvi_x_fail_null(device, call, "out");
    memcpy(&given, out, sizeof given);
    if (given >= 2 * sizeof given && given <= 65536 && given % sizeof given == 0) return CULV_OK;
    return culvi_x_fail(device, NULL, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE,
                        "%s.struct_size is %zu; start from %s_init(), which sets it", name, given,
                        name);
}

void culvi_x_struct_write(void *out, const void *local, size_t size)
{
    size_t known = 0;
    memcpy(&known, out, sizeof known);
    const size_t copy = known < size ? known : size;
    memcpy((char *)out + sizeof known, (const char *)local + sizeof known, copy - sizeof known);
    if (known > size) memset((char *)out + size, 0, known - size);
}

culv_result culvi_x_desc_read(culv_device *device, void *local, size_t size, const void *desc,
                              const char *name)
{
    size_t given = 0;
    CULVI_X_TRY(culvi_x_out_check(device, NULL, desc, name)); /* it is not NULL */

    memcpy(&given, desc, sizeof given);
    memset(local, 0, size);
    memcpy(local, desc, given < size ? given : size);
    memcpy(local, &size, sizeof size);
    for (size_t i = size; i < given; i++)
        CULVI_X_UNSUPPORTED_IF(
            ((const unsigned char *)desc)[i] != 0, device, NULL, CULV_REASON_STRUCT_SIZE,
            "%s has %zu bytes with a field set beyond the %zu that this culvert-extra knows; use a library at least as new as the headers",
            name, given, size);
    return CULV_OK;
}

/* Devices and objects -------------------------------------------------------------------------- */

culv_device_caps culvi_x_caps(const culv_device *device)
{
    culv_device_caps caps = culv_device_caps_init();
    (void)culv_device_get_caps(device, &caps);
    return caps;
}

void *culvi_x_take(void *handle)
{
    void *mine = NULL;
    if (handle == NULL) return NULL;
    memcpy(&mine, handle, sizeof mine);
    memset(handle, 0, sizeof mine);
    return mine;
}

void culvi_x_label_set(char label[64], const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > 63)
        for (length = 63; length > 60 && ((unsigned char)text[length] & 0xc0) == 0x80;)
            length--; /* no part of a character */
    if (length > 0) memcpy(label, text, length);
    label[length] = '\0';
}

#ifdef CULVI_TEST_HOOKS /* so that Culvert's tests make allocations fail here too */
void *culvi_alloc(size_t size);
#    define calloc(one, size) culvi_alloc(size)
#endif

void *culvi_x_alloc(size_t size)
{
    if (size > PTRDIFF_MAX) return NULL;
    return calloc(1, size);
}

void culvi_x_free(void *memory)
{
    free(memory);
}
