/* SPDX-License-Identifier: MIT */
/* The log at INFO and DEBUG: objects made and destroyed, driver calls with values and results. */
#define TEST_GROUP "log."
#include "log_scene.h"

#include <inttypes.h>

static void make_and_destroy(log_scene *s)
{
    culv_shared_buffer *buffer = log_make_buffer(s, "particles", 40000);
    culv_shared_semaphore *semaphore = log_make_timeline(s, "frames", 7);
    culv_vector_desc d = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_memory *memory = NULL;
    culv_buffer *mapped = NULL;
    culv_kernels *kernels = NULL;
    char share[TEST_PATH_MAX];
    d.size = 4096;
    d.label = "growing";
    LIB_OK(culv_vector_create(s->w.device, &d, &vector));
    raw_vk_buffer raw;
    raw_vk_buffer_create(&s->w.vk, 65536, RAW_VK_EXPORT, &raw);
    memory = lib_import(&s->w, &raw);
    culv_buffer_desc b = culv_buffer_desc_init();
    b.offset = 256;
    b.size = 1000;
    b.label = "a part";
    LIB_OK(culv_buffer_map(memory, &b, &mapped));
    LIB_OK(culv_kernels_load(s->w.device, test_path(share, "share/culvert"), "library_kernels",
                             &kernels));
    culv_kernels_unload(&kernels);
    culv_memory_destroy(&memory); /* lives on in the buffer */
    culv_buffer_unmap(&mapped, NULL);
    culv_vector_destroy(&vector, NULL);
    culv_shared_semaphore_destroy(&semaphore, NULL);
    culv_shared_buffer_destroy(&buffer, NULL);
    raw_vk_buffer_destroy(&s->w.vk, &raw);
    lib_settle(&s->w);
}

/* Each object that was made is destroyed, under the same name and with the same size. */
LOG_CASE(objects, CULV_LOG_INFO, .smoke = true)
{
    static const char *const expected[] = {"made buffer 'a part', 1000 bytes",
                                           "made import of memory, 65536 bytes",
                                           "made Vulkan buffer 'particles', ",
                                           "made buffer 'particles', 40000 bytes",
                                           "made import of memory 'particles',",
                                           "made timeline semaphore 'frames'",
                                           "made vector 'growing', ",
                                           "made VMM allocation 'growing', ",
                                           "made address range 'growing', ",
                                           "made kernels 'library_kernels."};
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "opened ", NULL) < s->count);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "attached Vulkan device ", NULL) < s->count);
    log_forget(s);
    make_and_destroy(s);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        (void)log_line_of(s, CULV_LOG_INFO, expected[i], NULL);
    unsigned made = 0, destroyed = 0;
    for (size_t i = 0; i < s->count; i++) {
        char end[LOG_WIDTH];
        REQUIRE(s->lines[i].level <= CULV_LOG_INFO);
        destroyed += strncmp(s->lines[i].text, "destroyed ", 10) == 0;
        if (strncmp(s->lines[i].text, "made ", 5) != 0) continue;
        snprintf(end, sizeof end, "destroyed %s", s->lines[i].text + 5);
        size_t at = log_find(s, i + 1, CULV_LOG_INFO, end, NULL);
        if (at == s->count) FAIL("no line says '%s'", end);
        REQUIRE_EQ_STR(s->lines[at].text, end);
        made++;
    }
    REQUIRE(made >= sizeof expected / sizeof *expected);
    REQUIRE_EQ(destroyed, made);
    log_forget(s);
    culv_vk_detach(&s->w.attachment);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "detached Vulkan device ", NULL) < s->count);
    culv_device_close(&s->w.device);
    REQUIRE(log_find(s, 0, CULV_LOG_INFO, "closed device ", NULL) < s->count);
}

