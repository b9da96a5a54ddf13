/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size. */
#include "base/desc.h"

#include <string.h>

/* Each version's size is a multiple of a size_t, so that no pointer is cut in two. */
bool culvi_struct_size_possible(size_t size)
{
    return size >= 2 * sizeof(size_t) && size <= 65536 && size % sizeof(size_t) == 0;
}

void culvi_struct_write(void *out, const void *local, size_t size)
{
    size_t known = 0;
    memcpy(&known, out, sizeof known);
    size_t copy = known < size ? known : size;
    if (copy <= sizeof known) return;
    memcpy((char *)out + sizeof known, (const char *)local + sizeof known, copy - sizeof known);
    if (known > size) memset((char *)out + size, 0, known - size);
}

culv_result culvi_struct_check(const culvi_voice *voice, const void *out, const char *name)
{
    size_t given = 0;
    memcpy(&given, out, sizeof given);
    if (culvi_struct_size_possible(given)) return CULV_OK;
    return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE,
                      "%s.struct_size is %zu; start from %s_init(), which sets it", name, given,
                      name);
}

culv_result culvi_desc_read(const culvi_voice *voice, void *local, size_t size, const void *desc,
                            const char *name)
{
    size_t given = 0;
    if (desc != NULL) memcpy(&given, desc, sizeof given);
    if (given == size) { /* the present version, which most are of */
        memcpy(local, desc, size);
        return CULV_OK;
    }
    memset(local, 0, size);
    memcpy(local, &size, sizeof size);
    if (desc == NULL) return CULV_OK;
    CULVI_TRY(culvi_struct_check(voice, desc, name));
    for (size_t i = size; i < given;
         i++) /* a later version of the struct, using what this library does not know */
        if (((const unsigned char *)desc)[i] != 0)
            return culvi_fail(
                voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_STRUCT_SIZE,
                "%s has %zu bytes with a field set beyond the %zu that this library (%s) knows; "
                "use a library at least as new as the headers",
                name, given, size, culv_version_string());
    size_t copy = given < size ? given : size;
    memcpy((char *)local + sizeof size, (const char *)desc + sizeof size, copy - sizeof size);
    return CULV_OK;
}
