/* SPDX-License-Identifier: MIT */
/* Errors and log lines, structs that begin with their size, and memory. */

#include "base/platform.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

uint32_t culv_version(void)
{
    return CULV_VERSION;
}

#define STRINGIFY_(x) #x
#define STRINGIFY(x)  STRINGIFY_(x)

const char *culv_version_string(void)
{
    return STRINGIFY(CULV_VERSION_MAJOR) "." STRINGIFY(CULV_VERSION_MINOR) "." STRINGIFY(
        CULV_VERSION_PATCH);
}

const char *culv_result_name(culv_result result)
{
    switch (result) {
    case CULV_OK: return "CULV_OK";
    case CULV_ERROR_INVALID: return "CULV_ERROR_INVALID";
    case CULV_ERROR_BUSY: return "CULV_ERROR_BUSY";
    case CULV_ERROR_TIMEOUT: return "CULV_ERROR_TIMEOUT";
    case CULV_ERROR_UNSUPPORTED: return "CULV_ERROR_UNSUPPORTED";
    case CULV_ERROR_NO_DEVICE: return "CULV_ERROR_NO_DEVICE";
    case CULV_ERROR_OUT_OF_MEMORY: return "CULV_ERROR_OUT_OF_MEMORY";
    case CULV_ERROR_DRIVER: return "CULV_ERROR_DRIVER";
    case CULV_ERROR_ASYNC: return "CULV_ERROR_ASYNC";
    case CULV_ERROR_INTERNAL: return "CULV_ERROR_INTERNAL";
    case CULV_RESULT_FORCE32: break;
    }
    return "unknown";
}

static const struct {
    const char *name;
    const char *text;
} reasons[] = {
#define CULV_REASON_ROW_(name, text) [CULV_REASON_##name] = {#name, text},
    CULV_REASONS(CULV_REASON_ROW_)
#undef CULV_REASON_ROW_
};
_Static_assert(sizeof reasons / sizeof reasons[0] == CULV_REASON_COUNT_, "one row a reason");

const char *culv_reason_name(culv_reason reason)
{
    return (unsigned)reason < CULV_REASON_COUNT_ ? reasons[reason].name : "unknown";
}

const char *culvi_reason_text(culv_reason reason)
{
    return (unsigned)reason < CULV_REASON_COUNT_ ? reasons[reason].text : "unknown";
}

/* Each version's size is a multiple of a size_t, so that no pointer is cut in two. */
static bool size_possible(size_t size)
{
    return size >= 2 * sizeof(size_t) && size <= 65536 && size % sizeof(size_t) == 0;
}

void culv_last_error(culv_error *out)
{
    if (out == NULL || !size_possible(out->struct_size)) return;
    culvi_struct_write(out, &culvi_thread_state()->error, sizeof *out);
}

culv_result culv_last_error_set(const culv_error *error)
{
    CULVI_REQUIRE(NULL, error);
    CULVI_READ(NULL, culv_error, e, error);
    CULVI_REFUSE_IF(e.result >= 0, NULL, NULL, CULV_REASON_VALUE,
                    "culv_last_error_set: result is %d, which is no error", (int)e.result);
    e.native_call[sizeof e.native_call - 1] = '\0';
    e.message[sizeof e.message - 1] = '\0';
    culvi_thread_state()->error = e;
    return e.result;
}

const char *culv_last_error_message(void)
{
    return culvi_thread_state()->error.message;
}

