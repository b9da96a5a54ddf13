/* SPDX-License-Identifier: MIT */
/* The protocol between a server and its clients: messages of one size, little-endian, each with
 * what must be true of it. Nothing that was received is used before culvi_ipc_decode() took it. */
#ifndef CULVI_IPC_WIRE_H_
#define CULVI_IPC_WIRE_H_

#include "base/text.h"
#include "culvert/ipc.h"
#include "culvert/ring.h"

enum {
    CULVI_IPC_BYTES = 512, /* of every message; a packet of a SOCK_SEQPACKET socket */
    CULVI_IPC_VERSION = 1,
    CULVI_IPC_FDS = 16,  /* the most file descriptors of a message */
    CULVI_IPC_DATA = 64, /* of a handle of CUDA's that is plain bytes */
    CULVI_IPC_TEXT = 256
};

typedef enum culvi_ipc_type {
    CULVI_IPC_HELLO = 1,   /* the client's first; the answer is the same type */
    CULVI_IPC_LIST = 2,    /* number; the answer has total and info */
    CULVI_IPC_RECEIVE = 3, /* name; the answer has info and its fd */
    CULVI_IPC_CHUNKS =
        4,               /* name, number of the first, known; the answer has chunks and their fds */
    CULVI_IPC_JOIN = 5,  /* name, join; the answer has join and the pages' fds */
    CULVI_IPC_LEAVE = 6, /* number of the consumer */
    CULVI_IPC_WAKE = 7,  /* no answer: look at the pages */
    CULVI_IPC_ERROR = 8, /* an answer: result, reason, text */
    CULVI_IPC_TYPES = 9
} culvi_ipc_type;

typedef struct culvi_ipc_chunk {
    uint64_t id, offset, size;
} culvi_ipc_chunk;

/* Of a ring: what a consumer asks for, and what it gets. */
typedef struct culvi_ipc_join {
    uint32_t policy;    /* culv_ring_policy */
    uint32_t timelines; /* 0: counters in the page; 1: the consumer's two fds; 2: the producer's */
    uint32_t depth, parts;
    uint64_t page_size;
    /* culv_handle_type of those handles; 0: the system's opaque one, OPAQUE_FD or OPAQUE_WIN32 */
    uint32_t handle_type;
} culvi_ipc_join;

typedef struct culvi_ipc_message {
    culvi_ipc_type type;
    uint32_t sequence; /* an answer has its question's */
    uint32_t fds;      /* file descriptors that travel with it */
    bool answer;
    /* HELLO */
    uint32_t version, pid, driver;
    culv_uuid device;
    /* RECEIVE, CHUNKS, JOIN */
    char name[CULV_IPC_NAME_SIZE];
    uint64_t number, total;
    culv_ipc_info info;                 /* LIST, RECEIVE, JOIN */
    unsigned char data[CULVI_IPC_DATA]; /* RECEIVE */
    /* CHUNKS */
    uint64_t known, generation, size;
    uint32_t count;
    culvi_ipc_chunk chunks[CULVI_IPC_FDS];
    culvi_ipc_join join;
    /* ERROR */
    culv_result result;
    culv_reason reason;
    char text[CULVI_IPC_TEXT];
} culvi_ipc_message;

void culvi_ipc_encode(const culvi_ipc_message *message, unsigned char out[CULVI_IPC_BYTES]);
/* False: it is no message of this protocol, and `why` says what is wrong. `answer` tells which of
 * the two sides sent it, `fds` how many file descriptors came with it. */
bool culvi_ipc_decode(const unsigned char *bytes, size_t size, size_t fds, bool answer,
                      culvi_ipc_message *out, culvi_text *why);

/* Whether the thing is plain bytes, and no file descriptor goes with it. */
bool culvi_ipc_is_data(culv_ipc_kind kind);
bool culvi_ipc_name_good(const char name[CULV_IPC_NAME_SIZE]);
/* Whether a description makes sense, in what its kind needs. */
bool culvi_ipc_info_good(const culv_ipc_info *info, culvi_text *why);

#endif
