/* SPDX-License-Identifier: MIT */
/* Loading a CUDA driver and listing what it has. */
#include "cuda/driver.h"

#include "base/platform.h"
#include "cuda/cuda_trace.h"

#include <stdatomic.h>
#include <stdio.h>

const char *culvi_driver_name(culv_driver kind)
{
    return kind == CULV_DRIVER_SOFT ? "software twin" : "NVIDIA driver";
}

/* NULL: `text` says where it was looked for and what to do. */
static void *open_twin(culvi_text *text)
{
    char dir[1024], path[1536], why[512];
    /* Under culvert-soft-run it is loaded by another path, and a second one would be another
     * driver. */
    void *loaded = culvi_module_loaded(culvi_soft_library);
    if (loaded != NULL) return loaded;
    bool self = culvi_module_self_dir(dir, sizeof dir);
    const char *env = culvi_environment("CULVERT_SOFT_PATH");
    const struct {
        const char *directory, *below;
    } places[] = {
        {self ? dir : NULL, ""},
        /* a program in bin/ that holds the static library, and its lib/ beside */
        {self ? dir : NULL, "/../lib"},
        {env, ""},
        /* Where the system's linker looks: an installed twin serves a program with a static
         * libculvert, which has no directory of its own. */
        {"", ""}};
    const char *before = " (";
    size_t begin = text->length;
    culvi_text_add(text, "%s could not be loaded", culvi_soft_library);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (places[i].directory == NULL) continue;
        const bool is_path = places[i].directory[0] != '\0';
        int n = snprintf(path, sizeof path, "%s%s%s%s", places[i].directory, places[i].below,
                         is_path ? "/" : "", culvi_soft_library);
        if (n < 0 || (size_t)n >= sizeof path) continue;
        void *module = culvi_module_open(path, why, sizeof why);
        if (module != NULL) {
            text->length = begin;
            text->data[begin] = '\0';
            return module;
        }
        if (is_path && !culvi_module_exists(path))
            snprintf(why, sizeof why, "none in '%s%s'", places[i].directory, places[i].below);
        culvi_text_add(text, "%s%s", before, why);
        before = ", ";
    }
    culvi_text_add(text, "). ");
    if (culvi_privileged())
        culvi_text_add(
            text,
            "This program has rights that its user lacks (setuid or the like), so CULVERT_SOFT_PATH is not read, and a static libculvert has no directory of its own");
    else
        culvi_text_add(
            text,
            "Install the software twin, or set CULVERT_SOFT_PATH to the directory that has it");
    return NULL;
}

static void *open_library(culv_driver kind, culvi_text *text)
{
    char why[512] = "";
    if (kind == CULV_DRIVER_SOFT) return open_twin(text);
    void *module = culvi_module_open(culvi_cuda_library, why, sizeof why);
    if (module == NULL)
        culvi_text_add(text, "%s could not be loaded (%s)", culvi_cuda_library, why);
    if (module == NULL || culvi_module_symbol(module, "culvSoftTwin") == NULL) return module;
    culvi_text_add(
        text,
        "%s is the software twin in this process, as culvert-soft-run and wine-run arrange it; allow the twin by CULVERT_SOFT=1 and open the device with CULV_DRIVER_AUTO or CULV_DRIVER_SOFT",
        culvi_cuda_library);
    culvi_module_close(module);
    return NULL;
}

static bool resolve_with(const culvi_cuda *cuda, const char *name, int version, cuuint64_t flags,
                         void *out, size_t size)
{
    void *address = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    memset(out, 0, size);
    /* Success with a NULL address happens: a symbol known and not there for this version. */
    if (cuda->get_proc(name, &address, version, flags, &status) != CUDA_SUCCESS || address == NULL)
        return false;
    memcpy(out, &address, size);
    return true;
}

static bool resolve(const culvi_cuda *cuda, const char *name, int version, void *out, size_t size)
{
    return resolve_with(cuda, name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, out, size);
}

