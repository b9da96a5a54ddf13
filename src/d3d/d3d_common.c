/* SPDX-License-Identifier: MIT */
/* COM objects, HRESULTs and the match: what is the same in Direct3D 11 and 12. */
#include "d3d/d3d_common.h"
/* after it */
#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_removed(HRESULT code)
{
    return (int)code == CULVI_D3D_REMOVED || (int)code == CULVI_D3D_HUNG ||
           (int)code == CULVI_D3D_RESET || (int)code == CULVI_D3D_INTERNAL_ERROR;
}

static const char *name_of(HRESULT code)
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
    if (is_removed(code))
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
                             name_of(code));
}

/* Whose Direct3D has no shared handles, unless tests or the rig put them there. */
static bool is_wine(void)
{
    const HMODULE system = GetModuleHandleA("ntdll.dll");
    return system != NULL && GetProcAddress(system, "wine_get_version") != NULL;
}

culv_result culvi_fail_d3d_share(const culvi_voice *voice, const char *label, HRESULT code,
                                 const char *call, const char *what, const wchar_t *name,
                                 const char *advice, const char *wrapped, const char *reason_call)
{
    const int hr = (int)code;
    if (name != NULL && (hr == CULVI_D3D_NAME_THERE || hr == CULVI_D3D_ALREADY_EXISTS ||
                         hr == CULVI_D3D_INVALID_HANDLE))
        return culvi_fail_native(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                                 CULV_NATIVE_D3D, (int64_t)(uint32_t)code, call,
                                 "another object has the name '%ls' already (%#lx); choose one "
                                 "that is unique, for example with the process's number",
                                 name, (unsigned long)code);
    if (name != NULL && (hr == CULVI_D3D_INVALID_CALL || hr == CULVI_D3D_BAD_ARGUMENT))
        return culvi_fail_native(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                                 CULV_NATIVE_D3D, (int64_t)(uint32_t)code, call,
                                 "Direct3D refused the name '%ls' (%#lx): it has at most 260 "
                                 "characters, and no backslash but the one of Local\\ or Global\\",
                                 name, (unsigned long)code);
    if (hr == CULVI_D3D_BAD_ARGUMENT || hr == CULVI_D3D_NOT_IMPLEMENTED ||
        hr == CULVI_D3D_NO_INTERFACE || SUCCEEDED(code))
        return culvi_fail_native(
            voice, label,
            hr == CULVI_D3D_BAD_ARGUMENT ? CULV_ERROR_INVALID : CULV_ERROR_UNSUPPORTED,
            CULV_REASON_NOT_EXPORTABLE, CULV_NATIVE_D3D, (int64_t)(uint32_t)code, call,
            "the %s cannot be shared: %s answered %#lx%s; %s. A wrapper of the device "
            "(Streamline, ReShade, PIX) answers so too: pass the native %s and its objects%s",
            what, call, (unsigned long)code, SUCCEEDED(code) ? " and no handle" : name_of(code),
            advice, wrapped,
            hr != CULVI_D3D_BAD_ARGUMENT && is_wine()
                ? ". This is Wine, whose Direct3D has no shared handles: run the program by "
                  "scripts/wine-run, which puts them in place"
                : "");
    return culvi_fail_d3d(voice, label, code, call, reason_call, CULV_REASON_DRIVER_REFUSED,
                          "the %s could not be shared", what);
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

culv_result culvi_d3d_check_resource(const culv_memory *memory, void *resource, const char *label,
                                     const char *field)
{
    const uint64_t identity = culvi_d3d_identity(resource);
    if (memory->identity == 0 || identity == 0 || memory->identity == identity) return CULV_OK;
    return culvi_fail(&memory->device->voice, label, CULV_ERROR_INVALID, CULV_REASON_RANGE,
                      "%s is another resource than the one whose memory was imported%s%s: CUDA "
                      "would read and write that one in its place. Import the memory of each "
                      "resource, and map it with the same one",
                      field, memory->label[0] != '\0' ? " as " : "", memory->label);
}

culv_luid culvi_d3d_luid(const void *luid)
{
    culv_luid out;
    _Static_assert(sizeof(LUID) == sizeof out.bytes, "a LUID has 8 bytes");
    memcpy(out.bytes, luid, sizeof out.bytes);
    return out;
}

culv_result culvi_d3d_identify(culvi_graphics *graphics, const culv_luid *luid, const char *native)
{
    const culv_device *device = graphics->device;
    char buffer[768] = "";
    culvi_text text = {buffer, sizeof buffer, 0};
    graphics->luid = *luid;
    graphics->node_mask = 1;
    culvi_text_add(&text, "adapter of ");
    culvi_text_add_luid(&text, luid, 1);
    snprintf(graphics->name, sizeof graphics->name, "%s", buffer);
    if (device->caps.luid_valid && culvi_luid_equal(&device->caps.luid, luid)) {
        /* Direct3D tells no UUID. */
        graphics->uuid = device->caps.uuid;
        return culvi_graphics_identify(graphics, 0, false);
    }
    culvi_text_add(&text, ", but the culv_device '%s' ", device->caps.name);
    if (device->caps.luid_valid) {
        culvi_text_add(&text, "has ");
        culvi_text_add_luid(&text, &device->caps.luid, device->caps.node_mask);
    } else {
        culvi_text_add(&text, "tells no LUID (it is in TCC mode, or this is not Windows)");
    }
    return culvi_fail(&device->voice, graphics->label, CULV_ERROR_INVALID,
                      CULV_REASON_DEVICE_MISMATCH,
                      "the %s is on the %s; open the device by %s(), which finds the one that "
                      "matches",
                      native, buffer, graphics->api->words->open_call);
}

/* A wait that times out leaves its event armed at the fence, which holds it until the value comes.
 * The next wait for that value takes it again, so that a loop of short waits leaves one. Only
 * fences that Culvert made are waited for. */
enum { ARMED = 64 };
typedef struct armed {
    void *fence; /* NULL: free */
    uint64_t value;
    HANDLE event; /* manual-reset: several threads may wait */
    unsigned waiting;
} armed;
static armed kept[ARMED];
static SRWLOCK kept_lock = SRWLOCK_INIT;

static void drop(armed *a)
{
    CloseHandle(a->event); /* the fence holds its own reference */
    *a = (armed){0};
}

/* The place of this wait, or else a free one, or else NULL. */
static armed *find_armed(void *fence, uint64_t value)
{
    armed *empty = NULL;
    for (armed *a = kept; a < kept + ARMED; a++) {
        if (a->fence == fence && a->value == value) return a;
        if (a->fence != NULL && a->waiting == 0 && WaitForSingleObject(a->event, 0) == 0) drop(a);
        if (a->fence == NULL) empty = a;
    }
    return empty;
}

/* The event to wait for. *shared is NULL if nobody keeps it. */
static HANDLE take_armed(const culvi_d3d_fence *calls, void *fence, uint64_t value, armed **shared,
                         int *code)
{
    AcquireSRWLockExclusive(&kept_lock);
    armed *a = find_armed(fence, value);
    HANDLE event = a != NULL ? a->event : NULL;
    if (event == NULL) {
        event = CreateEventW(NULL, TRUE, FALSE, NULL);
        const HRESULT hr = event != NULL ? calls->arm(fence, value, event) : E_OUTOFMEMORY;
        *code = FAILED(hr) ? (int)hr : 0;
        if (*code != 0 && event != NULL) CloseHandle(event);
        if (*code != 0) a = NULL, event = NULL;
        if (a != NULL) *a = (armed){fence, value, event, 0};
    }
    if (a != NULL) a->waiting++;
    ReleaseSRWLockExclusive(&kept_lock);
    *shared = a;
    return event;
}

static void give_armed(armed *a, HANDLE event, bool done)
{
    AcquireSRWLockExclusive(&kept_lock);
    if (a != NULL) a->waiting--;
    if (a == NULL)
        CloseHandle(event);
    else if (done && a->waiting == 0)
        drop(a);
    ReleaseSRWLockExclusive(&kept_lock);
}

void culvi_d3d_forget_fence(void *fence)
{
    AcquireSRWLockExclusive(&kept_lock);
    for (armed *a = kept; a < kept + ARMED; a++)
        if (a->fence == fence) drop(a);
    ReleaseSRWLockExclusive(&kept_lock);
}

int culvi_d3d_fence_value(const culvi_d3d_fence *calls, void *fence, uint64_t *out)
{
    const uint64_t value = calls->value(fence);
    /* ID3D11Fence::GetCompletedValue and ID3D12Fence::GetCompletedValue: the device is removed. */
    if (value == UINT64_MAX) return CULVI_D3D_REMOVED;
    *out = value;
    return 0;
}

/* 1: not yet. */
static int look(const culvi_d3d_fence *calls, void *fence, uint64_t value)
{
    uint64_t now = 0;
    const int code = culvi_d3d_fence_value(calls, fence, &now);
    return code != 0 ? code : now < value;
}

int culvi_d3d_wait(const culvi_d3d_fence *calls, void *fence, uint64_t value, uint64_t timeout_ns)
{
    armed *a = NULL;
    int code = look(calls, fence, value);
    if (code != 1 || timeout_ns == 0) return code;
    const HANDLE event = take_armed(calls, fence, value, &a, &code);
    if (event == NULL) return code;
    const uint64_t ms = timeout_ns / 1000000u + (timeout_ns % 1000000u != 0);
    const bool woken = WaitForSingleObject(event, ms < INFINITE ? (DWORD)ms : INFINITE) == 0;
    /* A removal sets the events too, and nothing says that it does so after the counters. */
    for (int i = 0; (code = look(calls, fence, value)) == 1 && woken && i < 1000; i++)
        Sleep(1);
    give_armed(a, event, woken);
    return code;
}
