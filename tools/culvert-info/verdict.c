/* SPDX-License-Identifier: MIT */
/* culvert-info: the one line that comes first, and what to try where nothing is reachable. */
#include "info.h"

#include <stdlib.h>
#include <string.h>

static const char *set_variable(const struct report *report, const char *a, const char *b)
{
    for (size_t i = 0; i < report->num_variables; i++) {
        const struct variable *v = &report->variables[i];
        if (v->value != NULL && (strcmp(v->name, a) == 0 || (b != NULL && strcmp(v->name, b) == 0)))
            return v->name;
    }
    return NULL;
}

static bool say_reachable(struct report *report)
{
    bool hardware = false;
    bool any = false;
    for (uint32_t i = 0; i < report->num_graphics; i++) {
        any = any || report->graphics[i].reachable;
        hardware = hardware || (report->graphics[i].reachable &&
                                report->graphics[i].match.driver == CULV_DRIVER_NVIDIA);
    }
    if (!any) return false;
    text_set(report->verdict, sizeof report->verdict,
             "CUDA and Vulkan can share memory %s: ", hardware ? "on" : "in software only");
    const char *separator = "";
    for (uint32_t i = 0; i < report->num_graphics; i++) {
        const struct graphics_device *d = &report->graphics[i];
        if (!d->reachable) continue;
        bool soft = d->match.driver == CULV_DRIVER_SOFT;
        text_add(report->verdict, sizeof report->verdict, "%s%s (Vulkan device %u = %s %d)",
                 separator, d->match.name, d->index,
                 soft ? "software twin's device" : "CUDA device", (int)d->match.cuda_ordinal);
        separator = ", ";
    }
    return true;
}

/* A Vulkan device and a CUDA device are one, and sharing fails for another cause. */
static const struct graphics_device *matched_in_vain(const struct report *report)
{
    for (uint32_t i = 0; i < report->num_graphics; i++)
        if (report->graphics[i].match.cuda_ordinal >= 0) return &report->graphics[i];
    return NULL;
}

static bool vulkan_has(const struct report *report, uint32_t vendor)
{
    for (uint32_t i = 0; i < report->num_graphics; i++)
        if (report->graphics[i].vendor_id == vendor) return true;
    return false;
}

/* Vulkan shows no device, or no NVIDIA device although CUDA has one. */
static void hint_vulkan(struct report *report, bool want_nvidia)
{
    char *hint = report->hint;
    size_t size = sizeof report->hint;
    const char *files = set_variable(report, "VK_DRIVER_FILES", "VK_ICD_FILENAMES");
    const char *select =
        set_variable(report, "VK_LOADER_DRIVERS_SELECT", "VK_LOADER_DRIVERS_DISABLE");
    if (report->vulkan.path[0] == '\0')
        text_set(hint, size, "%s", words.get_loader);
    else if (files != NULL || select != NULL)
        text_set(hint, size, "unset or correct %s, which decides which drivers Vulkan loads",
                 files != NULL ? files : select);
    else if (want_nvidia && report->system.nvidia_icd[0] != '\0')
        text_set(
            hint, size,
            "VK_LOADER_DEBUG=error,driver culvert-info, which says why NVIDIA's Vulkan driver does not come up although %s lists it (libGLX_nvidia.so.0 and what it loads must be there)",
            report->system.nvidia_icd);
    else if (want_nvidia)
        text_set(hint, size, "%s", words.get_nvidia);
    else
        text_set(hint, size, "%s", words.get_driver);
}

/* CUDA shows no device. */
static void hint_cuda(struct report *report)
{
    char *hint = report->hint;
    size_t size = sizeof report->hint;
    const struct system_info *system = &report->system;
    const struct cuda_driver *nvidia = &report->drivers[0];
    const struct cuda_driver *twin = &report->drivers[1];
    if (twin->asked && twin->reason == CULV_REASON_SOFT_MISSING)
        text_set(
            hint, size,
            "install the software twin beside libculvert, or set CULVERT_SOFT_PATH to its directory");
    else if (twin->asked)
        text_set(hint, size, "%s", words.get_lavapipe);
    else if (nvidia->path[0] != '\0' && set_variable(report, "CUDA_VISIBLE_DEVICES", NULL) != NULL)
        text_set(hint, size, "unset CUDA_VISIBLE_DEVICES, which hides devices");
    else if (nvidia->path[0] != '\0')
        text_set(hint, size,
                 "nvidia-smi, which shows whether NVIDIA's kernel module and driver work; "
                 "or culvert-info --soft, for the software twin (CUDA on the CPU)");
    else if (system->nvidia_kernel_version[0] != '\0')
        text_set(
            hint, size,
            "%s, of release %s, as the kernel module is; "
            "in a container, start it with NVIDIA's runtime (--gpus all) and NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics",
            words.get_cuda, system->nvidia_kernel_version);
    else if (system->nvidia_gpus > 0)
        text_set(hint, size, "install NVIDIA's driver: the PCI bus has %d NVIDIA GPU%s",
                 system->nvidia_gpus, system->nvidia_gpus > 1 ? "s" : "");
    else
        text_set(
            hint, size,
            "culvert-info --soft, for the software twin (CUDA on the CPU): no NVIDIA GPU is seen here");
}

/* Neither side shows a device. */
static void hint_both(struct report *report)
{
    char vulkan[TEXT_SIZE];
    const struct cuda_driver *twin = &report->drivers[1];
    hint_vulkan(report, report->system.nvidia_gpus > 0);
    /* A twin that is there has no device because Vulkan has none. */
    if (twin->asked && twin->reason != CULV_REASON_SOFT_MISSING) return;
    text_set(vulkan, sizeof vulkan, "%s", report->hint);
    hint_cuda(report);
    text_add(vulkan, sizeof vulkan, "; then %s", report->hint);
    text_set(report->hint, sizeof report->hint, "%s", vulkan);
}

