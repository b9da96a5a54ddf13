/* SPDX-License-Identifier: MIT */
/* culvert-mpi: what its files share.
 *
 * A rank and the renderer talk by small messages: a grant gives a rank the slot of the next frame,
 * and a state tells that a part is complete (DIRECT) or that a rank leaves. Data are messages of
 * their own (DEVICE, HOST). Each side looks at its requests and events when it is called; nothing
 * blocks. Frames and parts are in order, so counters say where each pair is. */
#ifndef CULVI_MPI_INSIDE_H_
#define CULVI_MPI_INSIDE_H_

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "culvert/cuda_api.h"
#include "culvert/handle.h"
#include "culvert/ipc.h"
#include "culvert/mpi.h"

#ifdef CULVI_MPI_EXT
#    include <mpi-ext.h>
#endif

#define MAX_SLOTS CULV_MPI_MAX_SLOTS
#define CHUNKS    2
#define STAGINGS  2
/* What two ranks must agree on. */
#define PROTOCOL 3u
/* From one look at other processes to the next. */
#define WATCH_NS UINT64_C(50000000)

enum { TAG_HELLO = 1, TAG_RANGES, TAG_WELCOME, TAG_READY, TAG_GO, TAG_GRANT, TAG_STATE, TAG_DATA };

/* Where a process is. */
typedef struct place {
    char machine[40], network[32], processes[32]; /* boot id, namespaces */
    char host[64];
    int32_t pid;
    uint32_t reserved;
    uint64_t started;
} place;

/* A result that goes to another rank. */
typedef struct verdict {
    int32_t result, reason;
    char text[768];
} verdict;

typedef struct hello {
    uint32_t protocol, way, device_pointers, software;
    uint64_t num_ranges, chunk_size;
    place place;
    verdict verdict; /* of the rank's own arguments */
} hello;

typedef struct welcome {
    uint32_t num_slots, device_pointers, software;
    int32_t no_fabric; /* a culv_result; OK: `fabric` has the slots */
    uint64_t slot_size;
    culv_handle fabric[MAX_SLOTS];
    culv_uuid device;
    place place;
    char server[CULV_IPC_NAME_SIZE];
    verdict verdict;
} welcome;

typedef struct ready {
    uint32_t way, reserved;
    char why[256];
    verdict verdict;
} ready;

typedef enum grant_kind { GRANT_SLOT, GRANT_END, GRANT_FAILED } grant_kind;

typedef struct grant {
    uint64_t frame;
    uint32_t slot, kind;
} grant;

typedef enum state_kind { STATE_DONE, STATE_LEFT } state_kind;

typedef struct state {
    uint64_t frame;
    uint32_t kind, reserved;
    verdict verdict; /* of LEFT; not sent with DONE */
} state;
#define STATE_DONE_BYTES offsetof(state, verdict)

/* What a part is made of: ranges, and their places where they lie one behind another. */
typedef struct layout {
    culv_mpi_range *ranges;
    uint64_t *packed;
    size_t num_ranges;
    uint64_t bytes, packed_size;
} layout;

/* A chunk of pinned memory, on its way. */
typedef struct chunk {
    void *host;
    MPI_Request *request; /* in chunk_requests or incoming */
    CUevent event;
    uint64_t frame, position, size;
    bool last; /* of its frame */
} chunk;

/* Chunks in flight, by counters: what is below `first` is through all stages. */
typedef struct pipe_line {
    chunk chunks[CHUNKS];
    uint64_t chunk_size;
    uint64_t begun, middle, ended; /* chunks that entered, passed and left */
    uint64_t frame, position;      /* the next chunk's */
    size_t range;                  /* the renderer's: where the last chunk ended */
} pipe_line;

