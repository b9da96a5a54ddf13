/* SPDX-License-Identifier: MIT */
/* Two processes under Wine: what the cases of ipc*.c stand on. Sections stand for what graphics
 * APIs share, with the bytes inside (soft/shared/win32_share.h): Wine's Direct3D has no memory that
 * two processes reach. */
#ifndef CULVERT_TESTS_WINDOWS_IPC_SCENE_H_
#define CULVERT_TESTS_WINDOWS_IPC_SCENE_H_

#include "scene.h"
/* after windows.h */
#include "win32_share.h"

#define SCENE_FAR (UINT64_C(1000000) * SCENE_FAR_MS)
/* CUexternalMemoryHandleType; the memory behind a ring's slot. */
enum { OPAQUE_MEMORY = 2, ROOM = 65536 };

typedef struct ipc_scene {
    culv_device *device; /* opened by the first case and kept: Wine takes seconds for it */
    const culv_cuda_api *cu;
    CUstream stream;
} ipc_scene;

void ipc_open(ipc_scene *s);
/* Requires that nothing of Culvert's is left. */
void ipc_close(ipc_scene *s);
#define IPC_CASE(...) TEST_ON(ipc_scene, s, ipc_open(s), ipc_close(s), __VA_ARGS__)

/* CUDA writes and reads words that no other seed has. */
void ipc_write(const ipc_scene *s, CUdeviceptr at, size_t words, uint32_t seed);
void ipc_require(const ipc_scene *s, CUdeviceptr at, size_t words, uint32_t seed);
uint32_t ipc_word(size_t i, uint32_t seed);

culv_ipc_server *ipc_server(const ipc_scene *s, const char *name);
culv_ipc_client *ipc_client(const ipc_scene *s, const char *name);
culv_ipc_object *ipc_receive(culv_ipc_client *client, const char *name);

/* CUDA's view of memory behind an opaque handle; whose handle it is stays as it was. */
culv_buffer *ipc_map(const ipc_scene *s, const culv_handle *handle, uint64_t size);

/* A ring 'frames' of buffers. `desc` has its callbacks, or is NULL; `section` is the first buffer's
 * name. */
enum { SCENE_SLOTS = 3 };
culv_ring *ipc_ring(const ipc_scene *s, culv_ipc_server *server, const culv_ipc_ring_desc *desc,
                    const wchar_t *section, culv_buffer *slots[SCENE_SLOTS]);
culv_ring *ipc_join_ring(culv_ipc_client *client, const culv_ipc_timelines *timelines,
                         culv_ipc_timelines *made, culv_buffer *slots[SCENE_SLOTS]);
void ipc_leave_ring(culv_buffer *slots[SCENE_SLOTS]);

/* The other process: this program again, in another role, which knows the server's `name`:
 *   ROLE(reads)
 *   {
 *       culv_ipc_client *client = ipc_client(NULL, name);
 *   } */
#define ROLE(word)                                                                                 \
    static void word##_role(const char *name);                                                     \
    TEST(word, .title = "role." #word)                                                             \
    {                                                                                              \
        word##_role(test_option("server", ""));                                                    \
    }                                                                                              \
    static void word##_role(const char *name)
HANDLE ipc_start(const char *role, const char *name);
/* Waits until it has ended well, and answers it meanwhile. */
void ipc_join(HANDLE child, culv_ipc_server *server);
void ipc_kill(HANDLE child);
/* Until all clients are gone. */
void ipc_alone(culv_ipc_server *server);
/* A thread that answers for the server, until it is stopped. */
typedef struct ipc_answerer {
    culv_ipc_server *server;
    volatile LONG stop;
    HANDLE thread;
} ipc_answerer;
void ipc_answer(ipc_answerer *a);
void ipc_stop_answering(ipc_answerer *a);
/* A word from one process to the other. The server, which may be NULL, answers meanwhile. */
void ipc_say(const char *name, char word);
void ipc_hear(const char *name, char word, culv_ipc_server *server);

/* A name that no other run has at the same time. */
const char *ipc_name(char out[CULV_IPC_NAME_SIZE], const char *word);

#endif
