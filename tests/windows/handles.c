/* SPDX-License-Identifier: MIT */
/* NT handles, names and KMT handles: duplicated, closed, imported by a CUDA driver that notes what
 * it is given, and exported by a Vulkan that makes them (fake_vulkan.c). Sections stand for the
 * objects: what is proved is whose handle is closed when, and what the drivers are told; not that a
 * real driver takes it. */
#include "check.h"
#include "fake_cuda.h"

#include <culvert/memory.h>
#include <culvert/semaphore.h>
#include <string.h>
#include <windows.h>

static const wchar_t object_name[] = L"Local\\culvert test object";
static fake_cuda *driver;

static void duplicates(void)
{
    culv_handle nt = culv_handle_opaque_win32(section_make(object_name)), copies[2];
    for (int i = 0; i < 2; i++) {
        OK(culv_handle_dup(&nt, &copies[i]));
        REQUIRE(copies[i].type == CULV_HANDLE_OPAQUE_WIN32 &&
                copies[i].value.win32 != nt.value.win32);
        REQUIRE(handle_is_open(copies[i].value.win32));
    }
    REQUIRE(copies[0].value.win32 != copies[1].value.win32);
    void *number = nt.value.win32;
    culv_handle_close(&nt);
    REQUIRE(nt.type == CULV_HANDLE_NONE && !handle_is_open(number));
    culv_handle_close(&nt);
    REQUIRE(section_lives(object_name));
    culv_handle_close(&copies[0]);
    REQUIRE(section_lives(object_name));
    culv_handle_close(&copies[1]);
    REQUIRE(!section_lives(object_name));
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
    REQUIRE(handle_is_open(section));
    /* Nor are other systems' bytes a handle. */
    static const culv_handle_type others[] = {CULV_HANDLE_OPAQUE_FD, CULV_HANDLE_DMA_BUF_FD,
                                              (culv_handle_type)99};
    for (int i = 0; i < 3; i++) {
        out = culv_handle_opaque_win32(section);
        out.type = others[i];
        culv_handle_close(&out);
        REQUIRE(out.type == CULV_HANDLE_NONE && handle_is_open(section));
    }
    CloseHandle(section);
}

static void wrong_handles(void)
{
    culv_handle out, h = culv_handle_opaque_win32(NULL);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    h = culv_handle_opaque_win32_kmt(NULL);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT);
    h = culv_handle_opaque_win32_named(L"");
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    void *section = section_make(NULL);
    h = culv_handle_opaque_win32(section);
    h.name = object_name;
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    h = culv_handle_opaque_win32_kmt(section);
    h.name = object_name;
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_VALUE);
    CloseHandle(section);
    h = culv_handle_opaque_win32(section);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD);
    h = culv_handle_opaque_win32(INVALID_HANDLE_VALUE);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_HANDLE_BAD);
    HANDLE ends[2];
    REQUIRE(CreatePipe(&ends[0], &ends[1], NULL, 0));
    h = culv_handle_opaque_win32(ends[0]);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_INVALID, CULV_REASON_HANDLE_KIND);
    CloseHandle(ends[0]);
    CloseHandle(ends[1]);
    h = culv_handle_opaque_fd(1);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE);
    h = culv_handle_dma_buf_fd(1);
    REFUSES(culv_handle_dup(&h, &out), CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE);
}

/* Imports one object by each of its forms. What the driver saw was a duplicate; who has what after
 * it. */
static void import(culv_device *device, bool memory, culv_semaphore_type kind, int nt_type)
{
    for (int form = 0; form < 4; form++) { /* borrowed, taken, refused, by name */
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
        bool take = form == 1;
        driver->answer = form == 2 ? 999 : 0;
        culv_result r =
            memory ? (take ? culv_memory_import_take : culv_memory_import_borrow)(device, &md, &m)
                   : (take ? culv_semaphore_import_take : culv_semaphore_import_borrow)(device, &sd,
                                                                                        &s);
        driver->answer = 0;
        REQUIRE(r == (form == 2 ? CULV_ERROR_DRIVER : CULV_OK));
        REQUIRE(driver->type == nt_type && driver->found);
        REQUIRE(driver->flags == (memory && take ? 1u : 0u) && (!memory || driver->size == 65536));
        if (form < 3) {
            REQUIRE(driver->handle != NULL && driver->handle != section && driver->name[0] == '\0');
            REQUIRE(!handle_is_open(driver->handle)); /* the duplicate is closed */
            REQUIRE(handle_is_open(section) == !take);
        } else {
            REQUIRE(driver->handle == NULL &&
                    strcmp(driver->name, "Local\\culvert test object") == 0);
        }
        if (!take) CloseHandle(section);
        REQUIRE(section_lives(object_name) ==
                (form != 2)); /* the import has a reference of its own */
        culv_memory_destroy(&m);
        culv_semaphore_destroy(&s);
        REQUIRE(!section_lives(object_name));
        REQUIRE(driver->memories == 0 && driver->semaphores == 0);
    }
}

