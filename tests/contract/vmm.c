/* SPDX-License-Identifier: MIT */
/* Contract rows: virtual memory management, where it works and what it refuses (bad arguments:
 * bad_arguments.c). */
#define TEST_GROUP "vmm."
#include "contract.h"

#include <stdatomic.h>
#include <unistd.h>

PAIR_CASE(life, .mark = TEST_BOTH)
{
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    REQUIRE_EQ(b.pointer % VMM_SIZE, 0);
    CU_OK(raw_cuda_upload(p->cu, b.pointer, pattern_words(b.size, 3), b.size));
    answer_words(p, "cuMemcpyHtoD", b.pointer, b.size, 3, 0);
    set_words(p, b.pointer + 4096, 0x5a5a5a5au, 16);
    answer_word("cuMemsetD32Async's last word", cuda_word(p, b.pointer + 4096 + 60), 0x5a5a5a5au);
}

/* Chunks side by side are one range to kernels and copies; what was there before one more came,
 * stays. */
PAIR_CASE(grows, .mark = TEST_BOTH)
{
    enum { CHUNKS = 4 };
    CUmemGenericAllocationHandle chunks[CHUNKS];
    const CUdeviceptr base = pair_range(p, 64 * VMM_SIZE);
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = vmm_create(p, VMM_SIZE, 0);
        vmm_map(p, base + i * VMM_SIZE, VMM_SIZE, chunks[i]);
        if (i == 1) CU_OK(words_run(p, "pattern_write", base, 2 * VMM_SIZE, 77));
    }
    answer_words(p, "two chunks, when two more came", base, 2 * VMM_SIZE, 77, 0);
    CU_OK(words_run(p, "pattern_write", base, CHUNKS * VMM_SIZE, 78));
    CU_OK(words_run(p, "pattern_add", base, CHUNKS * VMM_SIZE, 5));
    answer_words(p, "four chunks", base, CHUNKS * VMM_SIZE, 78, 5); /* one copy over all of them */
    CU_OK(p->cu->MemcpyDtoDAsync(base, base + 2 * VMM_SIZE, 2 * VMM_SIZE, p->stream));
    set_words(p, base + VMM_SIZE - 64, 0x01020304u, 32);
    uint32_t words[32];
    cuda_read(p, base + VMM_SIZE - 64, words, sizeof words);
    answer_wrong("a fill over the border of two", words_not(words, 0x01020304u, 32), 32);
    /* The last two go, the others stay; then all the rest at once. */
    answer_ok("cuMemUnmap of two mappings", p->cu->MemUnmap(base + 2 * VMM_SIZE, 2 * VMM_SIZE));
    (void)cuda_word(p, base + 2 * VMM_SIZE - 4);
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
    CU_OK(p->cu->MemUnmap(base + VMM_SIZE, VMM_SIZE));
    for (unsigned i = 0; i < CHUNKS; i++)
        CU_OK(p->cu->MemRelease(chunks[i]));
}

/* 004, Virtual Aliasing Support: at the boundaries of operations both mappings show the same. */
PAIR_CASE(aliases, .mark = TEST_BOTH)
{
    vmm_block b = pair_vmm(p, VMM_SIZE, 0);
    const CUdeviceptr other = pair_range(p, VMM_SIZE);
    pair_map(p, other, VMM_SIZE, b.handle);
    REQUIRE(other != b.pointer);
    CU_OK(words_run(p, "pattern_write", b.pointer, VMM_SIZE, 9));
    CU_OK(words_run(p, "pattern_add", other, VMM_SIZE, 3));
    answer_words(p, "the first mapping", b.pointer, VMM_SIZE, 9, 3);
    answer_words(p, "the other one", other, VMM_SIZE, 9, 3);
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    answer_words(p, "the other one alone", other, VMM_SIZE, 9, 3);
    vmm_map(p, b.pointer, VMM_SIZE, b.handle);
    answer_words(p, "the first one again", b.pointer, VMM_SIZE, 9, 3);
}

/* A vector that moves: the same chunks in another range, in both until the old one is given up. */
PAIR_CASE(moves, .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle chunks[2];
    const CUdeviceptr from = vmm_reserve(p, 2 * VMM_SIZE), to = pair_range(p, 16 * VMM_SIZE);
    for (unsigned i = 0; i < 2; i++) {
        chunks[i] = vmm_create(p, VMM_SIZE, 0);
        vmm_map(p, from + i * VMM_SIZE, VMM_SIZE, chunks[i]);
    }
    CU_OK(words_run(p, "pattern_write", from, 2 * VMM_SIZE, 21));
    for (unsigned i = 0; i < 2; i++)
        CU_OK(p->cu->MemMap(to + i * VMM_SIZE, VMM_SIZE, 0, chunks[i], 0));
    CU_OK(vmm_allow(p, to, 2 * VMM_SIZE)); /* one call for both */
    for (unsigned i = 0; i < 2; i++)
        CU_OK(p->cu->MemUnmap(from + i * VMM_SIZE, VMM_SIZE));
    CU_OK(p->cu->MemAddressFree(from, 2 * VMM_SIZE));
    answer_words(p, "in the new range", to, 2 * VMM_SIZE, 21, 0);
    for (unsigned i = 0; i < 2; i++) {
        CU_OK(p->cu->MemUnmap(to + i * VMM_SIZE, VMM_SIZE));
        CU_OK(p->cu->MemRelease(chunks[i]));
    }
}

static const char *value_of(CUmemGenericAllocationHandle handle, CUmemGenericAllocationHandle other)
{
    return handle == other ? "the same value" : "another value";
}

/* The memory is there until its last mapping goes; by address its handle comes back. */
PAIR_CASE(released_while_mapped, .mark = TEST_BOTH)
{
    vmm_block b;
    vmm_open(p, VMM_SIZE, 0, &b);
    CU_OK(p->cu->MemRelease(b.handle));
    CU_OK(words_run(p, "pattern_write", b.pointer, VMM_SIZE, 31));
    answer_words(p, "after cuMemRelease", b.pointer, VMM_SIZE, 31, 0);
    CUmemGenericAllocationHandle again = 0;
    CU_OK(p->cu->MemRetainAllocationHandle(&again, (void *)(uintptr_t)(b.pointer + 12345)));
    ANSWER("its handle by address", "%s", value_of(again, b.handle));
    const CUdeviceptr other = pair_range(p, VMM_SIZE);
    pair_map(p, other, VMM_SIZE, again);
    answer_words(p, "mapped once more", other, VMM_SIZE, 31, 0);
    CU_OK(p->cu->MemRelease(again));
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    answer_words(p, "by the last mapping", other, VMM_SIZE, 31, 0);
    CU_OK(p->cu->MemAddressFree(b.pointer, VMM_SIZE));
}

