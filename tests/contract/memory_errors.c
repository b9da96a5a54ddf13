/* SPDX-License-Identifier: MIT */
/* Contract rows: imports and mappings of Vulkan memory that fail, and the fd after that. */
#define TEST_GROUP "memory."
#include "contract.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIZE (1u << 20)

PAIR_CASE(size_zero, .mark = TEST_BOTH)
{
    CUexternalMemory memory = NULL;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    int fd = raw_vk_buffer_fd(&p->vk, &vk);
    CUresult result = raw_cuda_import_memory(p->cu, fd, 0, false, &memory);
    ANSWER("an import of size 0", "%s, fd %s", raw_cuda_result_name(result),
           fd_open(fd) ? "open" : "closed");
    CU_IS(result, CUDA_ERROR_INVALID_VALUE);
    REQUIRE(memory == NULL);
    REQUIRE(fd_open(fd));
    answer_is("the fd imported then",
              raw_cuda_import_memory(p->cu, fd, vk.allocation_size, false, &memory), CUDA_SUCCESS);
    CU_OK(p->cu->DestroyExternalMemory(memory));
}

PAIR_CASE(double_the_size, .mark = TEST_BOTH)
{
    CUexternalMemory memory;
    CUdeviceptr pointer = 0;
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    const size_t twice = 2 * vk.allocation_size;
    answer_is("an import of twice the size",
              raw_cuda_import_memory(p->cu, raw_vk_buffer_fd(&p->vk, &vk), twice, false, &memory),
              CUDA_SUCCESS);
    answer_is("a mapping of that size", raw_cuda_map_buffer(p->cu, memory, 0, twice, &pointer),
              CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(pointer, 0);
    CU_OK(p->cu->DestroyExternalMemory(memory));
}

PAIR_CASE(mapping_past_the_end, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0;
    shared_buffer b = pair_buffer(p, SIZE, 0, false);
    const uint64_t all = b.vk.allocation_size;
    answer_is("all of it, from 65,536 on",
              raw_cuda_map_buffer(p->cu, b.memory, 65536, all, &pointer), CUDA_ERROR_INVALID_VALUE);
    answer_is("from its end on", raw_cuda_map_buffer(p->cu, b.memory, all, 65536, &pointer),
              CUDA_ERROR_INVALID_VALUE);
    answer_is("twice its size", raw_cuda_map_buffer(p->cu, b.memory, 0, 2 * all, &pointer),
              CUDA_ERROR_INVALID_VALUE);
    REQUIRE_EQ(pointer, 0);
    answer_same_memory(p, "the good mapping", &b.vk, 0, b.pointer, SIZE, 3);
}

PAIR_CASE(second_mapping_of_dedicated, .mark = TEST_BOTH)
{
    CUdeviceptr pointer = 0;
    shared_buffer b = pair_buffer(p, SIZE, RAW_VK_DEDICATED, true);
    answer_is("a mapping of the second half",
              raw_cuda_map_buffer(p->cu, b.memory, SIZE / 2, SIZE / 2, &pointer),
              CUDA_ERROR_INVALID_VALUE);
    CUresult whole = raw_cuda_map_buffer(p->cu, b.memory, 0, SIZE, &pointer);
    answer_call("a second whole mapping", whole);
    if (whole == CUDA_SUCCESS) CU_OK(p->cu->MemFree(pointer));
    answer_same_memory(p, "the first mapping", &b.vk, 0, b.pointer, SIZE, 4);
}

/* What became of `given`, a duplicate of `original`. */
static const char *fate(int given, int original)
{
    if (!fd_open(given)) return "closed";
    return same_file(given, original) ? "open" : "another file";
}

typedef struct wrong_fd {
    const char *name;
    int fd;
} wrong_fd;

static size_t open_wrong_fds(pair *p, wrong_fd out[8], VkSemaphore *timeline)
{
    int pipe_fds[2];
    size_t n = 0;
    REQUIRE(pipe(pipe_fds) == 0);
    *timeline = raw_vk_timeline(&p->vk, 0, true);
    out[n++] = (wrong_fd){"dev_null", open("/dev/null", O_RDWR | O_CLOEXEC)};
    out[n++] = (wrong_fd){"pipe_read", pipe_fds[0]};
    out[n++] = (wrong_fd){"pipe_write", pipe_fds[1]};
    out[n++] = (wrong_fd){"eventfd", eventfd(0, EFD_CLOEXEC)};
    out[n++] = (wrong_fd){"program_file", open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    out[n++] = (wrong_fd){"timeline", raw_vk_timeline_fd(&p->vk, *timeline)};
    for (size_t i = 0; i < n; i++)
        REQUIRE(out[i].fd >= 0);
    return n;
}

/* Whether a refused fd is closed differs from driver to driver, so it is reported. What the library
 * needs is that none is taken for memory without an error, and that it can tell afterwards whether
 * the number is still its own. */
PAIR_CASE(
    wrong_fds, .mark = TEST_TWIN_STRICTER,
    .reason =
        "the twin refuses each and closes it; NVIDIA's driver takes a timeline, and closes each")
{
    wrong_fd wrong[8];
    VkSemaphore timeline;
    size_t count = open_wrong_fds(p, wrong, &timeline);
    for (size_t i = 0; i < count; i++) {
        CUexternalMemory memory = NULL;
        int given = fcntl(wrong[i].fd, F_DUPFD_CLOEXEC, 0);
        CUresult result = raw_cuda_import_memory(p->cu, given, SIZE, false, &memory);
        const char *after = fate(given, wrong[i].fd);
        ANSWER(answer_key("import: %s", wrong[i].name), "%s, fd %s", raw_cuda_result_name(result),
               after);
        if (result == CUDA_SUCCESS) {
            CUdeviceptr pointer = 0;
            result = raw_cuda_map_buffer(p->cu, memory, 0, SIZE, &pointer);
            answer_call(answer_key("map: %s", wrong[i].name), result);
            REQUIRE(result != CUDA_SUCCESS);
            CU_OK(p->cu->DestroyExternalMemory(memory));
        }
        if (strcmp(wrong[i].name, "dev_null") == 0) REQUIRE(memory == NULL);
        if (fd_open(given) && same_file(given, wrong[i].fd)) close(given);
    }
    static const int no_fds[] = {-1, 1000000};
    for (size_t i = 0; i < 2; i++) {
        CUexternalMemory memory = NULL;
        CUresult result = raw_cuda_import_memory(p->cu, no_fds[i], SIZE, false, &memory);
        answer_call(answer_key("import: number %d", no_fds[i]), result);
        REQUIRE(result != CUDA_SUCCESS);
    }
    for (size_t i = 0; i < count; i++)
        close(wrong[i].fd);
    raw_vk_timeline_destroy(&p->vk, timeline);
}

PAIR_CASE(wrong_fds_as_timelines, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses each and leaves it open; NVIDIA's answers are reported")
{
    wrong_fd wrong[8];
    VkSemaphore timeline;
    size_t count = open_wrong_fds(p, wrong, &timeline);
    raw_vk_buffer vk = pair_vk_buffer(p, SIZE, RAW_VK_EXPORT);
    close(wrong[count - 1].fd); /* a timeline is not wrong here; memory is */
    wrong[count - 1] = (wrong_fd){"memory", raw_vk_buffer_fd(&p->vk, &vk)};
    for (size_t i = 0; i < count; i++) {
        CUexternalSemaphore semaphore = NULL;
        int given = fcntl(wrong[i].fd, F_DUPFD_CLOEXEC, 0);
        CUresult result = raw_cuda_import_timeline(p->cu, given, &semaphore);
        const char *after = fate(given, wrong[i].fd);
        ANSWER(answer_key("import: %s", wrong[i].name), "%s, fd %s", raw_cuda_result_name(result),
               after);
        if (result == CUDA_SUCCESS) CU_OK(p->cu->DestroyExternalSemaphore(semaphore));
        if (fd_open(given) && same_file(given, wrong[i].fd)) close(given);
    }
    CUexternalSemaphore semaphore = NULL;
    CUresult result = raw_cuda_import_timeline(p->cu, -1, &semaphore);
    answer_call("import: number -1", result);
    REQUIRE(result != CUDA_SUCCESS);
    for (size_t i = 0; i < count; i++)
        close(wrong[i].fd);
    raw_vk_timeline_destroy(&p->vk, timeline);
}

TEST(kcmp_tells_files_apart, .mark = TEST_BOTH)
{
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC), other = open("/dev/null", O_RDWR | O_CLOEXEC);
    int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    REQUIRE(fd >= 0 && other >= 0 && duplicate >= 0);
    pid_t self = getpid();
    long order = syscall(SYS_kcmp, self, self, 0 /* KCMP_FILE */, fd, duplicate);
    MEASURED("kcmp", "%s", order >= 0 ? "permitted" : strerror(errno));
    (void)raw_cuda_open(); /* whose answers these are */
    const bool same = same_file(fd, duplicate);
    answer_so("a duplicate", same, "the same file", "another file");
    if (order >= 0) REQUIRE(!same_file(fd, other));
    close(duplicate);
    const bool gone = !same_file(fd, duplicate);
    answer_so("a closed duplicate", gone, "no file", "the same file");
    close(fd);
    close(other);
}
