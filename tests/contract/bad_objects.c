/* SPDX-License-Identifier: MIT */
/* Contract rows: bad arguments to calls about arrays, surfaces, textures, imports, modules and
 * launches. */
#define TEST_GROUP "bad."
#include "bad_arguments.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

static CUDA_ARRAY3D_DESCRIPTOR good_desc(unsigned flags)
{
    return (CUDA_ARRAY3D_DESCRIPTOR){.Width = 64,
                                     .Height = 64,
                                     .Format = CU_AD_FORMAT_UNSIGNED_INT8,
                                     .NumChannels = 4,
                                     .Flags = flags};
}

/* Arrays -------------------------------------------------------------------------------------- */

static void arrays_made(const bad *b)
{
    enum { U8 = CU_AD_FORMAT_UNSIGNED_INT8, BC1 = CU_AD_FORMAT_BC1_UNORM };
    static const struct {
        const char *name;
        int format;
        unsigned channels, flags;
        size_t width, height, depth;
    } rows[] = {
        {"cuArray3DCreate: width 0", U8, 4, 0, 0, 64, 0},
        {"cuArray3DCreate: 3 channels", U8, 3, 0, 64, 64, 0},
        {"cuArray3DCreate: 0 channels", U8, 0, 0, 64, 64, 0},
        {"cuArray3DCreate: format 0", 0, 4, 0, 64, 64, 0},
        {"cuArray3DCreate: height 0, depth 4", U8, 4, 0, 64, 0, 4},
        {"cuArray3DCreate: flags 0x8000", U8, 4, 0x8000, 64, 64, 0},
        {"cuArray3DCreate: LAYERED, depth 0", U8, 4, CUDA_ARRAY3D_LAYERED, 64, 64, 0},
        {"cuArray3DCreate: CUBEMAP, depth 5", U8, 4, CUDA_ARRAY3D_CUBEMAP, 64, 64, 5},
        {"cuArray3DCreate: CUBEMAP, 64 x 32", U8, 4, CUDA_ARRAY3D_CUBEMAP, 64, 32, 6},
        {"cuArray3DCreate: cubes of layers, depth 8", U8, 4,
         CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED, 64, 64, 8},
        {"cuArray3DCreate: width 1 << 20", U8, 4, 0, 1 << 20, 64, 0},
        {"cuArray3DCreate: TEXTURE_GATHER, 1D", U8, 4, CUDA_ARRAY3D_TEXTURE_GATHER, 64, 0, 0},
        {"cuArray3DCreate: DEPTH_TEXTURE, 4 channels", U8, 4, CUDA_ARRAY3D_DEPTH_TEXTURE, 64, 64,
         0},
        {"cuArray3DCreate: NV12, 3 channels", CU_AD_FORMAT_NV12, 3, 0, 64, 64, 0},
        {"cuArray3DCreate: BC1, 1D", BC1, 4, 0, 64, 0, 0},
        {"cuArray3DCreate: BC1, SURFACE_LDST", BC1, 4, CUDA_ARRAY3D_SURFACE_LDST, 64, 64, 0},
    };
    const CUDA_ARRAY3D_DESCRIPTOR good = good_desc(0);
    CUarray array;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const CUDA_ARRAY3D_DESCRIPTOR desc = {.Width = rows[i].width,
                                              .Height = rows[i].height,
                                              .Depth = rows[i].depth,
                                              .Format = (CUarray_format)rows[i].format,
                                              .NumChannels = rows[i].channels,
                                              .Flags = rows[i].flags};
        CUresult result = b->cu->Array3DCreate(&array, &desc);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->ArrayDestroy(array));
    }
    CALL_ROW(b->cu, Array3DCreate, "NULL", NULL, &good);
    CALL_ROW(b->cu, Array3DCreate, "NULL descriptor", &array, NULL);
    CALL_ROW(b, ArrayCreate, "NULL descriptor", &array, NULL);
}

