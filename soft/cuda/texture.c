/* SPDX-License-Identifier: MIT */
/* The twin's CUDA driver: texture objects. What they read is the kernel shim's work
 * (culvert_texture.h); this decides what they may be.
 *
 * Stricter than NVIDIA's driver where cuda.h says what is supported and not what happens otherwise
 * (docs/software-twin.md lists it). */
#include "array.h"

#include <stdlib.h>
#include <string.h>

struct texture {
    struct soft_slot slot;
    CUDA_RESOURCE_DESC resource;
    CUDA_TEXTURE_DESC sampling;
    CUDA_RESOURCE_VIEW_DESC view;
};

static struct soft_slots textures = {.kind = SOFT_TEXTURE,
                                     .shared_size = sizeof(culv_soft_texture),
                                     .slot_size = sizeof(struct texture)};

/* What is read, before the view has its say. */
struct source {
    const void *object; /* the array or mipmapped array; NULL: memory */
    const struct soft_array *levels;
    unsigned num_levels;
    struct soft_element element;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    struct soft_level memory; /* the one level of memory */
    unsigned char *start;
};

static CUresult memory_source(CUdeviceptr pointer, CUarray_format format, unsigned channels,
                              size_t size, struct source *out)
{
    SOFT_TRY(soft_element_of(format, channels, &out->element));
    /* Elements of memory are plain ones, and of up to 16 bytes. */
    if (out->element.width > 1) return CUDA_ERROR_INVALID_VALUE;
    if (pointer % SOFT_TEXTURE_ALIGNMENT != 0 || size == 0 ||
        soft_range_holding((uintptr_t)pointer, size) == NULL)
        return CUDA_ERROR_INVALID_VALUE;
    out->start = (unsigned char *)(uintptr_t)pointer;
    out->num_levels = 1;
    out->desc = (CUDA_ARRAY3D_DESCRIPTOR){.Format = format, .NumChannels = channels};
    return CUDA_SUCCESS;
}

static CUresult linear_source(const CUDA_RESOURCE_DESC *resource, struct source *out)
{
    SOFT_TRY(memory_source(resource->res.linear.devPtr, resource->res.linear.format,
                           resource->res.linear.numChannels, resource->res.linear.sizeInBytes,
                           out));
    const size_t elements = resource->res.linear.sizeInBytes / out->element.bytes;
    if (elements == 0 || elements > SOFT_MAX_LINEAR) return CUDA_ERROR_INVALID_VALUE;
    out->desc.Width = elements;
    out->memory.slices = 1;
    return CUDA_SUCCESS;
}

