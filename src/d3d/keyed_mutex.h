/* SPDX-License-Identifier: MIT */
/* culv_keyed_mutex: imports for Direct3D's attachments. */
#ifndef CULVI_D3D_KEYED_MUTEX_H_
#define CULVI_D3D_KEYED_MUTEX_H_

#include "core/import.h"
#include "culvert/d3d.h"

/* Imports a handle that an API has just exported, only for this call (culvi_import_trust()). The
 * handle is gone, whatever the result. */
culv_result culvi_keyed_mutex_import_exported(culv_device *device, const culv_keyed_mutex_desc *d,
                                              culv_keyed_mutex **out);

#endif
