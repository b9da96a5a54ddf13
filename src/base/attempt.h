/* SPDX-License-Identifier: MIT */
/* Attempts: something else may still be tried after a failure. */
#ifndef CULVI_BASE_ATTEMPT_H_
#define CULVI_BASE_ATTEMPT_H_

#include "base/message.h"

/* Between the two, failures are logged as news, not as errors: something else may still be
 * tried. */
void culvi_attempt_begin(void);
/* A failure is an error after all. */
culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result);

#endif
