/* SPDX-License-Identifier: MIT */
/* JSON is UTF-8, and names and paths are any bytes. */
#ifndef CHECK_UTF8_H_
#define CHECK_UTF8_H_

#include <stddef.h>

/* How many bytes the character at `s` has; 0: it is none of UTF-8, or one that controls. */
static inline size_t check_utf8(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (c[0] < 0x20 || c[0] == 0x7f) return 0;
    if (c[0] < 0x80) return 1;
    const size_t length = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    /* Too long for what it says, a half of a pair of UTF-16, beyond what there is. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
        return 0;
    return length;
}

/* What is no text becomes '?'. */
static inline void check_utf8_clean(char *s)
{
    while (*s != '\0') {
        const size_t length = check_utf8(s);
        if (length == 0) *s = '?';
        s += length > 0 ? length : 1;
    }
}

#endif
