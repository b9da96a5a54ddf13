/* SPDX-License-Identifier: MIT */
/* See contract.h. */
#include "contract.h"

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

/* What test_later() does to a thing of the pair `p`. */
#define END(name, type, call)                                                                      \
    static void end_##name(const void *of, void *thing)                                            \
    {                                                                                              \
        pair *p = (pair *)(uintptr_t)of;                                                           \
        type *t = thing;                                                                           \
        call;                                                                                      \
    }
END(buffer, shared_buffer, shared_buffer_close(p, t))
END(timeline, shared_timeline, shared_timeline_close(p, t))
END(vk_buffer, raw_vk_buffer, raw_vk_buffer_destroy(&p->vk, t))
END(vk_image, raw_vk_image, raw_vk_image_destroy(&p->vk, t))
END(vmm, vmm_block, vmm_close(p, t))
END(handle, CUmemGenericAllocationHandle, CU_OK(p->cu->MemRelease(*t)))
END(range, vmm_block, CU_OK(p->cu->MemAddressFree(t->pointer, t->size)))
END(mapping, vmm_block, CU_OK(p->cu->MemUnmap(t->pointer, t->size)))

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

void set_words(const pair *p, CUdeviceptr to, uint32_t value, size_t count)
{
    CU_OK(p->cu->MemsetD32Async(to, value, count, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

void cuda_read(const pair *p, CUdeviceptr from, void *to, size_t size)
{
    CU_OK(p->cu->MemcpyDtoH(to, from, size));
}

uint32_t cuda_word(const pair *p, CUdeviceptr from)
{
    uint32_t word = 0;
    cuda_read(p, from, &word, sizeof word);
    return word;
}

/* Answers -------------------------------------------------------------------------------------- */

void answer_call(const char *key, CUresult result)
{
    ANSWER(key, "%s", raw_cuda_result_name(result));
}

void answer_with(const char *key, CUresult result, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ANSWER(key, "%s, %s", raw_cuda_result_name(result), text);
}

void answer_wrong(const char *key, size_t wrong, size_t all)
{
    test_answer_is(key, wrong == 0, "%zu wrong of %zu", wrong, all);
}

void answer_ok(const char *key, CUresult result)
{
    test_answer_is(key, result == CUDA_SUCCESS, "%s", raw_cuda_result_name(result));
}

void answer_refused(const char *key, CUresult result)
{
    answer_call(key, result);
    if (result == CUDA_SUCCESS) FAIL("%s is not refused", key);
}

void answer_so(const char *key, bool so, const char *no)
{
    test_answer_is(key, so, "%s", no);
}

void answer_number(const char *key, int64_t number, int64_t expected)
{
    test_answer_is(key, number == expected, "%lld, not %lld", (long long)number,
                   (long long)expected);
}

void answer_bytes(const char *key, size_t wrong)
{
    test_answer_is(key, wrong == 0, "%zu bytes wrong", wrong);
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

const char *fd_state(int given, int original)
{
    return fd_open(given) && same_file(given, original) ? "open" : "closed";
}

CUresult answer_import(const raw_cuda *cu, const char *key, int fd, bool as_timeline)
{
    CUexternalSemaphore semaphore = NULL;
    REQUIRE(fd >= 0);
    const int given = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    printf("%s\n", key);
    fflush(stdout); /* in case of a crash */
    const CUresult result = as_timeline ? raw_cuda_import_timeline(cu, given, &semaphore)
                                        : raw_cuda_import_binary(cu, given, &semaphore);
    const bool open_still = fd_open(given) && same_file(given, fd);
    answer_with(key, result, "fd %s", open_still ? "open" : "closed");
    if (result == CUDA_SUCCESS) CU_OK(cu->DestroyExternalSemaphore(semaphore));
    if (open_still) close(given);
    return result;
}

/* Words ---------------------------------------------------------------------------------------- */

uint32_t *pattern_words(size_t size, uint32_t seed)
{
    uint32_t *words = test_memory(size);
    for (size_t i = 0; i < size / 4; i++)
        words[i] = (uint32_t)i * 2654435761u + seed;
    return words;
}

size_t words_wrong(const uint32_t *found, const uint32_t *expected, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += found[i] != expected[i];
    return wrong;
}

size_t words_not(const void *found, uint32_t expected, size_t count)
{
    size_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += ((const uint32_t *)found)[i] != expected;
    return wrong;
}

size_t bytes_wrong(const void *found, const void *expected, size_t size)
{
    size_t wrong = 0;
    for (size_t i = 0; i < size; i++)
        wrong += ((const unsigned char *)found)[i] != ((const unsigned char *)expected)[i];
    return wrong;
}

CUfunction words_kernel(const raw_cuda *cu, const char *kernel)
{
    return raw_cuda_function(cu, raw_cuda_module(cu, "pattern"), kernel);
}

CUresult words_launch(const raw_cuda *cu, CUfunction kernel, CUdeviceptr words, size_t count,
                      unsigned last, CUstream stream)
{
    unsigned all = (unsigned)count;
    void *args[] = {&words, &all, &last};
    return cu->LaunchKernel(kernel, (all + 255) / 256, 1, 1, 256, 1, 1, 0, stream, args, NULL);
}

CUresult words_run(const pair *p, const char *kernel, CUdeviceptr words, size_t size, unsigned last)
{
    const CUresult result =
        words_launch(p->cu, words_kernel(p->cu, kernel), words, size / 4, last, p->stream);
    return result != CUDA_SUCCESS ? result : p->cu->StreamSynchronize(p->stream);
}

void answer_same_memory(pair *p, const char *key, const raw_vk_buffer *buffer, VkDeviceSize offset,
                        CUdeviceptr pointer, size_t size, uint32_t seed)
{
    uint32_t *found = test_memory(size), *expected = pattern_words(size, seed);
    raw_vk_write(&p->vk, buffer, offset, expected, size);
    cuda_read(p, pointer, found, size);
    size_t wrong = bytes_wrong(found, expected, size);

    for (size_t i = 0; i < size / 4; i++)
        expected[i] = ~expected[i];
    CU_OK(raw_cuda_upload(p->cu, pointer, expected, size));
    memset(found, 0, size);
    raw_vk_read(&p->vk, buffer, offset, found, size);
    wrong += bytes_wrong(found, expected, size);

    raw_vk_fill(&p->vk, buffer, offset, size, seed ^ 0x5aa5c33cu, NULL);
    for (size_t i = 0; i < size / 4; i++)
        expected[i] = seed ^ 0x5aa5c33cu;
    cuda_read(p, pointer, found, size);
    wrong += bytes_wrong(found, expected, size);
    test_answer_is(key, wrong == 0, "%zu bytes wrong of 3 x %zu", wrong, size);
}

void answer_words(const pair *p, const char *key, CUdeviceptr pointer, size_t size, uint32_t seed,
                  uint32_t addend)
{
    uint32_t *found = test_memory(size), *expected = pattern_words(size, seed);
    cuda_read(p, pointer, found, size);
    for (size_t i = 0; i < size / 4; i++)
        expected[i] += addend;
    const size_t wrong = words_wrong(found, expected, size / 4);
    test_answer_is(key, wrong == 0, "%zu of %zu words wrong", wrong, size / 4);
}

/* Buffers and semaphores ----------------------------------------------------------------------- */

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

shared_buffer pair_buffer(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag)
{
    shared_buffer buffer;
    shared_buffer_open(p, size, vk_flags, dedicated_flag, &buffer);
    test_later(end_buffer, p, &buffer, sizeof buffer);
    return buffer;
}

shared_timeline pair_timeline(pair *p, uint64_t initial)
{
    shared_timeline timeline;
    shared_timeline_open(p, initial, &timeline);
    test_later(end_timeline, p, &timeline, sizeof timeline);
    return timeline;
}

raw_vk_buffer pair_vk_buffer(pair *p, VkDeviceSize size, unsigned vk_flags)
{
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&p->vk, size, vk_flags, &buffer);
    test_later(end_vk_buffer, p, &buffer, sizeof buffer);
    return buffer;
}

/* Images --------------------------------------------------------------------------------------- */

const image_format image_formats[IMAGE_FORMATS] = {
    {VK_FORMAT_R8G8B8A8_UNORM, CU_AD_FORMAT_UNSIGNED_INT8, 4, 4},
    {VK_FORMAT_R16G16B16A16_SFLOAT, CU_AD_FORMAT_HALF, 4, 8},
    {VK_FORMAT_R32_SFLOAT, CU_AD_FORMAT_FLOAT, 1, 4},
};

raw_vk_image_desc image_desc(const image_format *format, uint32_t width, uint32_t height,
                             uint32_t levels, unsigned vk_flags)
{
    return (raw_vk_image_desc){.format = format->vk,
                               .width = width,
                               .height = height,
                               .levels = levels,
                               .flags = vk_flags | RAW_VK_EXPORT};
}

CUDA_ARRAY3D_DESCRIPTOR image_cuda_desc(const image_format *format, const raw_vk_image *image)
{
    return raw_cuda_array_desc(format->cu, format->channels, image->desc.width, image->desc.height);
}

shared_image pair_image(pair *p, const image_format *format, uint32_t width, uint32_t height,
                        uint32_t levels, unsigned vk_flags)
{
    const raw_vk_image_desc desc = image_desc(format, width, height, levels, vk_flags);
    shared_image image = {.format = format, .vk = pair_vk_image(p, &desc)};
    const CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &image.vk);
    image.memory = pair_image_memory(p, &image.vk, (vk_flags & RAW_VK_DEDICATED) != 0);
    image.mipmap =
        raw_cuda_mapped_image(p->cu, image.memory, image.vk.offset, &array, image.vk.desc.levels);
    return image;
}

raw_vk_image pair_vk_image(pair *p, const raw_vk_image_desc *desc)
{
    raw_vk_image image;
    raw_vk_image_create(&p->vk, desc, &image);
    test_later(end_vk_image, p, &image, sizeof image);
    return image;
}

CUexternalMemory pair_image_memory(pair *p, const raw_vk_image *vk, bool dedicated)
{
    return raw_cuda_imported(p->cu, raw_vk_image_fd(&p->vk, vk), vk->allocation_size, dedicated);
}

CUarray image_level(const pair *p, CUmipmappedArray mipmap, uint32_t level)
{
    CUarray array = NULL;
    CU_OK(p->cu->MipmappedArrayGetLevel(&array, mipmap, level));
    REQUIRE(array != NULL);
    return array;
}

unsigned char *image_pattern(const image_format *format, VkExtent3D extent, unsigned seed)
{
    unsigned char *texels = test_memory((size_t)extent.width * extent.height * format->texel);
    const size_t channel = format->texel / format->channels;
    unsigned char *at = texels;
    for (uint32_t y = 0; y < extent.height; y++)
        for (uint32_t x = 0; x < extent.width; x++)
            for (uint32_t c = 0; c < format->channels; c++, at += channel) {
                const uint32_t value = x * 7u + y * 131u + c * 29u + seed;
                const uint16_t half = (uint16_t)(value & 0x3bffu);
                const float single = (float)(value & 0xffffu);
                if (channel == 1)
                    *at = (unsigned char)value;
                else
                    memcpy(at, channel == 2 ? (const void *)&half : (const void *)&single, channel);
            }
    return texels;
}

void image_answer(const char *name, const char *what, CUresult result)
{
    answer_call(answer_key("%s: %s", name, what), result);
}

#define ROWS "CULVERT_TEST_ROWS" /* of the child, "first-end" */

/* The child's exit status. */
static int run_rows(const char *child, size_t first, size_t end)
{
    char rows[48];
    test_wants_own_process(); /* the variable is for the child alone */
    snprintf(rows, sizeof rows, "%zu-%zu", first, end);
    REQUIRE(setenv(ROWS, rows, 1) == 0);
    const int status = test_run_child(child);
    REQUIRE(unsetenv(ROWS) == 0);
    return status;
}

static void run_all(size_t first, size_t end, void (*run)(pair *p, size_t row))
{
    pair p;
    pair_open(&p);
    for (size_t row = first; row < end; row++)
        run(&p, row);
    pair_close(&p);
}

void image_rows(const char *child, size_t count, size_t group, void (*run)(pair *p, size_t row))
{
    if (raw_cuda_open()->software) {
        run_all(0, count, run);
        return;
    }
    for (size_t first = 0; first < count; first += group) {
        const size_t end = count - first < group ? count : first + group;
        int status = run_rows(child, first, end);
        for (size_t row = first; row < end && status != 0; row++) {
            const int its = group == 1 ? status : run_rows(child, row, row + 1);
            if (its != 0)
                ANSWER(answer_key("row %zu: the process", row), "ended with status %d", its);
        }
    }
}

void image_row_group(void (*run)(pair *p, size_t row))
{
    const char *rows = getenv(ROWS);
    char *rest = NULL;
    if (rows == NULL) SKIP("only as a child");
    const size_t first = strtoul(rows, &rest, 10);
    run_all(first, strtoul(rest + 1, NULL, 10), run);
}

/* Virtual memory ------------------------------------------------------------------------------- */

CUmemGenericAllocationHandle vmm_create(const pair *p, size_t size, unsigned handle_types)
{
    const CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, handle_types);
    CUmemGenericAllocationHandle handle = 0;
    CU_OK(p->cu->MemCreate(&handle, size, &prop, 0));
    REQUIRE(handle != 0);
    return handle;
}

CUdeviceptr vmm_reserve(const pair *p, size_t size)
{
    CUdeviceptr pointer = 0;
    CU_OK(p->cu->MemAddressReserve(&pointer, size, 0, 0, 0));
    REQUIRE(pointer != 0);
    return pointer;
}

CUresult vmm_allow(const pair *p, CUdeviceptr pointer, size_t size)
{
    const CUmemAccessDesc access = raw_cuda_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return p->cu->MemSetAccess(pointer, size, &access, 1);
}

void vmm_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle)
{
    CU_OK(p->cu->MemMap(pointer, size, 0, handle, 0));
    CU_OK(vmm_allow(p, pointer, size));
}

