/* SPDX-License-Identifier: MIT */
/* Scenarios: a path through a feature of the library that makes, shares, uses and gives up, in each
 * mode of running it.
 *
 *   plain      once, after which nothing is left: file descriptors, the driver's and the layer's
 *              objects, threads; and with the device's context current, and another one
 *   turns      --turns=N times: descriptors, mappings, threads and memory stay level
 *   beside     another thread uses the device after each unlock in a call, and before each driver
 *              call
 *   captured   while a stream of the thread is captured in the strictest mode
 *   cuda_...,  each driver call, Vulkan call and allocation of Culvert's fails once in turn
 *   vulkan_..., allocations
 *
 * Each call leaves the thread's context and capture mode as they were.
 *
 * A path that meets a failure either succeeds all the same or answers with an error whose class
 * fits; what it was to write stays as it was, handles stay the caller's, and after it everything
 * that was made can be destroyed and nothing is left. Only the calls that Culvert makes are
 * counted: failures are armed around its calls alone.
 *
 * After each failure, and after each call of a first run without one, others must still get on:
 * another thread makes, fills and destroys a vector of the device, so that a lock that was left
 * held shows as a case that hangs, and the path's own `alive` asks for what else it has.
 *
 *   static void run(void) { ... TRY_NEW(culv_x, x, culv_x_create, ...); ...
 *   DO(culv_x_destroy(&x)); ... }
 *   static const torture_path path = {.begin = begin, .run = run, .end = end, .least = {4, 2, 3}};
 *   TORTURE_CASES("x", path) */
#ifndef CULVERT_TESTS_LIBRARY_TORTURE_H_
#define CULVERT_TESTS_LIBRARY_TORTURE_H_

#include "library.h"

typedef enum torture_victim {
    TORTURE_CUDA_CALL,
    TORTURE_VULKAN_CALL,
    TORTURE_ALLOCATION,
    TORTURE_VICTIMS
} torture_victim;

typedef enum torture_mode {
    TORTURE_FAILURES,
    TORTURE_PLAIN,
    TORTURE_BESIDE,
    TORTURE_CAPTURED,
    TORTURE_TURNS
} torture_mode;

typedef struct torture_path {
    void (*begin)(void); /* makes the scene, after Vulkan was opened; may be NULL */
    void (*run)(void);   /* opens its own device; once through everything */
    void (*end)(void);   /* may be NULL */
    /* Requires that those whose call did not fail still get on. May be NULL. It looks for itself
     * what there is at that point of run(). */
    void (*alive)(void);
    bool one_address; /* Vulkan is opened for that */
    bool kernels;     /* ... for kernels in command buffers */
    bool any_driver;  /* asks nothing of the twin, so that all modes but failures run on a GPU */
    /* Vulkan's calls fail without the validation layer, which asks for formats, buffers and
     * pointers itself: its calls are not to be failed. */
    bool unvalidated;
    /* Failures of each kind that calls must at least answer with */
    unsigned least[TORTURE_VICTIMS];
} torture_path;

typedef struct torture_state {
    lib_world w; /* Vulkan only; each path opens its own device */
    lib_layer layer;
    torture_mode mode;
    bool lasts;               /* the device, from turn to turn */
    bool hold;                /* keep the primary context, so that what is forgotten in it shows */
    CUcontext current, found; /* during Culvert's calls: pushed for them; what each must leave */
    /* The failure being injected: the n-th event from now. */
    torture_victim victim;
    uint64_t n;
    int code;
    uint64_t left;    /* events until the failure; 0: it has happened */
    uint64_t counted; /* CUDA calls, Vulkan calls or allocations that Culvert made */
    const char *call;
    const torture_path *path;
    bool hit;            /* the failure has been injected in this path */
    unsigned failures;   /* of this path */
    unsigned complaints; /* of all paths: one run shows every one */
} torture_state;

extern torture_state torture;

void torture_arm(void);
void torture_arm_for(const char *call);
/* Tells whether the failure was injected in the call just made. */
bool torture_disarm(void);
/* A call failed. Where that was not injected, it is a complaint. What is asked before there is a
 * device (`opening`) may answer that there is none. */
void torture_failed(const char *call, culv_result result, bool hit, bool opening);
/* After a call in which the failure was injected, and in the first run after each: who made another
 * call gets on. */
void torture_alive(bool hit);
/* Whether the failure may have taken the device with it: what it answers since may be an error. */
bool torture_device_lost(void);
/* Prints what is wrong with the injection under way, and goes on; the case fails at its end. */
void torture_complain(const char *format, ...) TEST_PRINTF(1, 2);
/* Injects all of one kind with one code. */
void torture_all(const torture_path *path, torture_victim victim, int code);
/* The other modes. */
void torture_plain(const torture_path *path);
void torture_beside(const torture_path *path);
void torture_captured(const torture_path *path);
void torture_turns(const torture_path *path);

