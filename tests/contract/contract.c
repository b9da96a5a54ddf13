/* SPDX-License-Identifier: MIT */
/* The contract suite: rows of driver behaviour, with plain cu* and vk* calls, on NVIDIA's driver
 * and on the twin. */
#include "contract.h"
#include "bad_arguments.h"
#include "gl_rows.h"
#include "graphs.h"
#include "images.h"
#include "vmm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void pair_open_on(pair *p, int device)
{
    CUdevice first;
    memset(p, 0, sizeof *p);
    p->cu = raw_cuda_open();
    CU_OK(p->cu->DeviceGet(&p->device, device));
    CU_OK(p->cu->DeviceGet(&first, 0));
    CU_OK(p->cu->DeviceGetUuid(&p->uuid, first));
    raw_vk_open(&p->vk, &(raw_vk_options){.uuid = (const uint8_t *)p->uuid.bytes,
                                          .software = p->cu->software});
    p->context = raw_cuda_context(p->cu, p->device);
    p->stream = raw_cuda_stream(p->cu);
}

void pair_open(pair *p)
{
    pair_open_on(p, 0);
}

void pair_close(pair *p)
{
    test_settle();
    CU_OK(p->cu->CtxSetCurrent(NULL));
    CU_OK(p->cu->DevicePrimaryCtxRelease(p->device));
    raw_vk_close(&p->vk);
    raw_cuda_require_empty(p->cu);
}

void shared_buffer_open(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag,
                        shared_buffer *out)
{
    memset(out, 0, sizeof *out);
    raw_vk_buffer_create(&p->vk, size, vk_flags | RAW_VK_EXPORT, &out->vk);
    int fd = raw_vk_buffer_fd(&p->vk, &out->vk);
    CU_OK(raw_cuda_import_memory(p->cu, fd, out->vk.allocation_size, dedicated_flag, &out->memory));
    CU_OK(raw_cuda_map_buffer(p->cu, out->memory, 0, size, &out->pointer));
}

void shared_buffer_close(pair *p, shared_buffer *buffer)
{
    CU_OK(p->cu->MemFree(buffer->pointer));
    CU_OK(p->cu->DestroyExternalMemory(buffer->memory));
    raw_vk_buffer_destroy(&p->vk, &buffer->vk);
}

void shared_timeline_open(pair *p, uint64_t initial, shared_timeline *out)
{
    out->vk = raw_vk_timeline(&p->vk, initial, true);
    CU_OK(raw_cuda_import_timeline(p->cu, raw_vk_timeline_fd(&p->vk, out->vk), &out->cu));
}

void shared_timeline_close(pair *p, shared_timeline *timeline)
{
    CU_OK(p->cu->DestroyExternalSemaphore(timeline->cu));
    raw_vk_timeline_destroy(&p->vk, timeline->vk);
}

static void end_buffer(const void *of, void *thing)
{
    shared_buffer_close((pair *)(uintptr_t)of, thing);
}

shared_buffer pair_buffer(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag)
{
    shared_buffer buffer;
    shared_buffer_open(p, size, vk_flags, dedicated_flag, &buffer);
    test_later(end_buffer, p, &buffer, sizeof buffer);
    return buffer;
}

static void end_timeline(const void *of, void *thing)
{
    shared_timeline_close((pair *)(uintptr_t)of, thing);
}

shared_timeline pair_timeline(pair *p, uint64_t initial)
{
    shared_timeline timeline;
    shared_timeline_open(p, initial, &timeline);
    test_later(end_timeline, p, &timeline, sizeof timeline);
    return timeline;
}

static void end_vk_buffer(const void *of, void *thing)
{
    raw_vk_buffer_destroy(&((pair *)(uintptr_t)of)->vk, thing);
}

raw_vk_buffer pair_vk_buffer(pair *p, VkDeviceSize size, unsigned vk_flags)
{
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&p->vk, size, vk_flags, &buffer);
    test_later(end_vk_buffer, p, &buffer, sizeof buffer);
    return buffer;
}

static void *signal_late(void *argument)
{
    late_signal *late = argument;
    usleep(LATE_SIGNAL_US);
    raw_vk_timeline_signal(late->vk, late->semaphore, late->value);
    return NULL;
}

void late_signal_start(late_signal *late, raw_vk *vk, VkSemaphore semaphore, uint64_t value)
{
    late->vk = vk;
    late->semaphore = semaphore;
    late->value = value;
    REQUIRE(pthread_create(&late->thread, NULL, signal_late, late) == 0);
}

