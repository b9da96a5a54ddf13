/* SPDX-License-Identifier: MIT */
/* DLPack tensors: shapes and ranges, the two forms, and the order between streams. */
#include "core/memory.h"

/* Both forms in one block, and behind them the shape and the strides: one is handed out at a
 * time. */
typedef struct dlpack_tensor {
    culv_dl_managed_tensor_versioned versioned;
    culv_dl_managed_tensor unversioned;
    const culv_device *device; /* for messages; whoever may ask still holds the tensor */
    void (*give_up)(void *owner);
    void *owner;
    int64_t numbers[]; /* shape, strides */
} dlpack_tensor;

static void delete_tensor(dlpack_tensor *tensor)
{
    void (*give_up)(void *) = tensor->give_up;
    void *owner = tensor->owner;
    culvi_free(tensor);
    give_up(owner);
}

static void delete_versioned(culv_dl_managed_tensor_versioned *self)
{
    if (self != NULL) delete_tensor(self->manager_ctx);
}

static void delete_unversioned(culv_dl_managed_tensor *self)
{
    if (self != NULL) delete_tensor(self->manager_ctx);
}

/* Ranges --------------------------------------------------------------------------------------- */

static bool multiply(int64_t a, uint64_t b, int64_t *out)
{
    const uint64_t magnitude = a < 0 ? 0u - (uint64_t)a : (uint64_t)a;
    if (b != 0 && magnitude > (uint64_t)INT64_MAX / b) return false;
    const int64_t product = (int64_t)(magnitude * b);
    *out = a < 0 ? -product : product;
    return true;
}

static bool add(int64_t a, int64_t b, int64_t *out)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}

/* Bytes from the first element to the lowest byte (0 or less) and to the end of the highest one.
 * False: some number overflows. An empty tensor has neither. */
static bool extent(int32_t ndim, const int64_t *shape, const int64_t *strides, uint64_t element,
                   int64_t *low, int64_t *high)
{
    *low = 0;
    *high = 0;
    for (int32_t i = 0; i < ndim; i++)
        if (shape[i] == 0) return true;
    *high = (int64_t)element;
    for (int32_t i = 0; i < ndim; i++) {
        int64_t span = 0;
        if (!multiply(strides[i], (uint64_t)shape[i] - 1, &span) ||
            !multiply(span, element, &span) ||
            !add(span < 0 ? *low : *high, span, span < 0 ? low : high))
            return false;
    }
    return true;
}

static bool row_major(int32_t ndim, const int64_t *shape, int64_t *strides)
{
    int64_t next = 1;
    for (int32_t i = ndim; i-- > 0;) {
        strides[i] = next;
        if (!multiply(next, shape[i] > 0 ? (uint64_t)shape[i] : 1, &next)) return false;
    }
    return true;
}

static uint64_t element_bytes(const culv_dl_type *type)
{
    const uint32_t bits = (uint32_t)type->bits * type->lanes;
    return bits % 8 == 0 ? bits / 8 : 0;
}

culv_result culv_dlpack_get_range(const culv_dl_tensor *tensor, CUdeviceptr *pointer,
                                  uint64_t *size)
{
    int64_t own[CULV_DLPACK_MAX_DIMENSIONS], low = 0, high = 0;
    CULVI_REQUIRE3(NULL, tensor, pointer, size);
    const uint64_t element = element_bytes(&tensor->dtype);
    bool valid = tensor->ndim >= 0 && tensor->ndim <= CULV_DLPACK_MAX_DIMENSIONS && element != 0 &&
                 (tensor->ndim == 0 || tensor->shape != NULL);
    for (int32_t i = 0; valid && i < tensor->ndim; i++)
        valid = tensor->shape[i] >= 0;
    CULVI_REFUSE_IF(
        !valid, NULL, NULL, CULV_REASON_VALUE,
        "culv_dlpack_get_range: the tensor has %" PRId32
        " dimensions and elements of %u bits in %u lanes; Culvert takes up to %d dimensions, none of them negative, and elements of whole bytes",
        tensor->ndim, tensor->dtype.bits, tensor->dtype.lanes, CULV_DLPACK_MAX_DIMENSIONS);
    const int64_t *strides = tensor->strides;
    bool fits = true;
    if (strides == NULL) { /* before DLPack 1.2: row-major */
        fits = row_major(tensor->ndim, tensor->shape, own);
        strides = own;
    }
    CULVI_REFUSE_IF(!fits || !extent(tensor->ndim, tensor->shape, strides, element, &low, &high) ||
                        high == low,
                    NULL, NULL, CULV_REASON_SIZE, "culv_dlpack_get_range: the tensor %s",
                    high == low && fits ? "has no elements, so it covers no memory"
                                        : "covers more bytes than can be counted");
    *pointer = (CUdeviceptr)(uintptr_t)tensor->data + tensor->byte_offset + (uint64_t)low;
    *size = (uint64_t)high - (uint64_t)low;
    return CULV_OK;
}

