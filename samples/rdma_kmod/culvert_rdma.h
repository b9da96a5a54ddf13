/* SPDX-License-Identifier: MIT */
/* The ioctls of /dev/culvert_rdma, for user space too. */
#ifndef CULVERT_SAMPLE_RDMA_H_
#define CULVERT_SAMPLE_RDMA_H_

#include <linux/ioctl.h>
#include <linux/types.h>

#define CULVERT_RDMA_CHUNK 65536

/* Of culvert_rdma_pin::flags. The pages stay pinned when the memory is freed, and nothing tells. */
#define CULVERT_RDMA_PERSISTENT 1

struct culvert_rdma_pin {
    __u64 address; /* a multiple of CULVERT_RDMA_CHUNK: culv_rdma_get_cost() */
    __u64 size;    /* likewise */
    __u32 flags;
    /* The card: PCI domain << 16 | bus << 8 | device << 3 | function. 0: no mapping for one */
    __u32 peer;
    __u32 id;        /* out */
    __u32 page_size; /* out, bytes */
    __u32 entries;   /* out */
    __u32 reserved;
};

/* Whether the memory is still there. */
struct culvert_rdma_look {
    __u32 id;
    __u32 freed; /* out: the driver has revoked the pages */
};

#define CULVERT_RDMA_IOC_PIN   _IOWR('c', 1, struct culvert_rdma_pin)
#define CULVERT_RDMA_IOC_UNPIN _IOW('c', 2, __u32)
#define CULVERT_RDMA_IOC_LOOK  _IOWR('c', 3, struct culvert_rdma_look)

#endif
