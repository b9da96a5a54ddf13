/* SPDX-License-Identifier: MIT */
/* Semaphores that are imported or made wrongly: each its class and reason, nothing consumed,
 * nothing left. */
#define TEST_GROUP "errors."
#include "bad_handles.h"

static void refuse(const lib_world *w, const bad_handle *handle)
{
    static const culv_semaphore_type types[] = {CULV_SEMAPHORE_TIMELINE, CULV_SEMAPHORE_BINARY};
    culv_semaphore *semaphore = NULL;
    for (int i = 0; i < 2; i++) {
        culv_semaphore_desc d = culv_semaphore_desc_init();
        d.handle = culv_handle_opaque_fd(handle->fd);
        d.type = types[i];
        LIB_REFUSES_AS(semaphore, culv_semaphore_import(w->device, &d, &semaphore), handle->result,
                       handle->reason);
    }
}

LIB_CASE(wrong_fds)
{
    bad_handles_try(w, 65536, refuse);
}

LIB_CASE(wrong_descriptors)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    lib_fd fd = lib_fd_watch(raw_vk_timeline_fd(&w->vk, timeline));
    culv_semaphore_desc right = culv_semaphore_desc_init();
    right.type = CULV_SEMAPHORE_TIMELINE;
    right.handle = culv_handle_opaque_fd(fd.fd);
    memcpy(right.exporter.bytes, w->vk.id.deviceUUID, 16);
    culv_semaphore *semaphore = NULL;
    static const int types[] = {CULV_SEMAPHORE_NONE, 3, -1};
    culv_semaphore_desc d = right;
    for (int i = 0; i < 3; i++) {
        d.type = (culv_semaphore_type)types[i];
        LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &d, &semaphore), INVALID, VALUE);
    }
    d = right;
    d.untracked = 1; /* of binary ones */
    LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &d, &semaphore), INVALID, VALUE);
    d = right;
    d.handle.type = CULV_HANDLE_OPAQUE_WIN32;
    LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &d, &semaphore), UNSUPPORTED,
                HANDLE_TYPE);
    d.handle.type = CULV_HANDLE_NONE;
    LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &d, &semaphore), INVALID, HANDLE_TYPE);
    d = right;
    d.exporter.bytes[0] ^= 0x80;
    LIB_REFUSES(semaphore, culv_semaphore_import(w->device, &d, &semaphore), INVALID,
                DEVICE_MISMATCH);
    LIB_REFUSES(semaphore, culv_semaphore_import(w->device, NULL, &semaphore), INVALID,
                NULL_ARGUMENT);
    LIB_INVALID(culv_semaphore_import(w->device, &right, NULL), NULL_ARGUMENT);
    lib_fd_require_untouched(&fd);
    /* Right at last: borrowed, then taken. */
    culv_semaphore *borrowed = NULL, *taken = NULL;
    LIB_OK(culv_semaphore_import(w->device, &right, &borrowed));
    lib_fd_require_untouched(&fd);
    LIB_OK(culv_semaphore_import(w->device, &right, &taken));
    lib_fd_require_untouched(&fd);
    lib_fd_done(&fd, true);
    LIB_OK(culv_semaphore_signal(taken, NULL, 1));
    LIB_OK(culv_semaphore_wait(borrowed, NULL, 1));
    lib_finish(w, NULL);
    REQUIRE_EQ(raw_vk_timeline_value(&w->vk, timeline), 1);
    culv_semaphore_destroy(&borrowed, NULL);
    culv_semaphore_destroy(&taken, NULL);
}

/* Of both ways through Vulkan, what differs by the way. */
LIB_CASE(vulkan_road)
{
    VkSemaphore timeline = lib_case_timeline(w, 0);
    culv_semaphore *semaphore = NULL;
    culv_shared_semaphore *made = NULL;
    culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
    culv_vk_semaphore_create_desc cd = culv_vk_semaphore_create_desc_init();
    d.type = CULV_SEMAPHORE_TIMELINE;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID,
                NULL_ARGUMENT);
    d.semaphore = timeline;
    static const int types[] = {CULV_SEMAPHORE_NONE, 3, -1};
    for (int i = 0; i < 3; i++) {
        d.type = cd.type = (culv_semaphore_type)types[i];
        LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID,
                    VALUE);
        if (types[i] != CULV_SEMAPHORE_NONE) /* which is a timeline, for one that is made */
            LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    }
    d.type = cd.type = CULV_SEMAPHORE_TIMELINE;
    d.untracked = cd.untracked = 1;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID, VALUE);
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    d.untracked = 0;
    d.signal_pending = 1;
    LIB_REFUSES(semaphore, culv_vk_semaphore_import(w->attachment, &d, &semaphore), INVALID, VALUE);
    cd = culv_vk_semaphore_create_desc_init();
    cd.type = CULV_SEMAPHORE_BINARY;
    cd.initial_value = 1;
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, VALUE);
    cd.struct_size = 3;
    LIB_REFUSES(made, culv_vk_semaphore_create(w->attachment, &cd, &made), INVALID, STRUCT_SIZE);
}

/* A success is no cause. */
static void require_no_success(void)
{
    if (strstr(culv_last_error_message(), "VK_SUCCESS") != NULL)
        FAIL("%s", culv_last_error_message());
}

/* vkGetSemaphoreFdKHR that gives nothing: what was made for it goes again. */
TEST(export_fails)
{
    lib_world w;
    lib_open(&w);
    VkSemaphore timeline = raw_vk_timeline(&w.vk, 0, true);
    static const struct {
        VkResult vulkan;
        culv_result result;
        culv_reason reason;
    } rows[] = {{VK_SUCCESS, CULV_ERROR_INVALID, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_TOO_MANY_OBJECTS, CULV_ERROR_DRIVER, CULV_REASON_NOT_EXPORTABLE},
                {VK_ERROR_OUT_OF_HOST_MEMORY, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY},
                {VK_ERROR_DEVICE_LOST, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        culv_vk_device *lying = NULL;
        culv_semaphore *semaphore = NULL;
        culv_shared_semaphore *made = NULL;
        culv_vk_device_desc vd = lib_vk_desc(&w);
        lib_lying = (lib_lies){.semaphore_fd_fails = true, .semaphore_fd_result = rows[i].vulkan};
        vd.get_instance_proc_addr = lib_lying_loader;
        LIB_OK(culv_vk_attach(w.device, &vd, &lying));
        culv_vk_semaphore_desc d = culv_vk_semaphore_desc_init();
        d.semaphore = timeline;
        d.type = CULV_SEMAPHORE_TIMELINE;
        LIB_REFUSES_AS(semaphore, culv_vk_semaphore_import(lying, &d, &semaphore), rows[i].result,
                       rows[i].reason);
        require_no_success();
        LIB_REFUSES_AS(made, culv_vk_semaphore_create(lying, NULL, &made), rows[i].result,
                       rows[i].reason);
        REQUIRE_EQ(lib_counts(&w).created, 0);
        REQUIRE_EQ(lib_counts(&w).attached_devices, 2);
        culv_vk_detach(&lying);
        REQUIRE_EQ(lib_counts(&w).attached_devices, 1);
    }
    raw_vk_timeline_destroy(&w.vk, timeline);
    lib_close(&w); /* which asks the layer, too */
}