/* Making --------------------------------------------------------------------------------------- */

static culv_result check_type(const culvi_dlpack_memory *memory, culv_dl_type *type)
{
    if (type->code == 0 && type->bits == 0 && type->lanes == 0) {
        type->code = CULV_DL_UINT;
        type->bits = 8;
    }
    if (type->lanes == 0) type->lanes = 1;
    if (type->bits % 8 == 0 && type->bits != 0) return CULV_OK;
    return culvi_fail(
        &memory->device->voice, memory->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
        "culv_dlpack_desc.type has %u bits; an element of Culvert's is made of whole bytes, such as {CULV_DL_FLOAT, 32, 1}",
        type->bits);
}

static culv_result check_device_type(const culvi_dlpack_memory *memory, culv_dl_device_type *type)
{
    const culv_device *device = memory->device;
    const bool software = device->caps.is_software != 0;
    if (*type == 0)
        *type = software               ? CULV_DL_DEVICE_CPU
                : memory->host != NULL ? CULV_DL_DEVICE_CUDA_HOST
                                       : CULV_DL_DEVICE_CUDA;
    const bool right = software ? *type == CULV_DL_DEVICE_CPU
                       : *type == CULV_DL_DEVICE_CUDA
                           ? true
                           : memory->host != NULL &&
                                 (*type == CULV_DL_DEVICE_CUDA_HOST || *type == CULV_DL_DEVICE_CPU);
    if (right) return CULV_OK;
    return culvi_fail(&device->voice, memory->label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                      "culv_dlpack_desc.device_type is %d, but the memory is %s: say %s, or 0",
                      (int)*type,
                      software               ? "the software twin's, which only the CPU reaches"
                      : memory->host != NULL ? "the host's"
                                             : "the GPU's, which the CPU does not reach",
                      software ? "CULV_DL_DEVICE_CPU"
                      : memory->host != NULL
                          ? "CULV_DL_DEVICE_CUDA_HOST, CULV_DL_DEVICE_CPU or CULV_DL_DEVICE_CUDA"
                          : "CULV_DL_DEVICE_CUDA");
}

static culv_result check_shape(const culvi_dlpack_memory *memory, const culv_dlpack_desc *d)
{
    const culvi_voice *voice = &memory->device->voice;
    CULVI_REFUSE_IF(
        d->ndim < 0 || d->ndim > CULV_DLPACK_MAX_DIMENSIONS ||
            (d->shape == NULL && (d->ndim > 1 || d->strides != NULL)),
        voice, memory->label, CULV_REASON_VALUE,
        "culv_dlpack_desc.ndim is %" PRId32 "%s; it is 0 to %d, with a shape of as many numbers",
        d->ndim, d->shape == NULL ? " and shape is NULL" : "", CULV_DLPACK_MAX_DIMENSIONS);
    for (int32_t i = 0; d->shape != NULL && i < d->ndim; i++)
        CULVI_REFUSE_IF(d->shape[i] < 0, voice, memory->label, CULV_REASON_SIZE,
                        "culv_dlpack_desc.shape[%" PRId32 "] is %" PRId64, i, d->shape[i]);
    if (d->offset <= memory->size) return CULV_OK;
    return culvi_fail(voice, memory->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "culv_dlpack_desc.offset is %" PRIu64 ", but the memory has %" PRIu64
                      " bytes",
                      d->offset, memory->size);
}

