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

void pair_open(pair *p)
{
    memset(p, 0, sizeof *p);
    p->cu = raw_cuda_open();
    CU_OK(p->cu->DeviceGet(&p->device, 0));
    CU_OK(p->cu->DeviceGetUuid(&p->uuid, p->device));
    raw_vk_open(&p->vk, &(raw_vk_options){.uuid = (const uint8_t *)p->uuid.bytes,
                                          .software = p->cu->software});
    p->context = raw_cuda_context(p->cu, p->device);
    CU_OK(p->cu->StreamCreate(&p->stream, CU_STREAM_NON_BLOCKING));
}

void pair_close(pair *p)
{
    CU_OK(p->cu->StreamDestroy(p->stream));
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

uint32_t *pattern_words(size_t size, uint32_t seed)
{
    uint32_t *words = malloc(size);
    REQUIRE(words != NULL);
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
    uint32_t *found = malloc(size), *expected = pattern_words(size, seed);
    const unsigned char *bytes = (const unsigned char *)found;
    REQUIRE(found != NULL);
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
    free(found);
    free(expected);
    ANSWER(key, "%zu bytes wrong of 3 x %zu", wrong, size);
    REQUIRE_EQ(wrong, 0);
}

void answer_wrong(const char *key, size_t wrong, size_t all)
{
    ANSWER(key, "%zu wrong of %zu", wrong, all);
    REQUIRE_EQ(wrong, 0);
}

void answer_is(const char *key, CUresult result, CUresult expected)
{
    ANSWER(key, "%s", raw_cuda_result_name(result));
    CU_IS(result, expected);
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
