/* SPDX-License-Identifier: MIT */
/* NT handles, names and KMT handles: duplicated, closed, imported by calls of the driver that note
 * what they are given, and exported by a Vulkan that makes them (fake_vulkan.c). Sections stand for
 * the objects: what is proved is whose handle is closed when, and what the drivers are told; not
 * that a real driver takes it. */
#include "handles.h"

#include "cuda/device.h"

static const wchar_t object_name[] = L"Local\\culvert test object";

/* Sections ------------------------------------------------------------------------------------- */

static const uint32_t mark = 0x43554c56; /* at the begin of those that stand for objects */

void *section_make(const wchar_t *name)
{
    HANDLE section = CreateFileMappingW(INVALID_HANDLE_VALUE, NULL, PAGE_READWRITE, 0, 4096, name);
    REQUIRE(section != NULL);
    uint32_t *word = MapViewOfFile(section, FILE_MAP_WRITE, 0, 0, sizeof *word);
    REQUIRE(word != NULL);
    *word = mark;
    UnmapViewOfFile(word);
    return section;
}

/* The section behind a handle or a name, opened anew; NULL if it is not the test's. */
static HANDLE open_section(HANDLE handle, const wchar_t *name)
{
    HANDLE opened = NULL;
    if (name != NULL)
        opened = OpenFileMappingW(FILE_MAP_READ, FALSE, name);
    else if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &opened, 0, FALSE,
                              DUPLICATE_SAME_ACCESS))
        return NULL;
    const uint32_t *word =
        opened != NULL ? MapViewOfFile(opened, FILE_MAP_READ, 0, 0, sizeof *word) : NULL;
    const bool right = word != NULL && *word == mark;
    if (word != NULL) UnmapViewOfFile((LPCVOID)word);
    if (right || opened == NULL) return opened;
    CloseHandle(opened);
    return NULL;
}

/* The driver's imports, as cuda.h says of NT handles: the caller keeps the handle, the import holds
 * a reference of its own. KMT handles hold none and are only noted. */

static struct {
    CUresult answer;               /* of the next imports */
    unsigned memories, semaphores; /* imported and not destroyed */
    /* Of the last import: the descriptor. */
    int type;
    unsigned flags;
    uint64_t size;
    void *handle;
    const wchar_t *name;
    bool found; /* handle or name led to the section that the test made */
} driver;

/* Handles of the driver's: pointers to these. */
typedef struct object {
    HANDLE section; /* NULL of a KMT handle */
    unsigned *count;
} object;