/* Makes one call of Culvert's; on failure checks it, requires that `unchanged` holds, and makes the
 * call once more: it must succeed now. */
#define TRY_AGAIN(made, unchanged)   TRY_(made, unchanged, false)
#define TRY_OPENING(made, unchanged) TRY_(made, unchanged, true)
#define TRY_(made, unchanged, opening)                                                             \
    do {                                                                                           \
        lib_forget_error();                                                                        \
        torture_arm();                                                                             \
        culv_result r_ = (made);                                                                   \
        bool hit_ = torture_disarm();                                                              \
        if (r_ != CULV_OK) {                                                                       \
            torture_failed(#made, r_, hit_, opening);                                              \
            REQUIRE(unchanged);                                                                    \
            torture_alive(hit_);                                                                   \
            LIB_OK(made);                                                                          \
        } else {                                                                                   \
            torture_alive(hit_);                                                                   \
        }                                                                                          \
    } while (0)
/* Declares what such a call makes. */
#define TRY_NEW(type, name, create, ...)                                                           \
    type *name = POISON(type);                                                                     \
    TRY_AGAIN(create(__VA_ARGS__, &(name)), (name) == POISON(type))
/* A call that cannot fail. */
#define DO(made)                                                                                   \
    do {                                                                                           \
        torture_arm_for(#made);                                                                    \
        made;                                                                                      \
        torture_alive(torture_disarm());                                                           \
    } while (0)

/* The begin of a path: the device, the attachment and a stream; and its end. */
CUstream torture_open(void);
void torture_close(CUstream stream);

/* The modes, each a case, PREFIX.plain, PREFIX.cuda_out_of_memory and so on; the prefix is a
 * string. The second is for what has nothing of Vulkan's in it. */
#define TORTURE_CASES(prefix, path)                                                                \
    TORTURE_CUDA_CASES(prefix, path)                                                               \
    TORTURE_CASE_(prefix, path, vulkan_out_of_memory, VULKAN_CALL, VK_ERROR_OUT_OF_HOST_MEMORY)    \
    TORTURE_CASE_(prefix, path, vulkan_device_lost, VULKAN_CALL, VK_ERROR_DEVICE_LOST)             \
    TORTURE_CASE_(prefix, path, vulkan_unknown, VULKAN_CALL, VK_ERROR_UNKNOWN)
#define TORTURE_CUDA_CASES(prefix, path)                                                           \
    TORTURE_MODE_(prefix, path, plain)                                                             \
    TORTURE_MODE_(prefix, path, beside)                                                            \
    TORTURE_MODE_(prefix, path, captured)                                                          \
    TORTURE_MODE_(prefix, path, turns)                                                             \
    TORTURE_CASE_(prefix, path, cuda_out_of_memory, CUDA_CALL, CUDA_ERROR_OUT_OF_MEMORY)           \
    TORTURE_CASE_(prefix, path, cuda_invalid_value, CUDA_CALL, CUDA_ERROR_INVALID_VALUE)           \
    TORTURE_CASE_(prefix, path, cuda_unknown, CUDA_CALL, CUDA_ERROR_UNKNOWN)                       \
    TORTURE_CASE_(prefix, path, cuda_illegal_address, CUDA_CALL, CUDA_ERROR_ILLEGAL_ADDRESS)       \
    TORTURE_CASE_(prefix, path, allocations, ALLOCATION, 0)
/* A path with them: TORTURE(made, .run = made_run, .least = {8, 4, 4}) */
#define TORTURE(name, ...)                                                                         \
    static const torture_path name##_path = {__VA_ARGS__};                                         \
    TORTURE_CASES(#name, name##_path)
#define TORTURE_CUDA(name, ...)                                                                    \
    static const torture_path name##_path = {__VA_ARGS__};                                         \
    TORTURE_CUDA_CASES(#name, name##_path)
#define TORTURE_MODE_(prefix, path, mode)                                                          \
    TEST_AS(path##_##mode, torture_##mode(&(path)), .title = prefix "." #mode, .time_limit = 900,  \
            .own = true)
#define TORTURE_CASE_(prefix, path, kind, victim, code)                                            \
    TEST_AS(path##_##kind, torture_all(&(path), TORTURE_##victim, code),                           \
            .title = prefix "." #kind, .time_limit = 300, .own = true)

#endif