/* cuda.h: "guaranteed to be the same handle value". */
PAIR_CASE(retained, .mark = TEST_BOTH)
{
    CUmemAllocationProp prop;
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    for (int last = 0; last < 2; last++) {
        CUmemGenericAllocationHandle found = 0;
        const uintptr_t at = (uintptr_t)(b.pointer + (last ? b.size - 1 : 0));
        CU_OK(p->cu->MemRetainAllocationHandle(&found, (void *)at));
        answer_so(last ? "by the last byte" : "by the first byte", found == b.handle, "another");
        CU_OK(p->cu->MemRelease(found)); /* the first reference is there yet */
        CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&prop, b.handle));
    }
}

PAIR_CASE(properties, .mark = TEST_BOTH)
{
    CUmemAllocationProp asked = raw_cuda_memory_prop(p->device, POSIX_FD), found;
    asked.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    CUmemGenericAllocationHandle handle;
    int supported = 0;
    CU_OK(p->cu->MemCreate(&handle, VMM_SIZE, &asked, 0));
    memset(&found, 0xff, sizeof found);
    CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&found, handle));
    REQUIRE_EQ(found.type, asked.type);
    REQUIRE_EQ(found.location.type, asked.location.type);
    REQUIRE_EQ(found.location.id, asked.location.id);
    REQUIRE_EQ(found.requestedHandleTypes, asked.requestedHandleTypes);
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
                                    p->device));
    ANSWER("compressible", "supported %d, granted %d", supported, found.allocFlags.compressionType);
    if (!supported) REQUIRE_EQ(found.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_NONE);
    CU_OK(p->cu->MemRelease(handle));

    asked = raw_cuda_memory_prop(p->device, 0);
    asked.allocFlags.gpuDirectRDMACapable = 1;
    CU_OK(p->cu->DeviceGetAttribute(
        &supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED, p->device));
    CUresult result = p->cu->MemCreate(&handle, VMM_SIZE, &asked, 0);
    ANSWER("RDMA-capable", "supported %d, cuMemCreate %s", supported, raw_cuda_result_name(result));
    if (supported) CU_OK(result);
    if (result == CUDA_SUCCESS) {
        CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&found, handle));
        REQUIRE_EQ(found.allocFlags.gpuDirectRDMACapable, 1);
        CU_OK(p->cu->MemRelease(handle));
    }
}

PAIR_CASE(memory_info, .mark = TEST_BOTH)
{
    const size_t size = (size_t)256 << 20;
    size_t before = 0, during = 0, after = 0, total = 0;
    CU_OK(p->cu->MemGetInfo(&before, &total));
    if (before < 2 * size) SKIP("too little free memory");
    CUmemGenericAllocationHandle handle = vmm_create(p, size, 0);
    CU_OK(p->cu->MemGetInfo(&during, NULL));
    CU_OK(p->cu->MemRelease(handle));
    CU_OK(p->cu->MemGetInfo(&after, NULL));
    MEASURED("memory_info", "256 MiB created: %zu bytes less free; released: %zu less",
             before - during, before - after);
    /* never mapped, and taken all the same */
    answer_so("256 MiB created", during <= before - size, "not");
    answer_so("released", after >= during + size, "not");
}

PAIR_CASE(reserved_addresses, .mark = TEST_BOTH)
{
    const size_t size = 16 * VMM_SIZE, gib = (size_t)1 << 30;
    CUdeviceptr first = pair_range(p, size), second = 0, aligned = 0, large = 0, taken = 0;
    REQUIRE_EQ(first % VMM_SIZE, 0);
    /* "If CUDA cannot use this VA for whatever reason, it ignores the hint" (002). */
    CU_OK(p->cu->MemAddressReserve(&second, size, 0, first + size, 0));
    ANSWER("a hint behind a reservation", "%s", second == first + size ? "taken" : "not taken");
    REQUIRE(second >= first + size || second + size <= first);
    CU_OK(p->cu->MemAddressReserve(&aligned, size, gib, 0, 0));
    answer_so("aligned to 1 GiB", aligned % gib == 0, "no");
    answer_ok("1 TiB", p->cu->MemAddressReserve(&large, 1024 * gib, 0, 0, 0));
    const CUresult result = p->cu->MemAddressReserve(&taken, size, 0, first, 0);
    answer_with("a hint that is taken", result, "%s",
                taken == first ? "the same address" : "elsewhere");
    REQUIRE(result != CUDA_SUCCESS || taken != first);
    if (result == CUDA_SUCCESS) CU_OK(p->cu->MemAddressFree(taken, size));
    CU_OK(p->cu->MemAddressFree(large, 1024 * gib));
    CU_OK(p->cu->MemAddressFree(aligned, size));
    CU_OK(p->cu->MemAddressFree(second, size));
}

/* Not for ever: a driver that waits for it shall come back. */
static void CUDA_CB hold_stream(void *data)
{
    const atomic_bool *held = data;
    for (unsigned i = 0; i < TEST_FAR_MS && atomic_load(held); i++)
        usleep(1000);
}

/* Measured before (48 and 219 us), unlike cuMemFree: so memory must be out of use before. */
PAIR_CASE(unmap_does_not_wait, .mark = TEST_BOTH)
{
    vmm_block b;
    atomic_bool held = true;
    vmm_open(p, VMM_SIZE, 0, &b);
    CU_OK(p->cu->LaunchHostFunc(p->stream, hold_stream, &held)); /* uses nothing of it */
    double start = test_now_us();
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    CU_OK(p->cu->MemRelease(b.handle));
    double released = test_now_us();
    CUresult query = p->cu->StreamQuery(p->stream);
    CU_OK(p->cu->MemAddressFree(b.pointer, VMM_SIZE));
    MEASURED("unmap_and_release_with_work_pending", "%.0f us, cuMemAddressFree %.0f us",
             released - start, test_now_us() - released);
    answer_call("the stream when the memory is released", query);
    atomic_store(&held, false);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}

