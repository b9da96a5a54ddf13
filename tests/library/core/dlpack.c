/* SPDX-License-Identifier: MIT */
/* DLPack tensors: their numbers, their bytes on both sides, and what they keep alive. */
#define TEST_GROUP "dlpack."
#include "library.h"

#include "fallback_scene.h"
#include "vmm_stage.h"
#include <culvert/dlpack.h>

#include <pthread.h>
#include <stdatomic.h>

#if defined(__has_include)
#    if __has_include(<dlpack/dlpack.h>)
#        include <dlpack/dlpack.h>
#        define SAME(type, member, theirs)                                                         \
            _Static_assert(offsetof(type, member) == offsetof(theirs, member), #member)
SAME(culv_dl_tensor, device, DLTensor);
SAME(culv_dl_tensor, ndim, DLTensor);
SAME(culv_dl_tensor, dtype, DLTensor);
SAME(culv_dl_tensor, shape, DLTensor);
SAME(culv_dl_tensor, strides, DLTensor);
SAME(culv_dl_tensor, byte_offset, DLTensor);
SAME(culv_dl_managed_tensor, manager_ctx, DLManagedTensor);
SAME(culv_dl_managed_tensor, deleter, DLManagedTensor);
_Static_assert(sizeof(culv_dl_tensor) == sizeof(DLTensor), "DLTensor");
_Static_assert(sizeof(culv_dl_managed_tensor) == sizeof(DLManagedTensor), "DLManagedTensor");
_Static_assert((int)CULV_DL_DEVICE_CUDA_HOST == (int)kDLCUDAHost, "kDLCUDAHost");
_Static_assert((int)CULV_DL_COMPLEX == (int)kDLComplex, "kDLComplex");
#        ifdef DLPACK_MAJOR_VERSION
typedef struct DLManagedTensorVersioned versioned;
SAME(culv_dl_managed_tensor_versioned, manager_ctx, versioned);
SAME(culv_dl_managed_tensor_versioned, deleter, versioned);
SAME(culv_dl_managed_tensor_versioned, flags, versioned);
SAME(culv_dl_managed_tensor_versioned, dl_tensor, versioned);
_Static_assert(sizeof(culv_dl_managed_tensor_versioned) == sizeof(versioned), "versioned");
_Static_assert(CULV_DLPACK_VERSION_MAJOR == DLPACK_MAJOR_VERSION, "its major version");
_Static_assert((int)CULV_DL_READ_ONLY == (int)DLPACK_FLAG_BITMASK_READ_ONLY, "READ_ONLY");
#        endif
#    endif
#endif

enum { WORDS = 4096, BYTES = WORDS * 4 };

static culv_shared_buffer *make_buffer(const lib_world *w)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "positions";
    NEW(culv_shared_buffer, buffer, culv_vk_buffer_create, w->attachment, &d);
    return buffer;
}

static raw_vk_buffer as_raw(const culv_shared_buffer *buffer)
{
    raw_vk_buffer raw = {
        .buffer = culv_vk_buffer_handle(buffer), .size = BYTES, .flags = RAW_VK_EXPORT};
    raw.memory = culv_vk_buffer_memory(buffer, &raw.allocation_size);
    return raw;
}

static CUdeviceptr address(const culv_dl_managed_tensor_versioned *tensor)
{
    return (CUdeviceptr)(uintptr_t)tensor->dl_tensor.data;
}

static void *delete_it(void *tensor)
{
    culv_dl_managed_tensor_versioned *t = tensor;
    t->deleter(t);
    return NULL;
}

static void delete_on_another_thread(culv_dl_managed_tensor_versioned *tensor)
{
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, delete_it, tensor) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* What Vulkan wrote is in the tensor and the other way round, and the tensor outlives the VkBuffer,
 * the attachment and the caller's device. */
LIB_CASE(buffer_both_ways, .smoke = true)
{
    static uint32_t words[WORDS];
    culv_shared_buffer *made = make_buffer(w);
    const raw_vk_buffer raw = as_raw(made);
    const int64_t shape[] = {WORDS / 4, 4};
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.type = (culv_dl_type){.code = CULV_DL_FLOAT, .bits = 32, .lanes = 1};
    d.ndim = 2;
    d.shape = shape;
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_buffer_get_dlpack,
        culv_shared_buffer_cuda(made), &d);
    REQUIRE_EQ(tensor->version.major, CULV_DLPACK_VERSION_MAJOR);
    REQUIRE_EQ(tensor->flags, 0);
    REQUIRE_EQ(tensor->dl_tensor.device.device_type,
               w->cu->software ? CULV_DL_DEVICE_CPU : CULV_DL_DEVICE_CUDA);
    REQUIRE_EQ(tensor->dl_tensor.device.device_id, 0);
    REQUIRE_EQ(tensor->dl_tensor.ndim, 2);
    REQUIRE(tensor->dl_tensor.shape[0] == WORDS / 4 && tensor->dl_tensor.shape[1] == 4);
    REQUIRE(tensor->dl_tensor.strides[0] == 4 && tensor->dl_tensor.strides[1] == 1);
    REQUIRE_EQ(tensor->dl_tensor.byte_offset, 0);
    REQUIRE_EQ(address(tensor), culv_shared_buffer_pointer(made));
    lib_fill(words, WORDS, 1);
    raw_vk_write(&w->vk, &raw, 0, words, BYTES);
    vmm_require_words(w->device, w->cu, address(tensor), WORDS, 1);
    vmm_write(w->device, w->cu, address(tensor), WORDS, 2);
    memset(words, 0, sizeof words);
    raw_vk_read(&w->vk, &raw, 0, words, BYTES);
    REQUIRE_WORDS(words, WORDS, 2);

    culv_shared_buffer_destroy(&made, NULL);
    REQUIRE(made == NULL);
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.buffers, 1);
    culv_vk_detach(&w->attachment);
    culv_device_close(&w->device);
    CUcontext before = lib_enter(w);
    memset(words, 0, sizeof words);
    CU_OK(w->cu->MemcpyDtoH(words, address(tensor), BYTES));
    REQUIRE_WORDS(words, WORDS, 2);
    lib_leave(w, before);
    delete_on_another_thread(tensor);
}

