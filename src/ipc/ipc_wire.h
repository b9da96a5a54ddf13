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
    CULVI_IPC_VERSION = 2,
    CULVI_IPC_FDS = 16,  /* the most file descriptors of a message */
    CULVI_IPC_DATA = 64, /* of a handle of CUDA's that is plain bytes */
    CULVI_IPC_TEXT = 256,
    CULVI_IPC_PAGE = 4096,   /* bytes of a ring's page, and of a consumer's */
    CULVI_IPC_OFFERS = 65536 /* the most of a server */
};

typedef enum culvi_ipc_type {
    CULVI_IPC_HELLO = 1,   /* the client's first; the answer is the same type */
    CULVI_IPC_LIST = 2,    /* number; the answer has total and info */
    CULVI_IPC_RECEIVE = 3, /* name; the answer has info and its fd */
    CULVI_IPC_CHUNKS =
        4,               /* name, number of the first, known; the answer has chunks and their fds */
    CULVI_IPC_JOIN = 5,  /* name, join; the answer has join and the pages' fds */
    CULVI_IPC_LEAVE = 6, /* number: the sequence of the JOIN that is taken back; no answer */
    CULVI_IPC_WAKE = 7,  /* no answer: look at the pages */
    CULVI_IPC_ERROR = 8, /* an answer: result, reason, text */
    CULVI_IPC_TYPES = 9
} culvi_ipc_type;

typedef struct culvi_ipc_chunk {
    uint64_t id, offset, size;
} culvi_ipc_chunk;

/* Says what a consumer asks of a ring, and what it gets. */
typedef struct culvi_ipc_join {
    uint32_t policy;    /* culv_ring_policy */
    uint32_t timelines; /* 0: counters in the page; 1: the consumer's two fds; 2: the producer's */
    uint32_t depth, parts;
    uint64_t page_size;
    /* culv_handle_type of those handles; 0: the system's opaque one, OPAQUE_FD or OPAQUE_WIN32 */
    uint32_t handle_type;
} culvi_ipc_join;

/* What every message begins with. */
typedef struct culvi_ipc_head {
    uint32_t magic, version, type, sequence, fds, flags;
} culvi_ipc_head;

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

/* A field of a message, as the page of the protocol has it. */
typedef enum culvi_ipc_form {
    CULVI_IPC_NUMBER,  /* little-endian */
    CULVI_IPC_NAME,    /* culvi_ipc_name_good() */
    CULVI_IPC_TEXTUAL, /* culvi_text_plain(), with nothing but 0 behind its end */
    CULVI_IPC_CUT,     /* any bytes with a 0, and nothing but 0 behind it */
    CULVI_IPC_PLAIN    /* bytes */
} culvi_ipc_form;

typedef struct culvi_ipc_field {
    const char *name;
    size_t offset, size;
    culvi_ipc_form form;
    uint64_t least, most; /* of a number */
} culvi_ipc_field;

typedef void (*culvi_ipc_tell)(void *user, const culvi_ipc_field *field);
/* Tells the fields of a message: those of the header, which every message has, and then its own.
 * CULVI_IPC_TYPES: of the header alone. `kind` is that of the thing which the message describes. */
void culvi_ipc_fields(culvi_ipc_type type, bool answer, culv_ipc_kind kind, culvi_ipc_tell tell,
                      void *user);

/* Whether an answer to this may have handles. */
static inline bool culvi_ipc_answer_has_handles(culvi_ipc_type type)
{
    return type == CULVI_IPC_RECEIVE || type == CULVI_IPC_CHUNKS || type == CULVI_IPC_JOIN;
}
bool culvi_ipc_name_good(const char name[CULV_IPC_NAME_SIZE]);
extern const char culvi_ipc_name_rule[]; /* for messages: "name must ..." */
/* Whether a description makes sense, in what its kind needs. */
bool culvi_ipc_info_good(const culv_ipc_info *info, culvi_text *why);

#endif
