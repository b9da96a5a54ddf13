/* SPDX-License-Identifier: MIT */
/* culvert-info: writing JSON, indented, in the order of the calls. */
#ifndef CULVERT_INFO_JSON_H_
#define CULVERT_INFO_JSON_H_

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    int depth;
    bool first; /* nothing was written yet at this depth */
};

/* `key` is NULL for an array's elements. */
void json_begin(struct json *json, const char *key, char bracket);
void json_end(struct json *json, char bracket);
void json_string(struct json *json, const char *key, const char *value); /* NULL: null */
void json_text(struct json *json, const char *key, const char *value);   /* "" too: null */
void json_integer(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

#endif
