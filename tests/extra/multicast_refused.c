/* SPDX-License-Identifier: MIT */
/* Multicast objects: what is refused, and what the driver says of the system. */
#define TEST_GROUP "multicast_refused."
#include "cuda/device.h"
#include "multicast_stage.h"

#include <unistd.h>

static void refuse(const multicast_stage *m, const culv_multicast_desc *d, culv_result class,
                   culv_reason reason)
{
    culv_multicast *none;
    LIB_REFUSES_AS(none, culv_multicast_create(m->devices[0], d, &none), class, reason);
}

MULTICAST_CASE(objects)
{
    culv_multicast *none;
    uint64_t least = 77;
    culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
    d.struct_size = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE);
    d = multicast_describe(0);
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE);
    d = multicast_describe(UINT64_MAX);
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_SIZE);
    d = multicast_describe(MULTICAST_CHUNK);
    d.num_devices = 0;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_VALUE);
    d.num_devices = 3; /* than the twin has: the driver says so */
    refuse(s, &d, CULV_ERROR_DRIVER, CULV_REASON_DRIVER_REFUSED);
    d = multicast_describe(MULTICAST_CHUNK);
    d.handle_types = 1u << CULV_HANDLE_DMA_BUF_FD;
    refuse(s, &d, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE);
    d.handle_types = 1u << CULV_HANDLE_OPAQUE_WIN32;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE);
    LIB_ERROR(culv_multicast_get_granularity(s->devices[0], &d, &least, NULL), UNSUPPORTED,
              HANDLE_TYPE);
    REQUIRE_EQ(least, 77);
    d = multicast_describe(MULTICAST_CHUNK);
    culv_cuda_api *cuda = &s->devices[0]->tables[0].api;
    const culv_cuda_api kept = *cuda;
    cuda->cuMulticastCreate = NULL;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD);
    LIB_ERROR(culv_check_multicast(s->devices[0]), UNSUPPORTED, DRIVER_TOO_OLD);
    cuda->cuMulticastCreate = kept.cuMulticastCreate;
    s->devices[0]->caps.multicast = 0;
    refuse(s, &d, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM);
    s->devices[0]->caps.multicast = 1;

    culv_multicast_import_desc id = culv_multicast_import_desc_init();
    id.opt_in = 1;
    id.size = MULTICAST_CHUNK;
    LIB_REFUSES(none, culv_multicast_import(s->devices[0], &id, &none), INVALID, VALUE);
    id.num_devices = 2;
    id.size = 0;
    LIB_REFUSES(none, culv_multicast_import(s->devices[0], &id, &none), INVALID, SIZE);
    id.size = MULTICAST_CHUNK;
    LIB_REFUSES(none, culv_multicast_import(s->devices[0], &id, &none), INVALID, HANDLE_TYPE);
    id.handle = culv_handle_dma_buf_fd(0);
    LIB_REFUSES(none, culv_multicast_import(s->devices[0], &id, &none), INVALID, HANDLE_TYPE);
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    id.handle = culv_handle_opaque_fd(ends[0]);
    lib_fd watched = lib_fd_watch(ends[0]);
    LIB_REFUSES(none, culv_multicast_import(s->devices[0], &id, &none), INVALID, HANDLE_KIND);
    lib_fd_require_untouched(&watched);
    lib_fd_done(&watched, true);
    close(ends[1]);
    REQUIRE(culv_multicast_allocation(NULL) == NULL);
}

