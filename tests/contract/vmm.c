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
    const size_t right = 32 - words_not(words, 0x01020304u, 32);
    ANSWER("a fill over the border of two", "%zu of 32 words right", right);
    REQUIRE_EQ(right, 32);
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
        ANSWER(last ? "by the last byte" : "by the first byte", "%s", value_of(found, b.handle));
        REQUIRE_EQ(found, b.handle);
        CU_OK(p->cu->MemRelease(found)); /* the first reference is there yet */
        CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&prop, b.handle));
    }
}

PAIR_CASE(properties, .mark = TEST_BOTH)
{
    CUmemAllocationProp asked = device_prop(p->device, POSIX_FD), found;
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

    asked = device_prop(p->device, 0);
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
    answer_so("256 MiB created", during <= before - size, "so much less is free", "not");
    answer_so("released", after >= during + size, "so much more is free", "not");
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
    answer_so("aligned to 1 GiB", aligned % gib == 0, "yes", "no");
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
    answer_so("one kernel over two reservations", memcmp(found, words, 3 * VMM_SIZE) == 0, "right",
              "wrong");
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
