/* SPDX-License-Identifier: MIT */
/* A library with NVML's calls that Culvert makes. It knows one device, whatever its name. */
#include "played_nvml.h"

#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED played_nvml culvPlayedNvml;

struct bar1 {
    unsigned long long total, free, used;
};

EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlShutdown(void);
EXPORTED int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device);
EXPORTED int nvmlDeviceGetBAR1MemoryInfo(void *device, struct bar1 *out);
EXPORTED const char *nvmlErrorString(int result);

static int answer(int call)
{
    return culvPlayedNvml.fails_at == call ? culvPlayedNvml.code : 0;
}

int nvmlInit_v2(void)
{
    if (answer(1) == 0) culvPlayedNvml.inits++;
    return answer(1);
}

int nvmlShutdown(void)
{
    culvPlayedNvml.shutdowns++;
    return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, void **device)
{
    snprintf(culvPlayedNvml.bus_id, sizeof culvPlayedNvml.bus_id, "%s", bus_id);
    if (answer(2) == 0) *device = &culvPlayedNvml;
    return answer(2);
}

int nvmlDeviceGetBAR1MemoryInfo(void *device, struct bar1 *out)
{
    if (device != &culvPlayedNvml) return 2; /* NVML_ERROR_INVALID_ARGUMENT */
    if (answer(3) == 0)
        *out = (struct bar1){culvPlayedNvml.total, culvPlayedNvml.total - culvPlayedNvml.used,
                             culvPlayedNvml.used};
    return answer(3);
}

const char *nvmlErrorString(int result)
{
    (void)result;
    return "played";
}
