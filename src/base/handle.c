/* Handles: types, checks, closing. SPDX-License-Identifier: MIT */
#include "base/handle.h"

bool culvi_handle_type_known(culv_handle_type type)
{
    return (int)type > CULV_HANDLE_NONE && (int)type <= CULV_HANDLE_DMA_BUF_FD;
}

const char *culvi_handle_type_name(culv_handle_type type)
{
    static const char *const names[] = {"NONE", "OPAQUE_FD", "OPAQUE_WIN32", "OPAQUE_WIN32_KMT",
                                        "DMA_BUF_FD"};
    return type == CULV_HANDLE_NONE || culvi_handle_type_known(type) ? names[type] : "unknown";
}

static bool of_this_system(culv_handle_type type)
{
    return culvi_handle_type_known(type) && ((uint32_t)CULVI_HANDLE_TYPES & (UINT32_C(1) << type));
}

culv_result culvi_handle_type_check(const culvi_voice *voice, const char *label, const char *field,
                                    culv_handle_type type)
{
    bool known = culvi_handle_type_known(type);
    if (of_this_system(type)) return CULV_OK;
    /* A type of another system is no mistake of the caller's. */
    return culvi_fail(voice, label, known ? CULV_ERROR_UNSUPPORTED : CULV_ERROR_INVALID,
                      CULV_REASON_HANDLE_TYPE, "%s is %d (%s); %s", field, (int)type,
                      culvi_handle_type_name(type), culvi_handle_types_text);
}

culv_result culvi_handle_check(const culvi_voice *voice, const char *label, const char *field,
                               const char *source, const culv_handle *handle, culvi_handle_facts *facts)
{
    char text[256];
    culv_reason reason = CULV_REASON_NONE;
    if (!of_this_system(handle->type)) {
        culvi_text type = {text, sizeof text, 0};
        culvi_text_add(&type, "%s.type", field);
        return culvi_handle_type_check(voice, label, text, handle->type);
    }
    if (handle->name != NULL && handle->type != CULV_HANDLE_OPAQUE_WIN32)
        return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_VALUE,
                          "%s.name is given, and a handle of type %s has no name", field,
                          culvi_handle_type_name(handle->type));
    if (culvi_handle_examine(handle, source, facts, &reason, text, sizeof text)) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, reason, "%s: %s", field, text);
}

void culvi_handle_describe(const culv_handle *handle, culvi_text *text)
{
    if (handle->type == CULV_HANDLE_OPAQUE_FD || handle->type == CULV_HANDLE_DMA_BUF_FD)
        culvi_text_add(text, "file descriptor %d", handle->value.fd);
    else if (handle->type == CULV_HANDLE_OPAQUE_WIN32_KMT)
        culvi_text_add(text, "KMT handle %p", handle->value.win32);
    else if (handle->name == NULL)
        culvi_text_add(text, "NT handle %p", handle->value.win32);
    else {
        char name[64];
        size_t n = 0;
        for (; n + 1 < sizeof name && handle->name[n] != L'\0'; n++)
            name[n] = handle->name[n] > L' ' && handle->name[n] <= L'~' ? (char)handle->name[n] : '?';
        name[n] = '\0';
        culvi_text_add(text, "name '%s'", name);
    }
}

static culv_result fail_duplicate(const culvi_voice *voice, const char *label, const culv_handle *handle,
                                  int os_error)
{
    char buffer[160] = "";
    culvi_text text = {buffer, sizeof buffer, 0};
    culvi_handle_describe(handle, &text);
    return culvi_fail_native(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_API_OS, os_error, culvi_handle_duplicate_call,
        "the %s could not be duplicated (%s: error %d); if the process has no handle left, %s", buffer,
        culvi_handle_duplicate_call, os_error, culvi_handle_left_advice);
}

culv_result culvi_handle_check_left(const culvi_voice *voice, const char *label, const char *call,
                                    const char *what)
{
    int os_error = 0;
    if (culvi_handle_left(&os_error)) return CULV_OK;
    return culvi_fail_native(voice, label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_API_OS, os_error, "open",
                             "%s failed for the %s, and the process has no handle left (error %d); %s", call,
                             what, os_error, culvi_handle_left_advice);
}

culv_result culvi_handle_lend_for(const culvi_voice *voice, const char *label, const culv_handle *handle,
                                  const culvi_handle_facts *facts, culvi_duplicate *out)
{
    int os_error = 0;
    if (culvi_handle_lend(handle, facts, out, &os_error)) return CULV_OK;
    return fail_duplicate(voice, label, handle, os_error);
}

culv_result culv_handle_dup(const culv_handle *handle, culv_handle *out)
{
    culvi_handle_facts facts;
    int os_error = 0;
    if (handle == NULL || out == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT,
                          "culv_handle_dup: %s is NULL", handle == NULL ? "handle" : "out");
    culv_result result =
        culvi_handle_check(NULL, NULL, "culv_handle_dup: handle", "a graphics API or CUDA", handle, &facts);
    if (result != CULV_OK || culvi_handle_duplicate(handle, &facts, out, &os_error)) return result;
    return fail_duplicate(NULL, NULL, handle, os_error);
}

void culv_handle_close(culv_handle *handle)
{
    if (handle == NULL || handle->type == CULV_HANDLE_NONE) return;
    /* The bytes of another type may look like an open handle, which is somebody else's. */
    if (of_this_system(handle->type)) culvi_handle_close(handle);
    memset(handle, 0, sizeof *handle);
}
