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

#define ADD_OUT(name, type, form, shown)                                                           \
    static void name(culvi_text *text, const culvi_value *value)                                   \
    {                                                                                              \
        type out;                                                                                  \
        memcpy(&out, value->at.pointer, sizeof out);                                               \
        culvi_text_add(text, "-> " form, shown);                                                   \
    }
ADD_OUT(add_out_int, int, "%d", out)
ADD_OUT(add_out_unsigned, unsigned, "%u", out)
ADD_OUT(add_out_long, unsigned long, "%lu", out)
ADD_OUT(add_out_hex, unsigned long long, "%#llx", out)
ADD_OUT(add_out_handle, uintptr_t, "0x%" PRIxPTR, out)

static void add_out_text(culvi_text *text, const culvi_value *value)
{
    culvi_text_add(text, "-> \"%s\"", (const char *)value->at.pointer);
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

static culvi_value out(void (*add)(culvi_text *, const culvi_value *), const void *pointer)
{
    culvi_value value = culvi_value_struct(add, pointer);
    value.output = true;
    return value;
}

culvi_value culvi_value_out_text(const char *text)
{
    return out(add_out_text, text);
}

culvi_value culvi_value_out_int(const int *pointer)
{
    return out(add_out_int, pointer);
}

culvi_value culvi_value_out_unsigned(const unsigned *pointer)
{
    return out(add_out_unsigned, pointer);
}

culvi_value culvi_value_out_long(const unsigned long *pointer)
{
    return out(add_out_long, pointer);
}

culvi_value culvi_value_out_hex(const unsigned long long *pointer)
{
    return out(add_out_hex, pointer);
}

culvi_value culvi_value_out_handle(const void *pointer)
{
    return out(add_out_handle, pointer);
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