void vmm_unmap(const pair *p, CUdeviceptr pointer, size_t size)
{
    CU_OK(p->cu->MemUnmap(pointer, size));
    CU_OK(p->cu->MemAddressFree(pointer, size));
}

void vmm_open(const pair *p, size_t size, unsigned handle_types, vmm_block *out)
{
    out->size = size;
    out->handle = vmm_create(p, size, handle_types);
    out->pointer = vmm_reserve(p, size);
    vmm_map(p, out->pointer, size, out->handle);
}

void vmm_close(const pair *p, vmm_block *block)
{
    vmm_unmap(p, block->pointer, block->size);
    CU_OK(p->cu->MemRelease(block->handle));
}

vmm_block pair_vmm(const pair *p, size_t size, unsigned handle_types)
{
    vmm_block block;
    vmm_open(p, size, handle_types, &block);
    test_later(end_vmm, p, &block, sizeof block);
    return block;
}

CUmemGenericAllocationHandle pair_handle(const pair *p, size_t size, unsigned handle_types)
{
    CUmemGenericAllocationHandle handle = vmm_create(p, size, handle_types);
    test_later(end_handle, p, &handle, sizeof handle);
    return handle;
}

CUdeviceptr pair_range(const pair *p, size_t size)
{
    const vmm_block range = {.pointer = vmm_reserve(p, size), .size = size};
    test_later(end_range, p, &range, sizeof range);
    return range.pointer;
}

