/* SPDX-License-Identifier: MIT */
/* VK_NVX_binary_import, played: CUDA kernels in command buffers.
 *
 * lavapipe runs a command buffer on a thread of its own, and spins on an event that is not set. So
 * a launch is four commands: a wait for an event that is always set, at which lavapipe finishes all
 * that came before; the event `done` reset; `called` set; a wait for `done`. A thread of the layer
 * sees `called`, runs the kernel on the twin's pool, and sets `done` from the host. lavapipe has
 * one queue, which runs its submissions in order: the order of the launches is known when they are
 * submitted, and two events serve all of them.
 *
 * A kernel that faults loses the device: the rest of what was submitted runs without kernels, and
 * every later call that waits or submits answers VK_ERROR_DEVICE_LOST. */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "soft_vk.h"

#define SPINS     200u
#define SLEEP_NS  20000L
#define ALIGNMENT 16u

/* VkCuModuleNVX. Its functions hold it. */
typedef struct module {
    culv_soft_queue_module *loaded;
    _Atomic uint32_t references;
} module;

/* VkCuFunctionNVX. Recorded launches hold it. */
typedef struct function {
    module *module;
    const culv_soft_queue_kernel *kernel;
    _Atomic uint32_t references;
} function;

typedef struct launch {
    _Atomic uint32_t references; /* of command buffers, and of submissions */
    function *function;
    culv_soft_dim3 grid, block;
    uint32_t shared_bytes;
    void **params; /* into the bytes behind them */
} launch;

/* What was recorded in a command buffer, those of executed secondary ones included. */
typedef struct record {
    struct record *link;
    VkCommandBuffer commands;
    VkCommandPool pool;
    VkResult result; /* of vkEndCommandBuffer */
    size_t count, capacity;
    launch **launches;
} record;

struct soft_vk_kernels {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    record *records;
    launch **expected; /* submitted, and not run yet: from `first` on */
    size_t first, count, capacity;
    uint64_t submitted; /* launches, ever */
    uint64_t users;     /* modules, and functions: while there are any, the thread is there */
    bool running, stopping;
    pthread_t thread;
    VkEvent set, called, done;
    _Atomic uint64_t run; /* launches: what waits for the device looks at it */
};

/* The CUDA half ------------------------------------------------------------------------------- */

static struct soft_vk_cuda cuda;
static bool cuda_found;

static void find_cuda(void)
{
    static const char library[] = "libculvert-soft.so.0";
    Dl_info here;
    char path[4096];
    void *handle = NULL;
    if (dladdr(&cuda, &here) && here.dli_fname) {
        const char *slash = strrchr(here.dli_fname, '/');
        const int directory = slash ? (int)(slash - here.dli_fname) + 1 : 0;
        if (snprintf(path, sizeof(path), "%.*s%s", directory, here.dli_fname, library) <
            (int)sizeof(path))
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    if (!handle) handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return;
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
        {"culvSoftQueueLoad", &cuda.load},       {"culvSoftQueueUnload", &cuda.unload},
        {"culvSoftQueueFind", &cuda.find},       {"culvSoftQueueOffset", &cuda.offset},
        {"culvSoftQueueCheck", &cuda.check},     {"culvSoftQueueRun", &cuda.run},
        {"culvSoftQueueSurface", &cuda.surface}, {"culvSoftQueueTexture", &cuda.texture},
        {"culvSoftShowReserve", &cuda.reserve},  {"culvSoftShowRelease", &cuda.release},
        {"culvSoftShowBind", &cuda.bind},
    };
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(handle, symbols[i].name);
        if (!symbol) return; /* another version's */
        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
    cuda_found = true;
}

const struct soft_vk_cuda *soft_vk_cuda_half(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_cuda);
    return cuda_found ? &cuda : NULL;
}

/* Lives --------------------------------------------------------------------------------------- */

static void module_release(module *m)
{
    if (atomic_fetch_sub(&m->references, 1) != 1) return;
    cuda.unload(m->loaded);
    free(m);
}

static void function_release(function *f)
{
    if (atomic_fetch_sub(&f->references, 1) != 1) return;
    module_release(f->module);
    free(f);
}