static void chains_made(const bad *b)
{
    static const struct {
        const char *name;
        unsigned levels;
    } rows[] = {{"cuMipmappedArrayCreate: 0 levels", 0}, {"cuMipmappedArrayCreate: 99 levels", 99}};
    CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    desc.NumChannels = 1;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CUmipmappedArray made;
        CUresult result = b->cu->MipmappedArrayCreate(&made, &desc, rows[i].levels);
        answer_call(rows[i].name, result);
        if (result == CUDA_SUCCESS) CU_OK(b->cu->MipmappedArrayDestroy(made));
    }
}

BAD_CASE(arrays, .mark = TEST_BOTH)
{
    CUarray other;
    CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    CUDA_ARRAY_DESCRIPTOR flat;
    CUDA_ARRAY_SPARSE_PROPERTIES sparse;
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    CUmipmappedArray mipmap = raw_cuda_mipmap(cu, &desc, 4);
    arrays_made(b);
    chains_made(b);
    CALL_ROW(cu, ArrayDestroy, "NULL", NULL);
    CALL_ROW(cu, Array3DGetDescriptor, "NULL", NULL, array);
    CALL_ROW(cu, Array3DGetDescriptor, "NULL array", &desc, NULL);
    CALL_ROW(b, ArrayGetDescriptor, "NULL array", &flat, NULL);
    CALL_ROW(cu, ArrayGetPlane, "an array of one plane", &other, array, 0);
    CALL_ROW(b, ArrayGetSparseProperties, "not sparse", &sparse, array);
    CALL_ROW(b, MipmappedArrayGetSparseProperties, "not sparse", &sparse, mipmap);
    CALL_ROW(cu, MipmappedArrayGetLevel, "level 4 of 4", &other, mipmap, 4);
    CALL_ROW(cu, MipmappedArrayGetLevel, "NULL", NULL, mipmap, 0);
    CALL_ROW(cu, MipmappedArrayGetLevel, "NULL array", &other, NULL, 0);
    CALL_ROW(cu, MipmappedArrayDestroy, "NULL", NULL);
}

/* Surfaces and textures ----------------------------------------------------------------------- */

static CUDA_RESOURCE_DESC of_array(CUarray array)
{
    CUDA_RESOURCE_DESC resource;
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
}

static void surface_row(const bad *b, const char *name, const CUDA_RESOURCE_DESC *resource)
{
    CUsurfObject surface;
    CUresult result = b->cu->SurfObjectCreate(&surface, resource);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->SurfObjectDestroy(surface));
}

BAD_CASE(surfaces, .mark = TEST_BOTH)
{
    CUsurfObject surface;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(CUDA_ARRAY3D_SURFACE_LDST),
                                  without = good_desc(0);
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    CUarray plain = raw_cuda_array(cu, &without);
    CUmipmappedArray mipmap = raw_cuda_mipmap(cu, &desc, 4);
    const CUDA_RESOURCE_DESC good = of_array(array);
    BAD_CRASHES(b, "cuSurfObjectCreate: NULL", cu->SurfObjectCreate(NULL, &good));
    surface_row(b, "cuSurfObjectCreate: NULL description", NULL);
    CUDA_RESOURCE_DESC resource = of_array(NULL);
    surface_row(b, "cuSurfObjectCreate: a NULL array", &resource);
    resource = of_array(plain);
    surface_row(b, "cuSurfObjectCreate: an array without SURFACE_LDST", &resource);
    resource = good;
    resource.flags = 1;
    surface_row(b, "cuSurfObjectCreate: flags 1", &resource);
    resource = good;
    resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    resource.res.mipmap.hMipmappedArray = mipmap;
    surface_row(b, "cuSurfObjectCreate: a mipmapped array", &resource);
    CALL_ROW(cu, SurfObjectDestroy, "0", 0);
    CU_OK(cu->SurfObjectCreate(&surface, &good));
    CALL_ROW(cu, SurfObjectGetResourceDesc, "NULL", NULL, surface);
    CU_OK(cu->SurfObjectDestroy(surface));
}

static void texture_row(const bad *b, const char *name, const CUDA_RESOURCE_DESC *resource,
                        const CUDA_TEXTURE_DESC *texture, const CUDA_RESOURCE_VIEW_DESC *view)
{
    CUtexObject made;
    CUresult result = b->cu->TexObjectCreate(&made, resource, texture, view);
    answer_call(name, result);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->TexObjectDestroy(made));
}