void pair_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle)
{
    const vmm_block mapping = {.pointer = pointer, .size = size};
    vmm_map(p, pointer, size, handle);
    test_later(end_mapping, p, &mapping, sizeof mapping);
}

int vmm_export(const pair *p, CUmemGenericAllocationHandle handle)
{
    int fd = -1;
    CU_OK(p->cu->MemExportToShareableHandle(&fd, handle, POSIX_FD, 0));
    REQUIRE(fd >= 0 && fd_open(fd));
    return fd;
}

CUresult vmm_import(const pair *p, int fd, CUmemGenericAllocationHandle *out)
{
    return p->cu->MemImportFromShareableHandle(out, (void *)(uintptr_t)(unsigned)fd, POSIX_FD);
}

VkResult vk_import(const pair *p, int fd, VkDeviceSize size, uint32_t type, const void *next,
                   VkDeviceMemory *out)
{
    const VkImportMemoryFdInfoKHR from =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .pNext = next,
                 .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT, .fd = fd);
    const VkMemoryAllocateInfo info =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &from,
                 .allocationSize = size, .memoryTypeIndex = type);
    return vkAllocateMemory(p->vk.device, &info, NULL, out);
}

/* Textures ------------------------------------------------------------------------------------- */

void read_places(const pair *p, const char *kernel, CUtexObject texture, const place *places,
                 int count, void *out, size_t bytes)
{
    CUfunction function =
        raw_cuda_function(p->cu, raw_cuda_module(p->cu, "texture_kernels"), kernel);
    CU_OK(raw_cuda_read_places(p->cu, function, texture, places, count, out, bytes, p->stream));
}
