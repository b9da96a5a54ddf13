/* SPDX-License-Identifier: MIT */
/* Imports and mappings that are wrong: each its class and reason, nothing consumed. */
#define TEST_GROUP "errors."
#include "bad_handles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

static void refuse(const lib_world *w, const bad_handle *handle)
{
    culv_memory *memory = NULL;
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_opaque_fd(handle->fd);
    d.size = 32768;
    LIB_REFUSES_AS(memory, culv_memory_import(w->device, &d, &memory), handle->result,
                   handle->reason);
}

LIB_CASE(wrong_fds)
{
    bad_handles_try(w, 65536, refuse);
}

/* A descriptor that was closed is gone: using it again says so. */
LIB_CASE(fd_is_used_twice)
{
    culv_memory *memory = NULL, *again = NULL;
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    culv_memory_desc d = lib_memory_desc(w, &vk, raw_vk_buffer_fd(&w->vk, &vk));
    const culv_memory_desc used = d;
    LIB_TAKE(culv_memory_import(w->device, &d, &memory), &d.handle);
    if (fcntl(used.handle.value.fd, F_GETFD) < 0) /* else the driver has the number by now */
        LIB_REFUSES(again, culv_memory_import(w->device, &used, &again), INVALID, HANDLE_BAD);
    culv_memory_destroy(&memory);
}

LIB_CASE(wrong_descriptors)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    const culv_memory_desc right = lib_memory_desc(w, &vk, fd.fd);
    culv_memory *memory = NULL;
    culv_memory_desc d = right;
    d.size = 0;
    LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), INVALID, SIZE);
    static const culv_handle_type types[] = {CULV_HANDLE_OPAQUE_WIN32, CULV_HANDLE_OPAQUE_WIN32_KMT,
                                             CULV_HANDLE_DMA_BUF_FD};
    for (int i = 0; i < 3; i++) { /* another system's; and one that the driver does not take */
        d = right;
        d.handle.type = types[i];
        LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), UNSUPPORTED, HANDLE_TYPE);
    }
    static const int none[] = {CULV_HANDLE_NONE, 99, -1};
    for (int i = 0; i < 3; i++) { /* no types at all: the descriptor is wrong */
        d = right;
        d.handle.type = (culv_handle_type)none[i];
        LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), INVALID, HANDLE_TYPE);
    }
    d = right;
    d.exporter.bytes[5] ^= 1; /* another device's */
    d.label = "heights";
    LIB_REFUSES(memory, culv_memory_import(w->device, &d, &memory), INVALID, DEVICE_MISMATCH,
                "'heights'");
    LIB_REFUSES(memory, culv_memory_import(w->device, NULL, &memory), INVALID, NULL_ARGUMENT);
    LIB_INVALID(culv_memory_import(w->device, &right, NULL), NULL_ARGUMENT);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
}

/* A size beyond the allocation's. Where the handle tells its size (a memfd), the import is refused;
 * NVIDIA's driver takes it (measured), and then the mapping must be refused. */
LIB_CASE(size_is_too_big)
{
    raw_vk_buffer vk = lib_case_buffer(w, 1 << 20, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    static const uint64_t sizes[] = {UINT64_C(2) << 20, UINT64_C(1) << 45, UINT64_MAX};
    static const culv_reason reasons[] = {CULV_REASON_SIZE, CULV_REASON_SIZE,
                                          CULV_REASON_DEVICE_MEMORY};
    for (int i = 0; i < 3; i++) {
        culv_memory *memory = POISON(culv_memory);
        culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
        d.size = sizes[i];
        culv_result r = culv_memory_import(w->device, &d, &memory);
        printf("%s\n", r == CULV_OK ? "imported" : culv_last_error_message());
        if (r == CULV_OK) {
            culv_buffer *buffer = NULL;
            REQUIRE(!w->cu->software);
            LIB_REFUSES_AS(buffer, culv_buffer_map(memory, NULL, &buffer),
                           reasons[i] == CULV_REASON_SIZE ? CULV_ERROR_DRIVER
                                                          : CULV_ERROR_OUT_OF_MEMORY,
                           reasons[i]);
            REQUIRE_EQ(lib_counts(w).mappings, 0);
            culv_memory_destroy(&memory);
        } else if (w->cu->software) {
            REQUIRE_EQ(r, CULV_ERROR_INVALID);
            culv_error e = culv_error_init();
            culv_last_error(&e);
            REQUIRE_EQ(e.reason, CULV_REASON_SIZE);
            REQUIRE(memory == POISON(culv_memory));
        } else {
            REQUIRE(r == CULV_ERROR_INVALID || r == CULV_ERROR_DRIVER ||
                    r == CULV_ERROR_OUT_OF_MEMORY);
            REQUIRE(memory == POISON(culv_memory));
        }
        lib_fd_require_untouched(&fd);
    }
    lib_fd_done(&fd, true);
}

LIB_CASE(ranges)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    culv_memory *memory = lib_import(w, &vk);
    uint64_t end = vk.allocation_size;
    const struct {
        uint64_t offset, size;
    } bad[] = {{end, 0},
               {end, 1},
               {end + 1, 0},
               {0, end + 1},
               {1, end},
               {end - 1, 2},
               {UINT64_MAX, 0},
               {UINT64_MAX, 1},
               {0, UINT64_MAX},
               {1, UINT64_MAX},
               {end / 2, UINT64_MAX - end / 2 + 1},
               {4096, UINT64_MAX - 4095},
               {UINT64_MAX, UINT64_MAX}};
    culv_buffer *buffer = NULL;
    culv_buffer_desc d = culv_buffer_desc_init();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        d.offset = bad[i].offset;
        d.size = bad[i].size;
        LIB_REFUSES(buffer, culv_buffer_map(memory, &d, &buffer), INVALID, RANGE,
                    "culv_buffer_desc.offset", "(culv_vk_memory_desc.allocation_size)");
    }
    REQUIRE_EQ(lib_counts(w).buffers, 0);
    REQUIRE_EQ(lib_counts(w).mappings, 0);
    d.offset = end - 1; /* the last byte is in */
    d.size = 1;
    LIB_OK(culv_buffer_map(memory, &d, &buffer));
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
}