static void say_unreachable(struct report *report)
{
    char cause[TEXT_SIZE] = "";
    const struct graphics_device *vain = matched_in_vain(report);
    const struct cuda_driver *nvidia = &report->drivers[0];
    const struct cuda_driver *twin = &report->drivers[1];
    bool any_cuda = report->num_cuda > 0;
    char no_cuda[128], no_vulkan[128];
    if (nvidia->path[0] != '\0')
        text_set(no_cuda, sizeof no_cuda, "CUDA shows no device");
    else if (twin->asked)
        text_set(no_cuda, sizeof no_cuda, "neither %s nor the software twin works", words.cuda);
    else
        text_set(no_cuda, sizeof no_cuda, "there is no CUDA driver (%s)", words.cuda);
    if (report->vulkan.path[0] == '\0')
        text_set(no_vulkan, sizeof no_vulkan, "there is no Vulkan (%s)", words.vulkan);
    else
        text_set(no_vulkan, sizeof no_vulkan, "Vulkan has no %s",
                 report->vulkan.instance == VK_NULL_HANDLE ? "driver" : "device");
    if (report->num_graphics == 0 && !any_cuda) {
        text_set(cause, sizeof cause, "%s, and %s", no_vulkan, no_cuda);
        hint_both(report);
    } else if (report->num_graphics == 0) {
        text_set(cause, sizeof cause, "CUDA has %d device%s, but %s", report->num_cuda,
                 report->num_cuda > 1 ? "s" : "", no_vulkan);
        hint_vulkan(report, nvidia->num_devices > 0);
    } else if (!any_cuda) {
        text_set(cause, sizeof cause, "%s", no_cuda);
        hint_cuda(report);
    } else if (vain != NULL) {
        text_set(cause, sizeof cause, "%s is in both, %s", vain->match.name,
                 vain->match.binary_opaque_fd_export && !vain->match.timeline_opaque_fd_export
                     ? "and shares memory and binary semaphores, but no timelines"
                     : "but cannot share");
        text_set(report->hint, sizeof report->hint, "what the section of that device says");
        const char *how = strstr(vain->match.reason_text, "if that list is empty, ");
        if (vain->reason == CULV_REASON_LAYER_MISSING && how != NULL)
            text_set(report->hint, sizeof report->hint,
                     "%s: the Vulkan loader does not find the twin's layer", strchr(how, ',') + 2);
    } else if (nvidia->num_devices > 0 && !vulkan_has(report, PCI_VENDOR_NVIDIA)) {
        text_set(cause, sizeof cause, "CUDA has %d device%s, and Vulkan shows none of NVIDIA",
                 nvidia->num_devices, nvidia->num_devices > 1 ? "s" : "");
        hint_vulkan(report, true);
    } else {
        text_set(cause, sizeof cause, "no Vulkan device is a CUDA device");
        text_set(report->hint, sizeof report->hint, "%s",
                 vulkan_has(report, PCI_VENDOR_NVIDIA)
                     ? "nvidia-smi -L, for hidden devices (CUDA_VISIBLE_DEVICES) and MIG mode"
                     : "what the sections of the devices say");
    }
    text_set(report->verdict, sizeof report->verdict, "Nothing here is reachable: %s.", cause);
}

void verdict_make(struct report *report)
{
    report->reachable = say_reachable(report);
    if (!report->reachable) say_unreachable(report);
}

int opengl_graphics(const struct report *report, const struct opengl_device *device)
{
    for (uint32_t i = 0; device->has_uuid && i < report->num_graphics; i++)
        if (memcmp(&report->graphics[i].match.uuid, &device->uuid, sizeof device->uuid) == 0)
            return (int)i;
    return -1;
}

/* culvert-info: environment variables. */

/* Those that decide what CUDA, Vulkan and Culvert see. */
static const char *const names[] = {"CUDA_VISIBLE_DEVICES",
                                    "CUDA_DEVICE_ORDER",
                                    "NVIDIA_VISIBLE_DEVICES",
                                    "NVIDIA_DRIVER_CAPABILITIES",
                                    "VK_DRIVER_FILES",
                                    "VK_ICD_FILENAMES",
                                    "VK_ADD_DRIVER_FILES",
                                    "VK_LOADER_DRIVERS_SELECT",
                                    "VK_LOADER_DRIVERS_DISABLE",
                                    "VK_LAYER_PATH",
                                    "VK_ADD_LAYER_PATH",
                                    "VK_INSTANCE_LAYERS",
                                    "VK_LOADER_LAYERS_ENABLE",
                                    "VK_LOADER_LAYERS_DISABLE",
                                    "CULVERT_SOFT",
                                    "CULVERT_SOFT_PATH",
                                    "CULVERT_SOFT_DEVICES",
                                    "CULVERT_SOFT_FAIL_AT",
                                    "CULVERT_SOFT_DELAY",
                                    "CULVERT_LOG",
                                    "LD_LIBRARY_PATH",
                                    "LD_PRELOAD"};

void variables_read(struct report *report)
{
    report->num_variables = sizeof names / sizeof names[0];
    report->variables = must_alloc(report->num_variables, sizeof *report->variables);
    for (size_t i = 0; i < report->num_variables; i++) {
        const char *value = getenv(names[i]);
        report->variables[i].name = names[i];
        if (value == NULL) continue;
        size_t size = strlen(value) + 1;
        report->variables[i].value = must_alloc(size, 1);
        memcpy(report->variables[i].value, value, size);
    }
}
