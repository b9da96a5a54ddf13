/* SPDX-License-Identifier: MIT */
/* A device whose log is kept line by line. */
#ifndef CULVERT_TESTS_LOG_SCENE_H_
#define CULVERT_TESTS_LOG_SCENE_H_

#include "library.h"

#include <pthread.h>

enum { LOG_LINES = 4096, LOG_WIDTH = 1024 };

typedef struct log_line {
    culv_log_level level;
    char text[LOG_WIDTH];
} log_line;

typedef struct log_scene {
    lib_world w;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    log_line *lines; /* LOG_LINES of them */
    size_t count;
    void (*told)(void *user); /* called after a warning, on its thread; or NULL */
    void *user;
} log_scene;

void log_open(log_scene *s, culv_log_level level);
void log_close(log_scene *s);
#define LOG_CASE(name, ...)                                                                        \
    TEST_ON_(log_scene, s, log_open(s, TEST_FIRST(__VA_ARGS__)), log_close(s), name,               \
             TEST_REST(__VA_ARGS__))
/* The first line from `from` on, of this level, that has both texts; `count` if there is none. The
 * second may be NULL. */
size_t log_find(log_scene *s, size_t from, culv_log_level level, const char *text,
                const char *another);
/* Waits until there is such a line, for a minute at most. */
bool log_wait(log_scene *s, culv_log_level level, const char *text);
/* That line; the case fails without one. */
const char *log_line_of(log_scene *s, culv_log_level level, const char *text, const char *another);
void log_forget(log_scene *s);

culv_shared_buffer *log_make_buffer(log_scene *s, const char *label, VkDeviceSize size);
culv_shared_semaphore *log_make_timeline(log_scene *s, const char *label, uint64_t value);

#endif
