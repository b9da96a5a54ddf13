/* SPDX-License-Identifier: MIT */
/* Contract rows: virtual memory management, where it works. */
#define TEST_GROUP "vmm."
#include "vmm.h"

#include <stdatomic.h>
#include <unistd.h>

void vmm_pair_open(pair *p)
{
    pair_open(p);
    if (p->cu->MemCreate == NULL || p->cu->MemRetainAllocationHandle == NULL ||
        p->cu->MemGetAccess == NULL || p->cu->MemImportFromShareableHandle == NULL ||
        p->cu->MemGetInfo == NULL)
        SKIP("this driver has no virtual memory management");
}

CUmemAllocationProp vmm_prop(const pair *p, unsigned handle_types)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = (CUmemAllocationHandleType)handle_types;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = p->device;
    return prop;
}

CUmemGenericAllocationHandle vmm_create(const pair *p, size_t size, unsigned handle_types)
{
    const CUmemAllocationProp prop = vmm_prop(p, handle_types);
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
    CUmemAccessDesc access;
    memset(&access, 0, sizeof access);
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = p->device;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    return p->cu->MemSetAccess(pointer, size, &access, 1);
}

void vmm_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle)
{
    CU_OK(p->cu->MemMap(pointer, size, 0, handle, 0));
    CU_OK(vmm_allow(p, pointer, size));
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
    CU_OK(p->cu->MemUnmap(block->pointer, block->size));
    CU_OK(p->cu->MemRelease(block->handle));
    CU_OK(p->cu->MemAddressFree(block->pointer, block->size));
}

static void end_vmm(const void *of, void *thing)
{
    vmm_close(of, thing);
}

vmm_block pair_vmm(const pair *p, size_t size, unsigned handle_types)
{
    vmm_block block;
    vmm_open(p, size, handle_types, &block);
    test_later(end_vmm, p, &block, sizeof block);
    return block;
}

static void end_handle(const void *of, void *thing)
{
    CU_OK(((const pair *)of)->cu->MemRelease(*(CUmemGenericAllocationHandle *)thing));
}

CUmemGenericAllocationHandle pair_handle(const pair *p, size_t size, unsigned handle_types)
{
    CUmemGenericAllocationHandle handle = vmm_create(p, size, handle_types);
    test_later(end_handle, p, &handle, sizeof handle);
    return handle;
}

static void end_range(const void *of, void *thing)
{
    const vmm_block *range = thing;
    CU_OK(((const pair *)of)->cu->MemAddressFree(range->pointer, range->size));
}

CUdeviceptr pair_range(const pair *p, size_t size)
{
    const vmm_block range = {.pointer = vmm_reserve(p, size), .size = size};
    test_later(end_range, p, &range, sizeof range);
    return range.pointer;
}

static void end_mapping(const void *of, void *thing)
{
    const vmm_block *mapping = thing;
    CU_OK(((const pair *)of)->cu->MemUnmap(mapping->pointer, mapping->size));
}

void pair_map(const pair *p, CUdeviceptr pointer, size_t size, CUmemGenericAllocationHandle handle)
{
    const vmm_block mapping = {.pointer = pointer, .size = size};
    vmm_map(p, pointer, size, handle);
    test_later(end_mapping, p, &mapping, sizeof mapping);
}

CUresult vmm_kernel(const pair *p, CUfunction kernel, CUdeviceptr data, size_t size, unsigned last)
{
    unsigned count = (unsigned)(size / 4);
    void *args[] = {&data, &count, &last};
    CUresult result =
        p->cu->LaunchKernel(kernel, (count + 255) / 256, 1, 1, 256, 1, 1, 0, p->stream, args, NULL);
    return result != CUDA_SUCCESS ? result : p->cu->StreamSynchronize(p->stream);
}

void vmm_require_words(const pair *p, CUdeviceptr pointer, size_t size, uint32_t seed,
                       uint32_t addend)
{
    uint32_t *found = test_memory(size), *expected = pattern_words(size, seed);
    for (size_t i = 0; i < size / 4; i++)
        expected[i] += addend;
    cuda_read(p, pointer, found, size);
    REQUIRE_EQ_BYTES(found, expected, size);
}