void culvi_label_set(char label[64], const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;
    if (length > 63) {
        length = 63;
        /* No part of a character of UTF-8, which has four bytes at the most. */
        while (length > 60 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
        if (((unsigned char)text[length] & 0xc0) == 0x80) length = 63;
    }
    if (length != 0) memcpy(label, text, length);
    label[length] = '\0';
}

static void log_to_stderr(void *user, culv_log_level level, const char *message)
{
    static const char *const names[] = {"", "error", "warning", "info", "debug"};
    (void)user;
    fprintf(stderr, "culvert %s: %s\n", names[level], message);
}

const char *culvi_environment(const char *name)
{
    const char *value = culvi_privileged() ? NULL : getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

void culvi_voice_init(culvi_voice *voice, const culv_log *log, const char *label)
{
    memset(voice, 0, sizeof *voice);
    culvi_label_set(voice->label, label);
    if (log != NULL && log->fn != NULL) {
        voice->log = *log;
        if (voice->log.level == CULV_LOG_NONE) voice->log.level = CULV_LOG_WARNING;
        return;
    }
    const char *wanted = culvi_environment("CULVERT_LOG");
    if (wanted == NULL) return;
    voice->log.fn = log_to_stderr;
    voice->log.level = strcmp(wanted, "debug") == 0   ? CULV_LOG_DEBUG
                       : strcmp(wanted, "info") == 0  ? CULV_LOG_INFO
                       : strcmp(wanted, "error") == 0 ? CULV_LOG_ERROR
                                                      : CULV_LOG_WARNING;
}

bool culvi_log_wants(const culvi_voice *voice, culv_log_level level)
{
    return voice != NULL && voice->log.fn != NULL && level <= voice->log.level;
}

void culvi_log(const culvi_voice *voice, culv_log_level level, const char *format, ...)
{
    if (!culvi_log_wants(voice, level)) return;
    char line[2048];
    int used = voice->label[0] != '\0' ? snprintf(line, sizeof line, "[%s] ", voice->label) : 0;
    va_list args;
    va_start(args, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, args);
    va_end(args);
    culvi_text_make_plain(line); /* labels, paths and the driver's texts forge no lines */
    voice->log.fn(voice->log.user, level, line);
}

void culvi_log_object(const culvi_voice *voice, const char *deed, const char *kind,
                      const char *label, uint64_t size)
{
    if (!culvi_log_wants(voice, CULV_LOG_INFO)) return;
    char bytes[40] = "";
    if (size != 0) snprintf(bytes, sizeof bytes, ", %" PRIu64 " bytes", size);
    if (label != NULL && label[0] != '\0')
        culvi_log(voice, CULV_LOG_INFO, "%s %s '%s'%s", deed, kind, label, bytes);
    else
        culvi_log(voice, CULV_LOG_INFO, "%s %s%s", deed, kind, bytes);
}

static void record(const culvi_voice *voice, const char *object, culv_result result,
                   culv_reason reason, culv_native_api api, int64_t code, const char *call,
                   const char *format, va_list args)
{
    culv_error *e = &culvi_thread_state()->error;
    e->struct_size = sizeof *e;
    e->result = result;
    e->reason = reason;
    e->native_api = api;
    e->native_code = code;
    snprintf(e->native_call, sizeof e->native_call, "%s", call);
    culvi_text text = {e->message, sizeof e->message, 0};
    e->message[0] = '\0';
    if (voice != NULL && voice->label[0] != '\0') culvi_text_add(&text, "[%s] ", voice->label);
    if (object != NULL && object[0] != '\0') culvi_text_add(&text, "'%s': ", object);
    int n = vsnprintf(text.data + text.length, text.size - text.length, format, args);
    if (n < 0) culvi_text_add(&text, "%s", culvi_reason_text(reason));
    culvi_text_make_plain(e->message);
    culv_log_level level = culvi_thread_state()->attempts > 0 ? CULV_LOG_INFO : CULV_LOG_ERROR;
    if (culvi_log_wants(voice, level)) voice->log.fn(voice->log.user, level, e->message);
}

culv_result culvi_fail(const culvi_voice *voice, const char *object, culv_result result,
                       culv_reason reason, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(voice, object, result, reason, CULV_NATIVE_NONE, 0, "", format, args);
    va_end(args);
    return result;
}

culv_result culvi_fail_native(const culvi_voice *voice, const char *object, culv_result result,
                              culv_reason reason, culv_native_api api, int64_t code,
                              const char *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(voice, object, result, reason, api, code, call, format, args);
    va_end(args);
    return result;
}

culv_result culvi_fail_field(const culvi_voice *voice, const char *object, const char *field)
{
    return culvi_fail(voice, object, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "%s is NULL",
                      field);
}

culv_result culvi_fail_null(const culvi_voice *voice, const char *call, const char *name)
{
    return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_NULL_ARGUMENT, "%s: %s is NULL",
                      call, name);
}

culv_result culvi_fail_host_memory(const culvi_voice *voice, const char *object)
{
    return culvi_fail(voice, object, CULV_ERROR_OUT_OF_MEMORY, CULV_REASON_HOST_MEMORY,
                      "out of host memory");
}

culv_result culvi_vk_cause(int code, culv_result result, culv_reason *reason)
{
    enum {
        OUT_OF_HOST_MEMORY = -1,
        OUT_OF_DEVICE_MEMORY = -2,
        DEVICE_LOST = -4
    }; /* vulkan_core.h */
    if (code != OUT_OF_HOST_MEMORY && code != OUT_OF_DEVICE_MEMORY && code != DEVICE_LOST)
        return result;
    *reason = code == OUT_OF_HOST_MEMORY     ? CULV_REASON_HOST_MEMORY
              : code == OUT_OF_DEVICE_MEMORY ? CULV_REASON_DEVICE_MEMORY
                                             : CULV_REASON_DEVICE_LOST;
    return code == DEVICE_LOST ? CULV_ERROR_ASYNC : CULV_ERROR_OUT_OF_MEMORY;
}

void culvi_attempt_begin(void)
{
    culvi_thread_state()->attempts++;
}

culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result)
{
    culvi_thread *thread = culvi_thread_state();
    if (--thread->attempts == 0 && result != CULV_OK)
        culvi_log(voice, CULV_LOG_ERROR, "%s", thread->error.message);
    return result;
}