/* The elements must lie in the memory, and no consumer reads them at odd addresses. */
static culv_result check_elements(const culvi_dlpack_memory *memory, const culv_dlpack_desc *d,
                                  uint64_t element, const dlpack_tensor *tensor)
{
    const culvi_voice *voice = &memory->device->voice;
    const culv_dl_tensor *t = &tensor->versioned.dl_tensor;
    const uint64_t lane = d->type.bits / 8u;
    int64_t low = 0, high = 0;
    CULVI_REFUSE_IF(!extent(t->ndim, t->shape, t->strides, element, &low, &high), voice,
                    memory->label, CULV_REASON_SIZE,
                    "culv_dlpack_desc: the tensor covers more bytes than can be counted");
    const uint64_t before = 0u - (uint64_t)low;
    CULVI_REFUSE_IF(before > d->offset || (uint64_t)high > memory->size - d->offset, voice,
                    memory->label, CULV_REASON_RANGE,
                    "culv_dlpack_desc: the tensor needs %" PRIu64 " bytes before and %" PRId64
                    " after offset %" PRIu64 " of memory that has %" PRIu64 " bytes",
                    before, high, d->offset, memory->size);
    /* 16 bytes of complex128 are aligned as its 8 are. */
    const uint64_t alignment = lane > 8 ? 8 : lane;
    /* It is never 0 here: check_type() refuses that. clang-tidy does not see it. */
    if (alignment == 0 || d->offset % alignment == 0) return CULV_OK;
    return culvi_fail(voice, memory->label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "culv_dlpack_desc.offset is %" PRIu64
                      ", which is not a multiple of the element's %" PRIu64 " bytes",
                      d->offset, lane);
}

culv_result culvi_dlpack_create(const culvi_dlpack_memory *memory, const culv_dlpack_desc *desc,
                                void *owner, culv_dl_managed_tensor_versioned **out)
{
    const culv_device *device = memory->device;
    CULVI_READ(&device->voice, culv_dlpack_desc, d, desc);
    CULVI_TRY(check_type(memory, &d.type));
    CULVI_TRY(check_device_type(memory, &d.device_type));
    CULVI_TRY(check_shape(memory, &d));
    culv_result result = CULV_OK;
    const uint64_t element = element_bytes(&d.type); /* check_type() refuses 0 */
    const int64_t whole = element == 0 ? 0 : (int64_t)((memory->size - d.offset) / element);
    const int32_t ndim = d.shape != NULL ? d.ndim : 1;
    dlpack_tensor *tensor =
        culvi_alloc(sizeof *tensor + (size_t)(ndim > 0 ? ndim : 1) * 2 * sizeof(int64_t));
    if (tensor == NULL) return culvi_fail_host_memory(&device->voice, memory->label);
    culv_dl_tensor *t = &tensor->versioned.dl_tensor;
    const bool by_cpu = !device->caps.is_software && d.device_type != CULV_DL_DEVICE_CUDA;
    t->data =
        by_cpu ? (char *)memory->host + d.offset : (void *)(uintptr_t)(memory->pointer + d.offset);
    t->device.device_type = (int32_t)d.device_type;
    t->device.device_id = d.device_type == CULV_DL_DEVICE_CUDA ? (int32_t)device->ordinal : 0;
    t->ndim = ndim;
    t->dtype = d.type;
    t->shape = tensor->numbers;
    t->strides = tensor->numbers + ndim;
    t->byte_offset = 0;
    for (int32_t i = 0; i < ndim; i++)
        t->shape[i] = d.shape != NULL ? d.shape[i] : whole;
    if (d.strides == NULL && !row_major(ndim, t->shape, t->strides))
        result = culvi_fail(&device->voice, memory->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
                            "culv_dlpack_desc.shape has more elements than can be counted");
    for (int32_t i = 0; d.strides != NULL && i < ndim; i++)
        t->strides[i] = d.strides[i];
    if (result == CULV_OK) result = check_elements(memory, &d, element, tensor);
    CULVI_TRY_OR(result, culvi_free(tensor));
    tensor->device = device;
    tensor->give_up = memory->give_up;
    tensor->owner = owner;
    tensor->versioned.version.major = CULV_DLPACK_VERSION_MAJOR;
    tensor->versioned.version.minor = CULV_DLPACK_VERSION_MINOR;
    tensor->versioned.manager_ctx = tensor;
    tensor->versioned.deleter = delete_versioned;
    tensor->versioned.flags = d.read_only ? CULV_DL_READ_ONLY : 0;
    *out = &tensor->versioned;
    return CULV_OK;
}