enum { REQUIRED = 1, OPTIONAL = 0 };

/* The names in one block, so that a loader has no pointers to fill in. */
static const struct names {
#define CULV_CU(name, version, need) char name[sizeof #name];
#include "cuda/cuda_procs.h"
#undef CULV_CU
} names = {
#define CULV_CU(name, version, need) #name,
#include "cuda/cuda_procs.h"
#undef CULV_CU
};

static const struct {
    uint16_t name, member; /* where they are in `names` and in a culvi_cuda */
    uint16_t version;
    uint16_t need;
} procs[] = {
#define CULV_CU(name, version, need)                                                               \
    {offsetof(struct names, name), offsetof(culvi_cuda, name), version, need},
#include "cuda/cuda_procs.h"
#undef CULV_CU
};

static bool resolve_all(culvi_cuda *cuda, culvi_text *text)
{
    for (size_t i = 0; i < sizeof procs / sizeof procs[0]; i++) {
        const char *name = (const char *)&names + procs[i].name;
        if (resolve(cuda, name, procs[i].version, (char *)cuda + procs[i].member,
                    sizeof cuda->cuInit) ||
            procs[i].need == OPTIONAL)
            continue;
        culvi_text_add(text, "it lacks %s", name);
        return false;
    }
    return true;
}

/* Loads and initializes a driver. It does not record a failure as an error, since the other driver
 * may still serve: `text` and *reason say why. */
static culvi_cuda *open_driver(const culvi_voice *voice, culv_driver kind, culvi_text *text,
                               culv_reason *reason)
{
    culvi_cuda *cuda = culvi_alloc(sizeof *cuda);
    culvi_text_add(text, "%s: ", culvi_driver_name(kind));
    if (cuda == NULL) {
        *reason = CULV_REASON_HOST_MEMORY;
        culvi_text_add(text, "out of memory");
        return NULL;
    }
    cuda->kind = kind;
    cuda->module = open_library(kind, text);
    if (cuda->module == NULL) {
        *reason = kind == CULV_DRIVER_SOFT ? CULV_REASON_SOFT_MISSING : CULV_REASON_DRIVER_MISSING;
        goto free_cuda;
    }
    void *get_proc = culvi_module_symbol(cuda->module, "cuGetProcAddress_v2");
    memcpy(&cuda->get_proc, &get_proc, sizeof cuda->get_proc);
    *reason = CULV_REASON_DRIVER_TOO_OLD;
    if (cuda->get_proc == NULL) culvi_text_add(text, "it lacks %s", "cuGetProcAddress_v2");
    if (cuda->get_proc == NULL || !resolve_all(cuda, text)) {
        culvi_text_add(text, "%s",
                       kind == CULV_DRIVER_SOFT ? ": it is not of the same version as Culvert"
                                                : ": older than 525 (CUDA 12.0), please update it");
        goto close_module;
    }
    CUresult r = CULVI_CU_OF(voice, cuda, cuInit, (0));
    if (r != CUDA_SUCCESS) {
        const char *name = NULL;
        cuda->cuGetErrorName(r, &name);
        culvi_text_add(text, "cuInit answered %s (%d)", name != NULL ? name : "an unknown error",
                       (int)r);
        const char *visible = culvi_environment("CUDA_VISIBLE_DEVICES");
        if (r == CUDA_ERROR_NO_DEVICE && kind == CULV_DRIVER_NVIDIA && visible != NULL)
            culvi_text_add(text, " (CUDA_VISIBLE_DEVICES=%s may hide devices)", visible);
        if (r == CUDA_ERROR_NO_DEVICE && kind == CULV_DRIVER_SOFT)
            culvi_text_add(
                text,
                " (it found no CPU Vulkan device: install the Vulkan loader and Mesa's lavapipe, and let VK_DRIVER_FILES not exclude it)");
        if (r == CUDA_ERROR_NOT_INITIALIZED)
            culvi_text_add(
                text,
                ": this process is a child of fork(), whose parent has used CUDA; call exec, or start processes before the first CUDA call (Python: multiprocessing's \"spawn\")");
        *reason = r == CUDA_ERROR_NOT_INITIALIZED ? CULV_REASON_FORKED : CULV_REASON_DRIVER_INIT;
        goto close_module;
    }
    if (CULVI_CU_OF(voice, cuda, cuDriverGetVersion, (&cuda->version)) != CUDA_SUCCESS) {
        culvi_text_add(text, "cuDriverGetVersion failed");
        *reason = CULV_REASON_DRIVER_INIT;
        goto close_module;
    }
    *reason = CULV_REASON_NONE;
    return cuda;

close_module:
    culvi_module_close(cuda->module);
free_cuda:
    culvi_free(cuda);
    return NULL;
}

