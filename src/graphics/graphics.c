/* SPDX-License-Identifier: MIT */
/* Attachments: identity, references, counts. */
#include "graphics/graphics.h"

#include "cuda/retire.h"
#include "graphics/graphics_ring.h"

void culvi_graphics_init(culvi_graphics *graphics, const culvi_graphics_api *api,
                         culv_device *device, const char *label)
{
    graphics->api = api;
    graphics->device = device;
    atomic_init(&graphics->refs, 1);
    culvi_label_set(graphics->label, label);
}

bool culvi_graphics_same_node(const culv_luid *a, uint32_t a_mask, const culv_luid *b,
                              uint32_t b_mask)
{
    if (!culvi_luid_given(a) || !culvi_luid_equal(a, b)) return true;
    return a_mask == b_mask && (a_mask & (a_mask - 1)) == 0;
}

/* Another GPU's attachment: whether the device reaches the memory of that GPU. Measured with two
 * H200 and raw calls (docs/two-gpus.md). */
static culv_result check_across(const culvi_graphics *graphics)
{
    const culv_device *device = graphics->device;
    const culvi_voice *voice = &device->voice;
    int owner = -1;
    bool reaches = false;
    CULVI_UNSUPPORTED_IF(
        (int)CULVI_SYSTEM != (int)CULVI_SYSTEM_POSIX, voice, graphics->label,
        CULV_REASON_HANDLE_TYPE,
        "Culvert shares memory with another GPU on Linux only. Open the device with %s(), or set %s.fallback for copies",
        graphics->api->words->open_call, graphics->api->words->attach_desc);
    CULVI_TRY(culvi_reach_ask(device, &graphics->uuid, graphics->label, &owner, &reaches));
    if (owner < 0) {
        CULVI_TEXT(text, 128);
        culvi_text_add_uuid(&text, &graphics->uuid);
        return culvi_fail(
            voice, graphics->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DEVICE_UNKNOWN,
            "the CUDA driver of '%s' shows no device with the UUID %s of '%s', so it is not known whether the one reaches the memory of the other. Both must be of NVIDIA's driver, and CUDA_VISIBLE_DEVICES must list both; or set %s.fallback for copies",
            device->caps.name, text.data, graphics->name, graphics->api->words->attach_desc);
    }
    if (reaches) return CULV_OK;
    return culvi_fail(
        voice, graphics->label, CULV_ERROR_UNSUPPORTED, CULV_REASON_PEER,
        "'%s', CUDA device %d, does not reach memory of '%s', device %d (cuDeviceCanAccessPeer says so; `nvidia-smi topo -p2p r` shows the pairs). Set %s.fallback for copies",
        device->caps.name, (int)device->ordinal, graphics->name, owner,
        graphics->api->words->attach_desc);
}

/* Where the two cannot be brought together, a fallback takes the place of an error. */
static culv_result go_across(culvi_graphics *graphics, uint32_t fallback)
{
    const culvi_voice *voice = &graphics->device->voice;
    if (fallback != 0) culvi_attempt_begin();
    culv_result result = check_across(graphics);
    graphics->across = result == CULV_OK;
    if (fallback == 0) return result;
    if (result != CULV_ERROR_UNSUPPORTED) return culvi_attempt_end(voice, result);
    culvi_log(voice, CULV_LOG_INFO, "'%s' shares nothing with '%s': %s", graphics->name,
              graphics->device->caps.name, culv_last_error_message());
    return culvi_attempt_end(voice, CULV_OK);
}

culv_result culvi_graphics_identify(culvi_graphics *graphics, uint32_t fallback,
                                    bool allow_other_gpu)
{
    const culv_device *device = graphics->device;
    const culvi_words *words = graphics->api->words;
    graphics->foreign = !culvi_uuid_equal(&graphics->uuid, &device->caps.uuid);
    CULVI_REFUSE_IF(
        !graphics->foreign && !culvi_graphics_same_node(&graphics->luid, graphics->node_mask,
                                                        &device->caps.luid, device->caps.node_mask),
        &device->voice, graphics->label, CULV_REASON_DEVICE_GROUP,
        "'%s' has node mask %#x among linked GPUs, but the culv_device '%s' has node mask %#x; open the device of that node (culv_device_open_by_luid())",
        graphics->name, (unsigned)graphics->node_mask, device->caps.name,
        (unsigned)device->caps.node_mask);
    if (graphics->foreign && allow_other_gpu) return go_across(graphics, fallback);
    if (!graphics->foreign || fallback != 0) return CULV_OK;
    CULVI_TEXT(text, 768);
    culvi_text_add(&text, "'%s' UUID ", graphics->name);
    culvi_text_add_uuid(&text, &graphics->uuid);
    culvi_text_add(&text, ", but the culv_device is '%s' UUID ", device->caps.name);
    culvi_text_add_uuid(&text, &device->caps.uuid);
    return culvi_fail(
        &device->voice, graphics->label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the %s is %s; open the device with %s(), which finds the one that matches, %sor set %s.fallback for copies",
        words->physical_device, text.data, words->open_call, words->cross, words->attach_desc);
}

