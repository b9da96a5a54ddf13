/* SPDX-License-Identifier: MIT */
/* Contract rows: access to mapped memory, of kernels and copies, by device and by the host. */
#define TEST_GROUP "vmm_access."
#include "vmm.h"

static CUmemAccessDesc access_of(CUmemLocationType type, int id, CUmemAccess_flags flags)
{
    CUmemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location.type = type;
    desc.location.id = id;
    desc.flags = flags;
    return desc;
}

static unsigned long long access_at(const pair *p, CUdeviceptr pointer)
{
    const CUmemAccessDesc device =
        access_of(CU_MEM_LOCATION_TYPE_DEVICE, p->device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    unsigned long long flags = 99;
    CU_OK(p->cu->MemGetAccess(&flags, &device.location, pointer));
    return flags;
}

/* Every mapping starts without access, one more at the same address too. */
VMM_PAIR_CASE(starts_without, .mark = TEST_BOTH, .own = true)
{
    vmm_block b = pair_vmm(p, 2 * VMM_SIZE, 0);
    unsigned long long access[3] = {access_at(p, b.pointer + b.size - 1)};
    CU_OK(p->cu->MemUnmap(b.pointer, b.size));
    CU_OK(p->cu->MemMap(b.pointer, b.size, 0, b.handle, 0));
    access[1] = access_at(p, b.pointer);
    CU_OK(vmm_allow(p, b.pointer, b.size));
    access[2] = access_at(p, b.pointer);
    ANSWER("access when it is given, mapped anew, given again", "0x%llx, 0x%llx, 0x%llx", access[0],
           access[1], access[2]);
    REQUIRE_EQ(access[0], CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    REQUIRE_EQ(access[1], CU_MEM_ACCESS_FLAGS_PROT_NONE);
    REQUIRE_EQ(access[2], CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

VMM_PAIR_CASE(refusals, .mark = TEST_BOTH, .own = true)
{
    const CUdeviceptr base = pair_range(p, 4 * VMM_SIZE);
    const CUmemAccessDesc good =
        access_of(CU_MEM_LOCATION_TYPE_DEVICE, p->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUmemGenericAllocationHandle handle = pair_handle(p, 2 * VMM_SIZE, 0);
    CUresult result = p->cu->MemSetAccess(base, VMM_SIZE, &good, 1);
    answer_call("cuMemSetAccess before cuMemMap", result);
    REQUIRE(result != CUDA_SUCCESS);
    unsigned long long flags = 0;
    answer_call("cuMemGetAccess before cuMemMap",
                p->cu->MemGetAccess(&flags, &good.location, base));
    CU_OK(p->cu->MemMap(base, 2 * VMM_SIZE, 0, handle, 0));
    result = p->cu->MemSetAccess(base, 4 * VMM_SIZE, &good, 1);
    answer_call("cuMemSetAccess of more than is mapped", result);
    REQUIRE(result != CUDA_SUCCESS);
    REQUIRE_EQ(access_at(p, base), CU_MEM_ACCESS_FLAGS_PROT_NONE); /* and nothing was changed */
    answer_call("cuMemSetAccess of half an allocation",
                p->cu->MemSetAccess(base, VMM_SIZE, &good, 1));
    CUmemAccessDesc other =
        access_of(CU_MEM_LOCATION_TYPE_DEVICE, 4711, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    result = p->cu->MemSetAccess(base, 2 * VMM_SIZE, &other, 1);
    answer_call("cuMemSetAccess for device 4711", result);
    REQUIRE(result != CUDA_SUCCESS);
    other = access_of(CU_MEM_LOCATION_TYPE_HOST_NUMA, 0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    answer_call("cuMemSetAccess of the host's to device memory",
                p->cu->MemSetAccess(base, 2 * VMM_SIZE, &other, 1));
    answer_call("cuMemSetAccess for nobody", p->cu->MemSetAccess(base, 2 * VMM_SIZE, &good, 0));
    CU_OK(p->cu->MemSetAccess(base, 2 * VMM_SIZE, &good, 1));
    other = access_of(CU_MEM_LOCATION_TYPE_DEVICE, p->device, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    result = p->cu->MemSetAccess(base, 2 * VMM_SIZE, &other, 1);
    answer_call("cuMemSetAccess to none", result);
    if (result == CUDA_SUCCESS) REQUIRE_EQ(access_at(p, base), CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CU_OK(p->cu->MemUnmap(base, 2 * VMM_SIZE));
}

/* What can still be done when a kernel has faulted: all that gives memory back. The case ends
 * there. */
static void after_the_fault(const pair *p, CUdeviceptr base, CUmemGenericAllocationHandle handle)
{
    const CUmemAllocationProp prop = vmm_prop(p, 0);
    CUmemGenericAllocationHandle more = 0;
    CUdeviceptr range = 0;
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

TEST(kernel_without_access, .mark = TEST_BOTH, .faults = true)
{
    pair p;
    vmm_pair_open(&p);
    CUmodule module = raw_cuda_load(p.cu, "pattern");
    CUfunction write = raw_cuda_function(p.cu, module, "pattern_write");
    const CUdeviceptr base = vmm_reserve(&p, VMM_SIZE);
    CUmemGenericAllocationHandle handle = vmm_create(&p, VMM_SIZE, 0);
    CU_OK(p.cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_is("a kernel that writes there", vmm_kernel(&p, write, base, 4096, 1),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    after_the_fault(&p, base, handle);
}

VMM_PAIR_CASE(kernel_where_nothing_is_mapped, .mark = TEST_BOTH, .faults = true)
{
    vmm_block b;
    CUmodule module = raw_cuda_load(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    vmm_open(p, VMM_SIZE, 0, &b);
    CU_OK(vmm_kernel(p, write, b.pointer, VMM_SIZE, 1));
    CU_OK(p->cu->MemUnmap(b.pointer, VMM_SIZE));
    answer_is("a kernel that writes there", vmm_kernel(p, write, b.pointer, 4096, 1),
              CUDA_ERROR_ILLEGAL_ADDRESS);
    test_pass();
}

/* Copies are checked before they run. */
VMM_PAIR_CASE(copy_without_access, .mark = TEST_BOTH, .faults = true)
{
    uint32_t words[4] = {0};
    const CUdeviceptr base = vmm_reserve(p, 2 * VMM_SIZE);
    CUmemGenericAllocationHandle handle = vmm_create(p, VMM_SIZE, 0);
    answer_is("cuMemcpyDtoH where nothing is mapped", p->cu->MemcpyDtoH(words, base, sizeof words),
              CUDA_ERROR_INVALID_VALUE);
    CU_OK(p->cu->CtxSynchronize());
    CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    answer_is("cuMemcpyDtoH without access", p->cu->MemcpyDtoH(words, base, sizeof words),
              CUDA_ERROR_INVALID_VALUE);
    CU_OK(p->cu->CtxSynchronize());
    answer_call("cuMemcpyHtoD without access", p->cu->MemcpyHtoD(base, words, sizeof words));
    answer_call("cuMemcpyDtoHAsync without access",
                p->cu->MemcpyDtoHAsync(words, base, sizeof words, p->stream));
    if (p->cu->CtxSynchronize() != CUDA_SUCCESS) test_pass();
    CU_OK(vmm_allow(p, base, VMM_SIZE));
    answer_call("cuMemcpyDtoH over the end of a mapping",
                p->cu->MemcpyDtoH(words, base + VMM_SIZE - 8, sizeof words));
    if (p->cu->CtxSynchronize() != CUDA_SUCCESS) test_pass();
    CU_OK(p->cu->MemcpyDtoH(words, base, sizeof words));
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
    CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    const CUresult set = p->cu->MemsetD32Async(base, 1, 16, p->stream);
    answer_call("cuMemsetD32Async without access", set);
    CU_IS(set, CUDA_ERROR_INVALID_VALUE);
    const CUresult then = p->cu->StreamSynchronize(p->stream);
    answer_call("then the stream", then);
    CU_OK(then);
    test_pass();
}

VMM_PAIR_CASE(read_only, .mark = TEST_BOTH,
              .reason = "whether a device's memory can be read-only is reported", .faults = true)
{
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CUfunction write = raw_cuda_function(p->cu, module, "pattern_write");
    vmm_block b = pair_vmm(p, VMM_SIZE, 0);
    CU_OK(vmm_kernel(p, write, b.pointer, VMM_SIZE, 8));
    const CUmemAccessDesc desc =
        access_of(CU_MEM_LOCATION_TYPE_DEVICE, p->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUresult result = p->cu->MemSetAccess(b.pointer, VMM_SIZE, &desc, 1);
    answer_call("cuMemSetAccess to read only", result);
    if (result == CUDA_SUCCESS) {
        REQUIRE_EQ(access_at(p, b.pointer), CU_MEM_ACCESS_FLAGS_PROT_READ);
        vmm_answer_words(p, "a copy from there", b.pointer, VMM_SIZE, 8, 0);
        answer_call("a kernel that writes there", vmm_kernel(p, write, b.pointer, 4096, 1));
        test_pass();
    }
}

/* R27. The host reads and writes it where it is mapped, as the device does. */
VMM_PAIR_CASE(host_memory, .mark = TEST_BOTH, .own = true)
{
    int supported = 0, node = 0;
    CUmemGenericAllocationHandle handle = 0;
    /* HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, by number: cuda.h has it from 12.9 on. */
    CUresult result = p->cu->DeviceGetAttribute(&supported, (CUdevice_attribute)141, p->device);
    ANSWER("supported", "%s, %d", raw_cuda_result_name(result), supported);
    if (result != CUDA_SUCCESS || !supported) SKIP("no VMM memory of the host's in this driver");
    CU_OK(p->cu->DeviceGetAttribute(&node, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, p->device));
    CUmemAllocationProp prop = vmm_prop(p, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    prop.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
    prop.location.id = node < 0 ? 0 : node;
    size_t minimum = 0, recommended = 0;
    CU_OK(p->cu->MemGetAllocationGranularity(&minimum, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    CU_OK(p->cu->MemGetAllocationGranularity(&recommended, &prop,
                                             CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    ANSWER("granularity", "minimum %zu, recommended %zu", minimum, recommended);
    const size_t size = (VMM_SIZE + minimum - 1) / minimum * minimum;
    CU_OK(p->cu->MemCreate(&handle, size, &prop, 0));
    const CUdeviceptr base = pair_range(p, size);
    CU_OK(p->cu->MemMap(base, size, 0, handle, 0));
    CUmemAccessDesc both[] = {
        access_of(CU_MEM_LOCATION_TYPE_DEVICE, p->device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
        access_of(CU_MEM_LOCATION_TYPE_HOST_NUMA, prop.location.id,
                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE)};
    CU_OK(p->cu->MemSetAccess(base, size, both, 2));
    CUmodule module = raw_cuda_module(p->cu, "pattern");
    CU_OK(vmm_kernel(p, raw_cuda_function(p->cu, module, "pattern_write"), base, VMM_SIZE, 90));
    uint32_t *expected = pattern_words(VMM_SIZE, 90), *words = (uint32_t *)(uintptr_t)base;
    size_t wrong = 0;
    for (size_t i = 0; i < VMM_SIZE / 4; i++)
        wrong += words[i] != expected[i];
    ANSWER("the host reads a kernel's words", "%zu of %zu words wrong", wrong, VMM_SIZE / 4);
    REQUIRE_EQ(wrong, 0);
    for (size_t i = 0; i < VMM_SIZE / 4; i++)
        words[i] += 7;
    vmm_answer_words(p, "the device reads the host's words", base, VMM_SIZE, 90, 7);
    int fd = -1;
    result =
        p->cu->MemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    answer_call("cuMemExportToShareableHandle", result);
    if (result == CUDA_SUCCESS) {
        CUmemGenericAllocationHandle again = 0;
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
    CUresult result = p->cu->PointerGetAttribute(&value, which, pointer);
    ANSWER(answer_key("%s, %s", where, name), "%s, %s0x%llx", raw_cuda_result_name(result),
           base != 0 ? "the reservation + " : "", (unsigned long long)(value - base));
}

/* Two pointers to one allocation. */
static void same_id(const pair *p, CUdeviceptr a, CUdeviceptr b, CUpointer_attribute which,
                    const char *name)
{
    uint64_t first = 0, second = 0;
    const CUresult result = p->cu->PointerGetAttribute(&first, which, a),
                   again = p->cu->PointerGetAttribute(&second, which, b);
    MEASURED("vmm_pointer_attribute", "%s: 0x%llx, mapped again 0x%llx", name,
             (unsigned long long)first, (unsigned long long)second);
    ANSWER(answer_key("mapped twice, %s", name), "%s, %s, %s", raw_cuda_result_name(result),
           raw_cuda_result_name(again), first == second ? "the same" : "not the same");
}

VMM_PAIR_CASE(pointer_attributes, .mark = TEST_BOTH, .reason = "of NVIDIA's driver reported",
              .own = true)
{
    if (p->cu->PointerGetAttribute == NULL) SKIP("no pointer attributes");
    const CUdeviceptr base = pair_range(p, 8 * VMM_SIZE), at = base + 2 * VMM_SIZE, in = at + 100;
    CUmemGenericAllocationHandle handle =
        pair_handle(p, VMM_SIZE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    attribute(p, base, "reserved", CU_POINTER_ATTRIBUTE_MAPPED, "MAPPED", 0);
    attribute(p, base, "reserved", CU_POINTER_ATTRIBUTE_RANGE_SIZE, "RANGE_SIZE", 0);
    attribute(p, base, "reserved", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "MEMORY_TYPE", 0);
    pair_map(p, at, VMM_SIZE, handle);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_MEMORY_TYPE, "MEMORY_TYPE", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, "DEVICE_ORDINAL", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_MAPPED, "MAPPED", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_IS_MANAGED, "IS_MANAGED", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
              "IS_LEGACY_CUDA_IPC_CAPABLE", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, "RANGE_START_ADDR", base);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_RANGE_SIZE, "RANGE_SIZE", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, "MAPPING_BASE_ADDR", base);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_MAPPING_SIZE, "MAPPING_SIZE", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, "ALLOWED_HANDLE_TYPES",
              0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "ACCESS_FLAGS", 0);
    attribute(p, in, "mapped", CU_POINTER_ATTRIBUTE_CONTEXT, "CONTEXT", 0);
    CU_OK(p->cu->MemMap(base, VMM_SIZE, 0, handle, 0));
    same_id(p, in, base, CU_POINTER_ATTRIBUTE_BUFFER_ID, "BUFFER_ID");
    same_id(p, in, base, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, "MEMORY_BLOCK_ID");
    attribute(p, base, "without access", CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, "ACCESS_FLAGS", 0);
    CU_OK(p->cu->MemUnmap(base, VMM_SIZE));
}