static void launch_release(launch *l)
{
    if (atomic_fetch_sub(&l->references, 1) != 1) return;
    function_release(l->function);
    free(l->params);
    free(l);
}

static record **find_record(soft_vk_kernels *k, VkCommandBuffer commands)
{
    record **link = &k->records;
    while (*link && (*link)->commands != commands)
        link = &(*link)->link;
    return link;
}

static void forget_launches(record *r)
{
    for (size_t i = 0; i < r->count; i++)
        launch_release(r->launches[i]);
    r->count = 0;
    r->result = VK_SUCCESS;
}

static void free_record(record **link)
{
    record *r = *link;
    *link = r->link;
    forget_launches(r);
    free(r->launches);
    free(r);
}

static bool append(launch ***list, size_t *count, size_t *capacity, launch *l)
{
    if (*count == *capacity) {
        const size_t more = *capacity ? 2 * *capacity : 16;
        launch **grown = realloc(*list, more * sizeof(*grown));
        if (!grown) return false;
        *list = grown;
        *capacity = more;
    }
    atomic_fetch_add(&l->references, 1);
    (*list)[(*count)++] = l;
    return true;
}

/* The thread ---------------------------------------------------------------------------------- */

static void run(soft_vk_device *device, launch *l)
{
    const culv_soft_queue_kernel *kernel = l->function->kernel;
    if (atomic_load(&device->lost)) return;
    int result = cuda.run(kernel, l->grid, l->block, l->shared_bytes, l->params);
    if (result == 0) return;
    fprintf(stderr,
            "VK_LAYER_CULVERT_soft: the kernel '%s' in a command buffer ended with CUresult %d: "
            "the VkDevice is lost\n",
            kernel->kernel->name, result);
    atomic_store(&device->lost, true);
}

/* Waits until lavapipe has come to the next launch; false: the thread is to end. Locked on entry
 * and return. */
static bool wait_for_call(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    for (unsigned tries = 0;; tries++) {
        while (k->first == k->count && !k->stopping) {
            pthread_cond_wait(&k->changed, &k->lock);
            tries = 0;
        }
        if (k->stopping) return false;
        pthread_mutex_unlock(&k->lock);
        const bool called = device->next.GetEventStatus(device->handle, k->called) == VK_EVENT_SET;
        if (!called && tries < SPINS)
            sched_yield();
        else if (!called)
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        pthread_mutex_lock(&k->lock);
        if (called && k->first < k->count) return true;
    }
}

