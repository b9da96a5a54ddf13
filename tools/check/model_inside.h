/* SPDX-License-Identifier: MIT */
/* What the files of culvert-check's model share. */
#ifndef CHECK_MODEL_INSIDE_H_
#define CHECK_MODEL_INSIDE_H_

#include "model.h"

#include <stddef.h>

#define CHECK_RECORDS 64 /* accesses that a memory remembers; older ones are forgotten */

/* What is known to be done: of each agent, up to which of its works. */
typedef struct check_clock {
    uint32_t at[CHECK_AGENTS];
    uint32_t far[CHECK_FAR]; /* of agents of the tree; of its own only where others said it */
    bool unsure;             /* something unseen may have ordered more before it */
} check_clock;

typedef struct check_record {
    check_access access;
    check_api api;
    int agent;
    uint32_t at;
    check_site site;
} check_record;

typedef struct check_signal {
    struct check_signal *next; /* by value, rising */
    uint64_t value;
    check_clock clock;
    check_site site;
    int agent;
    uint32_t number;
    int track; /* who signaled, and when: for the timeline */
    uint64_t then;
} check_signal;

/* Bytes that one API wrote and has not handed over by a barrier, for (f). */
typedef struct check_kept {
    check_api api;
    uint64_t begin, end;
    const char *how;
    check_site site;
} check_kept;
#define CHECK_KEPT 32

/* An image, its layout, and who wrote in it last. */
typedef struct check_picture {
    struct check_picture *next;
    uint64_t image, begin, end;
    uint32_t layout;
    bool known; /* the layout is that of all of it */
    bool stored;
    bool written;
    check_api by;
    int writer;
    uint32_t write_at;
    const char *how;
    check_site write;
    bool discarded; /* after that, and nobody has written since */
    check_site changed, discard;
    check_clock clock; /* of the transition */
    int discarder;
} check_picture;

/* The last use of a payload by each agent, for (g). */
typedef struct check_use {
    uint32_t at;
    check_api api;
    check_site site;
} check_use;

struct check_payload {
    check_payload *next, *previous;
    unsigned references;
    bool unjudged;                   /* of memory: some work was told of that was not done */
    bool unseen;                     /* nobody saw it made: its size is not known */
    bool ordered;                    /* other processes are told of what happens to it */
    uint32_t tree;                   /* its number in the region + 1, or 0 */
    struct tree_payload *shared;     /* the same, or NULL */
    _Atomic uint32_t *unseen_events; /* of the region */
    check_payload_info info;
    uint8_t uuid[CHECK_UUID];
    char object[80];
    char name[64];
    check_site made;
    check_identity file; /* own is set where it has one */
    /* memory */
    check_record *records;
    unsigned num_records;
    check_kept *kept;
    unsigned num_kept;
    check_picture *pictures;
    /* semaphores; a binary one has at most one signal */
    check_signal *signals;
    uint64_t reached; /* the greatest value that is surely signaled */
    check_use *uses;  /* CHECK_AGENTS of them, from the first use on */
};

struct check_mark {
    unsigned references;
    bool reached;
    int agent;
    uint32_t number; /* of the work that reaches it */
    check_clock clock;
};

typedef struct check_op {
    struct check_op *next;
    uint32_t number;
    check_site site;
    check_clock host;
    check_turn *waits;
    check_access *accesses;
    check_turn *signals;
    unsigned num_waits, num_accesses, num_signals;
    check_mark *after, *mark;
    uint64_t after_agents;
    uint32_t after_numbers[CHECK_AGENTS];
    bool joins_all, runs_code, host_may_know, waited;
    uint32_t unseen_events;
} check_op;

typedef struct check_agent {
    check_api api;
    bool used;
    unsigned serial;
    char name[48];
    check_op *first, **last;
    uint32_t submitted, done; /* numbers of works */
    uint32_t last_code;       /* the last one that was submitted and runs code */
    check_clock clock;
    uint32_t far, base; /* its number in the region, and what its works' numbers begin behind */
} check_agent;

typedef struct check_fd {
    struct check_fd *next;
    int fd;
    enum { FD_LIVE, FD_TAKEN, FD_UNSURE } state;
    bool inherited, received;
    /* NULL once it is taken: numbers are many, and the record of each stays. */
    check_payload *payload;
    char object[160]; /* what it was then */
    check_identity identity;
    check_site born, taken;
} check_fd;

struct check_model {
    check_report report;
    void *user;
    bool ordered; /* judge (e) */
    bool lost;
    bool strict;
    bool vague;         /* something was ordered after all, because nobody knows after what */
    const char *object; /* of a finding without a payload, or NULL */
    check_look look;
    const check_watch *watch; /* or NULL */
    unsigned serial;
    int now_agent; /* of what is signaled now */
    uint64_t now;
    unsigned unjudged;
    check_counts counts;
    check_payload *payloads;
    check_fd *fds;
    check_agent agents[CHECK_AGENTS];
    check_tree tree;                    /* region is NULL: it is alone */
    bool active;                        /* something of it is other processes' */
    uint32_t unless, unless_generation; /* for the finding that comes next: see check_finding */
    uint64_t unless_value;
};

void check_find(check_model *m, check_what what, const check_payload *p, const check_site *here,
                const check_site *earlier, const char *sentence, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 6, 7)))
#endif
    ;
void check_merge(check_clock *into, const check_clock *from);

/* model_tree.c. Something unseen has a part in it, here or in another process. */
bool check_foreign(const check_model *m, const check_payload *p);
void check_tree_register(check_model *m, check_payload *p);
void check_tree_drop(check_model *m, check_payload *p);
uint64_t check_reached(const check_payload *p);
void check_tree_opaque(check_payload *p);
/* A value was reached, and the region does not have it: a process may be about to say so. */
void check_tree_catch_up(check_model *m, check_payload *p, uint64_t value);
void check_tree_pending(check_model *m, bool pending);
bool check_tree_late(const check_model *m, const check_op *op);
uint32_t check_tree_unseen(const check_model *m);
/* False: the signal's value is no greater than what was reached; that is told where it is sure. */
bool check_tree_signal(check_model *m, check_payload *p, uint64_t value, const check_clock *clock,
                       int agent, uint32_t number, const check_site *site);
void check_tree_wait(check_model *m, check_payload *p, uint64_t value, check_clock *clock);
void check_tree_judge(check_model *m, int agent, const check_op *op, const check_access *a,
                      const check_clock *clock);
void check_tree_done(check_model *m, int agent, const check_op *op);
void check_tree_ask_hosts(check_model *m);  /* before a work is submitted */
void check_tree_tell_hosts(check_model *m); /* the host knows more */
/* Nobody who lives could end a wait for it. */
bool check_tree_settled(check_model *m, const check_payload *p);
void check_tree_unless(check_model *m, const check_payload *p, uint64_t value);
bool check_conflict(check_access_kind a, check_access_kind b);
const char *check_verb(check_access_kind kind);

/* Which memory two works share, and how to say it again. */
typedef struct {
    char name[64];
    const char *again;
} check_words;
check_words check_bytes(check_access_kind one, check_access_kind other, uint64_t begin,
                        uint64_t end);
void check_run(check_model *m);
void check_judge_layouts(check_model *m, int agent, const check_op *op, const check_access *a,
                         const check_clock *clock);
void check_pictures_free(check_payload *p);

#endif
