/* SPDX-License-Identifier: MIT */
/* COM objects and HRESULTs: what is the same in all versions of Direct3D. */
#include "d3d/d3d_common.h"
/* after it */
#include <stdio.h>

const char *culvi_d3d_code_name(HRESULT code)
{
    return (int)code == CULVI_D3D_NO_MEMORY         ? " (E_OUTOFMEMORY)"
           : (int)code == CULVI_D3D_INVALID_CALL    ? " (DXGI_ERROR_INVALID_CALL)"
           : (int)code == CULVI_D3D_NOT_IMPLEMENTED ? " (E_NOTIMPL)"
           : (int)code == CULVI_D3D_NO_INTERFACE    ? " (E_NOINTERFACE)"
           : (int)code == CULVI_D3D_BAD_ARGUMENT    ? " (E_INVALIDARG)"
                                                    : "";
}

culv_result culvi_fail_d3d(const culvi_voice *voice, const char *label, HRESULT code,
                           const char *call, const char *reason_call, culv_reason reason,
                           const char *format, ...)
{
    char what[768];
    culv_result result = CULV_ERROR_DRIVER;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if ((int)code == CULVI_D3D_REMOVED || (int)code == CULVI_D3D_HUNG ||
        (int)code == CULVI_D3D_RESET || (int)code == CULVI_D3D_INTERNAL_ERROR)
        return culvi_fail_native(voice, label, CULV_ERROR_ASYNC, CULV_REASON_DEVICE_LOST,
                                 CULV_NATIVE_D3D, (int64_t)(uint32_t)code, call,
                                 "%s: %s answered %#lx (the device is removed; %s says why)", what,
                                 call, (unsigned long)code, reason_call);
    if ((int)code == CULVI_D3D_NO_MEMORY) {
        result = CULV_ERROR_OUT_OF_MEMORY;
        reason = CULV_REASON_DEVICE_MEMORY;
    }
    return culvi_fail_native(voice, label, result, reason, CULV_NATIVE_D3D, (int64_t)(uint32_t)code,
                             call, "%s: %s answered %#lx%s", what, call, (unsigned long)code,
                             culvi_d3d_code_name(code));
}

void *culvi_d3d_query(void *object, const GUID *id)
{
    IUnknown *found = NULL;
    if (FAILED(IUnknown_QueryInterface((IUnknown *)object, id, (void **)&found))) return NULL;
    IUnknown_Release(found);
    return found;
}

int culvi_d3d_pick(void *object, const GUID *const *ids, int count, void **as)
{
    for (int same = 1; same >= 0; same--)
        for (int i = 0; i < count; i++) {
            *as = culvi_d3d_query(object, ids[i]);
            if (*as != NULL && (!same || *as == object)) return i;
        }
    return -1;
}

uint64_t culvi_d3d_identity(void *object)
{
    static const GUID unknown = {0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}}; /* IUnknown's */
    return (uint64_t)(uintptr_t)culvi_d3d_query(object, &unknown);
}

culv_luid culvi_d3d_luid(const void *luid)
{
    culv_luid out;
    _Static_assert(sizeof(LUID) == sizeof out.bytes, "a LUID has 8 bytes");
    memcpy(out.bytes, luid, sizeof out.bytes);
    return out;
}

void culvi_d3d_add_device(culvi_text *text, const culv_device *device, const char *without)
{
    culvi_text_add(text, "the culv_device '%s' ", device->caps.name);
    if (device->caps.luid_valid) {
        culvi_text_add(text, "has ");
        culvi_text_add_luid(text, &device->caps.luid, device->caps.node_mask);
    } else {
        culvi_text_add(text, "tells no LUID (%s)", without);
    }
}
