/* SPDX-License-Identifier: MIT */
/* Driver calls in the log. */
#include "base/value.h"

#include <inttypes.h>
#include <string.h>

static void add_signed(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "%lld", (long long)value->at.number);
}

static void add_unsigned(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "%llu", value->at.number);
}

static void add_hex(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "%#llx", value->at.number);
}

static void add_pointer(culvi_text *text, const culvi_value *value)
{
    if (value->at.pointer == NULL)
        culvi_text_add(text, "NULL");
    else
        culvi_text_add(text, "0x%" PRIxPTR, (uintptr_t)value->at.pointer);
}

static void add_text(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "\"%s\"", (const char *)value->at.pointer);
}

static culvi_value number(void (*add)(culvi_text *, const culvi_value *), unsigned long long n)
{
    return (culvi_value){.add = add, .at.number = n};
}

culvi_value culvi_value_signed(long long n)
{
    return number(add_signed, (unsigned long long)n);
}

culvi_value culvi_value_unsigned(unsigned long long n)
{
    return number(add_unsigned, n);
}

culvi_value culvi_value_hex(unsigned long long n)
{
    return number(add_hex, n);
}

culvi_value culvi_value_pointer(const void *pointer)
{
    return (culvi_value){.add = add_pointer, .at.pointer = pointer};
}

culvi_value culvi_value_struct(void (*add)(culvi_text *text, const culvi_value *value),
                               const void *pointer)
{
    return (culvi_value){.add = pointer != NULL ? add : add_pointer, .at.pointer = pointer};
}

culvi_value culvi_value_text(const char *text)
{
    return culvi_value_struct(add_text, text);
}

/* What a pointer of type `in` points to, taken as a `type`. */
#define OUT(name, in, type, form)                                                                  \
    static void add_##name(culvi_text *text, const culvi_value *value)                             \
    {                                                                                              \
        type out;                                                                                  \
        memcpy(&out, value->at.pointer, sizeof out);                                               \
        culvi_text_add(text, "-> " form, out);                                                     \
    }                                                                                              \
    culvi_value culvi_value_##name(const in *pointer)                                              \
    {                                                                                              \
        culvi_value value = culvi_value_struct(add_##name, pointer);                               \
        value.output = true;                                                                       \
        return value;                                                                              \
    }
OUT(out_int, int, int, "%d")
OUT(out_unsigned, unsigned, unsigned, "%u")
OUT(out_long, unsigned long, unsigned long, "%lu")
OUT(out_hex, unsigned long long, unsigned long long, "%#llx")
OUT(out_handle, void, uintptr_t, "0x%" PRIxPTR)

static void add_out_text(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "-> \"%s\"", (const char *)value->at.pointer);
}

culvi_value culvi_value_out_text(const char *text)
{
    culvi_value value = culvi_value_struct(add_out_text, text);
    value.output = true;
    return value;
}

void culvi_trace(const culvi_voice *voice, const char *call, const char *result, bool success,
                 const culvi_value *values, size_t count)
{
    char data[1024] = "";
    culvi_text text = {data, sizeof data, 0};
    for (size_t i = 0; i < count; i++) {
        culvi_text_add(&text, "%s", i == 0 ? "" : ", ");
        if (values[i].output && !success)
            add_pointer(&text, &values[i]);
        else
            values[i].add(&text, &values[i]);
    }
    culvi_log(voice, CULV_LOG_DEBUG, "%s(%s)%s%s", call, data, result != NULL ? " = " : "",
              result != NULL ? result : "");
}
