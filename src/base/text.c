/* SPDX-License-Identifier: MIT */
/* Text of a bounded size. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

void culvi_text_add(culvi_text *text, const char *format, ...)
{
    if (text->length + 1 >= text->size) return;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text->data + text->length, text->size - text->length, format, args);
    va_end(args);
    if (n < 0) return;
    size_t room = text->size - text->length - 1;
    text->length += (size_t)n < room ? (size_t)n : room;
}

void culvi_text_add_uuid(culvi_text *text, const culv_uuid *uuid)
{
    for (int i = 0; i < 16; i++)
        culvi_text_add(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       uuid->bytes[i]);
}

void culvi_text_add_luid(culvi_text *text, const culv_luid *luid, uint32_t node_mask)
{
    culvi_text_add(text, "LUID ");
    for (int i = 0; i < 8; i++)
        culvi_text_add(text, "%02x", luid->bytes[i]);
    culvi_text_add(text, " node mask %#x", (unsigned)node_mask);
}

bool culvi_uuid_equal(const culv_uuid *a, const culv_uuid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool culvi_uuid_given(const culv_uuid *uuid)
{
    static const culv_uuid none;
    return !culvi_uuid_equal(uuid, &none);
}

bool culvi_luid_equal(const culv_luid *a, const culv_luid *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

bool culvi_luid_given(const culv_luid *luid)
{
    static const culv_luid none;
    return !culvi_luid_equal(luid, &none);
}