static void *serve(void *argument)
{
    soft_vk_device *device = argument;
    soft_vk_kernels *k = device->kernels;
    pthread_mutex_lock(&k->lock);
    while (wait_for_call(device)) {
        launch *l = k->expected[k->first++];
        if (k->first == k->count) k->first = k->count = 0;
        pthread_mutex_unlock(&k->lock);
        device->next.ResetEvent(device->handle, k->called);
        run(device, l);
        atomic_fetch_add(&k->run, 1);
        device->next.SetEvent(device->handle, k->done);
        launch_release(l);
        pthread_mutex_lock(&k->lock);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* Locked. The application's signals are not for the thread, but a kernel's faults are. */
static VkResult add_user(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    if (!k->running) {
        sigset_t all, before;
        sigfillset(&all);
        sigdelset(&all, SIGSEGV);
        sigdelset(&all, SIGBUS);
        sigdelset(&all, SIGFPE);
        sigdelset(&all, SIGILL);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        k->stopping = false;
        const int error = pthread_create(&k->thread, NULL, serve, device);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (error) return VK_ERROR_OUT_OF_HOST_MEMORY;
        k->running = true;
        atomic_fetch_add(&soft_vk_threads, 1);
    }
    k->users++;
    return VK_SUCCESS;
}

static void stop(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    pthread_mutex_lock(&k->lock);
    const bool running = k->running;
    k->stopping = true;
    k->running = false;
    pthread_cond_signal(&k->changed);
    pthread_mutex_unlock(&k->lock);
    if (!running) return;
    pthread_join(k->thread, NULL);
    atomic_fetch_sub(&soft_vk_threads, 1);
}

static void remove_user(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    pthread_mutex_lock(&k->lock);
    const bool last = --k->users == 0;
    pthread_mutex_unlock(&k->lock);
    if (last) stop(device);
}

VkResult soft_vk_kernels_begin(soft_vk_device *device)
{
    const VkEventCreateInfo info = {.sType = VK_STRUCTURE_TYPE_EVENT_CREATE_INFO};
    soft_vk_kernels *k = calloc(1, sizeof(*k));
    if (!k) return VK_ERROR_OUT_OF_HOST_MEMORY;
    VkEvent *events[] = {&k->set, &k->called, &k->done};
    for (int i = 0; i < 3; i++) {
        VkResult result = device->next.CreateEvent(device->handle, &info, NULL, events[i]);
        if (result == VK_SUCCESS) continue;
        while (i-- > 0)
            device->next.DestroyEvent(device->handle, *events[i], NULL);
        free(k);
        return result;
    }
    device->next.SetEvent(device->handle, k->set);
    pthread_mutex_init(&k->lock, NULL);
    pthread_cond_init(&k->changed, NULL);
    device->kernels = k;
    return VK_SUCCESS;
}

void soft_vk_kernels_end(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    if (!k) return;
    stop(device);
    while (k->first < k->count)
        launch_release(k->expected[k->first++]);
    while (k->records)
        free_record(&k->records);
    device->next.DestroyEvent(device->handle, k->set, NULL);
    device->next.DestroyEvent(device->handle, k->called, NULL);
    device->next.DestroyEvent(device->handle, k->done, NULL);
    pthread_cond_destroy(&k->changed);
    pthread_mutex_destroy(&k->lock);
    free(k->expected);
    free(k);
    device->kernels = NULL;
}

/* Submissions --------------------------------------------------------------------------------- */

VkResult soft_vk_or_lost(soft_vk_device *device, VkResult result)
{
    if (device->kernels) (void)atomic_load(&device->kernels->run);
    return result >= VK_SUCCESS && atomic_load(&device->lost) ? VK_ERROR_DEVICE_LOST : result;
}

uint64_t soft_vk_expected(soft_vk_device *device)
{
    soft_vk_kernels *k = device->kernels;
    pthread_mutex_lock(&k->lock);
    const uint64_t submitted = k->submitted;
    pthread_mutex_unlock(&k->lock);
    return submitted;
}

/* Forgets those that were run, where they are as many as those to come. */
static void close_ranks(soft_vk_kernels *k)
{
    if (k->first < 64 || k->first < k->count / 2) return;
    memmove(k->expected, k->expected + k->first, (k->count - k->first) * sizeof(*k->expected));
    k->count -= k->first;
    k->first = 0;
}

VkResult soft_vk_expect(soft_vk_device *device, VkCommandBuffer commands)
{
    soft_vk_kernels *k = device->kernels;
    VkResult result = VK_SUCCESS;
    pthread_mutex_lock(&k->lock);
    close_ranks(k);
    const record *r = *find_record(k, commands);
    for (size_t i = 0; r && result == VK_SUCCESS && i < r->count; i++) {
        if (append(&k->expected, &k->count, &k->capacity, r->launches[i]))
            k->submitted++;
        else
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
    }
    pthread_cond_signal(&k->changed);
    pthread_mutex_unlock(&k->lock);
    return result;
}

/* Those of a failed submission are the last ones, and lavapipe does not come to them. */
void soft_vk_expect_no_more_than(soft_vk_device *device, uint64_t submitted)
{
    soft_vk_kernels *k = device->kernels;
    pthread_mutex_lock(&k->lock);
    for (; k->submitted > submitted; k->submitted--)
        launch_release(k->expected[--k->count]);
    pthread_mutex_unlock(&k->lock);
}

/* Modules and functions ----------------------------------------------------------------------- */

VkResult soft_vk_CreateCuModuleNVX(soft_vk_device *device, VkDevice handle,
                                   const VkCuModuleCreateInfoNVX *info,
                                   const VkAllocationCallbacks *callbacks, VkCuModuleNVX *out)
{
    (void)handle;
    (void)callbacks;
    if (!device->kernels) return VK_ERROR_EXTENSION_NOT_PRESENT;
    if (atomic_load(&device->lost)) return VK_ERROR_DEVICE_LOST;
    if (!soft_vk_cuda_half()) {
        fprintf(stderr, "VK_LAYER_CULVERT_soft: libculvert-soft.so.0, which runs kernels, is not "
                        "beside the layer\n");
        return VK_ERROR_INITIALIZATION_FAILED;
    }
    module *made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    atomic_init(&made->references, 1);
    /* NVIDIA's driver answers so for an image of another architecture. */
    VkResult result = VK_ERROR_INITIALIZATION_FAILED;
    if (cuda.load(info->pData, info->dataSize, &made->loaded) != 0) goto free_module;
    pthread_mutex_lock(&device->kernels->lock);
    result = add_user(device);
    pthread_mutex_unlock(&device->kernels->lock);
    if (result != VK_SUCCESS) goto unload;
    atomic_fetch_add(&soft_vk_modules, 1);
    *out = (VkCuModuleNVX)(uintptr_t)made;
    return VK_SUCCESS;

unload:
    cuda.unload(made->loaded);
free_module:
    free(made);
    return result;
}

void VKAPI_CALL soft_vk_destroy_cu_module(VkDevice handle, VkCuModuleNVX object,
                                          const VkAllocationCallbacks *callbacks)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    if (!device->soft) {
        device->next.DestroyCuModuleNVX(handle, object, callbacks);
        return;
    }
    if (object == VK_NULL_HANDLE) return;
    module_release((module *)(uintptr_t)object);
    atomic_fetch_sub(&soft_vk_modules, 1);
    remove_user(device);
}

VkResult soft_vk_CreateCuFunctionNVX(soft_vk_device *device, VkDevice handle,
                                     const VkCuFunctionCreateInfoNVX *info,
                                     const VkAllocationCallbacks *callbacks, VkCuFunctionNVX *out)
{
    (void)handle;
    (void)callbacks;
    if (!device->kernels) return VK_ERROR_EXTENSION_NOT_PRESENT;
    if (atomic_load(&device->lost)) return VK_ERROR_DEVICE_LOST;
    module *of = (module *)(uintptr_t)info->module;
    const culv_soft_queue_kernel *kernel = cuda.find(of->loaded, info->pName);
    if (!kernel) return VK_ERROR_INITIALIZATION_FAILED;
    function *made = calloc(1, sizeof(*made));
    if (!made) return VK_ERROR_OUT_OF_HOST_MEMORY;
    atomic_init(&made->references, 1);
    made->module = of;
    made->kernel = kernel;
    pthread_mutex_lock(&device->kernels->lock);
    VkResult result = add_user(device);
    pthread_mutex_unlock(&device->kernels->lock);
    if (result != VK_SUCCESS) {
        free(made);
        return result;
    }
    atomic_fetch_add(&of->references, 1);
    atomic_fetch_add(&soft_vk_functions, 1);
    *out = (VkCuFunctionNVX)(uintptr_t)made;
    return VK_SUCCESS;
}

void VKAPI_CALL soft_vk_destroy_cu_function(VkDevice handle, VkCuFunctionNVX object,
                                            const VkAllocationCallbacks *callbacks)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    if (!device->soft) {
        device->next.DestroyCuFunctionNVX(handle, object, callbacks);
        return;
    }
    if (object == VK_NULL_HANDLE) return;
    function_release((function *)(uintptr_t)object);
    atomic_fetch_sub(&soft_vk_functions, 1);
    remove_user(device);
}

