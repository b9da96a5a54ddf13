/* SPDX-License-Identifier: MIT */
/* VMM memory on Windows: its handles, its heaps in Direct3D 12, and vectors. */
#undef TEST_GROUP /* if culvert-selftest has harness.h first */
#define TEST_GROUP "vmm_"
#define D3D        12
#include "d3d.h"

#include <aclapi.h>
#include <culvert/d3d12_vmm.h>
/* after windows.h */
#include <winternl.h>

enum { MIB = 1 << 20, ODD = 70001, AT = 65536 };
static unsigned char put[ODD], got[ODD];

static const uint32_t nt = 1u << CULV_HANDLE_OPAQUE_WIN32;
static const uint32_t kmt = 1u << CULV_HANDLE_OPAQUE_WIN32_KMT;

static culv_vmm_allocation *allocate(const scene12 *s, uint64_t size, uint32_t handle_types)
{
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *made = NULL;
    desc.size = size;
    desc.handle_types = handle_types;
    desc.label = "particles";
    OK(culv_vmm_allocation_create(s->culvert, &desc, &made));
    return made;
}

static culv_vmm_range *map(const scene12 *s, culv_vmm_allocation *allocation)
{
    culv_vmm_range_desc desc = culv_vmm_range_desc_init();
    culv_vmm_range *range = NULL;
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    OK(culv_vmm_allocation_get_info(allocation, &info));
    desc.size = info.size;
    OK(culv_vmm_range_create(s->culvert, &desc, &range));
    OK(culv_vmm_map(range, 0, allocation, NULL, 0));
    return range;
}

static void unmap(culv_vmm_range **range)
{
    OK(culv_vmm_unmap(*range, 0, culv_vmm_range_size(*range), NULL));
    OK(culv_vmm_range_destroy(range));
}

static ID3D12Resource *place(const scene12 *s, ID3D12Heap *heap, uint64_t offset, uint64_t size)
{
    const D3D12_RESOURCE_DESC desc = scene12_buffer_desc(size);
    return scene12_place(s, heap, offset, &desc);
}

/* Direct3D reads what `put` has. */
static void d3d_has(scene12 *s, ID3D12Resource *buffer, uint64_t offset)
{
    memset(got, 0, ODD);
    scene12_read(s, buffer, offset, got, ODD);
    REQUIRE(memcmp(put, got, ODD) == 0);
}

/* CUDA writes and Direct3D reads, and the other way. */
static void both_ways(scene12 *s, CUdeviceptr pointer, ID3D12Resource *buffer, uint64_t offset,
                      unsigned seed)
{
    scene_pattern(put, ODD, seed);
    scene_cuda_write(s, pointer + offset, put, ODD);
    d3d_has(s, buffer, offset);
    scene_pattern(put, ODD, seed + 1);
    REQUIRE(scene12_write(s, buffer, offset, put, ODD));
    scene_cuda_has(s, pointer + offset, put, ODD);
}

static void close_scene(scene12 *s)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    soft.counts(&c);
    REQUIRE(c.physical_allocations == 0 && c.reservations == 0 && c.virtual_mappings == 0);
    scene12_close(s);
    REQUIRE(overlay_opened() == 0); /* once Direct3D's objects are gone */
}
#define VMM_CASE(...) TEST_ON(scene12, s, scene12_open(s), close_scene(s), __VA_ARGS__)

VMM_CASE(heaps)
{
    culv_vmm_allocation *allocation = allocate(s, 3 * MIB, nt);
    culv_vmm_range *range = map(s, allocation);
    ID3D12Heap *heap = NULL, *again = NULL;
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &heap));
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &again));
    culv_vmm_allocation_destroy(&allocation); /* the heaps and the mapping hold the memory */
    ID3D12Resource *first = place(s, heap, 0, ODD), *second = place(s, heap, 2 * AT, 2 * MIB);
    ID3D12Resource *alias = place(s, again, 2 * AT, 2 * MIB);
    const CUdeviceptr pointer = culv_vmm_range_pointer(range);
    both_ways(s, pointer, first, 0, 1);
    both_ways(s, pointer + 2 * AT, second, 12345, 3);
    d3d_has(s, alias, 12345);
    scene_pattern(put, ODD, 2); /* what the first case left there */
    d3d_has(s, first, 0);
    unmap(&range); /* Direct3D has it still */
    d3d_has(s, first, 0);
    REQUIRE(overlay_opened() == 2);
    ID3D12Resource_Release(first);
    ID3D12Resource_Release(second);
    ID3D12Resource_Release(alias);
    ID3D12Heap_Release(heap);
    ID3D12Heap_Release(again);
}