static CUresult pitched_source(const CUDA_RESOURCE_DESC *resource, struct source *out)
{
    const size_t width = resource->res.pitch2D.width, height = resource->res.pitch2D.height,
                 pitch = resource->res.pitch2D.pitchInBytes;
    if (width == 0 || height == 0 || width > SOFT_MAX_2D || height > SOFT_MAX_2D ||
        pitch % SOFT_PITCH_ALIGNMENT != 0 || pitch > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    /* The last row need not be there to its pitch. */
    struct soft_element element;
    SOFT_TRY(
        soft_element_of(resource->res.pitch2D.format, resource->res.pitch2D.numChannels, &element));
    if (width * element.bytes > pitch) return CUDA_ERROR_INVALID_VALUE;
    result = memory_source(resource->res.pitch2D.devPtr, resource->res.pitch2D.format,
                           resource->res.pitch2D.numChannels,
                           pitch * (height - 1) + width * element.bytes, out);
    if (result != CUDA_SUCCESS) return result;
    out->desc.Width = width;
    out->desc.Height = height;
    out->memory.pitch = pitch;
    out->memory.slices = 1;
    return CUDA_SUCCESS;
}

static CUresult source_of(const CUDA_RESOURCE_DESC *resource, struct source *out)
{
    memset(out, 0, sizeof(*out));
    if (resource->flags != 0) return CUDA_ERROR_INVALID_VALUE;
    switch (resource->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        if (resource->res.array.hArray == NULL) return CUDA_ERROR_INVALID_VALUE; /* measured */
        out->levels = soft_array_find(resource->res.array.hArray);
        out->object = out->levels;
        out->num_levels = 1;
        break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY: {
        const struct soft_mipmap *mipmap =
            soft_object_find(resource->res.mipmap.hMipmappedArray, SOFT_MIPMAP);
        out->object = mipmap;
        if (mipmap == NULL) break;
        out->levels = mipmap->levels;
        out->num_levels = mipmap->num_levels;
        break;
    }
    case CU_RESOURCE_TYPE_LINEAR: return linear_source(resource, out);
    case CU_RESOURCE_TYPE_PITCH2D: return pitched_source(resource, out);
    default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (out->object == NULL) return CUDA_ERROR_INVALID_HANDLE;
    out->element = out->levels[0].element;
    out->desc = out->levels[0].level.desc;
    return CUDA_SUCCESS;
}

/* CUresourceViewFormat: three numbers of channels of each of these, in this order. */
static const CUarray_format view_formats[] = {
    CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8,    CU_AD_FORMAT_UNSIGNED_INT16,
    CU_AD_FORMAT_SIGNED_INT16,  CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32,
    CU_AD_FORMAT_HALF,          CU_AD_FORMAT_FLOAT};

/* Another format, and a part of the levels and layers. */
static CUresult apply_view(const CUDA_RESOURCE_VIEW_DESC *view, struct source *source,
                           unsigned *first_level, unsigned *first_layer, unsigned *num_layers)
{
    const bool layered = source->desc.Flags & CUDA_ARRAY3D_LAYERED,
               cube = source->desc.Flags & CUDA_ARRAY3D_CUBEMAP;
    for (size_t i = 0; i < sizeof(view->reserved) / sizeof(view->reserved[0]); i++)
        if (view->reserved[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    if (source->object == NULL || source->element.width > 1) return CUDA_ERROR_INVALID_VALUE;
    /* NONE, which cuda.h has for "no resource view format (use underlying resource format)", is
     * refused (measured). */
    if ((int)view->format <= CU_RES_VIEW_FORMAT_NONE ||
        view->format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
        return CUDA_ERROR_INVALID_VALUE;
    if (view->format >= CU_RES_VIEW_FORMAT_UNSIGNED_BC1)
        return CUDA_ERROR_NOT_SUPPORTED; /* not decoded */
    if (view->width != source->desc.Width || view->height != source->desc.Height ||
        view->depth != source->desc.Depth)
        return CUDA_ERROR_INVALID_VALUE;
    /* What they make of UNORM_INT8X4 and its like no text and no measurement tells. */
    if (soft_format_is_normalized(source->desc.Format)) return CUDA_ERROR_NOT_SUPPORTED;
    const unsigned number = (unsigned)view->format - 1;
    struct soft_element element;
    CUresult result = soft_element_of(view_formats[number / 3], 1u << number % 3, &element);
    if (result != CUDA_SUCCESS || element.bytes != source->element.bytes)
        return CUDA_ERROR_INVALID_VALUE;
    source->element = element;
    source->desc.Format = view_formats[number / 3];
    if (view->firstMipmapLevel > view->lastMipmapLevel ||
        view->lastMipmapLevel >= source->num_levels)
        return CUDA_ERROR_INVALID_VALUE;
    *first_level = view->firstMipmapLevel;
    source->num_levels = view->lastMipmapLevel - view->firstMipmapLevel + 1;
    if (layered && cube) {
        /* Whether these count cubes or faces is not said: all of them, in either, or nothing. */
        if (view->firstLayer == 0 &&
            (view->lastLayer == *num_layers - 1 || view->lastLayer == *num_layers / 6 - 1))
            return CUDA_SUCCESS;
        return view->lastLayer < *num_layers && view->firstLayer <= view->lastLayer
                   ? CUDA_ERROR_NOT_SUPPORTED
                   : CUDA_ERROR_INVALID_VALUE;
    }
    if (!layered)
        return view->firstLayer == 0 && view->lastLayer == 0 ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_VALUE;
    if (view->firstLayer > view->lastLayer || view->lastLayer >= *num_layers)
        return CUDA_ERROR_INVALID_VALUE;
    *first_layer = view->firstLayer;
    *num_layers = view->lastLayer - view->firstLayer + 1;
    return CUDA_SUCCESS;
}

/* How many address modes count. */
static unsigned directions(culv_soft_dimensions dimensions)
{
    switch (dimensions) {
    case CULV_SOFT_1D:
    case CULV_SOFT_1D_LAYERED: return 1;
    case CULV_SOFT_3D: return 3;
    case CULV_SOFT_LINEAR: return 0;
    default: return 2;
    }
}

static bool not_a_number(float value)
{
    return !(value >= value);
}

/* What cuda.h says of CUDA_TEXTURE_DESC, with the rest of `out` filled in already. */
static CUresult apply_sampling(const CUDA_TEXTURE_DESC *desc, const struct source *source,
                               bool mipmapped, culv_soft_texture *out)
{
    const unsigned known_flags = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES |
                                 CU_TRSF_SRGB | CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION |
                                 CU_TRSF_SEAMLESS_CUBEMAP;
    const bool cube = source->desc.Flags & CUDA_ARRAY3D_CUBEMAP,
               linear_memory = out->dimensions == CULV_SOFT_LINEAR;
    for (size_t i = 0; i < sizeof(desc->reserved) / sizeof(desc->reserved[0]); i++)
        if (desc->reserved[i] != 0) return CUDA_ERROR_INVALID_VALUE;
    if (desc->flags & ~known_flags) return CUDA_ERROR_INVALID_VALUE;
    if ((unsigned)desc->filterMode > CU_TR_FILTER_MODE_LINEAR ||
        (unsigned)desc->mipmapFilterMode > CU_TR_FILTER_MODE_LINEAR)
        return CUDA_ERROR_INVALID_VALUE;
    out->normalized = (desc->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    out->seamless = (desc->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
    if ((mipmapped && !out->normalized) || (out->seamless && !cube))
        return CUDA_ERROR_INVALID_VALUE;

    const bool as_integer = desc->flags & CU_TRSF_READ_AS_INTEGER;
    /* Of sRGB blocks there is no read but the linear one (measured). */
    if (soft_format_is_srgb(source->desc.Format) && !(desc->flags & CU_TRSF_SRGB))
        return CUDA_ERROR_INVALID_VALUE;
    const int texel = soft_texel_of(source->desc.Format, as_integer);
    /* A normalized format cannot be read as integers; a compressed or YUV one not at all (by the
     * twin). */
    if (texel < 0)
        return as_integer && soft_texel_of(source->desc.Format, false) >= 0
                   ? CUDA_ERROR_INVALID_VALUE
                   : CUDA_ERROR_NOT_SUPPORTED;
    out->texel = (uint8_t)texel;
    if (desc->flags & CU_TRSF_SRGB) {
        if (texel != CULV_SOFT_UNORM8 || source->element.channels != 4)
            return CUDA_ERROR_INVALID_VALUE;
        out->texel = CULV_SOFT_SRGB8;
    }
    const bool integers = texel < CULV_SOFT_UNORM8;
    out->linear = desc->filterMode == CU_TR_FILTER_MODE_LINEAR && !linear_memory;
    out->mip_linear = desc->mipmapFilterMode == CU_TR_FILTER_MODE_LINEAR && mipmapped;
    if (integers && (out->linear || out->mip_linear)) return CUDA_ERROR_INVALID_VALUE;

    const unsigned count = directions((culv_soft_dimensions)out->dimensions);
    for (unsigned i = 0; i < count; i++) {
        if ((unsigned)desc->addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
            return CUDA_ERROR_INVALID_VALUE;
        out->address[i] =
            (uint8_t)(out->seamless ? CU_TR_ADDRESS_MODE_CLAMP : desc->addressMode[i]);
        if (!out->normalized && !cube && desc->addressMode[i] != CU_TR_ADDRESS_MODE_CLAMP)
            return CUDA_ERROR_INVALID_VALUE;
        if (out->address[i] != CU_TR_ADDRESS_MODE_BORDER) continue;
        /* What the bits of a border colour are to an integer is not said. */
        for (unsigned c = 0; c < 4 && integers; c++)
            if (desc->borderColor[c] != 0.0f) return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (cube) out->normalized = 1; /* a direction is one either way */
    if (not_a_number(desc->mipmapLevelBias) || not_a_number(desc->minMipmapLevelClamp) ||
        not_a_number(desc->maxMipmapLevelClamp) ||
        (mipmapped && desc->minMipmapLevelClamp > desc->maxMipmapLevelClamp))
        return CUDA_ERROR_INVALID_VALUE;
    if (mipmapped) {
        out->bias = desc->mipmapLevelBias;
        out->min_level = desc->minMipmapLevelClamp;
        out->max_level = desc->maxMipmapLevelClamp;
    }
    memcpy(out->border, desc->borderColor, sizeof(out->border));
    return CUDA_SUCCESS;
}

static CUresult describe(const CUDA_RESOURCE_DESC *resource, const CUDA_TEXTURE_DESC *sampling,
                         const CUDA_RESOURCE_VIEW_DESC *view, culv_soft_texture *out,
                         const void **object)
{
    struct source source;
    memset(out, 0, sizeof(*out));
    SOFT_TRY(source_of(resource, &source));
    const bool mipmapped = resource->resType == CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    const bool layers = source.desc.Flags & (CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP);
    unsigned first_level = 0, first_layer = 0,
             num_layers = layers ? (unsigned)source.desc.Depth : 1;
    out->dimensions =
        (uint8_t)(resource->resType == CU_RESOURCE_TYPE_LINEAR ? CULV_SOFT_LINEAR
                                                               : soft_dimensions_of(&source.desc));
    if (view != NULL) {
        result = apply_view(view, &source, &first_level, &first_layer, &num_layers);
        if (result != CUDA_SUCCESS) return result;
    }
    result = apply_sampling(sampling, &source, mipmapped, out);
    if (result != CUDA_SUCCESS) return result;
    out->channels = (uint8_t)source.element.channels;
    out->texel_bytes = (uint8_t)source.element.bytes;
    out->num_levels = (uint8_t)source.num_levels;
    for (unsigned i = 0; i < source.num_levels; i++) {
        const struct soft_array *array =
            source.object == NULL ? NULL : &source.levels[first_level + i];
        const struct soft_level *level = array == NULL ? &source.memory : &array->level;
        const CUDA_ARRAY3D_DESCRIPTOR *desc = array == NULL ? &source.desc : &level->desc;
        out->levels[i] = (culv_soft_texture_level){
            .start = (array == NULL ? source.start : array->start) + first_layer * level->slice,
            .pitch = level->pitch,
            .slice = level->slice,
            .width = (uint32_t)desc->Width,
            .height = desc->Height == 0 ? 1 : (uint32_t)desc->Height,
            .depth = layers ? num_layers : (uint32_t)level->slices};
    }
    *object = source.object;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectCreate(CUtexObject *pTexObject, const CUDA_RESOURCE_DESC *pResDesc,
                                   const CUDA_TEXTURE_DESC *pTexDesc,
                                   const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    culv_soft_texture shared;
    const void *object;
    uint64_t handle;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pTexObject == NULL || pResDesc == NULL || pTexDesc == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    SOFT_STEP(describe(pResDesc, pTexDesc, pResViewDesc, &shared, &object));
    struct texture *texture = soft_slot_take(&textures, context, &handle);
    if (texture == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    shared.turn = *texture->slot.turn;
    memcpy(texture->slot.shared, &shared, sizeof(shared));
    texture->slot.array = object;
    texture->resource = *pResDesc;
    texture->sampling = *pTexDesc;
    texture->view = pResViewDesc != NULL ? *pResViewDesc : (CUDA_RESOURCE_VIEW_DESC){.width = 0};
    *pTexObject = handle;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexObjectDestroy(CUtexObject texObject)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT_TO_FREE, context);
    struct texture *texture = soft_slot_find(&textures, texObject);
    if (texObject == 0) return soft_end(CUDA_SUCCESS); /* measured */
    if (texture == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    int error = texture->slot.object.context->error; /* told, and freed all the same */
    soft_slot_free(texture);
    return soft_end((CUresult)error);
}

/* Locked on success. */
static CUresult begin_query(const char *call, const void *out, CUtexObject handle,
                            const struct texture **texture)
{
    struct soft_context *context;
    SOFT_TRY(soft_begin(call, SOFT_NEED_CONTEXT, &context));
    *texture = soft_slot_find(&textures, handle);
    return out == NULL || *texture == NULL ? soft_end(CUDA_ERROR_INVALID_VALUE) : CUDA_SUCCESS;
}

CUresult CUDAAPI cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUtexObject texObject)
{
    const struct texture *texture = NULL;
    SOFT_TRY(begin_query(__func__, pResDesc, texObject, &texture));
    *pResDesc = texture->resource;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC *pTexDesc, CUtexObject texObject)
{
    const struct texture *texture = NULL;
    SOFT_TRY(begin_query(__func__, pTexDesc, texObject, &texture));
    CUDA_TEXTURE_DESC told = texture->sampling;
    memcpy(told.borderColor, pTexDesc->borderColor, sizeof(told.borderColor)); /* as measured */
    *pTexDesc = told;
    return soft_end(CUDA_SUCCESS);
}

/* Surface objects. */

static struct soft_slots surfaces = {.kind = SOFT_SURFACE,
                                     .shared_size = sizeof(culv_soft_surface),
                                     .slot_size = sizeof(struct soft_slot)};

CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *pSurfObject, const CUDA_RESOURCE_DESC *pResDesc)
{
    uint64_t handle;
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    if (pSurfObject == NULL || pResDesc == NULL || pResDesc->resType != CU_RESOURCE_TYPE_ARRAY ||
        pResDesc->flags != 0 || pResDesc->res.array.hArray == NULL)
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    const struct soft_array *array = soft_array_find(pResDesc->res.array.hArray);
    if (array == NULL) return soft_end(CUDA_ERROR_INVALID_HANDLE);
    if (!(array->level.desc.Flags & CUDA_ARRAY3D_SURFACE_LDST))
        return soft_end(CUDA_ERROR_INVALID_VALUE);
    struct soft_slot *slot = soft_slot_take(&surfaces, context, &handle);
    if (slot == NULL) return soft_end(CUDA_ERROR_OUT_OF_MEMORY);
    culv_soft_surface *surface = slot->shared;
    surface->dimensions = (uint8_t)soft_dimensions_of(&array->level.desc);
    surface->start = array->start;
    surface->pitch = array->level.pitch;
    surface->slice = array->level.slice;
    surface->width_bytes = (uint32_t)array->level.width_bytes;
    surface->height = (uint32_t)array->level.rows;
    surface->depth = (uint32_t)array->level.slices;
    slot->array = array;
    slot->handle = pResDesc->res.array.hArray;
    *pSurfObject = handle;
    return soft_end(CUDA_SUCCESS);
}

CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject surfObject)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT_TO_FREE, context);
    struct soft_slot *slot = soft_slot_find(&surfaces, surfObject);
    if (surfObject == 0) return soft_end(CUDA_SUCCESS); /* measured */
    if (slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    int error = slot->object.context->error; /* told, and freed all the same */
    soft_slot_free(slot);
    return soft_end((CUresult)error);
}

CUresult CUDAAPI cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC *pResDesc, CUsurfObject surfObject)
{
    SOFT_BEGIN_IN(SOFT_NEED_CONTEXT, context);
    const struct soft_slot *slot = soft_slot_find(&surfaces, surfObject);
    if (pResDesc == NULL || slot == NULL) return soft_end(CUDA_ERROR_INVALID_VALUE);
    memset(pResDesc, 0, sizeof(*pResDesc));
    pResDesc->resType = CU_RESOURCE_TYPE_ARRAY;
    pResDesc->res.array.hArray = slot->handle;
    return soft_end(CUDA_SUCCESS);
}

/* Slots, in which kernels find what a surface or texture object is.
 *
 * The kernel shim reads a slot without asking (shared/module_abi.h). Slots are never given back to
 * the system, and a slot's turn is part of the handle: a kernel that uses an object which is gone,
 * or whose array is, finds nothing there and faults. */

#define SLOTS_AT_ONCE 64u
#define ALIGNMENT     64u

static uint64_t handle_of(const struct soft_slot *slot)
{
    return (uint64_t)*slot->turn << CULV_SOFT_TURN_SHIFT | (uintptr_t)slot->shared;
}

static size_t up(size_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_back(struct soft_slots *slots, struct soft_slot *slot)
{
    slot->next_free = NULL;
    *slots->last_free = slot; /* a queue: each turn lasts as long as can be */
    slots->last_free = &slot->next_free;
}

static bool grow(struct soft_slots *slots)
{
    const size_t shared = up(slots->shared_size), whole = shared + up(slots->slot_size);
    void *memory; /* never freed */
#ifdef _WIN32
    memory = _aligned_malloc(SLOTS_AT_ONCE * whole, ALIGNMENT);
    if (memory == NULL) return false;
#else
    if (posix_memalign(&memory, ALIGNMENT, SLOTS_AT_ONCE * whole) != 0) return false;
#endif
    memset(memory, 0, SLOTS_AT_ONCE * whole);
    for (size_t i = 0; i < SLOTS_AT_ONCE; i++) {
        unsigned char *at = (unsigned char *)memory + i * whole;
        struct soft_slot *slot = (struct soft_slot *)(void *)(at + shared);
        slot->shared = at;
        slot->turn = (uint16_t *)(void *)at;
        slot->slots = slots;
        put_back(slots, slot);
    }
    return true;
}

void *soft_slot_take(struct soft_slots *slots, struct soft_context *context, uint64_t *handle)
{
    if (slots->last_free == NULL) slots->last_free = &slots->first_free;
    if (slots->first_free == NULL && !grow(slots)) return NULL;
    struct soft_slot *slot = slots->first_free;
    slots->first_free = slot->next_free;
    if (slots->first_free == NULL) slots->last_free = &slots->first_free;
    soft_object_add(&slot->object, slots->kind, context);
    *handle = handle_of(slot);
    return slot;
}

void *soft_slot_find(const struct soft_slots *slots, uint64_t handle)
{
    const uintptr_t place = CULV_SOFT_ADDRESS(handle) + up(slots->shared_size);
    struct soft_slot *slot = soft_object_find((const void *)place, slots->kind);
    return slot != NULL && handle_of(slot) == handle ? slot : NULL;
}

void soft_slot_close(struct soft_slot *slot)
{
    const uint16_t turn = *slot->turn;
    memset(slot->shared, 0, slot->slots->shared_size);
    *slot->turn = turn;
    slot->array = NULL;
}

void soft_slot_free(void *handle)
{
    struct soft_slot *slot = handle;
    soft_slot_close(slot);
    ++*slot->turn;
    soft_object_remove(&slot->object);
    put_back(slot->slots, slot);
}

static void forget(void *handle, void *array)
{
    struct soft_slot *slot = handle;
    if (slot->array == array) soft_slot_close(slot);
}

void soft_slots_forget(const void *array)
{
    soft_objects_each(SOFT_SURFACE, forget, (void *)(uintptr_t)array);
    soft_objects_each(SOFT_TEXTURE, forget, (void *)(uintptr_t)array);
}
