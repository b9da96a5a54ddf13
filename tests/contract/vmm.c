/* SPDX-License-Identifier: MIT */
/* Contract rows: virtual memory management, where it works and what it refuses (bad arguments:
 * bad_arguments.c). */
#define TEST_GROUP "vmm."
#include "contract.h"

#include <stdatomic.h>
#include <unistd.h>

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
        CU_OK(p->cu->MemRelease(two));
    }
    test_pass();
}

/* Contract rows: access to mapped memory, and what is told of it. */
#undef TEST_GROUP
#define TEST_GROUP "vmm_access."

PAIR_CASE(read_only, .mark = TEST_BOTH, .faults = true)
{
    vmm_block b = pair_vmm(p, VMM_SIZE, 0);
    const CUmemAccessDesc desc = raw_cuda_access(p->device, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CU_OK(words_run(p, "pattern_write", b.pointer, VMM_SIZE, 8));
    answer_call("cuMemSetAccess to read only", p->cu->MemSetAccess(b.pointer, VMM_SIZE, &desc, 1));
    answer_words(p, "a copy from there", b.pointer, VMM_SIZE, 8, 0);
    answer_call("a kernel that writes there", words_run(p, "pattern_write", b.pointer, 4096, 1));
    test_pass();
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

#undef TEST_GROUP
#define TEST_GROUP "vmm_shared."

/* A dedicated import of the size that its buffer needs, where the allocation has more. */
PAIR_CASE(dedicated_buffer_of_less, .mark = TEST_TWIN_STRICTER,
          .reason = "the twin refuses each size that is not the allocation's; an H200 takes them")
{
    static const VkDeviceSize sizes[] = {819200, 1, 4097, 65536, 1 << 20, VMM_SIZE - 65536};
    CUmemGenericAllocationHandle handle = pair_handle(p, VMM_SIZE, POSIX_FD);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        raw_vk_buffer like = pair_vk_buffer(p, sizes[i], RAW_VK_EXPORT);
        const VkMemoryDedicatedAllocateInfo dedicated = {
            .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = like.buffer};
        VkDeviceMemory memory = VK_NULL_HANDLE;
        const int fd = vmm_export(p, handle);
        const VkResult r =
            vk_import(p, fd, like.allocation_size, like.memory_type, &dedicated, &memory);
        ANSWER(answer_key("%zu bytes", (size_t)sizes[i]), "VkResult %d, fd %s", (int)r,
               fd_open(fd) ? "open" : "closed");
        REQUIRE_EQ(r, p->cu->software ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_SUCCESS);
        if (r != VK_SUCCESS) close(fd);
        vkFreeMemory(p->vk.device, memory, NULL);
    }
}

/* Which sizes of Vulkan's memory map, and into how much: handles map whole or not at all. */
PAIR_CASE(vulkans_sizes, .mark = TEST_BOTH)
{
    enum { MIB = 1 << 20 };
    static const struct {
        const char *what;
        size_t size, mapped;
        unsigned flags;
    } rows[] = {
        {"4 MiB into 4", 4 * MIB, 4 * MIB, 0},
        {"4 MiB, dedicated, into 4", 4 * MIB, 4 * MIB, RAW_VK_DEDICATED},
        {"4 MiB into 2", 4 * MIB, 2 * MIB, 0},
        {"4 MiB into 6", 4 * MIB, 6 * MIB, 0},
        {"3 MiB into 4", 3 * MIB, 4 * MIB, 0},
        {"3 MiB, dedicated, into 4", 3 * MIB, 4 * MIB, RAW_VK_DEDICATED},
        {"3 MiB, dedicated, into 2", 3 * MIB, 2 * MIB, RAW_VK_DEDICATED},
        {"1 MiB into 2", 1 * MIB, 2 * MIB, 0},
        {"1 MiB, dedicated, into 2", 1 * MIB, 2 * MIB, RAW_VK_DEDICATED},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        raw_vk_buffer vk;
        CUmemGenericAllocationHandle handle = 0;
        raw_vk_buffer_create(&p->vk, rows[i].size, RAW_VK_EXPORT | rows[i].flags, &vk);
        const int fd = raw_vk_buffer_fd(&p->vk, &vk);
        CUresult result = vmm_import(p, fd, &handle);
        close(fd);
        if (result == CUDA_SUCCESS) {
            const CUdeviceptr pointer = vmm_reserve(p, 4 * VMM_SIZE);
            result = p->cu->MemMap(pointer, rows[i].mapped, 0, handle, 0);
            if (result == CUDA_SUCCESS) {
                CU_OK(vmm_allow(p, pointer, rows[i].mapped));
                raw_vk_fill(&p->vk, &vk, 0, rows[i].size, 0x51525354u, NULL);
                ANSWER(answer_key("%s: Vulkan's last word", rows[i].what), "%x",
                       cuda_word(p, pointer + rows[i].size - 4));
                CU_OK(p->cu->MemUnmap(pointer, rows[i].mapped));
            }
            CU_OK(p->cu->MemAddressFree(pointer, 4 * VMM_SIZE));
            CU_OK(p->cu->MemRelease(handle));
        }
        answer_call(rows[i].what, result);
        raw_vk_buffer_destroy(&p->vk, &vk);
    }
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
        out->size = (out->size + VMM_SIZE - 1) / VMM_SIZE * VMM_SIZE;
        out->handle = vmm_create(p, out->size, POSIX_FD);
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

/* Level 0 in every direction: whether each is right. */
static void image_directions(pair *p, const image_variant *v)
{
    const image_format *format = &image_formats[IMAGE_RGBA8];
    image_in_vmm image;
    image_open(p, v, &image);
    const VkExtent3D extent = raw_vk_image_extent(&image.vk, 0);
    const size_t row = extent.width * format->texel, size = row * extent.height;
    unsigned char *found = test_memory(size), *texels = image_pattern(format, extent, 1);
    const CUarray array = image_level(p, image.mipmap, 0);
    CU_OK(raw_cuda_write_array(p->cu, array, texels, row, extent.height));
    CU_OK(p->cu->CtxSynchronize());
    raw_vk_image_read(&p->vk, &image.vk, 0, found);
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
    raw_vk_image_write(&p->vk, &image.vk, 0, zeros);
    raw_vk_image_write(&p->vk, &image.vk, 0, texels);
    CU_OK(raw_cuda_read_array(p->cu, array, found, row, extent.height));
    const size_t to_cuda = bytes_wrong(found, texels, size);
    if (raw != 0) cuda_read(p, raw, vulkans, image.size);
    const size_t other_bytes = bytes_wrong(vulkans, cudas, image.size);
    raw_vk_image_read(&p->vk, &image.vk, 0, found);
    const size_t vulkans_own = bytes_wrong(found, texels, size);
    ANSWER(v->what, "CUDA to Vulkan %s, Vulkan to CUDA %s, Vulkan to Vulkan %s; the memory %s",
           to_vulkan == 0 ? "right" : "wrong", to_cuda == 0 ? "right" : "wrong",
           vulkans_own == 0 ? "right" : "wrong", other_bytes == 0 ? "is the same" : "differs");
    if (p->cu->software || v->vulkans) REQUIRE(to_vulkan == 0 && vulkans_own == 0 && to_cuda == 0);
    if (raw != 0) vmm_unmap(p, raw, image.size);
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
