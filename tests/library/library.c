/* SPDX-License-Identifier: MIT */
/* Worlds, checks and small helpers of the library's suite. */
#include "library.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

/* Errors --------------------------------------------------------------------------------------- */

void lib_require_ok(const char *file, int line, const char *text, culv_result result)
{
    if (result == CULV_OK) return;
    test_fail(file, line, "%s is %s: %s", text, culv_result_name(result),
              culv_last_error_message());
}

static const char forgotten[] = "culv_vk_semaphore_import: vk is NULL";

void lib_forget_error(void)
{
    (void)culv_vk_semaphore_import(NULL, NULL, NULL);
    if (strcmp(culv_last_error_message(), forgotten) != 0)
        FAIL("the message that tells an old error is \"%s\"", culv_last_error_message());
}

culv_error lib_last_error(void)
{
    culv_error e = culv_error_init();
    culv_last_error(&e);
    return e;
}

void lib_require_error(const char *file, int line, const char *text, culv_result result,
                       culv_result expected, culv_reason reason, ...)
{
    const culv_error e = lib_last_error();
    if (result == CULV_OK) /* the thread's last error is an older one */
        test_fail(file, line, "%s is CULV_OK, not %s, %s", text, culv_result_name(expected),
                  culv_reason_name(reason));
    if (result != expected)
        test_fail(file, line, "%s is %s, not %s: %s", text, culv_result_name(result),
                  culv_result_name(expected), e.message);
    if (e.result != expected)
        test_fail(file, line, "%s: the last error's class is %s, not %s", text,
                  culv_result_name(e.result), culv_result_name(expected));
    if (e.reason != reason)
        test_fail(file, line, "%s: the reason is %s, not %s: %s", text, culv_reason_name(e.reason),
                  culv_reason_name(reason), e.message);
    if (strcmp(e.message, forgotten) == 0 && strstr(text, "culv_vk_semaphore_import") == NULL)
        test_fail(file, line, "%s failed without an error of its own", text);
    if (strlen(e.message) < 15 || strchr(e.message, '\n') != NULL)
        test_fail(file, line, "%s: the message is no paragraph: \"%s\"", text, e.message);
    if (strstr(e.message, "''") != NULL)
        test_fail(file, line, "%s: the message quotes nothing: \"%s\"", text, e.message);
    if ((e.native_api == CULV_NATIVE_NONE) != (e.native_call[0] == '\0'))
        test_fail(file, line, "%s: native_api %d and native_call \"%s\" contradict", text,
                  (int)e.native_api, e.native_call);
    va_list words;
    va_start(words, reason);
    for (const char *says = va_arg(words, const char *); says != NULL;
         says = va_arg(words, const char *))
        lib_require_says(file, line, says);
    va_end(words);
    /* Only for reading in the log: what users get to see. */
    printf("  %s: %s\n", culv_reason_name(e.reason), e.message);
}

void lib_require_says(const char *file, int line, const char *text)
{
    if (strstr(culv_last_error_message(), text) == NULL)
        test_fail(file, line, "the message does not say \"%s\": %s", text,
                  culv_last_error_message());
}

/* Worlds --------------------------------------------------------------------------------------- */

const raw_cuda *lib_driver(void)
{
    char path[TEST_PATH_MAX];
    /* A program that holds the static library looks for the twin beside itself. */
    REQUIRE(setenv("CULVERT_SOFT_PATH", test_path(path, "lib"), 1) == 0);
    const raw_cuda *cu = raw_cuda_open();
    if (test_driver() == TEST_DRIVER_NVIDIA)
        REQUIRE(unsetenv("CULVERT_SOFT") == 0);
    else if (cu->software)
        REQUIRE(setenv("CULVERT_SOFT", "1", 1) == 0);
    return cu;
}

bool lib_with_kernels;
bool lib_with_external_queues;

culv_vk_device_desc lib_vk_desc(const lib_world *w)
{
    culv_vk_device_desc d = culv_vk_device_desc_init();
    d.get_instance_proc_addr = vkGetInstanceProcAddr;
    d.instance = w->vk.instance;
    d.physical_device = w->vk.physical;
    d.device = w->vk.device;
    d.api_version = VK_API_VERSION_1_3;
    d.kernels = w->vk.kernels;
    return d;
}