void culvi_cuda_close(culvi_cuda *cuda)
{
    if (cuda == NULL) return;
    culvi_module_close(cuda->module);
    culvi_free(cuda);
}

void (*culvi_cuda_proc(const culvi_cuda *cuda, const char *name, int version))(void)
{
    void (*proc)(void) = NULL;
    resolve(cuda, name, version, &proc, sizeof proc);
    return proc;
}

void (*culvi_cuda_proc_per_thread(const culvi_cuda *cuda, const char *name, int version))(void)
{
    void (*proc)(void) = NULL;
    /* Forms for a thread's stream came with CUDA 7.0, whatever the version of the legacy form. */
    resolve_with(cuda, name, version > 7000 ? version : 7000,
                 CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &proc, sizeof proc);
    return proc;
}

static void begin_problem(culvi_text *text)
{
    if (text->length > 0) culvi_text_add(text, "; ");
}

/* Outside Windows, and of devices in TCC mode, drivers refuse it or leave zeros. */
static void read_luid(const culvi_voice *voice, culvi_cuda_device *out)
{
    char bytes[8] = {0};
    culv_luid luid;
    unsigned node_mask = 0;
    if (out->cuda->cuDeviceGetLuid == NULL ||
        CULVI_CU_OF(voice, out->cuda, cuDeviceGetLuid, ((void *)bytes, &node_mask, out->ordinal)) !=
            CUDA_SUCCESS)
        return;
    memcpy(luid.bytes, bytes, sizeof luid.bytes);
    if (!culvi_luid_given(&luid) || node_mask == 0) return;
    out->luid = luid;
    out->node_mask = node_mask;
    out->luid_valid = true;
}

/* Reads one device; a device that cannot be read is left out, and said. */
static bool read_device(const culvi_voice *voice, const culvi_cuda *cuda, int index,
                        culvi_cuda_device *out, culvi_text *text)
{
    CUuuid uuid;
    out->cuda = cuda;
    CUresult r = CULVI_CU_OF(voice, cuda, cuDeviceGet, (&out->ordinal, index));
    if (r == CUDA_SUCCESS)
        r = CULVI_CU_OF(voice, cuda, cuDeviceGetName,
                        (out->name, (int)sizeof out->name, out->ordinal));
    if (r == CUDA_SUCCESS) r = CULVI_CU_OF(voice, cuda, cuDeviceGetUuid, (&uuid, out->ordinal));
    if (r != CUDA_SUCCESS) {
        begin_problem(text);
        culvi_text_add(text, "%s: device %d could not be read (error %d)",
                       culvi_driver_name(cuda->kind), index, (int)r);
        return false;
    }
    memcpy(out->uuid.bytes, uuid.bytes, sizeof out->uuid.bytes);
    out->mig = strstr(out->name, " MIG ") != NULL;
    read_luid(voice, out);
    return true;
}

