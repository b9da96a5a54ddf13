/* SPDX-License-Identifier: MIT */
/* culvert-check's model: events of CUDA and Vulkan go in, findings come out. It is plain C11 and
 * knows no driver, so that its tests feed it by hand. It takes no lock: the caller has one.
 * DESIGN.md has the rules by which it judges. */
#ifndef CHECK_MODEL_H_
#define CHECK_MODEL_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECK_FRAMES 12
#define CHECK_AGENTS 64  /* queues and streams at a time; the host is agent 0 */
#define CHECK_FAR    192 /* the same of all processes of a tree */
#define CHECK_UUID   16
#define CHECK_PAGE   "docs/culvert-check-findings.md"

/* Where a program made a call. */
typedef struct check_site {
    const char *call; /* a literal: "vkGetMemoryFdKHR" */
    void *frames[CHECK_FRAMES];
    int count;
    const char *of; /* another process, whose frames only the shim can read; NULL: this one */
} check_site;

/* What can be wrong. model_rules.c has the rule, its source and what mends it, a row for each;
 * CHECK_PAGE has a section for each, by its id. */
typedef enum check_what {
    CHECK_FD_CLOSED,
    CHECK_FD_USED,
    CHECK_FD_TWICE,
    CHECK_FD_LEAKED,
    CHECK_SIZE,
    CHECK_RANGE,
    CHECK_DEDICATED,
    CHECK_NOT_DEDICATED,
    CHECK_HANDLE_TYPE,
    CHECK_OTHER_GPU,
    CHECK_NO_RISE,
    CHECK_SIGNALED_TWICE,
    CHECK_ENDLESS_WAIT,
    CHECK_WRITE_WRITE,
    CHECK_WRITE_READ,
    CHECK_READ_WRITE,
    CHECK_EARLY_ACQUIRE,
    CHECK_NO_RELEASE,
    CHECK_NO_ACQUIRE,
    CHECK_LAYOUT_DISCARDS,
    CHECK_LAYOUT_NOT_GENERAL,
    CHECK_LAYOUT_MISMATCH,
    CHECK_SEMAPHORE_IN_USE,
    CHECK_MEMORY_IN_USE,
    CHECK_USED_AFTER,
    CHECK_WHATS
} check_what;

typedef struct check_rule {
    char letter; /* the class, 'a' to 'h' */
    const char *id;
    const char *rule;
    const char *source;
    const char *mend;
} check_rule;
extern const check_rule check_rules[CHECK_WHATS];

typedef struct check_finding {
    check_what what;
    char sentence[512];
    char object[160];
    check_site here;
    check_site earlier; /* call is NULL where there is none */
    /* Of a wait that another process may still end: what it waits for. Told only if it is so when
     * all have ended. 0: it is sure now. */
    uint32_t unless, generation;
    uint64_t value;
} check_finding;

typedef enum check_kind { CHECK_MEMORY, CHECK_TIMELINE, CHECK_BINARY } check_kind;
typedef enum check_api { CHECK_HOST, CHECK_VULKAN, CHECK_CUDA } check_api;
/* What an access does. Of a kernel's pointer and a storage buffer nobody knows. */
typedef enum check_access_kind {
    CHECK_READ,
    CHECK_WRITE,
    CHECK_READ_OR_WRITE,
    CHECK_RELEASE, /* barriers: from Vulkan to VK_QUEUE_FAMILY_EXTERNAL, and back */
    CHECK_ACQUIRE,
    CHECK_LAYOUT /* a transition of an image */
} check_access_kind;

/* What a descriptor stands for, whichever API made it: memory or the state of a semaphore. */
typedef struct check_payload check_payload;
typedef struct check_mark check_mark; /* a point in a queue or stream: a fence, an event */
typedef struct check_model check_model;