culv_result culv_dlpack_to_unversioned(culv_dl_managed_tensor_versioned **tensor,
                                       culv_dl_managed_tensor **out)
{
    CULVI_REQUIRE2(NULL, tensor, out);
    if (*tensor == NULL) return culvi_fail_null(NULL, __func__, "*tensor");
    CULVI_REFUSE_IF(
        (*tensor)->deleter != delete_versioned, NULL, NULL, CULV_REASON_VALUE,
        "culv_dlpack_to_unversioned: the tensor was not made by Culvert; ask its producer for the form without a version");
    dlpack_tensor *mine = (*tensor)->manager_ctx;
    CULVI_REFUSE_IF(
        mine->versioned.flags & CULV_DL_READ_ONLY, &mine->device->voice, NULL, CULV_REASON_USAGE,
        "culv_dlpack_to_unversioned: the tensor is read-only, and the form without a version cannot say so; leave culv_dlpack_desc.read_only out, or use a consumer that takes DLPack 1.0");
    mine->unversioned.dl_tensor = mine->versioned.dl_tensor;
    mine->unversioned.manager_ctx = mine;
    mine->unversioned.deleter = delete_unversioned;
    *out = &mine->unversioned;
    *tensor = NULL;
    return CULV_OK;
}

/* Buffers and images --------------------------------------------------------------------------- */

static void give_up_buffer(void *owner)
{
    culvi_buffer_release_or_defer(owner, NULL);
}

culv_result culv_buffer_get_dlpack(culv_buffer *buffer, const culv_dlpack_desc *desc,
                                   culv_dl_managed_tensor_versioned **out)
{
    culv_buffer *mine = NULL;
    CULVI_REQUIRE(NULL, buffer);
    culv_device *device = buffer->memory->device;
    CULVI_REQUIRE(&device->voice, out);
    CULVI_REFUSE_IF(
        culvi_memory_is_registration(buffer->memory), &device->voice, buffer->label,
        CULV_REASON_OWNED,
        "culv_buffer_get_dlpack: the buffer is a registered one, whose memory CUDA has until the unmap, and a tensor may live longer; copy the bytes at culv_buffer_pointer() into memory of yours, or share a buffer with %s in place of registering it",
        buffer->memory->words->name);
    if (buffer->staging != NULL) culvi_late_prepare(device); /* culvi_staging_release() waits */
    const uint64_t at = buffer->pointer - buffer->memory->base;
    CULVI_TRY(culvi_buffer_range(buffer->memory, at, buffer->size, buffer->label, true, &mine));
    const culvi_dlpack_memory memory = {
        .device = device,
        .label = buffer->label,
        .pointer = mine->pointer,
        .host = mine->memory->host != NULL ? (char *)mine->memory->host + at : NULL,
        .size = mine->size,
        .give_up = give_up_buffer};
    culv_result result = culvi_dlpack_create(&memory, desc, mine, out);
    if (result != CULV_OK) give_up_buffer(mine);
    return result;
}

