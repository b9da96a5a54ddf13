/* SPDX-License-Identifier: MIT */
/* The driver's functions as a table for the caller. */
#include "culvert/cuda_api.h"

#include "cuda/device.h"

#include <stdlib.h>

/* Which cuda.h calls a form by its plain name. */
enum {
    FORM_ANY,
    FORM_12,
    FORM_13,
    FORM_ALL = FORM_ANY,
    FORM_FROM_12010 = FORM_ANY,
    FORM_FROM_12020 = FORM_ANY,
    FORM_FROM_12030 = FORM_ANY,
    FORM_FROM_12040 = FORM_ANY,
    FORM_FROM_12050 = FORM_ANY,
    FORM_FROM_12080 = FORM_ANY,
    FORM_CUDA_12 = FORM_12,
    FORM_CUDA_12_FROM_12020 = FORM_12,
    FORM_CUDA_13_FROM_12020 = FORM_13,
    FORM_CUDA_13_FROM_12030 = FORM_13,
    FORM_CUDA_13_FROM_12050 = FORM_13
};

typedef void (*function)(void);

/* The names in one block, so that a loader has no pointers to fill in. */
static const struct names {
#define NAME(name, version, kind) char name##_##version[sizeof "cu" #name];
    CULV_CUDA_API_LIST(NAME)
#undef NAME
} names = {
#define NAME(name, version, kind) "cu" #name,
    CULV_CUDA_API_LIST(NAME)
#undef NAME
};

typedef struct entry {
    uint16_t name; /* where it begins in `names` */
    uint16_t version;
    int form;
} entry;

static const entry entries[] = {
#define ENTRY(name, version, kind) {offsetof(struct names, name##_##version), version, FORM_##kind},
    CULV_CUDA_API_LIST(ENTRY)
#undef ENTRY
};

static const char *name_of(const entry *e)
{
    return (const char *)&names + e->name;
}

enum { NUM_ENTRIES = sizeof entries / sizeof entries[0] };

/* The members are functions, one after another, in the order of the entries. */
enum { FIRST = sizeof(culv_cuda_api) - NUM_ENTRIES * sizeof(function) };
_Static_assert(FIRST == offsetof(culv_cuda_api, cuGetErrorName), "a member for each entry");
_Static_assert(sizeof(culv_cuda_api) <= CULV_CUDA_API_ROOM, "later versions need room too");

static const culv_cuda_api *get_table(culv_device *device, bool per_thread)
{
    culvi_cuda_table *table = &device->tables[per_thread];
    if (atomic_load_explicit(&device->tables_filled[per_thread], memory_order_acquire))
        return &table->api;
    culvi_mutex_lock(&device->lock);
    if (!atomic_load_explicit(&device->tables_filled[per_thread], memory_order_relaxed)) {
        table->api.struct_size = sizeof table->api;
        for (size_t i = 0; i < NUM_ENTRIES; i++) {
            function found =
                per_thread
                    ? culvi_cuda_proc_per_thread(device->cuda, name_of(&entries[i]),
                                                 entries[i].version)
                    : culvi_cuda_proc(device->cuda, name_of(&entries[i]), entries[i].version);
            memcpy(table->room + FIRST + i * sizeof found, &found, sizeof found);
        }
        atomic_store_explicit(&device->tables_filled[per_thread], true, memory_order_release);
    }
    culvi_mutex_unlock(&device->lock);
    return &table->api;
}

const culv_cuda_api *culv_device_cuda_api(culv_device *device, culv_bool per_thread)
{
    return device != NULL ? get_table(device, per_thread != 0) : NULL;
}

/* Whether `name` is the entry's, also as cuda.h's macros make it: cuMemAlloc_v2,
 * cuMemcpyHtoD_v2_ptds. A suffix that is a CUDA version, as in cuMemAdvise_v8000, says which form
 * is meant. */
static bool is_named(const entry *e, const char *name, int cuda_version)
{
    size_t length = strlen(name_of(e));
    if (strncmp(name, name_of(e), length) != 0) return false;
    const char *rest = name + length;
    if (rest[0] == '_' && rest[1] == 'v') {
        char *end = NULL;
        long version = strtol(rest + 2, &end, 10);
        if (end == rest + 2) return false;
        rest = end;
        if (version >= 1000 && (version != e->version || *rest != '\0')) return false;
        if (version >= 1000) return true;
    }
    if (*rest != '\0' && strcmp(rest, "_ptds") != 0 && strcmp(rest, "_ptsz") != 0) return false;
    return e->form == FORM_ANY || (e->form == FORM_13) == (cuda_version >= 13000);
}

culv_result culv_check_cuda_api(culv_device *device, const char *name, int cuda_version)
{
    CULVI_REQUIRE2(NULL, device, name);
    /* cuda.h makes the other name of it. */
    if (strcmp(name, "cuGraphInstantiate") == 0) name = "cuGraphInstantiateWithFlags";
    size_t i = 0;
    while (i < NUM_ENTRIES && !is_named(&entries[i], name, cuda_version))
        i++;
    CULVI_REFUSE_IF(
        i == NUM_ENTRIES, &device->voice, NULL, CULV_REASON_VALUE,
        name[0] != '\0'
            ? "culv_cuda_api has no function '%s'; culv_device_cuda_proc() asks the driver for any function of it"
            : "the name of the function is empty%s; culv_device_cuda_proc() asks the driver for any function by its name",
        name);
    function found;
    memcpy(&found, (const char *)get_table(device, false) + FIRST + i * sizeof found, sizeof found);
    if (found != NULL) return CULV_OK;
    const entry *e = &entries[i];
    const int have = device->cuda->version;
    CULVI_UNSUPPORTED_IF(
        e->version > have, &device->voice, NULL, CULV_REASON_DRIVER_TOO_OLD,
        "the %s is of CUDA %d.%d and lacks %s, which came with CUDA %d.%d; update the driver, or do without the call",
        culvi_driver_name(device->cuda->kind), have / 1000, have % 1000 / 10, name_of(e),
        e->version / 1000, e->version % 1000 / 10);
    CULVI_UNSUPPORTED_IF(
        device->cuda->kind == CULV_DRIVER_SOFT, &device->voice, NULL, CULV_REASON_DRIVER_TOO_OLD,
        "the software twin lacks %s, which NVIDIA's driver has since CUDA %d.%d; docs/software-twin.md says what the twin has",
        name_of(e), e->version / 1000, e->version % 1000 / 10);
    return culvi_fail(
        &device->voice, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_DRIVER_TOO_OLD,
        "the NVIDIA driver is of CUDA %d.%d and lacks %s, although that came with CUDA %d.%d; drivers for some platforms lack it",
        have / 1000, have % 1000 / 10, name_of(e), e->version / 1000, e->version % 1000 / 10);
}
