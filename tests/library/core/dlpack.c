/* SPDX-License-Identifier: MIT */
/* DLPack tensors: their numbers, their bytes on both sides, and what they keep alive. */
#define TEST_GROUP "dlpack."
#include "dlpack_stage.h"

#include <pthread.h>

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
    culv_shared_buffer *buffer = NULL;
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                                                                  VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = "positions";
    LIB_OK(culv_vk_buffer_create(w->attachment, &d, &buffer));
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
    culv_dl_managed_tensor_versioned *tensor = NULL;
    const int64_t shape[] = {WORDS / 4, 4};
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.type = (culv_dl_type){.code = CULV_DL_FLOAT, .bits = 32, .lanes = 1};
    d.ndim = 2;
    d.shape = shape;
    LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &d, &tensor));
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
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 1);
    raw_vk_write(&w->vk, &raw, 0, words, BYTES);
    memset(words, 0, sizeof words);
    CUcontext before = lib_enter(w);
    CU_OK(w->cu->MemcpyDtoH(words, address(tensor), BYTES));
    REQUIRE_WORDS(words, WORDS, 1);
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = lib_word(i, 2);
    CU_OK(raw_cuda_upload(w->cu, address(tensor), words, BYTES));
    lib_leave(w, before);
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
    before = lib_enter(w);
    memset(words, 0, sizeof words);
    CU_OK(w->cu->MemcpyDtoH(words, address(tensor), BYTES));
    REQUIRE_WORDS(words, WORDS, 2);
    lib_leave(w, before);
    delete_on_another_thread(tensor);
}

typedef struct row {
    culv_dl_type type;
    int32_t ndim;
    bool no_shape, no_strides;
    int64_t shape[4], strides[4];
    uint64_t offset;
    culv_result result; /* CULV_OK: it is made */
    culv_reason reason;
    int64_t expected[4]; /* strides */
    uint64_t low, size;  /* of culv_dlpack_get_range(), from the buffer's first byte on */
} row;

#define F32     .type = {CULV_DL_FLOAT, 32, 1}
#define REFUSED .result = CULV_ERROR_INVALID, .reason

static const row rows[] = {
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
    culv_shared_buffer *made = make_buffer(w);
    culv_buffer *buffer = culv_shared_buffer_cuda(made);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const row *r = &rows[i];
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
    culv_dl_managed_tensor_versioned *empty = NULL;
    const int64_t none[] = {3, 0};
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.ndim = 2;
    d.shape = none;
    LIB_OK(culv_buffer_get_dlpack(buffer, &d, &empty));
    CUdeviceptr pointer = 5;
    uint64_t size = 5;
    LIB_INVALID(culv_dlpack_get_range(&empty->dl_tensor, &pointer, &size), SIZE);
    REQUIRE(pointer == 5 && size == 5);
    empty->dl_tensor.ndim = 99;
    LIB_INVALID(culv_dlpack_get_range(&empty->dl_tensor, &pointer, &size), VALUE);
    empty->deleter(empty);
    culv_shared_buffer_destroy(&made, NULL);
}

LIB_CASE(forms)
{
    culv_shared_buffer *made = make_buffer(w);
    culv_dl_managed_tensor_versioned *tensor = NULL, *none = NULL;
    culv_dl_managed_tensor *old = NULL;
    culv_dlpack_desc d = culv_dlpack_desc_init();
    d.read_only = 1;
    LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &d, &tensor));
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

    const culv_result null = CULV_ERROR_INVALID;
    LIB_FAILS(culv_dlpack_to_unversioned(&none, &old), null, CULV_REASON_NULL_ARGUMENT);
    culv_dlpack_desc zero = {0};
    LIB_FAILS(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &zero, &none), null,
              CULV_REASON_STRUCT_SIZE);
    d = culv_dlpack_desc_init();
    d.device_type = w->cu->software ? CULV_DL_DEVICE_CUDA : CULV_DL_DEVICE_CPU;
    LIB_FAILS(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), &d, &none), null,
              CULV_REASON_VALUE);
    REQUIRE(none == NULL);
    culv_shared_buffer_destroy(&made, NULL);
}

/* 10,000 exports and deletes hold nothing. */
LIB_CASE(many)
{
    enum { TIMES = 10000, AT_ONCE = 100 };
    static culv_dl_managed_tensor_versioned *tensors[AT_ONCE];
    culv_shared_buffer *made = make_buffer(w);
    const culv_device_counts before = lib_counts(w);
    for (int i = 0; i < TIMES; i++) {
        culv_dl_managed_tensor_versioned **t = &tensors[i % AT_ONCE];
        if (*t != NULL) (*t)->deleter(*t);
        LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), NULL, t));
    }
    culv_device_counts now = lib_counts(w);
    REQUIRE_EQ(now.buffers, before.buffers + AT_ONCE);
    REQUIRE_EQ(now.mappings, before.mappings);
    for (int i = 0; i < AT_ONCE; i++)
        tensors[i]->deleter(tensors[i]);
    now = lib_counts(w);
    REQUIRE_EQ(now.buffers, before.buffers);
    REQUIRE_EQ(now.deferred, 0);
    culv_shared_buffer_destroy(&made, NULL);
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
    culv_dl_managed_tensor_versioned *tensor = NULL;
    LIB_OK(culv_buffer_get_dlpack(culv_shared_buffer_cuda(made), NULL, &tensor));
    culv_shared_buffer_destroy(&made, NULL);
    culv_vk_detach(&w.attachment);
    culv_device_close(&w.device);
    CU_OK(w.cu->DevicePrimaryCtxReset(0));
    tensor->deleter(tensor);
    raw_vk_close(&w.vk);
}
