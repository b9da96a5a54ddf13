/* SPDX-License-Identifier: MIT */
/* Every type of handle at every call that takes one or makes one: accepted, or refused by name with
 * the class and reason that the type's row has, and nothing is consumed or written. */
#define TEST_GROUP "handle_rows."
#include "library.h"
#include "raw_binary.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum {
    BYTES = 65536,
    FD_BIT = 1 << CULV_HANDLE_OPAQUE_FD,
    POSIX = 1,
    WINDOWS = 0,
    BUILT = 1,
    APART = 0
};

/* The columns that a call goes by. */
typedef enum column { MEMORY, BINARY, TIMELINE, VMM, VK_MEMORY, VK_SEMAPHORE, COLUMNS } column;

static const struct row {
    culv_handle_type type;
    const char *name;
    bool here, built;
    bool serves[COLUMNS];
} rows[] = {
#define CULVI_HANDLE(name, words, kind, system, closer, state, dedicated, memory, binary,          \
                     timeline, mutex, vmm, vk_memory, vk_semaphore, gl)                            \
    {CULV_HANDLE_##name,                                                                           \
     #name,                                                                                        \
     system,                                                                                       \
     state,                                                                                        \
     {(memory) != 0, (binary) != 0, (timeline) != 0, (vmm) != 0, (vk_memory) != 0,                 \
      (vk_semaphore) != 0}},
#include "base/handle_rows.h"

#undef CULVI_HANDLE
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef struct stage {
    lib_world w;
    raw_vk_buffer buffer;
    VkSemaphore timeline;
    raw_binary binary;
    bool has_binary;
    culv_vmm_allocation *allocation; /* NULL: the device has none */
    culv_mem_pool *pool;
} stage;

/* A call with a handle, or with a type alone. On success it gives back what it made, and closes
 * what it was lent. */
typedef culv_result call(const stage *s, culv_handle handle);

static culv_result memory(const stage *s, culv_handle handle)
{
    culv_memory *out = POISON(culv_memory);
    culv_memory_desc d = lib_memory_desc(&s->w, &s->buffer, -1);
    d.handle = handle;
    culv_result result = culv_memory_import(s->w.device, &d, &out);
    if (result != CULV_OK)
        REQUIRE(out == POISON(culv_memory));
    else
        culv_memory_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static culv_result semaphore(const stage *s, culv_handle handle, culv_semaphore_type type)
{
    culv_semaphore *out = POISON(culv_semaphore);
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.handle = handle;
    d.type = type;
    culv_result result = culv_semaphore_import(s->w.device, &d, &out);
    if (result != CULV_OK)
        REQUIRE(out == POISON(culv_semaphore));
    else
        culv_semaphore_destroy(&out, NULL);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static culv_result timeline(const stage *s, culv_handle handle)
{
    return semaphore(s, handle, CULV_SEMAPHORE_TIMELINE);
}

static culv_result binary(const stage *s, culv_handle handle)
{
    return semaphore(s, handle, CULV_SEMAPHORE_BINARY);
}

static culv_result vmm(const stage *s, culv_handle handle)
{
    culv_vmm_allocation *out = POISON(culv_vmm_allocation);
    culv_vmm_import_desc d = culv_vmm_import_desc_init();
    d.handle = handle;
    d.size = lib_allocation(s->allocation).size;
    culv_result result = culv_vmm_import(s->w.device, &d, &out);
    if (result != CULV_OK)
        REQUIRE(out == POISON(culv_vmm_allocation));
    else
        culv_vmm_allocation_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static culv_result pool(const stage *s, culv_handle handle)
{
    culv_mem_pool *out = POISON(culv_mem_pool);
    culv_mem_pool_import_desc d = culv_mem_pool_import_desc_init();
    d.handle = handle;
    culv_result result = culv_mem_pool_import(s->w.device, &d, &out);
    if (result != CULV_OK)
        REQUIRE(out == POISON(culv_mem_pool));
    else
        culv_mem_pool_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static culv_result from_handle(const stage *s, culv_handle handle)
{
    culv_vk_memory_from_handle_desc d = culv_vk_memory_from_handle_desc_init();
    VkDeviceMemory out = VK_NULL_HANDLE;
    d.handle = handle;
    d.size = s->buffer.allocation_size;
    d.memory_type_bits = 1u << s->buffer.memory_type;
    culv_result result = culv_vk_memory_from_handle(s->w.attachment, &d, &out);
    REQUIRE((result == CULV_OK) == (out != VK_NULL_HANDLE));
    if (result != CULV_OK) return result;
    vkFreeMemory(s->w.vk.device, out, NULL);
    culv_handle_close(&handle);
    return result;
}

static culv_result plan(const stage *s, culv_handle handle)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT);
    culv_vk_check_desc d = culv_vk_check_desc_init();
    culv_vk_sharing_info out = culv_vk_sharing_info_init();
    d.handle_type = handle.type;
    culv_result result = culv_vk_check_buffer(s->w.attachment, &info, &d, &out);
    REQUIRE_EQ(out.handle_type, result == CULV_OK ? handle.type : CULV_HANDLE_NONE);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

/* Exports: the handle that is given tells the type alone. */
static culv_result exported(const stage *s, culv_handle handle, culv_result result,
                            culv_handle *out)
{
    (void)s;
    if (result != CULV_OK) {
        REQUIRE_EQ(out->type, CULV_HANDLE_NONE);
        return result;
    }
    REQUIRE_EQ(out->type, handle.type);
    culv_handle_close(out);
    culv_handle_close(&handle);
    return result;
}

static culv_result export_memory(const stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle,
                    culv_vk_memory_export_dup(s->w.attachment, s->buffer.memory, handle.type, &out),
                    &out);
}

static culv_result export_semaphore(const stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle,
                    culv_vk_semaphore_export_dup(s->w.attachment, s->timeline, handle.type, &out),
                    &out);
}

static culv_result export_vmm(const stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle, culv_vmm_export_dup(s->allocation, handle.type, &out), &out);
}