typedef struct tensor_row {
    culv_dl_type type;
    int32_t ndim;
    bool no_shape, no_strides;
    int64_t shape[4], strides[4];
    uint64_t offset;
    culv_result result; /* CULV_OK: it is made */
    culv_reason reason;
    int64_t expected[4]; /* strides */
    uint64_t low, size;  /* of culv_dlpack_get_range(), from the buffer's first byte on */
} tensor_row;

#define F32     .type = {CULV_DL_FLOAT, 32, 1}
#define REFUSED .result = CULV_ERROR_INVALID, .reason

static const tensor_row tensor_rows[] = {
    {.no_shape = true, .no_strides = true, .expected = {1}, .size = BYTES},
    {F32, .ndim = 1, .no_shape = true, .no_strides = true, .expected = {1}, .size = BYTES},
    {F32, .no_shape = true, .no_strides = true, .offset = 8, .expected = {1}, .low = 8,
     .size = BYTES - 8},
    {F32, .ndim = 0, .no_strides = true, .offset = 12, .low = 12, .size = 4},
    {F32, .ndim = 3, .no_strides = true, .shape = {2, 3, 4}, .expected = {12, 4, 1}, .size = 96},
    {F32, .ndim = 2, .shape = {3, 5}, .strides = {100, 2}, .expected = {100, 2}, .size = 836},
    {F32, .ndim = 2, .shape = {4, 5}, .strides = {0, 1}, .expected = {0, 1}, .size = 20},
    {F32, .ndim = 1, .shape = {10}, .strides = {-1}, .offset = 400, .expected = {-1}, .low = 364,
     .size = 40},
    {F32, .ndim = 1, .shape = {WORDS}, .strides = {-1}, .offset = BYTES - 4, .expected = {-1},
     .size = BYTES},
    {.type = {CULV_DL_COMPLEX, 128, 1},
     .ndim = 1,
     .no_strides = true,
     .shape = {BYTES / 16},
     .expected = {1},
     .size = BYTES},
    {.type = {CULV_DL_UINT, 8, 4},
     .no_shape = true,
     .no_strides = true,
     .expected = {1},
     .size = BYTES},
    /* What there cannot be. */
    {F32, .ndim = 1, .no_strides = true, .shape = {WORDS + 1}, REFUSED = CULV_REASON_RANGE},
    {F32, .ndim = 1, .shape = {10}, .strides = {-1}, .offset = 32, REFUSED = CULV_REASON_RANGE},
    {F32, .ndim = 1, .no_strides = true, .shape = {4}, .offset = 2, REFUSED = CULV_REASON_RANGE},
    {F32, .ndim = 1, .no_strides = true, .shape = {1}, .offset = BYTES,
     REFUSED = CULV_REASON_RANGE},
    {F32, .no_shape = true, .no_strides = true, .offset = BYTES + 4, REFUSED = CULV_REASON_RANGE},
    {F32, .ndim = 1, .no_strides = true, .shape = {-1}, REFUSED = CULV_REASON_SIZE},
    {F32, .ndim = 2, .no_strides = true, .shape = {INT64_MAX, 3}, REFUSED = CULV_REASON_SIZE},
    {F32, .ndim = 1, .shape = {3}, .strides = {INT64_MIN}, REFUSED = CULV_REASON_SIZE},
    {F32, .ndim = 2, .shape = {2, 2}, .strides = {INT64_MAX / 4, INT64_MAX / 4},
     REFUSED = CULV_REASON_SIZE},
    {F32, .ndim = -1, .no_strides = true, REFUSED = CULV_REASON_VALUE},
    {F32, .ndim = CULV_DLPACK_MAX_DIMENSIONS + 1, .no_strides = true, REFUSED = CULV_REASON_VALUE},
    {F32, .ndim = 2, .no_shape = true, .no_strides = true, REFUSED = CULV_REASON_VALUE},
    {F32, .ndim = 1, .no_shape = true, .strides = {1}, REFUSED = CULV_REASON_VALUE},
    {.type = {CULV_DL_FLOAT, 12, 1},
     .no_shape = true,
     .no_strides = true,
     REFUSED = CULV_REASON_VALUE},
};