/* Driver calls are in the order in which they were made, with what they were given and answered. */
LOG_CASE(calls, CULV_LOG_DEBUG)
{
    culv_buffer *buffer = NULL;
    char pointer[64], given[64], mapped[64];
    REQUIRE(log_find(s, 0, CULV_LOG_DEBUG, "cuInit(0) = CUDA_SUCCESS", NULL) < s->count);
    REQUIRE(log_find(s, 0, CULV_LOG_DEBUG, "cuDevicePrimaryCtxRetain(-> 0x", ") = CUDA_SUCCESS") <
            s->count);
    raw_vk_buffer raw = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    log_forget(s);
    culv_memory *memory = lib_import(&s->w, &raw);
    LIB_OK(culv_buffer_map(memory, NULL, &buffer));
    snprintf(pointer, sizeof pointer, "cuMemFree(%#llx) = CUDA_SUCCESS",
             (unsigned long long)culv_buffer_pointer(buffer));
    snprintf(given, sizeof given, "size %llu", (unsigned long long)culv_memory_size(memory));
    snprintf(mapped, sizeof mapped, "cuExternalMemoryGetMappedBuffer(-> %#llx, ",
             (unsigned long long)culv_buffer_pointer(buffer));
    culv_buffer_unmap(&buffer, NULL);
    culv_memory_destroy(&memory);
    const struct {
        const char *text, *another;
    } order[] = {{"vkGetMemoryFdKHR(", ") = VK_SUCCESS"},
                 {"cuImportExternalMemory(-> 0x", given},
                 {mapped, ") = CUDA_SUCCESS"},
                 {pointer, NULL},
                 {"cuDestroyExternalMemory(0x", ") = CUDA_SUCCESS"}};
    size_t at = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        (void)log_line_of(s, CULV_LOG_DEBUG, order[i].text, order[i].another);
        at = log_find(s, at, CULV_LOG_DEBUG, order[i].text, order[i].another);
        if (at == s->count) FAIL("'%s' comes too early", order[i].text);
    }
    log_forget(s);
    culv_shared_buffer *made = log_make_buffer(s, "made", 12345);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkCreateBuffer(0x", "{12345 bytes, usage 0x1, ");
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkAllocateMemory(0x", ") = VK_SUCCESS");
    culv_shared_buffer_destroy(&made, NULL);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkDestroyBuffer(0x", NULL);
    (void)log_line_of(s, CULV_LOG_DEBUG, "vkFreeMemory(0x", NULL);
}

/* A call that fails is there with what the driver answered; its outputs are not read. */
LOG_CASE(failures, CULV_LOG_DEBUG, .own = true)
{
    if (s->w.cu->SoftFailAt == NULL) SKIP("only the twin fails on demand");
    raw_vk_buffer raw = lib_case_buffer(&s->w, 65536, RAW_VK_EXPORT);
    bool seen = false;
    for (uint64_t n = 1; !seen && n < 40; n++) {
        culv_memory *memory = NULL;
        culv_memory_desc d = lib_memory_desc(&s->w, &raw, raw_vk_buffer_fd(&s->w.vk, &raw));
        culv_error error = culv_error_init();
        log_forget(s);
        s->w.cu->SoftFailAt(n, CUDA_ERROR_OUT_OF_MEMORY);
        culv_result result = culv_memory_import(s->w.device, &d, &memory);
        s->w.cu->SoftFailAt(0, 0);
        culv_last_error(&error);
        culv_handle_close(&d.handle);
        culv_memory_destroy(&memory);
        if (result == CULV_OK || strcmp(error.native_call, "cuImportExternalMemory") != 0) continue;
        const char *line = log_line_of(s, CULV_LOG_DEBUG, "cuImportExternalMemory(0x",
                                       ") = CUDA_ERROR_OUT_OF_MEMORY");
        REQUIRE(strstr(line, "-> ") == NULL);
        size_t call = log_find(s, 0, CULV_LOG_DEBUG, "cuImportExternalMemory(", NULL);
        size_t told = log_find(s, 0, CULV_LOG_ERROR, "cuImportExternalMemory", NULL);
        REQUIRE(call < told && told < s->count);
        seen = true;
    }
    REQUIRE(seen);
}

static uint64_t cuda_calls(const log_scene *s)
{
    culv_soft_counts counts = {.struct_size = sizeof counts};
    s->w.cu->SoftCounts(&counts);
    return counts.calls;
}

/* A level hears nothing of what lies below it, and no level changes what is called. */
TEST(silence, .own = true)
{
    static const culv_log_level levels[] = {CULV_LOG_ERROR, CULV_LOG_WARNING, CULV_LOG_INFO,
                                            CULV_LOG_DEBUG};
    uint64_t made[4] = {0};
    for (int i = 0; i < 4; i++) {
        log_scene s;
        log_open(&s, levels[i]);
        if (s.w.cu->SoftCounts == NULL) SKIP("only the twin counts its calls");
        culv_shared_buffer *warm = log_make_buffer(&s, "warm", 40000);
        culv_shared_buffer_destroy(&warm, NULL);
        log_forget(&s);
        uint64_t before = cuda_calls(&s);
        culv_shared_buffer *buffer = log_make_buffer(&s, "particles", 40000);
        culv_shared_buffer_destroy(&buffer, NULL);
        made[i] = cuda_calls(&s) - before;
        for (size_t k = 0; k < s.count; k++)
            REQUIRE(s.lines[k].level <= levels[i]);
        REQUIRE_EQ(s.count > 0, i >= 2);
        log_close(&s);
    }
    REQUIRE_EQ(made[0], made[1]);
    REQUIRE_EQ(made[0], made[2]);
    REQUIRE_EQ(made[0], made[3]);
}
