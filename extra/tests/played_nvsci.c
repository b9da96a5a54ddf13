/* SPDX-License-Identifier: MIT */
/* A libnvscibuf.so.1 with the calls that Culvert makes. */
#include "played_nvsci.h"

#include <stdlib.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED played_nvsci culvPlayedNvsci;
EXPORTED int NvSciBufObjDupWithReducePerm(played_buffer *object, int perm, played_buffer **out);
EXPORTED void NvSciBufObjFree(played_buffer *object);

int NvSciBufObjDupWithReducePerm(played_buffer *object, int perm, played_buffer **out)
{
    if (culvPlayedNvsci.answer != 0) return culvPlayedNvsci.answer;
    if (object == NULL || object->magic != PLAYED_BUFFER || perm > object->perm) return 1;
    played_buffer *copy = malloc(sizeof *copy);
    if (copy == NULL) return 2;
    *copy = *object;
    copy->perm = perm;
    *out = copy;
    culvPlayedNvsci.duplicates++;
    return 0;
}

void NvSciBufObjFree(played_buffer *object)
{
    culvPlayedNvsci.freed++;
    object->magic = 0;
    free(object);
}