static void open_vulkan(lib_world *w, bool one_address)
{
    CUuuid uuid;
    memset(w, 0, sizeof *w);
    w->cu = lib_driver();
    CUresult r = w->cu->DeviceGetUuid(&uuid, 0);
    REQUIRE_EQ(r, CUDA_SUCCESS);
    raw_vk_open(&w->vk, &(raw_vk_options){.uuid = (const uint8_t *)uuid.bytes,
                                          .software = w->cu->software,
                                          .host_memory = !one_address,
                                          .one_address = one_address,
                                          .external_queues = lib_with_external_queues,
                                          .kernels = lib_with_kernels});
    w->fds = test_open_fds();
}

void lib_open_vulkan(lib_world *w)
{
    open_vulkan(w, false);
}

void lib_open_vulkan_for_one_address(lib_world *w)
{
    open_vulkan(w, true);
    /* NVIDIA's driver opens files of its own with each context. */
    if (!w->cu->software) w->fds += 1000;
}

bool lib_across;

void lib_run_across(void (*run)(void))
{
    lib_across = true;
    run();
}

culv_soft_counts lib_soft_counts(const raw_cuda *cu)
{
    culv_soft_counts c = {.struct_size = sizeof c};
    if (cu->SoftCounts != NULL) cu->SoftCounts(&c);
    return c;
}

culv_device *lib_another_device(int32_t ordinal, const culv_log *log)
{
    culv_device_desc d = culv_device_desc_init();
    d.driver = lib_driver()->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    if (log != NULL) d.log = *log;
    NEW(culv_device, device, culv_device_open_by_ordinal, ordinal, &d);
    return device;
}

void lib_open_culvert(lib_world *w)
{
    if (lib_across) {
        w->device = lib_another_device(1, NULL);
        culv_vk_device_desc d = lib_vk_desc(w);
        d.allow_other_gpu = 1;
        LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
        w->context = culv_device_context(w->device);
        return;
    }
    lib_open_heard(w, culv_device_desc_init().log);
}

void lib_open_heard(lib_world *w, culv_log log)
{
    culv_device_desc dd = culv_device_desc_init();
    dd.log = log;
    LIB_OK(lib_open_for_vk(w, vkGetInstanceProcAddr, &dd, &w->device));
    culv_vk_device_desc d = lib_vk_desc(w);
    LIB_OK(culv_vk_attach(w->device, &d, &w->attachment));
    w->context = culv_device_context(w->device);
}

culv_result lib_open_for_vk(const lib_world *w, PFN_vkGetInstanceProcAddr loader,
                            const culv_device_desc *desc, culv_device **out)
{
    return culv_device_open_for_vk(loader, w->vk.instance, w->vk.physical, desc, out);
}

void lib_open(lib_world *w)
{
    if (lib_across) raw_cuda_two_devices();
    if (lib_across && lib_driver()->device_count < 2) SKIP("one CUDA device only");
    lib_open_vulkan(w);
    if (!w->cu->software && !lib_across) {
        /* NVIDIA's driver opens files of its own with the first context and keeps them. */
        lib_open_culvert(w);
        raw_vk_buffer warm;
        raw_vk_buffer_create(&w->vk, 65536, RAW_VK_EXPORT, &warm);
        culv_memory *memory = lib_import(w, &warm);
        NEW(culv_buffer, buffer, culv_buffer_map, memory, NULL);
        culv_buffer_unmap(&buffer, NULL);
        culv_memory_destroy(&memory);
        raw_vk_buffer_destroy(&w->vk, &warm);
        lib_settle(w);
        culv_vk_detach(&w->attachment);
        culv_device *first = w->device; /* stays open, and with it the primary context */
        lib_open_culvert(w);
        culv_device_close(&first);
        w->fds = test_open_fds();
        return;
    }
    lib_open_culvert(w);
}

/* NVIDIA's driver opens files of its own with the first context, stream, module or semaphore and
 * keeps them; they are counted while the device is open; a second GPU has as many again. That none
 * is leaked turn by turn is shown by library-endurance. */
enum { NVIDIA_FDS = 32 };

