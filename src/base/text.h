/* SPDX-License-Identifier: MIT */
/* Text of a bounded size, for messages. */
#ifndef CULVI_BASE_TEXT_H_
#define CULVI_BASE_TEXT_H_

#include "base/message.h"
#include "culvert/base.h"

/* A bounded text to append to; what does not fit is cut off. */
typedef struct culvi_text {
    char *data;
    size_t size;
    size_t length;
} culvi_text;

/* Declares an empty one. */
#define CULVI_TEXT(name, room)                                                                     \
    char name##_room[room] = "";                                                                   \
    culvi_text name = {name##_room, sizeof name##_room, 0}

void culvi_text_add(culvi_text *text, const char *format, ...) CULVI_PRINTF(2, 3);
/* Whether a terminal may get it: UTF-8 without control characters (C0, DEL, C1). */
bool culvi_text_plain(const char *text);
/* Puts '?' in the place of each byte that is not so. */
void culvi_text_make_plain(char *text);
/* "the ring 'frames'", or "a ring without a label". */
void culvi_text_add_named(culvi_text *text, const char *kind, const char *label);
/* The same as an argument: culvi_named("ring", label).text */
typedef struct culvi_name {
    char text[104];
} culvi_name;
culvi_name culvi_named(const char *kind, const char *label);
void culvi_text_add_uuid(culvi_text *text, const culv_uuid *uuid);
void culvi_text_add_luid(culvi_text *text, const culv_luid *luid, uint32_t node_mask);

bool culvi_uuid_equal(const culv_uuid *a, const culv_uuid *b);
bool culvi_uuid_given(const culv_uuid *uuid);
bool culvi_luid_equal(const culv_luid *a, const culv_luid *b);
bool culvi_luid_given(const culv_luid *luid);

#endif