/* Recording ----------------------------------------------------------------------------------- */

static size_t padded(uint32_t size)
{
    return ((size_t)size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* CU_LAUNCH_PARAM_BUFFER_POINTER, the block, CU_LAUNCH_PARAM_BUFFER_SIZE, its size, the end. */
static const unsigned char *block_of(const VkCuLaunchInfoNVX *info, size_t *size)
{
    const unsigned char *block = NULL;
    if (!info->pExtras) return NULL;
    for (const void *const *at = info->pExtras; *at; at += 2) {
        if ((uintptr_t)*at == 1) block = at[1];
        if ((uintptr_t)*at == 2) memcpy(size, at[1], sizeof(*size));
    }
    return block;
}

/* NULL, and why. The values are read now, as NVIDIA's driver does. */
static launch *make_launch(const VkCuLaunchInfoNVX *info, const char **why)
{
    function *f = (function *)(uintptr_t)info->function;
    const culv_soft_kernel *kernel = f->kernel->kernel;
    const culv_soft_dim3 grid = {info->gridDimX, info->gridDimY, info->gridDimZ},
                         block = {info->blockDimX, info->blockDimY, info->blockDimZ};
    size_t total = 0, block_size = 0;
    const unsigned char *params = block_of(info, &block_size);
    *why = "its grid, block or dynamic shared memory is beyond the device's limits";
    if (cuda.check(f->kernel, grid, block, info->sharedMemBytes) != 0) return NULL;
    *why = "it takes other parameters";
    if (params ? block_size != cuda.offset(f->kernel, kernel->num_params)
               : info->paramCount != kernel->num_params)
        return NULL;
    *why = NULL;
    for (uint32_t i = 0; i < kernel->num_params; i++)
        total += padded(kernel->param_sizes[i]);
    launch *made = calloc(1, sizeof(*made));
    if (!made) return NULL;
    const size_t pointers =
        (kernel->num_params * sizeof(void *) + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    made->params = aligned_alloc(ALIGNMENT, pointers + total);
    if (!made->params) {
        free(made);
        return NULL;
    }
    unsigned char *at = (unsigned char *)made->params + pointers;
    for (uint32_t i = 0; i < kernel->num_params; i++) {
        memcpy(at, params ? params + cuda.offset(f->kernel, i) : info->pParams[i],
               kernel->param_sizes[i]);
        made->params[i] = at;
        at += padded(kernel->param_sizes[i]);
    }
    atomic_init(&made->references, 1);
    atomic_fetch_add(&f->references, 1);
    made->function = f;
    made->grid = grid;
    made->block = block;
    made->shared_bytes = info->sharedMemBytes;
    return made;
}

static void record_events(const soft_vk_device *device, VkCommandBuffer commands)
{
    const VkPipelineStageFlags all = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                               host = VK_PIPELINE_STAGE_HOST_BIT;
    const soft_vk_kernels *k = device->kernels;
    device->next.CmdWaitEvents(commands, 1, &k->set, host, all, 0, NULL, 0, NULL, 0, NULL);
    device->next.CmdResetEvent(commands, k->done, all);
    device->next.CmdSetEvent(commands, k->called, all);
    device->next.CmdWaitEvents(commands, 1, &k->done, host, all, 0, NULL, 0, NULL, 0, NULL);
}

void VKAPI_CALL soft_vk_cmd_launch(VkCommandBuffer commands, const VkCuLaunchInfoNVX *info)
{
    soft_vk_device *device = soft_vk_device_find(commands);
    if (!device->soft) {
        device->next.CmdCuLaunchKernelNVX(commands, info);
        return;
    }
    soft_vk_kernels *k = device->kernels;
    const char *why;
    launch *made = make_launch(info, &why);
    pthread_mutex_lock(&k->lock);
    record *r = *find_record(k, commands);
    VkResult result = made ? VK_SUCCESS : VK_ERROR_OUT_OF_HOST_MEMORY;
    if (!made && why) {
        const function *f = (const function *)(uintptr_t)info->function;
        fprintf(stderr, "VK_LAYER_CULVERT_soft: a launch of the kernel '%s' is not recorded: %s\n",
                f->kernel->kernel->name, why);
        result = VK_ERROR_UNKNOWN;
    }
    if (result == VK_SUCCESS && (!r || !append(&r->launches, &r->count, &r->capacity, made)))
        result = VK_ERROR_OUT_OF_HOST_MEMORY;
    if (r && r->result == VK_SUCCESS) r->result = result;
    pthread_mutex_unlock(&k->lock);
    if (made) launch_release(made);
    if (result == VK_SUCCESS) record_events(device, commands);
}

void VKAPI_CALL soft_vk_cmd_execute(VkCommandBuffer commands, uint32_t count,
                                    const VkCommandBuffer *secondary)
{
    soft_vk_device *device = soft_vk_device_find(commands);
    soft_vk_kernels *k = device->kernels;
    if (k) {
        pthread_mutex_lock(&k->lock);
        record *to = *find_record(k, commands);
        for (uint32_t i = 0; to && i < count; i++) {
            const record *from = *find_record(k, secondary[i]);
            for (size_t n = 0; from && n < from->count; n++)
                if (!append(&to->launches, &to->count, &to->capacity, from->launches[n]))
                    to->result = VK_ERROR_OUT_OF_HOST_MEMORY;
        }
        pthread_mutex_unlock(&k->lock);
    }
    device->next.CmdExecuteCommands(commands, count, secondary);
}

VkResult soft_vk_AllocateCommandBuffers(soft_vk_device *device, VkDevice handle,
                                        const VkCommandBufferAllocateInfo *info,
                                        VkCommandBuffer *out)
{
    soft_vk_kernels *k = device->kernels;
    VkResult result = device->next.AllocateCommandBuffers(handle, info, out);
    if (!k || result != VK_SUCCESS) return result;
    pthread_mutex_lock(&k->lock);
    for (uint32_t i = 0; i < info->commandBufferCount; i++) {
        record *made = calloc(1, sizeof(*made));
        if (!made) {
            result = VK_ERROR_OUT_OF_HOST_MEMORY;
            break;
        }
        *made = (record){.link = k->records, .commands = out[i], .pool = info->commandPool};
        k->records = made;
    }
    pthread_mutex_unlock(&k->lock);
    if (result != VK_SUCCESS)
        soft_vk_free_commands(handle, info->commandPool, info->commandBufferCount, out);
    return result;
}

VkResult soft_vk_BeginCommandBuffer(soft_vk_device *device, VkCommandBuffer commands,
                                    const VkCommandBufferBeginInfo *info)
{
    soft_vk_kernels *k = device->kernels;
    if (k) {
        pthread_mutex_lock(&k->lock);
        record *r = *find_record(k, commands);
        if (r) forget_launches(r);
        pthread_mutex_unlock(&k->lock);
    }
    return device->next.BeginCommandBuffer(commands, info);
}

VkResult soft_vk_EndCommandBuffer(soft_vk_device *device, VkCommandBuffer commands)
{
    soft_vk_kernels *k = device->kernels;
    VkResult result = device->next.EndCommandBuffer(commands);
    if (!k) return result;
    pthread_mutex_lock(&k->lock);
    const record *r = *find_record(k, commands);
    if (result == VK_SUCCESS && r) result = r->result;
    pthread_mutex_unlock(&k->lock);
    return result;
}

void VKAPI_CALL soft_vk_free_commands(VkDevice handle, VkCommandPool pool, uint32_t count,
                                      const VkCommandBuffer *commands)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    soft_vk_kernels *k = device->kernels;
    if (k) {
        pthread_mutex_lock(&k->lock);
        for (uint32_t i = 0; i < count; i++) {
            record **link = find_record(k, commands[i]);
            if (*link && commands[i]) free_record(link);
        }
        pthread_mutex_unlock(&k->lock);
    }
    device->next.FreeCommandBuffers(handle, pool, count, commands);
}

void VKAPI_CALL soft_vk_destroy_command_pool(VkDevice handle, VkCommandPool pool,
                                             const VkAllocationCallbacks *callbacks)
{
    soft_vk_device *device = soft_vk_device_find(handle);
    soft_vk_kernels *k = device->kernels;
    if (k) {
        pthread_mutex_lock(&k->lock);
        for (record **link = &k->records; *link;) {
            if ((*link)->pool == pool)
                free_record(link);
            else
                link = &(*link)->link;
        }
        pthread_mutex_unlock(&k->lock);
    }
    device->next.DestroyCommandPool(handle, pool, callbacks);
}
