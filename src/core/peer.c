/* SPDX-License-Identifier: MIT */
/* Fallbacks between two GPUs: the other one, opened as a device of its own, and whether copies
 * between the two can be relied on: IOMMUs and virtual machines can break them without an error, so
 * they are verified by data, once a pair (CUDA guide, "Peer-to-Peer Memory Access", "IOMMU on
 * Linux"). */
#include "core/peer.h"

#include "cuda/retire.h"

#include <stdio.h>

enum { PROBE_BYTES = 1 << 16 };

/* One of the two GPUs. Its memory, culv_device::probe, stays until the device goes: cuMemFree waits
 * for all work of the context (measured), and making something must not. */
typedef struct side {
    culv_device *device;
    CUstream stream;
} side;

typedef struct probe {
    side near, far;
    const char *label;
    uint32_t *words; /* as many bytes on the host */
} probe;

static uint32_t word(uint32_t i, uint32_t seed)
{
    return (i ^ seed) * UINT32_C(2654435761);
}

static culv_result fail(const probe *p, const culv_device *device, CUresult r, const char *call)
{
    return culvi_fail_cuda(device, p->label, r, call, CULV_REASON_DRIVER_REFUSED,
                           "the copies between '%s' and '%s' could not be verified",
                           p->near.device->caps.name, p->far.device->caps.name);
}

typedef enum kind { WRITE, READ, CROSS } kind;

/* One copy of all of the bytes, and waits: between a side and the host, or from a side to the
 * other. That one is in the near device's stream both ways, as pushes and pulls are. */
static culv_result copy(const probe *p, kind what, const side *from)
{
    const side *to = from == &p->near ? &p->far : &p->near;
    const side *runs = what == CROSS ? &p->near : from;
    culv_device *device = runs->device;
    const char *call = what == WRITE  ? "cuMemcpyHtoDAsync"
                       : what == READ ? "cuMemcpyDtoHAsync"
                                      : "cuMemcpyPeerAsync";
    culvi_scope scope;
    CULVI_TRY(culvi_enter(device, &scope, p->label));
    CUresult r;
    if (what == WRITE)
        r = CULVI_CU(device, cuMemcpyHtoDAsync,
                     (device->probe, p->words, PROBE_BYTES, runs->stream));
    else if (what == READ)
        r = CULVI_CU(device, cuMemcpyDtoHAsync,
                     (p->words, device->probe, PROBE_BYTES, runs->stream));
    else
        r = CULVI_CU(device, cuMemcpyPeerAsync,
                     (to->device->probe, to->device->context, from->device->probe,
                      from->device->context, PROBE_BYTES, runs->stream));
    if (r == CUDA_SUCCESS) r = CULVI_CU_AS(call, device, cuStreamSynchronize, (runs->stream));
    culvi_leave(device, &scope);
    return r == CUDA_SUCCESS ? CULV_OK : fail(p, device, r, call);
}

static void fill(const probe *p, uint32_t seed)
{
    for (uint32_t i = 0; i < PROBE_BYTES / sizeof *p->words; i++)
        p->words[i] = word(i, seed);
}

static uint32_t count_wrong(const probe *p, uint32_t seed)
{
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < PROBE_BYTES / sizeof *p->words; i++)
        wrong += p->words[i] != word(i, seed);
    return wrong;
}

/* One direction: the target is spoiled first, so that a copy that does nothing shows. */
static culv_result verify_direction(const probe *p, const side *from, const side *to, uint32_t seed,
                                    uint32_t *wrong)
{
    fill(p, ~seed);
    culv_result result = copy(p, WRITE, to);
    fill(p, seed);
    if (result == CULV_OK) result = copy(p, WRITE, from);
    if (result == CULV_OK) result = copy(p, CROSS, from);
    memset(p->words, 0, PROBE_BYTES);
    if (result == CULV_OK) result = copy(p, READ, to);
    if (result == CULV_OK) *wrong += count_wrong(p, seed);
    return result;
}