static void close_culvert(lib_world *w, bool count_fds)
{
    if (w->device == NULL) return;
    lib_settle(w);
    culv_vk_detach(&w->attachment);
    lib_require_no_objects(w);
    const size_t most = w->fds + NVIDIA_FDS * (size_t)w->cu->device_count;
    if (count_fds && !w->cu->software && test_open_fds() > most) {
        test_tell_fds();
        FAIL("%zu descriptors are open, %zu were, and the driver has %zu at most", test_open_fds(),
             w->fds, most - w->fds);
    }
    culv_device_close(&w->device);
    if (count_fds && w->cu->software) REQUIRE_EQ(test_open_fds(), w->fds);
    REQUIRE(w->attachment == NULL && w->device == NULL);
}

void lib_close_culvert(lib_world *w)
{
    close_culvert(w, false);
}

void lib_require_empty_layer(const lib_layer *layer, unsigned devices)
{
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    layer->counts(&counts);
    REQUIRE_EQ(counts.instances, devices);
    REQUIRE_EQ(counts.devices, devices);
    REQUIRE_EQ(counts.semaphores, 0);
    REQUIRE_EQ(counts.all_semaphores, 0);
    REQUIRE_EQ(counts.buffers, 0);
    REQUIRE_EQ(counts.images, 0);
    REQUIRE_EQ(counts.memories, 0);
    REQUIRE_EQ(counts.fds, 0);
    REQUIRE_EQ(counts.threads, 0);
}

static void end_buffer(const void *of, void *thing)
{
    raw_vk_buffer_destroy((raw_vk *)(uintptr_t)of, thing);
}

raw_vk_buffer lib_case_buffer(lib_world *w, VkDeviceSize size, uint32_t flags)
{
    raw_vk_buffer buffer;
    raw_vk_buffer_create(&w->vk, size, flags, &buffer);
    test_later(end_buffer, &w->vk, &buffer, sizeof buffer);
    return buffer;
}

static void end_timeline(const void *of, void *thing)
{
    raw_vk_timeline_destroy((raw_vk *)(uintptr_t)of, *(VkSemaphore *)thing);
}

VkSemaphore lib_case_timeline(lib_world *w, uint64_t value)
{
    const VkSemaphore timeline = raw_vk_timeline(&w->vk, value, true);
    test_later(end_timeline, &w->vk, &timeline, sizeof timeline);
    return timeline;
}

static void end_stream(const void *of, void *thing)
{
    lib_stream_destroy(of, *(CUstream *)thing);
}

VkShaderModule lib_shader(VkDevice device, const char *name)
{
    char relative[128], path[TEST_PATH_MAX];
    static uint32_t code[4096];
    snprintf(relative, sizeof relative, "share/culvert/%s.spv", name);
    FILE *file = fopen(test_path(path, relative), "rb");
    if (file == NULL) FAIL("%s is not there", path);
    size_t size = fread(code, 1, sizeof code, file);
    fclose(file);
    REQUIRE(size > 0 && size < sizeof code && size % 4 == 0);
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = size, .pCode = code};
    VkShaderModule shader = VK_NULL_HANDLE;
    VK_OK(vkCreateShaderModule(device, &info, NULL, &shader));
    return shader;
}

VkPipeline lib_compute_pipeline(VkDevice device, const char *name, VkPipelineLayout layout)
{
    const VkShaderModule shader = lib_shader(device, name);
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = shader,
                  .pName = "main"},
        .layout = layout};
    VkPipeline pipeline = VK_NULL_HANDLE;
    VK_OK(vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(device, shader, NULL);
    return pipeline;
}

CUstream lib_case_stream(const lib_world *w)
{
    const CUstream stream = lib_stream(w);
    test_later(end_stream, w, &stream, sizeof stream);
    return stream;
}

void lib_close(lib_world *w)
{
    lib_layer layer;
    test_settle();
    close_culvert(w, true);
    bool has_layer = lib_layer_find(&layer);
    raw_vk_close(&w->vk);
    if (has_layer) lib_require_empty_layer(&layer, raw_vk_kept());
    raw_cuda_require_empty(w->cu);
}

culv_vk_device *lib_attach(const lib_world *w, PFN_vkGetInstanceProcAddr loader)
{
    culv_vk_device_desc d = lib_vk_desc(w);
    d.get_instance_proc_addr = loader;
    NEW(culv_vk_device, vk, culv_vk_attach, w->device, &d);
    return vk;
}