/* A rank, at the renderer. */
typedef struct peer {
    int rank;
    hello hello;
    culv_mpi_range *incoming; /* its ranges, as they come */
    layout part;
    culv_mpi_way way;
    char why[256];
    bool self, watched, left, gone;
    uint64_t left_after; /* frames */
    uint64_t done;       /* frames whose part is complete */
    uint64_t since;      /* when the last one was */
    verdict last_words;
    MPI_Request *in, out; /* while the sides are made; later `in` is the state's */
    welcome welcome;
    ready ready;
    verdict go;
    state state;
    grant grants[MAX_SLOTS];
    MPI_Request grant_requests[MAX_SLOTS];
    grant end;
    MPI_Request end_request;
    bool end_sent;
    pipe_line pipe;
    MPI_Datatype type;
    MPI_Request *data;
} peer;

typedef enum incoming_kind {
    IN_STATE,
    IN_DATA,
    IN_CHUNK,
    IN_KINDS = IN_CHUNK + CHUNKS
} incoming_kind;

typedef enum slot_state { SLOT_FREE, SLOT_FILLING, SLOT_READY, SLOT_HELD, SLOT_READ } slot_state;

typedef struct slot {
    culv_vmm_allocation *allocation;
    culv_vmm_range *range;
    CUdeviceptr pointer;
    CUevent event; /* the renderer's GPU has read it */
    slot_state state;
    bool pending; /* `event` was recorded and has not been seen */
    uint64_t frame, granted_at;
} slot;

struct culv_mpi {
    culv_mpi *next;   /* of this process's list */
    atomic_flag busy; /* a call is at work, or another object's that waits */
    culv_device *device;
    const culv_cuda_api *cu;
    CUcontext context;
    CUstream stream; /* copies */
    CUstream read;   /* waits for the renderer's queue */
    MPI_Comm comm;
    bool has_comm;
    int rank, size, renderer;
    culv_mpi_desc desc;
    char label[64];
    place place;
    uint32_t num_slots;
    uint64_t slot_size;
    slot slots[MAX_SLOTS];
    uint32_t slot_of[MAX_SLOTS]; /* of frame f at f % MAX_SLOTS */
    uint64_t granted;
    uint64_t watched_at;
    uint64_t moved;  /* requests and events that ended */
    verdict failure; /* the first one, which all later calls answer */

    /* This rank's part. */
    hello hello;
    welcome welcome;
    ready ready;
    verdict go;
    layout part;
    culv_mpi_way way;
    char why[256];
    bool joined, part_held, ended, lost, renderer_watched;
    state farewell;
    MPI_Request farewell_request;
    uint64_t released, finished;
    CUevent events[MAX_SLOTS]; /* the caller's work on frame f at f % MAX_SLOTS */
    CUdeviceptr staging[STAGINGS];
    pipe_line pipe;
    MPI_Datatype type;
    bool sending;
    MPI_Request data, grant_request, chunk_requests[CHUNKS];
    state states[MAX_SLOTS];
    MPI_Request state_requests[MAX_SLOTS];
    grant grant;

    /* The renderer's. */
    peer *peers; /* of all ranks; NULL elsewhere */
    /* What is to arrive: `size` requests of each kind (incoming_kind), by rank. One MPI_Testsome()
     * looks at all of them: each MPI_Test() is a turn of MPI's own through all its peers. */
    MPI_Request *incoming;
    int *arrived; /* of MPI_Testsome(), and their statuses */
    MPI_Status *statuses;
    struct pollfd *watch;     /* by rank, a process's file descriptor; -1: /proc tells */
    bool has_data;            /* a rank has the way DEVICE or HOST */
    int num_parts, num_ended; /* ranks with a part; those that left or are gone */
    int missing[MAX_SLOTS];   /* parts of frame f at f % MAX_SLOTS */
    uint64_t copying, asked;  /* chunks on their way up; grants that were followed */
    uint64_t complete, drawn; /* frames: whole; and the next one of FIFO */
    int held, last;           /* slots; -1: none */
};