LIB_CASE(shapes)
{
    OWN(culv_shared_buffer) *made = make_buffer(w);
    culv_buffer *buffer = culv_shared_buffer_cuda(made);
    for (size_t i = 0; i < sizeof tensor_rows / sizeof tensor_rows[0]; i++) {
        const tensor_row *r = &tensor_rows[i];
        culv_dl_managed_tensor_versioned *tensor = NULL;
        culv_dlpack_desc d = culv_dlpack_desc_init();
        d.type = r->type;
        d.ndim = r->ndim;
        d.shape = r->no_shape ? NULL : r->shape;
        d.strides = r->no_strides ? NULL : r->strides;
        d.offset = r->offset;
        printf("row %zu\n", i);
        if (r->result != CULV_OK) {
            LIB_REFUSES_AS(tensor, culv_buffer_get_dlpack(buffer, &d, &tensor), r->result,
                           r->reason);
            REQUIRE_EQ(lib_counts(w).buffers, 1);
            continue;
        }
        LIB_OK(culv_buffer_get_dlpack(buffer, &d, &tensor));
        REQUIRE(tensor->dl_tensor.strides != NULL && tensor->dl_tensor.shape != NULL);
        for (int32_t k = 0; k < tensor->dl_tensor.ndim; k++)
            REQUIRE_EQ(tensor->dl_tensor.strides[k], r->expected[k]);
        REQUIRE_EQ(address(tensor), culv_buffer_pointer(buffer) + r->offset);
        CUdeviceptr low = 0;
        uint64_t size = 0;
        LIB_OK(culv_dlpack_get_range(&tensor->dl_tensor, &low, &size));
        REQUIRE_EQ(low, culv_buffer_pointer(buffer) + r->low);
        REQUIRE_EQ(size, r->size);
        /* A tensor of somebody's from before DLPack 1.2. */
        if (r->no_strides) {
            culv_dl_tensor old = tensor->dl_tensor;
            old.strides = NULL;
            LIB_OK(culv_dlpack_get_range(&old, &low, &size));
            REQUIRE_EQ(size, r->size);
        }
        tensor->deleter(tensor);
        REQUIRE_EQ(lib_counts(w).buffers, 1);
    }
    /* Without elements there is a tensor, but no range. */
    const int64_t none[] = {3, 0};
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.ndim = 2;
    d.shape = none;
    NEW(culv_dl_managed_tensor_versioned, empty, culv_buffer_get_dlpack, buffer, &d);
    CUdeviceptr pointer = 5;
    uint64_t size = 5;
    LIB_INVALID(culv_dlpack_get_range(&empty->dl_tensor, &pointer, &size), SIZE);
    REQUIRE(pointer == 5 && size == 5);
    empty->dl_tensor.ndim = 99;
    LIB_INVALID(culv_dlpack_get_range(&empty->dl_tensor, &pointer, &size), VALUE);
    empty->deleter(empty);
}

LIB_CASE(forms)
{
    OWN(culv_shared_buffer) *made = make_buffer(w);
    culv_dl_managed_tensor_versioned *none = NULL;
    culv_dl_managed_tensor *old = NULL;
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.read_only = 1;
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_buffer_get_dlpack,
        culv_shared_buffer_cuda(made), &d);
    REQUIRE_EQ(tensor->flags, CULV_DL_READ_ONLY);
    culv_dl_managed_tensor_versioned *const same = tensor;
    LIB_REFUSES(old, culv_dlpack_to_unversioned(&tensor, &old), INVALID, USAGE);
    REQUIRE(tensor == same);
    tensor->deleter(tensor);

    LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), NULL, &tensor));
    culv_dl_managed_tensor_versioned theirs = *tensor, *stranger = &theirs;
    theirs.deleter = NULL;
    LIB_REFUSES(old, culv_dlpack_to_unversioned(&stranger, &old), INVALID, VALUE);
    LIB_OK(culv_dlpack_to_unversioned(&tensor, &old));
    REQUIRE(tensor == NULL);
    REQUIRE_EQ(old->dl_tensor.shape[0], BYTES);
    REQUIRE_EQ(old->dl_tensor.strides[0], 1);
    REQUIRE_EQ((CUdeviceptr)(uintptr_t)old->dl_tensor.data, culv_shared_buffer_pointer(made));
    REQUIRE_EQ(lib_counts(w).buffers, 2);
    old->deleter(old);
    REQUIRE_EQ(lib_counts(w).buffers, 1);

    LIB_INVALID(culv_dlpack_to_unversioned(&none, &old), NULL_ARGUMENT);
    culv_dlpack_desc zero = {0};
    LIB_INVALID(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &zero, &none), STRUCT_SIZE);
    d = culv_dlpack_desc_init();
    d.device_type = w->cu->software ? CULV_DL_DEVICE_CUDA : CULV_DL_DEVICE_CPU;
    LIB_INVALID(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &d, &none), VALUE);
    REQUIRE(none == NULL);
}