static culv_result export_pool(const stage *s, culv_handle handle)
{
    culv_handle out = {0};
    return exported(s, handle, culv_mem_pool_export_dup(s->pool, handle.type, &out), &out);
}

/* Descriptors with bits. */
static culv_result allocate(const stage *s, culv_handle handle)
{
    culv_vmm_allocation *out = NULL;
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = BYTES;
    d.handle_types = UINT32_C(1) << handle.type;
    culv_result result = culv_vmm_allocation_create(s->w.device, &d, &out);
    REQUIRE((result == CULV_OK) == (out != NULL));
    culv_vmm_allocation_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static culv_result make_pool(const stage *s, culv_handle handle)
{
    culv_mem_pool *out = NULL;
    culv_mem_pool_desc d = culv_mem_pool_desc_init();
    d.handle_types = UINT32_C(1) << handle.type;
    culv_result result = culv_mem_pool_create(s->w.device, &d, &out);
    REQUIRE((result == CULV_OK) == (out != NULL));
    culv_mem_pool_destroy(&out);
    if (result == CULV_OK) culv_handle_close(&handle);
    return result;
}

static const struct entry {
    const char *name;
    call *run;
    column by;
} calls[] = {
    {"culv_memory_import", memory, MEMORY},
    {"culv_semaphore_import (timeline)", timeline, TIMELINE},
    {"culv_semaphore_import (binary)", binary, BINARY},
    {"culv_vmm_import", vmm, VMM},
    {"culv_mem_pool_import", pool, VMM},
    {"culv_vk_memory_from_handle", from_handle, VK_MEMORY},
    {"culv_vk_check_buffer", plan, VK_MEMORY},
    {"culv_vk_memory_export_dup", export_memory, VK_MEMORY},
    {"culv_vk_semaphore_export_dup", export_semaphore, VK_SEMAPHORE},
    {"culv_vmm_export_dup", export_vmm, VMM},
    {"culv_mem_pool_export_dup", export_pool, VMM},
    {"culv_vmm_allocation_create", allocate, VMM},
    {"culv_mem_pool_create", make_pool, VMM},
};

static void open_stage(stage *s)
{
    memset(s, 0, sizeof *s);
    lib_open(&s->w);
    raw_vk_buffer_create(&s->w.vk, BYTES, RAW_VK_EXPORT, &s->buffer);
    s->timeline = raw_vk_timeline(&s->w.vk, 0, true);
    close(
        /* From its first export on, Vulkan's side keeps an fd */
        raw_vk_timeline_fd(&s->w.vk, s->timeline));
    close(raw_vk_buffer_fd(&s->w.vk, &s->buffer));
    s->has_binary =
        s->w.cu->software || (raw_binary_properties(&s->w.vk).externalSemaphoreFeatures &
                              VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT) != 0;
    if (s->has_binary) raw_binary_create(&s->w.vk, s->w.cu, &s->binary);
    culv_vmm_allocation_desc d = culv_vmm_allocation_desc_init();
    d.size = BYTES;
    d.handle_types = FD_BIT;
    LIB_OK(culv_vmm_allocation_create(s->w.device, &d, &s->allocation));
    culv_mem_pool_desc pd = culv_mem_pool_desc_init();
    pd.handle_types = FD_BIT;
    LIB_OK(culv_mem_pool_create(s->w.device, &pd, &s->pool));
}

static void close_stage(stage *s)
{
    culv_mem_pool_destroy(&s->pool);
    culv_vmm_allocation_destroy(&s->allocation);
    if (s->has_binary) raw_binary_destroy(&s->w.vk, &s->binary);
    raw_vk_timeline_destroy(&s->w.vk, s->timeline);
    raw_vk_buffer_destroy(&s->w.vk, &s->buffer);
    lib_close(&s->w);
}

/* An fd that is right for a call, as it is exported; -1: the machine has none. */
static int right_fd(stage *s, const struct entry *c)
{
    culv_handle h = {0};
    if (c->run == pool) {
        LIB_OK(culv_mem_pool_export_dup(s->pool, CULV_HANDLE_OPAQUE_FD, &h));
        return h.value.fd;
    }
    switch (c->by) {
    case VMM:
        LIB_OK(culv_vmm_export_dup(s->allocation, CULV_HANDLE_OPAQUE_FD, &h));
        return h.value.fd;
    case BINARY: return s->has_binary ? raw_binary_fd(&s->w.vk, &s->binary) : -1;
    case TIMELINE:
    case VK_SEMAPHORE: return raw_vk_timeline_fd(&s->w.vk, s->timeline);
    default: return raw_vk_buffer_fd(&s->w.vk, &s->buffer);
    }
}

static void require_refused(const struct entry *c, const struct row *r, culv_result result,
                            culv_result expected)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    printf("%s, %s: %s\n", c->name, r->name, e.message);
    REQUIRE_EQ(result, expected);
    REQUIRE_EQ(e.result, expected);
    REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
    LIB_SAYS(r->name);
}

