/* The format table: one row a format. SPDX-License-Identifier: MIT */
#include "object.h"

#include <stdio.h>

/* (Vulkan's name, CUDA array format, channels, bytes a texel, the type of a kernel's surf2Dwrite). UNORM is
 * mapped as the plain integers of its bytes: surfaces know no normalized access. */
#define ROWS(X)                                                                                              \
    X(R8G8B8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, "uchar4")                                            \
    X(B8G8R8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4, "uchar4")                                            \
    X(R16G16B16A16_SFLOAT, CU_AD_FORMAT_HALF, 4, 8, "ushort4")                                               \
    X(R32_SFLOAT, CU_AD_FORMAT_FLOAT, 1, 4, "float")                                                         \
    X(R32G32B32A32_SFLOAT, CU_AD_FORMAT_FLOAT, 4, 16, "float4")

static const culvi_format rows[] = {
#define ROW(name, cuda, channels, bytes, type) {CULV_FORMAT_##name, #name, cuda, channels, bytes, type},
    ROWS(ROW)
#undef ROW
};

/* A format of the header without a row does not compile. */
#define COUNT(name, number) +1
_Static_assert(sizeof rows / sizeof rows[0] == 0 CULV_FORMATS(COUNT), "every culv_format has one row");
#undef COUNT

const culvi_format *culvi_format_find(uint32_t number)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if ((uint32_t)rows[i].format == number) return &rows[i];
    return NULL;
}

culv_result culv_format_get_info(culv_format format, culv_format_info *out)
{
    if (out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_format_get_info: out is NULL");
    culv_result result = culvi_struct_check(NULL, out, "culv_format_info");
    if (result != CULV_OK) return result;
    const culvi_format *row = culvi_format_find((uint32_t)format);
    if (row == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "format %u is not one that this version shares; culvert/format.h lists them",
                          (unsigned)format);
    culv_format_info info = culv_format_info_init();
    info.format = row->format;
    snprintf(info.name, sizeof info.name, "%s", row->name);
    info.bytes_per_texel = row->texel_bytes;
    info.channels = row->channels;
    info.cuda_array_format = (uint32_t)row->cuda_format;
    snprintf(info.kernel_type, sizeof info.kernel_type, "%s", row->kernel_type);
    culvi_struct_write(out, &info, sizeof info);
    return CULV_OK;
}