static void textures_of_memory(const bad *b, const CUDA_TEXTURE_DESC *texture)
{
    CUDA_RESOURCE_DESC resource;
    CUDA_RESOURCE_VIEW_DESC view;
    memset(&view, 0, sizeof view);
    view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
    view.width = 64;
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear.devPtr = b->memory;
    resource.res.linear.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.linear.numChannels = 4;
    resource.res.linear.sizeInBytes = 256;
    texture_row(b, "cuTexObjectCreate: linear memory with a view", &resource, texture, &view);
    resource.res.linear.devPtr = b->memory + 4;
    texture_row(b, "cuTexObjectCreate: linear memory that is not aligned", &resource, texture,
                NULL);
    memset(&resource, 0, sizeof resource);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D.devPtr = b->memory;
    resource.res.pitch2D.format = CU_AD_FORMAT_UNSIGNED_INT8;
    resource.res.pitch2D.numChannels = 1;
    resource.res.pitch2D.width = 64;
    resource.res.pitch2D.height = 4;
    resource.res.pitch2D.pitchInBytes = 100;
    texture_row(b, "cuTexObjectCreate: rows of memory with a pitch of 100", &resource, texture,
                NULL);
}

BAD_CASE(textures, .mark = TEST_BOTH)
{
    CUtexObject made;
    CUDA_RESOURCE_VIEW_DESC view;
    const CUDA_ARRAY3D_DESCRIPTOR desc = good_desc(0);
    const raw_cuda *cu = b->cu;
    CUarray array = raw_cuda_array(cu, &desc);
    const CUDA_RESOURCE_DESC good = of_array(array), none = of_array(NULL);
    CUDA_TEXTURE_DESC plain, texture;
    memset(&plain, 0, sizeof plain);
    for (int i = 0; i < 3; i++)
        plain.addressMode[i] = CU_TR_ADDRESS_MODE_CLAMP;
    texture_row(b, "cuTexObjectCreate: NULL texture description", &good, NULL, NULL);
    texture_row(b, "cuTexObjectCreate: NULL resource", NULL, &plain, NULL);
    texture_row(b, "cuTexObjectCreate: a NULL array", &none, &plain, NULL);
    texture = plain;
    texture.addressMode[0] = (CUaddress_mode)9;
    texture_row(b, "cuTexObjectCreate: address mode 9", &good, &texture, NULL);
    texture = plain;
    texture.maxAnisotropy = 99;
    texture_row(b, "cuTexObjectCreate: maxAnisotropy 99", &good, &texture, NULL);
    texture = plain;
    texture.flags = 0x800;
    texture_row(b, "cuTexObjectCreate: flags 0x800", &good, &texture, NULL);
    textures_of_memory(b, &plain);
    CALL_ROW(cu, TexObjectDestroy, "0", 0);
    CU_OK(cu->TexObjectCreate(&made, &good, &plain, NULL));
    CALL_ROW(b, TexObjectGetResourceViewDesc, "no view", &view, made);
    CU_OK(cu->TexObjectDestroy(made));
}

/* Imports ------------------------------------------------------------------------------------- */

/* Of /dev/null, or of no fd; what became of it. */
static void memory_row(const bad *b, const char *name, CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc,
                       bool null_device)
{
    CUexternalMemory memory;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    REQUIRE(null >= 0);
    const int given = null_device ? fcntl(null, F_DUPFD_CLOEXEC, 0) : BAD_NO_FD;
    desc.handle.fd = given;
    CUresult result = b->cu->ImportExternalMemory(&memory, &desc);
    const bool open_still = null_device && fd_open(given) && same_file(given, null);
    if (null_device)
        bad_row_with(name, result, "fd %s", open_still ? "open" : "closed");
    else
        answer_call(name, result);
    if (open_still) close(given);
    close(null);
    if (result == CUDA_SUCCESS) CU_OK(b->cu->DestroyExternalMemory(memory));
}

