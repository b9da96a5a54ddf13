/* SPDX-License-Identifier: MIT */
/* culvert-check in the program: its lock, its tables, call sites, and what is written of findings.
 * Each finding is written when it is found, so that a program that crashes leaves a report. */
#include "shim.h"
#include "tree.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Thread_local int check_inside;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static check_model *volatile model;
static pid_t watched;
static uintptr_t own_begin, own_end;
static unsigned findings;

#define WAITS 64
static struct waiting {
    bool used, told;
    struct timespec since;
    check_site site;
    check_payload *payload; /* what a host waits for by its value, or NULL */
    uint64_t value;
} waits[WAITS];
static bool watching; /* a thread looks at them */

#define BUCKETS 4096
typedef struct entry {
    struct entry *next;
    unsigned kind;
    uint64_t handle;
    void *value;
} entry;
static entry *buckets[BUCKETS];

/* This thread has the lock, and what comes now is a handler of a signal: _exit(), close(). */
static _Thread_local volatile sig_atomic_t holding;

check_model *check_open(void)
{
    if (model == NULL || holding) return NULL;
    holding = 1;
    pthread_mutex_lock(&lock);
    if (model == NULL) check_close();
    return model;
}

bool check_is_watched(void)
{
    return getpid() == watched;
}

/* Findings wait until the lock is given back. Only then are their call sites looked up: dladdr()
 * takes the loader's lock, and who has that may be in a call that waits for this one. */
typedef struct pending {
    struct pending *next;
    check_finding finding;
} pending;
static pending *first_pending, **last_pending = &first_pending;
static void write_finding(const check_finding *f);

void check_close(void)
{
    pending *list = first_pending;
    first_pending = NULL;
    last_pending = &first_pending;
    check_tree_unlock();
    if (model != NULL) check_tree_listen(model);
    pthread_mutex_unlock(&lock);
    holding = 0;
    while (list != NULL) {
        pending *next = list->next;
        write_finding(&list->finding);
        free(list);
        list = next;
    }
}

static int find_own(struct dl_phdr_info *info, size_t size, void *user)
{
    const uintptr_t here = (uintptr_t)user;
    (void)size;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const uintptr_t at = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (at < begin) begin = at;
        if (at + info->dlpi_phdr[i].p_memsz > end) end = at + info->dlpi_phdr[i].p_memsz;
    }
    if (here < begin || here >= end) return 0;
    own_begin = begin;
    own_end = end;
    return 1;
}

static check_same look(int fd, const check_identity *then)
{
    const check_identity now = check_identify(fd);
    if (now.inode == 0 && now.device == 0) return CHECK_GONE;
    return now.inode == then->inode && now.device == then->device &&
                   strcmp(now.text, then->text) == 0
               ? CHECK_SAME
               : CHECK_ANOTHER;
}

check_identity check_identify(int fd)
{
    check_identity is = {0};
    struct stat status;
    char path[48];
    if (fstat(fd, &status) != 0) return is;
    if (getenv("CULVERT_CHECK_ONE_INODE") != NULL && S_ISREG(status.st_mode)) {
        is.device = is.inode = 1; /* tests: as NVIDIA's are */
        return is;
    }
    is.device = status.st_dev + 1;
    is.inode = status.st_ino;
    is.own = S_ISREG(status.st_mode);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(path, is.text, sizeof is.text - 1);
    is.text[length > 0 ? length : 0] = '\0';
    return is;
}

