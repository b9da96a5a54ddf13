/* SPDX-License-Identifier: MIT */
/* culvert-check's timeline. A track for each thread of the host has its calls, and a track for each
 * queue and stream has its works, in the order in which the model lets them go on. When a GPU does
 * something nobody knows here: a work begins when it was submitted and what it waits for was
 * submitted, too, and it ends when the next one begins or when the host knows that it is done.
 *
 * The file is mapped in windows: what was written is there if the program crashes, and no
 * descriptor stays open. Each line is an event; the launcher makes one JSON text of them. */
#include "shim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define WINDOW (1u << 20)
#define LINE   4096
#define TRACKS 1000000000u /* numbers of threads are less */

static char file[512];
static unsigned long long most, written; /* bytes */
static char *window;
static size_t in_window;
static bool on, cut;
static uint64_t start, last;
static pid_t process;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local uint64_t call_end;
static _Thread_local bool named;
static struct track {
    unsigned number, serial;
    uint32_t open; /* the work that has begun and not ended, or 0 */
} tracks[CHECK_AGENTS];
static unsigned num_tracks;

uint64_t check_trace_now(void)
{
    struct timespec now;
    if (!on) return 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static long thread(void)
{
    return syscall(SYS_gettid);
}

/* Each place in the tracks of queues is later than the one before, so that arrows lead forward. */
static uint64_t next_time(void)
{
    const uint64_t now = check_trace_now();
    last = now > last ? now : last + 1;
    return last;
}

static bool open_window(void)
{
    check_inside++;
    if (window != NULL) (void)munmap(window, WINDOW);
    window = NULL;
    const int fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0 && posix_fallocate(fd, (off_t)written, WINDOW) == 0) {
        void *at = mmap(NULL, WINDOW, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)written);
        if (at != MAP_FAILED) window = at;
    }
    if (fd >= 0) (void)close(fd);
    check_inside--;
    in_window = 0;
    return window != NULL;
}

static void put(const char *line, size_t length)
{
    while (length > 0 && on) {
        if (window == NULL || in_window == WINDOW) {
            if (window != NULL) written += WINDOW;
            if (!open_window()) on = false;
            if (!on) return;
        }
        const size_t room = WINDOW - in_window, part = length < room ? length : room;
        memcpy(window + in_window, line, part);
        in_window += part;
        line += part;
        length -= part;
    }
}

static void event(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void event(const char *format, ...)
{
    char line[LINE];
    va_list arguments;
    if (!on) return;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line - 1) return; /* a part of it is no JSON */
    line[length++] = '\n';
    pthread_mutex_lock(&writing);
    if (!cut && written + in_window + LINE * 2u > most) {
        char end[256];
        const int size = snprintf(
            end, sizeof end,
            "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"the timeline is cut here: --trace-limit\","
            "\"pid\":%ld,\"tid\":%ld,\"ts\":%.3f}\n",
            (long)process, thread(), (double)(check_trace_now() - start) / 1e3);
        cut = true;
        if (size > 0) put(end, (size_t)size);
    }
    if (!cut) put(line, (size_t)length);
    pthread_mutex_unlock(&writing);
}

/* A string within quotes: names are the program's. */
static const char *quoted(const char *string, char *out, size_t size)
{
    size_t n = 0;
    for (const unsigned char *c = (const unsigned char *)string; *c != '\0' && n + 8 < size; c++) {
        if (*c == '"' || *c == '\\') out[n++] = '\\';
        if (*c < 0x20 || *c == 0x7f)
            n += (size_t)snprintf(out + n, size - n, "\\u%04x", *c);
        else
            out[n++] = (char)*c;
    }
    out[n] = '\0';
    return out;
}

static double at(uint64_t time)
{
    return time > start ? (double)(time - start) / 1e3 : 0;
}

static void name_thread(void)
{
    if (named) return;
    named = true;
    event(
        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%ld,\"tid\":%ld,\"args\":{\"name\":\"host "
        "thread %ld\"}}",
        (long)process, thread(), thread());
}

void check_trace_call(const char *call, uint64_t since)
{
    if (!on || since == 0) return;
    const uint64_t now = check_trace_now();
    name_thread();
    call_end = now;
    event("{\"ph\":\"X\",\"cat\":\"host\",\"name\":\"%s\",\"pid\":%ld,\"tid\":%ld,\"ts\":%.3f,"
          "\"dur\":%.3f}",
          call, (long)process, thread(), at(since), (double)(now - since) / 1e3);
}

static void end_work(int agent, uint64_t time)
{
    struct track *t = &tracks[agent];
    if (t->open == 0) return;
    event("{\"ph\":\"E\",\"pid\":%ld,\"tid\":%u,\"ts\":%.3f}", (long)process, t->number, at(time));
    t->open = 0;
}