static void imports(culv_device *device)
{
    import(device, true, CULV_SEMAPHORE_NONE, 2); /* CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_BINARY,
           2); /* CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_WIN32 */
    import(device, false, CULV_SEMAPHORE_TIMELINE, 10); /* ..._TIMELINE_SEMAPHORE_WIN32 */
}

static void kmt_imports(culv_device *device)
{
    culv_memory *m = NULL;
    culv_semaphore *s = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_semaphore_desc sd = culv_semaphore_desc_init();
    void *number = (void *)(uintptr_t)0x40000006u;
    md.handle = sd.handle = culv_handle_opaque_win32_kmt(number);
    md.size = 65536;
    OK(culv_memory_import_take(device, &md, &m));
    REQUIRE(driver->type == 3 && driver->handle == number && driver->name[0] == '\0');
    sd.type = CULV_SEMAPHORE_BINARY;
    OK(culv_semaphore_import_borrow(device, &sd, &s));
    REQUIRE(driver->type == 3 && driver->handle == number);
    culv_semaphore_destroy(&s);
    culv_memory_destroy(&m);
    sd.type = CULV_SEMAPHORE_TIMELINE;
    REFUSES(culv_semaphore_import_borrow(device, &sd, &s), CULV_ERROR_INVALID,
            CULV_REASON_HANDLE_TYPE);
    REQUIRE(s == NULL && driver->memories == 0 && driver->semaphores == 0);
}

static void refused_before_the_driver(culv_device *device)
{
    culv_memory *m = NULL;
    culv_memory_desc md = culv_memory_desc_init();
    culv_handle out;
    md.size = 65536;
    md.handle = culv_handle_opaque_fd(1);
    REFUSES(culv_memory_import_take(device, &md, &m), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_HANDLE_TYPE);
    md.handle = culv_handle_dma_buf_fd(1);
    REFUSES(culv_memory_import_take(device, &md, &m), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_HANDLE_TYPE);
    REFUSES(culv_dma_buf_export_dup(device, 4096, 4096, 0, &out), CULV_ERROR_UNSUPPORTED,
            CULV_REASON_HANDLE_TYPE);
    void *section = section_make(NULL);
    md.handle = culv_handle_opaque_win32(section);
    md.exporter.bytes[0] = 1;
    REFUSES(culv_memory_import_take(device, &md, &m), CULV_ERROR_INVALID,
            CULV_REASON_DEVICE_MISMATCH);
    REQUIRE(handle_is_open(section) && m == NULL);
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

int main(void)
{
    culv_device *device = NULL;
    setvbuf(stdout, NULL, _IONBF, 0);
    printf("== duplicates\n");
    duplicates();
    printf("== wrong handles\n");
    wrong_handles();
    culv_result r = culv_device_open_by_ordinal(0, NULL, &device);
    if (r != CULV_OK)
        check_fail(__FILE__, __LINE__, "the fake driver is not in the system directory");
    HMODULE module = GetModuleHandleA("nvcuda.dll");
    FARPROC get = module != NULL ? GetProcAddress(module, "culv_fake_cuda") : NULL;
    REQUIRE(get != NULL);
    driver = ((fake_cuda_get)(void (*)(void))get)();
    printf("== imports by NT handle and by name\n");
    imports(device);
    printf("== imports by KMT handle\n");
    kmt_imports(device);
    printf("== refused before the driver\n");
    refused_before_the_driver(device);
    vulkan_cases(device);
    culv_device_close(&device);
    REQUIRE(driver->memories == 0 && driver->semaphores == 0);
    printf("PASS handles (all of it)\n"); /* as the harness of the other suites says it */
    return 0;
}