typedef struct check_access {
    check_payload *payload;
    uint64_t begin, end;
    check_access_kind kind;
    const char *how; /* a literal: "vkCmdCopyBuffer" */
    bool exclusive;  /* Vulkan's: of a resource that is owned by one queue family at a time */
    /* Of images, for class (f): which one (0: none, or CUDA's array), the layout in which it is
     * accessed or which it gets, and the one before. */
    uint64_t image;
    uint32_t layout, from;
    bool whole;    /* a transition of all of it */
    bool acquires; /* ... from another API */
    bool array;    /* CUDA's use of an array */
    /* Of Vulkan's, where no barrier comes before it: which of check_stages does it; 0: it is not
     * looked at. `early`: there its batch waits for less than its other stages do. */
    uint8_t stage;
    bool early;
} check_access;

/* Pipeline stages, in bits: those of copies, of dispatches, and of shaders of drawings. */
enum check_stages { CHECK_STAGE_COPY = 1, CHECK_STAGE_DISPATCH = 2, CHECK_STAGE_DRAW = 4 };
#define CHECK_STAGES 7u

typedef struct check_turn {
    check_payload *payload; /* NULL is left out */
    uint64_t value;         /* of a timeline */
} check_turn;

/* One thing that a queue or a stream does: waits, then accesses, then signals. */
typedef struct check_work {
    const check_turn *waits;
    unsigned num_waits;
    const check_access *accesses;
    unsigned num_accesses;
    const check_turn *signals;
    unsigned num_signals;
    check_mark *after;     /* also waits for this mark, or NULL */
    check_mark *mark;      /* reached when it is done, or NULL */
    uint64_t after_agents; /* bits of agents whose work until now comes first */
    bool runs_code;        /* shaders or kernels, which may write what is not seen */
    bool joins_all;        /* it may be ordered after anything, as far as the checker can see */
    bool host_may_know;    /* when it is done, the host may know that: it calls the host */
} check_work;

typedef struct check_payload_info {
    check_kind kind;
    uint64_t size;  /* of memory */
    uint64_t value; /* of a timeline */
    const uint8_t *uuid;
    bool shared; /* may leave its API; of others nothing is found */
    bool dedicated;
    bool any_dedication; /* it is CUDA's own memory: Vulkan's rule of dedication is not for it */
    bool foreign;        /* another process, or something unseen, has a part in it */
    uint32_t type;       /* Vulkan's bit of the handle type, or 0 */
} check_payload_info;

/* Who makes a timeline is told how works go on. */
typedef struct check_seen {
    int agent;
    unsigned serial; /* of the agent: its number is another one's later */
    check_api api;
    const char *agent_name, *call;
    uint32_t number;
    const check_turn *waits, *signals;
    unsigned num_waits, num_signals, num_accesses;
} check_seen;
typedef struct check_watch {
    uint64_t (*began)(const check_seen *work); /* the time, for arrows */
    /* A wait has ended: who signaled, and when; who waited (0: the host). */
    void (*arrow)(int from, uint64_t then, int to, const check_payload *p, uint64_t value);
    void (*done)(int agent, uint32_t number); /* the host knows that it is */
    int (*host_signals)(uint64_t *now);       /* who it is: below 0 */
} check_watch;
void check_model_watch(check_model *m, const check_watch *watch);
/* Its name, or else what it is. */
void check_payload_describe(const check_payload *p, char *out, size_t size);

typedef void (*check_report)(void *user, const check_finding *finding);
check_model *check_model_make(check_report report, void *user, bool ordered);
/* Also tells what the specifications forbid and no driver minds today: class (f), and a dedication
 * that is untrue. */
void check_model_strict(check_model *m);
void check_model_free(check_model *m);
/* What was seen: a checker that saw nothing has found nothing. */
typedef struct check_counts {
    unsigned long long exported, imported, submitted, launched, accesses;
    /* Accesses that nothing orders after another API's, and nobody knows whether either writes. */
    unsigned long long unsure;
    /* Missing barriers, which are findings with `strict` alone. */
    unsigned long long unreleased, unacquired, layouts;
} check_counts;
check_counts check_model_counts(const check_model *m);
/* How many (e) could not be judged, because too many queues and streams were there. */
unsigned check_model_unjudged(const check_model *m);