/* Both files are the launcher's. Without a launcher the text goes to stderr. */
static int open_out(const char *suffix)
{
    const char *prefix = getenv("CULVERT_CHECK_OUT");
    char path[4096];
    if (prefix == NULL) return -1;
    const int length = snprintf(path, sizeof path, "%s%s", prefix, suffix);
    if (length < 0 || (size_t)length >= sizeof path) return -1;
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static check_model *make_model(void)
{
    const char *fast = getenv("CULVERT_CHECK_FAST"), *strict = getenv("CULVERT_CHECK_STRICT");
    check_model *made =
        check_model_make(check_write_finding, NULL, fast == NULL || strcmp(fast, "1") != 0);
    if (made == NULL) return NULL;
    if (strict != NULL && strcmp(strict, "1") == 0) check_model_strict(made);
    check_model_look(made, look);
    watched = getpid();
    return made;
}

static void publish(void *user, int fd, check_payload *p, const check_identity *identity)
{
    (void)fd;
    (void)identity;
    check_payload_publish(user, p);
}

static pthread_mutex_t notes = PTHREAD_MUTEX_INITIALIZER; /* with the model's lock or without */

/* The child has copies of all descriptors. The lock is held until it has a model of its own; in a
 * handler of a signal that came while this thread had it, there is none. */
static _Thread_local bool forks;

static void before_fork(void)
{
    check_model *m = check_is_watched() ? check_open() : NULL;
    forks = m != NULL;
    if (!forks) return;
    check_fds_live(m, publish, m);
    check_tree_unlock();
}

static void after_fork(void)
{
    if (forks) check_close();
}

/* What drivers gave the parent does not work in it. What the parent knew stays as it is, unused. */
static void in_child(void)
{
    check_model *before = model;
    check_trace_forget();
    model = NULL;
    pthread_mutex_init(&lock, NULL);
    pthread_mutex_init(&notes, NULL);
    holding = 0;
    if (!forks) return;
    memset(buckets, 0, sizeof buckets);
    memset(waits, 0, sizeof waits);
    watching = false;
    findings = 0;
    first_pending = NULL;
    last_pending = &first_pending;
    check_cuda_forget();
    check_vulkan_forget();
    check_model *made = make_model();
    if (made != NULL) check_tree_fork(made, before);
    model = made;
}

__attribute__((constructor)) static void begin(void)
{
    void *frames[2];
    (void)backtrace(frames, 2); /* its first call loads a library */
    (void)dl_iterate_phdr(find_own, (void *)(uintptr_t)&begin);
    check_model *made = make_model();
    if (made != NULL) check_tree_begin(made);
    const char *trace = getenv("CULVERT_CHECK_TRACE"), *limit = getenv("CULVERT_CHECK_TRACE_LIMIT");
    if (made != NULL && trace != NULL)
        check_trace_begin(made, trace, limit != NULL ? strtoull(limit, NULL, 10) << 20 : 0);
    model = made;
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

/* From a destructor, or from _exit(). */
__attribute__((destructor)) void check_finish(void)
{
    check_model *m = check_is_watched() ? check_open() : NULL;
    if (m == NULL) return;
    check_inside++;
    const check_site site = {.call = "exit"};
    check_end(m, &site);
    const unsigned unjudged = check_model_unjudged(m);
    const check_counts saw = check_model_counts(m);
    check_trace_end();
    check_tree_end();
    model = NULL; /* what runs after this is not watched */
    check_close();
    if (unjudged > 0)
        check_note(
            "There were more queues and streams at a time than culvert-check follows; the order of the others' work was not judged");
    if (saw.exported + saw.imported + saw.submitted + saw.launched > 0) {
        static char text[400], unsure[160];
        if (saw.unsure > 0)
            (void)snprintf(unsure, sizeof unsure,
                           ", %llu of them not judged: nothing orders them after the other API's, "
                           "and what a kernel or a shader writes is not seen",
                           saw.unsure);
        (void)snprintf(
            text, sizeof text,
            "process %ld: it saw %llu descriptors exported, %llu imports into CUDA, %llu "
            "works of Vulkan's queues, %llu of CUDA's streams, and %llu accesses to shared "
            "memory%s",
            (long)watched, saw.exported, saw.imported, saw.submitted, saw.launched, saw.accesses,
            unsure);
        check_note(text);
    }
    if (saw.unreleased + saw.unacquired + saw.layouts > 0) {
        static char text[300];
        (void)snprintf(
            text, sizeof text,
            "process %ld: Vulkan recorded no barrier %s: no driver is known to mind, the "
            "specification forbids it, and --strict tells where",
            (long)watched,
            saw.unreleased + saw.unacquired == 0
                ? "to VK_IMAGE_LAYOUT_GENERAL for an image that CUDA uses"
            : saw.unreleased == 0 ? "from VK_QUEUE_FAMILY_EXTERNAL for what CUDA wrote"
            : saw.unacquired == 0 ? "to VK_QUEUE_FAMILY_EXTERNAL for what CUDA uses next"
                                  : "from and to VK_QUEUE_FAMILY_EXTERNAL");
        check_note(text);
    }
    check_inside--;
}

/* Walking a stack takes 10 microseconds. So each thread remembers what it found, and where in the
 * stack: as long as the same return addresses are in the same places, it is the same call. */
#define REMEMBERED 32
typedef struct remembered {
    const char *base; /* the frame from which places are counted; NULL: nothing */
    const void *caller;
    check_site site;
    uint32_t places[CHECK_FRAMES];
} remembered;
static _Thread_local remembered memory[REMEMBERED];
static _Thread_local const char *stack_begin, *stack_end;

static const char *find_stack_end(void)
{
    pthread_attr_t attributes;
    void *begin = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return NULL;
    (void)pthread_attr_getstack(&attributes, &begin, &size);
    (void)pthread_attr_destroy(&attributes);
    stack_begin = begin;
    return (const char *)begin + size;
}

static void *word_at(const char *place)
{
    void *word;
    memcpy(&word, place, sizeof word);
    return word;
}

static bool still_there(const remembered *r)
{
    for (int i = 0; i < r->site.count; i++)
        if (word_at(r->base + r->places[i]) != r->site.frames[i]) return false;
    return true;
}

/* Return addresses lie in the stack in their order. False: not all of them are found. */
static bool find_places(remembered *r)
{
    const char *at = r->base;
    for (int i = 0; i < r->site.count; i++) {
        while (at + sizeof(void *) <= stack_end && at - r->base < 65536 &&
               word_at(at) != r->site.frames[i])
            at += sizeof(void *);
        if (at + sizeof(void *) > stack_end || at - r->base >= 65536) return false;
        r->places[i] = (uint32_t)(at - r->base);
        at += sizeof(void *);
    }
    return true;
}

__attribute__((noinline)) check_site check_here(const char *call)
{
    const char *base = __builtin_frame_address(0);
    const void *caller = __builtin_return_address(0);
    const uintptr_t mixed = ((uintptr_t)base >> 4) * 31 + (uintptr_t)caller;
    remembered *r = &memory[(mixed ^ mixed >> 7) % REMEMBERED];
    check_site site;
    void *frames[CHECK_FRAMES + 6];
    if (r->base == base && r->caller == caller && still_there(r)) {
        site = r->site;
        site.call = call;
        return site;
    }
    site = (check_site){.call = call};
    const int count = backtrace(frames, CHECK_FRAMES + 6);
    int first = 0;
    while (first < count && (uintptr_t)frames[first] >= own_begin &&
           (uintptr_t)frames[first] < own_end)
        first++;
    while (first < count && site.count < CHECK_FRAMES)
        site.frames[site.count++] = frames[first++];
    if (stack_end == NULL) {
        check_inside++; /* of the first thread it reads a file */
        stack_end = find_stack_end();
        check_inside--;
    }
    r->base = NULL;
    /* a stack of the program's own */
    if (stack_end == NULL || base < stack_begin || base > stack_end) return site;
    r->base = base;
    r->caller = caller;
    r->site = site;
    if (!find_places(r)) r->base = NULL;
    return site;
}

/* ---- waits of the host ---- */

static unsigned patience; /* seconds; 0: waits are not watched */

static void *watch(void *user)
{
    const struct timespec pause = {.tv_nsec = 200000000};
    (void)user;
    check_inside++; /* nothing here is the program's */
    for (;;) {
        struct timespec now;
        bool stuck = false;
        (void)nanosleep(&pause, NULL);
        check_model *m = check_open();
        if (m == NULL) return NULL;
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        bool waits_long = false;
        for (int i = 0; i < WAITS; i++) {
            struct waiting *w = &waits[i];
            if (!w->used || now.tv_sec - w->since.tv_sec < (time_t)patience) continue;
            waits_long = true;
            if (w->told) continue;
            check_tree_stuck(true);
            const bool found = check_stuck(m, w->payload, w->value, &w->site);
            /* Another process may be stuck only later. */
            w->told = found || !check_tree_joined();
            stuck |= found;
        }
        if (!waits_long) check_tree_stuck(false);
        check_close();
        if (stuck && getenv("CULVERT_CHECK_END_STUCK") != NULL) {
            (void)signal(SIGABRT, SIG_DFL);
            abort();
        }
    }
}

/* For the timeline. */
static _Thread_local const char *wait_call;
static _Thread_local uint64_t wait_since;

/* A thread's last wait. Who waits for ever in pieces, as Culvert's rings do, waits as long as who
 * waits in one call. */
static _Thread_local struct last_wait {
    const check_payload *payload; /* not looked into */
    uint64_t value;
    struct timespec since, end;
    bool told;
} last_wait;

static void go_on(struct waiting *w)
{
    const struct last_wait *last = &last_wait;
    if (w->payload == NULL || last->payload != w->payload || last->value != w->value ||
        w->since.tv_sec - last->end.tv_sec > 1)
        return;
    w->since = last->since;
    w->told = last->told;
}

int check_wait_begin(const char *call, check_payload *payload, uint64_t value)
{
    const check_site site = check_here(call);
    return check_wait_begin_at(&site, payload, value);
}

int check_wait_begin_at(const check_site *site, check_payload *payload, uint64_t value)
{
    const char *seconds = getenv("CULVERT_CHECK_STUCK");
    wait_call = site->call;
    wait_since = check_trace_now();
    check_model *m = seconds != NULL ? check_open() : NULL;
    int slot = -1;
    if (m == NULL) return -1;
    if (!watching) {
        sigset_t all, before;
        pthread_t thread;
        watching = true;
        patience = (unsigned)strtoul(seconds, NULL, 10);
        sigfillset(&all);
        (void)pthread_sigmask(SIG_SETMASK, &all, &before);
        if (patience > 0 && pthread_create(&thread, NULL, watch, NULL) == 0)
            (void)pthread_detach(thread);
        else
            patience = 0;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    for (int i = 0; patience > 0 && slot < 0 && i < WAITS; i++)
        if (!waits[i].used) slot = i;
    if (slot >= 0) {
        waits[slot] = (struct waiting){.used = true, .site = *site, .value = value};
        (void)clock_gettime(CLOCK_MONOTONIC, &waits[slot].since);
        check_payload_keep(payload);
        waits[slot].payload = payload;
        go_on(&waits[slot]);
    }
    check_close();
    return slot;
}

void check_wait_end(int slot)
{
    if (wait_call != NULL) check_trace_call(wait_call, wait_since);
    wait_call = NULL;
    check_model *m = slot >= 0 ? check_open() : NULL;
    if (m == NULL) return;
    last_wait = (struct last_wait){.payload = waits[slot].payload,
                                   .value = waits[slot].value,
                                   .since = waits[slot].since,
                                   .told = waits[slot].told};
    (void)clock_gettime(CLOCK_MONOTONIC, &last_wait.end);
    waits[slot].used = false;
    check_tree_stuck(false);
    check_payload_drop(m, waits[slot].payload);
    check_close();
}

/* ---- leaving ---- */

static void leave(void)
{
    static atomic_flag left = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&left)) (void)check_wait_begin("exit", NULL, 0);
}

void check_will_leave(void)
{
    static atomic_uint times;
    if (atomic_fetch_add(&times, 1) < 8) (void)atexit(leave);
}

/* ---- tables ---- */

static entry **bucket(unsigned kind, uint64_t handle)
{
    const uint64_t mixed = (handle ^ ((uint64_t)kind << 57)) * UINT64_C(0x9e3779b97f4a7c15);
    entry **link = &buckets[mixed >> 52];
    while (*link != NULL && ((*link)->kind != kind || (*link)->handle != handle))
        link = &(*link)->next;
    return link;
}

void *check_get(unsigned kind, uint64_t handle)
{
    const entry *e = *bucket(kind, handle);
    return e != NULL ? e->value : NULL;
}

void *check_put(unsigned kind, uint64_t handle, void *value)
{
    entry **link = bucket(kind, handle), *e = *link;
    void *before = e != NULL ? e->value : NULL;
    if (value == NULL && e != NULL) {
        *link = e->next;
        free(e);
    } else if (value != NULL) {
        if (e == NULL) {
            e = calloc(1, sizeof *e);
            if (e == NULL) return NULL;
            e->kind = kind;
            e->handle = handle;
            *link = e;
        }
        e->value = value;
    }
    return before;
}

/* ---- writing ---- */

typedef struct text {
    char bytes[131072]; /* two sites of 12 frames with paths: a line that is cut is no JSON */
    size_t length;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length =
        vsnprintf(t->bytes + t->length, sizeof t->bytes - t->length, format, arguments);
    va_end(arguments);
    if (length < 0) return;
    t->length += (size_t)length;
    if (t->length >= sizeof t->bytes) t->length = sizeof t->bytes - 1;
}

static void add_json(text *t, const char *string)
{
    add(t, "\"");
    for (const char *c = string; *c != '\0';) {
        const size_t length = check_utf8(c);
        if (length == 0)
            add(t, "?");
        else
            add(t, "%s%.*s", *c == '"' || *c == '\\' ? "\\" : "", (int)length, c);
        c += length > 0 ? length : 1;
    }
    add(t, "\"");
}

typedef struct place {
    char text[600];
    const char *path; /* of the module, or NULL */
    size_t offset;    /* in it */
} place;

/* What calls main(), the loader and other layers say nothing of the program: false. */
static bool describe(void *frame, place *out)
{
    Dl_info info;
    struct link_map *map = NULL;
    *out = (place){.path = NULL};
    if (dladdr1(frame, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || info.dli_fname == NULL) {
        (void)snprintf(out->text, sizeof out->text, "%p", frame);
        return true;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const char *module = slash != NULL ? slash + 1 : info.dli_fname;
    if (strncmp(module, "libvulkan.so", 12) == 0 || strstr(module, "VkLayer_") != NULL)
        return false;
    if (strncmp(module, "libc.so", 7) == 0) return false;
    if (info.dli_sname != NULL && strcmp(info.dli_sname, "_start") == 0) return false;
    /* Another process looks for the lines of the source. */
    static char own[4096];
    out->path = info.dli_fname;
    if (strncmp(info.dli_fname, "/proc/self/", 11) == 0) {
        const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
        own[length > 0 ? length : 0] = '\0';
        if (length > 0) out->path = own;
    }
    /* As addr2line has it: of a program at fixed addresses (-no-pie), the address itself. */
    out->offset = (size_t)((uintptr_t)frame - map->l_addr);
    if (info.dli_sname != NULL)
        (void)snprintf(out->text, sizeof out->text, "%s+0x%zx in %s+0x%zx", info.dli_sname,
                       (size_t)((char *)frame - (char *)info.dli_saddr), module, out->offset);
    else
        (void)snprintf(out->text, sizeof out->text, "%s+0x%zx", module, out->offset);
    return true;
}

/* A place of another process: what is known of it is the module and the offset. */
static bool describe_of(const check_site *site, int i, place *out)
{
    uint64_t offset;
    if (site->of == NULL) return describe(site->frames[i], out);
    const char *path = check_tree_module(site->frames[i], &offset);
    if (path == NULL) return false;
    const char *slash = strrchr(path, '/');
    const char *module = slash != NULL ? slash + 1 : path;
    if (strncmp(module, "libvulkan.so", 12) == 0 || strstr(module, "VkLayer_") != NULL ||
        strncmp(module, "libc.so", 7) == 0)
        return false;
    *out = (place){.path = path, .offset = offset};
    (void)snprintf(out->text, sizeof out->text, "%s+0x%zx", module, out->offset);
    return true;
}

/* The launcher looks for the line of the source where a line is "@offset path|text". */
static void add_site(text *t, const char *label, const check_site *site)
{
    const bool launched = getenv("CULVERT_CHECK_OUT") != NULL;
    place at;
    if (site->call == NULL) return;
    add(t, "  %-8s %s%s%s%s\n", label, site->call, site->of != NULL ? " (" : "",
        site->of != NULL ? site->of : "", site->of != NULL ? ")" : "");
    for (int i = 0, shown = 0; i < site->count && shown < 6; i++) {
        if (!describe_of(site, i, &at)) continue;
        if (launched && at.path != NULL)
            add(t, "@%zx %s|%s\n", at.offset, at.path, at.text);
        else
            add(t, "             %s\n", at.text);
        shown++;
    }
}

static void add_json_site(text *t, const char *name, const check_site *site)
{
    bool first = true;
    place at;
    if (site->call == NULL) return;
    add(t, ",\"%s\":{\"call\":", name);
    add_json(t, site->call);
    if (site->of != NULL) {
        add(t, ",\"of\":");
        add_json(t, site->of);
    }
    add(t, ",\"frames\":[");
    for (int i = 0; i < site->count; i++) {
        if (!describe_of(site, i, &at)) continue;
        add(t, "%s{\"text\":", first ? "" : ",");
        add_json(t, at.text);
        if (at.path != NULL) {
            add(t, ",\"offset\":%zu,\"module\":", at.offset);
            add_json(t, at.path);
        }
        add(t, "}");
        first = false;
    }
    add(t, "]}");
}

/* No file stays open: a program may count its descriptors. */
static void put(const char *suffix, bool to_stderr, const text *t)
{
    const int file = open_out(suffix);
    const int target = file >= 0 ? file : to_stderr ? STDERR_FILENO : -1;
    size_t done = 0;
    while (target >= 0 && done < t->length) {
        const ssize_t wrote = write(target, t->bytes + done, t->length - done);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) break;
        done += (size_t)wrote;
    }
    if (file >= 0) (void)close(file);
    static atomic_flag told = ATOMIC_FLAG_INIT;
    if (file >= 0 && done < t->length && !atomic_flag_test_and_set(&told)) {
        static const char lost[] = "culvert-check: a part of the report could not be written\n";
        (void)!write(STDERR_FILENO, lost, sizeof lost - 1);
    }
}

/* The same mistake in each frame is one finding: its kind and both places are its name. */
static bool seen(const check_finding *f)
{
    static uint64_t names[1024];
    static unsigned count;
    uint64_t name = UINT64_C(1469598103934665603) + f->what;
    const check_site *sites[2] = {&f->here, &f->earlier};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4 && j < sites[i]->count; j++) {
            const uint64_t at = sites[i]->of != NULL ? (uintptr_t)sites[i]->frames[j]
                                                     : check_tree_place(sites[i]->frames[j]);
            name = (name ^ at) * UINT64_C(1099511628211) + (uint64_t)i;
        }
    for (unsigned i = 0; i < count; i++)
        if (names[i] == name) return true;
    if (count == sizeof names / sizeof *names) return true;
    names[count++] = name;
    return f->unless == 0 && !check_tree_new(name);
}

void check_write_finding(void *user, const check_finding *f)
{
    (void)user;
    if (seen(f)) return;
    pending *made = calloc(1, sizeof *made);
    if (made == NULL) return;
    findings++;
    made->finding = *f;
    check_utf8_clean(made->finding.sentence);
    check_utf8_clean(made->finding.object);
    check_trace_finding(check_rules[f->what].id, made->finding.sentence);
    *last_pending = made;
    last_pending = &made->next;
}

/* Without the lock. */
static void write_finding(const check_finding *f)
{
    const check_rule *rule = &check_rules[f->what];
    text *t = malloc(sizeof *t);
    if (t == NULL) return;
    check_inside++;
    /* What another process may still end goes to files of its own, and the launcher looks again. */
    char suffix[2][64] = {".text", ".json"};
    for (int i = 0; i < 2 && f->unless != 0; i++)
        (void)snprintf(suffix[i], sizeof suffix[i], ".unless.%lu.%lu.%llu.%ld.%u%s",
                       (unsigned long)f->unless, (unsigned long)f->generation,
                       (unsigned long long)f->value, (long)watched, findings,
                       i == 0 ? ".text" : ".json");
    t->length = 0;
    add(t, "culvert-check: (%c) %s\n  %s\n", rule->letter, rule->id, f->sentence);
    if (f->object[0] != '\0') add(t, "  object:  %s\n", f->object);
    if (check_tree_joined()) add(t, "  process: %ld, %s\n", (long)watched, check_tree_program());
    add_site(t, "here:", &f->here);
    add_site(t, "before:", &f->earlier);
    add(t, "  rule:    %s\n  source:  %s\n  mend:    %s\n  read:    " CHECK_PAGE "#%s\n\n",
        rule->rule, rule->source, rule->mend, rule->id);
    put(suffix[0], true, t);
    t->length = 0;
    add(t, "{\"class\":\"%c\",\"id\":\"%s\",\"process\":%ld,\"program\":", rule->letter, rule->id,
        (long)watched);
    add_json(t, check_tree_program());
    add(t, ",\"sentence\":");
    add_json(t, f->sentence);
    add(t, ",\"object\":");
    add_json(t, f->object);
    add_json_site(t, "here", &f->here);
    add_json_site(t, "before", &f->earlier);
    add(t, ",\"rule\":");
    add_json(t, rule->rule);
    add(t, ",\"source\":");
    add_json(t, rule->source);
    add(t, ",\"mend\":");
    add_json(t, rule->mend);
    add(t, ",\"read\":\"" CHECK_PAGE "#%s\"}\n", rule->id);
    put(suffix[1], false, t);
    check_inside--;
    free(t);
}

void check_note(const char *said)
{
    static const char *said_before[16];
    static text t;
    struct timespec until;
    /* A signal's handler that calls _exit() may have interrupted whoever holds it. */
    if (clock_gettime(CLOCK_REALTIME, &until) != 0) return;
    until.tv_sec++;
    if (pthread_mutex_timedlock(&notes, &until) != 0) return;
    check_inside++;
    for (size_t i = 0; i < 16; i++) {
        if (said_before[i] == said) break;
        if (said_before[i] != NULL) continue;
        said_before[i] = said;
        t.length = 0;
        add(&t, "culvert-check: note: %s.\n", said);
        put(".text", true, &t);
        break;
    }
    pthread_mutex_unlock(&notes);
    check_inside--;
}
