/* SPDX-License-Identifier: MIT */
/* CUDA driver calls in the log. */
#include "cuda/cuda_trace.h"

_Static_assert(sizeof(CUipcMemHandle) == sizeof(culvi_value_bytes) &&
                   sizeof(CUipcEventHandle) == sizeof(culvi_value_bytes),
               "handles of other processes: bytes that are as good as a key");

static void add_array(culvi_text *text, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    culvi_text_add(text, "%zu x %zu x %zu, format %#x, channels %u, flags %#x", d->Width, d->Height,
                   d->Depth, (unsigned)d->Format, d->NumChannels, d->Flags);
}

static void add(culvi_text *text, unsigned kind, const void *pointer)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *import = pointer;
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *semaphore = pointer;
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *range = pointer;
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *arrays = pointer;
    const CUmemAllocationProp *properties = pointer;
    const CUmemLocation *location = pointer;
    culvi_text_add(text, "{");
    switch (kind) {
    case CULVI_VALUE_import:
        culvi_text_add(text, "type %d, size %llu, flags %#x", (int)import->type, import->size,
                       import->flags);
        break;
    case CULVI_VALUE_import_semaphore:
        culvi_text_add(text, "type %d, flags %#x", (int)semaphore->type, semaphore->flags);
        break;
    case CULVI_VALUE_range:
        culvi_text_add(text, "offset %llu, size %llu", range->offset, range->size);
        break;
    case CULVI_VALUE_arrays:
        culvi_text_add(text, "offset %llu, ", arrays->offset);
        add_array(text, &arrays->arrayDesc);
        culvi_text_add(text, ", levels %u", arrays->numLevels);
        break;
    case CULVI_VALUE_array: add_array(text, pointer); break;
    case CULVI_VALUE_properties:
        culvi_text_add(text, "location %d of type %d, handle types %#x", properties->location.id,
                       (int)properties->location.type, (unsigned)properties->requestedHandleTypes);
        break;
    default: culvi_text_add(text, "%d of type %d", location->id, (int)location->type); break;
    }
    culvi_text_add(text, "}");
}

CUresult culvi_trace_cuda(const culvi_voice *voice, const culvi_cuda *cuda, const char *call,
                          CUresult result, uint64_t kinds, ...)
{
    const char *name = NULL;
    va_list values;
    if (!culvi_traces(voice)) return result;
    if (cuda->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) {
        CULVI_TEXT(text, 24);
        culvi_text_add(&text, "error %d", (int)result);
        name = text.data;
    }
    va_start(values, kinds);
    culvi_trace(voice, call, name, result == CUDA_SUCCESS, add, kinds, values);
    va_end(values);
    return result;
}
