/* SPDX-License-Identifier: MIT */
/* The table of the driver's functions. */
#define TEST_GROUP "cuda_api."
#include "library.h"

#include <culvert/cuda_api.h>

/* As cuda_api_12.c has them. */
extern const size_t cuda_api_places_12[5];

typedef void (*function)(void);

typedef struct entry {
    const char *name;
    int version;
    const char *kind;
} entry;

static const entry entries[] = {
#define ENTRY(name, version, kind) {"cu" #name, version, #kind},
    CULV_CUDA_API_LIST(ENTRY)
#undef ENTRY
};
enum { NUM_ENTRIES = sizeof entries / sizeof entries[0] };

static function member(const culv_cuda_api *api, size_t i)
{
    function f;
    memcpy(&f, (const char *)api + sizeof(culv_cuda_api) - (NUM_ENTRIES - i) * sizeof f, sizeof f);
    return f;
}

static function ask(const raw_cuda *cu, size_t i, cuuint64_t flags)
{
    void *address = NULL;
    function f = NULL;
    int version = entries[i].version;
    if (flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && version < 7000) version = 7000;
    CUdriverProcAddressQueryResult status;
    if (cu->GetProcAddress(entries[i].name, &address, version, flags, &status) != CUDA_SUCCESS)
        return NULL;
    memcpy(&f, &address, sizeof f);
    return f;
}

/* Each member is what the driver answers for its name and version. */
LIB_CASE(every_entry, .smoke = true)
{
    const culv_cuda_api *api = culv_device_cuda_api(w->device, 0);
    const culv_cuda_api *per_thread = culv_device_cuda_api(w->device, 1);
    REQUIRE(api != NULL && per_thread != NULL && api != per_thread);
    REQUIRE(culv_device_cuda_api(w->device, 0) == api);
    REQUIRE(CULV_CUDA(w->device) == api);
    REQUIRE_EQ(api->struct_size, sizeof *api);
    REQUIRE_EQ(per_thread->struct_size, sizeof *per_thread);
    unsigned there = 0, missing = 0;
    for (size_t i = 0; i < NUM_ENTRIES; i++) {
        function wanted = ask(w->cu, i, CU_GET_PROC_ADDRESS_LEGACY_STREAM);
        function thread = ask(w->cu, i, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
        if (member(api, i) != wanted || member(per_thread, i) != thread)
            test_fail(__FILE__, __LINE__, "%s %d is another function", entries[i].name,
                      entries[i].version);
        there += wanted != NULL;
        missing += wanted == NULL;
        for (size_t j = 0; j < i; j++)
            REQUIRE(entries[i].version != entries[j].version ||
                    strcmp(entries[i].name, entries[j].name) != 0);
        /* A CHECK of the form that the header's own cuda.h calls so. */
        int version = strstr(entries[i].kind, "CUDA_12") != NULL ? 12090 : CUDA_VERSION;
        lib_forget_error();
        REQUIRE_EQ(culv_check_cuda_api(w->device, entries[i].name, version),
                   wanted != NULL ? CULV_OK : CULV_ERROR_UNSUPPORTED);
        if (wanted == NULL) LIB_SAYS(entries[i].name);
    }
    printf("%u functions, and %u that this driver lacks\n", there, missing);
    REQUIRE(there > 200);
    /* By name, as a caller means them. */
    REQUIRE((function)api->cuGetErrorName == (function)w->cu->GetErrorName);
    REQUIRE((function)api->cuMemAlloc == (function)w->cu->MemAlloc);
    REQUIRE((function)api->cuLaunchKernel == (function)w->cu->LaunchKernel);
    REQUIRE((function)api->cuGraphLaunch == (function)w->cu->GraphLaunch);
    REQUIRE((function)api->cuGraphAddDependencies_v10000 == (function)w->cu->GraphAddDependencies);
    /* What later versions may add is NULL here. */
    const unsigned char *room = (const unsigned char *)api;
    for (size_t at = sizeof *api; at < CULV_CUDA_API_ROOM; at++)
        REQUIRE_EQ(room[at], 0);
}

/* The layout is the same for every cuda.h; only names and types differ. */
TEST(older_header)
{
    const size_t places[] = {sizeof(culv_cuda_api), offsetof(culv_cuda_api, cuMemAdvise_v8000),
                             offsetof(culv_cuda_api, cuMemAdvise),
                             offsetof(culv_cuda_api, cuMulticastCreate),
                             offsetof(culv_cuda_api, cuGraphicsUnmapResources)};
    for (int i = 0; i < 5; i++)
        REQUIRE_EQ(cuda_api_places_12[i], places[i]);
}

/* Memory is allocated, set, copied and freed by the table alone. */
LIB_CASE(bytes_come_back)
{
    const culv_cuda_api *cu = CULV_CUDA(w->device);
    CUcontext before = lib_enter(w);
    unsigned char back[64] = {0};
    CUdeviceptr p = 0;
    CU_OK(cu->cuMemAlloc(&p, sizeof back));
    CU_OK(cu->cuMemsetD8(p, 0x5a, sizeof back));
    CU_OK(cu->cuMemcpyDtoH(back, p, sizeof back));
    CU_OK(cu->cuMemFree(p));
    for (size_t i = 0; i < sizeof back; i++)
        REQUIRE_EQ(back[i], 0x5a);
    lib_leave(w, before);
}

LIB_CASE(misused)
{
    REQUIRE(culv_device_cuda_api(NULL, 0) == NULL && culv_device_cuda_api(NULL, 1) == NULL);
    const char *const strangers[] = {"",
                                     "cu",
                                     "cuMemAllo",
                                     "cuMemAllocX",
                                     "cuMemAlloc_v",
                                     "cuMemAlloc_v2_",
                                     "cuMemAlloc_v9000",
                                     "cuTexRefCreate"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        LIB_INVALID(culv_check_cuda_api(w->device, strangers[i], CUDA_VERSION), VALUE,
                    "culv_device_cuda_proc()");
    }
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc_v2));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemcpyHtoD_v2_ptds));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuGraphInstantiate));
    LIB_OK(CULV_CUDA_CHECK(w->device, cuGraphAddDependencies_v10000));
}

