/* SPDX-License-Identifier: MIT */
/* CUDA driver calls in the log. */
#include "cuda/cuda_trace.h"

static void add_import(culvi_text *text, const culvi_value *value)
{
    const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d = value->at.pointer;
    culvi_text_add(text, "{type %d, size %llu, flags %#x}", (int)d->type, d->size, d->flags);
}

static void add_import_semaphore(culvi_text *text, const culvi_value *value)
{
    const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d = value->at.pointer;
    culvi_text_add(text, "{type %d, flags %#x}", (int)d->type, d->flags);
}

static void add_range(culvi_text *text, const culvi_value *value)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *d = value->at.pointer;
    culvi_text_add(text, "{offset %llu, size %llu}", d->offset, d->size);
}

static void add_array_desc(culvi_text *text, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    culvi_text_add(text, "%zu x %zu x %zu, format %#x, channels %u, flags %#x", d->Width, d->Height,
                   d->Depth, (unsigned)d->Format, d->NumChannels, d->Flags);
}

static void add_arrays(culvi_text *text, const culvi_value *value)
{
    const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *d = value->at.pointer;
    culvi_text_add(text, "{offset %llu, ", d->offset);
    add_array_desc(text, &d->arrayDesc);
    culvi_text_add(text, ", levels %u}", d->numLevels);
}

static void add_array(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "{");
    add_array_desc(text, value->at.pointer);
    culvi_text_add(text, "}");
}

static void add_properties(culvi_text *text, const culvi_value *value)
{
    const CUmemAllocationProp *p = value->at.pointer;
    culvi_text_add(text, "{location %d of type %d, handle types %#x}", p->location.id,
                   (int)p->location.type, (unsigned)p->requestedHandleTypes);
}

static void add_location(culvi_text *text, const culvi_value *value)
{
    const CUmemLocation *l = value->at.pointer;
    culvi_text_add(text, "{%d of type %d}", l->id, (int)l->type);
}

CULVI_VALUE_STRUCT(import, CUDA_EXTERNAL_MEMORY_HANDLE_DESC)
CULVI_VALUE_STRUCT(import_semaphore, CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC)
CULVI_VALUE_STRUCT(range, CUDA_EXTERNAL_MEMORY_BUFFER_DESC)
CULVI_VALUE_STRUCT(arrays, CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC)
CULVI_VALUE_STRUCT(array, CUDA_ARRAY3D_DESCRIPTOR)
CULVI_VALUE_STRUCT(properties, CUmemAllocationProp)
CULVI_VALUE_STRUCT(location, CUmemLocation)

/* Bytes that say nothing to a reader, and that are as good as a key. */
static void add_bytes(culvi_text *text, const culvi_value *value)
{
    (void)value;
    culvi_text_add(text, "{%zu bytes}", sizeof(CUipcMemHandle));
}

culvi_value culvi_value_ipc_memory(CUipcMemHandle handle)
{
    (void)handle;
    return culvi_value_struct(add_bytes, "");
}

culvi_value culvi_value_ipc_event(CUipcEventHandle handle)
{
    (void)handle;
    return culvi_value_struct(add_bytes, "");
}

CUresult culvi_trace_cuda(const culvi_voice *voice, const culvi_cuda *cuda, const char *call,
                          CUresult result, const culvi_value *values, size_t count)
{
    char number[24];
    const char *name = NULL;
    if (cuda->cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL) {
        culvi_text text = {number, sizeof number, 0};
        culvi_text_add(&text, "error %d", (int)result);
        name = number;
    }
    culvi_trace(voice, call, name, result == CUDA_SUCCESS, values, count);
    return result;
}