static culv_result open_side(const probe *p, side *s)
{
    culv_device *device = s->device;
    culvi_scope scope;
    CULVI_TRY(culvi_enter(device, &scope, p->label));
    const char *call = "cuMemAlloc";
    CUresult r = device->probe == 0 ? CULVI_CU(device, cuMemAlloc, (&device->probe, PROBE_BYTES))
                                    : CUDA_SUCCESS;
    if (r != CUDA_SUCCESS) {
        device->probe = 0;
    } else {
        r = CULVI_CU_AS(call, device, cuStreamCreate, (&s->stream, CU_STREAM_NON_BLOCKING));
        if (r != CUDA_SUCCESS) s->stream = NULL;
    }
    culvi_leave(device, &scope);
    return r == CUDA_SUCCESS ? CULV_OK : fail(p, device, r, call);
}

/* Everything twice from here on: what is refused once would stay with the context. A copy may be
 * under way still where waiting for it has failed. */
static void end_side(const side *s, bool destroy)
{
    culv_device *device = s->device;
    culvi_scope scope;
    if (s->stream == NULL || !culvi_enter_to_end(device, &scope)) return;
    if (destroy)
        CULVI_RELEASE_SURELY(device, cuStreamDestroy, (s->stream));
    else
        CULVI_RELEASE_SURELY(device, cuStreamSynchronize, (s->stream));
    culvi_leave(device, &scope);
}

static culv_result verify(culv_device *near, culv_device *far, const char *label, uint32_t *wrong)
{
    probe p = {.near = {.device = near}, .far = {.device = far}, .label = label};
    *wrong = 0;
    p.words = culvi_alloc(PROBE_BYTES);
    if (p.words == NULL) return culvi_fail_host_memory(&near->voice, label);
    culv_result result = open_side(&p, &p.near);
    if (result == CULV_OK) result = open_side(&p, &p.far);
    if (result == CULV_OK)
        result = verify_direction(&p, &p.near, &p.far, UINT32_C(0x1badb002), wrong);
    if (result == CULV_OK)
        result = verify_direction(&p, &p.far, &p.near, UINT32_C(0x600df00d), wrong);
    /* A copy uses the memory of both. */
    end_side(&p.far, false);
    end_side(&p.near, false);
    end_side(&p.far, true);
    end_side(&p.near, true);
    culvi_free(p.words);
    return result;
}

static void free_peers(culv_device *device)
{
    culvi_scope scope;
    if (device->probe != 0 && culvi_enter_to_end(device, &scope)) {
        CULVI_RELEASE_SURELY(device, cuMemFree, (device->probe));
        culvi_leave(device, &scope);
    }
    while (device->peers != NULL) {
        culvi_peer *peer = device->peers;
        device->peers = peer->next;
        culvi_free(peer);
    }
}

/* The peer in the list, made when it is not there yet. */
static culvi_peer *find(culv_device *device, const culv_uuid *uuid, const char *label)
{
    for (culvi_peer *p = device->peers; p != NULL; p = p->next)
        if (culvi_uuid_equal(&p->uuid, uuid)) return p;
    culvi_peer *made = culvi_alloc_for(&device->voice, label, sizeof *made);
    if (made == NULL) return NULL;
    made->uuid = *uuid;
    made->next = device->peers;
    device->peers = made;
    device->free_peers = free_peers;
    return made;
}

static culv_result refuse(const culv_device *device, const culvi_peer *peer, const char *label)
{
    return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_PEER, "%s",
                      peer->why);
}

