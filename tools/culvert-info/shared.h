/* SPDX-License-Identifier: MIT */
/* culvert-info --shared. */
#ifndef CULVERT_INFO_SHARED_H_
#define CULVERT_INFO_SHARED_H_

#include <stdbool.h>
#include <stdio.h>

/* Servers with sockets in `directory`; NULL: abstract ones. False, with a message, when they cannot
 * be looked for. */
bool print_shared(const char *directory, bool as_json, FILE *out);

#endif