static CUresult import_object(bool kmt, HANDLE handle, const void *name, unsigned *count,
                              void **out)
{
    driver.handle = handle;
    driver.name = name;
    driver.found = false;
    if ((handle == NULL) == (name == NULL) || (kmt && name != NULL))
        return CUDA_ERROR_INVALID_VALUE;
    const HANDLE section = kmt ? NULL : open_section(handle, name);
    driver.found = section != NULL;
    if (!kmt && section == NULL) return CUDA_ERROR_INVALID_HANDLE;
    if (driver.answer != CUDA_SUCCESS) {
        if (section != NULL) CloseHandle(section);
        return driver.answer;
    }
    object *made = calloc(1, sizeof *made);
    REQUIRE(made != NULL);
    *made = (object){section, count};
    ++*count;
    *out = made;
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI import_memory(CUexternalMemory *out,
                                      const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *d)
{
    driver.type = (int)d->type;
    driver.flags = d->flags;
    driver.size = d->size;
    return import_object(d->type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                         d->handle.win32.handle, d->handle.win32.name, &driver.memories,
                         (void **)out);
}

static CUresult CUDAAPI import_semaphore(CUexternalSemaphore *out,
                                         const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *d)
{
    driver.type = (int)d->type;
    driver.flags = d->flags;
    return import_object(d->type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32_KMT,
                         d->handle.win32.handle, d->handle.win32.name, &driver.semaphores,
                         (void **)out);
}

static CUresult destroy(object *gone)
{
    --*gone->count;
    if (gone->section != NULL) CloseHandle(gone->section);
    free(gone);
    return CUDA_SUCCESS;
}

static CUresult CUDAAPI destroy_memory(CUexternalMemory memory)
{
    return destroy((object *)(void *)memory);
}

static CUresult CUDAAPI destroy_semaphore(CUexternalSemaphore semaphore)
{
    return destroy((object *)(void *)semaphore);
}

static CUresult CUDAAPI map_nothing(CUdeviceptr *out, CUexternalMemory memory,
                                    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *desc)
{
    (void)out, (void)memory, (void)desc;
    return CUDA_ERROR_NOT_SUPPORTED;
}

static culv_device *kept; /* the twin's, with these calls */

static void end_kept(void)
{
    culv_device_close(&kept);
    REQUIRE(driver.memories == 0 && driver.semaphores == 0);
}

culv_device *handles_device(void)
{
    static const test_fixture fixture = {.end = end_kept};
    if (kept != NULL) return kept;
    OK(culv_device_open_by_ordinal(0, NULL, &kept));
    culvi_cuda *cuda = (culvi_cuda *)(uintptr_t)kept->cuda;
    cuda->cuImportExternalMemory = import_memory;
    cuda->cuDestroyExternalMemory = destroy_memory;
    cuda->cuImportExternalSemaphore = import_semaphore;
    cuda->cuDestroyExternalSemaphore = destroy_semaphore;
    cuda->cuExternalMemoryGetMappedBuffer = map_nothing;
    test_keep(&fixture);
    return kept;
}

/* Handles -------------------------------------------------------------------------------------- */

TEST(duplicates)
{
    culv_handle nt = culv_handle_opaque_win32(section_make(object_name)), copies[2];
    for (int i = 0; i < 2; i++) {
        OK(culv_handle_dup(&nt, &copies[i]));
        REQUIRE(copies[i].type == CULV_HANDLE_OPAQUE_WIN32 &&
                copies[i].value.win32 != nt.value.win32);
        REQUIRE(scene_handle_is_open(copies[i].value.win32));
    }
    REQUIRE(copies[0].value.win32 != copies[1].value.win32);
    void *number = nt.value.win32;
    culv_handle_close(&nt);
    REQUIRE(nt.type == CULV_HANDLE_NONE && !scene_handle_is_open(number));
    culv_handle_close(&nt);
    REQUIRE(scene_name_lives(object_name));
    culv_handle_close(&copies[0]);
    REQUIRE(scene_name_lives(object_name));
    culv_handle_close(&copies[1]);
    REQUIRE(!scene_name_lives(object_name));
    culv_handle_close(NULL);

    culv_handle named = culv_handle_opaque_win32_named(object_name),
                out; /* owns nothing, though nobody has it */
    OK(culv_handle_dup(&named, &out));
    REQUIRE(out.name == object_name && out.value.win32 == NULL);
    culv_handle_close(&out);
    culv_handle kmt = culv_handle_opaque_win32_kmt((void *)(uintptr_t)0x40000006u);
    OK(culv_handle_dup(&kmt, &out));
    REQUIRE(out.value.win32 == kmt.value.win32);
    culv_handle_close(&out);
    REQUIRE(out.type == CULV_HANDLE_NONE);

    /* A KMT number that happens to be an open NT handle's stays open. */
    void *section = section_make(NULL);
    kmt = culv_handle_opaque_win32_kmt(section);
    culv_handle_close(&kmt);
    REQUIRE(scene_handle_is_open(section));
    /* Nor are other systems' bytes a handle. */
    static const culv_handle_type others[] = {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_DMA_BUF_FD,
                                              (culv_handle_type)99};
    for (int i = 0; i < 3; i++) {
        out = culv_handle_opaque_win32(section);
        out.type = others[i];
        culv_handle_close(&out);
        REQUIRE(out.type == CULV_HANDLE_NONE && scene_handle_is_open(section));
    }
    CloseHandle(section);
}

TEST(wrong_handles)
{
    HANDLE pipe, other_end;
    HANDLE section = section_make(NULL), closed = section_make(NULL);
    REQUIRE(CreatePipe(&pipe, &other_end, NULL, 0));
    CloseHandle(closed);
    const struct {
        culv_handle_type type;
        HANDLE handle;
        const wchar_t *name;
        culv_result result;
        culv_reason reason;
    } rows[] = {
        {CULV_HANDLE_OPAQUE_WIN32, NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT},
        {CULV_HANDLE_OPAQUE_WIN32, NULL, L"", CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_HANDLE_OPAQUE_WIN32, section, object_name, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_HANDLE_OPAQUE_WIN32_KMT, section, object_name, CULV_ERROR_INVALID, CULV_REASON_VALUE},
        {CULV_HANDLE_OPAQUE_WIN32, closed, NULL, CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD},
        {CULV_HANDLE_OPAQUE_WIN32, INVALID_HANDLE_VALUE, NULL, CULV_ERROR_INVALID,
         CULV_REASON_HANDLE_BAD},
        {CULV_HANDLE_OPAQUE_WIN32, pipe, NULL, CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND},
        {CULV_HANDLE_OPAQUE_FD, pipe, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE},
        {CULV_HANDLE_DMA_BUF_FD, pipe, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_handle out, h = culv_handle_win32(rows[i].type, rows[i].handle);
        h.name = rows[i].name;
        REFUSES_AS(culv_handle_dup(&h, &out), rows[i].result, rows[i].reason);
    }
    REQUIRE(CloseHandle(section) && CloseHandle(pipe) && CloseHandle(other_end));
}

/* Imports one object by each of its forms. What the driver saw was a duplicate; who has what after
 * it. */
static void import(culv_device *device, bool memory, culv_semaphore_type kind, int nt_type)
{
    for (int form = 0; form < 4; form++) { /* plain, dedicated, refused, by name */
        void *section = section_make(object_name);
        culv_handle handle = form < 3 ? culv_handle_opaque_win32(section)
                                      : culv_handle_opaque_win32_named(object_name);
        culv_memory *m = NULL;
        culv_semaphore *s = NULL;
        culv_memory_desc md = culv_memory_desc_init();
        culv_semaphore_desc sd = culv_semaphore_desc_init();
        md.handle = sd.handle = handle;
        md.size = 65536;
        md.dedicated = form == 1;
        sd.type = kind;
        driver.answer = form == 2 ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
        culv_result r =
            memory ? culv_memory_import(device, &md, &m) : culv_semaphore_import(device, &sd, &s);
        driver.answer = CUDA_SUCCESS;
        REQUIRE(r == (form == 2 ? CULV_ERROR_DRIVER : CULV_OK));
        REQUIRE(driver.type == nt_type && driver.found);
        REQUIRE(driver.flags == (memory && form == 1 ? 1u : 0u) &&
                (!memory || driver.size == 65536));
        if (form < 3) {
            REQUIRE(driver.handle != NULL && driver.handle != section && driver.name == NULL);
            REQUIRE(!scene_handle_is_open(driver.handle)); /* the duplicate is closed */
            REQUIRE(scene_handle_is_open(section));
        } else {
            REQUIRE(driver.handle == NULL && driver.name == object_name);
        }
        CloseHandle(section);
        REQUIRE(scene_name_lives(object_name) ==
                (form != 2)); /* the import has a reference of its own */
        culv_memory_destroy(&m);
        culv_semaphore_destroy(&s, NULL);
        REQUIRE(!scene_name_lives(object_name));
        REQUIRE(driver.memories == 0 && driver.semaphores == 0);
    }
}

TEST(imports)
{
    culv_device *device = handles_device();
    import(device, true, CULV_SEMAPHORE_NONE, 2); /* CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_BINARY,
           2); /* CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_TIMELINE, 10); /* ..._TIMELINE_SEMAPHORE_WIN32 */
}

TEST(kmt_imports)
{
    culv_device *device = handles_device();
    culv_memory *m = NULL;
    culv_semaphore *s = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_semaphore_desc sd = culv_semaphore_desc_init();
    void *number = (void *)(uintptr_t)0x40000006u;
    md.handle = sd.handle = culv_handle_opaque_win32_kmt(number);
    md.size = 65536;
    OK(culv_memory_import(device, &md, &m));
    culv_handle_close(&md.handle);
    REQUIRE(driver.type == 3 && driver.handle == number && driver.name == NULL);
    sd.type = CULV_SEMAPHORE_BINARY;
    OK(culv_semaphore_import(device, &sd, &s));
    REQUIRE(driver.type == 3 && driver.handle == number);
    culv_semaphore_destroy(&s, NULL);
    culv_memory_destroy(&m);
    sd.type = CULV_SEMAPHORE_TIMELINE;
    REFUSES(culv_semaphore_import(device, &sd, &s), INVALID, HANDLE_TYPE);
    REQUIRE(s == NULL && driver.memories == 0 && driver.semaphores == 0);
}

TEST(refused_before_the_driver)
{
    culv_device *device = handles_device();
    culv_memory *m = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_handle out;
    md.size = 65536;
    md.handle = culv_handle_opaque_fd(1);
    REFUSES(culv_memory_import(device, &md, &m), UNSUPPORTED, HANDLE_TYPE);
    md.handle = culv_handle_dma_buf_fd(1);
    REFUSES(culv_memory_import(device, &md, &m), UNSUPPORTED, HANDLE_TYPE);
    REFUSES(culv_dma_buf_export_dup(device, 4096, 4096, 0, &out), UNSUPPORTED, HANDLE_TYPE);
    void *section = section_make(NULL);
    md.handle = culv_handle_opaque_win32(section);
    md.exporter.bytes[0] = 1;
    REFUSES(culv_memory_import(device, &md, &m), INVALID, DEVICE_MISMATCH);
    REQUIRE(scene_handle_is_open(section) && m == NULL);
    CloseHandle(section);
    culv_device_caps caps = culv_device_caps_init();
    OK(culv_device_get_caps(device, &caps));
    const uint32_t opaque = 1u << CULV_HANDLE_OPAQUE_WIN32 | 1u << CULV_HANDLE_OPAQUE_WIN32_KMT;
    REQUIRE(caps.memory_handle_types ==
            (opaque | 1u << CULV_HANDLE_D3D12_HEAP | 1u << CULV_HANDLE_D3D12_RESOURCE |
             1u << CULV_HANDLE_D3D11_RESOURCE | 1u << CULV_HANDLE_D3D11_RESOURCE_KMT));
    REQUIRE(caps.semaphore_handle_types ==
            (opaque | 1u << CULV_HANDLE_D3D12_FENCE | 1u << CULV_HANDLE_D3D11_FENCE));
}
