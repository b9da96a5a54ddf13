/* SPDX-License-Identifier: MIT */
/* culvert-info: environment variables. */
#include "info.h"

#include <stdlib.h>
#include <string.h>

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