static culv_result list_devices(const culvi_voice *voice, culvi_probe *probe,
                                const culvi_cuda *cuda, culvi_text *text)
{
    int count = 0;
    if (CULVI_CU_OF(voice, cuda, cuDeviceGetCount, (&count)) != CUDA_SUCCESS) {
        begin_problem(text);
        culvi_text_add(text, "%s: cuDeviceGetCount failed", culvi_driver_name(cuda->kind));
        return CULV_OK;
    }
    if (count <= 0) return CULV_OK;
    size_t total = probe->num_devices + (size_t)count;
    culvi_cuda_device *devices = culvi_alloc(total * sizeof *devices);
    if (devices == NULL) return culvi_fail_host_memory(voice, NULL);
    if (probe->num_devices > 0)
        memcpy(devices, probe->devices, probe->num_devices * sizeof *devices);
    culvi_free(probe->devices);
    probe->devices = devices;
    for (int i = 0; i < count; i++)
        if (read_device(voice, cuda, i, &devices[probe->num_devices], text)) probe->num_devices++;
    return CULV_OK;
}

culv_result culvi_probe_open(const culvi_voice *voice, culv_driver kind, culvi_probe *probe)
{
    memset(probe, 0, sizeof *probe);
    probe->asked = kind;
    if (kind != CULV_DRIVER_AUTO && kind != CULV_DRIVER_NVIDIA && kind != CULV_DRIVER_SOFT)
        return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "culv_device_desc.driver is %d; it is one of culv_driver", (int)kind);
    culvi_text twin = {probe->twin, sizeof probe->twin, 0};
    culvi_text others = {probe->others, sizeof probe->others, 0};
    for (int i = 0; i < 2; i++) {
        culv_driver driver = i == 0 ? CULV_DRIVER_NVIDIA : CULV_DRIVER_SOFT;
        if (kind != CULV_DRIVER_AUTO && kind != driver) continue;
        if (kind == CULV_DRIVER_AUTO && driver == CULV_DRIVER_SOFT && !culvi_soft_allowed())
            continue;
        culv_reason reason = CULV_REASON_NONE;
        culvi_text *text = driver == CULV_DRIVER_SOFT ? &twin : &others;
        probe->drivers[i] = open_driver(voice, driver, text, &reason);
        if (probe->drivers[i] == NULL && reason == CULV_REASON_HOST_MEMORY) {
            culvi_probe_close(probe);
            return culvi_fail_host_memory(voice, NULL);
        }
        if (probe->drivers[i] == NULL) {
            if (probe->reason == CULV_REASON_NONE || reason == CULV_REASON_FORKED)
                probe->reason = reason;
            if (driver == CULV_DRIVER_SOFT) probe->twin_reason = reason;
            if (reason != CULV_REASON_FORKED) continue;
            /* It explains the other driver's answer, too. */
            if (text == &twin) memcpy(probe->others, probe->twin, sizeof probe->twin);
            probe->twin[0] = '\0';
            break;
        }
        text->length = 0;
        text->data[0] = '\0';
        CULVI_TRY_OR(list_devices(voice, probe, probe->drivers[i], &others),
                     culvi_probe_close(probe));
    }
    snprintf(probe->problems, sizeof probe->problems, "%s%s%s", probe->twin,
             probe->twin[0] != '\0' && probe->others[0] != '\0' ? "; " : "", probe->others);
    return CULV_OK;
}

void culvi_probe_close(culvi_probe *probe)
{
    culvi_free(probe->devices);
    probe->devices = NULL;
    probe->num_devices = 0;
    for (int i = 0; i < 2; i++) {
        culvi_cuda_close(probe->drivers[i]);
        probe->drivers[i] = NULL;
    }
}

const culvi_cuda_device *culvi_probe_find(const culvi_probe *probe, const culv_uuid *uuid)
{
    for (uint32_t i = 0; i < probe->num_devices; i++)
        if (culvi_uuid_equal(&probe->devices[i].uuid, uuid)) return &probe->devices[i];
    return NULL;
}