/* An older driver leaves later functions NULL, and the message names the function and both
 * versions. */
LIB_VULKAN_CASE(older_driver, .own = true)
{
    if (w->cu->SoftPlayVersion == NULL) SKIP("only the twin can be an older driver");
    w->cu->SoftPlayVersion(12000);
    lib_open_culvert(w);
    const culv_cuda_api *api = CULV_CUDA(w->device);
    unsigned missing = 0;
    for (size_t i = 0; i < NUM_ENTRIES; i++) {
        if (entries[i].version <= 12000) continue;
        REQUIRE(member(api, i) == NULL);
        missing++;
    }
    REQUIRE(missing > 20);
    REQUIRE(api->cuMemAlloc != NULL && api->cuMulticastCreate == NULL);
    LIB_ERROR(CULV_CUDA_CHECK(w->device, cuMulticastCreate), UNSUPPORTED, DRIVER_TOO_OLD,
              "cuMulticastCreate", "CUDA 12.0", "CUDA 12.1");
    /* The later form is missing, the earlier one is there. */
    LIB_OK(culv_check_cuda_api(w->device, "cuGraphAddDependencies", 12040));
    LIB_ERROR(culv_check_cuda_api(w->device, "cuGraphAddDependencies", 13000), UNSUPPORTED,
              DRIVER_TOO_OLD, "CUDA 12.3");
    LIB_OK(CULV_CUDA_CHECK(w->device, cuMemAlloc));
    w->cu->SoftPlayVersion(0);
    REQUIRE(CULV_CUDA(w->device)->cuMulticastCreate ==
            NULL); /* a device's driver does not change */
    lib_close_culvert(w);
    lib_open_culvert(w);
    REQUIRE(CULV_CUDA(w->device)->cuMulticastCreate != NULL);
    LIB_ERROR(CULV_CUDA_CHECK(w->device, cuGraphAddChildGraphNode), UNSUPPORTED, DRIVER_TOO_OLD,
              "software twin", "cuGraphAddChildGraphNode");
}