MULTICAST_CASE(devices_and_bindings)
{
    const uint64_t chunk = MULTICAST_CHUNK;
    culv_multicast *object = NULL;
    culv_vmm_allocation *pool = NULL;
    culv_multicast_desc d = multicast_describe(2 * chunk);
    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    LIB_OK(culv_multicast_add_device(object, s->devices[0]));
    LIB_INVALID(culv_multicast_add_device(object, s->devices[0]), VALUE, "was added already");
    s->devices[1]->caps.multicast = 0;
    LIB_ERROR(culv_multicast_add_device(object, s->devices[1]), UNSUPPORTED, VMM);
    s->devices[1]->caps.multicast = 1;
    LIB_OK(culv_multicast_mark_devices_added(object, 1)); /* of another process, it says */
    LIB_INVALID(culv_multicast_add_device(object, s->devices[1]), VALUE,
                "all of the object's 2 devices");
    culv_multicast_destroy(&object);

    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(object, s->devices[i]));
    LIB_INVALID(culv_multicast_bind(object, 0, NULL, 0, chunk), NULL_ARGUMENT);
    LIB_INVALID(culv_multicast_bind(object, 4096, s->memory[0], 0, chunk), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 4096, chunk), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, 0), VALUE);
    LIB_INVALID(culv_multicast_bind(object, 2 * chunk, s->memory[0], 0, chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, chunk, s->memory[0], 0, 2 * chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], 0, 2 * chunk), RANGE);
    LIB_INVALID(culv_multicast_bind(object, 0, s->memory[0], chunk, chunk), RANGE);
    pool = sparse_pool(&s->s, 1);
    LIB_INVALID(culv_multicast_bind(object, 0, pool, 0, chunk), USAGE);
    culv_vmm_allocation_destroy(&pool);
    LIB_INVALID(culv_multicast_bind(object, 0, culv_multicast_allocation(object), 0, chunk), USAGE);
    culv_multicast *other = NULL; /* that waits for nobody any more */
    LIB_OK(culv_multicast_create(s->devices[0], &d, &other));
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(other, s->devices[i]));
    LIB_INVALID(culv_multicast_bind(object, 0, culv_multicast_allocation(other), 0, chunk), USAGE);
    culv_vmm_allocation *part = culv_multicast_allocation(other);
    lib_forget_error();
    culv_vmm_allocation_destroy(&part);
    REQUIRE(part != NULL);
    LIB_SAYS("culv_multicast_destroy() destroys both");
    culv_multicast_destroy(&other);
    LIB_OK(culv_multicast_bind(object, 0, s->memory[0], 0, chunk));
    LIB_ERROR(culv_multicast_bind(object, 0, s->shared[0], 0, chunk), BUSY, MAPPED);
    LIB_ERROR(culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], chunk), BUSY,
              MAPPED);
    LIB_INVALID(culv_multicast_bind_address(object, 0, s->devices[0], 0, chunk), NULL_ARGUMENT);
    LIB_INVALID(culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0] + 64, chunk),
                VALUE);
    LIB_INVALID(culv_multicast_bind_address(object, chunk, s->devices[1], s->mapped[0], chunk),
                DEVICE_MISMATCH, "lies on CUDA device 0");
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[1], chunk), NOT_MAPPED);
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[0], 2 * chunk), NOT_MAPPED);
    LIB_INVALID(culv_multicast_unbind(object, 0, NULL, chunk), NULL_ARGUMENT);
    LIB_OK(culv_multicast_unbind(object, 0, s->devices[0], chunk));
    LIB_INVALID(culv_multicast_unbind(object, 0, s->devices[0], chunk), NOT_MAPPED);
    culv_multicast_destroy(&object);
}

/* Makes the first call of that name fail. The first of all asks whether the context is still there,
 * and may fail. */
#define PLAY(m, code, wanted, made, why)                                                           \
    do {                                                                                           \
        culv_result r_ = CULV_OK;                                                                  \
        for (uint64_t n_ = 2; n_ < 16; n_++) {                                                     \
            (m)->s.w.cu->SoftFailAt(n_, (code));                                                   \
            r_ = (made);                                                                           \
            const char *call_ = (m)->s.w.cu->SoftFailedCall();                                     \
            REQUIRE(call_ != NULL && r_ != CULV_OK);                                               \
            if (strcmp(call_, (wanted)) == 0) break;                                               \
        }                                                                                          \
        (m)->s.w.cu->SoftFailAt(0, 0);                                                             \
        culv_error e_ = culv_error_init();                                                         \
        culv_last_error(&e_);                                                                      \
        REQUIRE_EQ(r_, CULV_ERROR_DRIVER);                                                         \
        REQUIRE_EQ(e_.reason, (why));                                                              \
        REQUIRE_EQ(e_.native_code, (code));                                                        \
        REQUIRE_EQ_STR(e_.native_call, (wanted));                                                  \
    } while (0)

/* What is wrong with the system comes in words of its own. */
MULTICAST_CASE(system_says)
{
    culv_multicast *object = NULL;
    const culv_multicast_desc d = multicast_describe(MULTICAST_CHUNK);
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastCreate",
         culv_multicast_create(s->devices[0], &d, &object), CULV_REASON_NOT_READY);
    LIB_SAYS("system software");
    REQUIRE(object == NULL);
    LIB_OK(culv_multicast_create(s->devices[0], &d, &object));
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastAddDevice",
         culv_multicast_add_device(object, s->devices[0]), CULV_REASON_NOT_READY);
    REQUIRE_EQ(lib_allocation(culv_multicast_allocation(object)).missing_devices, 2);
    for (int i = 0; i < 2; i++)
        LIB_OK(culv_multicast_add_device(object, s->devices[i]));
    PLAY(s, CUDA_ERROR_SYSTEM_NOT_READY, "cuMulticastBindMem",
         culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK), CULV_REASON_NOT_READY);
    PLAY(s, CUDA_ERROR_ILLEGAL_STATE, "cuMulticastBindMem",
         culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK),
         CULV_REASON_DRIVER_REFUSED);
    LIB_SAYS("illegal state");
    PLAY(s, CUDA_ERROR_ILLEGAL_STATE, "cuMulticastBindAddr",
         culv_multicast_bind_address(object, 0, s->devices[0], s->mapped[0], MULTICAST_CHUNK),
         CULV_REASON_DRIVER_REFUSED);
    LIB_OK(culv_multicast_bind(object, 0, s->memory[0], 0, MULTICAST_CHUNK));
    culv_multicast_destroy(&object);
}
