/* SPDX-License-Identifier: MIT */
/* Culvert: all core headers. Each graphics API has its own besides: culvert/vulkan.h. */
#ifndef CULV_CULVERT_H_
#define CULV_CULVERT_H_

#include "base.h"
#include "device.h"
#include "fallback.h"
#include "format.h"
#include "graph.h"
#include "handle.h"
#include "image.h"
#include "log.h"
#include "mem_pool.h"
#include "memory.h"
#include "multicast.h"
#include "result.h"
#include "ring.h"
#include "semaphore.h"
#include "soft.h"
#include "sparse.h"
#include "texture.h"
#include "vector.h"
#include "vmm.h"

#endif
