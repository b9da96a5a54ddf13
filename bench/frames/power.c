/* SPDX-License-Identifier: MIT */
/* See power.h. The functions are those of nvml.h, without its header. */
#include "power.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static bool find(const power *p, const char *name, void *out)
{
    void *found = dlsym(p->library, name);
    memcpy(out, &found, sizeof found);
    return found != NULL;
}

/* "GPU-00112233-4455-6677-8899-aabbccddeeff" */
static void spell(char out[48], const uint8_t uuid[16])
{
    size_t at = (size_t)snprintf(out, 48, "GPU-");
    for (size_t i = 0; i < 16; i++)
        at += (size_t)snprintf(out + at, 48 - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

void power_open(power *p, const uint8_t uuid[16], bool software)
{
    int (*init)(void), (*by_uuid)(const char *uuid, void **device);
    unsigned long long energy;
    char name[48];
    *p = (power){.obstacle = "the twin draws no power of its own"};
    if (software) return;
    p->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    p->obstacle = "power: libnvidia-ml.so.1 is not there";
    if (p->library == NULL) return;
    spell(name, uuid);
    p->obstacle = "power: libnvidia-ml.so.1 does not tell it of this GPU";
    if (!find(p, "nvmlInit_v2", &init) || !find(p, "nvmlDeviceGetHandleByUUID", &by_uuid) ||
        !find(p, "nvmlDeviceGetTotalEnergyConsumption", &p->total_energy))
        return;
    if (init() != 0 || by_uuid(name, &p->device) != 0 || p->total_energy(p->device, &energy) != 0)
        return;
    p->obstacle = NULL;
}

void power_close(power *p)
{
    int (*shutdown)(void);
    if (p->library != NULL && find(p, "nvmlShutdown", &shutdown)) (void)shutdown();
    if (p->library != NULL) dlclose(p->library);
    *p = (power){.obstacle = "closed"};
}

double power_energy(const power *p)
{
    unsigned long long millijoules = 0;
    if (p->obstacle != NULL || p->total_energy(p->device, &millijoules) != 0) return 0;
    return (double)millijoules * 1e-3;
}
