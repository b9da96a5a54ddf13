/* What imports of memory and of semaphores share: the handle is checked, the driver gets a duplicate, and the
 * caller's own handle is closed only once all has succeeded. SPDX-License-Identifier: MIT */
#include "object.h"

culv_result culvi_import_check(const culv_device *device, const culvi_import *import,
                               const culv_uuid *exporter)
{
    culv_reason reason = CULV_REASON_NONE;
    char text[256];
    if (!culvi_handle_check(import->handle, &reason, text, sizeof text)) {
        /* A type that exists and is not taken yet is no mistake of the caller's. */
        bool known =
            import->handle->type > CULV_HANDLE_NONE && import->handle->type <= CULV_HANDLE_DMA_BUF_FD;
        return culvi_fail(&device->voice, import->label,
                          reason == CULV_REASON_HANDLE_TYPE && known ? CULV_ERROR_UNSUPPORTED
                                                                     : CULV_ERROR_INVALID,
                          reason, "culv_%s_desc.handle: %s", import->what, text);
    }
    return culvi_check_exporter(device, import->label, exporter, import->what);
}

/* In the device's context. */
static culv_result give_duplicate(culv_device *device, const culvi_import *import, void *object)
{
    culvi_duplicate duplicate;
    int os_error = 0;
    if (!culvi_handle_duplicate(import->handle, &duplicate, &os_error))
        return culvi_fail_native(
            &device->voice, import->label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_API_OS, os_error, "fcntl",
            "the file descriptor %d could not be duplicated (errno %d); is the process out of "
            "descriptors?",
            import->handle->value.fd, os_error);
    CUresult r = import->give(device, &duplicate.handle, object);
    if (r == CUDA_SUCCESS) return CULV_OK;
    culvi_handle_close_refused(&duplicate, import->handle);
    char buffer[256];
    culvi_text text = {buffer, sizeof buffer, 0};
    buffer[0] = '\0';
    import->describe(object, &text);
    return culvi_fail_cuda(device, import->label, r, import->call, CULV_REASON_HANDLE_REFUSED,
                           "the %s (handle.value.fd %d) could not be imported; %s", import->what,
                           import->handle->value.fd, buffer);
}

culv_result culvi_import_run(culv_device *device, const culvi_import *import, void *object)
{
    culvi_scope scope;
    culvi_mutex_lock(&device->lock);
    culv_result result = culvi_enter(device, &scope, import->label);
    if (result == CULV_OK) {
        result = give_duplicate(device, import, object);
        culvi_leave(device, &scope);
    }
    if (result == CULV_OK) ++*import->count;
    culvi_mutex_unlock(&device->lock);
    if (result != CULV_OK) return result;
    culvi_device_ref(device);
    if (import->take) culvi_handle_close(import->handle);
    return CULV_OK;
}
