/* SPDX-License-Identifier: MIT */
/* What the contract suite's files share: one CUDA device with its Vulkan device, and buffers,
 * images, semaphores and memory in both. A row is a sentence about the drivers that the library
 * rests on. What a driver answers there is an ANSWER, held against what an NVIDIA driver answered;
 * MEASURED is for times, addresses and whatever else changes from run to run. */
#ifndef CULVERT_TESTS_CONTRACT_H_
#define CULVERT_TESTS_CONTRACT_H_

#include "answers.h"
#include "raw_cuda_image.h"
#include "raw_vulkan_image.h"

#include <pthread.h>

#define REPORTED       "the twin's answers are required, NVIDIA's reported"
#define POSIX_FD       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
#define FAR_MS         20000u            /* long enough for any machine; only a failure takes it */
#define VMM_SIZE       ((size_t)2 << 20) /* the granularity of an H200, and of the twin */
#define COUNT_OF(rows) (sizeof(rows) / sizeof(rows)[0])

/* The pair ------------------------------------------------------------------------------------- */

typedef struct pair {
    const raw_cuda *cu;
    CUdevice device;
    CUuuid uuid;
    CUcontext context; /* primary, current */
    CUstream stream;
    raw_vk vk; /* holds a pointer to itself: do not move */
} pair;

void pair_open(pair *p);
void pair_open_on(pair *p, int device); /* CUDA there, Vulkan on the first one */
/* And requires that nothing is left on either side, as far as the drivers can be asked. */
void pair_close(pair *p);
#define PAIR_CASE(...) TEST_ON(pair, p, pair_open(p), pair_close(p), __VA_ARGS__)
/* A case that is one call with a pair `p`, where several share a function. */
#define PAIR_AS(name, call, ...)                                                                   \
    TEST_ON_(pair, p, pair_open(p), pair_close(p), name, __VA_ARGS__, .next = NULL)                \
    {                                                                                              \
        call;                                                                                      \
    }

/* Of the pair's stream; polls, so that work which never ends is seen (CUDA_ERROR_NOT_READY) and not
 * waited for. */
CUresult stream_result(const pair *p, unsigned milliseconds);
/* How long to wait for what comes on the twin, however busy the machine, and may never come on a
 * real driver, which gets `milliseconds`. */
unsigned patience(const pair *p, unsigned milliseconds);
/* In the pair's stream, and waited for. */
void set_words(const pair *p, CUdeviceptr to, uint32_t value, size_t count);
/* Device memory read, or the case ends; and a single word of it. */
void cuda_read(const pair *p, CUdeviceptr from, void *to, size_t size);
uint32_t cuda_word(const pair *p, CUdeviceptr from);

/* Answers -------------------------------------------------------------------------------------- */

/* What a call returned. Here and elsewhere nothing else says what the twin must answer than the
 * recorded answers, and twin-differs.txt. */
void answer_call(const char *key, CUresult result);
/* And what else is to be seen: "RESULT, ...". */
void answer_with(const char *key, CUresult result, const char *format, ...) TEST_PRINTF(3, 4);
/* "cuNAME: WHAT", of cuNAME with these arguments, as `of` has it. */
#define CALL_ROW(of, name, what, ...) answer_call("cu" #name ": " what, (of)->name(__VA_ARGS__))
/* What is required of both drivers, and so not recorded: success, nothing wrong, or what is
 * expected. */
void answer_ok(const char *key, CUresult result);
void answer_wrong(const char *key, size_t wrong, size_t all);
void answer_bytes(const char *key, size_t wrong);
void answer_so(const char *key, bool so, const char *no);
void answer_number(const char *key, int64_t number, int64_t expected);
/* An error, whose number the documentation leaves open. */
void answer_refused(const char *key, CUresult result);
/* A key of several parts for ANSWER. This thread's next call overwrites it. */
const char *answer_key(const char *format, ...) TEST_PRINTF(1, 2);

/* Whether both numbers are open and name the same open file. */
bool same_file(int a, int b);
bool fd_open(int fd);
/* What became of `given`, a duplicate of `original`: "open" or "closed". */
const char *fd_state(int given, int original);
/* Imports a duplicate of the fd as a semaphore of either type, and gives that back. */
CUresult answer_import(const raw_cuda *cu, const char *key, int fd, bool as_timeline);

/* Words ---------------------------------------------------------------------------------------- */

/* size / 4 words that differ from word to word and from seed to seed, until the case ends. */
uint32_t *pattern_words(size_t size, uint32_t seed);
/* How many are not as expected, or not this one. */
size_t words_wrong(const uint32_t *found, const uint32_t *expected, size_t count);
size_t words_not(const void *found, uint32_t expected, size_t count);
size_t bytes_wrong(const void *found, const void *expected, size_t size);
/* pattern_write or pattern_add; `last` is the seed, or what is added. */
CUfunction words_kernel(const raw_cuda *cu, const char *kernel);
CUresult words_launch(const raw_cuda *cu, CUfunction kernel, CUdeviceptr words, size_t count,
                      unsigned last, CUstream stream);
/* In the pair's stream over `size` bytes, waited for; what the stream says then. */
CUresult words_run(const pair *p, const char *kernel, CUdeviceptr words, size_t size,
                   unsigned last);
/* Whether `size` bytes at a CUDA address of `buffer`, `offset` into it, are the same memory on both
 * sides, written by either: the bytes that are wrong, counted and answered. */
void answer_same_memory(pair *p, const char *key, const raw_vk_buffer *buffer, VkDeviceSize offset,
                        CUdeviceptr pointer, size_t size, uint32_t seed);