culv_device *lib_open_ordinal(const raw_cuda *cu, int ordinal)
{
    culv_device_desc d = culv_device_desc_init();
    d.driver = cu->software ? CULV_DRIVER_SOFT : CULV_DRIVER_NVIDIA;
    NEW(culv_device, device, culv_device_open_by_ordinal, ordinal, &d);
    return device;
}

culv_device_caps lib_caps(const culv_device *device)
{
    culv_device_caps caps = culv_device_caps_init();
    LIB_OK(culv_device_get_caps(device, &caps));
    return caps;
}

uint32_t lib_rank(PFN_vkGetInstanceProcAddr get, VkInstance instance, const culv_device_desc *desc,
                  culv_vk_candidate out[LIB_CANDIDATES])
{
    uint32_t count = LIB_CANDIDATES;
    for (int i = 0; i < LIB_CANDIDATES; i++)
        out[i] = culv_vk_candidate_init();
    LIB_OK(culv_vk_rank_physical_devices(get, instance, desc, out, count, &count));
    REQUIRE(count >= 1 && count <= LIB_CANDIDATES);
    return count;
}

culv_device_counts lib_counts(const lib_world *w)
{
    culv_device_counts c = culv_device_counts_init();
    LIB_OK(culv_device_get_counts(w->device, &c));
    return c;
}

