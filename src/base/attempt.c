/* SPDX-License-Identifier: MIT */
/* Attempts. */
#include "base/attempt.h"

#include "base/platform.h"

void culvi_attempt_begin(void)
{
    culvi_thread_state()->attempts++;
}

culv_result culvi_attempt_end(const culvi_voice *voice, culv_result result)
{
    culvi_thread *thread = culvi_thread_state();
    if (--thread->attempts == 0 && result != CULV_OK)
        culvi_log(voice, CULV_LOG_ERROR, "%s", thread->error.message);
    return result;
}