/* Structs -------------------------------------------------------------------------------------- */

void culvi_struct_write(void *out, const void *local, size_t size)
{
    size_t known = 0;
    memcpy(&known, out, sizeof known);
    size_t copy = known < size ? known : size;
    if (copy <= sizeof known) return;
    memcpy((char *)out + sizeof known, (const char *)local + sizeof known, copy - sizeof known);
    if (known > size) memset((char *)out + size, 0, known - size);
}

culv_result culvi_struct_check(const culvi_voice *voice, const void *out, const char *name)
{
    size_t given = 0;
    memcpy(&given, out, sizeof given);
    if (size_possible(given)) return CULV_OK;
    return culvi_fail(voice, NULL, CULV_ERROR_INVALID, CULV_REASON_STRUCT_SIZE,
                      "%s.struct_size is %zu; start from %s_init(), which sets it", name, given,
                      name);
}

culv_result culvi_desc_read(const culvi_voice *voice, void *local, size_t size, const void *desc,
                            const char *name)
{
    size_t given = 0;
    if (desc != NULL) memcpy(&given, desc, sizeof given);
    if (given == size) { /* the present version, which most are of */
        memcpy(local, desc, size);
        return CULV_OK;
    }
    memset(local, 0, size);
    memcpy(local, &size, sizeof size);
    if (desc == NULL) return CULV_OK;
    CULVI_TRY(culvi_struct_check(voice, desc, name));
    for (size_t i = size; i < given;
         i++) /* a later version of the struct, using what this library does not know */
        CULVI_UNSUPPORTED_IF(
            ((const unsigned char *)desc)[i] != 0, voice, NULL, CULV_REASON_STRUCT_SIZE,
            "%s has %zu bytes with a field set beyond the %zu that this library (%s) knows; use a library at least as new as the headers",
            name, given, size, culv_version_string());
    size_t copy = given < size ? given : size;
    memcpy((char *)local + sizeof size, (const char *)desc + sizeof size, copy - sizeof size);
    return CULV_OK;
}

/* Memory --------------------------------------------------------------------------------------- */

#ifdef CULVI_TEST_HOOKS
#    include <stdatomic.h>
/* The N-th allocation from now fails; counted down by tests. */
_Atomic long culvi_alloc_countdown;
_Atomic long culvi_alloc_count;

void *culvi_alloc(size_t size)
{
    atomic_fetch_add(&culvi_alloc_count, 1);
    if (atomic_load(&culvi_alloc_countdown) > 0 && atomic_fetch_sub(&culvi_alloc_countdown, 1) == 1)
        return NULL;
    return calloc(1, size);
}
#else
void *culvi_alloc(size_t size)
{
    if (size > PTRDIFF_MAX) return NULL; /* with -flto gcc warns of such a size */
    return calloc(1, size);
}
#endif

void *culvi_alloc_for(const culvi_voice *voice, const char *label, size_t size)
{
    void *memory = culvi_alloc(size);
    if (memory == NULL) (void)culvi_fail_host_memory(voice, label);
    return memory;
}

void culvi_free(void *memory)
{
    free(memory);
}

void *culvi_alloc_pages(uint64_t size, uint64_t alignment, void **block)
{
    if (alignment > SIZE_MAX / 4 || size > SIZE_MAX / 2) return NULL;
    char *start = culvi_alloc((size_t)size + (size_t)alignment);
    if (start == NULL) return NULL;
    *block = start;
    size_t over = (size_t)((uintptr_t)start % alignment);
    if (over != 0) start += (size_t)alignment - over;
    /* Volatile, or a compiler that sees through to calloc() leaves it out. */
    for (uint64_t i = 0, page = culvi_page_size(); i < size; i += page)
        *(volatile char *)(start + i) = 0;
    return start;
}

void *culvi_take(void *handle)
{
    void *mine = NULL, *none = NULL;
    if (handle == NULL) return NULL;
    memcpy(&mine, handle, sizeof mine);
    memcpy(handle, &none, sizeof none);
    return mine;
}
