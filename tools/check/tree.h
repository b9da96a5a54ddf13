/* SPDX-License-Identifier: MIT */
/* What the processes of one tree share: a file of the launcher's that each of them maps. A record
 * is switched on by the last store to it and off by the first one, so a process that is killed in
 * between leaves no half of one, and its lock is taken over. Nothing in it is a pointer. */
#ifndef CHECK_TREE_H_
#define CHECK_TREE_H_

#include "model.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#define TREE_MAGIC     UINT64_C(0x3165657274766c75)
#define TREE_PROCESSES 64 /* at a time: the bits of a number */
#define TREE_PAYLOADS  1024
#define TREE_ORDERS    128 /* payloads of which the order of work is followed */
#define TREE_SIGNALS   16  /* that a timeline remembers */
#define TREE_RECORDS   48  /* accesses that a memory remembers */
#define TREE_MESSAGES  256 /* that carry descriptors, on their way */
#define TREE_FDS       16  /* of a message */
#define TREE_PREFIX    32  /* bytes of a message by which it is known */
#define TREE_HEIRS     256 /* descriptors that a child of fork() has, for when it calls exec() */
#define TREE_MODULES   256
#define TREE_SEEN      1024
#define TREE_FRAMES    8

enum { TREE_CUDA = 1, TREE_VULKAN = 2, TREE_SHARED = 4 /* something was exported or imported */ };

typedef struct tree_site {
    char call[40];
    int32_t pid;
    char program[20];
    uint16_t count;
    uint16_t modules[TREE_FRAMES]; /* TREE_MODULES: not known */
    uint32_t offsets[TREE_FRAMES];
} tree_site;

typedef struct tree_process {
    _Atomic uint32_t used;
    int32_t pid;
    uint64_t start; /* of the process, as the system counts it: numbers are used again */
    char program[20];
    _Atomic uint32_t ended; /* in order */
    _Atomic uint32_t stuck; /* it has waited in a call for long */
} tree_process;

/* A queue or a stream that works on something shared. Number 0 is the hosts. */
typedef struct tree_agent {
    _Atomic uint32_t used;
    uint32_t process;
    uint32_t base; /* numbers of works begin behind it: what had the slot before is done */
    _Atomic uint32_t done;
} tree_agent;

typedef struct tree_payload {
    _Atomic uint32_t used;
    uint32_t generation;
    _Atomic uint32_t foreign; /* something unseen takes part: nothing is told of its order */
    _Atomic uint32_t order;   /* number of its tree_order + 1; 0: it has not left its process */
    _Atomic uint64_t participants; /* bits of processes */
    _Atomic uint64_t reached;
    uint32_t kind, type;
    uint64_t size, value;
    bool dedicated, any_dedication, has_uuid;
    uint8_t uuid[CHECK_UUID];
    check_identity file;
    char object[80], name[64];
    tree_site made;
} tree_payload;

typedef struct tree_signal {
    _Atomic uint32_t used;
    uint32_t agent, number, process;
    bool unsure;
    uint64_t value;
    uint32_t far[CHECK_FAR];
    tree_site site;
} tree_signal;

typedef struct tree_record {
    _Atomic uint32_t used;
    uint32_t agent, number, process, api, kind;
    uint64_t serial, begin, end;
    char how[32], name[48];
    tree_site site;
} tree_record;

enum { TREE_OF_MEMORY = 1, TREE_OF_TIMELINE };
typedef struct tree_order {
    _Atomic uint32_t used;
    union {
        tree_signal signals[TREE_SIGNALS];
        tree_record records[TREE_RECORDS];
    } of;
} tree_order;

typedef struct tree_message {
    _Atomic uint32_t used;
    bool pending; /* the call that sends it has not returned */
    bool unsure;  /* another one was sent to the same socket meanwhile */
    bool peeked;  /* it was looked at, and is there still */
    uint32_t sender, count, length;
    uint64_t serial, to;         /* the socket that receives it: its inode */
    uint32_t payloads[TREE_FDS]; /* number + 1; 0: a file of no interest */
    unsigned char prefix[TREE_PREFIX];
} tree_message;

typedef struct tree_heir {
    _Atomic uint32_t used;
    int32_t pid, fd;
    uint32_t payload; /* number + 1 */
    check_identity identity;
} tree_heir;