/* Texels of a LINEAR image. The layouts are what vkGetImageSubresourceLayout() may say. */
TEST(images)
{
    int64_t shape[4], strides[4];
    culv_subresource_layout l = culv_subresource_layout_init();
    l.row_pitch = 1024;
    l.width = 61;
    l.height = 33;
    l.depth = l.array_layers = l.block_width = l.block_height = 1;
    l.bytes_per_block = 4;
    culv_dlpack_desc d = culv_dlpack_desc_init();
    LIB_OK(culv_dlpack_describe_image(&l, 4, &d, shape, strides));
    REQUIRE_EQ(d.ndim, 3);
    REQUIRE(d.shape == shape && d.strides == strides && d.type.bits == 8 && d.type.lanes == 1);
    REQUIRE(shape[0] == 33 && shape[1] == 61 && shape[2] == 4);
    REQUIRE(strides[0] == 1024 && strides[1] == 4 && strides[2] == 1);
    d.type = (culv_dl_type){.code = CULV_DL_FLOAT, .bits = 32, .lanes = 1};
    LIB_OK(culv_dlpack_describe_image(&l, 1, &d, shape, strides));
    REQUIRE_EQ(d.ndim, 2);
    REQUIRE(shape[0] == 33 && shape[1] == 61 && strides[0] == 256 && strides[1] == 1);
    l.array_layers = 3;
    l.layer_pitch = 65536;
    LIB_OK(culv_dlpack_describe_image(&l, 1, &d, shape, strides));
    REQUIRE_EQ(d.ndim, 3);
    REQUIRE(shape[0] == 3 && strides[0] == 16384 && shape[1] == 33 && shape[2] == 61);
    LIB_INVALID(culv_dlpack_describe_image(&l, 4, &d, shape, strides), VALUE);
    LIB_INVALID(culv_dlpack_describe_image(&l, 0, &d, shape, strides), VALUE);
    l.depth = 2;
    LIB_INVALID(culv_dlpack_describe_image(&l, 1, &d, shape, strides), VALUE);
    l.depth = 1;
    l.row_pitch = 1022;
    LIB_INVALID(culv_dlpack_describe_image(&l, 1, &d, shape, strides), VALUE);
}

/* A module, a device and the context itself may go first. */
TEST(outlives_a_reset, .own = true)
{
    lib_world w;
    lib_open(&w);
    culv_shared_buffer *made = make_buffer(&w);
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_buffer_get_dlpack,
        culv_shared_buffer_cuda(made), NULL);
    culv_shared_buffer_destroy(&made, NULL);
    culv_vk_detach(&w.attachment);
    culv_device_close(&w.device);
    CU_OK(w.cu->DevicePrimaryCtxReset(0));
    tensor->deleter(tensor);
    raw_vk_close(&w.vk);
}

#undef TEST_GROUP
#define TEST_GROUP "dlpack_vector."
/* Tensors of vectors, which pin them, and the order between streams. */

enum { VECTOR_WORDS = 1024 };

static culv_vector *make(const vmm_stage *s, uint64_t blocks)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = blocks * VMM_BLOCK;
    d.max_chunk = VMM_BLOCK;
    d.reserve = 64 * VMM_BLOCK;
    d.label = "points";
    NEW(culv_vector, v, culv_vector_create, s->w.device, &d);
    return v;
}

/* What a tensor covers stays; the rest of the vector lives on. */
VMM_CASE(pins)
{
    OWN(culv_vector) *v = make(s, 2);
    CUstream stream = lib_case_stream(&s->w);
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_vector_get_dlpack, v, NULL);
    REQUIRE_EQ(tensor->dl_tensor.shape[0], 2 * VMM_BLOCK);
    REQUIRE_EQ(address(tensor), culv_vector_pointer(v));
    LIB_OK(culv_vector_grow(v, 4 * VMM_BLOCK));
    REQUIRE_EQ(tensor->dl_tensor.shape[0], 2 * VMM_BLOCK);
    vmm_write(s->w.device, s->w.cu, address(tensor) + VMM_BLOCK, VECTOR_WORDS, 4);
    LIB_OK(culv_vector_shrink(v, 2 * VMM_BLOCK, stream)); /* beyond the tensor */
    LIB_ERROR(culv_vector_shrink(v, VMM_BLOCK, stream), BUSY, OWNED);
    REQUIRE_EQ(culv_vector_size(v), 2 * VMM_BLOCK);
    vmm_require_words(s->w.device, s->w.cu, address(tensor) + VMM_BLOCK, VECTOR_WORDS, 4);
    NEW(culv_dl_managed_tensor_versioned, second, culv_vector_get_dlpack, v, NULL);
    tensor->deleter(tensor);
    LIB_ERROR(culv_vector_shrink(v, VMM_BLOCK, stream), BUSY, OWNED);
    second->deleter(second);
    LIB_OK(culv_vector_shrink(v, VMM_BLOCK, stream));
    lib_finish(&s->w, stream);
}