const culvi_cuda_device *culvi_probe_find_luid(const culvi_probe *probe, const culv_luid *luid,
                                               uint32_t node_mask, bool *linked)
{
    *linked = false;
    for (uint32_t i = 0; i < probe->num_devices; i++) {
        const culvi_cuda_device *d = &probe->devices[i];
        if (!d->luid_valid || !culvi_luid_equal(&d->luid, luid)) continue;
        if (d->node_mask == node_mask) return d;
        *linked = true;
    }
    return NULL;
}

void culvi_probe_describe(const culvi_probe *probe, culvi_text *text)
{
    if (probe->twin[0] != '\0') culvi_text_add(text, "%s; ", probe->twin);
    culvi_probe_describe_others(probe, text);
}

void culvi_probe_describe_others(const culvi_probe *probe, culvi_text *text)
{
    if (probe->reason == CULV_REASON_FORKED) {
        culvi_text_add(text, "%s", probe->problems);
        return;
    }
    if (probe->num_devices == 0) culvi_text_add(text, "no CUDA device");
    for (uint32_t i = 0; i < probe->num_devices; i++) {
        const culvi_cuda_device *d = &probe->devices[i];
        culvi_text_add(text, "%s%s device %d '%s' UUID ", i > 0 ? ", " : "",
                       culvi_driver_name(d->cuda->kind), (int)d->ordinal, d->name);
        culvi_text_add_uuid(text, &d->uuid);
        if (d->luid_valid) {
            culvi_text_add(text, " ");
            culvi_text_add_luid(text, &d->luid, d->node_mask);
        }
    }
    if (probe->others[0] != '\0') culvi_text_add(text, "; %s", probe->others);
    const char *visible = culvi_environment("CUDA_VISIBLE_DEVICES");
    if (visible != NULL && probe->drivers[0] != NULL)
        culvi_text_add(text, "; CUDA_VISIBLE_DEVICES=%s may hide others", visible);
}

/* Allowing the software twin ------------------------------------------------------------------ */

/* A switch of the process, as CULVERT_SOFT=1 is: it says what this machine may use, and holds no
 * state. */
static atomic_bool allowed;

/* What people write to switch something off; upper case counts as lower case. */
static bool means_off(const char *value)
{
    static const char *const words[] = {"", "0", "off", "no", "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = 0;
        while (words[i][at] != '\0' && (value[at] | 0x20) == (words[i][at] | 0x20))
            at++;
        if (words[i][at] == '\0' && value[at] == '\0') return true;
    }
    return false;
}

bool culvi_soft_allowed(void)
{
    if (atomic_load(&allowed)) return true;
    const char *value = culvi_environment("CULVERT_SOFT");
    return value != NULL && !means_off(value);
}

culv_bool culv_soft_enabled(void)
{
    return culvi_soft_allowed() ? 1 : 0;
}

/* The twin, not this library, touches the environment. */
static const char *ask_twin(void *module, const char *function)
{
    const char *(*get)(void) = NULL;
    void *symbol = culvi_module_symbol(module, function);
    memcpy(&get, &symbol, sizeof get);
    return get != NULL ? get() : NULL;
}

const char *culvi_soft_ask(const char *function)
{
    CULVI_TEXT(text, 1536);
    void *module = open_twin(&text);
    if (module == NULL) return NULL;
    const char *answer = ask_twin(module, function);
    culvi_module_close(module); /* it stays loaded, and so does the answer */
    return answer;
}

culv_result culv_soft_enable(void)
{
    CULVI_TEXT(text, 1536);
    void *module = open_twin(&text);
    CULVI_UNSUPPORTED_IF(module == NULL, NULL, NULL, CULV_REASON_SOFT_MISSING, "software twin: %s",
                         text.data);
    if (!atomic_load(&allowed)) ask_twin(module, "culvSoftAddLayerPath");
    culvi_module_close(module);
    atomic_store(&allowed, true);
    return CULV_OK;
}
