/* SPDX-License-Identifier: MIT */
/* culvert-extra: calls that few programs need. It uses only public calls of Culvert
 * (docs/extra.md). The library is static: link culvert::extra, or use `pkg-config culvert-extra`.
 * The rules in culvert/culvert.h apply here too. */
#ifndef CULV_EXTRA_EXTRA_H_
#define CULV_EXTRA_EXTRA_H_

/* Functions of a static library, even if the Culvert library is shared. */
#define CULV_EXTRA

#endif