/* An old address is a tensor's until that is given up. */
VMM_CASE(moves)
{
    culv_vector_desc d = culv_vector_desc_init();
    d.size = d.reserve = VMM_BLOCK;
    NEW(OWN(culv_vector), v, culv_vector_create, s->w.device, &d);
    /* What lies behind it is taken, so that it moves. */
    culv_vmm_range_desc r = culv_vmm_range_desc_init();
    r.size = VMM_BLOCK;
    r.address = culv_vector_pointer(v) + VMM_BLOCK;
    NEW(OWN(culv_vmm_range), wall, culv_vmm_range_create, s->w.device, &r);
    CUstream stream = lib_case_stream(&s->w);
    NEW(culv_dl_managed_tensor_versioned, tensor, culv_vector_get_dlpack, v, NULL);
    const CUdeviceptr before = address(tensor);
    LIB_OK(culv_vector_grow(v, 2 * VMM_BLOCK));
    if (culv_vector_pointer(v) != before) {
        vmm_write(s->w.device, s->w.cu, culv_vector_pointer(v), VECTOR_WORDS, 8);
        vmm_require_words(s->w.device, s->w.cu, before, VECTOR_WORDS, 8);
        LIB_ERROR(culv_vector_retire(v, before, stream), BUSY, OWNED);
        LIB_ERROR(culv_vector_retire(v, 0, stream), BUSY, OWNED);
        vmm_require_words(s->w.device, s->w.cu, before, VECTOR_WORDS, 8);
    }
    tensor->deleter(tensor);
    LIB_OK(culv_vector_retire(v, 0, stream));
    lib_finish(&s->w, stream);
}

/* A consumer's stream waits for what the producer's has: without the hand-over it would copy the
 * old words. */
VMM_CASE(handed_over)
{
    static uint32_t words[VECTOR_WORDS];
    const raw_cuda *cu = s->w.cu;
    OWN(culv_vector) *v = make(s, 2);
    const CUdeviceptr from = culv_vector_pointer(v), to = from + VMM_BLOCK;
    CUstream consumer = lib_case_stream(&s->w);
    vmm_write(s->w.device, cu, from, VECTOR_WORDS, 1);
    for (int turn = 0; turn < 2; turn++) {
        vmm_gate gate;
        vmm_gate_begin(s, &gate);
        CUcontext before = lib_enter(&s->w);
        CU_OK(cu->MemsetD32Async(from, (unsigned)turn + 5, VECTOR_WORDS, gate.stream));
        if (turn == 0) {
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, CULV_DLPACK_STREAM_NONE));
            LIB_OK(
                culv_dlpack_hand_over(s->w.device, gate.stream, (int64_t)(uintptr_t)gate.stream));
            REQUIRE_EQ(lib_query(&s->w, consumer), CUDA_SUCCESS);
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, (int64_t)(uintptr_t)consumer));
            CU_OK(cu->MemcpyDtoDAsync(to, from, VECTOR_WORDS * 4, consumer));
            REQUIRE_EQ(lib_query(&s->w, consumer), CUDA_ERROR_NOT_READY);
            vmm_gate_open(s, &gate);
            lib_finish(&s->w, consumer);
        } else {
            vmm_gate_open(s, &gate);
            CU_OK(cu->MemcpyDtoDAsync(to, from, VECTOR_WORDS * 4, gate.stream));
            LIB_OK(culv_dlpack_hand_over(s->w.device, gate.stream, CULV_DLPACK_STREAM_HOST));
        }
        CU_OK(cu->MemcpyDtoH(words, to, sizeof words));
        lib_leave(&s->w, before);
        for (size_t i = 0; i < VECTOR_WORDS; i++)
            REQUIRE_EQ(words[i], (uint32_t)turn + 5);
        vmm_gate_end(s, &gate);
    }
    LIB_INVALID(culv_dlpack_hand_over(s->w.device, consumer, 0), VALUE);
    LIB_INVALID(culv_dlpack_hand_over(s->w.device, consumer, -3), VALUE);
    LIB_OK(culv_dlpack_hand_over(s->w.device, NULL, CULV_DLPACK_STREAM_LEGACY));
    LIB_OK(culv_dlpack_hand_over(s->w.device, consumer, CULV_DLPACK_STREAM_PER_THREAD));
}

static void CUDA_CB nap(void *user)
{
    lib_sleep_ms(50);
    atomic_store((atomic_int *)user, 1);
}

/* The last tensor of a destroyed vector: its deleter waits for the work that uses it, and a capture
 * in the same context goes on, whatever its mode. */