/* The Vulkan road: what Vulkan says of the buffer is held against what the caller says. */
LIB_CASE(vulkan_contradicts)
{
    raw_vk_buffer vk, dedicated;
    raw_vk_buffer_create_at(&w->vk, 65536, 1 << 20, RAW_VK_EXPORT, &vk);
    raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT | RAW_VK_DEDICATED, &dedicated);
    culv_memory *memory = NULL;
    culv_vk_memory_desc right = culv_vk_memory_desc_init();
    right.memory = vk.memory;
    right.allocation_size = vk.allocation_size;
    right.buffer = vk.buffer;
    right.buffer_offset = vk.offset;
    const struct {
        VkDeviceMemory memory;
        VkDeviceSize allocation_size, offset;
        VkBool32 dedicated;
        culv_reason reason;
    } rows[] = {
        {VK_NULL_HANDLE, vk.allocation_size, vk.offset, VK_FALSE, CULV_REASON_NULL_ARGUMENT},
        {vk.memory, 0, vk.offset, VK_FALSE, CULV_REASON_SIZE},
        {vk.memory, vk.size - 1, 0, VK_FALSE, CULV_REASON_SIZE},
        {vk.memory, vk.allocation_size - 1, vk.offset, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, vk.allocation_size, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, UINT64_MAX, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, UINT64_MAX - 65535, VK_FALSE, CULV_REASON_RANGE},
        {vk.memory, vk.allocation_size, vk.offset - 1, VK_FALSE,
         CULV_REASON_RANGE}, /* not aligned */
        {vk.memory, vk.allocation_size, vk.offset, VK_TRUE, CULV_REASON_DEDICATED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_memory_desc d = right;
        d.memory = rows[i].memory;
        d.allocation_size = rows[i].allocation_size;
        d.buffer_offset = rows[i].offset;
        d.dedicated = rows[i].dedicated;
        LIB_REFUSES_AS(memory, culv_vk_memory_import(w->attachment, &d, &memory),
                       CULV_ERROR_INVALID, rows[i].reason);
        if (rows[i].reason == CULV_REASON_RANGE) LIB_SAYS("culv_vk_memory_desc.buffer_offset");
    }
    /* Without its buffer nothing of Vulkan's contradicts; on the twin and on Mesa the file does. */
    culv_vk_memory_desc large = right;
    large.buffer = VK_NULL_HANDLE;
    large.allocation_size = UINT64_C(1) << 40;
    if (lib_caps(w->device).is_software) {
        LIB_REFUSES(memory, culv_vk_memory_import(w->attachment, &large, &memory), INVALID, SIZE,
                    "culv_vk_memory_desc.allocation_size", "VkMemoryAllocateInfo::allocationSize");
    }
    /* The size told is the fault, and the offset is right. */
    culv_buffer *buffer = NULL;
    culv_buffer_desc whole = culv_buffer_desc_init();
    LIB_OK(culv_vk_memory_import(w->attachment, &right, &memory));
    whole.size = vk.allocation_size + 1;
    LIB_REFUSES(buffer, culv_buffer_map(memory, &whole, &buffer), INVALID, RANGE,
                "culv_vk_memory_desc.allocation_size");
    culv_memory_destroy(&memory);

    /* A buffer that Vulkan wants dedicated, said not to be. */
    culv_vk_device *lying = NULL;
    culv_vk_device_desc vd = lib_vk_desc(w);
    lib_lying = (lib_lies){.requires_dedicated = true};
    vd.get_instance_proc_addr = lib_lying_loader;
    LIB_OK(culv_vk_attach(w->device, &vd, &lying));
    LIB_REFUSES(memory, culv_vk_memory_import(lying, &right, &memory), INVALID, DEDICATED);
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = dedicated.memory;
    d.allocation_size = dedicated.allocation_size;
    d.buffer = dedicated.buffer;
    d.dedicated = VK_TRUE;
    LIB_OK(culv_vk_memory_import(lying, &d, &memory));
    culv_memory_destroy(&memory);
    culv_vk_detach(&lying);
    raw_vk_buffer_destroy(&w->vk, &vk);
    raw_vk_buffer_destroy(&w->vk, &dedicated);
}