void lib_settle(const lib_world *w)
{
    for (unsigned i = 0; lib_counts(w).deferred > 0; i++) {
        if (i == TEST_FAR_MS)
            FAIL("%" PRIu64 " releases are still deferred after a minute", lib_counts(w).deferred);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

void lib_start_queue_threads(lib_world *w)
{
    VkSemaphore timeline = raw_vk_timeline(&w->vk, 0, false);
    raw_vk_submit(&w->vk, raw_vk_begin(&w->vk, 0),
                  &(raw_vk_job){.wait = timeline, .wait_value = 1, .pending = true});
    raw_vk_timeline_signal(&w->vk, timeline, 1);
    raw_vk_idle(&w->vk);
    raw_vk_timeline_destroy(&w->vk, timeline);
}

void lib_require_no_objects(const lib_world *w)
{
    culv_device_counts c = lib_counts(w);
    REQUIRE_EQ(c.memories, 0);
    REQUIRE_EQ(c.mappings, 0);
    REQUIRE_EQ(c.buffers, 0);
    REQUIRE_EQ(c.images, 0);
    REQUIRE_EQ(c.created, 0);
    REQUIRE_EQ(c.semaphores, 0);
    REQUIRE_EQ(c.attached_devices, 0);
    REQUIRE_EQ(c.vmm_allocations, 0);
    REQUIRE_EQ(c.vmm_ranges, 0);
    REQUIRE_EQ(c.vmm_mappings, 0);
    REQUIRE_EQ(c.deferred, 0);
}

void lib_require_driver_counts(const lib_world *w, uint64_t memories, uint64_t mappings,
                               uint64_t semaphores)
{
    if (w->cu->SoftCounts == NULL) return;
    const culv_soft_counts s = lib_soft_counts(w->cu);
    REQUIRE_EQ(s.external_memories, memories);
    REQUIRE_EQ(s.external_mappings, mappings);
    REQUIRE_EQ(s.external_semaphores, semaphores);
}

CUcontext lib_enter(const lib_world *w)
{
    const raw_cuda *cu = w->cu;
    CUcontext before = NULL;
    CU_OK(cu->CtxGetCurrent(&before));
    CU_OK(cu->CtxSetCurrent(w->context));
    return before;
}

void lib_leave(const lib_world *w, CUcontext before)
{
    const raw_cuda *cu = w->cu;
    CU_OK(cu->CtxSetCurrent(before));
}

culv_image_desc lib_image(const culv_image *image)
{
    culv_image_desc d = culv_image_desc_init();
    LIB_OK(culv_image_get_desc(image, &d));
    return d;
}

culv_vmm_allocation_info lib_allocation(const culv_vmm_allocation *allocation)
{
    culv_vmm_allocation_info info = culv_vmm_allocation_info_init();
    LIB_OK(culv_vmm_allocation_get_info(allocation, &info));
    return info;
}

CUdeviceptr lib_pool_alloc(const lib_world *w, CUmemoryPool pool, size_t size, CUstream stream)
{
    PFN_cuMemAllocFromPoolAsync_v11020 alloc = NULL;
    CUdeviceptr at = 0;
    raw_cuda_find(w->cu, "cuMemAllocFromPoolAsync", 11020, &alloc);
    LIB_CU_OK(w, alloc(&at, size, pool, stream));
    return at;
}

void lib_pool_free(const lib_world *w, CUdeviceptr at, CUstream stream)
{
    PFN_cuMemFreeAsync_v11020 give_back = NULL;
    raw_cuda_find(w->cu, "cuMemFreeAsync", 11020, &give_back);
    LIB_CU_OK(w, give_back(at, stream));
}

CUstream lib_stream(const lib_world *w)
{
    CUstream stream = NULL;
    LIB_CU_OK(w, w->cu->StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

void lib_fault(const lib_world *w, CUstream stream)
{
    CUdeviceptr nowhere = 0x1000;
    uint32_t value = 1;
    void *params[] = {&nowhere, &value};
    CUcontext before = lib_enter(w);
    CUfunction poke =
        raw_cuda_function(w->cu, raw_cuda_load(w->cu, "library_kernels"), "library_poke");
    CU_OK(w->cu->LaunchKernel(poke, 1, 1, 1, 32, 1, 1, 0, stream, params, NULL));
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < TEST_FAR_MS && (r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_READY); i++) {
        r = w->cu->StreamQuery(stream);
        lib_sleep_ms(1);
    }
    REQUIRE_EQ(r, CUDA_ERROR_ILLEGAL_ADDRESS);
    (void)w->cu->CtxSetCurrent(before);
}

bool lib_green_open(const lib_world *w, lib_green *g)
{
    unsigned char all[512], part[512], rest[512]; /* CUdevResource has 144 bytes (cuda.h) */
    unsigned parts = 1;
    void *description = NULL;
    CUresult(CUDAAPI * get)(CUdevice device, void *resource, int type);
    CUresult(CUDAAPI * split)(void *out, unsigned *count, const void *from, void *left,
                              unsigned flags, unsigned least);
    CUresult(CUDAAPI * describe)(void **out, void *resources, unsigned count);
    const struct {
        const char *name;
        int version;
        void *function;
    } calls[] = {{"cuDeviceGetDevResource", 12040, &get},
                 {"cuDevSmResourceSplitByCount", 12040, &split},
                 {"cuDevResourceGenerateDesc", 12040, &describe},
                 {"cuGreenCtxCreate", 12040, &g->create},
                 {"cuGreenCtxStreamCreate", 12050, &g->create_stream},
                 {"cuGreenCtxDestroy", 12040, &g->destroy}};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void (*found)(void) = culv_device_cuda_proc(w->device, calls[i].name, calls[i].version);
        if (found == NULL) return false;
        memcpy(calls[i].function, &found, sizeof found);
    }
    const CUdevice device = (CUdevice)lib_caps(w->device).ordinal;
    CU_OK(get(device, all, 1)); /* CU_DEV_RESOURCE_TYPE_SM */
    CU_OK(split(part, &parts, all, rest, 0, w->cu->software ? 1 : 16));
    CU_OK(describe(&description, part, 1));
    CU_OK(g->create(&g->context, description, device, 1)); /* CU_GREEN_CTX_DEFAULT_STREAM */
    CU_OK(g->create_stream(&g->stream, g->context, CU_STREAM_NON_BLOCKING, 0));
    return true;
}

void lib_green_close(const lib_world *w, const lib_green *g)
{
    LIB_CU_OK(w, w->cu->StreamDestroy(g->stream));
    LIB_CU_OK(w, g->destroy(g->context));
}

void lib_stream_destroy(const lib_world *w, CUstream stream)
{
    LIB_CU_OK(w, w->cu->StreamDestroy(stream));
}

void lib_finish(const lib_world *w, CUstream stream)
{
    LIB_CU_OK(w, w->cu->StreamSynchronize(stream));
}

CUresult lib_query(const lib_world *w, CUstream stream)
{
    CUcontext before = lib_enter(w);
    CUresult r = w->cu->StreamQuery(stream);
    lib_leave(w, before);
    return r;
}

culv_vk_memory_desc lib_vk_memory(const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = culv_vk_memory_desc_init();
    d.memory = buffer->memory;
    d.allocation_size = buffer->allocation_size;
    d.dedicated = (buffer->flags & RAW_VK_DEDICATED) != 0;
    return d;
}

culv_memory *lib_import(const lib_world *w, const raw_vk_buffer *buffer)
{
    culv_vk_memory_desc d = lib_vk_memory(buffer);
    d.buffer = buffer->buffer;
    d.buffer_offset = buffer->offset;
    NEW(culv_memory, memory, culv_vk_memory_import, w->attachment, &d);
    return memory;
}

culv_shared_buffer *lib_made_buffer(culv_vk_device *vk, const VkBufferCreateInfo *info)
{
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = info;
    NEW(culv_shared_buffer, made, culv_vk_buffer_create, vk, &d);
    return made;
}

culv_shared_image *lib_made_image(culv_vk_device *vk, const VkImageCreateInfo *info)
{
    culv_vk_image_create_desc d = culv_vk_image_create_desc_init();
    d.create_info = info;
    NEW(culv_shared_image, made, culv_vk_image_create, vk, &d);
    return made;
}

culv_memory_desc lib_memory_desc(const lib_world *w, const raw_vk_buffer *buffer, int fd)
{
    culv_memory_desc d = culv_memory_desc_init();
    d.handle = culv_handle_opaque_fd(fd);
    d.size = buffer->allocation_size;
    d.dedicated = (buffer->flags & RAW_VK_DEDICATED) != 0;
    memcpy(d.exporter.bytes, w->vk.id.deviceUUID, VK_UUID_SIZE);
    return d;
}

culv_semaphore *lib_import_semaphore_fd(culv_device *device, culv_semaphore_type type, int fd)
{
    culv_semaphore *semaphore = NULL;
    culv_semaphore_desc d = culv_semaphore_desc_init();
    d.type = type;
    d.handle = culv_handle_opaque_fd(fd);
    LIB_TAKE(culv_semaphore_import(device, &d, &semaphore), &d.handle);
    return semaphore;
}

culv_semaphore *lib_import_timeline(const lib_world *w, VkSemaphore timeline)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = timeline;
    d.type = CULV_SEMAPHORE_TIMELINE;
    NEW(culv_semaphore, semaphore, culv_vk_semaphore_import, w->attachment, &d);
    return semaphore;
}

static bool exports_timelines(const raw_vk *vk)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO,
        .pNext = &type,
        .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkExternalSemaphoreProperties properties = {
        .sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    vkGetPhysicalDeviceExternalSemaphoreProperties(vk->physical, &info, &properties);
    return properties.externalSemaphoreFeatures & VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT;
}

static VkSemaphore open_turn(lib_world *w, bool binary, culv_semaphore **cuda)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    d.semaphore = binary ? raw_vk_binary(&w->vk, true) : raw_vk_timeline(&w->vk, 0, true);
    d.type = binary ? CULV_SEMAPHORE_BINARY : CULV_SEMAPHORE_TIMELINE;
    d.untracked = binary;
    LIB_OK(culv_vk_semaphore_import(w->attachment, &d, cuda));
    return d.semaphore;
}