VMM_CASE(vectors)
{
    culv_vector_desc desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_part parts[4];
    size_t count = 0;
    desc.handle_types = nt;
    desc.label = "grid";
    OK(culv_vector_create(s->culvert, &desc, &vector));
    OK(culv_vector_grow(vector, ODD));
    OK(culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view));
    OK(culv_vector_view_get_parts(view, parts, 4, &count));
    REQUIRE(count == 1 && parts[0].offset == 0 && parts[0].size == culv_vector_committed(vector));
    ID3D12Resource *first = (ID3D12Resource *)(uintptr_t)parts[0].buffer;
    both_ways(s, culv_vector_pointer(vector), first, 1001, 20);
    const uint64_t before = culv_vector_view_generation(view);
    OK(culv_vector_grow(vector, 5 * MIB));
    OK(culv_vector_view_update(view));
    OK(culv_vector_view_get_parts(view, parts, 4, &count));
    REQUIRE(count >= 2 && (ID3D12Resource *)(uintptr_t)parts[0].buffer == first);
    REQUIRE(culv_vector_view_generation(view) != before &&
            culv_vector_view_generation(view) == culv_vector_generation(vector));
    for (size_t i = 0; i < count; i++)
        both_ways(s, culv_vector_pointer(vector) + parts[i].offset,
                  (ID3D12Resource *)(uintptr_t)parts[i].buffer, parts[i].size - ODD,
                  30 + 2 * (unsigned)i);
    /* The first chunk's end is where it was, at whatever address. */
    scene_pattern(put, ODD, 31);
    scene_cuda_has(s, culv_vector_pointer(vector) + parts[0].size - ODD, put, ODD);
    REQUIRE(overlay_opened() == count);
    OK(culv_vector_shrink(vector, ODD, s->stream));
    scene_synchronize(s);
    (void)culv_device_collect(s->culvert);
    OK(culv_vector_view_update(view));
    OK(culv_vector_view_get_parts(view, NULL, 0, &count));
    REQUIRE(count == 1);
    culv_vector_destroy(&vector, NULL);
    REFUSES(culv_vector_view_update(view), INVALID, VALUE);
    d3d_has(s, first, parts[0].size - ODD); /* the view holds the memory */
    culv_vector_view_destroy(&view);
    REQUIRE(view == NULL);
}

/* Handles ------------------------------------------------------------------------------------- */

/* The same bytes at two addresses, the second by an imported handle. */
static void import_works(scene12 *s, const culv_handle *handle, CUdeviceptr pointer, uint64_t size)
{
    culv_vmm_import_desc desc = culv_vmm_import_desc_init();
    culv_vmm_allocation *imported = NULL;
    culv_handle out;
    desc.handle = *handle;
    desc.size = size;
    OK(culv_vmm_import(s->culvert, &desc, &imported));
    culv_vmm_range *range = map(s, imported);
    scene_pattern(put, ODD, 50);
    scene_cuda_write(s, pointer, put, ODD);
    scene_cuda_has(s, culv_vmm_range_pointer(range), put, ODD);
    REFUSES(culv_vmm_export_dup(imported, CULV_HANDLE_OPAQUE_WIN32, &out), INVALID, NOT_EXPORTABLE);
    culv_vmm_allocation_destroy(&imported);
    unmap(&range);
}

VMM_CASE(handles)
{
    culv_vmm_allocation *allocation = allocate(s, 2 * MIB, nt | kmt);
    culv_vmm_range *range = map(s, allocation);
    culv_handle by_nt, by_kmt, again;
    DWORD flags;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &by_nt));
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32_KMT, &by_kmt));
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32_KMT, &again));
    REQUIRE(again.value.win32 == by_kmt.value.win32); /* one number, of which there is no copy */
    import_works(s, &by_nt, culv_vmm_range_pointer(range), 2 * MIB);
    import_works(s, &by_kmt, culv_vmm_range_pointer(range), 2 * MIB);
    REQUIRE(GetHandleInformation(by_nt.value.win32, &flags)); /* it was borrowed */

    /* As external memory, for arrays. */
    const culv_handle both[] = {by_nt, by_kmt};
    for (int i = 0; i < 2; i++) {
        culv_memory_desc desc = culv_memory_desc_init();
        culv_buffer_desc whole = culv_buffer_desc_init();
        culv_memory *memory = NULL;
        culv_buffer *buffer = NULL;
        desc.handle = both[i];
        desc.size = 2 * MIB;
        OK(culv_memory_import(s->culvert, &desc, &memory));
        whole.offset = 4096;
        whole.size = ODD;
        OK(culv_buffer_map(memory, &whole, &buffer));
        scene_pattern(put, ODD, 60 + (unsigned)i);
        scene_cuda_write(s, culv_buffer_pointer(buffer), put, ODD);
        scene_cuda_has(s, culv_vmm_range_pointer(range) + 4096, put, ODD);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
    }

    /* An NT handle holds the memory, a KMT handle does not. */
    culv_vmm_allocation_destroy(&allocation);
    unmap(&range);
    culv_vmm_import_desc desc = culv_vmm_import_desc_init();
    desc.handle = by_kmt;
    desc.size = 2 * MIB;
    REFUSES(culv_vmm_import(s->culvert, &desc, &allocation), DRIVER, HANDLE_REFUSED);
    desc.handle = by_nt;
    OK(culv_vmm_import(s->culvert, &desc, &allocation));
    culv_handle_close(&desc.handle);
    REQUIRE(!GetHandleInformation(by_nt.value.win32, &flags)); /* it was taken */
    range = map(s, allocation);
    scene_cuda_has(s, culv_vmm_range_pointer(range) + 4096, put, ODD);
    culv_vmm_allocation_destroy(&allocation);
    unmap(&range);
    culv_handle_close(&by_kmt);
}