/* A success is no cause. */
static void require_no_success(void)
{
    if (strstr(culv_last_error_message(), "VK_SUCCESS") != NULL)
        FAIL("%s", culv_last_error_message());
}

/* vkGetMemoryFdKHR that gives nothing: Mesa says success and -1 for what was not made for
 * export. */
LIB_CASE(export_fails)
{
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    static const struct {
        VkResult vulkan;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {VK_SUCCESS, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE},
        {VK_ERROR_OUT_OF_HOST_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY},
        {VK_ERROR_OUT_OF_DEVICE_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_DEVICE_MEMORY},
        {VK_ERROR_DEVICE_LOST, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_device *lying = NULL;
        culv_memory *memory = NULL;
        culv_error e = culv_error_init();
        culv_vk_device_desc vd = lib_vk_desc(w);
        lib_lying = (lib_lies){.memory_fd_fails = true, .memory_fd_result = rows[i].vulkan};
        vd.get_instance_proc_addr = lib_lying_loader;
        LIB_OK(culv_vk_attach(w->device, &vd, &lying));
        culv_vk_memory_desc d = culv_vk_memory_desc_init();
        d.memory = vk.memory;
        d.allocation_size = vk.allocation_size;
        LIB_REFUSES_AS(memory, culv_vk_memory_import(lying, &d, &memory), rows[i].result,
                       rows[i].reason);
        require_no_success();
        culv_last_error(&e);
        REQUIRE_EQ(e.native_api, CULV_NATIVE_VULKAN);
        REQUIRE_EQ(e.native_code, rows[i].vulkan);
        REQUIRE_EQ_STR(e.native_call, "vkGetMemoryFdKHR");
        culv_vk_detach(&lying);
    }
}

/* The real thing. Asking for it is against the specification, so validation stays off; what a
 * driver does is its own affair, but Culvert answers for what it hands out. */
TEST(memory_was_not_made_for_export, .own = true)
{
    lib_with_option("--validation=off");
    lib_world w;
    lib_open(&w);
    culv_memory *memory = POISON(culv_memory);
    raw_vk_buffer vk = lib_case_buffer(&w, 65536, 0);
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = vk.memory;
    d.allocation_size = vk.allocation_size;
    culv_result r = culv_vk_memory_import(w.attachment, &d, &memory);
    printf("%s\n", r == CULV_OK ? "the driver exported it" : culv_last_error_message());
    if (w.cu->software) REQUIRE_EQ(r, CULV_ERROR_INVALID);
    if (r == CULV_OK) {
        culv_memory_destroy(&memory);
    } else {
        culv_error e = culv_error_init();
        culv_last_error(&e);
        REQUIRE(e.reason == CULV_REASON_NOT_EXPORTABLE || e.reason == CULV_REASON_HANDLE_REFUSED);
        REQUIRE(memory == POISON(culv_memory));
    }
    lib_close(&w);
}

/* The process may open no more files: the caller's descriptor stays what it was. */
LIB_CASE(out_of_file_descriptors, .own = true)
{
    struct rlimit before;
    culv_memory *memory = POISON(culv_memory);
    raw_vk_buffer vk = lib_case_buffer(w, 65536, RAW_VK_EXPORT);
    lib_fd fd = lib_fd_watch(raw_vk_buffer_fd(&w->vk, &vk));
    culv_memory_desc d = lib_memory_desc(w, &vk, fd.fd);
    VkSemaphore timeline = raw_vk_timeline(&w->vk, 0, true);
    culv_handle out = {0};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    struct rlimit none = {.rlim_cur = 3, .rlim_max = before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    culv_error e[3] = {culv_error_init(), culv_error_init(), culv_error_init()};
    culv_result r[3] = {culv_memory_import(w->device, &d, &memory)};
    culv_last_error(&e[0]);
    r[1] = culv_vk_memory_export_dup(w->attachment, vk.memory, CULV_HANDLE_OPAQUE_FD, &out);
    culv_last_error(&e[1]);
    r[2] = culv_vk_semaphore_export_dup(w->attachment, timeline, CULV_HANDLE_OPAQUE_FD, &out);
    culv_last_error(&e[2]);
    REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    for (int i = 0; i < 3; i++) {
        printf("%s\n", e[i].message);
        REQUIRE_EQ(r[i], CULV_ERROR_INVALID);
        REQUIRE_EQ(e[i].reason, CULV_REASON_OS);
        REQUIRE_EQ(e[i].native_api, CULV_NATIVE_OS);
        REQUIRE_EQ(e[i].native_code, EMFILE);
        REQUIRE(strstr(e[i].message, "RLIMIT_NOFILE") != NULL);
    }
    REQUIRE(memory == POISON(culv_memory) && out.type == CULV_HANDLE_NONE);
    raw_vk_timeline_destroy(&w->vk, timeline);
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
}
