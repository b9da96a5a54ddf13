/* SPDX-License-Identifier: MIT */
/* Handles: types, checks, closing. */
#include "base/handle.h"

static const culvi_handle_row rows[CULVI_HANDLE_END] = {
#define CULVI_HANDLE(name_, words_, kind_, system_, dedicated_, memory_, binary_, timeline_,       \
                     mutex_, vmm_, vk_memory_, vk_semaphore_, gl_)                                 \
    [CULV_HANDLE_##name_] = {.name = #name_,                                                       \
                             .words = words_,                                                      \
                             .kind = CULVI_KIND_##kind_,                                           \
                             .dedicated = CULVI_DEDICATED_##dedicated_,                            \
                             .here = (int)CULVI_SYSTEM_##system_ == (int)CULVI_SYSTEM,             \
                             .number = {[CULVI_USE_MEMORY] = (memory_),                            \
                                        [CULVI_USE_BINARY] = (binary_),                            \
                                        [CULVI_USE_TIMELINE] = (timeline_),                        \
                                        [CULVI_USE_MUTEX] = (mutex_),                              \
                                        [CULVI_USE_VMM] = (vmm_),                                  \
                                        [CULVI_USE_VK_MEMORY] = (vk_memory_),                      \
                                        [CULVI_USE_VK_SEMAPHORE] = (vk_semaphore_),                \
                                        [CULVI_USE_GL] = (gl_)}},
#include "base/handle_rows.h"
#undef CULVI_HANDLE
};

const culvi_handle_row *culvi_handle_row_of(culv_handle_type type)
{
    static const culvi_handle_row none;
    return (int)type >= 0 && (int)type < CULVI_HANDLE_END && rows[type].name != NULL ? &rows[type]
                                                                                     : &none;
}

bool culvi_handle_owns(culv_handle_type type)
{
    const culvi_handle_row *row = culvi_handle_row_of(type);
    return row->here && (row->kind == CULVI_KIND_FD || row->kind == CULVI_KIND_NT);
}

const char *culvi_handle_type_name(culv_handle_type type)
{
    const char *name = culvi_handle_row_of(type)->name;
    return name != NULL ? name : type == CULV_HANDLE_NONE ? "NONE" : "unknown";
}

static bool served(culv_handle_type type)
{
    return culvi_handle_row_of(type)->name != NULL &&
           ((uint32_t)CULVI_HANDLE_TYPES & (UINT32_C(1) << type));
}

static bool serves(const culvi_handle_row *row, culvi_handle_use use)
{
    return row->number[use] != 0;
}

uint32_t culvi_handle_types_of(culvi_handle_use use)
{
    uint32_t types = 0;
    for (int type = 0; type < CULVI_HANDLE_END; type++)
        if (rows[type].number[use] != 0) types |= UINT32_C(1) << type;
    return types & (uint32_t)CULVI_HANDLE_TYPES;
}

/* "OPAQUE_FD (1), DMA_BUF_FD (4)" */
static void list(culvi_text *text, uint32_t types)
{
    const char *comma = "";
    for (int type = 0; type < CULVI_HANDLE_END; type++) {
        if (!(types & UINT32_C(1) << type)) continue;
        culvi_text_add(text, "%s%s (%d)", comma, culvi_handle_type_name((culv_handle_type)type),
                       type);
        comma = ", ";
    }
}

culv_result culvi_handle_type_check(const culvi_voice *voice, const char *label, const char *field,
                                    culv_handle_type type)
{
    const culvi_handle_row *row = culvi_handle_row_of(type);
    CULVI_TEXT(here, 128);
    if (served(type)) return CULV_OK;
    list(&here, (uint32_t)CULVI_HANDLE_TYPES);
    CULVI_REFUSE_IF(row->name == NULL, voice, label, CULV_REASON_HANDLE_TYPE,
                    "%s is %d (%s); this system has %s", field, (int)type,
                    culvi_handle_type_name(type), here.data);
    /* A type of another system is no mistake of the caller's. */
    CULVI_UNSUPPORTED_IF(!row->here, voice, label, CULV_REASON_HANDLE_TYPE,
                         "%s is %d (%s), %s, which only %s; this system has %s", field, (int)type,
                         row->name, row->words,
                         (int)CULVI_SYSTEM == CULVI_SYSTEM_WINDOWS ? "POSIX systems have"
                                                                   : "Windows has",
                         here.data);
    /* handle_rows.h has no other that is not built. */
    return culvi_fail(
        voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_HANDLE_TYPE,
        "%s is %d (%s), %s, which only culv_vmm_import() and culv_mem_pool_import() take; culv_vmm_allocation_desc.fabric and culv_pool_desc.fabric ask for one (culvert/fabric.h)",
        field, (int)type, row->name, row->words);
}

culv_result culvi_handle_use_check(const culvi_voice *voice, const char *label, const char *field,
                                   culv_handle_type type, culvi_handle_use use)
{
    static const char *const things[CULVI_USES] = {
        [CULVI_USE_MEMORY] = "memory",
        [CULVI_USE_BINARY] = "binary semaphores",
        [CULVI_USE_TIMELINE] = "timelines",
        [CULVI_USE_MUTEX] = "keyed mutexes",
        [CULVI_USE_VMM] = "VMM allocations and memory pools",
        [CULVI_USE_VK_MEMORY] = "Vulkan's memory",
        [CULVI_USE_VK_SEMAPHORE] = "Vulkan's semaphores",
        [CULVI_USE_GL] = "GL's memory and semaphores",
    };
    const culvi_handle_row *row = culvi_handle_row_of(type);
    if (row->name == NULL || serves(row, use))
        return culvi_handle_type_check(voice, label, field, type);
    uint32_t here = 0, elsewhere = 0;
    for (int i = 0; i < CULVI_HANDLE_END; i++)
        if (rows[i].number[use] != 0) *(rows[i].here ? &here : &elsewhere) |= UINT32_C(1) << i;
    CULVI_TEXT(text, 256);
    list(&text, here != 0 ? here : elsewhere); /* keyed mutexes are Windows' alone */
    return culvi_fail(voice, label, CULV_ERROR_INVALID, CULV_REASON_HANDLE_TYPE,
                      "%s is %d (%s), %s; handles of %s are %s", field, (int)type, row->name,
                      row->words, things[use], text.data);
}

