/* SPDX-License-Identifier: MIT */
/* Driver calls in the log. */
#include "base/value.h"

static void add_pointed(culvi_text *text, unsigned kind, const void *at, bool success,
                        culvi_value_add add)
{
    const bool output = kind >= CULVI_VALUE_out_text && kind <= CULVI_VALUE_out_handle;
    uintptr_t handle;
    if (at == NULL) {
        culvi_text_add(text, "NULL");
        return;
    }
    if (output && !success) kind = CULVI_VALUE_pointer;
    switch (kind) {
    case CULVI_VALUE_pointer: culvi_text_add(text, "0x%" PRIxPTR, (uintptr_t)at); break;
    case CULVI_VALUE_text: culvi_text_add(text, "\"%s\"", (const char *)at); break;
    case CULVI_VALUE_out_text: culvi_text_add(text, "-> \"%s\"", (const char *)at); break;
    case CULVI_VALUE_out_int: culvi_text_add(text, "-> %d", *(const int *)at); break;
    case CULVI_VALUE_out_unsigned: culvi_text_add(text, "-> %u", *(const unsigned *)at); break;
    case CULVI_VALUE_out_long: culvi_text_add(text, "-> %lu", *(const unsigned long *)at); break;
    case CULVI_VALUE_out_hex:
        culvi_text_add(text, "-> %#llx", *(const unsigned long long *)at);
        break;
    case CULVI_VALUE_out_handle:
        memcpy(&handle, at, sizeof handle); /* a pointer of any type */
        culvi_text_add(text, "-> 0x%" PRIxPTR, handle);
        break;
    default: add(text, kind, at); break;
    }
}

void culvi_trace(const culvi_voice *voice, const char *call, const char *result, bool success,
                 culvi_value_add add, uint64_t kinds, va_list values)
{
    CULVI_TEXT(text, 1024);
    for (const char *comma = ""; kinds != 0; kinds >>= 8, comma = ", ") {
        const unsigned kind = kinds & 0xff;
        culvi_text_add(&text, "%s", comma);
        switch (kind) {
        case CULVI_VALUE_int: culvi_text_add(&text, "%d", va_arg(values, int)); break;
        case CULVI_VALUE_long: culvi_text_add(&text, "%ld", va_arg(values, long)); break;
        case CULVI_VALUE_long_long: culvi_text_add(&text, "%lld", va_arg(values, long long)); break;
        case CULVI_VALUE_unsigned: culvi_text_add(&text, "%u", va_arg(values, unsigned)); break;
        case CULVI_VALUE_unsigned_long:
            culvi_text_add(&text, "%lu", va_arg(values, unsigned long));
            break;
        case CULVI_VALUE_hex:
            culvi_text_add(&text, "%#llx", va_arg(values, unsigned long long));
            break;
        case CULVI_VALUE_bytes:
            (void)va_arg(values, culvi_value_bytes);
            culvi_text_add(&text, "{%zu bytes}", sizeof(culvi_value_bytes));
            break;
        default: add_pointed(&text, kind, va_arg(values, const void *), success, add); break;
        }
    }
    culvi_log(voice, CULV_LOG_DEBUG, "%s(%s)%s%s", call, text.data, result != NULL ? " = " : "",
              result != NULL ? result : "");
}