/* Payloads are counted; make returns one reference. NULL: no memory, and every call takes NULL. */
check_payload *check_payload_make(check_model *m, const check_payload_info *info,
                                  const char *object, const check_site *site);
void check_payload_keep(check_payload *p);
void check_payload_drop(check_model *m, check_payload *p);
void check_payload_name(check_payload *p, const char *name);
void check_payload_opaque(check_payload *p); /* what happens to it is no longer seen whole */
void check_payload_typed(check_payload *p, uint32_t type); /* the type of handle that it left as */
bool check_payload_is(const check_payload *p, check_kind kind);
uint64_t check_payload_size(const check_payload *p);

/* An image lies in memory, in VK_IMAGE_LAYOUT_UNDEFINED at first, and goes. Of one that is `stored`
 * to, what shaders write is not seen whole. */
#define CHECK_LAYOUT_UNDEFINED 0
#define CHECK_LAYOUT_GENERAL   1
void check_picture_made(check_model *m, check_payload *p, uint64_t image, uint64_t begin,
                        uint64_t size, bool stored);
void check_picture_gone(check_model *m, check_payload *p, uint64_t image);

/* Descriptors. `same` says whether the number is still the file that it was at its birth. */
typedef enum check_same { CHECK_SAME, CHECK_GONE, CHECK_ANOTHER } check_same;
typedef struct check_identity {
    uint64_t device, inode;
    bool own; /* a file of its own: whatever descriptor has this inode has the same memory */
    char text[64];
} check_identity;
typedef check_same (*check_look)(int fd, const check_identity *then);
void check_model_look(check_model *m, check_look look);
void check_fd_born(check_model *m, int fd, check_payload *p, const check_identity *identity,
                   const check_site *site);
void check_fd_forget(check_model *m, int fd); /* the number is another file now */
bool check_fd_known(const check_model *m, int fd);
/* Before a call that takes `fd`. What it stands for, or NULL. Finds what is imported twice. `now`
 * is what the number is now: a file that was opened once more by /proc/self/fd is known by it. */
check_payload *check_fd_asked(check_model *m, int fd, const check_identity *now,
                              const check_site *site);
/* Whether the number still stands for what check_fd_asked() gave: the driver closes it, and another
 * thread's export may have it by the end of the call. */
bool check_fd_is(const check_model *m, int fd, const check_payload *p);
/* After it: who owns the descriptor now. A driver that refuses one may have closed it. */
void check_fd_taken(check_model *m, int fd, bool taken, const check_site *site);
void check_fd_closing(check_model *m, int fd, const check_site *site);
void check_fd_duplicated(check_model *m, int fd, int copy, const check_site *site);
/* Whether it is of interest where it goes: not if nothing is known of it. */
bool check_fd_sent(check_model *m, int fd, const check_site *site);
/* A descriptor of another process came, or was there before the program began. */
void check_fd_received(check_model *m, int fd, check_payload *p, const check_identity *identity,
                       bool inherited, const check_site *site);
check_payload *check_fd_payload(check_model *m, int fd); /* of one that is live */