void vmm_answer_words(const pair *p, const char *key, CUdeviceptr pointer, size_t size,
                      uint32_t seed, uint32_t addend)
{
    uint32_t *found = test_memory(size), *expected = pattern_words(size, seed);
    size_t wrong = 0;
    cuda_read(p, pointer, found, size);
    for (size_t i = 0; i < size / 4; i++)
        wrong += found[i] != expected[i] + addend;
    ANSWER(key, "%zu of %zu words wrong", wrong, size / 4);
    REQUIRE_EQ(wrong, 0);
}

VMM_PAIR_CASE(life, .mark = TEST_BOTH)
{
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    REQUIRE_EQ(b.pointer % VMM_SIZE, 0);
    uint32_t *words = pattern_words(b.size, 3);
    CU_OK(p->cu->MemcpyHtoD(b.pointer, words, b.size));
    CU_OK(p->cu->CtxSynchronize());
    vmm_answer_words(p, "cuMemcpyHtoD", b.pointer, b.size, 3, 0);
    CU_OK(p->cu->MemsetD32Async(b.pointer + 4096, 0x5a5a5a5au, 16, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    uint32_t word = 0;
    cuda_read(p, b.pointer + 4096 + 60, &word, 4);
    answer_word("cuMemsetD32Async's last word", word, 0x5a5a5a5au);
}

/* Chunks side by side are one range to kernels and copies; what was there before one more came,
 * stays. */
VMM_PAIR_CASE(grows, .mark = TEST_BOTH)
{
    enum { CHUNKS = 4 };
    CUmemGenericAllocationHandle chunks[CHUNKS];
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    CUfunction add = raw_cuda_function(p->cu, module, "pattern_add");
    const CUdeviceptr base = pair_range(p, 64 * VMM_SIZE);
    for (unsigned i = 0; i < CHUNKS; i++) {
        chunks[i] = vmm_create(p, VMM_SIZE, 0);
        vmm_map(p, base + i * VMM_SIZE, VMM_SIZE, chunks[i]);
        if (i == 1) CU_OK(vmm_kernel(p, write, base, 2 * VMM_SIZE, 77));
    }
    vmm_answer_words(p, "two chunks, when two more came", base, 2 * VMM_SIZE, 77, 0);
    CU_OK(vmm_kernel(p, write, base, CHUNKS * VMM_SIZE, 78));
    CU_OK(vmm_kernel(p, add, base, CHUNKS * VMM_SIZE, 5));
    /* One copy over all of them. */
    vmm_answer_words(p, "four chunks", base, CHUNKS * VMM_SIZE, 78, 5);
    CU_OK(p->cu->MemcpyDtoDAsync(base, base + 2 * VMM_SIZE, 2 * VMM_SIZE, p->stream));
    CU_OK(p->cu->MemsetD32Async(base + VMM_SIZE - 64, 0x01020304u, 32, p->stream));
    CU_OK(p->cu->StreamSynchronize(p->stream));
    uint32_t words[34];
    cuda_read(p, base + VMM_SIZE - 68, words, sizeof words);
    unsigned right = 0;
    for (size_t i = 1; i < 33; i++)
        right += words[i] == 0x01020304u;
    ANSWER("a fill over the border of two", "%u of 32 words right", right);
    REQUIRE_EQ(right, 32);
    /* The last two go, the others stay; then all the rest at once. */
    answer_is("cuMemUnmap of two mappings", p->cu->MemUnmap(base + 2 * VMM_SIZE, 2 * VMM_SIZE),
              CUDA_SUCCESS);
    cuda_read(p, base + 2 * VMM_SIZE - 4, words, 4);
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
    CU_OK(p->cu->MemUnmap(base + VMM_SIZE, VMM_SIZE));
    for (unsigned i = 0; i < CHUNKS; i++)
        CU_OK(p->cu->MemRelease(chunks[i]));
}

/* 004, Virtual Aliasing Support: at the boundaries of operations both mappings show the same. */
VMM_PAIR_CASE(aliases, .mark = TEST_BOTH)
{
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    CUfunction add = raw_cuda_function(p->cu, module, "pattern_add");
    vmm_block b = pair_vmm(p, VMM_SIZE, 0);
    const CUdeviceptr other = pair_range(p, VMM_SIZE);
    pair_map(p, other, VMM_SIZE, b.handle);
    REQUIRE(other != b.pointer);
    CU_OK(vmm_kernel(p, write, b.pointer, VMM_SIZE, 9));
    CU_OK(vmm_kernel(p, add, other, VMM_SIZE, 3));
    vmm_answer_words(p, "the first mapping", b.pointer, VMM_SIZE, 9, 3);
    vmm_answer_words(p, "the other one", other, VMM_SIZE, 9, 3);
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    vmm_answer_words(p, "the other one alone", other, VMM_SIZE, 9, 3);
    vmm_map(p, b.pointer, VMM_SIZE, b.handle);
    vmm_answer_words(p, "the first one again", b.pointer, VMM_SIZE, 9, 3);
}

/* A vector that moves: the same chunks in another range, in both until the old one is given up. */
VMM_PAIR_CASE(moves, .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle chunks[2];
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    const CUdeviceptr from = vmm_reserve(p, 2 * VMM_SIZE), to = pair_range(p, 16 * VMM_SIZE);
    for (unsigned i = 0; i < 2; i++) {
        chunks[i] = vmm_create(p, VMM_SIZE, 0);
        vmm_map(p, from + i * VMM_SIZE, VMM_SIZE, chunks[i]);
    }
    CU_OK(vmm_kernel(p, write, from, 2 * VMM_SIZE, 21));
    for (unsigned i = 0; i < 2; i++)
        CU_OK(p->cu->MemMap(to + i * VMM_SIZE, VMM_SIZE, 0, chunks[i], 0));
    CU_OK(vmm_allow(p, to, 2 * VMM_SIZE)); /* one call for both */
    for (unsigned i = 0; i < 2; i++)
        CU_OK(p->cu->MemUnmap(from + i * VMM_SIZE, VMM_SIZE));
    CU_OK(p->cu->MemAddressFree(from, 2 * VMM_SIZE));
    vmm_answer_words(p, "in the new range", to, 2 * VMM_SIZE, 21, 0);
    for (unsigned i = 0; i < 2; i++) {
        CU_OK(p->cu->MemUnmap(to + i * VMM_SIZE, VMM_SIZE));
        CU_OK(p->cu->MemRelease(chunks[i]));
    }
}

/* The memory is there until its last mapping goes; by address its handle comes back. */
VMM_PAIR_CASE(released_while_mapped, .mark = TEST_BOTH)
{
    vmm_block b;
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    vmm_open(p, VMM_SIZE, 0, &b);
    CU_OK(p->cu->MemRelease(b.handle));
    CU_OK(vmm_kernel(p, write, b.pointer, VMM_SIZE, 31));
    vmm_answer_words(p, "after cuMemRelease", b.pointer, VMM_SIZE, 31, 0);
    CUmemGenericAllocationHandle again = 0;
    CU_OK(p->cu->MemRetainAllocationHandle(&again, (void *)(uintptr_t)(b.pointer + 12345)));
    ANSWER("its handle by address", "%s", again == b.handle ? "the same value" : "another value");
    const CUdeviceptr other = pair_range(p, VMM_SIZE);
    pair_map(p, other, VMM_SIZE, again);
    vmm_answer_words(p, "mapped once more", other, VMM_SIZE, 31, 0);
    CU_OK(p->cu->MemRelease(again));
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    vmm_answer_words(p, "by the last mapping", other, VMM_SIZE, 31, 0);
    CU_OK(p->cu->MemAddressFree(b.pointer, VMM_SIZE));
}

VMM_PAIR_CASE(retained, .mark = TEST_BOTH)
{
    CUmemGenericAllocationHandle first = 0, second = 0;
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    CU_OK(p->cu->MemRetainAllocationHandle(&first, (void *)(uintptr_t)b.pointer));
    CU_OK(p->cu->MemRetainAllocationHandle(&second, (void *)(uintptr_t)(b.pointer + b.size - 1)));
    ANSWER("by the first byte", "%s", first == b.handle ? "the same value" : "another value");
    ANSWER("by the last byte", "%s", second == b.handle ? "the same value" : "another value");
    REQUIRE_EQ(first, b.handle); /* cuda.h: "guaranteed to be the same handle value" */
    REQUIRE_EQ(second, b.handle);
    CU_OK(p->cu->MemRelease(first));
    CU_OK(p->cu->MemRelease(second));
    CUmemAllocationProp prop;
    /* The first reference is there yet */
    CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&prop, b.handle));
}

