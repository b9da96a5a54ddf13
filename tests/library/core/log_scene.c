/* SPDX-License-Identifier: MIT */
/* A device whose log is kept line by line. */
#include "log_scene.h"

#include <time.h>

/* Called on several threads at the same time. */
static void keep(void *user, culv_log_level level, const char *message)
{
    log_scene *s = user;
    pthread_mutex_lock(&s->lock);
    if (s->count < LOG_LINES) {
        s->lines[s->count].level = level;
        snprintf(s->lines[s->count].text, LOG_WIDTH, "%s", message);
        s->count++;
    }
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (level == CULV_LOG_WARNING && s->told != NULL) s->told(s->user);
}

void log_open(log_scene *s, culv_log_level level)
{
    memset(s, 0, sizeof *s);
    REQUIRE_EQ(pthread_mutex_init(&s->lock, NULL), 0);
    REQUIRE_EQ(pthread_cond_init(&s->changed, NULL), 0);
    s->lines = calloc(LOG_LINES, sizeof *s->lines);
    REQUIRE(s->lines != NULL);
    lib_open_vulkan(&s->w);
    lib_open_heard(&s->w, (culv_log){keep, s, level});
}

void log_close(log_scene *s)
{
    lib_close(&s->w);
    REQUIRE(s->count < LOG_LINES);
    free(s->lines);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

static size_t find(const log_scene *s, size_t from, culv_log_level level, const char *text,
                   const char *another)
{
    size_t i = from;
    while (i < s->count && (s->lines[i].level != level || strstr(s->lines[i].text, text) == NULL ||
                            (another != NULL && strstr(s->lines[i].text, another) == NULL)))
        i++;
    return i;
}

size_t log_find(log_scene *s, size_t from, culv_log_level level, const char *text,
                const char *another)
{
    pthread_mutex_lock(&s->lock);
    size_t at = find(s, from, level, text, another);
    pthread_mutex_unlock(&s->lock);
    return at;
}

bool log_wait(log_scene *s, culv_log_level level, const char *text)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&s->lock);
    bool there = find(s, 0, level, text, NULL) < s->count;
    while (!there && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
        there = find(s, 0, level, text, NULL) < s->count;
    pthread_mutex_unlock(&s->lock);
    return there;
}

const char *log_line_of(log_scene *s, culv_log_level level, const char *text, const char *another)
{
    size_t at = log_find(s, 0, level, text, another);
    if (at == s->count) {
        for (size_t i = 0; i < s->count; i++)
            printf("  %d %s\n", (int)s->lines[i].level, s->lines[i].text);
        FAIL("no line of level %d has '%s' and '%s'", (int)level, text,
             another != NULL ? another : "");
    }
    return s->lines[at].text;
}

void log_forget(log_scene *s)
{
    pthread_mutex_lock(&s->lock);
    s->count = 0;
    pthread_mutex_unlock(&s->lock);
}

culv_shared_buffer *log_make_buffer(log_scene *s, const char *label, VkDeviceSize size)
{
    const VkBufferCreateInfo info = raw_vk_buffer_info(size, VK_BUFFER_USAGE_TRANSFER_SRC_BIT);
    culv_vk_buffer_create_desc d = culv_vk_buffer_create_desc_init();
    d.create_info = &info;
    d.label = label;
    NEW(culv_shared_buffer, out, culv_vk_buffer_create, s->w.attachment, &d);
    return out;
}

culv_shared_semaphore *log_make_timeline(log_scene *s, const char *label, uint64_t value)
{
    culv_vk_semaphore_create_desc d = culv_vk_semaphore_create_desc_init();
    d.initial_value = value;
    d.label = label;
    NEW(culv_shared_semaphore, out, culv_vk_semaphore_create, s->w.attachment, &d);
    return out;
}
