/* SPDX-License-Identifier: MIT */
/* Contract rows: access to mapped memory, of kernels and copies, by device and by the host. */
#define TEST_GROUP "vmm_access."
#include "contract.h"

#define NONE       CU_MEM_ACCESS_FLAGS_PROT_NONE
#define READ_WRITE CU_MEM_ACCESS_FLAGS_PROT_READWRITE

static unsigned long long access_at(const pair *p, CUdeviceptr pointer)
{
    const CUmemAccessDesc device = device_access(p->device, NONE);
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
    const CUmemAccessDesc nobody = device_access(p->device, NONE);
    answer_ok("cuMemSetAccess to none", p->cu->MemSetAccess(b.pointer, b.size, &nobody, 1));
    REQUIRE_EQ(access_at(p, b.pointer), NONE);
    ANSWER("access when it is given, mapped anew, given again", "0x%llx, 0x%llx, 0x%llx", access[0],
           access[1], access[2]);
    REQUIRE(access[0] == READ_WRITE && access[1] == NONE && access[2] == READ_WRITE);
}

/* What can still be done when a kernel has faulted: all that gives memory back. */
PAIR_CASE(kernel_without_access, .mark = TEST_BOTH, .faults = true)
{
    const CUmemAllocationProp prop = device_prop(p->device, 0);
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
    const CUmemAccessDesc desc = device_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
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
    CUmemAllocationProp prop = device_prop(p->device, POSIX_FD);
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
        device_access(p->device, READ_WRITE),
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
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
}