VMM_CASE(last_one_waits)
{
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    CUstream work = lib_stream(&s->w), captured = lib_stream(&s->w);
    for (int mode = -1; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        atomic_int done = 0;
        CUgraph graph = NULL;
        culv_vector *v = make(s, 2);
        NEW(culv_dl_managed_tensor_versioned, tensor, culv_vector_get_dlpack, v, NULL);
        CU_OK(cu->LaunchHostFunc(work, nap, &done));
        CU_OK(cu->MemsetD32Async(address(tensor), 7, VECTOR_WORDS, work));
        culv_vector_destroy(&v, NULL);
        if (mode >= 0) CU_OK(cu->StreamBeginCapture(captured, (CUstreamCaptureMode)mode));
        delete_on_another_thread(tensor);
        REQUIRE(atomic_load(&done));
        if (mode >= 0) CU_OK(cu->StreamEndCapture(captured, &graph));
        if (mode >= 0) CU_OK(cu->GraphDestroy(graph));
        vmm_require_counts(s, 0, 0, 0);
        lib_finish(&s->w, work);
    }
    lib_leave(&s->w, before);
    lib_stream_destroy(&s->w, work);
    lib_stream_destroy(&s->w, captured);
}

/* Hand-overs while a stream is captured: the capture is whole afterwards, and what it would have
 * ended is refused by name. */
typedef enum end {
    HOST,
    LEGACY,
    FREE,
    FREE_TOO,
    CAPTURED,
    CAPTURED_TOO /* by another capture */
} end;

static int64_t number_of(end e, const CUstream *streams)
{
    return e == HOST     ? CULV_DLPACK_STREAM_HOST
           : e == LEGACY ? CULV_DLPACK_STREAM_LEGACY
                         : (int64_t)(uintptr_t)streams[e];
}

typedef struct hand_over {
    culv_device *device;
    CUstream producer;
    int64_t consumer;
    bool plain; /* culv_stream_wait_stream() */
    culv_result result;
    culv_reason reason;
} hand_over;

static void *run_hand_over(void *user)
{
    hand_over *h = user;
    h->result =
        h->plain ? culv_stream_wait_stream(h->device, (CUstream)(uintptr_t)h->consumer, h->producer)
                 : culv_dlpack_hand_over(h->device, h->producer, h->consumer);
    culv_error error = {.struct_size = sizeof error};
    culv_last_error(&error);
    h->reason = h->result == CULV_OK ? CULV_REASON_NONE : error.reason;
    return NULL;
}

VMM_CASE(handed_over_beside_captures)
{
    static const struct {
        end producer, consumer;
        bool ok[2]; /* beside a capture of a stream that the legacy one waits for, and of another */
    } rows[] = {
        {FREE, HOST, {true, true}},         {FREE, FREE_TOO, {true, true}},
        {CAPTURED, CAPTURED, {true, true}}, {LEGACY, HOST, {false, true}},
        {LEGACY, FREE, {false, true}},      {FREE, LEGACY, {false, true}},
        {CAPTURED, HOST, {false, false}},   {CAPTURED, FREE, {false, false}},
        {CAPTURED, LEGACY, {false, false}}, {FREE, CAPTURED, {false, false}},
        {LEGACY, CAPTURED, {false, false}}, {CAPTURED, CAPTURED_TOO, {false, false}},
    };
    const raw_cuda *cu = s->w.cu;
    CUcontext before = lib_enter(&s->w);
    for (unsigned i = 0; i < 24 * sizeof rows / sizeof rows[0]; i++) {
        const unsigned row = i / 24, mode = i / 8 % 3, plain = i / 4 % 2, other_thread = i / 2 % 2,
                       kind = i % 2;
        if (plain && rows[row].consumer == HOST) continue;
        CUstream streams[CAPTURED_TOO + 1] = {NULL};
        CUgraph graph = NULL, second = NULL;
        pthread_t thread;
        streams[FREE] = lib_stream(&s->w);
        streams[FREE_TOO] = lib_stream(&s->w);
        CU_OK(cu->StreamCreate(&streams[CAPTURED],
                               kind == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING));
        streams[CAPTURED_TOO] = lib_stream(&s->w);
        for (int k = CAPTURED; k <= CAPTURED_TOO; k++)
            CU_OK(cu->StreamBeginCapture(streams[k], (CUstreamCaptureMode)mode));
        hand_over h = {.device = s->w.device,
                       .producer = streams[rows[row].producer],
                       .consumer = number_of(rows[row].consumer, streams),
                       .plain = plain};
        if (other_thread) {
            REQUIRE_EQ(pthread_create(&thread, NULL, run_hand_over, &h), 0);
            REQUIRE_EQ(pthread_join(thread, NULL), 0);
        } else {
            run_hand_over(&h);
        }
        CU_OK(cu->StreamEndCapture(streams[CAPTURED_TOO], &second));
        const CUresult ended = cu->StreamEndCapture(streams[CAPTURED], &graph);
        if (ended != CUDA_SUCCESS ||
            h.reason != (rows[row].ok[kind] ? CULV_REASON_NONE : CULV_REASON_CAPTURE))
            FAIL("row %u, mode %u, plain %u, thread %u, kind %u: reason %d, the capture's end %d",
                 row, mode, plain, other_thread, kind, (int)h.reason, (int)ended);
        CU_OK(cu->GraphDestroy(graph));
        CU_OK(cu->GraphDestroy(second));
        for (int k = FREE; k <= CAPTURED_TOO; k++)
            CU_OK(cu->StreamDestroy(streams[k]));
    }
    lib_leave(&s->w, before);
}