/* What no row's number decides: whether this machine has dma-bufs. */
static void require_dma_buf(const struct entry *c, culv_result result)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    printf("%s, DMA_BUF_FD: %s\n", c->name, e.message);
    if (c->by == MEMORY) {
        REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
        REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
        REQUIRE_EQ_STR(e.native_call, "cuImportExternalMemory");
    } else if (c->run == plan) {
        REQUIRE_EQ(result, CULV_ERROR_UNSUPPORTED);
        REQUIRE_EQ(e.reason, CULV_REASON_HANDLE_TYPE);
    } else {
        REQUIRE(result != CULV_OK); /* nothing here was made for export as one */
    }
}

/* Bytes of any kind come as far as the driver, or to what was not made for export as them. */
static bool takes_fabric(const struct entry *c, const struct row *r)
{
    return r->type == CULV_HANDLE_FABRIC &&
           (c->run == vmm || c->run == pool || c->run == export_vmm || c->run == export_pool);
}

TEST(each_pair)
{
    stage s;
    open_stage(&s);
    unsigned accepted = 0, refused = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (int k = 0; k < ROWS; k++) {
            const struct entry *c = &calls[i];
            const struct row *r = &rows[k];
            const bool served = r->serves[c->by], here = r->here && r->built;
            /* Making one on hardware may disturb other programs of the host: never in a test. */
            /* From Mesa 25 on lavapipe takes any file for a dma-buf, and hands out as one what was
             * made for another export, which the specification forbids to ask for. */
            const bool lax =
                r->type == CULV_HANDLE_DMA_BUF_FD && s.w.vk.dma_buf && s.w.cu->software;
            if (lax && c->run == export_memory) continue;
            int fd = right_fd(&s, c);
            const bool right = fd >= 0 && r->type == CULV_HANDLE_OPAQUE_FD && served;
            if (fd < 0) fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            lib_fd watched = lib_fd_watch(fd);
            const size_t fds = test_open_fds();
            culv_handle handle = culv_handle_opaque_fd(fd);
            handle.type = r->type;
            lib_forget_error();
            culv_result result = c->run(&s, handle);
            const bool taken = lax && c->run == from_handle && result == CULV_OK;
            if (right || taken) {
                if (result != CULV_OK)
                    FAIL("%s, %s: %s", c->name, r->name, culv_last_error_message());
                lib_fd_require_gone(&watched);
                lib_fd_done(&watched, false);
                accepted++;
                continue;
            }
            if (!served)
                require_refused(c, r, result, CULV_ERROR_INVALID);
            else if (!here && !takes_fabric(c, r))
                require_refused(c, r, result, CULV_ERROR_UNSUPPORTED);
            else if (r->type == CULV_HANDLE_DMA_BUF_FD)
                require_dma_buf(c, result);
            else
                REQUIRE(result != CULV_OK); /* /dev/null */
            lib_fd_require_untouched(&watched);
            REQUIRE_EQ(test_open_fds(), fds);
            lib_fd_done(&watched, true);
            refused++;
        }
    REQUIRE(accepted >= 11);
    MEASURED("library.handle_rows", "%u pairs accepted, %u refused", accepted, refused);
    close_stage(&s);
}