/* What pattern_write(seed), and then additions of `addend` in all, leave there. */
void answer_words(const pair *p, const char *key, CUdeviceptr pointer, size_t size, uint32_t seed,
                  uint32_t addend);

/* Buffers and semaphores ----------------------------------------------------------------------- */

/* A Vulkan buffer imported by CUDA and mapped whole. */
typedef struct shared_buffer {
    raw_vk_buffer vk;
    CUexternalMemory memory;
    CUdeviceptr pointer;
} shared_buffer;

/* vk_flags besides RAW_VK_EXPORT. */
void shared_buffer_open(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag,
                        shared_buffer *out);
void shared_buffer_close(pair *p, shared_buffer *buffer);

/* A timeline of Vulkan, imported by CUDA. */
typedef struct shared_timeline {
    VkSemaphore vk;
    CUexternalSemaphore cu;
} shared_timeline;

void shared_timeline_open(pair *p, uint64_t initial, shared_timeline *out);
void shared_timeline_close(pair *p, shared_timeline *timeline);

/* For the rest of the case: pair_close() ends what these make, and what test_later() knows
 * besides. */
shared_buffer pair_buffer(pair *p, VkDeviceSize size, unsigned vk_flags, bool dedicated_flag);
shared_timeline pair_timeline(pair *p, uint64_t initial);
raw_vk_buffer pair_vk_buffer(pair *p, VkDeviceSize size, unsigned vk_flags);

/* Images --------------------------------------------------------------------------------------- */

typedef struct image_format {
    VkFormat vk;
    CUarray_format cu;
    unsigned channels;
    size_t texel; /* bytes */
} image_format;

enum { IMAGE_RGBA8, IMAGE_RGBA16F, IMAGE_R32F, IMAGE_FORMATS };
extern const image_format image_formats[IMAGE_FORMATS];

/* A Vulkan image imported by CUDA and mapped whole. */
typedef struct shared_image {
    const image_format *format;
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
} shared_image;

raw_vk_image_desc image_desc(const image_format *format, uint32_t width, uint32_t height,
                             uint32_t levels, unsigned vk_flags);
/* These three until the case ends; the first is exportable, and dedicated on both sides where
 * vk_flags say RAW_VK_DEDICATED. */
shared_image pair_image(pair *p, const image_format *format, uint32_t width, uint32_t height,
                        uint32_t levels, unsigned vk_flags);
raw_vk_image pair_vk_image(pair *p, const raw_vk_image_desc *desc);
CUexternalMemory pair_image_memory(pair *p, const raw_vk_image *vk, bool dedicated);
CUDA_ARRAY3D_DESCRIPTOR image_cuda_desc(const image_format *format, const raw_vk_image *image);

CUarray image_level(const pair *p, CUmipmappedArray mipmap, uint32_t level);
/* Texels, each another one; until the case ends. */
unsigned char *image_pattern(const image_format *format, VkExtent3D extent, unsigned seed);

/* Answers "NAME: WHAT". */
void image_answer(const char *name, const char *what, CUresult result);

/* A case of `count` rows, `group` of them in a process of their own, the case `child`, on NVIDIA's
 * driver: 1 where a wrong descriptor was seen to spoil the heap. If a process ends early, its rows
 * run again, one by one. */
#define IMAGE_ROWS(function, name, child, count, group, run, ...)                                  \
    TEST_AS(function, image_rows(child, count, group, run), .title = name, __VA_ARGS__)            \
    TEST_AS(function##_child, image_row_group(run), .title = child)
void image_rows(const char *child, size_t count, size_t group, void (*run)(pair *p, size_t row));
/* In the child: its rows, or skips. */
void image_row_group(void (*run)(pair *p, size_t row));

/* Virtual memory ------------------------------------------------------------------------------- */

/* An allocation mapped whole at a range of its own. */
typedef struct vmm_block {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr pointer;
    size_t size;
} vmm_block;

CUmemGenericAllocationHandle vmm_create(const pair *p, size_t size, unsigned handle_types);
CUdeviceptr vmm_reserve(const pair *p, size_t size);
/* Read and write for the pair's device. */
CUresult vmm_allow(const pair *p, CUdeviceptr pointer, size_t size);
void vmm_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle);
void vmm_unmap(const pair *p, CUdeviceptr pointer, size_t size); /* and frees the addresses */
void vmm_open(const pair *p, size_t size, unsigned handle_types, vmm_block *out);
void vmm_close(const pair *p, vmm_block *block);
/* The same until the case ends. */
vmm_block pair_vmm(const pair *p, size_t size, unsigned handle_types);
CUmemGenericAllocationHandle pair_handle(const pair *p, size_t size, unsigned handle_types);
CUdeviceptr pair_range(const pair *p, size_t size);
void pair_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle);
int vmm_export(const pair *p, CUmemGenericAllocationHandle handle);
/* The number goes in itself. */
CUresult vmm_import(const pair *p, int fd, CUmemGenericAllocationHandle *out);
/* Vulkan's import of an fd of so many bytes, which nothing is bound to; `next` goes to pNext. */
VkResult vk_import(const pair *p, int fd, VkDeviceSize size, uint32_t type, const void *next,
                   VkDeviceMemory *out);

/* Textures ------------------------------------------------------------------------------------- */

typedef raw_cuda_place place;
/* A kernel of texture_kernels.cu at these places; `bytes` each go to `out`. */
void read_places(const pair *p, const char *kernel, CUtexObject texture, const place *places,
                 int count, void *out, size_t bytes);

#endif