VMM_PAIR_CASE(properties, .mark = TEST_BOTH)
{
    CUmemAllocationProp asked = vmm_prop(p, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), found;
    asked.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_GENERIC;
    CUmemGenericAllocationHandle handle;
    CU_OK(p->cu->MemCreate(&handle, VMM_SIZE, &asked, 0));
    memset(&found, 0xff, sizeof found);
    CU_OK(p->cu->MemGetAllocationPropertiesFromHandle(&found, handle));
    REQUIRE_EQ(found.type, asked.type);
    REQUIRE_EQ(found.location.type, asked.location.type);
    REQUIRE_EQ(found.location.id, asked.location.id);
    REQUIRE_EQ(found.requestedHandleTypes, asked.requestedHandleTypes);
    int supported = 0;
    CU_OK(p->cu->DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED,
                                    p->device));
    ANSWER("compressible", "supported %d, granted %d", supported, found.allocFlags.compressionType);
    if (!supported) REQUIRE_EQ(found.allocFlags.compressionType, CU_MEM_ALLOCATION_COMP_NONE);
    CU_OK(p->cu->MemRelease(handle));

    asked = vmm_prop(p, 0);
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

VMM_PAIR_CASE(memory_info, .mark = TEST_BOTH)
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
    ANSWER("256 MiB created", "%s", during <= before - size ? "so much less is free" : "not");
    ANSWER("released", "%s", after >= during + size ? "so much more is free" : "not");
    REQUIRE(during <= before - size); /* never mapped, and taken all the same */
    REQUIRE(after >= during + size);
}

