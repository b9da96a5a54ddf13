/* SPDX-License-Identifier: MIT */
/* The scene of the back-end suite. */
#include "suite.h"

#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

void suite_require_ok(const char *file, int line, const char *text, culv_result result)
{
    if (result == CULV_OK) return;
    test_fail(file, line, "%s is %s: %s", text, culv_result_name(result),
              culv_last_error_message());
}

void suite_require_refused(const char *file, int line, const char *text, culv_result result,
                           culv_result class, culv_reason reason, ...)
{
    culv_error e = culv_error_init();
    if (result == CULV_OK) test_fail(file, line, "%s succeeded", text);
    culv_last_error(&e);
    printf("  %s: %s\n", culv_reason_name(e.reason), e.message);
    if (result != class || e.result != class || e.reason != reason)
        test_fail(file, line, "%s is %s, %s", text, culv_result_name(result),
                  culv_reason_name(e.reason));
    va_list words;
    va_start(words, reason);
    for (const char *says = va_arg(words, const char *); says != NULL;
         says = va_arg(words, const char *))
        if (strstr(e.message, says) == NULL)
            test_fail(file, line, "the message does not say \"%s\": %s", says, e.message);
    va_end(words);
}

void suite_require_says(const char *text)
{
    if (strstr(culv_last_error_message(), text) == NULL)
        FAIL("the message does not say \"%s\": %s", text, culv_last_error_message());
}

static culv_soft_counts driver_counts(const raw_cuda *cu)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (cu->SoftCounts != NULL) cu->SoftCounts(&c);
    c.calls = 0;
    return c;
}

void suite_open_native(scene *s)
{
    memset(s, 0, sizeof *s);
    s->b = &backend_under_test;
    s->cu = s->b->open();
    s->fds = test_open_fds();
    s->before = driver_counts(s->cu);
}

static void open_device(scene *s, bool other)
{
    culv_device_desc d = culv_device_desc_init();
    d.driver = s->cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    OK(other ? culv_device_open_by_ordinal(1, &d, &s->device) : s->b->device_open(&s->device));
}

void suite_open_on(scene *s, bool other, backend_lie lie, uint32_t fallback)
{
    if (other)
        REQUIRE(setenv("CULVERT_SOFT_DEVICES", "2", 1) == 0); /* NVIDIA's driver does not know it */
    suite_open_native(s);
    if (other && s->cu->device_count < 2) SKIP("one CUDA device only");
    open_device(s, other); /* a lie is told to the attachment */
    s->b->lie(lie);
    OK(s->b->attach(s->device, fallback, &s->attachment));
    const raw_cuda *cu = s->cu;
    s->context = culv_device_context(s->device);
    CU_OK_IN(s, cu->StreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
}

void suite_open(scene *s, backend_lie lie, uint32_t fallback)
{
    suite_open_on(s, false, lie, fallback);
}

void suite_finish(const scene *s)
{
    const raw_cuda *cu = s->cu;
    CU_OK_IN(s, cu->StreamSynchronize(s->stream));
}

void suite_close_culvert(scene *s)
{
    const raw_cuda *cu = s->cu;
    culv_device_counts c = culv_device_counts_init();
    if (s->stream != NULL) {
        suite_finish(s);
        CU_OK_IN(s, cu->StreamDestroy(s->stream));
    }
    for (unsigned i = 0; i < TEST_FAR_MS && culv_device_collect(s->device) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    s->b->detach(&s->attachment);
    OK(culv_device_get_counts(s->device, &c));
    REQUIRE_EQ(c.memories, 0);
    REQUIRE_EQ(c.mappings, 0);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.images, 0);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.semaphores, 0);
    REQUIRE_EQ(c.attached_devices, 0);
    REQUIRE_EQ(c.allocations, 0);
    REQUIRE_EQ(c.deferred, 0);
    culv_device_close(&s->device);
    s->stream = NULL;
}

void suite_require_empty(scene *s)
{
    culv_soft_counts now = driver_counts(s->cu);
    REQUIRE(memcmp(&now, &s->before, sizeof now) == 0);
    /* NVIDIA's driver opens files of its own and keeps them. */
    if (s->cu->software) REQUIRE_EQ(test_open_fds(), s->fds);
}

void suite_close(scene *s)
{
    suite_close_culvert(s);
    s->b->lie(BACKEND_HONEST);
    suite_require_empty(s);
    s->b->close();
    raw_cuda_require_empty(s->cu);
}

void suite_pattern(uint32_t *words, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        words[i] = (uint32_t)i * 2654435761u + seed;
}

void suite_require_pattern(const char *file, int line, const uint32_t *words, size_t count,
                           uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != (uint32_t)i * 2654435761u + seed)
            test_fail(file, line, "word %zu is 0x%08" PRIx32 ", not 0x%08" PRIx32, i, words[i],
                      (uint32_t)i * 2654435761u + seed);
}

void suite_upload(const scene *s, CUdeviceptr to, const void *from, size_t size)
{
    const raw_cuda *cu = s->cu;
    CU_OK_IN(s, raw_cuda_upload(cu, to, from, size));
}

void suite_download(const scene *s, void *to, CUdeviceptr from, size_t size)
{
    const raw_cuda *cu = s->cu;
    CU_OK_IN(s, cu->MemcpyDtoH(to, from, size));
}
