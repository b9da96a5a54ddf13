/* SPDX-License-Identifier: MIT */
/* culvert-info: writing JSON (RFC 8259). */
#include "json.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Bytes of the UTF-8 sequence at `text`, 0 when it is none: overlong forms, surrogates and values
 * beyond U+10FFFF are none. (Unicode, table 3-7.) */
static size_t utf8_length(const unsigned char *text)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high, length;
    } rows[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (text[0] < rows[i].first_low || text[0] > rows[i].first_high) continue;
        for (size_t k = 1; k < rows[i].length; k++) {
            unsigned char low = k == 1 ? rows[i].second_low : 0x80;
            unsigned char high = k == 1 ? rows[i].second_high : 0xbf;
            if (text[k] < low || text[k] > high) return 0;
        }
        return rows[i].length;
    }
    return 0;
}

static void put_quoted(FILE *out, const char *value)
{
    fputc('"', out);
    for (const unsigned char *at = (const unsigned char *)value; *at != '\0';) {
        size_t length = utf8_length(at);
        if (length == 0) {
            fputs("\\ufffd", out); /* a path or a variable may hold any bytes */
            length = 1;
        } else if (*at == '"' || *at == '\\') {
            fprintf(out, "\\%c", *at);
        } else if (*at < 0x20) {
            fprintf(out, "\\u%04x", (unsigned)*at);
        } else {
            fwrite(at, 1, length, out);
        }
        at += length;
    }
    fputc('"', out);
}

static void begin_value(struct json *json, const char *key)
{
    if (!json->first) fputc(',', json->out);
    if (json->depth > 0) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    json->first = false;
    if (key == NULL) return;
    put_quoted(json->out, key);
    fputs(": ", json->out);
}

void json_begin(struct json *json, const char *key, char bracket)
{
    begin_value(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = true;
}

void json_end(struct json *json, char bracket)
{
    json->depth--;
    if (!json->first) fprintf(json->out, "\n%*s", 2 * json->depth, "");
    fputc(bracket, json->out);
    json->first = false;
    if (json->depth == 0) fputc('\n', json->out);
}

void json_null(struct json *json, const char *key)
{
    begin_value(json, key);
    fputs("null", json->out);
}

void json_string(struct json *json, const char *key, const char *value)
{
    if (value == NULL) {
        json_null(json, key);
        return;
    }
    begin_value(json, key);
    put_quoted(json->out, value);
}

void json_text(struct json *json, const char *key, const char *value)
{
    json_string(json, key, value[0] != '\0' ? value : NULL);
}

void json_integer(struct json *json, const char *key, int64_t value)
{
    begin_value(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void json_bool(struct json *json, const char *key, bool value)
{
    begin_value(json, key);
    fputs(value ? "true" : "false", json->out);
}