VMM_PAIR_CASE(reserved_addresses, .mark = TEST_BOTH)
{
    const size_t size = 16 * VMM_SIZE;
    CUdeviceptr first, second = 0, aligned = 0, large = 0;
    first = pair_range(p, size);
    REQUIRE_EQ(first % VMM_SIZE, 0);
    /* "If CUDA cannot use this VA for whatever reason, it ignores the hint" (002). */
    CU_OK(p->cu->MemAddressReserve(&second, size, 0, first + size, 0));
    ANSWER("a hint behind a reservation", "%s", second == first + size ? "taken" : "not taken");
    REQUIRE(second >= first + size || second + size <= first);
    CU_OK(p->cu->MemAddressReserve(&aligned, size, (size_t)1 << 30, 0, 0));
    answer_so("aligned to 1 GiB", aligned % ((size_t)1 << 30) == 0, "yes", "no");
    CUresult result =
        p->cu->MemAddressReserve(&large, (size_t)1 << 40, 0, 0, 0); /* addresses only */
    answer_is("1 TiB", result, CUDA_SUCCESS);
    CUdeviceptr taken = 0;
    result = p->cu->MemAddressReserve(&taken, size, 0, first, 0);
    ANSWER("a hint that is taken", "%s, %s", raw_cuda_result_name(result),
           taken == first ? "the same address" : "elsewhere");
    if (result == CUDA_SUCCESS) {
        REQUIRE(taken != first);
        CU_OK(p->cu->MemAddressFree(taken, size));
    }
    CU_OK(p->cu->MemAddressFree(large, (size_t)1 << 40));
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
VMM_PAIR_CASE(unmap_does_not_wait, .mark = TEST_BOTH)
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
    answer_is("the stream when the memory is released", query, CUDA_ERROR_NOT_READY);
    atomic_store(&held, false);
    CU_OK(p->cu->StreamSynchronize(p->stream));
}
