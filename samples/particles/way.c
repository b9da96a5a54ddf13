/* SPDX-License-Identifier: MIT */
/* See way.h. */
#include "way.h"

#include <string.h>

bool exchange_create(exchange *e, const way *w, gl_interop *interop, size_t size)
{
    memset(e, 0, sizeof *e);
    e->way = w;
    e->interop = interop;
    e->cu = interop->cu;
    e->size = size;
    return w->create(e);
}

void exchange_destroy(exchange *e)
{
    if (e->way) e->way->destroy(e);
    memset(e, 0, sizeof *e);
}
