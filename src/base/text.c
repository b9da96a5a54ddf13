/* SPDX-License-Identifier: MIT */
/* Text of a bounded size. */
#include "base/text.h"

#include <stdio.h>

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

/* Bytes of the character at `at`, which is no control character; 0: it is none of UTF-8 (RFC 3629).
 */
static size_t plain_character(const char *at)
{
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] < 0x80) return c[0] >= 0x20 && c[0] != 0x7f;
    const size_t more = c[0] >= 0xc2 && c[0] < 0xe0 ? 1 : c[0] >= 0xe0 && c[0] < 0xf0 ? 2 : 3;
    if (c[0] < 0xc2 || c[0] > 0xf4) return 0;
    for (size_t i = 1; i <= more; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    const bool c1 = c[0] == 0xc2 && c[1] < 0xa0;
    const bool wide = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    const bool none = (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf4 && c[1] > 0x8f);
    return c1 || wide || none ? 0 : 1 + more;
}

bool culvi_text_plain(const char *text)
{
    for (size_t length; *text != 0; text += length) {
        length = plain_character(text);
        if (length == 0) return false;
    }
    return true;
}

void culvi_text_make_plain(char *text)
{
    for (size_t length; *text != 0; text += length > 0 ? length : 1) {
        length = plain_character(text);
        if (length == 0) *text = '?';
    }
}

void culvi_text_add_uuid(culvi_text *text, const culv_uuid *uuid)
{
    for (int i = 0; i < 16; i++)
        culvi_text_add(text, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       uuid->bytes[i]);
}

void culvi_text_add_named(culvi_text *text, const char *kind, const char *label)
{
    if (label != NULL && label[0] != '\0')
        culvi_text_add(text, "the %s '%s'", kind, label);
    else
        culvi_text_add(text, "a %s without a label", kind);
}

culvi_name culvi_named(const char *kind, const char *label)
{
    culvi_name name = {""};
    culvi_text text = {name.text, sizeof name.text, 0};
    culvi_text_add_named(&text, kind, label);
    return name;
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