/* Two granules are mapped as one before each of these. */
PAIR_CASE(mapped, .title = "vmm_errors.mapped", .mark = TEST_BOTH,
          .reason = "of NVIDIA's driver reported", .own = true)
{
    static const struct {
        const char *what;
        enum { MAP, UNMAP, FREE } call;
        size_t at, size; /* granules */
        bool other;      /* the allocation of one granule */
    } rows[] = {{"cuMemMap of the same range again", MAP, 0, 2, false},
                {"cuMemMap over the end of a mapping", MAP, 1, 1, true},
                {"cuMemMap over its start", MAP, 0, 1, true},
                {"cuMemUnmap of half a mapping", UNMAP, 0, 1, false},
                {"cuMemUnmap of the other half", UNMAP, 1, 1, false},
                {"cuMemUnmap of more than is mapped", UNMAP, 0, 3, false},
                {"cuMemUnmap of what is not mapped", UNMAP, 2, 1, false},
                {"cuMemFree of a mapping", FREE, 0, 2, false}};
    CUmemGenericAllocationHandle two = vmm_create(p, 2 * VMM_SIZE, 0),
                                 one = vmm_create(p, VMM_SIZE, 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const CUdeviceptr base = vmm_reserve(p, 4 * VMM_SIZE), at = base + rows[i].at * VMM_SIZE;
        const size_t size = rows[i].size * VMM_SIZE;
        vmm_map(p, base, 2 * VMM_SIZE, two);
        const CUresult result = rows[i].call == MAP
                                    ? p->cu->MemMap(at, size, 0, rows[i].other ? one : two, 0)
                                : rows[i].call == UNMAP ? p->cu->MemUnmap(at, size)
                                                        : p->cu->MemFree(at);
        answer_call(rows[i].what, result);
        /* Refused, it is as good as before; else what is left of it is of no interest. */
        if (result != CUDA_SUCCESS) CU_OK(p->cu->MemUnmap(base, 2 * VMM_SIZE));
        if (result != CUDA_SUCCESS) CU_OK(p->cu->MemAddressFree(base, 4 * VMM_SIZE));
    }
    const CUdeviceptr base = vmm_reserve(p, 4 * VMM_SIZE);
    vmm_map(p, base, 2 * VMM_SIZE, two);
    CU_OK(p->cu->MemUnmap(base, 2 * VMM_SIZE));
    answer_call("cuMemUnmap again", p->cu->MemUnmap(base, 2 * VMM_SIZE));
    test_pass();
}

/* Whether what is written there comes back. */
static const char *holds(const pair *p, CUdeviceptr pointer, uint32_t value)
{
    uint32_t word = 0;
    CUresult result = p->cu->MemsetD32Async(pointer, value, 1024, p->stream);
    if (result == CUDA_SUCCESS) result = p->cu->StreamSynchronize(p->stream);
    if (result == CUDA_SUCCESS) result = p->cu->MemcpyDtoH(&word, pointer + 4092, 4);
    return result != CUDA_SUCCESS ? raw_cuda_result_name(result)
           : word == value        ? "right"
                                  : "wrong";
}

/* Two granules that are mapped outside of the four that are reserved at `base`. */
static void outside(const pair *p, const char *what, CUdeviceptr base, CUdeviceptr at, bool freed)
{
    CUdeviceptr start = 0, hinted = 0;
    const CUdeviceptr last = at + VMM_SIZE;
    size_t size = 0;
    CUresult result =
        p->cu->PointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, last);
    if (result == CUDA_SUCCESS)
        (void)p->cu->PointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, last);
    answer_with(answer_key("%s: the last granule's range", what), result,
                "starts %s the reservation, %zu granules", start == base ? "with" : "not with",
                size / VMM_SIZE);
    result = vmm_allow(p, at, 2 * VMM_SIZE);
    ANSWER(answer_key("%s: cuMemSetAccess", what), "%s; the first granule %s, the last %s",
           raw_cuda_result_name(result), result == CUDA_SUCCESS ? holds(p, at, 11) : "is not tried",
           result == CUDA_SUCCESS ? holds(p, last, 12) : "is not tried");
    if (!freed) {
        result = p->cu->MemAddressReserve(&hinted, 4 * VMM_SIZE, 0, base + 4 * VMM_SIZE, 0);
        const bool overlaps =
            result == CUDA_SUCCESS && hinted < at + 2 * VMM_SIZE && at < hinted + 4 * VMM_SIZE;
        answer_with(answer_key("%s: reserving behind it", what), result, "%s",
                    overlaps ? "over the mapping" : "elsewhere");
        if (result == CUDA_SUCCESS)
            answer_call(answer_key("%s: freeing that", what),
                        p->cu->MemAddressFree(hinted, 4 * VMM_SIZE));
        answer_call(answer_key("%s: cuMemAddressFree while mapped", what),
                    p->cu->MemAddressFree(base, 4 * VMM_SIZE));
    }
    answer_call(answer_key("%s: cuMemUnmap", what), p->cu->MemUnmap(at, 2 * VMM_SIZE));
}

/* NVIDIA's driver does not see the end (measured: the first row): Culvert checks it. */
PAIR_CASE(past_the_reservation, .title = "vmm_errors.past_the_reservation",
          .mark = TEST_TWIN_STRICTER, .reason = "NVIDIA's driver does not see a reservation's end",
          .own = true)
{
    static const struct {
        const char *what;
        size_t at; /* granules from the start, where two are mapped */
        bool freed;
    } rows[] = {{"half past the end", 3, false},
                {"right behind the end", 4, false},
                {"128 MiB behind the end", 68, false},
                {"in a reservation that was freed", 0, true}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CUmemGenericAllocationHandle two = vmm_create(p, 2 * VMM_SIZE, 0);
        const CUdeviceptr base = vmm_reserve(p, 4 * VMM_SIZE), at = base + rows[i].at * VMM_SIZE;
        if (rows[i].freed) CU_OK(p->cu->MemAddressFree(base, 4 * VMM_SIZE));
        const CUresult result = p->cu->MemMap(at, 2 * VMM_SIZE, 0, two, 0);
        answer_call(answer_key("%s: cuMemMap", rows[i].what), result);
        if (result == CUDA_SUCCESS) outside(p, rows[i].what, base, at, rows[i].freed);
        CU_OK(p->cu->MemRelease(two));
    }
    test_pass();
}