#undef TEST_GROUP
#define TEST_GROUP "lives."
/* Whose memory it is when its owners go, in whatever order. After each step somebody else allocates
 * as much and writes there: memory that went too early is that one's then. */

enum { SIZE = 2 << 20, LIVES_WORDS = SIZE / 4, HELD = 0x600d600d, OTHERS = 0x0bad0bad, MOST = 16 };

/* Ways of sharing: what Culvert makes, memory of the caller's own, and a vector. */
typedef enum way { SHARED, PAGES, MAPPED, PEER, IMPORTED, VECTOR } way;
typedef enum holder { TENSOR, TWO_TENSORS, SECOND_BUFFER, VIEW } holder;

static struct {
    scene s;
    way way;
    CUcontext context; /* keeps the canaries when Culvert's device has gone */
    CUdeviceptr canaries[MOST];
    int num_canaries;
    culv_shared_buffer *made;
    raw_vk_buffer raw;
    culv_buffer *buffer, *second;
    culv_vector *vector;
    culv_vector_view *view;
    culv_dl_managed_tensor_versioned *tensors[2];
    CUdeviceptr held; /* 0: nobody has it any more */
} t;

static void require_words(CUdeviceptr at, uint32_t value)
{
    static uint32_t words[LIVES_WORDS];
    CU_OK(t.s.w.cu->MemcpyDtoH(words, at, SIZE));
    for (size_t i = 0; i < LIVES_WORDS; i += LIVES_WORDS - 1)
        REQUIRE_EQ(words[i], value);
}

static void let_others_allocate(void)
{
    const raw_cuda *cu = t.s.w.cu;
    CUdeviceptr *canary = &t.canaries[t.num_canaries++];
    REQUIRE(t.num_canaries <= MOST);
    CU_OK(cu->MemAlloc(canary, SIZE));
    CU_OK(cu->MemsetD32Async(*canary, OTHERS, LIVES_WORDS, NULL));
    CU_OK(cu->CtxSynchronize());
    for (int i = 0; i < t.num_canaries; i++)
        require_words(t.canaries[i], OTHERS);
    if (t.held != 0) require_words(t.held, HELD);
}

static culv_buffer *import(const raw_vk_buffer *raw)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    culv_buffer_desc b = culv_buffer_desc_init();
    culv_memory *memory = NULL;
    d.memory = raw->memory;
    d.allocation_size = raw->allocation_size;
    b.offset = raw->offset;
    b.size = SIZE;
    LIB_OK(culv_vk_memory_import_shared(t.s.w.attachment, &d, &memory));
    NEW(culv_buffer, buffer, culv_buffer_map, memory, &b);
    culv_memory_destroy(&memory);
    return buffer;
}

static void begin(way which, holder who)
{
    static const scene_kind kinds[] = {
        [PAGES] = SCENE_PAGES,   [MAPPED] = SCENE_MAPPED,   [PEER] = SCENE_PEER,
        [SHARED] = SCENE_SHARED, [IMPORTED] = SCENE_SHARED, [VECTOR] = SCENE_SHARED};
    memset(&t, 0, sizeof t);
    t.way = which;
    scene_open_bare(&t.s, kinds[which]);
    t.context = raw_cuda_context(t.s.w.cu, which == PEER ? 1 : 0);
    culv_vector_desc d = culv_vector_desc_init();
    d.size = SIZE;
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_FD;
    if (which == VECTOR) {
        LIB_OK(culv_vector_create(t.s.w.device, &d, &t.vector));
        t.held = culv_vector_pointer(t.vector);
    } else if (which == IMPORTED) {
        raw_vk_buffer_create(&t.s.w.vk, SIZE, RAW_VK_EXPORT, &t.raw);
        t.buffer = import(&t.raw);
        t.held = culv_buffer_pointer(t.buffer);
    } else {
        LIB_OK(scene_buffer(&t.s, SIZE, which == SHARED ? 0 : CULV_FALLBACK_ANY, &t.made));
        REQUIRE_EQ(culv_buffer_sharing(culv_shared_buffer_cuda(t.made)), t.s.path);
        t.held = culv_shared_buffer_pointer(t.made);
    }
    for (int i = 0; i < (who == TWO_TENSORS ? 2 : who == TENSOR); i++)
        LIB_OK(which == VECTOR ? culv_vector_get_dlpack(t.vector, NULL, &t.tensors[i])
                               : culv_buffer_get_dlpack(
                                     which == IMPORTED ? t.buffer : culv_shared_buffer_cuda(t.made),
                                     NULL, &t.tensors[i]));
    if (who == SECOND_BUFFER) t.second = import(&t.raw);
    culv_vk_vector_view_desc v = culv_vk_vector_view_desc_init();
    v.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    if (who == VIEW) LIB_OK(culv_vk_vector_view_create(t.s.w.attachment, t.vector, &v, &t.view));
    CU_OK(t.s.w.cu->MemsetD32Async(t.held, HELD, LIVES_WORDS, NULL));
    CU_OK(t.s.w.cu->CtxSynchronize());
}