static unsigned track_of(int agent, const check_seen *w)
{
    static const char *const apis[] = {"host", "Vulkan", "CUDA"};
    struct track *t = &tracks[agent];
    char name[128];
    if (t->number != 0 && t->serial == w->serial) return t->number;
    end_work(agent, next_time()); /* of an agent that is gone */
    t->number = TRACKS + ++num_tracks;
    t->serial = w->serial;
    event("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%ld,\"tid\":%u,\"args\":{\"name\":\"%s: "
          "%s\"}}",
          (long)process, t->number, apis[w->api], quoted(w->agent_name, name, sizeof name));
    return t->number;
}

static void turns(char *out, size_t size, const char *label, const check_turn *list, unsigned count)
{
    size_t n = 0;
    for (unsigned i = 0; i < count && n + 200 < size; i++) {
        char name[120], safe[160];
        if (list[i].payload == NULL) continue;
        check_payload_describe(list[i].payload, name, sizeof name);
        n += (size_t)snprintf(out + n, size - n, "%s\"%s = %llu\"", n == 0 ? "" : ",",
                              quoted(name, safe, sizeof safe), (unsigned long long)list[i].value);
    }
    char list_text[1600];
    if (n == 0) return;
    (void)snprintf(list_text, sizeof list_text, "%s", out);
    (void)snprintf(out, size, ",\"%s\":[%s]", label, list_text);
}

/* A work goes on. What it signals has the time that this returns. */
static uint64_t began(const check_seen *w)
{
    char waits[1800] = "", signals[1800] = "";
    if (!on) return 0;
    const unsigned track = track_of(w->agent, w);
    const uint64_t now = next_time();
    end_work(w->agent, now);
    turns(waits, sizeof waits, "waits", w->waits, w->num_waits);
    turns(signals, sizeof signals, "signals", w->signals, w->num_signals);
    event("{\"ph\":\"B\",\"cat\":\"work\",\"name\":\"%s\",\"pid\":%ld,\"tid\":%u,\"ts\":%.3f,"
          "\"args\":{\"work\":%u,\"accesses\":%u%.1700s%.1700s}}",
          w->call, (long)process, track, at(now), w->number, w->num_accesses, waits, signals);
    tracks[w->agent].open = w->number;
    return now;
}

/* An arrow from a signal to the work that waits, or to the host (0), which waits by itself. */
static void arrow(int from, uint64_t then, int to, const check_payload *p, uint64_t value)
{
    static unsigned long long arrows;
    char name[120], safe[160];
    if (!on || then == 0) return;
    check_payload_describe(p, name, sizeof name);
    (void)quoted(name, safe, sizeof safe);
    uint64_t now = last;
    unsigned long tid = to > 0 ? tracks[to].number : (unsigned long)thread();
    if (to == 0) {
        name_thread();
        const uint64_t this_time = check_trace_now();
        if (call_end == 0 || call_end < then || this_time - call_end > 1000000)
            check_trace_call("knows", this_time > then ? this_time : then + 1);
        now = call_end;
    }
    arrows++;
    event("{\"ph\":\"s\",\"cat\":\"semaphore\",\"name\":\"%s = %llu\",\"id\":%llu,\"pid\":%ld,"
          "\"tid\":%u,\"ts\":%.3f}",
          safe, (unsigned long long)value, arrows, (long)process,
          from > 0 ? tracks[from].number : (unsigned)-from, at(then));
    event("{\"ph\":\"f\",\"bp\":\"e\",\"cat\":\"semaphore\",\"name\":\"%s = %llu\",\"id\":%llu,"
          "\"pid\":%ld,\"tid\":%lu,\"ts\":%.3f}",
          safe, (unsigned long long)value, arrows, (long)process, tid, at(now));
}

static int host_signals(uint64_t *now)
{
    *now = check_trace_now();
    return -(int)thread();
}

static void done(int agent, uint32_t number)
{
    if (on && tracks[agent].open != 0 && tracks[agent].open <= number) end_work(agent, next_time());
}

void check_trace_finding(const char *id, const char *sentence)
{
    char safe[700];
    if (!on) return;
    name_thread();
    event("{\"ph\":\"i\",\"s\":\"g\",\"cat\":\"finding\",\"name\":\"%s\",\"pid\":%ld,\"tid\":%ld,"
          "\"ts\":%.3f,\"args\":{\"sentence\":\"%s\"}}",
          id, (long)process, thread(), at(check_trace_now()), quoted(sentence, safe, sizeof safe));
}

void check_trace_begin(check_model *m, const char *path, unsigned long long limit)
{
    static const check_watch watch = {
        .began = began, .arrow = arrow, .done = done, .host_signals = host_signals};
    process = getpid();
    most = limit;
    (void)snprintf(file, sizeof file, "%s.%ld", path, (long)process);
    on = true;
    start = check_trace_now();
    check_model_watch(m, &watch);
}

void check_trace_forget(void)
{
    on = false;
}

void check_trace_end(void)
{
    if (!on) return;
    for (int i = 1; i < CHECK_AGENTS; i++)
        end_work(i, next_time());
    pthread_mutex_lock(&writing);
    on = false;
    if (window != NULL) (void)munmap(window, WINDOW);
    window = NULL;
    pthread_mutex_unlock(&writing);
}