culv_result culvi_handle_types_check(const culvi_voice *voice, const char *label, const char *field,
                                     uint32_t types, culvi_handle_use use)
{
    /* What is wrong on every system first. */
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t type = 0; type < 32 && types >> type != 0; type++) {
            if (!(types & UINT32_C(1) << type)) continue;
            if (pass == 0 && serves(culvi_handle_row_of((culv_handle_type)type), use)) continue;
            CULVI_TRY(culvi_handle_use_check(voice, label, field, (culv_handle_type)type, use));
        }
    return CULV_OK;
}

culv_result culvi_handle_check(const culvi_voice *voice, const char *label, const char *field,
                               const char *source, const culv_handle *handle,
                               culvi_handle_facts *facts)
{
    char text[256];
    culv_reason reason = CULV_REASON_NONE;
    if (!served(handle->type)) {
        culvi_text type = {text, sizeof text, 0};
        culvi_text_add(&type, "%s.type", field);
        return culvi_handle_type_check(voice, label, text, handle->type);
    }
    CULVI_REFUSE_IF(
        handle->name != NULL && culvi_handle_row_of(handle->type)->kind != CULVI_KIND_NT, voice,
        label, CULV_REASON_VALUE, "%s.name is given, and a handle of type %s has no name", field,
        culvi_handle_type_name(handle->type));
    if (culvi_handle_examine(handle, source, facts, &reason, text, sizeof text)) return CULV_OK;
    return culvi_fail(voice, label, CULV_ERROR_INVALID, reason, "%s: %s", field, text);
}

void culvi_handle_describe(const culv_handle *handle, culvi_text *text)
{
    char name[64];
    size_t n = 0;
    switch (culvi_handle_row_of(handle->type)->kind) {
    case CULVI_KIND_FD: culvi_text_add(text, "file descriptor %d", handle->value.fd); return;
    case CULVI_KIND_KMT: culvi_text_add(text, "KMT handle %p", handle->value.win32); return;
    case CULVI_KIND_BYTES:
        culvi_text_add(text, "%s", culvi_handle_row_of(handle->type)->words);
        return;
    case CULVI_KIND_NT: break;
    }
    if (handle->name == NULL) {
        culvi_text_add(text, "NT handle %p", handle->value.win32);
        return;
    }
    for (; n + 1 < sizeof name && handle->name[n] != L'\0'; n++)
        name[n] =
            (char)(handle->name[n] > L' ' && handle->name[n] <= L'~' ? handle->name[n] : L'?');
    name[n] = '\0';
    culvi_text_add(text, "name '%s'", name);
}

static culv_result fail_duplicate(const culvi_voice *voice, const char *label,
                                  const culv_handle *handle, int os_error)
{
    CULVI_TEXT(text, 160);
    culvi_handle_describe(handle, &text);
    return culvi_fail_native(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_NATIVE_OS, os_error,
        culvi_handle_duplicate_call,
        "the %s could not be duplicated (%s: error %d); if the process has no handle left, %s",
        text.data, culvi_handle_duplicate_call, os_error, culvi_handle_left_advice);
}

culv_result culvi_handle_check_left(const culvi_voice *voice, const char *label, const char *call,
                                    const char *what)
{
    int os_error = 0;
    if (culvi_handle_left(&os_error)) return CULV_OK;
    return culvi_fail_native(
        voice, label, CULV_ERROR_INVALID, CULV_REASON_OS, CULV_NATIVE_OS, os_error, "open",
        "%s needs a handle for the %s, and the process has no handle left (error %d); %s", call,
        what, os_error, culvi_handle_left_advice);
}

culv_result culvi_handle_lend_for(const culvi_voice *voice, const char *label,
                                  const culv_handle *handle, const culvi_handle_facts *facts,
                                  culvi_duplicate *out)
{
    int os_error = 0;
    if (culvi_handle_lend(handle, facts, out, &os_error)) return CULV_OK;
    return fail_duplicate(voice, label, handle, os_error);
}

culv_result culv_handle_dup(const culv_handle *handle, culv_handle *out)
{
    culvi_handle_facts facts;
    int os_error = 0;
    CULVI_REQUIRE2(NULL, handle, out);
    if (handle->type == CULV_HANDLE_FABRIC) {
        *out = *handle;
        return CULV_OK;
    }
    culv_result result = culvi_handle_check(NULL, NULL, "culv_handle_dup: handle",
                                            "a graphics API or CUDA", handle, &facts);
    if (result != CULV_OK || culvi_handle_duplicate(handle, &facts, out, &os_error)) return result;
    return fail_duplicate(NULL, NULL, handle, os_error);
}

void culv_handle_close(culv_handle *handle)
{
    if (handle == NULL || handle->type == CULV_HANDLE_NONE) return;
    /* The bytes of another type may look like an open handle, which is somebody else's. */
    if (culvi_handle_owns(handle->type)) culvi_handle_close(handle);
    memset(handle, 0, sizeof *handle);
}
