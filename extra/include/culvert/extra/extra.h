/* SPDX-License-Identifier: MIT */
/* culvert-extra: what few programs need, on public calls of Culvert alone (docs/extra.md). The
 * library is static: link culvert::extra, or what `pkg-config culvert-extra` says. The rules of
 * culvert/culvert.h hold here too. */
#ifndef CULV_EXTRA_EXTRA_H_
#define CULV_EXTRA_EXTRA_H_

/* Functions of a static library, whatever kind of Culvert it is linked with. */
#define CULV_EXTRA

#endif
