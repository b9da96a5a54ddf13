/* SPDX-License-Identifier: MIT */
/* Whether a device's driver has a CUDA array format: known of the oldest, asked of the driver once
 * for each other. The small array that answers is kept until the device goes: destroying one may
 * wait for all work of the context, and a question must not. */
#include "cuda/context.h"
#include "cuda/format.h"
#include "cuda/retire.h"

/* What is kept in culv_device::array_formats: NULL as long as nobody asked, this, or the array. */
#define LACKS_IT ((CUarray)(uintptr_t)1)

static culv_result refuse(culv_device *device, const char *label, const culvi_format *row,
                          CUarray_format format)
{
    uint32_t since = culvi_array_format_version(format);
    return culvi_fail(
        &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
        "%s is CUDA's array format %#x, which came with CUDA %u.%u, and the driver of '%s' (CUDA "
        "%u.%u) cannot make such arrays: use another format, or a newer driver",
        row->name, (unsigned)format, (unsigned)since / 1000, (unsigned)since % 1000 / 10,
        device->caps.name, (unsigned)device->caps.driver_version / 1000,
        (unsigned)device->caps.driver_version % 1000 / 10);
}

static bool says_no(CUresult r)
{
    return r == CUDA_ERROR_INVALID_VALUE || r == CUDA_ERROR_NOT_SUPPORTED;
}

/* Makes a small array, whose sides are multiples of what blocks and chroma need. Packed 4:2:2 is
 * offered plain, then for encoding and decoding: cuda.h does not say whether a driver has it
 * otherwise. */
static CUresult create(culv_device *device, const culvi_format *row, CUarray_format format,
                       uint32_t channels, CUarray *array)
{
    bool video = row->kind == CULV_TEXEL_KIND_SUBSAMPLED;
    CUDA_ARRAY3D_DESCRIPTOR small = {
        .Width = 16, .Height = 16, .Format = format, .NumChannels = channels};
    CUresult r = CULVI_CU(device, cuArray3DCreate, (array, &small));
    if (!video || !says_no(r)) return r;
    small.Flags = CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
    return CULVI_CU(device, cuArray3DCreate, (array, &small));
}

static culv_result ask(culv_device *device, const char *label, const culvi_format *row,
                       CUarray_format format, uint32_t channels, CUarray *answer)
{
    culvi_scope scope;
    CULVI_TRY(culvi_enter(device, &scope, label));
    CUresult r = create(device, row, format, channels, answer);
    culvi_leave(device, &scope);
    if (r == CUDA_SUCCESS) return CULV_OK;
    *answer = LACKS_IT;
    if (says_no(r)) return CULV_OK;
    return culvi_fail_cuda(device, label, r, "cuArray3DCreate", CULV_REASON_DRIVER_REFUSED,
                           "the driver could not be asked for the array format of %s", row->name);
}

culv_result culvi_format_supported(culv_device *device, const culvi_format *row, culv_texels texels,
                                   const char *label)
{
    bool normalized = texels == CULV_TEXELS_NORMALIZED;
    CUarray_format format = normalized ? row->normalized_format : row->cuda_format;
    if (!row->mapped)
        return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, row->reason,
                          "%s is not mapped: %s", row->name, culvi_format_tell_why(row).text);
    if (row->planes > 1 && !normalized) return CULV_OK; /* their formats are the oldest */
    if (format == 0)
        return culvi_fail(
            &device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
            "CUDA has no normalized array format like %s; map it as CULV_TEXELS_STORED", row->name);
    if (culvi_array_format_version(format) == 0) return CULV_OK;
    _Atomic(CUarray) *kept = &device->array_formats[(unsigned)format % CULVI_ARRAY_FORMATS];
    CUarray answer = atomic_load_explicit(kept, memory_order_acquire);
    if (answer == NULL) {
        culvi_mutex_lock(&device->lock);
        culv_result result = CULV_OK;
        answer = atomic_load_explicit(kept, memory_order_relaxed);
        if (answer == NULL) {
            result = ask(device, label, row, format,
                         normalized ? row->normalized_channels : row->channels, &answer);
            if (result == CULV_OK) atomic_store_explicit(kept, answer, memory_order_release);
        }
        culvi_mutex_unlock(&device->lock);
        if (result != CULV_OK) return result;
    }
    return answer != LACKS_IT ? CULV_OK : refuse(device, label, row, format);
}

void culvi_formats_release(culv_device *device)
{
    culvi_scope scope;
    bool tried = false, entered = false;
    for (size_t i = 0; i < CULVI_ARRAY_FORMATS; i++) {
        CUarray array = atomic_load_explicit(&device->array_formats[i], memory_order_relaxed);
        if (array == NULL || array == LACKS_IT) continue;
        if (!tried) entered = culvi_enter_quietly(device, &scope) == CUDA_SUCCESS;
        tried = true;
        CULVI_RELEASE_SURELY(device, cuArrayDestroy, (array));
    }
    if (entered) culvi_leave(device, &scope);
}

culv_result culv_check_format(culv_device *device, culv_format format, culv_texels texels)
{
    CULVI_REQUIRE(NULL, device);
    if (texels != CULV_TEXELS_STORED && texels != CULV_TEXELS_NORMALIZED)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_check_format: texels is %u, which is not a culv_texels",
                          (unsigned)texels);
    const culvi_format *row = culvi_format_find((uint32_t)format);
    if (row == NULL)
        return culvi_fail(&device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_FORMAT,
                          "culv_check_format: format is %u, which is not a format of Vulkan 1.3; "
                          "culvert/format_list.h lists them",
                          (unsigned)format);
    return culvi_format_supported(device, row, texels, NULL);
}
