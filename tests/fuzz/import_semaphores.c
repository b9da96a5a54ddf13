/* SPDX-License-Identifier: MIT */
/* Semaphores of the import target. Nothing here may wait for what nobody signals: a driver would
 * wait for ever. */
#include "control.h"
#include "import.h"

static VkSemaphore timeline(import_state *s)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
                                            .initialValue = 5};
    const VkExportSemaphoreCreateInfo export_info = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
        .pNext = &type,
        .handleTypes = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                        .pNext = &export_info};
    if (s->timeline == VK_NULL_HANDLE)
        FUZZ_REQUIRE(vkCreateSemaphore(fuzz.vk_device, &info, NULL, &s->timeline) == VK_SUCCESS,
                     "a timeline");
    return s->timeline;
}

static int export_timeline(import_state *s)
{
    VkSemaphoreGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR,
                                    .semaphore = timeline(s),
                                    .handleType = VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT};
    int fd = -1;
    FUZZ_REQUIRE(vkGetSemaphoreFdKHR(fuzz.vk_device, &info, &fd) == VK_SUCCESS,
                 "its file descriptor");
    return fd;
}

/* A binary semaphore that the twin plays; -1 where there is none. */
static int played_binary(void)
{
    void (*found)(void) = culv_device_cuda_proc(fuzz.device, "culvSoftBinaryCreate", 0);
    int (*create)(const uint8_t[16], int *);
    int fd = -1;
    if (found == NULL) return -1;
    memcpy(&create, &found, sizeof found);
    FUZZ_REQUIRE(create(fuzz.caps.uuid.bytes, &fd) == 0, "a binary semaphore");
    return fd;
}

static void keep(import_state *s, uint32_t slot, culv_semaphore *semaphore, bool silent)
{
    culv_semaphore_destroy(&s->semaphores[slot], NULL);
    s->semaphores[slot] = semaphore;
    s->silent[slot] = silent;
}

static void read_desc(fuzz_reader *r, culv_semaphore_desc *d, culv_semaphore_type usual)
{
    *d = culv_semaphore_desc_init();
    d->type = (culv_semaphore_type)(fuzz_rarely(r, 8) ? fuzz_enum(r, 3) : (uint32_t)usual);
    d->value = fuzz_value(r, 0);
    d->signal_pending = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    d->untracked = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    if (fuzz_rarely(r, 4)) d->exporter = fuzz.caps.uuid;
    if (fuzz_rarely(r, 16)) d->exporter.bytes[3] ^= fuzz_u8(r);
    d->label = fuzz_label(r);
}

void import_semaphore(fuzz_reader *r, import_state *s)
{
    culv_semaphore_desc d;
    uint32_t slot = fuzz_pick(r, SLOTS);
    uint8_t what = fuzz_u8(r);
    bool goes = fuzz_flag(r), binary = (what & 1) != 0;
    read_desc(r, &d, binary ? CULV_SEMAPHORE_BINARY : CULV_SEMAPHORE_TIMELINE);
    int fd = what >= 192 ? import_fd(r) : binary ? played_binary() : export_timeline(s);
    d.handle = culv_handle_opaque_fd(fd);
    d.handle.type =
        (culv_handle_type)(fuzz_rarely(r, 16) ? fuzz_enum(r, 5) : CULV_HANDLE_OPAQUE_FD);
    bool was_open = import_fd_is_open(fd);
    culv_semaphore_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_semaphore *out = FUZZ_POISON(culv_semaphore);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_semaphore_import(fuzz.device, desc, &out));
    fuzz_disarm();
    import_fd_kept(fd, was_open);
    if (result == CULV_OK && goes) culv_handle_close(&d.handle);
    if (result == CULV_OK) {
        /* Of binary ones the other side is only told of, so they say nothing but what is refused.
         * What is no semaphore NVIDIA's driver takes for one (memory: measured); then nobody knows
         * what a signal does. */
        bool foreign = what >= 192;
        FUZZ_REQUIRE(!foreign || !fuzz.caps.is_software, "what is no semaphore was imported");
        if (foreign)
            (void)fuzz_note("fuzz.foreign_semaphore",
                            "a file descriptor that is none was imported");
        keep(s, slot, out, foreign || !fuzz_box_whole(desc) || d.type == CULV_SEMAPHORE_BINARY);
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_semaphore), "written after an error");
    fuzz_unbox(desc);
}

static void create(fuzz_reader *r, import_state *s, uint32_t slot)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.type = (culv_semaphore_type)fuzz_enum(r, 3);
    d.initial_value = fuzz_value(r, 0);
    d.untracked = fuzz_rarely(r, 4) ? fuzz_value32(r, 1) : 0;
    d.label = fuzz_label(r);
    if (fuzz_rarely(r, 16)) d.fallback = 4 | fuzz_value32(r, 0); /* no such path */
    culv_vk_semaphore_create_desc *desc = fuzz_rarely(r, 16) ? NULL : fuzz_box(r, &d, sizeof d);
    culv_shared_semaphore *out = FUZZ_POISON(culv_shared_semaphore);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_semaphore_create(fuzz.vk, desc, &out));
    fuzz_disarm();
    if (result == CULV_OK) {
        FUZZ_REQUIRE(culv_vk_semaphore_handle(out) != VK_NULL_HANDLE &&
                         culv_shared_semaphore_cuda(out) != NULL,
                     "half a semaphore");
        culv_semaphore *cuda = culv_shared_semaphore_cuda(out);
        culv_semaphore_destroy(&cuda, NULL); /* is refused */
        FUZZ_REQUIRE(cuda != NULL, "its CUDA half went alone");
        culv_shared_semaphore_destroy(&s->made[slot], NULL);
        s->made[slot] = out;
        s->binary[slot] =
            desc != NULL && !(fuzz_box_whole(desc) && d.type == CULV_SEMAPHORE_TIMELINE);
    } else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_shared_semaphore), "written after an error");
    if (desc != NULL) fuzz_unbox(desc);
}