/* common.c */
culv_result culvi_mpi_fail(culv_result result, culv_reason reason, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
/* Of a public call: are its arguments given, and is a struct of this version? */
culv_result culvi_mpi_check(const char *call, bool given, size_t struct_size, size_t expected);
bool culvi_mpi_ok(culv_mpi *m, int code, const char *call);
/* Is it ULFM's error about a process that has ended? */
bool culvi_mpi_is_death(int code);
bool culvi_mpi_cu(culv_mpi *m, CUresult code, const char *call);
#define CU(m, name, ...) culvi_mpi_cu((m), (m)->cu->name(__VA_ARGS__), #name)
void culvi_mpi_last_error(verdict *out);
culv_result culvi_mpi_answer(const verdict *v);
/* Keeps the thread's last error as the object's failure. Returns false. */
bool culvi_mpi_broken(culv_mpi *m);
uint64_t culvi_mpi_now(void);

/* A wait with a bound. */
typedef struct waiting {
    uint64_t begin, timeout, moved, moved_at;
    unsigned turns;
} waiting;
waiting culvi_mpi_wait_begin(uint64_t timeout);
/* Gives the CPU away for a moment, a longer one if nothing has moved for long. False when the time
 * is over. */
bool culvi_mpi_wait_more(const culv_mpi *m, waiting *w);

void culvi_mpi_place(place *out);
bool culvi_mpi_same_machine(const place *a, const place *b);
bool culvi_mpi_watchable(const place *a, const place *b);
bool culvi_mpi_alive(const place *p);
/* A file descriptor that is ready when the process has ended, or -1. */
int culvi_mpi_open_process(const place *p);
bool culvi_mpi_device_pointers(void);

bool culvi_mpi_layout(layout *out, const culv_mpi_range *ranges, size_t count);
void culvi_mpi_layout_free(layout *l);
/* The type of a part at addresses of the frame or of the packed part. */
bool culvi_mpi_type(culv_mpi *m, const layout *l, bool packed, MPI_Datatype *out);

bool culvi_mpi_send(culv_mpi *m, const void *data, size_t size, int to, int tag,
                    MPI_Request *request);
bool culvi_mpi_receive(culv_mpi *m, void *data, size_t size, int from, int tag,
                       MPI_Request *request);
bool culvi_mpi_test(culv_mpi *m, MPI_Request *request, bool *done);
bool culvi_mpi_event_done(culv_mpi *m, CUevent event, bool *done);
bool culvi_mpi_pipe_create(culv_mpi *m, pipe_line *p, uint64_t chunk_size, uint64_t packed_size);
/* False: a chunk may still be written by MPI, and stays. */
void culvi_mpi_pipe_destroy(culv_mpi *m, pipe_line *p);
/* Takes back a receive. */
void culvi_mpi_cancel(MPI_Request *request);
/* The next chunk's size; moves on to the next frame behind a frame's last one. */
void culvi_mpi_pipe_next(pipe_line *p, const layout *part, chunk *c);

/* A call's begin and end: the object is this thread's, and the device's context is current. */
bool culvi_mpi_enter(culv_mpi *m);
void culvi_mpi_leave(culv_mpi *m);
/* Joined objects are in a list: a call that waits works on the others of its process. Two renderers
 * would wait for each other else, each for the part that it writes for the other one. */
void culvi_mpi_list(culv_mpi *m);
void culvi_mpi_unlist(culv_mpi *m);

/* rank.c, renderer.c: what can be done now. False: m->failure. */
bool culvi_mpi_step_rank(culv_mpi *m);
/* m->failure becomes the renderer's end. */
culv_result culvi_mpi_renderer_ended(culv_mpi *m);
bool culvi_mpi_step_renderer(culv_mpi *m);
bool culvi_mpi_step(culv_mpi *m);
/* Waits for states of a rank: of its parts, and that it leaves. */
bool culvi_mpi_listen(culv_mpi *m, peer *p);
/* Takes what has arrived: states, and data if `data`. */
bool culvi_mpi_take(culv_mpi *m, bool data);
void culvi_mpi_part_done(culv_mpi *m, peer *p);
bool culvi_mpi_send_end(culv_mpi *m, peer *p, grant_kind kind);
/* join.c: agrees with the other ranks. False, with the thread's last error. */
bool culvi_mpi_join(culv_mpi *m);
void culvi_mpi_free_slot(slot *s);

#endif
