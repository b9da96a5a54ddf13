/* SPDX-License-Identifier: MIT */
/* An attachment whose GPU is another one than the device's: what the device may do with its memory.
 * Measured with two H200 and raw calls (docs/two-gpus.md). */
#include "graphics/graphics.h"

#include "base/handle.h"

#include <inttypes.h>

culv_result culvi_across_check(const culvi_graphics *graphics)
{
    const culv_device *device = graphics->device;
    const culvi_voice *voice = &device->voice;
    int owner = -1;
    bool reaches = false;
    if ((int)CULVI_SYSTEM != (int)CULVI_SYSTEM_POSIX)
        return culvi_fail(voice, graphics->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
                          "Culvert shares memory with another GPU on Linux only. Open the device "
                          "with %s(), or set %s.fallback for copies",
                          graphics->api->words->open_call, graphics->api->words->attach_desc);
    culv_result result =
        culvi_reach_ask(device, &graphics->uuid, graphics->label, &owner, &reaches);
    if (result != CULV_OK) return result;
    if (owner < 0) {
        CULVI_TEXT(text, 128);
        culvi_text_add_uuid(&text, &graphics->uuid);
        return culvi_fail(
            voice, graphics->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DEVICE_UNKNOWN,
            "the CUDA driver of '%s' shows no device with the UUID %s of '%s', so it is not known "
            "whether the one reaches the memory of the other. Both must be of NVIDIA's driver, and "
            "CUDA_VISIBLE_DEVICES must list both; or set %s.fallback for copies",
            device->caps.name, text.data, graphics->name, graphics->api->words->attach_desc);
    }
    if (reaches) return CULV_OK;
    return culvi_fail(voice, graphics->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_PEER,
                      "'%s', CUDA device %d, does not reach memory of '%s', device %d "
                      "(cuDeviceCanAccessPeer says so; `nvidia-smi topo -p2p r` shows the pairs). "
                      "Set %s.fallback for copies",
                      device->caps.name, (int)device->ordinal, graphics->name, owner,
                      graphics->api->words->attach_desc);
}

culv_result culvi_across_refuse(const culvi_graphics *graphics, const char *label, culvi_share what)
{
    return culvi_fail(
        &graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DEVICE_MISMATCH,
        "the %s device '%s' is another GPU than the culv_device '%s', and %s. %s",
        graphics->api->words->name, graphics->name, graphics->device->caps.name,
        what == CULVI_SHARE_IMAGES
            ? "drivers map its images as arrays on its own GPU alone (measured)"
            : "it would see wrong words in memory of that one without an error (measured)",
        what == CULVI_SHARE_IMAGES
            ? "Share a buffer and copy it into the image on its GPU, or set `fallback` to "
              "CULV_FALLBACK_PEER for an image with copies"
            : "Let the graphics API's GPU own the memory (make the buffer or the ring with it, or "
              "import its memory), or attach to a culv_device of that GPU");
}

/* Chosen before the driver is asked: of a wrong one it closes the file descriptor. Memory of 2 MiB
 * and more is mapped by VMM, where copies run at 390 GB/s in place of 367. */
culv_result culvi_across_choose(const culvi_graphics *graphics, const culvi_memory_ask *ask,
                                culvi_memory_way *out)
{
    const culv_device *device = graphics->device;
    const culvi_words *words = graphics->api->words;
    const bool maps = device->caps.vmm && !device->caps.cig_context;
    const bool by_vmm = !ask->dedicated || (maps && ask->size >= CULVI_PLACED_UNIT);
    *out = by_vmm ? CULVI_MEMORY_PLACED : CULVI_MEMORY_ACROSS;
    if (ask->dedicated) return CULV_OK;
    if (!maps)
        return culvi_fail(&device->voice, ask->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_VMM,
                          "memory of another GPU that is not dedicated to one buffer is mapped by "
                          "VMM, which %s '%s' lacks; give the buffer memory of its own (%s)",
                          device->caps.cig_context ? "a CIG context of" : "the device",
                          device->caps.name, words->dedicated);
    if (ask->size % CULVI_PLACED_UNIT == 0) return CULV_OK;
    return culvi_fail(
        &device->voice, ask->label, CULV_ERROR_INVALID, CULV_REASON_SIZE,
        "%s.%s is %" PRIu64 ", and memory of another GPU that is not dedicated to "
        "one buffer maps in multiples of %" PRIu64 " bytes alone (measured): allocate "
        "such a size, or give the buffer memory of its own (%s)",
        words->memory_desc, words->memory_size, ask->size, CULVI_PLACED_UNIT, words->dedicated);
}
