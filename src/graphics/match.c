/* SPDX-License-Identifier: MIT */
/* Native devices and their CUDA match. */
#include "graphics/match.h"

static void add_device(culvi_text *text, const culvi_words *words, const culvi_adapter *adapter)
{
    culvi_text_add(text, "%s device '%s' UUID ", words->name, adapter->name);
    culvi_text_add_uuid(text, &adapter->uuid);
    if (!culvi_luid_given(&adapter->luid)) return;
    culvi_text_add(text, " ");
    culvi_text_add_luid(text, &adapter->luid, adapter->node_mask);
}

/* A driver that is absent explains only what it would have served. */
static culv_reason no_match_reason(const culvi_probe *probe, const culvi_adapter *adapter)
{
    bool nvidia = adapter->nvidia;
    if (nvidia && probe->drivers[0] == NULL && probe->reason != CULV_REASON_NONE)
        return probe->reason;
    for (uint32_t i = 0; nvidia && i < probe->num_devices; i++)
        if (probe->devices[i].mig) return CULV_REASON_DEVICE_SLICE;
    return CULV_REASON_DEVICE_UNKNOWN;
}

/* Adds the likely cause for a device without a CUDA match. */
static void add_cause(culvi_text *text, const culvi_words *words, const culvi_probe *probe,
                      const culvi_adapter *adapter)
{
    const char *cause = adapter->cause;
    if (adapter->software) {
        culvi_text_add(text, "It is a software %s device", words->name);
        cause =
            cause != NULL ? cause
            : probe->asked == CULV_DRIVER_NVIDIA
                ? ": its CUDA partner is Culvert's software twin, which culv_device_desc.driver excludes"
            : probe->asked == CULV_DRIVER_AUTO && !culvi_soft_allowed()
                ? ": its CUDA partner is Culvert's software twin, which has to be installed and allowed (CULVERT_SOFT=1 or culv_soft_enable())"
            : probe->drivers[1] == NULL
                ? ": its CUDA partner is Culvert's software twin, which is not in use for the reason above"
                : " that the software twin does not have: the twin found another Vulkan driver (VK_DRIVER_FILES)";
    } else if (!adapter->nvidia) {
        cause =
            "It is not an NVIDIA GPU, so CUDA cannot reach it; rank the devices and draw on another";
    } else if (cause == NULL && probe->asked == CULV_DRIVER_SOFT) {
        cause =
            "It is an NVIDIA GPU: its CUDA partner is NVIDIA's driver, which culv_device_desc.driver excludes";
    } else if (cause == NULL && probe->drivers[0] == NULL) {
        cause =
            "It is an NVIDIA GPU: its CUDA partner is NVIDIA's driver, which is not in use for the reason above (a container needs the compute capability)";
    } else if (cause == NULL) {
        cause =
            "It is an NVIDIA GPU that CUDA does not show: look at CUDA_VISIBLE_DEVICES, at MIG mode, and whether the container was given the compute capability";
    }
    culvi_text_add(text, "%s", cause);
}

const culvi_cuda_device *culvi_match_find(const culvi_words *words, const culvi_probe *probe,
                                          const culvi_adapter *adapter, culv_reason *reason,
                                          culvi_text *why)
{
    const culvi_cuda_device *found = culvi_probe_find(probe, &adapter->uuid);
    if (found != NULL && !culvi_graphics_same_node(&adapter->luid, adapter->node_mask, &found->luid,
                                                   found->node_mask)) {
        *reason = CULV_REASON_DEVICE_GROUP;
        add_device(why, words, adapter);
        culvi_text_add(
            why,
            " is a node of linked GPUs, and CUDA device %d '%s' with that UUID has node mask %#x",
            (int)found->ordinal, found->name, (unsigned)found->node_mask);
    }
    if (found != NULL) return found;
    *reason = no_match_reason(probe, adapter);
    add_device(why, words, adapter);
    culvi_text_add(why, " has no CUDA partner among: ");
    culvi_probe_describe(probe, why);
    culvi_text_add(why, ". ");
    add_cause(why, words, probe, adapter);
    return NULL;
}

typedef struct asker {
    const culvi_words *words;
    const culvi_adapter *adapter;
} asker;

static void describe(const void *self, const culvi_voice *voice, const culvi_probe *probe,
                     culvi_text *description, culvi_text *hint)
{
    const asker *a = self;
    (void)voice;
    add_device(description, a->words, a->adapter);
    add_cause(hint, a->words, probe, a->adapter);
}

culv_result culvi_match_open(const culvi_words *words, const culvi_adapter *adapter,
                             const culv_device_desc *desc, culv_device **out)
{
    const asker self = {words, adapter};
    return culvi_device_open(&adapter->uuid, -1, describe, &self, desc, out);
}