/* The caller's own memory goes, and its handle is the next one's, which CUDA and Vulkan share. */
static void replace_native(void)
{
    static uint32_t words[LIVES_WORDS];
    const VkDeviceMemory before = t.raw.memory;
    raw_vk_buffer_destroy(&t.s.w.vk, &t.raw);
    raw_vk_buffer_create(&t.s.w.vk, SIZE, RAW_VK_EXPORT, &t.raw);
    if (t.s.w.cu->software) REQUIRE(t.raw.memory == before); /* the twin's layer sees to that */
    OWN(culv_buffer) *fresh = import(&t.raw);
    CU_OK(t.s.w.cu->MemsetD32Async(culv_buffer_pointer(fresh), OTHERS, LIVES_WORDS, NULL));
    CU_OK(t.s.w.cu->CtxSynchronize());
    raw_vk_read(&t.s.w.vk, &t.raw, 0, words, SIZE);
    REQUIRE_EQ(words[0], OTHERS);
}

/* o: its owner, O: the same behind a stream, d: the attachment, c: the device, n: the native
 * memory, h and g: those who hold. */
static void step(char what)
{
    switch (what) {
    case 'O':
    case 'o':
        if (t.made != NULL) LIB_OK(culv_shared_buffer_destroy(&t.made, NULL));
        if (t.buffer != NULL) LIB_OK(culv_buffer_unmap(&t.buffer, NULL));
        culv_vector_destroy(&t.vector, what == 'O' ? &(CUstream){NULL} : NULL);
        if (t.tensors[0] == NULL && t.tensors[1] == NULL && t.second == NULL) t.held = 0;
        break;
    case 'd': culv_vk_detach(&t.s.w.attachment); break;
    case 'c': culv_device_close(&t.s.w.device); break;
    case 'n': replace_native(); break;
    default:
        for (int i = what == 'g'; i <= (what == 'g'); i++)
            if (t.tensors[i] != NULL) t.tensors[i]->deleter(t.tensors[i]);
        t.tensors[what == 'g'] = NULL;
        if (t.second != NULL) LIB_OK(culv_buffer_unmap(&t.second, NULL));
        culv_vector_view_destroy(&t.view);
        if (t.made == NULL && t.buffer == NULL && t.vector == NULL && t.tensors[0] == NULL &&
            t.tensors[1] == NULL)
            t.held = 0;
    }
    let_others_allocate();
}

static void lives_end(way which)
{
    for (int i = 0; i < t.num_canaries; i++)
        CU_OK(t.s.w.cu->MemFree(t.canaries[i]));
    if (t.raw.buffer != VK_NULL_HANDLE) raw_vk_buffer_destroy(&t.s.w.vk, &t.raw);
    CU_OK(t.s.w.cu->CtxPopCurrent(&t.context));
    CU_OK(t.s.w.cu->DevicePrimaryCtxRelease(which == PEER ? 1 : 0));
    lib_close(&t.s.w);
}

static const struct {
    holder who;
    const char *ways; /* digits of `way` */
    const char *orders[7];
} rows[] = {
    {TENSOR, "01235", {"ohdc", "odhc", "odch", "hodc", "dohc", "doch", "cdoh"}},
    {TENSOR, "4", {"onhdc", "ondhc", "ondch", "ohndc"}},
    {TWO_TENSORS, "01235", {"ohgdc", "Ogdch", "hodcg", "dcohg"}},
    {TWO_TENSORS, "4", {"onhgdc", "ohngdc", "hondcg"}},
    {SECOND_BUFFER, "4", {"ohndc", "hondc"}},
    {VIEW, "5", {"ohdc", "dcoh", "hodc", "odch"}},
};

static void lives_of(way which)
{
    /* That layer gives each object a number of its own, which never comes again. */
    if (which == IMPORTED) lib_with_option("--validation=off");
    unsigned tried = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int k = 0; k < 7 && rows[i].orders[k] != NULL; k++) {
            if (strchr(rows[i].ways, '0' + (int)which) == NULL) continue;
            printf("holder %d, order %s\n", (int)rows[i].who, rows[i].orders[k]);
            begin(which, rows[i].who);
            for (const char *c = rows[i].orders[k]; *c != '\0'; c++)
                step(*c);
            lives_end(which);
            tried++;
        }
    REQUIRE(tried >= 9);
}

TEST_AS(shared, lives_of(SHARED), .own = true, .time_limit = 300)
TEST_AS(pages, lives_of(PAGES), .own = true, .time_limit = 300)
TEST_AS(mapped, lives_of(MAPPED), .own = true, .time_limit = 300)
TEST_AS(peer, lives_of(PEER), .own = true, .time_limit = 300)
TEST_AS(imported, lives_of(IMPORTED), .own = true, .time_limit = 300)
TEST_AS(vector, lives_of(VECTOR), .own = true, .time_limit = 600)