void culvi_peer_enable(culv_device *device, culvi_peer *peer)
{
    culvi_scope scope;
    if (peer->enabled || device->cuda->cuCtxEnablePeerAccess == NULL) return;
    if (culvi_enter_quietly(device, &scope) != CUDA_SUCCESS) return;
    const CUresult r = CULVI_CU(device, cuCtxEnablePeerAccess, (peer->device->context, 0));
    culvi_leave(device, &scope);
    peer->enabled = r == CUDA_SUCCESS || r == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
    if (!peer->enabled)
        culvi_log(
            &device->voice, CULV_LOG_INFO,
            "copies between '%s' and '%s' go through the host: cuCtxEnablePeerAccess answered %d",
            device->caps.name, peer->device->caps.name, (int)r);
}

culv_result culvi_peer_verify(culv_device *device, culvi_peer *peer, const char *label)
{
    uint32_t wrong = 0;
    if (peer->verdict == CULVI_PEER_GOOD) return CULV_OK;
    if (peer->verdict == CULVI_PEER_WRONG) return refuse(device, peer, label);
    CULVI_TRY(verify(device, peer->device, label, &wrong));
    peer->verdict = wrong == 0 ? CULVI_PEER_GOOD : CULVI_PEER_WRONG;
    if (wrong == 0) {
        culvi_log(&device->voice, CULV_LOG_INFO, "copies between '%s' and '%s' were verified",
                  device->caps.name, peer->device->caps.name);
        return CULV_OK;
    }
    snprintf(
        peer->why, sizeof peer->why,
        "copies between '%s' and '%s' arrive wrong without an error (%" PRIu32
        " of %d words): an IOMMU or a virtual machine stands between the GPUs (culvert-info reports it). Use HOST, or turn the IOMMU off",
        device->caps.name, peer->device->caps.name, wrong,
        2 * (int)(PROBE_BYTES / sizeof(uint32_t)));
    return refuse(device, peer, label);
}

culv_result culvi_peer_acquire(culv_device *device, const culv_uuid *uuid, const char *label,
                               culvi_peer **out)
{
    if (device->cuda->cuMemcpyPeerAsync == NULL || device->cuda->cuMemcpy3DPeerAsync == NULL)
        return culvi_fail(&device->voice, label, CULV_ERROR_UNSUPPORTED, CULV_REASON_PEER,
                          "the CUDA driver lacks copies between devices (cuMemcpyPeerAsync)");
    culvi_peer *peer = find(device, uuid, label);
    if (peer == NULL) return CULV_ERROR_OUT_OF_MEMORY;
    if (peer->verdict == CULVI_PEER_WRONG) return refuse(device, peer, label);
    if (peer->users == 0) {
        culv_device_desc d = culv_device_desc_init();
        d.driver = device->cuda->kind;
        d.log = device->voice.log;
        d.label = device->voice.label;
        CULVI_TRY(culvi_device_open(uuid, -1, NULL, NULL, &d, &peer->device));
        peer->device->free_peers = free_peers; /* it has a `probe` of its own */
        device->counts.peers++;
    }
    peer->users++;
    *out = peer;
    return CULV_OK;
}

culv_device *culvi_peer_release(culv_device *device, culvi_peer *peer)
{
    if (--peer->users > 0) return NULL;
    culv_device *closed = peer->device;
    peer->device = NULL;
    peer->enabled = false;
    device->counts.peers--;
    return closed;
}

culv_result culvi_reach_ask(const culv_device *device, const culv_uuid *uuid, const char *label,
                            int *owner, bool *reaches)
{
    int can = 0;
    const char *call;
    CUresult r = culvi_device_find(device, uuid, owner, &call);
    if (r == CUDA_SUCCESS && *owner >= 0) {
        r = CULVI_CU_AS(call, device, cuDeviceCanAccessPeer,
                        (&can, (CUdevice)device->ordinal, (CUdevice)*owner));
    }
    CULVI_CU_CHECK(device, label, r, call, CULV_REASON_DRIVER_REFUSED,
                   "the driver could not be asked whether '%s' reaches memory of the other GPU",
                   device->caps.name);
    *reaches = can != 0;
    return CULV_OK;
}