void lib_turns_open(lib_world *w, lib_turns *out)
{
    *out = (lib_turns){.binary = !exports_timelines(&w->vk)};
    out->to_vulkan = open_turn(w, out->binary, &out->signals);
    out->to_cuda = open_turn(w, out->binary, &out->waits);
}

void lib_turns_close(lib_world *w, lib_turns *t)
{
    culv_semaphore_destroy(&t->signals, NULL);
    culv_semaphore_destroy(&t->waits, NULL);
    raw_vk_semaphore_destroy(&w->vk, t->to_vulkan);
    raw_vk_semaphore_destroy(&w->vk, t->to_cuda);
}

void lib_turns_submit(lib_world *w, lib_turns *t, VkCommandBuffer commands, uint32_t queue)
{
    raw_vk_job job = {.queue = queue,
                      .wait = t->to_vulkan,
                      .wait_value = t->vulkan_value,
                      .signal = t->to_cuda,
                      .signal_value = t->cuda_value + 1};
    if (t->binary) {
        if (t->vulkan_took == t->vulkan_value) job.wait = VK_NULL_HANDLE;
        if (t->cuda_took < t->cuda_value) job.signal = VK_NULL_HANDLE; /* the last one is there */
        t->vulkan_took = t->vulkan_value;
    }
    if (job.signal != VK_NULL_HANDLE) t->cuda_value++;
    raw_vk_submit(&w->vk, commands, &job);
}

