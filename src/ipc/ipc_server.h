/* SPDX-License-Identifier: MIT */
/* culv_ipc_server: its offers and its connections. */
#ifndef CULVI_IPC_SERVER_H_
#define CULVI_IPC_SERVER_H_

#include "culvert/ipc_ring.h"
#include "ipc/ipc_channel.h"

/* An answer for which there was no room. Its handles are duplicates. */
typedef struct culvi_ipc_kept {
    culvi_ipc_message message;
    culvi_ipc_native handles[CULVI_IPC_FDS];
} culvi_ipc_kept;

typedef struct culvi_ipc_ring culvi_ipc_ring;

/* The server's end of a connection. */
typedef struct culvi_ipc_link {
    culvi_ipc_channel channel; /* CULVI_IPC_NO_CHANNEL: free */
    bool greeted, asked;       /* asked: something behind its greeting */
    uint64_t greeted_at;
    uint64_t arrived; /* counts connections: the oldest is known by it */
    int32_t pid;
    uint32_t user;
    culv_uuid device;     /* all zero: it has none */
    uint32_t unread;      /* handles of its answers, since it was seen to have read all */
    culvi_ipc_kept *kept; /* the next thing that it reads */
    bool held;            /* what it asks stays in its socket until it has read */
    uint64_t held_since;
} culvi_ipc_link;

typedef struct culvi_ipc_offer {
    struct culvi_ipc_offer *next; /* whose name is in the same list */
    culv_ipc_info info;
    culv_handle handle;      /* of one thing, owned */
    culv_vector *vector;     /* the caller's */
    culvi_ipc_ring *ring;    /* a ring's own offer */
    culvi_ipc_ring *belongs; /* a thing in a slot of this ring */
    unsigned char data[CULVI_IPC_DATA];
} culvi_ipc_offer;

enum { CULVI_IPC_LISTS = 1024 }; /* of offers by their names: many offers cost a look no more */

struct culv_ipc_server {
    uint32_t refs; /* the caller's handle, and rings */
    culv_device *device;
    char label[64];
    int32_t process; /* a child of fork() has the connections, and they are not the child's */
    culvi_ipc_users users;
    culvi_ipc_door *door;
    int32_t driver; /* CUDA's version, for the greeting */
    uint64_t arrivals;
    uint32_t max_clients;
    bool takes_handles;                   /* of greeted clients */
    uint64_t lines_until, lines_left_out; /* of the log */
    uint64_t num_offers, room;
    culvi_ipc_offer **offers; /* in the order of their making; `room` of them */
    culvi_ipc_offer *by_name[CULVI_IPC_LISTS];
    culvi_ipc_ring *rings;
    culvi_ipc_link links[CULV_IPC_MAX_CLIENTS];
};

void culvi_ipc_server_unref(culv_ipc_server *server);
/* culv_ipc_offer() by the name `call`. `belongs`: it is in a slot of this ring; or NULL. */
culv_result culvi_ipc_offer_by(culv_ipc_server *server, const char *call, const culv_ipc_info *info,
                               culv_ipc_source source, culvi_ipc_ring *belongs);
culv_result culvi_ipc_offer_ring(culv_ipc_server *server, const char *call, const char *name,
                                 culvi_ipc_ring *ring, uint32_t slots, uint32_t parts);
culvi_ipc_offer *culvi_ipc_offer_find(culv_ipc_server *server, const char *name);
void culvi_ipc_offer_remove(culv_ipc_server *server, const culvi_ipc_offer *offer);

/* Clients: link.c. A link is one of server->links. */

/* About a client. Anybody can make such lines, so a few a second are logged, and their number. */
void culvi_ipc_server_log(culv_ipc_server *server, culv_log_level level, const char *format, ...)
    CULVI_PRINTF(3, 4);
/* Ends a connection; `why` is for the log, NULL when the client left by itself. */
void culvi_ipc_link_drop(culv_ipc_server *server, culvi_ipc_link *link, const char *why);
/* Ends all of them with the server, without a word. */
void culvi_ipc_links_end(culv_ipc_server *server);
/* Whether its next question is read now. False: it has not read enough of its answers. */
bool culvi_ipc_link_may_ask(culv_ipc_server *server, culvi_ipc_link *link);
/* How many handles an answer should have at most. */
uint32_t culvi_ipc_share(const culv_ipc_server *server);
/* The link may be dropped after these. */
void culvi_ipc_answer(culv_ipc_server *server, culvi_ipc_link *link,
                      const culvi_ipc_message *question, culvi_ipc_message *reply,
                      const culvi_ipc_native *handles);
void culvi_ipc_refuse(culv_ipc_server *server, culvi_ipc_link *link,
                      const culvi_ipc_message *question, culv_result result, culv_reason reason,
                      const char *text);
culvi_ipc_message culvi_ipc_error(culv_result result, culv_reason reason, const char *text);
/* Whether some client is to read before it goes on; and looks whether they have read. */
bool culvi_ipc_links_wait(const culv_ipc_server *server);
void culvi_ipc_links_go_on(culv_ipc_server *server);
/* Whether clients may send handles: a ring needs them, and what others sent is closed in time. */
void culvi_ipc_links_let_handles(culv_ipc_server *server);

#endif