static void memory_imports(const bad *b)
{
    static const struct {
        const char *name;
        int type;
        unsigned flags;
        bool null_device;
    } rows[] = {
        {"cuImportExternalMemory: fd -1", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0, false},
        {"cuImportExternalMemory: type 0", 0, 0, false},
        {"cuImportExternalMemory: type 99", 99, 0, false},
        {"cuImportExternalMemory: a D3D12 heap on Linux", CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP,
         0, false},
        {"cuImportExternalMemory: a Win32 handle on Linux",
         CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32, 0, false},
        {"cuImportExternalMemory: flags 0x80", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0x80,
         true},
        {"cuImportExternalMemory: /dev/null", CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, 0, true}};
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC desc;
    CUexternalMemory memory;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&desc, 0, sizeof desc);
        desc.type = (CUexternalMemoryHandleType)rows[i].type;
        desc.size = 4096;
        desc.flags = rows[i].flags;
        memory_row(b, rows[i].name, desc, rows[i].null_device);
    }
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    desc.size = 4096;
    desc.handle.fd = BAD_NO_FD;
    CALL_ROW(b->cu, ImportExternalMemory, "NULL", NULL, &desc);
    CALL_ROW(b->cu, ImportExternalMemory, "NULL description", &memory, NULL);
    desc.reserved[15] = 1;
    desc.handle.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int given = desc.handle.fd, kept = fcntl(given, F_DUPFD_CLOEXEC, 0);
    CALL_ROW(b->cu, ImportExternalMemory, "a reserved word", &memory, &desc);
    if (fd_open(given) && same_file(given, kept)) close(given);
    close(kept);
}

static void mapped_imports(const bad *b)
{
    const CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {.size = 4096};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image;
    CUdeviceptr pointer;
    CUmipmappedArray mipmap;
    memset(&image, 0, sizeof image);
    image.arrayDesc = good_desc(0);
    image.numLevels = 1;
    CALL_ROW(b->cu, ExternalMemoryGetMappedBuffer, "NULL memory", &pointer, NULL, &buffer);
    CALL_ROW(b->cu, ExternalMemoryGetMappedMipmappedArray, "NULL memory", &mipmap, NULL, &image);
    CALL_ROW(b->cu, DestroyExternalMemory, "NULL", NULL);
}

static void semaphore_imports(const bad *b)
{
    enum {
        BINARY = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD,
        TIMELINE = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD
    };
    static const struct {
        const char *name;
        int type;
        unsigned flags, reserved;
    } rows[] = {{"cuImportExternalSemaphore: a timeline, fd -1", TIMELINE, 0, 0},
                {"cuImportExternalSemaphore: a binary one, fd -1", BINARY, 0, 0},
                {"cuImportExternalSemaphore: type 0", 0, 0, 0},
                {"cuImportExternalSemaphore: type 99", 99, 0, 0},
                {"cuImportExternalSemaphore: a D3D12 fence on Linux",
                 CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_D3D12_FENCE, 0, 0},
                {"cuImportExternalSemaphore: flags 1", TIMELINE, 1, 0},
                {"cuImportExternalSemaphore: a reserved word", TIMELINE, 0, 1}};
    CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
    CUexternalSemaphore semaphore = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        memset(&desc, 0, sizeof desc);
        desc.type = (CUexternalSemaphoreHandleType)rows[i].type;
        desc.handle.fd = BAD_NO_FD;
        desc.flags = rows[i].flags;
        desc.reserved[15] = rows[i].reserved;
        answer_call(rows[i].name, b->cu->ImportExternalSemaphore(&semaphore, &desc));
    }
    memset(&desc, 0, sizeof desc);
    desc.type = CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD;
    desc.handle.fd = BAD_NO_FD;
    CALL_ROW(b->cu, ImportExternalSemaphore, "NULL", NULL, &desc);
    CALL_ROW(b->cu, ImportExternalSemaphore, "NULL description", &semaphore, NULL);
    CALL_ROW(b->cu, DestroyExternalSemaphore, "NULL", NULL);
}

/* Files that are no semaphores, as a peer may send them: what a driver says, and what becomes of
 * the number. One that takes such a file must give it up again. */
