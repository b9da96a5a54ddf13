/* SPDX-License-Identifier: MIT */
/* Attempts: after a failure something else may still be tried. */
#ifndef CULVI_BASE_ATTEMPT_H_
#define CULVI_BASE_ATTEMPT_H_

#include "base/message.h"

/* Between begin and end, failures are logged as news, not as errors, because something else may
 * still be tried. */
void culvi_attempt_begin(void);
/* Logs a failure as an error after all. */
culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result);

#endif