/* A reservation that was extended by another behind it is two. */
PAIR_CASE(two_reservations, .title = "vmm_errors.two_reservations", .mark = TEST_TWIN_STRICTER,
          .reason = "reported of NVIDIA's driver; on the twin each call stays within one")
{
    const raw_cuda *cu = p->cu;
    CUdeviceptr next = 0;
    const CUdeviceptr base = vmm_reserve(p, 4 * VMM_SIZE), from = base + 3 * VMM_SIZE;
    CUmemGenericAllocationHandle two = vmm_create(p, 2 * VMM_SIZE, 0),
                                 one = vmm_create(p, VMM_SIZE, 0);
    CU_OK(cu->MemAddressReserve(&next, 4 * VMM_SIZE, 0, base + 4 * VMM_SIZE, 0));
    ANSWER("a reservation is extended", "%s",
           next == base + 4 * VMM_SIZE ? "by the addresses behind it" : "elsewhere");
    if (next != base + 4 * VMM_SIZE) SKIP("no two reservations side by side");
    CUresult result = cu->MemMap(from, 2 * VMM_SIZE, 0, two, 0);
    answer_call("cuMemMap across two reservations", result);
    if (result == CUDA_SUCCESS) CU_OK(cu->MemUnmap(from, 2 * VMM_SIZE));
    CU_OK(cu->MemMap(from, VMM_SIZE, 0, one, 0));
    CU_OK(cu->MemMap(next, 2 * VMM_SIZE, 0, two, 0));
    answer_call("cuMemSetAccess across two reservations", vmm_allow(p, from, 3 * VMM_SIZE));
    CU_OK(vmm_allow(p, from, VMM_SIZE));
    CU_OK(vmm_allow(p, next, 2 * VMM_SIZE));
    uint32_t *words = pattern_words(3 * VMM_SIZE, 6), *found = test_memory(3 * VMM_SIZE);
    /* To a kernel it is one range; one copy over both is [measure]. */
    CU_OK(words_run(p, "pattern_write", from, 3 * VMM_SIZE, 6));
    for (size_t i = 0; i < 3; i++)
        cuda_read(p, from + i * VMM_SIZE, found + i * (VMM_SIZE / 4), VMM_SIZE);
    answer_so("one kernel over two reservations", memcmp(found, words, 3 * VMM_SIZE) == 0, "wrong");
    memset(found, 0, 3 * VMM_SIZE);
    result = cu->MemcpyDtoH(found, from, 3 * VMM_SIZE);
    answer_with("one copy over two reservations", result, "%s",
                memcmp(found, words, 3 * VMM_SIZE) == 0 ? "right" : "wrong");
    result = cu->MemUnmap(from, 3 * VMM_SIZE);
    answer_call("cuMemUnmap across two reservations", result);
    if (result != CUDA_SUCCESS) CU_OK(cu->MemUnmap(from, VMM_SIZE));
    if (result != CUDA_SUCCESS) CU_OK(cu->MemUnmap(next, 2 * VMM_SIZE));
    CU_OK(cu->MemRelease(one));
    CU_OK(cu->MemRelease(two));
    result = cu->MemAddressFree(base, 8 * VMM_SIZE);
    answer_call("cuMemAddressFree of both at once", result);
    if (result != CUDA_SUCCESS) CU_OK(cu->MemAddressFree(next, 4 * VMM_SIZE));
    if (result != CUDA_SUCCESS) CU_OK(cu->MemAddressFree(base, 4 * VMM_SIZE));
}

/* Undefined on NVIDIA's driver, by cuda.h. */
PAIR_CASE(stale_handles, .title = "vmm_errors.stale_handles", .mark = TEST_TWIN_STRICTER,
          .reason = "cuda.h leaves them undefined")
{
    CUmemAllocationProp prop;
    int fd = -1;
    if (!p->cu->software) SKIP("undefined there");
    CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, POSIX_FD);
    const CUdeviceptr base = pair_range(p, VMM_SIZE);
    CU_OK(p->cu->MemRelease(handle));
    answer_refused("cuMemRelease", p->cu->MemRelease(handle));
    answer_refused("cuMemMap", p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_refused("cuMemExportToShareableHandle",
                   p->cu->MemExportToShareableHandle(&fd, handle, POSIX_FD, 0));
    answer_refused("cuMemGetAllocationPropertiesFromHandle",
                   p->cu->MemGetAllocationPropertiesFromHandle(&prop, handle));
}

/* Contract rows: access to mapped memory, of kernels and copies, by device and by the host. */
#undef TEST_GROUP
#define TEST_GROUP "vmm_access."

#define NONE       CU_MEM_ACCESS_FLAGS_PROT_NONE
#define READ_WRITE CU_MEM_ACCESS_FLAGS_PROT_READWRITE

static unsigned long long access_at(const pair *p, CUdeviceptr pointer)
{
    const CUmemAccessDesc device = raw_cuda_access(p->device, NONE);
    unsigned long long flags = 99;
    CU_OK(p->cu->MemGetAccess(&flags, &device.location, pointer));
    return flags;
}

/* Every mapping starts without access, one more at the same address too; and access can be taken
 * back. What is refused: bad.vmm_mapping. */
PAIR_CASE(starts_without, .mark = TEST_BOTH, .own = true)
{
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    unsigned long long access[3] = {access_at(p, b.pointer + b.size - 1)};
    CU_OK(p->cu->MemUnmap(b.pointer, b.size));
    CU_OK(p->cu->MemMap(b.pointer, b.size, 0, b.handle, 0));
    access[1] = access_at(p, b.pointer);
    CU_OK(vmm_allow(p, b.pointer, b.size));
    access[2] = access_at(p, b.pointer);
    const CUmemAccessDesc nobody = raw_cuda_access(p->device, NONE);
    answer_ok("cuMemSetAccess to none", p->cu->MemSetAccess(b.pointer, b.size, &nobody, 1));
    REQUIRE_EQ(access_at(p, b.pointer), NONE);
    test_answer_is("access when it is given, mapped anew, given again",
                   access[0] == READ_WRITE && access[1] == NONE && access[2] == READ_WRITE,
                   "0x%llx, 0x%llx, 0x%llx", access[0], access[1], access[2]);
}

/* What can still be done when a kernel has faulted: all that gives memory back. */
PAIR_CASE(kernel_without_access, .mark = TEST_BOTH, .faults = true)
{
    const CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, 0);
    CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, 0), more = 0;
    CUdeviceptr base = vmm_reserve(p, VMM_SIZE), range = 0;
    CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_call("a kernel that writes there", words_run(p, "pattern_write", base, 4096, 1));
    CU_IS(p->cu->CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    answer_call("after a fault, cuMemAddressReserve",
                p->cu->MemAddressReserve(&range, VMM_SIZE, 0, 0, 0));
    CU_OK(p->cu->MemCreate(&more, VMM_SIZE, &prop, 0));
    if (range != 0) {
        const CUresult result = p->cu->MemMap(range, VMM_SIZE, 0, more, 0);
        answer_call("after a fault, cuMemMap", result);
        if (result == CUDA_SUCCESS)
            answer_call("after a fault, cuMemSetAccess", vmm_allow(p, range, VMM_SIZE));
    }
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
    CU_OK(p->cu->MemRelease(handle));
    CU_OK(p->cu->MemAddressFree(base, VMM_SIZE));
    test_pass();
}

PAIR_CASE(kernel_where_nothing_is_mapped, .mark = TEST_BOTH, .faults = true)
{
    vmm_block b;
    vmm_open(p, VMM_SIZE, 0, &b);
    CU_OK(words_run(p, "pattern_write", b.pointer, VMM_SIZE, 1));
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    answer_call("a kernel that writes there", words_run(p, "pattern_write", b.pointer, 4096, 1));
    test_pass();
}

