/* SPDX-License-Identifier: MIT */
/* Other GPUs of the same driver, for copies between the two. */
#ifndef CULVI_CORE_PEER_H_
#define CULVI_CORE_PEER_H_

#include "cuda/device.h"

/* Another GPU of the same driver, as an entry of a device's list. Guarded by that device's lock. */
struct culvi_peer {
    struct culvi_peer *next;
    culv_uuid uuid;
    culv_device *device; /* while it has users */
    uint32_t users;
    bool enabled; /* the device reaches its memory: culvi_peer_enable() */
    enum { CULVI_PEER_UNKNOWN, CULVI_PEER_GOOD, CULVI_PEER_WRONG } verdict;
    char why[800]; /* it is wrong */
};

/* Opens the GPU with this UUID. The caller holds the lock. */
culv_result culvi_peer_acquire(culv_device *device, const culv_uuid *uuid, const char *label,
                               culvi_peer **out);
/* Lets copies go straight to the other GPU's memory. Measured on two H200: 390 GB/s in place of 38
 * through the host's. It stays, because others in this context may rely on it by then; what the
 * driver refuses costs speed alone. The caller holds the lock. */
void culvi_peer_enable(culv_device *device, culvi_peer *peer);
/* Verifies copies by their data, once for each pair (R37). The caller holds the lock. */
culv_result culvi_peer_verify(culv_device *device, culvi_peer *peer, const char *label);
/* Returns the other GPU's device if this was its last user, else NULL. Close it without the lock,
 * since closing may wait. The caller holds the lock. */
culv_device *culvi_peer_release(culv_device *device, culvi_peer *peer);
/* Whether the device's kernels reach memory of the GPU with this UUID, as the driver says. *owner
 * is that GPU's ordinal; -1: the driver shows none. */
culv_result culvi_reach_ask(const culv_device *device, const culv_uuid *uuid, const char *label,
                            int *owner, bool *reaches);

#endif