/* ---- processes of one tree, model_tree.c; tree.h says what they share ---- */
typedef struct check_region check_region;
struct tree_site;
typedef struct check_tree {
    check_region *region;
    unsigned process; /* its number in the region */
    /* Takes the region's lock until the model's is given back. False: this process takes part no
     * more. */
    bool (*enter)(void);
    void (*ring)(void);  /* the others look again at what they wait for */
    void (*pause)(void); /* gives the lock to others for a moment */
    bool (*alive)(const check_region *region, unsigned process);
    void (*write_site)(struct tree_site *out, const check_site *site);
    check_site (*read_site)(const struct tree_site *site);
} check_tree;
bool check_model_active(const check_model *m); /* something of it is other processes' */
void check_model_run(check_model *m);          /* another process has signaled something */
void check_model_join(check_model *m, const check_tree *tree);
/* It may be other processes' from here on: they are told of all that is known. */
void check_payload_publish(check_model *m, check_payload *p);
bool check_payload_is_binary(const check_payload *p);  /* NULL is none */
uint32_t check_payload_number(const check_payload *p); /* in the region, + 1; or 0 */
/* What another process made; returns a reference. NULL: it is not known. */
check_payload *check_payload_adopt(check_model *m, uint32_t number);
/* The same, of a file of its own. */
check_payload *check_payload_of_file(check_model *m, const check_identity *file);
/* False: `file` is another one. */
bool check_payload_is_file(const check_payload *p, const check_identity *file);
/* For a child of fork(): calls back for each descriptor that is live. */
void check_fds_live(check_model *m,
                    void (*each)(void *user, int fd, check_payload *p, const check_identity *is),
                    void *user);

/* An import into CUDA: (b) and (c). */
typedef struct check_import {
    check_payload *payload;
    uint64_t size;
    bool dedicated;
    bool memory, timeline; /* what CUDA was told it is */
    uint32_t type;         /* Vulkan's bit of what CUDA was told, or 0 where none is equal */
    const uint8_t *uuid;   /* of the CUDA device */
} check_import;
void check_imported(check_model *m, const check_import *import, const check_site *site);
/* A call on a stream of this GPU was refused: (c). */
void check_used_on(check_model *m, const check_payload *p, const uint8_t *uuid,
                   const check_site *site);
/* A part of imported memory is mapped. */
void check_mapped(check_model *m, check_payload *p, uint64_t imported, uint64_t offset,
                  uint64_t size, const check_site *site);
/* Mapped memory is used after its import has gone. */
void check_used_after(check_model *m, check_payload *p, const check_site *site,
                      const check_site *gone);

/* Agents. A number below 1 is none: there are too many, and the call is ignored. */
int check_agent_make(check_model *m, check_api api, const char *name);
void check_agent_end(check_model *m, int agent);

check_mark *check_mark_make(void);
void check_mark_keep(check_mark *mark);
void check_mark_drop(check_mark *mark);
/* What was submitted was refused: nothing is judged of what it names any more. */
void check_submit_failed(check_model *m, const check_work *work);
/* A device is lost. What is submitted from now on may never be done, so its order is not judged. */
void check_model_lost(check_model *m);
void check_submit(check_model *m, int agent, const check_work *work, const check_site *site);
/* The host knows that a mark was reached, that all of an agent is done, or that a timeline has a
 * value. */
void check_host_saw_mark(check_model *m, check_mark *mark);
void check_host_saw_agent(check_model *m, int agent);
void check_host_saw_agents(check_model *m, uint64_t agents); /* bits */
void check_host_saw_api(check_model *m, check_api api);
/* The host may know of all that can be done by now. It is no proof that a wait has ended. */
void check_host_may_know(check_model *m, check_api api);
void check_host_saw_value(check_model *m, check_payload *p, uint64_t value);
void check_host_signals(check_model *m, check_payload *p, uint64_t value, const check_site *site);

/* A handle of a semaphore, or an import of memory, goes: is work on it known to be done? Only the
 * uses of one API are looked at. */
void check_destroying(check_model *m, check_payload *p, check_api api, const check_site *site);
/* The host waits in a call, for a value of a timeline or for anything (NULL), and that lasts. Tells
 * what waits for ever, and whether something does. */
bool check_stuck(check_model *m, check_payload *p, uint64_t value, const check_site *site);
/* The end: what leaks, and what waits for ever. */
void check_end(check_model *m, const check_site *site);

#endif