/* What is no type has no row: refused by each call, as what the caller did wrong. */
TEST(no_type)
{
    static const int none[] = {CULV_HANDLE_NONE, ROWS + 1, 31};
    stage s;
    open_stage(&s);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        for (size_t k = 0; k < sizeof none / sizeof none[0]; k++) {
            if (calls[i].run == plan && none[k] == CULV_HANDLE_NONE) continue; /* the default */
            const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
            lib_fd watched = lib_fd_watch(fd);
            culv_handle handle = culv_handle_opaque_fd(fd);
            handle.type = (culv_handle_type)none[k];
            printf("%s, type %d\n", calls[i].name, none[k]);
            LIB_INVALID(calls[i].run(&s, handle), HANDLE_TYPE);
            lib_fd_require_untouched(&watched);
            lib_fd_done(&watched, true);
        }
    close_stage(&s);
}

/* Types without an open handle of this system's behind them are neither duplicated nor closed. */
TEST(duplicated_and_closed)
{
    const int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const size_t fds = test_open_fds();
    for (int k = 0; k < ROWS; k++) {
        const struct row *r = &rows[k];
        culv_handle handle = culv_handle_opaque_fd(fd), out = {0};
        handle.type = r->type;
        if (r->here && r->built) {
            LIB_OK(culv_handle_dup(&handle, &out));
            REQUIRE(out.type == r->type && out.value.fd != fd && fcntl(out.value.fd, F_GETFD) >= 0);
            culv_handle_close(&out);
        } else if (r->type == CULV_HANDLE_FABRIC) {
            LIB_OK(culv_handle_dup(&handle, &out));
            REQUIRE_EQ_BYTES(&out, &handle, sizeof out);
            culv_handle_close(&out);
            REQUIRE(out.type == CULV_HANDLE_NONE && fcntl(fd, F_GETFD) >= 0);
        } else {
            LIB_ERROR(culv_handle_dup(&handle, &out), UNSUPPORTED, HANDLE_TYPE, r->name);
            REQUIRE_EQ(out.type, CULV_HANDLE_NONE);
            culv_handle_close(&handle);
            REQUIRE(handle.type == CULV_HANDLE_NONE && fcntl(fd, F_GETFD) >= 0);
        }
        REQUIRE_EQ(test_open_fds(), fds);
    }
    close(fd);
}

/* The numbers are one after the other, and fit as bits. */
TEST(numbers)
{
    for (int k = 0; k < ROWS; k++)
        REQUIRE_EQ(rows[k].type, k + 1);
    REQUIRE(ROWS < 16); /* property.c keeps them in 16 bits */
}
