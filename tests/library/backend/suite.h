/* SPDX-License-Identifier: MIT */
/* What the files of the back-end suite share. */
#ifndef CULVERT_TESTS_BACKEND_SUITE_H_
#define CULVERT_TESTS_BACKEND_SUITE_H_

#include "backend.h"
#include "control.h"

/* Odd on purpose: no multiple of a page, of a word's pair, of a chunk. */
enum { BYTES = 4 * 12347, WIDTH = 61, HEIGHT = 37 };

typedef struct scene {
    const backend *b;
    const raw_cuda *cu;
    culv_device *device;
    void *attachment;
    CUcontext context;
    CUstream stream;
    size_t fds;
    culv_soft_counts before; /* the driver's, with only the native device open */
} scene;

#define OK(call) suite_require_ok(__FILE__, __LINE__, #call, (call))
/* The class and the reason as words, and as values; then words of the message. */
#define REFUSED(call, class, ...) REFUSED_(call, class, __VA_ARGS__, (const char *)NULL)
#define REFUSED_(call, class, why, ...)                                                            \
    suite_require_refused(__FILE__, __LINE__, #call, (call), CULV_ERROR_##class,                   \
                          CULV_REASON_##why, __VA_ARGS__)
#define REFUSED_AS(call, ...)                                                                      \
    suite_require_refused(__FILE__, __LINE__, #call, (call), __VA_ARGS__, (const char *)NULL)
void suite_require_ok(const char *file, int line, const char *text, culv_result result);
__attribute__((sentinel)) void suite_require_refused(const char *file, int line, const char *text,
                                                     culv_result result, culv_result class,
                                                     culv_reason reason, ...);
void suite_require_says(const char *text);

/* The native device alone; then Culvert's device, attached, and a stream. */
void suite_open_native(scene *s);
void suite_open(scene *s, backend_lie lie, uint32_t fallback);
/* `other`: Culvert's device is another GPU than the native one. Skips the case where there is one
 * alone. */
void suite_open_on(scene *s, bool other, backend_lie lie, uint32_t fallback);
void suite_close_culvert(scene *s);
void suite_close(scene *s);
#define SUITE_CASE(...)                                                                            \
    TEST_ON(scene, s, suite_open(s, BACKEND_HONEST, 0), suite_close(s), __VA_ARGS__)
/* That Culvert and the driver have nothing of it any more. */
void suite_require_empty(scene *s);

void suite_pattern(uint32_t *words, size_t count, uint32_t seed);
void suite_require_pattern(const char *file, int line, const uint32_t *words, size_t count,
                           uint32_t seed);
#define REQUIRE_PATTERN(words, count, seed)                                                        \
    suite_require_pattern(__FILE__, __LINE__, (words), (count), (seed))
/* By CUDA. */
void suite_upload(const scene *s, CUdeviceptr to, const void *from, size_t size);
void suite_download(const scene *s, void *to, CUdeviceptr from, size_t size);
void suite_finish(const scene *s);

#endif