BAD_CASE(rubbish_semaphores, .mark = TEST_BOTH, .faults = true)
{
    enum { KINDS = 5 };
    static const struct {
        const char *name;
        CUexternalSemaphoreHandleType type;
    } types[] = {{"timeline", CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD},
                 {"binary", CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD}};
    static const char *const names[KINDS] = {"dev_null", "pipe", "eventfd", "memfd", "program"};
    int ends[2];
    REQUIRE_EQ(pipe2(ends, O_CLOEXEC), 0);
    const int files[KINDS] = {open("/dev/null", O_RDWR | O_CLOEXEC), ends[0],
                              eventfd(0, EFD_CLOEXEC), memfd_create("rubbish", MFD_CLOEXEC),
                              open("/proc/self/exe", O_RDONLY | O_CLOEXEC)};
    REQUIRE(files[3] >= 0 && ftruncate(files[3], 100) == 0);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        for (size_t k = 0; k < KINDS; k++) {
            CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC desc;
            CUexternalSemaphore semaphore = NULL;
            REQUIRE(files[k] >= 0);
            const int given = fcntl(files[k], F_DUPFD_CLOEXEC, 0);
            printf("%s as a %s\n", names[k], types[i].name);
            fflush(stdout); /* in case of a crash */
            memset(&desc, 0, sizeof desc);
            desc.type = types[i].type;
            desc.handle.fd = given;
            const CUresult result = b->cu->ImportExternalSemaphore(&semaphore, &desc);
            const bool open_still = fd_open(given) && same_file(given, files[k]);
            bad_row_with(
                answer_key("cuImportExternalSemaphore: %s as a %s", names[k], types[i].name),
                result, "fd %s", open_still ? "open" : "closed");
            if (result == CUDA_SUCCESS) CU_OK(b->cu->DestroyExternalSemaphore(semaphore));
            if (result != CUDA_SUCCESS && open_still) close(given);
        }
    for (size_t k = 0; k < KINDS; k++)
        close(files[k]);
    close(ends[1]);
}

BAD_CASE(imports, .mark = TEST_BOTH)
{
    CUexternalSemaphore none = NULL;
    CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS signal;
    CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS wait;
    const raw_cuda *cu = b->cu;
    memory_imports(b);
    mapped_imports(b);
    semaphore_imports(b);
    memset(&signal, 0, sizeof signal);
    memset(&wait, 0, sizeof wait);
    CALL_ROW(cu, SignalExternalSemaphoresAsync, "NULL, 1", NULL, NULL, 1, b->stream);
    CALL_ROW(cu, SignalExternalSemaphoresAsync, "NULL, 0", NULL, NULL, 0, b->stream);
    BAD_CRASHES(b, "cuSignalExternalSemaphoresAsync: a NULL semaphore",
                cu->SignalExternalSemaphoresAsync(&none, &signal, 1, b->stream));
    CALL_ROW(cu, WaitExternalSemaphoresAsync, "a NULL semaphore", &none, &wait, 1, b->stream);
}

/* Modules and launches ------------------------------------------------------------------------ */

BAD_CASE(modules, .mark = TEST_BOTH)
{
    CUmodule module;
    CUfunction function;
    int number;
    const raw_cuda *cu = b->cu;
    CALL_ROW(cu, ModuleLoad, "NULL name", &module, NULL);
    CALL_ROW(cu, ModuleLoad, "NULL", NULL, "/nonexistent");
    CALL_ROW(cu, ModuleLoad, "no such file", &module, "/nonexistent");
    CALL_ROW(cu, ModuleLoad, "a text file", &module, "/etc/passwd");
    CALL_ROW(cu, ModuleLoad, "a directory", &module, "/tmp");
    CALL_ROW(cu, ModuleUnload, "NULL", NULL);
    CALL_ROW(cu, ModuleGetFunction, "NULL module", &function, NULL, "x");
    BAD_CRASHES(b, "cuModuleGetLoadingMode: NULL", b->ModuleGetLoadingMode(NULL));
    CALL_ROW(b, FuncGetAttribute, "NULL function", &number, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    CALL_ROW(cu, LaunchKernel, "NULL function", NULL, 1, 1, 1, 1, 1, 1, 0, b->stream, NULL, NULL);
    CALL_ROW(b, LaunchKernelEx, "NULL configuration", NULL, NULL, NULL, NULL);
}