/* Copies are checked before they run. */
PAIR_CASE(copy_without_access, .mark = TEST_BOTH, .faults = true)
{
    const raw_cuda *cu = p->cu;
    uint32_t words[4] = {0};
    const CUdeviceptr base = vmm_reserve(p, 2 * VMM_SIZE);
    CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, 0);
    answer_call("cuMemcpyDtoH where nothing is mapped", cu->MemcpyDtoH(words, base, sizeof words));
    CU_OK(cu->CtxSynchronize());
    CU_OK(cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_call("cuMemcpyDtoH without access", cu->MemcpyDtoH(words, base, sizeof words));
    CU_OK(cu->CtxSynchronize());
    answer_call("cuMemcpyHtoD without access", cu->MemcpyHtoD(base, words, sizeof words));
    answer_call("cuMemcpyDtoHAsync without access",
                cu->MemcpyDtoHAsync(words, base, sizeof words, p->stream));
    if (cu->CtxSynchronize() != CUDA_SUCCESS) test_pass();
    CU_OK(vmm_allow(p, base, VMM_SIZE));
    answer_call("cuMemcpyDtoH over the end of a mapping",
                cu->MemcpyDtoH(words, base + VMM_SIZE - 8, sizeof words));
    if (cu->CtxSynchronize() != CUDA_SUCCESS) test_pass();
    CU_OK(cu->MemcpyDtoH(words, base, sizeof words));
    CU_OK(cu->MemUnmap(base, VMM_SIZE));
    CU_OK(cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_call("cuMemsetD32Async without access", cu->MemsetD32Async(base, 1, 16, p->stream));
    answer_ok("then the stream", cu->StreamSynchronize(p->stream));
    test_pass();
}

PAIR_CASE(read_only, .mark = TEST_BOTH,
          .reason = "whether a device's memory can be read-only is reported", .faults = true)
{
    vmm_block b = pair_vmm(p, VMM_SIZE, 0);
    const CUmemAccessDesc desc = raw_cuda_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CU_OK(words_run(p, "pattern_write", b.pointer, VMM_SIZE, 8));
    const CUresult result = p->cu->MemSetAccess(b.pointer, VMM_SIZE, &desc, 1);
    answer_call("cuMemSetAccess to read only", result);
    if (result != CUDA_SUCCESS) return;
    REQUIRE_EQ(access_at(p, b.pointer), CU_MEM_ACCESS_FLAGS_PROT_READ);
    answer_words(p, "a copy from there", b.pointer, VMM_SIZE, 8, 0);
    answer_call("a kernel that writes there", words_run(p, "pattern_write", b.pointer, 4096, 1));
    test_pass();
}

/* R27. The host reads and writes it where it is mapped, as the device does. */
PAIR_CASE(host_memory, .mark = TEST_BOTH, .own = true)
{
    int supported = 0, node = 0, fd = -1;
    size_t minimum = 0, recommended = 0;
    CUmemGenericAllocationHandle handle = 0, again = 0;
    /* HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, by number: cuda.h has it from 12.9 on. */
    CUresult result = p->cu->DeviceGetAttribute(&supported, (CUdevice_attribute)141, p->device);
    answer_with("supported", result, "%d", supported);
    if (result != CUDA_SUCCESS || !supported) SKIP("no VMM memory of the host's in this driver");
    CU_OK(p->cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, p->device));
    CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, POSIX_FD);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    prop.location.id = node < 0 ? 0 : node;
    CU_OK(p->cu->MemGetAllocationGranularity(&minimum, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU_OK(p->cu->MemGetAllocationGranularity(&recommended, &prop,
                                             CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    ANSWER("granularity", "minimum %zu, recommended %zu", minimum, recommended);
    const size_t size = (VMM_SIZE + minimum - 1) / minimum * minimum, count = VMM_SIZE / 4;
    CU_OK(p->cu->MemCreate(&handle, size, &prop, 0));
    const CUdeviceptr base = pair_range(p, size);
    CU_OK(p->cu->MemMap(base, size, 0, handle, 0));
    const CUmemAccessDesc both[] = {
        raw_cuda_access(p->device, READ_WRITE),
        access_of(CU_MEM_LOCATION_TYPE_HOST_NUMA, prop.location.id, READ_WRITE)};
    CU_OK(p->cu->MemSetAccess(base, size, both, 2));
    CU_OK(words_run(p, "pattern_write", base, VMM_SIZE, 90));
    uint32_t *words = (uint32_t *)(uintptr_t)base;
    const size_t wrong = words_wrong(words, pattern_words(VMM_SIZE, 90), count);
    ANSWER("the host reads a kernel's words", "%zu of %zu words wrong", wrong, count);
    REQUIRE_EQ(wrong, 0);
    for (size_t i = 0; i < count; i++)
        words[i] += 7;
    answer_words(p, "the device reads the host's words", base, VMM_SIZE, 90, 7);
    result = p->cu->MemExportToShareableHandle(&fd, handle, POSIX_FD, 0);
    answer_call("cuMemExportToShareableHandle", result);
    if (result == CUDA_SUCCESS) {
        CU_OK(vmm_import(p, fd, &again));
        CU_OK(p->cu->MemRelease(again));
        REQUIRE(fd >= 0);
    }
    CU_OK(p->cu->MemUnmap(base, size));
    CU_OK(p->cu->MemRelease(handle));
}

/* An address is answered as so many bytes from `base` on; 0: no address. */
static void attribute(const pair *p, CUdeviceptr pointer, const char *where,
                      CUpointer_attribute which, const char *name, CUdeviceptr base)
{
    uint64_t value = 0;
    const CUresult result = p->cu->PointerGetAttribute(&value, which, pointer);
    answer_with(answer_key("%s, %s", where, name), result, "%s0x%llx",
                base != 0 ? "the reservation + " : "", (unsigned long long)(value - base));
}
#define ATTRIBUTE(at, where, name, base)                                                           \
    attribute(p, at, where, CU_POINTER_ATTRIBUTE_##name, #name, base)

/* Two pointers to one allocation. */
static void same_id(const pair *p, CUdeviceptr a, CUdeviceptr b, CUpointer_attribute which,
                    const char *name)
{
    uint64_t first = 0, second = 0;
    const CUresult result = p->cu->PointerGetAttribute(&first, which, a),
                   again = p->cu->PointerGetAttribute(&second, which, b);
    answer_with(answer_key("mapped twice, %s", name), result, "%s, %s", raw_cuda_result_name(again),
                first == second ? "the same" : "not the same");
}

PAIR_CASE(pointer_attributes, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported",
          .own = true)
{
    const CUdeviceptr base = pair_range(p, 8 * VMM_SIZE), at = base + 2 * VMM_SIZE, in = at + 100;
    CUmemGenericAllocationHandle handle = pair_handle(p, VMM_SIZE, POSIX_FD);
    ATTRIBUTE(base, "reserved", MAPPED, 0);
    ATTRIBUTE(base, "reserved", RANGE_SIZE, 0);
    ATTRIBUTE(base, "reserved", MEMORY_TYPE, 0);
    pair_map(p, at, VMM_SIZE, handle);
    ATTRIBUTE(in, "mapped", MEMORY_TYPE, 0);
    ATTRIBUTE(in, "mapped", DEVICE_ORDINAL, 0);
    ATTRIBUTE(in, "mapped", MAPPED, 0);
    ATTRIBUTE(in, "mapped", IS_MANAGED, 0);
    ATTRIBUTE(in, "mapped", IS_LEGACY_CUDA_IPC_CAPABLE, 0);
    ATTRIBUTE(in, "mapped", RANGE_START_ADDR, base);
    ATTRIBUTE(in, "mapped", RANGE_SIZE, 0);
    ATTRIBUTE(in, "mapped", MAPPING_BASE_ADDR, base);
    ATTRIBUTE(in, "mapped", MAPPING_SIZE, 0);
    ATTRIBUTE(in, "mapped", ALLOWED_HANDLE_TYPES, 0);
    ATTRIBUTE(in, "mapped", ACCESS_FLAGS, 0);
    ATTRIBUTE(in, "mapped", CONTEXT, 0);
    CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    same_id(p, in, base, CU_POINTER_ATTRIBUTE_BUFFER_ID, "BUFFER_ID");
    same_id(p, in, base, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "MEMORY_BLOCK_ID");
    ATTRIBUTE(base, "without access", ACCESS_FLAGS, 0);
    ATTRIBUTE(base, "without access", MAPPING_SIZE, 0);
    CUdeviceptr start;
    size_t size;
    CALL_ROW(p->cu, MemGetAddressRange, "without access", &start, &size, base);
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
}

/* Contract rows: images in VMM allocations, which Vulkan and CUDA (by cuImportExternalMemory)
 * map. */
#undef TEST_GROUP
#define TEST_GROUP "vmm_images."

#define VULKANS "of NVIDIA's driver reported, but for Vulkan's memory"

/* An image and an array in one allocation. */
typedef struct image_in_vmm {
    CUmemGenericAllocationHandle handle; /* 0: the memory is Vulkan's */
    size_t size;
    raw_vk_image vk;
    CUexternalMemory memory;
    CUmipmappedArray mipmap;
} image_in_vmm;

typedef struct image_variant {
    const char *what;
    uint32_t width, height, levels;
    VkImageUsageFlags usage; /* besides transfers */
    bool vulkans;            /* memory that Vulkan made, for comparison */
    bool dedicated;          /* to Vulkan, and to CUDA */
    bool compressible;       /* asked for at cuMemCreate */
    bool color_attachment;   /* CUDA's flag */
    /* The last memory type that Vulkan takes, else the first device-local one */
    bool last_type;
} image_variant;

static void image_open(pair *p, const image_variant *v, image_in_vmm *out)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    raw_vk_image_desc desc =
        image_desc(format, v->width, v->height, v->levels, v->dedicated ? RAW_VK_DEDICATED : 0);
    desc.usage = v->usage;
    memset(out, 0, sizeof *out);
    raw_vk_image_create(&p->vk, &desc, &out->vk);
    out->size = out->vk.allocation_size;
    if (!v->vulkans) {
        raw_vk_image as = out->vk;
        raw_vk_image_destroy(&p->vk, &out->vk);
        const uint32_t types = raw_vk_image_needs(&p->vk, &desc).memoryTypeBits;
        for (uint32_t i = 0; v->last_type && i < p->vk.memory.memoryTypeCount; i++)
            if (types >> i & 1u) as.memory_type = i;
        CUmemAllocationProp prop = raw_cuda_memory_prop(p->device, POSIX_FD);
        if (v->compressible) prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
        out->size = (out->size + VMM_SIZE - 1) / VMM_SIZE * VMM_SIZE;
        CU_OK(p->cu->MemCreate(&out->handle, out->size, &prop, 0));
        /* A dedicated allocation is as large as its image. */
        if (!v->dedicated) as.allocation_size = out->size;
        raw_vk_image_import(&p->vk, vmm_export(p, out->handle), &as, &out->vk);
        raw_vk_image_first_layout(&p->vk, &out->vk, NULL);
    }
    const int fd = v->vulkans ? raw_vk_image_fd(&p->vk, &out->vk) : vmm_export(p, out->handle);
    CU_OK(raw_cuda_import_memory(p->cu, fd, out->size, v->dedicated, &out->memory));
    CUDA_ARRAY3D_DESCRIPTOR array = image_cuda_desc(format, &out->vk);
    if (v->color_attachment) array.Flags |= CUDA_ARRAY3D_COLOR_ATTACHMENT;
    CU_OK(raw_cuda_map_image(p->cu, out->memory, out->vk.offset, &array, v->levels, &out->mipmap));
}

static void image_close(pair *p, image_in_vmm *image)
{
    CU_OK(p->cu->MipmappedArrayDestroy(image->mipmap));
    CU_OK(p->cu->DestroyExternalMemory(image->memory));
    raw_vk_image_destroy(&p->vk, &image->vk);
    if (image->handle != 0) CU_OK(p->cu->MemRelease(image->handle));
}

/* An OPTIMAL image in it. What CUDA writes, Vulkan reads; the other way NVIDIA's driver gave other
 * bytes (measured: 118865 wrong of 128524), see every_direction. */
PAIR_CASE(written_by_cuda, .mark = TEST_BOTH,
          .reason = "what CUDA writes; what Vulkan writes is required of the twin")
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    const image_variant variant = {.width = 253, .height = 127, .levels = 5};
    image_in_vmm image;
    image_open(p, &variant, &image);
    CUmodule module = raw_cuda_module(p->cu, "image_kernels");
    for (uint32_t level = 0; level < 5; level += 4) {
        const VkExtent3D extent = raw_vk_image_extent(&image.vk, level);
        const size_t row = extent.width * format->texel, size = row * extent.height;
        unsigned char *found = test_memory(size),
                      *expected = image_pattern(format, extent, 50 + level);
        const CUarray array = image_level(p, image.mipmap, level);
        CUsurfObject surface = 0;
        unsigned seed = 60 + level;
        CU_OK(raw_cuda_write_array(p->cu, array, expected, row, extent.height));
        CU_OK(p->cu->CtxSynchronize());
        raw_vk_image_read(&p->vk, &image.vk, level, found);
        const size_t copied = bytes_wrong(found, expected, size);
        expected = image_pattern(format, extent, seed);
        CU_OK(raw_cuda_surface(p->cu, array, &surface));
        image_launch(p, module, "write", format, surface, extent, &seed);
        CU_OK(p->cu->SurfObjectDestroy(surface));
        raw_vk_image_read(&p->vk, &image.vk, level, found);
        const size_t by_kernel = bytes_wrong(found, expected, size);
        answer_bytes(answer_key("level %u, copied", level), copied);
        answer_bytes(answer_key("level %u, by a kernel", level), by_kernel);
    }
    for (uint32_t level = 0; level < 5 && p->cu->software; level += 4)
        REQUIRE_EQ(
            same_image_wrong(p, module, format, &image.vk, image.mipmap, level, 50 + level / 4), 0);
    image_close(p, &image);
}

static void image_pass(pair *p, uint32_t queue, const raw_vk_image *vk, raw_vk_buffer *staging,
                       void *texels, bool to_image)
{
    const size_t size = raw_vk_image_bytes(vk, 0);
    const raw_vk_job job = {.queue = queue};
    if (to_image) {
        memcpy(staging->mapped, texels, size);
        raw_vk_image_from_buffer(&p->vk, vk, 0, staging, 0, &job);
    } else {
        raw_vk_image_to_buffer(&p->vk, vk, 0, staging, 0, &job);
        memcpy(texels, staging->mapped, size);
    }
}

/* Level 0 in every direction: whether each is right. */
static void image_directions(pair *p, const image_variant *v)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    image_in_vmm image;
    raw_vk_buffer staging;
    image_open(p, v, &image);
    const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    unsigned char *found = test_memory(size), *texels = image_pattern(format, extent, 1);
    const CUarray array = image_level(p, image.mipmap, 0);
    raw_vk_buffer_create(&p->vk, size, RAW_VK_HOST, &staging);
    CU_OK(raw_cuda_write_array(p->cu, array, texels, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    image_pass(p, 0, &image.vk, &staging, found, false);
    const size_t to_vulkan = bytes_wrong(found, texels, size);
    /* What lies in the memory when CUDA has written the texels, and when Vulkan has. */
    CUdeviceptr raw = 0;
    unsigned char *cudas = test_memory(image.size), *vulkans = test_memory(image.size);
    if (image.handle != 0) {
        raw = vmm_reserve(p, image.size);
        vmm_map(p, raw, image.size, image.handle);
        cuda_read(p, raw, cudas, image.size);
    }
    unsigned char *zeros = test_memory(size);
    image_pass(p, 0, &image.vk, &staging, zeros, true);
    image_pass(p, 0, &image.vk, &staging, texels, true);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    const size_t to_cuda = bytes_wrong(found, texels, size);
    if (raw != 0) cuda_read(p, raw, vulkans, image.size);
    const size_t other_bytes = bytes_wrong(vulkans, cudas, image.size);
    image_pass(p, 0, &image.vk, &staging, found, false);
    const size_t vulkans_own = bytes_wrong(found, texels, size);
    ANSWER(v->what, "CUDA to Vulkan %s, Vulkan to CUDA %s, Vulkan to Vulkan %s; the memory %s",
           to_vulkan == 0 ? "right" : "wrong", to_cuda == 0 ? "right" : "wrong",
           vulkans_own == 0 ? "right" : "wrong", other_bytes == 0 ? "is the same" : "differs");
    /* On the other queues, however many there are, and by a clear. */
    size_t other_queues = 0;
    for (uint32_t q = 1; q < p->vk.queue_count; q++) {
        if ((p->vk.queues[q].flags & (VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT)) == 0) continue;
        image_pass(p, q, &image.vk, &staging, zeros, true);
        image_pass(p, q, &image.vk, &staging, texels, true);
        CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
        other_queues += bytes_wrong(found, texels, size) != to_cuda;
    }
    answer_number(answer_key("%s: queues that differ", v->what), (int64_t)other_queues, 0);
    raw_vk_image_clear(&p->vk, &image.vk, 0, format->color, NULL);
    for (size_t i = 0; i < size; i++)
        zeros[i] = format->cleared[i % format->texel];
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    answer_bytes(answer_key("%s: Vulkan's clear to CUDA", v->what),
                 bytes_wrong(found, zeros, size));
    if (p->cu->software || v->vulkans) REQUIRE(to_vulkan == 0 && vulkans_own == 0 && to_cuda == 0);
    if (raw != 0) vmm_unmap(p, raw, image.size);
    raw_vk_buffer_destroy(&p->vk, &staging);
    image_close(p, &image);
}

#define ODD_SIZE .width = 253, .height = 127, .levels = 5
#define LARGE    .width = 1024, .height = 1024, .levels = 1

PAIR_CASE(every_direction, .mark = TEST_BOTH, .reason = VULKANS)
{
    static const image_variant variants[] = {
        {.what = "Vulkan's memory", ODD_SIZE, .vulkans = true},
        {.what = "VMM", ODD_SIZE},
        {.what = "VMM, one level", .width = 253, .height = 127, .levels = 1},
        {.what = "VMM, 256 x 128, one level", .width = 256, .height = 128, .levels = 1},
        {.what = "VMM, 1024 x 1024, one level", LARGE},
        TEST_ROW(.what = "VMM, color attachment to both", ODD_SIZE, .color_attachment = true,
                 .usage = VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT),
        {.what = "VMM, storage image", ODD_SIZE, .usage = VK_IMAGE_USAGE_STORAGE_BIT},
        {.what = "VMM, the last memory type", ODD_SIZE, .last_type = true}};
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        image_directions(p, &variants[i]);
}

/* 1024 x 1024 fills its 4 MiB: an allocation of granules is as large as the image then. */
PAIR_CASE(dedicated, .mark = TEST_BOTH, .reason = VULKANS)
{
    static const image_variant variants[] = {
        {.what = "Vulkan's memory, dedicated", ODD_SIZE, .vulkans = true, .dedicated = true},
        {.what = "VMM, dedicated, 1024 x 1024, one level", LARGE, .dedicated = true},
        {.what = "VMM, dedicated", ODD_SIZE, .dedicated = true}};
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        image_directions(p, &variants[i]);
}

PAIR_CASE(compressible, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported")
{
    static const image_variant variants[] = {
        {.what = "VMM", ODD_SIZE, .compressible = true},
        TEST_ROW(.what = "VMM, dedicated, 1024 x 1024, one level", LARGE, .dedicated = true,
                 .compressible = true)};
    int multicast = 0;
    CU_OK(
        p->cu->DeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, p->device));
    if (multicast && !p->cu->software)
        SKIP("behind NVSwitches driver 580.159.04 crashes in cuImportExternalMemory");
    for (size_t i = 0; i < COUNT_OF(variants); i++)
        image_directions(p, &variants[i]);
}

/* Contract rows: one address. A sparse buffer of Vulkan's at an address that CUDA has reserved, and
 * memory of cuMemCreate in both. */
#undef TEST_GROUP
#define TEST_GROUP "one_address."

#define SIZE (32 * VMM_SIZE)

typedef struct stage {
    pair p;
    VkQueue queue;
    CUdeviceptr base;
    VkBuffer buffer;
    uint32_t type;
} stage;

static VkResult make_buffer(stage *a, CUdeviceptr address, bool resident, VkBuffer *out)
{
    const VkExternalMemoryBufferCreateInfo external = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
        .handleTypes = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkBufferOpaqueCaptureAddressCreateInfo where =
        TEST_ROW(.sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO,
                 .pNext = &external, .opaqueCaptureAddress = address);
    VkBufferCreateInfo info = raw_vk_buffer_info(
        SIZE, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
                  VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT);
    info.pNext = &where;
    info.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT |
                 VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT |
                 (resident ? VK_BUFFER_CREATE_SPARSE_RESIDENCY_BIT : 0);
    return vkCreateBuffer(a->p.vk.device, &info, NULL, out);
}

static CUdeviceptr address_of(const stage *a, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo which = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
                                             .buffer = buffer};
    return vkGetBufferDeviceAddress(a->p.vk.device, &which);
}

/* The pair with what it needs; addresses that both sides give. */
static void open_place(stage *a, bool resident)
{
    static const CUdeviceptr tried[] = {0x400000000, 0x1000000000, 0x10000000000, 0};
    memset(a, 0, sizeof *a);
    pair *p = &a->p;
    pair_open(p);
    raw_vk_close(&p->vk);
    raw_vk_open(&p->vk, &(raw_vk_options){.uuid = (const uint8_t *)p->uuid.bytes,
                                          .software = p->cu->software,
                                          .one_address = true});
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceFeatures2 has = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                     .pNext = &address};
    vkGetPhysicalDeviceFeatures2(p->vk.physical, &has);
    if (!has.features.sparseBinding || !has.features.sparseResidencyBuffer ||
        !address.bufferDeviceAddressCaptureReplay)
        SKIP("%s has no sparse buffers at chosen addresses", p->vk.properties.deviceName);
    for (uint32_t i = 0; i < p->vk.queue_count && a->queue == NULL; i++)
        if (p->vk.queues[i].flags & VK_QUEUE_SPARSE_BINDING_BIT) a->queue = p->vk.queues[i].queue;
    REQUIRE(a->queue != NULL);
    for (unsigned i = 0; i < 4 && a->buffer == VK_NULL_HANDLE; i++) {
        CU_OK(p->cu->MemAddressReserve(&a->base, SIZE, 0, tried[i], 0));
        VkResult r = VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
        if (tried[i] == 0 || a->base == tried[i]) r = make_buffer(a, a->base, resident, &a->buffer);
        if (r == VK_SUCCESS) break;
        REQUIRE_EQ(r, VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS);
        CU_OK(p->cu->MemAddressFree(a->base, SIZE));
    }
    ANSWER("a sparse buffer at CUDA's address", "%s",
           a->buffer == VK_NULL_HANDLE           ? "refused"
           : address_of(a, a->buffer) == a->base ? "there"
                                                 : "elsewhere");
    REQUIRE(a->buffer != VK_NULL_HANDLE && address_of(a, a->buffer) == a->base);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(p->vk.device, a->buffer, &needs);
    ANSWER("blocks", "%llu bytes", (unsigned long long)needs.alignment);
    REQUIRE(VMM_SIZE % needs.alignment == 0);
    while (
        !(needs.memoryTypeBits >> a->type & 1) ||
        !(p->vk.memory.memoryTypes[a->type].propertyFlags & VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)) {
        a->type++;
        REQUIRE(a->type < p->vk.memory.memoryTypeCount);
    }
}

static void close_place(stage *a)
{
    vkDestroyBuffer(a->p.vk.device, a->buffer, NULL);
    CU_OK(a->p.cu->MemAddressFree(a->base, SIZE));
    pair_close(&a->p);
}

static void bind(const stage *a, VkDeviceSize offset, VkDeviceMemory memory)
{
    const VkFenceCreateInfo fence_info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    const VkSparseMemoryBind part = {.resourceOffset = offset, .size = VMM_SIZE, .memory = memory};
    const VkSparseBufferMemoryBindInfo of = {.buffer = a->buffer, .bindCount = 1, .pBinds = &part};
    const VkBindSparseInfo info = {
        .sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO, .bufferBindCount = 1, .pBufferBinds = &of};
    VkFence fence;
    VK_OK(vkCreateFence(a->p.vk.device, &fence_info, NULL, &fence));
    VK_OK(vkQueueBindSparse(a->queue, 1, &info, fence));
    VK_OK(vkWaitForFences(a->p.vk.device, 1, &fence, VK_TRUE, UINT64_MAX));
    vkDestroyFence(a->p.vk.device, fence, NULL);
}

/* A plain import: no dedicated info. */
static VkDeviceMemory import(const stage *a, CUmemGenericAllocationHandle handle)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VK_OK(vk_import(&a->p, vmm_export(&a->p, handle), VMM_SIZE, a->type, &flags, &memory));
    return memory;
}