void late_signal_join(late_signal *late)
{
    REQUIRE(pthread_join(late->thread, NULL) == 0);
}

uint32_t *pattern_words(size_t size, uint32_t seed)
{
    uint32_t *words = test_memory(size);
    for (size_t i = 0; i < size / 4; i++)
        words[i] = (uint32_t)i * 2654435761u + seed;
    return words;
}

void cuda_read(const pair *p, CUdeviceptr from, void *to, size_t size)
{
    CU_OK(p->cu->MemcpyDtoH(to, from, size));
}

CUresult stream_result(const pair *p, unsigned milliseconds)
{
    CUresult result = p->cu->StreamQuery(p->stream);
    for (unsigned i = 0; i < milliseconds && result == CUDA_ERROR_NOT_READY; i++) {
        usleep(1000);
        result = p->cu->StreamQuery(p->stream);
    }
    return result;
}

unsigned patience(const pair *p, unsigned milliseconds)
{
    return p->cu->software ? TEST_FAR_MS : milliseconds;
}

void answer_same_memory(pair *p, const char *key, const raw_vk_buffer *buffer, VkDeviceSize offset,
                        CUdeviceptr pointer, size_t size, uint32_t seed)
{
    uint32_t *found = test_memory(size), *expected = pattern_words(size, seed);
    const unsigned char *bytes = (const unsigned char *)found;
    raw_vk_write(&p->vk, buffer, offset, expected, size);
    cuda_read(p, pointer, found, size);
    size_t wrong = image_wrong_bytes(bytes, (const unsigned char *)expected, size);

    for (size_t i = 0; i < size / 4; i++)
        expected[i] = ~expected[i];
    CU_OK(raw_cuda_upload(p->cu, pointer, expected, size));
    memset(found, 0, size);
    raw_vk_read(&p->vk, buffer, offset, found, size);
    wrong += image_wrong_bytes(bytes, (const unsigned char *)expected, size);

    raw_vk_fill(&p->vk, buffer, offset, size, seed ^ 0x5aa5c33cu, NULL);
    for (size_t i = 0; i < size / 4; i++)
        expected[i] = seed ^ 0x5aa5c33cu;
    cuda_read(p, pointer, found, size);
    wrong += image_wrong_bytes(bytes, (const unsigned char *)expected, size);
    ANSWER(key, "%zu bytes wrong of 3 x %zu", wrong, size);
    REQUIRE_EQ(wrong, 0);
}

void answer_wrong(const char *key, size_t wrong, size_t all)
{
    ANSWER(key, "%zu wrong of %zu", wrong, all);
    REQUIRE_EQ(wrong, 0);
}

void answer_call(const char *key, CUresult result)
{
    ANSWER(key, "%s", raw_cuda_result_name(result));
}

void answer_is(const char *key, CUresult result, CUresult expected)
{
    answer_call(key, result);
    CU_IS(result, expected);
}

void answer_so(const char *key, bool so, const char *yes, const char *no)
{
    ANSWER(key, "%s", so ? yes : no);
    if (!so) FAIL("%s: %s", key, no);
}

void answer_number(const char *key, int64_t number, int64_t expected)
{
    ANSWER(key, "%lld", (long long)number);
    REQUIRE_EQ(number, expected);
}

void answer_word(const char *key, uint32_t word, uint32_t expected)
{
    ANSWER(key, "0x%x", (unsigned)word);
    REQUIRE_EQ(word, expected);
}

void answer_bytes(const char *key, size_t wrong)
{
    ANSWER(key, "%zu bytes wrong", wrong);
    REQUIRE_EQ(wrong, 0);
}

const char *answer_key(const char *format, ...)
{
    static _Thread_local char key[256];
    va_list args;
    va_start(args, format);
    vsnprintf(key, sizeof key, format, args);
    va_end(args);
    return key;
}

bool fd_open(int fd)
{
    return fcntl(fd, F_GETFD) != -1;
}

bool same_file(int a, int b)
{
    pid_t self = getpid();
    long order = syscall(SYS_kcmp, self, self, KCMP_FILE, a, b);
    if (order >= 0) return order == 0;
    struct stat of_a, of_b; /* kcmp may be barred: then device and inode have to do */
    if (errno == EBADF || fstat(a, &of_a) != 0 || fstat(b, &of_b) != 0) return false;
    return of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino;
}