/* Names are the system's: who lists none of them has closed every handle. */
VMM_CASE(names)
{
    static wchar_t path[128], name[] = L"Local\\culvert d3d12 vmm";
    DWORD session = 0;
    REQUIRE(ProcessIdToSessionId(GetCurrentProcessId(), &session));
    swprintf(path, 128, L"\\Sessions\\%lu\\BaseNamedObjects\\culvert d3d12 vmm", session);
    UNICODE_STRING text = {
        .Length = (USHORT)(2 * wcslen(path)), .MaximumLength = sizeof path, .Buffer = path};
    OBJECT_ATTRIBUTES attributes = {.Length = sizeof attributes, .ObjectName = &text};
    culv_vmm_allocation_desc desc = culv_vmm_allocation_desc_init();
    culv_vmm_allocation *allocation = NULL, *other = NULL;
    desc.size = ODD;
    desc.handle_types = nt;
    desc.object_attributes = &attributes;
    OK(culv_vmm_allocation_create(s->culvert, &desc, &allocation));
    REQUIRE(scene_name_lives(name));
    REQUIRE(culv_vmm_allocation_create(s->culvert, &desc, &other) != CULV_OK); /* it is taken */
    culv_vmm_range *range = map(s, allocation);
    ID3D12Heap *heap = NULL;
    OK(culv_d3d12_heap_from_vmm(s->d3d, allocation, &heap));
    culv_handle handle;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &handle));
    culv_vmm_allocation_destroy(&allocation);
    REQUIRE(scene_name_lives(name));
    unmap(&range);
    REQUIRE(scene_name_lives(name)); /* the handle */
    culv_handle_close(&handle);
    REQUIRE(!scene_name_lives(name)); /* the heap has the memory, and no handle */
    ID3D12Heap_Release(heap);
    attributes.Length = 4;
    REFUSES(culv_vmm_allocation_create(s->culvert, &desc, &allocation), DRIVER, DRIVER_REFUSED);
    desc.handle_types = kmt;
    attributes.Length = sizeof attributes;
    REFUSES(culv_vmm_allocation_create(s->culvert, &desc, &allocation), INVALID, VALUE);
}

/* Culvert's own attributes admit this user; a handle with fewer rights imports nothing. */
VMM_CASE(rights)
{
    culv_vmm_allocation *allocation = allocate(s, ODD, nt);
    culv_handle handle;
    ACL *list = NULL;
    SECURITY_DESCRIPTOR *descriptor = NULL;
    OK(culv_vmm_export_dup(allocation, CULV_HANDLE_OPAQUE_WIN32, &handle));
    REQUIRE(GetSecurityInfo(handle.value.win32, SE_KERNEL_OBJECT, DACL_SECURITY_INFORMATION, NULL,
                            NULL, &list, NULL, (void **)&descriptor) == ERROR_SUCCESS);
    REQUIRE(list != NULL && list->AceCount == 1);
    LocalFree(descriptor);
    HANDLE reader = NULL;
    REQUIRE(DuplicateHandle(GetCurrentProcess(), handle.value.win32, GetCurrentProcess(), &reader,
                            FILE_MAP_READ, FALSE, 0));
    culv_vmm_import_desc desc = culv_vmm_import_desc_init();
    culv_vmm_allocation *imported = NULL;
    desc.handle = culv_handle_opaque_win32(reader);
    desc.size = 2 * MIB;
    REFUSES(culv_vmm_import(s->culvert, &desc, &imported), DRIVER, HANDLE_REFUSED);
    REQUIRE(CloseHandle(reader)); /* an error leaves it */
    void *stranger = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, NULL);
    desc.handle = culv_handle_opaque_win32(stranger);
    REFUSES(culv_vmm_import(s->culvert, &desc, &imported), DRIVER, HANDLE_REFUSED);
    REQUIRE(CloseHandle(stranger));
    culv_handle_close(&handle);
    culv_vmm_allocation_destroy(&allocation);
}