/* Data both ways at both ends, and what one side keeps when the other one lets go. */
static void both_ways(stage *a)
{
    pair *p = &a->p;
    const raw_vk_buffer raw = {.buffer = a->buffer, .size = SIZE};
    for (int end = 0; end < 2; end++) {
        const VkDeviceSize offset = end ? SIZE - VMM_SIZE : 0;
        CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, POSIX_FD);
        vmm_map(p, a->base + offset, VMM_SIZE, handle);
        VkDeviceMemory memory = import(a, handle);
        bind(a, offset, memory);
        answer_same_memory(p, end ? "the last chunk" : "the first chunk", &raw, offset,
                           a->base + offset, VMM_SIZE, 50 + (uint32_t)end);
        raw_vk_fill(&p->vk, &raw, offset, VMM_SIZE, 0x31415926u, NULL);
        CU_OK(p->cu->MemUnmap(a->base + offset, VMM_SIZE));
        const char *chunk = end ? "last" : "first";
        uint32_t word = 0;
        raw_vk_read(&p->vk, &raw, offset + VMM_SIZE - 4, &word, 4);
        answer_word(answer_key("Vulkan's last word when CUDA has unmapped the %s chunk", chunk),
                    word, 0x31415926u);
        vmm_map(p, a->base + offset, VMM_SIZE, handle);
        bind(a, offset, VK_NULL_HANDLE);
        vkFreeMemory(p->vk.device, memory, NULL);
        answer_word(answer_key("CUDA's first word when Vulkan has unbound the %s chunk", chunk),
                    cuda_word(p, a->base + offset), 0x31415926u);
        CU_OK(p->cu->MemUnmap(a->base + offset, VMM_SIZE));
        CU_OK(p->cu->MemRelease(handle));
    }
}

#define PLACE_CASE(name, resident)                                                                 \
    TEST_ON(stage, a, open_place(a, resident), close_place(a), name, .mark = TEST_BOTH)
PLACE_CASE(sparse_binding, false)
{
    both_ways(a);
}

PLACE_CASE(sparse_residency, true)
{
    both_ways(a);
}

/* The same address once more, in the same VkDevice. */
PLACE_CASE(taken, true)
{
    VkBuffer second = VK_NULL_HANDLE;
    const VkResult r = make_buffer(a, a->base, true, &second);
    ANSWER("a second buffer there", "VkResult %d", (int)r);
    if (r == VK_SUCCESS) vkDestroyBuffer(a->p.vk.device, second, NULL);
}

/* Vulkan's buffer first, CUDA's addresses second. */
PLACE_CASE(vulkan_first, true)
{
    CUdeviceptr again = 0;
    CU_OK(a->p.cu->MemAddressFree(a->base, SIZE));
    CU_OK(a->p.cu->MemAddressReserve(&again, SIZE, 0, a->base, 0));
    answer_so("CUDA's addresses after Vulkan's", again == a->base, "others");
}