void culvi_graphics_attached(culvi_graphics *graphics)
{
    culv_device *device = graphics->device;
    culvi_device_ref(device);
    culvi_mutex_lock(&device->lock);
    device->counts.attached_devices++;
    graphics->id = ++device->attached;
    culvi_mutex_unlock(&device->lock);
    culvi_log(&device->voice, CULV_LOG_INFO, "attached %s device '%s'%s",
              graphics->api->words->name, graphics->name,
              graphics->across    ? ", which is another GPU: its buffers and semaphores are shared"
              : graphics->foreign ? ", which is another GPU: nothing is shared with it"
                                  : "");
}

void culvi_graphics_ref(culvi_graphics *graphics)
{
    atomic_fetch_add_explicit(&graphics->refs, 1, memory_order_relaxed);
}

void culvi_graphics_unref(culvi_graphics *graphics)
{
    culv_device *device = graphics->device;
    if (atomic_fetch_sub_explicit(&graphics->refs, 1, memory_order_acq_rel) != 1) return;
    culvi_graphics_let_go(graphics);
    culvi_sources_forget(device, graphics);
    /* What Culvert made with it makes its last native calls. */
    culvi_wait_and_collect_for(device, graphics, NULL, NULL);
    if (graphics->there != NULL) culvi_graphics_unref(graphics->there);
    culv_device *peer = NULL;
    culvi_mutex_lock(&device->lock);
    if (graphics->peer != NULL) peer = culvi_peer_release(device, graphics->peer);
    device->counts.attached_devices--;
    culvi_mutex_unlock(&device->lock);
    culv_device_close(&peer);
    culvi_log(&device->voice, CULV_LOG_INFO, "detached %s device '%s'", graphics->api->words->name,
              graphics->name);
    graphics->api->free(graphics);
    culvi_device_unref(device);
}

void culvi_graphics_object_made(culvi_graphics *graphics)
{
    culvi_graphics_ref(graphics);
    CULVI_LOCKED(&graphics->device->lock, graphics->device->counts.created++);
}

void culvi_graphics_object_gone(culvi_graphics *graphics)
{
    CULVI_LOCKED(&graphics->device->lock, graphics->device->counts.created--);
    culvi_graphics_unref(graphics);
}

static culv_result refuse_across(const culvi_graphics *graphics, const char *label,
                                 culvi_share what)
{
    return culvi_fail(
        &graphics->device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_DEVICE_MISMATCH,
        "the %s device '%s' is another GPU than the culv_device '%s', and %s. %s",
        graphics->api->words->name, graphics->name, graphics->device->caps.name,
        what == CULVI_SHARE_IMAGES
            ? "drivers map its images as arrays on its own GPU alone (measured)"
            : "it would see wrong words in memory of that one without an error (measured)",
        what == CULVI_SHARE_IMAGES
            ? "Share a buffer and copy it into the image on its GPU, or set `fallback` to CULV_FALLBACK_PEER for an image with copies"
            : "Let the graphics API's GPU own the memory (make the buffer or the ring with it, or import its memory), or attach to a culv_device of that GPU");
}

culv_result culvi_graphics_check_shares(const culvi_graphics *graphics, const char *label,
                                        culvi_share what)
{
    const culvi_graphics_api *api = graphics->api;
    const bool both = what == CULVI_SHARE_BUFFERS || what == CULVI_SHARE_SEMAPHORES;
    if (!graphics->foreign || (graphics->across && both))
        return api->check_exports != NULL
                   ? api->check_exports(graphics, label, what == CULVI_SHARE_SEMAPHORES)
                   : CULV_OK;
    if (graphics->across) return refuse_across(graphics, label, what);
    return culvi_fail(
        &graphics->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_DEVICE_MISMATCH,
        "the %s device '%s' is another GPU than the culv_device '%s'; this attachment shares nothing with it: %sor let what Culvert makes be copied (`fallback`)",
        api->words->name, graphics->name, graphics->device->caps.name, api->words->cross);
}

culv_result culvi_graphics_peer(culvi_graphics *graphics, const char *label, culvi_graphics **out)
{
    culv_device *device = graphics->device;
    CULVI_UNSUPPORTED_IF(graphics->api->attach_again == NULL, &device->voice, label,
                         CULV_REASON_PEER, "Culvert has no copies to another GPU for %s",
                         graphics->api->words->name);
    CULVI_UNSUPPORTED_IF(!graphics->foreign, &device->voice, label, CULV_REASON_PEER,
                         "'%s' is the culv_device's own GPU, so there is no other one to copy to",
                         graphics->name);
    culv_result result = CULV_OK;
    culvi_mutex_lock(&device->lock);
    if (graphics->peer == NULL)
        result = culvi_peer_acquire(device, &graphics->uuid, label, &graphics->peer);
    if (result == CULV_OK && graphics->across) culvi_peer_enable(device, graphics->peer);
    if (result == CULV_OK) result = culvi_peer_verify(device, graphics->peer, label);
    if (result == CULV_OK && graphics->there == NULL)
        /* It attaches as the caller did: a missing extension is a reason for the next path, not an
         * error. */
        result = graphics->api->attach_again(graphics, graphics->peer->device, &graphics->there);
    culvi_mutex_unlock(&device->lock);
    if (result == CULV_OK) *out = graphics->there;
    return result;
}