struct check_region {
    uint64_t magic, size;
    pthread_mutex_t lock;     /* robust: whoever dies with it gives it to the next one */
    _Atomic uint64_t left;    /* bits of processes that take no part any more, and live */
    _Atomic uint64_t pending; /* bits of processes that have work that waits */
    _Atomic uint32_t bell;    /* they sleep on it */
    uint64_t serial;
    _Atomic uint32_t unseen; /* how often a process saw a value that the region did not have */
    _Atomic uint32_t joined; /* processes, ever */
    _Atomic uint32_t saw;    /* TREE_...: what any of them used */
    _Atomic uint32_t noted;  /* messages with descriptors, ever */
    _Atomic uint32_t messages_lost;
    uint64_t lost[32]; /* sockets of which a message was not noted */
    uint32_t num_lost;
    uint64_t seen[TREE_SEEN]; /* findings that a process has told */
    _Atomic uint32_t num_seen;
    _Atomic uint32_t host[CHECK_FAR]; /* what the host of a process knows, all are told of */
    tree_process processes[TREE_PROCESSES];
    tree_agent agents[CHECK_FAR];
    tree_payload payloads[TREE_PAYLOADS];
    tree_order orders[TREE_ORDERS];
    tree_message messages[TREE_MESSAGES];
    tree_heir heirs[TREE_HEIRS];
    struct {
        _Atomic uint32_t used;
        char path[252];
    } modules[TREE_MODULES];
};

/* model_tree.c: messages, by the region alone. */
/* Notes a message before it is sent. 0: there is no room, and the socket is lost. */
unsigned check_tree_note(check_model *m, uint64_t to, const uint32_t *payloads, uint32_t count,
                         const void *bytes, uint32_t length);
void check_tree_noted(check_model *m, unsigned message, bool sent);
/* Which payloads came with a message to this socket; 0: that is not known. The message is held
 * until its descriptors have records, for check_tree_matched(). */
unsigned check_tree_match(check_model *m, uint64_t to, uint32_t count, const void *bytes,
                          uint32_t length, bool cut, uint32_t payloads[TREE_FDS]);
void check_tree_matched(check_model *m, unsigned message, bool peek);
void check_tree_consumed(check_model *m, uint64_t to);
/* Something about what is on its way to a socket was not seen. */
void check_tree_lose(check_model *m, uint64_t to);

/* tree_life.c. False: there is no such process. */
bool check_tree_look(int32_t pid, uint64_t *start, bool *ends, char program[20]);
bool check_tree_lives(const tree_process *p);
bool check_tree_in_flight(const struct check_region *r, uint32_t payload);
/* A timeline has not reached the value, and nobody lives who could signal it. */
bool check_tree_endless(const struct check_region *r, uint32_t payload, uint32_t generation,
                        uint64_t value);

/* What a process had that has ended. */
void check_tree_clear(struct check_region *r, unsigned process);

/* tree.c: the region of this process. */
void check_tree_begin(check_model *m);
void check_tree_fork(check_model *m, check_model *before);
void check_tree_listen(check_model *m); /* starts a thread that hears the bell, once */
void check_tree_unlock(void);           /* with the model's lock */
void check_tree_end(void);
void check_tree_stuck(bool stuck);
void check_tree_saw(uint32_t what);
bool check_tree_joined(void);          /* and others have, too */
bool check_tree_new(uint64_t finding); /* no process has told it */
/* What is the same in every process that made the call there. */
uint64_t check_tree_place(void *frame);
/* A place of another process: the module's path and the offset in it. */
const char *check_tree_module(const void *frame, uint64_t *offset);
const char *check_tree_program(void);

/* JSON is UTF-8, and names and paths are any bytes. */

/* How many bytes the character at `s` has; 0: it is none of UTF-8, or one that controls. */
static inline size_t check_utf8(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (c[0] < 0x20 || c[0] == 0x7f) return 0;
    if (c[0] < 0x80) return 1;
    const size_t length = c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : c[0] < 0xf5 ? 4 : 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80) return 0;
    /* Too long for what it says, a half of a pair of UTF-16, beyond what there is. */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] >= 0xa0) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] >= 0x90))
        return 0;
    return length;
}

/* What is no text becomes '?'. */
static inline void check_utf8_clean(char *s)
{
    while (*s != '\0') {
        const size_t length = check_utf8(s);
        if (length == 0) *s = '?';
        s += length > 0 ? length : 1;
    }
}

#endif