void import_vulkan_semaphore(fuzz_reader *r, import_state *s)
{
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    uint32_t slot = fuzz_pick(r, SLOTS);
    if (fuzz_flag(r)) {
        create(r, s, slot);
        return;
    }
    d.semaphore = fuzz_rarely(r, 16) ? VK_NULL_HANDLE : timeline(s);
    /* A timeline said to be binary is not found out, and would be a lie to the driver. */
    d.type =
        (culv_semaphore_type)(fuzz_rarely(r, 8) ? fuzz_value32(r, 0) | 4 : CULV_SEMAPHORE_TIMELINE);
    d.untracked = fuzz_rarely(r, 8) ? fuzz_value32(r, 1) : 0;
    d.signal_pending = fuzz_rarely(r, 8) ? fuzz_value32(r, 1) : 0;
    d.label = fuzz_label(r);
    culv_vk_semaphore_desc *desc = fuzz_box(r, &d, sizeof d);
    culv_semaphore *out = FUZZ_POISON(culv_semaphore);
    fuzz_arm(r);
    culv_result result = FUZZ_CALL(culv_vk_semaphore_import(fuzz.vk, desc, &out));
    fuzz_disarm();
    if (result == CULV_OK)
        keep(s, slot, out, false);
    else
        FUZZ_REQUIRE(out == FUZZ_POISON(culv_semaphore), "written after an error");
    fuzz_unbox(desc);
}

/* Semaphores of different timelines: of one that was imported twice, a signal could step back
 * behind a wait. */
static void batch(fuzz_reader *r, import_state *s)
{
    culv_semaphore_point points[CULV_SEMAPHORE_BATCH_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_semaphore *semaphore = culv_shared_semaphore_cuda(s->made[i]);
        if (semaphore != NULL && s->binary[i]) continue;
        points[count].semaphore = semaphore; /* or NULL */
        points[count++].value = fuzz_value(r, culv_semaphore_last_value(semaphore) + 1);
        if (fuzz_rarely(r, 16)) points[count - 1] = points[0]; /* twice */
    }
    if (fuzz_rarely(r, 16))
        count = CULV_SEMAPHORE_BATCH_MAX + 1 + fuzz_u8(r); /* too many are not read */
    if (FUZZ_CALL(culv_semaphore_signal_batch(points, count, fuzz.stream)) != CULV_OK) return;
    FUZZ_REQUIRE(FUZZ_CALL(culv_semaphore_wait_batch(points, count, fuzz.stream)) == CULV_OK, "%s",
                 culv_last_error_message());
}

void import_use_semaphore(fuzz_reader *r, import_state *s)
{
    uint32_t slot = fuzz_pick(r, SLOTS);
    culv_semaphore *semaphore = s->semaphores[slot];
    if (fuzz_flag(r) && s->made[slot] != NULL && !s->binary[slot])
        semaphore = culv_shared_semaphore_cuda(s->made[slot]);
    else if (s->silent[slot])
        semaphore = NULL;
    uint64_t last = culv_semaphore_last_value(semaphore), value = fuzz_value(r, last + 1);
    switch (fuzz_pick(r, 6)) {
    case 0:
    case 1: {
        culv_result result = FUZZ_CALL(culv_semaphore_signal(semaphore, fuzz.stream, value));
        FUZZ_REQUIRE(result != CULV_OK || value > last, "%llu after %llu",
                     (unsigned long long)value, (unsigned long long)last);
        /* Only for what was just signaled on the same stream. */
        if (result == CULV_OK)
            FUZZ_REQUIRE(FUZZ_CALL(culv_semaphore_wait(semaphore, fuzz.stream, value)) == CULV_OK,
                         "%s", culv_last_error_message());
        break;
    }
    case 2: culv_semaphore_mark_value(semaphore, value); break;
    case 3: (void)FUZZ_CALL(culv_semaphore_mark_signaled(s->semaphores[slot])); break;
    case 4: (void)FUZZ_CALL(culv_semaphore_mark_waited(s->semaphores[slot])); break;
    default: batch(r, s);
    }
}

void import_drop_semaphores(import_state *s)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        culv_semaphore_destroy(&s->semaphores[i], NULL);
        culv_shared_semaphore_destroy(&s->made[i], NULL);
    }
    if (s->timeline != VK_NULL_HANDLE) vkDestroySemaphore(fuzz.vk_device, s->timeline, NULL);
}
