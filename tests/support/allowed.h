/* SPDX-License-Identifier: MIT */
/* Validation messages that tests let pass (allowed_vuids.txt). */
#ifndef CULVERT_TESTS_ALLOWED_H_
#define CULVERT_TESTS_ALLOWED_H_

#include <stdbool.h>
#include <stdint.h>

/* Whether a line of the file has this id and holds for the text and for the validation layer's
 * version, as VK_MAKE_API_VERSION() makes it. The id and the text may be NULL. False without the
 * file. */
bool test_message_allowed(const char *file, const char *vuid, const char *text, uint32_t version);

#endif