void lib_turns_cuda_begin(lib_turns *t, CUstream stream)
{
    if (!t->binary || t->cuda_took < t->cuda_value)
        LIB_OK(culv_semaphore_wait(t->waits, stream, t->binary ? 0 : t->cuda_value));
    t->cuda_took = t->cuda_value;
}

void lib_turns_cuda_end(lib_turns *t, CUstream stream)
{
    if (t->binary && t->vulkan_took < t->vulkan_value) return; /* the last one is there */
    t->vulkan_value++;
    LIB_OK(culv_semaphore_signal(t->signals, stream, t->binary ? 0 : t->vulkan_value));
}

uint32_t lib_word(uint32_t i, uint32_t seed)
{
    return i * 2654435761u + seed;
}

void lib_fill(uint32_t *words, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        words[i] = lib_word((uint32_t)i, seed);
}

void lib_require_all(const char *file, int line, const uint32_t *words, size_t count,
                     uint32_t value)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != value)
            test_fail(file, line, "word %zu is 0x%08" PRIx32 ", not 0x%08" PRIx32, i, words[i],
                      value);
}

void lib_require_words(const char *file, int line, const uint32_t *words, size_t count,
                       uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (words[i] != lib_word((uint32_t)i, seed))
            test_fail(file, line, "word %zu is 0x%08" PRIx32 ", not 0x%08" PRIx32, i, words[i],
                      lib_word((uint32_t)i, seed));
}

bool lib_layer_find(lib_layer *out)
{
    char path[TEST_PATH_MAX];
    memset(out, 0, sizeof *out);
    /* Held from here on, so that its counts can still be asked when the instance is gone. */
    void *layer = dlopen(test_path(path, "lib/libVkLayer_culvert_soft.so"), RTLD_NOW | RTLD_NOLOAD);
    if (layer == NULL) return false;
    void *symbols[] = {dlsym(layer, "culvSoftVkCounts"), dlsym(layer, "culvSoftVkFailAt"),
                       dlsym(layer, "culvSoftVkFailedCall"), dlsym(layer, "culvSoftVkLoseDevices"),
                       dlsym(layer, "culvSoftVkBefore")};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        REQUIRE(symbols[i] != NULL);
    memcpy(&out->counts, &symbols[0], sizeof symbols[0]);
    memcpy(&out->fail_at, &symbols[1], sizeof symbols[1]);
    memcpy(&out->failed_call, &symbols[2], sizeof symbols[2]);
    memcpy(&out->lose_devices, &symbols[3], sizeof symbols[3]);
    memcpy(&out->before, &symbols[4], sizeof symbols[4]);
    culv_soft_vk_counts counts = {.struct_size = sizeof counts};
    out->counts(&counts);
    return counts.instances == 0 || counts.devices > 0; /* it passes SwiftShader's by */
}

bool lib_disjoint(const lib_world *w, VkFormat format)
{
    VkFormatProperties p;
    vkGetPhysicalDeviceFormatProperties(w->vk.physical, format, &p);
    return (p.optimalTilingFeatures & VK_FORMAT_FEATURE_DISJOINT_BIT) != 0;
}

culv_result lib_buffer_barrier(const culv_vk_buffer_transfer *transfer, culv_vk_direction direction,
                               culv_vk_buffer_barrier *out)
{
    VkBufferMemoryBarrier2 b;
    culv_result result = culv_vk_buffer_get_barrier2(transfer, direction, &b);
    if (result == CULV_OK) *out = culv_vk_old_buffer_barrier(&b);
    return result;
}

culv_result lib_image_barrier(const culv_vk_image_transfer *transfer, culv_vk_direction direction,
                              culv_vk_image_barrier *out)
{
    VkImageMemoryBarrier2 b;
    culv_result result = culv_vk_image_get_barrier2(transfer, direction, &b);
    if (result == CULV_OK) *out = culv_vk_old_image_barrier(&b);
    return result;
}
