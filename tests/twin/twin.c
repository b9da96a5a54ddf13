/* SPDX-License-Identifier: MIT */
/* Contexts, gates, and files that look like Vulkan's. */
#include "twin.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void twin_proc(const raw_cuda *cu, const char *name, int version, void *function)
{
    void *address = NULL;
    CUresult result =
        cu->GetProcAddress(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, NULL);
    if (result != CUDA_SUCCESS || address == NULL) FAIL("no %s of version %d", name, version);
    memcpy(function, &address, sizeof address);
}

twin twin_begin(unsigned stream_flags)
{
    twin t = {.cu = raw_cuda_open()};
    if (!t.cu->software) SKIP("not the software twin");
    t.context = raw_cuda_context(t.cu, 0);
    CU_OK(t.cu->StreamCreate(&t.stream, stream_flags));
    return t;
}

void twin_finish(twin *t)
{
    test_settle();
    CU_OK(t->cu->StreamDestroy(t->stream));
    raw_cuda_leave(t->cu, 0);
}

culv_soft_counts twin_counts(const raw_cuda *cu)
{
    culv_soft_counts counts = {.struct_size = sizeof counts};
    cu->SoftCounts(&counts);
    return counts;
}

void twin_vulkan_open(raw_vk *vk, raw_vk_options options)
{
    CUuuid uuid;
    const raw_cuda *cu = raw_cuda_open();
    if (!cu->software) SKIP("not the software twin");
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    options.uuid = (const uint8_t *)uuid.bytes;
    options.software = true;
    raw_vk_open(vk, &options);
}

size_t twin_threads(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/task");
    REQUIRE(directory != NULL);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(directory);
    return count;
}

void twin_require_threads(size_t most)
{
    for (unsigned i = 0; i < TEST_FAR_MS && twin_threads() > most; i++)
        usleep(1000);
    REQUIRE(twin_threads() <= most);
}

/* What a child writes to stderr. Returns its status. */
static int hear_child(const char *child, const char *fail_at, char *said, size_t size)
{
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    REQUIRE(file != NULL && before >= 0);
    REQUIRE_EQ(setenv("CULVERT_SOFT_FAIL_AT", fail_at, 1), 0);
    fflush(stderr);
    REQUIRE(dup2(fileno(file), STDERR_FILENO) >= 0);
    const int status = test_run_child(child);
    REQUIRE(dup2(before, STDERR_FILENO) >= 0);
    close(before);
    rewind(file);
    said[fread(said, 1, size - 1, file)] = '\0';
    fclose(file);
    return status;
}

void twin_child_says(const char *child, const char *fail_at, const char *text)
{
    static const char line[] = "culvert: CULVERT_SOFT_FAIL_AT", none[] = ": no call failed";
    char said[4096];
    const int status = hear_child(child, fail_at, said, sizeof said);
    const char *found = strstr(said, line);
    if (text == NULL) {
        if (strstr(said, none) != NULL) FAIL("%s: %s", fail_at, said);
        return;
    }
    if (found == NULL || strstr(found, text) == NULL)
        FAIL("%s: no '%s' in: %s", fail_at, text, said);
    REQUIRE(strstr(found + 1, line) == NULL);
    if (strstr(said, none) != NULL) REQUIRE_EQ(status, 0);
}

struct twin_gate {
    pthread_mutex_t lock;
    pthread_cond_t opened;
    bool open;
};

twin_gate *twin_gate_new(void)
{
    twin_gate *gate = calloc(1, sizeof *gate);
    REQUIRE(gate != NULL);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->opened, NULL);
    return gate;
}

void CUDA_CB twin_gate_wait(void *data)
{
    twin_gate *gate = data;
    pthread_mutex_lock(&gate->lock);
    while (!gate->open)
        pthread_cond_wait(&gate->opened, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void twin_gate_open(twin_gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->opened);
    pthread_mutex_unlock(&gate->lock);
}

void twin_gate_free(twin_gate *gate)
{
    pthread_cond_destroy(&gate->opened);
    pthread_mutex_destroy(&gate->lock);
    free(gate);
}

int twin_timeline_fd(const raw_cuda *cu, culv_soft_timeline **page)
{
    CUuuid uuid;
    int fd = memfd_create("timeline", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    REQUIRE(fd >= 0);
    REQUIRE_EQ(ftruncate(fd, CULV_SOFT_TIMELINE_SIZE), 0);
    REQUIRE_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    *page = mmap(NULL, CULV_SOFT_TIMELINE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(*page != MAP_FAILED);
    memcpy((*page)->magic, CULV_SOFT_TIMELINE_MAGIC, sizeof((*page)->magic));
    CU_OK(cu->DeviceGetUuid(&uuid, 0));
    memcpy((*page)->device_uuid, uuid.bytes, sizeof((*page)->device_uuid));
    return fd;
}

void twin_timeline_set(culv_soft_timeline *page, uint64_t value)
{
    CULV_SOFT_PAGE_RELEASE();
    atomic_store(&page->value, value);
    atomic_fetch_add(&page->seq, 1);
    syscall(SYS_futex, &page->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

bool twin_timeline_reaches(culv_soft_timeline *page, uint64_t value, unsigned milliseconds)
{
    const double end = test_now_us() + 1e3 * milliseconds;
    while (atomic_load(&page->value) < value) {
        if (test_now_us() > end) return false;
        usleep(50);
    }
    CULV_SOFT_PAGE_ACQUIRE();
    return true;
}

int twin_memory_fd(uint64_t size, unsigned char **payload)
{
    const uint64_t offset = 4096, total = offset + size + 40;
    int fd = memfd_create("memory", MFD_CLOEXEC);
    REQUIRE(fd >= 0);
    REQUIRE_EQ(ftruncate(fd, (off_t)total), 0);
    unsigned char *base = mmap(NULL, (size_t)total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    REQUIRE(base != MAP_FAILED);
    memcpy(base, &total, sizeof total);
    memcpy(base + 8, &offset, sizeof offset);
    memset(base + 16, 0x5a, 16);
    memcpy(base + offset - 8, &offset, sizeof offset);
    *payload = base + offset;
    return fd;
}

bool twin_fd_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

CUmemGenericAllocationHandle twin_memory(const raw_cuda *cu, CUdevice device, size_t size,
                                         CUmemAllocationHandleType types)
{
    const CUmemAllocationProp prop = raw_cuda_memory_prop(device, types);
    CUmemGenericAllocationHandle handle = 0;
    CU_OK(cu->MemCreate(&handle, size, &prop, 0));
    return handle;
}

CUresult twin_allow(const raw_cuda *cu, CUdevice device, CUdeviceptr pointer, size_t size)
{
    const CUmemAccessDesc desc = raw_cuda_access(device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    return cu->MemSetAccess(pointer, size, &desc, 1);
}