/* Errors --------------------------------------------------------------------------------------- */

VMM_CASE(refusals)
{
    ID3D12Heap *heap = NULL;
    culv_vmm_allocation *plain = allocate(s, ODD, 0), *only_kmt = allocate(s, ODD, kmt),
                        *good = allocate(s, ODD, nt);
    REFUSES(culv_d3d12_heap_from_vmm(NULL, good, &heap), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_heap_from_vmm(s->d3d, NULL, &heap), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_heap_from_vmm(s->d3d, good, NULL), INVALID, NULL_ARGUMENT);
    REFUSES(culv_d3d12_heap_from_vmm(s->d3d, plain, &heap), INVALID, NOT_EXPORTABLE);
    REFUSES(culv_d3d12_heap_from_vmm(s->d3d, only_kmt, &heap), INVALID, NOT_EXPORTABLE);
    REQUIRE_SAYS("KMT");
    static const struct {
        overlay_lie lie;
        culv_result result;
        culv_reason reason;
        const char *says;
    } lies[] = {
        {OVERLAY_WRAPPER, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_REFUSED,
         "culv_d3d_buffer_create"},
        {OVERLAY_REMOVED, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST, "removed"},
        {OVERLAY_SMALL, CULV_ERROR_DRIVER, CULV_REASON_SIZE, "bytes"},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        overlay_tell(lies[i].lie);
        REFUSES_AS(culv_d3d12_heap_from_vmm(s->d3d, good, &heap), lies[i].result, lies[i].reason);
        REQUIRE_SAYS(lies[i].says);
        overlay_tell(OVERLAY_HONEST);
        REQUIRE(heap == NULL && overlay_opened() == 0);
    }
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    OK(culv_vector_create(s->culvert, NULL, &vector));
    REFUSES(culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view), INVALID, NOT_EXPORTABLE);
    REFUSES(culv_d3d12_vector_view_create(s->d3d, NULL, NULL, &view), INVALID, NULL_ARGUMENT);
    culv_vector_destroy(&vector, NULL);
    culv_vector_view_destroy(&view);
    culv_vmm_allocation_destroy(&plain);
    culv_vmm_allocation_destroy(&only_kmt);
    culv_vmm_allocation_destroy(&good);
}

/* The same work with each of its calls failing once, the driver's and Direct3D's. */
static culv_result work(void *user)
{
    const scene12 *s = user;
    culv_vector_desc desc = culv_vector_desc_init();
    culv_vector *vector = NULL;
    culv_vector_view *view = NULL;
    culv_handle handle = {.type = CULV_HANDLE_NONE};
    culv_vmm_allocation *imported = NULL;
    culv_vmm_import_desc in = culv_vmm_import_desc_init();
    culv_part chunk;
    size_t count = 0;
    desc.handle_types = nt | kmt;
    culv_result result = culv_vector_create(s->culvert, &desc, &vector);
    if (result == CULV_OK) result = culv_vector_grow(vector, ODD);
    if (result == CULV_OK) result = culv_d3d12_vector_view_create(s->d3d, vector, NULL, &view);
    if (result == CULV_OK) result = culv_vector_grow(vector, 3 * MIB);
    if (result == CULV_OK) result = culv_vector_view_update(view);
    if (result == CULV_OK) result = culv_vector_get_parts(vector, &chunk, 1, &count, NULL);
    for (int i = 0; i < 2 && result == CULV_OK; i++) {
        result = culv_vmm_export_dup(
            chunk.allocation, i == 0 ? CULV_HANDLE_OPAQUE_WIN32 : CULV_HANDLE_OPAQUE_WIN32_KMT,
            &handle);
        in.handle = handle;
        in.size = chunk.size;
        if (result == CULV_OK) result = culv_vmm_import(s->culvert, &in, &imported);
        culv_vmm_allocation_destroy(&imported);
        culv_handle_close(&handle);
    }
    culv_vector_view_destroy(&view);
    culv_vector_destroy(&vector, NULL);
    return result;
}

static void nothing_left(void *user)
{
    const scene12 *s = user;
    culv_soft_counts c = {.struct_size = sizeof c};
    (void)culv_device_collect(s->culvert);
    soft.counts(&c);
    REQUIRE(c.physical_allocations == 0 && c.reservations == 0 && c.virtual_mappings == 0);
    REQUIRE(c.fds == 0 && overlay_opened() == 0);
}

VMM_CASE(torture)
{
    const scene_tortured t = {.work = work,
                              .require_none = nothing_left,
                              .user = s,
                              .fail_at = overlay_fail_at,
                              .calls = overlay_calls,
                              .native = 2,
                              .least = 11};
    scene_torture(&t);
}