culv_result culv_dlpack_describe_image(const culv_subresource_layout *layout, uint32_t channels,
                                       culv_dlpack_desc *desc, int64_t *shape, int64_t *strides)
{
    CULVI_REQUIRE2(NULL, layout, desc);
    CULVI_REQUIRE2(NULL, shape, strides);
    CULVI_TRY(culvi_struct_check(NULL, layout, "culv_subresource_layout"));
    CULVI_TRY(culvi_struct_check(NULL, desc, "culv_dlpack_desc"));
    const culv_dl_type type = desc->type.bits != 0
                                  ? desc->type
                                  : (culv_dl_type){.code = CULV_DL_UINT, .bits = 8, .lanes = 1};
    const uint64_t element = (uint64_t)(type.bits / 8) *
                             (type.lanes != 0 ? type.lanes : 1); /* whole bytes, or refused */
    const bool slices = layout->depth > 1, layers = layout->array_layers > 1;
    const uint64_t outer = slices ? layout->depth_pitch : layers ? layout->layer_pitch : 0;
    const char *wrong =
        channels == 0 || type.bits % 8 != 0 || element * channels != layout->bytes_per_block
            ? "the elements of a texel are not as large as the texel"
        : layout->block_width != 1 || layout->block_height != 1 ? "a block has several texels"
        : slices && layers                                      ? "it has slices and layers"
        : layout->row_pitch % element != 0 || outer % element != 0
            ? "a pitch is not a multiple of the element"
            : NULL;
    CULVI_REFUSE_IF(wrong != NULL, NULL, NULL, CULV_REASON_VALUE,
                    "culv_dlpack_describe_image: %s (%u channels of %" PRIu64
                    " bytes, texels of %u bytes)",
                    wrong, channels, element, layout->bytes_per_block);
    int32_t n = 0;
    if (slices || layers) {
        shape[n] = slices ? layout->depth : layout->array_layers;
        strides[n++] = (int64_t)(outer / element);
    }
    shape[n] = layout->height;
    strides[n++] = (int64_t)(layout->row_pitch / element);
    shape[n] = layout->width;
    strides[n++] = channels;
    if (channels > 1) {
        shape[n] = channels;
        strides[n++] = 1;
    }
    desc->type = type;
    desc->ndim = n;
    desc->shape = shape;
    desc->strides = strides;
    return CULV_OK;
}

/* Order ---------------------------------------------------------------------------------------- */

static culv_result wait_on_host(culv_device *device, CUstream producer)
{
    const CUresult r = CULVI_CU(device, cuStreamSynchronize, (producer));
    return CULVI_CU_RESULT(device, NULL, r, "cuStreamSynchronize", CULV_REASON_DRIVER_REFUSED,
                           "the host could not wait for the tensor's producer");
}

/* Runs in the device's context. */
static culv_result wait_on_stream(culv_device *device, CUstream producer, CUstream consumer)
{
    const char *call = NULL;
    const CUresult r = culvi_order(device, producer, consumer, &call);
    return CULVI_CU_RESULT(
        device, NULL, r, call, CULV_REASON_DRIVER_REFUSED,
        "the tensor's consumer (stream %p) could not be made to wait for its producer (stream %p)",
        (void *)consumer, (void *)producer);
}

culv_result culv_dlpack_hand_over(culv_device *device, CUstream producer, int64_t consumer)
{
    bool pushed = false;
    CULVI_REQUIRE(NULL, device);
    if (consumer == CULV_DLPACK_STREAM_NONE) return CULV_OK;
    CULVI_REFUSE_IF(
        consumer == 0 || consumer < CULV_DLPACK_STREAM_HOST, &device->voice, NULL,
        CULV_REASON_VALUE,
        "culv_dlpack_hand_over: the consumer's stream is %" PRId64
        "; say which default stream is meant: 1 is the legacy one, 2 the thread's own. -1 orders nothing, -2 waits on the host",
        consumer);
    if (producer == NULL) producer = CU_STREAM_LEGACY;
    const CUstream to = (CUstream)(uintptr_t)consumer; /* 1 and 2 are CUDA's own numbers */
    if (to == producer) return CULV_OK;
    culvi_scope scope;
    CULVI_TRY(culvi_enter(device, &scope, NULL));
    culv_result result = culvi_enter_any_stream(device, NULL, producer, NULL, &pushed);
    if (result == CULV_OK) {
        result = culvi_order_check(
            device, "culv_dlpack_hand_over", producer, "the tensor's producer", to,
            consumer == CULV_DLPACK_STREAM_HOST ? NULL : "the tensor's consumer");
        if (result == CULV_OK)
            result = consumer == CULV_DLPACK_STREAM_HOST ? wait_on_host(device, producer)
                                                         : wait_on_stream(device, producer, to);
        culvi_leave_frame(device, pushed);
    }
    culvi_leave(device, &scope);
    return result;
}
