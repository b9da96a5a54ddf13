/* SPDX-License-Identifier: MIT */
/* The test harness: command line, processes, time limits, results. See harness.h. */
#include "answers.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#        define SANITIZED 1
#    endif
#    if __has_feature(thread_sanitizer)
#        define THREAD_SANITIZED true
#    endif
#endif
#if defined(__SANITIZE_THREAD__)
#    define THREAD_SANITIZED true
#endif
#ifndef THREAD_SANITIZED
#    define THREAD_SANITIZED false
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#    define SANITIZED 1
#endif

#if defined(__SANITIZE_ADDRESS__)
#    define LEAKS 1
#    include <sanitizer/lsan_interface.h>
#elif defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define LEAKS 1
#        include <sanitizer/lsan_interface.h>
#    endif
#endif

/* What the cases' processes would each load for themselves; there where a program uses Vulkan. */
void raw_vk_preload(void) __attribute__((weak));

static int option_count;
static char **option_list; /* argv entries that begin with -- */
static const test_case *current;
static char timeout_message[256];

/* Of the process that starts others for its cases. */
typedef enum outcome { PENDING, PASSED, SKIPPED, FAILED } outcome;

static struct {
    const test_case **cases;
    outcome *outcomes;
    bool *alone; /* in processes of their own */
    size_t count;
    int output; /* of the child, anew for each */
    off_t shown;
    bool quiet;
} run;

/* Of a process that runs several cases. */
enum { MAX_FIXTURES = 4 };
static struct {
    int events; /* where it tells its parent how cases end, -1 when it runs one alone */
    pid_t process;
    jmp_buf skip;
    double begun;
    const test_fixture *fixtures[MAX_FIXTURES];
    unsigned fixture_count;
} shared = {.events = -1};

const char *test_option(const char *name, const char *fallback)
{
    size_t length = strlen(name);
    for (int i = option_count; i-- > 0;) { /* the last one counts */
        const char *text = option_list[i] + 2;
        if (strncmp(text, name, length) != 0) continue;
        if (text[length] == '=') return text + length + 1;
        if (text[length] == '\0') return "";
    }
    return fallback;
}

bool test_has_option(const char *option)
{
    for (int i = 0; i < option_count; i++)
        if (strcmp(option_list[i], option) == 0) return true;
    return false;
}

test_driver_choice test_driver(void)
{
    const char *text = test_option("driver", "auto");
    if (strcmp(text, "nvidia") == 0) return TEST_DRIVER_NVIDIA;
    if (strcmp(text, "soft") == 0) return TEST_DRIVER_SOFT;
    if (strcmp(text, "auto") == 0) return TEST_DRIVER_AUTO;
    FAIL("--driver=%s: must be auto, nvidia or soft", text);
}

const char *test_case_name(void)
{
    return current != NULL ? current->name : "";
}

const char *test_path(char out[TEST_PATH_MAX], const char *relative)
{
    char program[TEST_PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    REQUIRE(length > 0);
    program[length] = '\0';
    for (int up = 0; up < 3; up++) {
        char *slash = strrchr(program, '/');
        REQUIRE(slash != NULL);
        *slash = '\0';
    }
    int written = snprintf(out, TEST_PATH_MAX, "%s/%s", program, relative);
    REQUIRE(written > 0 && written < TEST_PATH_MAX);
    return out;
}

bool test_sanitized(void)
{
#ifdef SANITIZED
    return true;
#else
    return false;
#endif
}

bool test_thread_sanitized(void)
{
    return THREAD_SANITIZED;
}

/* The next of the open descriptors: its number, and what it is. A file that a thread of Mesa's has
 * open to write into its shader cache is passed over: it comes and goes by itself. */
static bool next_fd(DIR *dir, char number[32], char target[256])
{
    for (const struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[300];
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        const ssize_t length = readlink(path, target, 255);
        if (length < 0) continue; /* closed meanwhile */
        target[length] = '\0';
        if (strstr(target, "/mesa_shader_cache") != NULL) continue; /* newer Mesa: _db */
        snprintf(number, 32, "%.31s", entry->d_name);
        return true;
    }
    return false;
}

size_t test_open_fds(void)
{
    char number[32], target[256];
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    size_t count = 0;
    while (next_fd(dir, number, target))
        count++;
    closedir(dir);
    return count - 1; /* the directory itself */
}

void test_settle_fds(size_t fds, const char *what)
{
    const double until = test_now_us() + TEST_FAR_MS * 1000.0;
    while (test_open_fds() != fds) {
        if (test_now_us() > until) {
            test_tell_fds();
            FAIL("%s leaves files: %zu, and not %zu", what, test_open_fds(), fds);
        }
        usleep(200);
    }
}

void test_tell_fds(void)
{
    char number[32], target[256];
    DIR *dir = opendir("/proc/self/fd");
    REQUIRE(dir != NULL);
    while (next_fd(dir, number, target))
        printf("open: %s %s\n", number, target);
    closedir(dir);
}

double test_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Of the threads that count: whether each sleeps, and how often they have been switched in all. */
static bool sleep_now(int process, int thread, uint64_t *switches)
{
    char path[64], line[256];
    const long self = syscall(SYS_gettid);
    snprintf(path, sizeof path, "/proc/%d/task", process != 0 ? process : (int)getpid());
    DIR *dir = opendir(path);
    bool asleep = true;
    *switches = 0;
    if (dir == NULL) return true;
    for (const struct dirent *entry = readdir(dir); asleep && entry != NULL; entry = readdir(dir)) {
        const int id = atoi(entry->d_name);
        if (id == 0 || id == self || (thread != 0 && id != thread)) continue;
        snprintf(path, sizeof path, "/proc/%d/task/%d/status",
                 process != 0 ? process : (int)getpid(), id);
        FILE *file = fopen(path, "r");
        if (file == NULL) continue; /* it has ended */
        while (fgets(line, sizeof line, file) != NULL) {
            const char *count = strstr(line, "voluntary_ctxt_switches:"); /* nonvoluntary_... too */
            if (count != NULL) *switches += strtoull(strchr(count, ':') + 1, NULL, 10);
            char state = 0;
            if (sscanf(line, "State: %c", &state) == 1) asleep = state == 'S';
        }
        fclose(file);
    }
    closedir(dir);
    return asleep;
}

/* Who sleeps at both looks, and was not switched between them, slept all the time. */
static bool slept(int process, int thread, unsigned ms)
{
    const struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    uint64_t first = 0, second = 0;
    if (!sleep_now(process, thread, &first)) return false;
    nanosleep(&rest, NULL);
    return sleep_now(process, thread, &second) && second == first;
}

bool test_sleeps(int thread, unsigned ms)
{
    return slept(0, thread, ms);
}

bool test_asleep(int process, int thread, unsigned ms)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    const double until = test_now_us() + TEST_FAR_MS * 1e3;
    do {
        if (slept(process, thread, ms)) return true;
        nanosleep(&moment, NULL);
    } while (test_now_us() < until);
    return false;
}

/* Results -------------------------------------------------------------------------------------- */

static const char *result_path(char out[TEST_PATH_MAX], const char *case_name)
{
    const char *dir = test_option("results", NULL);
    if (dir == NULL) return NULL;
    int written = snprintf(out, TEST_PATH_MAX, "%s/%s", dir, case_name);
    return written > 0 && written < TEST_PATH_MAX ? out : NULL;
}

static void leave_result(const char *text)
{
    char buffer[TEST_PATH_MAX];
    const char *path = current != NULL ? result_path(buffer, current->name) : NULL;
    if (path == NULL) return;
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return;
    }
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* A case has begun ('b'), passed ('p'), was skipped ('s') or wants a process of its own ('o');
 * `output` is how much stood in the output by then. */
typedef struct event {
    char kind;
    double seconds;
    off_t output;
} event;

static void tell(char kind)
{
    event e = {.kind = kind, .seconds = (test_now_us() - shared.begun) * 1e-6};
    fflush(NULL);
    e.output = lseek(STDOUT_FILENO, 0, SEEK_CUR);
    if (write(shared.events, &e, sizeof e) != (ssize_t)sizeof e) _Exit(1);
}

bool test_shared(void)
{
    return shared.events >= 0;
}

void test_keep(const test_fixture *fixture)
{
    REQUIRE(shared.fixture_count < MAX_FIXTURES);
    shared.fixtures[shared.fixture_count++] = fixture;
}

static bool all_clean(void)
{
    for (unsigned i = 0; i < shared.fixture_count; i++)
        if (shared.fixtures[i]->clean != NULL && !shared.fixtures[i]->clean()) return false;
    return true;
}

static bool all_usable(void)
{
    for (unsigned i = 0; i < shared.fixture_count; i++)
        if (shared.fixtures[i]->usable != NULL && !shared.fixtures[i]->usable()) return false;
    return true;
}

/* Leaves the case in the middle, and the process with it where that cannot be as it was before the
 * case. */
static _Noreturn void leave(char kind)
{
    fflush(NULL);
    if (getpid() == shared.process) {
        /* What the case took from the heap is lost, which sanitized builds would tell of. */
        bool goes_on = !test_sanitized() && syscall(SYS_gettid) == shared.process && all_clean();
        tell(kind);
        if (goes_on) longjmp(shared.skip, 1);
    }
    _Exit(TEST_SKIPPED);
}

void test_wants_own_process(void)
{
    if (test_shared()) leave('o');
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%s:%d: FAILED: ", file, line);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    fflush(NULL);
    _Exit(1);
}

void test_skip(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("SKIP: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    leave_result("skip");
    leave('s');
}

/* Of the twin, if this process has loaded it. */
static uint64_t faults_so_far(void)
{
    static const char *const names[] = {"libculvert-soft.so.0", "libcuda.so.1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *twin = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        void *symbol = twin != NULL ? dlsym(twin, "culvSoftFaults") : NULL;
        uint64_t (*faults)(void);
        memcpy(&faults, &symbol, sizeof faults);
        const uint64_t count = symbol != NULL ? faults() : 0;
        if (twin != NULL) dlclose(twin);
        if (count > 0) return count;
    }
    return 0;
}

void test_require_marked_faults(void)
{
    if (current->faults || faults_so_far() == 0) return;
    FAIL("a kernel or a copy faults in %s, which is not marked .faults", current->name);
}

/* A case has run to its end. */
static void passed(void)
{
    test_require_marked_faults();
    test_answers_end();
}

void test_pass(void)
{
    test_wants_own_process();
    passed();
    leave_result("pass");
    fflush(NULL);
    _Exit(0);
}

void test_measured(const char *name, const char *format, ...)
{
    char value[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    printf("MEASURED %s: %s\n", name, value); /* one call, so that threads do not mix lines */
}

void test_require_eq(const char *file, int line, const char *actual_text, const char *expected_text,
                     int64_t actual, int64_t expected)
{
    if (actual == expected) return;
    test_fail(file, line, "%s is %" PRId64 " (0x%" PRIx64 "), not %s = %" PRId64 " (0x%" PRIx64 ")",
              actual_text, actual, (uint64_t)actual, expected_text, expected, (uint64_t)expected);
}

void test_require_eq_str(const char *file, int line, const char *actual_text, const char *actual,
                         const char *expected)
{
    if (actual == expected || (actual != NULL && expected != NULL && strcmp(actual, expected) == 0))
        return;
    test_fail(file, line, "%s is \"%s\", not \"%s\"", actual_text,
              actual != NULL ? actual : "(null)", expected != NULL ? expected : "(null)");
}

void test_require_eq_bytes(const char *file, int line, const char *actual_text, const void *actual,
                           const void *expected, size_t size)
{
    const unsigned char *a = actual, *e = expected;
    size_t first = 0, wrong = 0;
    if (memcmp(a, e, size) == 0) return; /* one call of ThreadSanitizer's, not one a byte */
    for (size_t i = size; i-- > 0;) {
        if (a[i] == e[i]) continue;
        first = i;
        wrong++;
    }
    test_fail(file, line, "%s: %zu of %zu bytes wrong, first at %zu: 0x%02x, not 0x%02x",
              actual_text, wrong, size, first, (unsigned)a[first], (unsigned)e[first]);
}

/* Cases ---------------------------------------------------------------------------------------- */

static test_case *first_case, **last_case = &first_case;

void test_add(test_case *c)
{
    if (c->title != NULL) c->name = c->title;
    *last_case = c;
    last_case = &c->next;
}

/* Whether the name matches one of the globs, which commas part. */
static bool matches(const char *name, const char *globs)
{
    char glob[64];
    for (int used = 0; sscanf(globs, "%63[^,]%n", glob, &used) == 1; globs += used) {
        if (fnmatch(glob, name, 0) == 0) return true;
        if (globs[used] == ',') used++;
    }
    return false;
}

static const test_case *next_case(const test_case *after)
{
    const test_case *c = after == NULL ? first_case : after->next;
    while (c != NULL && (!matches(c->name, test_option("cases", "*")) ||
                         matches(c->name, test_option("but", ""))))
        c = c->next;
    return c;
}

static unsigned time_limit(const test_case *c)
{
    unsigned seconds = c->time_limit != 0 ? c->time_limit : TEST_TIME_LIMIT;
#ifdef SANITIZED
    seconds *= 4;
#endif
    if (test_option("batch", NULL) != NULL)
        seconds *= 3; /* beside many that start a GPU's driver */
    return seconds;
}

static void on_alarm(int signal_number)
{
    (void)signal_number;
    signal(SIGPIPE, SIG_IGN); /* whoever reads may have heard enough */
    ssize_t ignored = write(STDOUT_FILENO, timeout_message, strlen(timeout_message));
    (void)ignored;
    test_tell_states(STDOUT_FILENO, getpid());
    _exit(1);
}

static void begin(const test_case *c)
{
    current = c;
    test_answers_begin();
    leave_result("fail"); /* until it is known better: a crash or a hang leaves this */
    snprintf(timeout_message, sizeof timeout_message, "FAILED: %s hangs: not done after %u s\n",
             c->name, time_limit(c));
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_alarm;
    sigaction(SIGALRM, &action, NULL);
    alarm(time_limit(c));
}

static int run_case(const test_case *c)
{
    begin(c);
    c->run();
    test_drop();
    passed();
    leave_result("pass");
    fflush(NULL);
    return 0;
}

static const test_case *find_case(const char *name)
{
    const test_case *c = next_case(NULL);
    while (c != NULL && strcmp(c->name, name) != 0)
        c = next_case(c);
    if (c == NULL) fprintf(stderr, "no case is called %s; --list shows them\n", name);
    return c;
}

/* A driver's thread may hold a block for a moment only where LeakSanitizer does not look. A leak of
 * ours stays. */
static bool leaks(void)
{
#ifdef LEAKS
    for (int i = 0; i < 5; i++) {
        if (__lsan_do_recoverable_leak_check() == 0) return false;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return true;
#else
    return false;
#endif
}

/* The child's half of a process that several cases share. */
static int run_shared(const size_t *chosen, size_t count)
{
    shared.process = getpid();
    for (volatile size_t i = 0; i < count; i++) {
        const test_case *c = run.cases[chosen[i]];
        begin(c);
        shared.begun = test_now_us();
        tell('b');
        if (setjmp(shared.skip) != 0) continue;
        c->run();
        test_drop();
        passed();
        if (!all_clean()) FAIL("%s leaves open what it opened", c->name);
        if (leaks()) FAIL("%s leaks", c->name);
        leave_result("pass");
        tell('p');
        if (!all_usable()) _Exit(TEST_SKIPPED);
    }
    /* The last case answers for what comes now. */
    for (unsigned i = shared.fixture_count; i-- > 0;)
        if (shared.fixtures[i]->end != NULL) shared.fixtures[i]->end();
    fflush(NULL);
    return 0;
}

/* `prog OPTIONS [OPTION] NAME`: the last of two options of one name counts. */
static _Noreturn void start_program(const char *option, const char *name)
{
    static char program[] = "/proc/self/exe";
    char **args = calloc((size_t)option_count + 4, sizeof *args);
    int used = 0;
    if (args == NULL) _exit(127);
    args[used++] = program;
    for (int i = 0; i < option_count; i++)
        args[used++] = option_list[i];
    if (option != NULL) args[used++] = strdup(option);
    args[used++] = strdup(name);
    execv(program, args);
    _exit(127);
}

int test_run_child(const char *case_name)
{
    test_wants_own_process();
    const int answers = test_answers_open();
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        test_answers_to(answers);
        start_program(NULL, case_name);
    }
    REQUIRE(child > 0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        REQUIRE(errno == EINTR);
    test_answers_take(answers);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void test_start_anew(const char *option)
{
    test_wants_own_process();
    fflush(NULL);
    start_program(option, current->name);
}

static void print_marks(bool rows)
{
    static const char *const names[] = {"unmarked", "BOTH", "NVIDIA ONLY", "TWIN STRICTER"};
    unsigned counts[4] = {0};
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
        counts[c->mark]++;
        if (rows && c->mark != TEST_UNMARKED)
            printf("%-13s %s%s%s\n", names[c->mark], c->name, c->reason != NULL ? ": " : "",
                   c->reason != NULL ? c->reason : "");
    }
    if (counts[TEST_BOTH] + counts[TEST_NVIDIA_ONLY] + counts[TEST_TWIN_STRICTER] == 0) return;
    printf("marks: BOTH %u, NVIDIA ONLY %u, TWIN STRICTER %u, unmarked %u\n", counts[TEST_BOTH],
           counts[TEST_NVIDIA_ONLY], counts[TEST_TWIN_STRICTER], counts[TEST_UNMARKED]);
}

static int verdict(unsigned passed, unsigned skipped, unsigned failed)
{
    printf("%u passed, %u skipped, %u failed\n", passed, skipped, failed);
    if (failed == 0 && passed > 0) return 0;
    if (failed == 0 && test_option("part", NULL) == NULL)
        printf("FAILED: every case was skipped; that is not a pass\n");
    return 1;
}

/* Many cases: the parent ----------------------------------------------------------------------- */

static void print_output(off_t end, bool brief)
{
    size_t size = end > run.shown ? (size_t)(end - run.shown) : 0;
    char *text = malloc(size + 1);
    if (text == NULL) return;
    ssize_t got = pread(run.output, text, size, run.shown);
    run.shown = end;
    text[got > 0 ? got : 0] = '\0';
    if (!brief) {
        fputs(text, stdout);
        if (got > 0 && text[got - 1] != '\n') putchar('\n');
    }
    for (char *line = brief ? strtok(text, "\n") : NULL; line != NULL; line = strtok(NULL, "\n"))
        if (strncmp(line, "MEASURED ", 9) == 0 || strncmp(line, "ANSWER ", 7) == 0) puts(line);
    free(text);
}

/* What the last line with SKIP says, in the output from run.shown to `end`. */
static void skip_reason(off_t end, char *out, size_t room)
{
    size_t size = end > run.shown ? (size_t)(end - run.shown) : 0;
    char *text = malloc(size + 1);
    snprintf(out, room, "no reason was printed");
    if (text == NULL) return;
    ssize_t got = pread(run.output, text, size, run.shown);
    text[got > 0 ? got : 0] = '\0';
    for (const char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
        if (strncmp(line, "SKIP: ", 6) == 0) snprintf(out, room, "%s", line + 6);
    free(text);
}

/* The verdict of case i, whose output reaches to `end`. */
static void conclude(size_t i, outcome how, double seconds, off_t end, const char *why)
{
    const char *name = run.cases[i]->name;
    char reason[1024];
    run.outcomes[i] = how;
    if (how == SKIPPED) skip_reason(end, reason, sizeof reason);
    bool brief = run.quiet && how != FAILED;
    if (!brief) printf("== %s\n", name);
    print_output(end, brief);
    if (how == PASSED)
        printf("PASS %s (%.3f s)\n", name, seconds);
    else if (how == SKIPPED)
        printf("SKIP %s: %s\n", name, reason);
    else
        printf("FAIL %s: %s\n", name, why);
    fflush(stdout);
}

/* Waits for the child's end; false when it did not come. SIGCHLD is blocked. */
static bool reap(pid_t child, int *status, unsigned seconds)
{
    double until = test_now_us() + seconds * 1e6;
    for (;;) {
        pid_t ended = waitpid(child, status, WNOHANG);
        if (ended == child) return true;
        if (ended < 0 && errno != EINTR) return false;
        double left = until - test_now_us();
        if (left <= 0) return false;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGCHLD);
        const struct timespec limit = {.tv_sec = (time_t)(left * 1e-6),
                                       .tv_nsec = (long)left % 1000000 * 1000};
        sigtimedwait(&set, NULL, &limit);
    }
}

/* How a child ended, in words; killed: it was this process that did. */
static const char *in_words(bool ended, int status, bool killed)
{
    static char text[128];
    if (!ended)
        snprintf(text, sizeof text, "it hangs and cannot be killed");
    else if (killed)
        snprintf(text, sizeof text, "it hangs, and was killed");
    else if (WIFSIGNALED(status))
        snprintf(text, sizeof text, "signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, sizeof text, "exit status %d", WEXITSTATUS(status));
    return text;
}

/* In a child of fork(), which needs no new program: what that would load and relocate for each case
 * is there. */
static _Noreturn void run_here(const size_t *chosen, size_t count, int events)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(run.output, STDOUT_FILENO);
    dup2(run.output, STDERR_FILENO);
    close(run.output);
    shared.events = events;
    if (events >= 0) exit(run_shared(chosen, count));
    const int status = run_case(run.cases[chosen[0]]);
    if (THREAD_SANITIZED || getenv("CULVERT_SOFT") == NULL ||
        getenv("CULVERT_SOFT_FAIL_AT") != NULL)
        exit(status);
    /* What LLVM and the validation layer free at an exit are pages that this process would copy
     * first, a third of its page faults. The processes that many cases share end by exit(). */
    fflush(NULL);
    _Exit(status == 0 && leaks() ? 1 : status);
}

/* Runs cases in a new process with its output in a new file. `other` is not for that process. */
static pid_t start(const size_t *chosen, size_t count, int events, int other)
{
    if (run.output >= 0) close(run.output);
    run.output = memfd_create("output", MFD_CLOEXEC);
    run.shown = 0;
    fflush(NULL);
    const pid_t child = run.output >= 0 ? fork() : -1;
    if (child != 0) return child;
    if (other >= 0) close(other);
    run_here(chosen, count, events);
}

/* Ends a child that is at nothing of its own accord. Its output says what it was at. */
static void end_child(pid_t child)
{
    test_tell_states(run.output, child);
    kill(child, SIGKILL);
}

static off_t output_size(void)
{
    off_t size = lseek(run.output, 0, SEEK_END);
    return size > 0 ? size : 0;
}

/* Seconds between a case's own limit, which says more, and this process's. */
enum { GRACE = 15 };

/* Whether the alarm that ends a case at its limit cannot reach this child. */
static bool is_deaf(pid_t child)
{
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%d/status", (int)child);
    FILE *status = fopen(path, "re");
    bool deaf = false;
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, "SigIgn:", 7) == 0)
            deaf = (strtoull(line + 7, NULL, 16) >> (SIGALRM - 1) & 1) != 0;
    if (status != NULL) fclose(status);
    return deaf;
}

/* With --begins, for who reads along: should this process be ended, it is known what it was at. */
static void say_begin(size_t i)
{
    if (test_option("begins", NULL) == NULL) return;
    printf("BEGIN %s\n", run.cases[i]->name);
    fflush(stdout);
}

static void run_alone(size_t i)
{
    int status = 0;
    say_begin(i);
    double begun = test_now_us();
    pid_t child = start(&i, 1, -1, -1);
    bool ended = child > 0 && (reap(child, &status, time_limit(run.cases[i])) ||
                               (!is_deaf(child) && reap(child, &status, GRACE))),
         killed = false;
    if (child > 0 && !ended) {
        end_child(child);
        killed = true;
        ended = reap(child, &status, GRACE);
    }
    outcome how = FAILED;
    if (ended && !killed && WIFEXITED(status) && WEXITSTATUS(status) == 0) how = PASSED;
    if (ended && !killed && WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED) how = SKIPPED;
    conclude(i, how, (test_now_us() - begun) * 1e-6, output_size(),
             in_words(ended, status, killed));
}

static void blame(size_t i, const char *why)
{
    const test_case *before = current;
    current = run.cases[i];
    leave_result("fail");
    current = before;
    conclude(i, FAILED, 0, output_size(), why);
}

/* Runs these cases in one process, as far as that comes; false when it did not come to the
 * first. */
static bool run_together(const size_t *chosen, size_t count)
{
    int ends[2], status = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    pid_t child = start(chosen, count, ends[1], ends[0]);
    close(ends[1]);
    size_t done = 0; /* cases that have ended */
    bool running = false, killed = false, exited = false;
    for (;;) {
        /* Between two cases, and after the last, nothing takes longer. */
        unsigned limit = running ? time_limit(run.cases[chosen[done]]) : TEST_TIME_LIMIT;
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        int ready = child > 0 ? poll(&wait, 1, (int)limit * 1000) : 0;
        if (ready == 0 && child > 0 && !is_deaf(child)) ready = poll(&wait, 1, GRACE * 1000);
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            if (child > 0) end_child(child);
            killed = true;
            break;
        }
        event e;
        if (read(ends[0], &e, sizeof e) != (ssize_t)sizeof e) break;
        running = e.kind == 'b';
        if (running) say_begin(chosen[done]);
        if (running) continue;
        if (e.kind == 'o') {
            run.alone[chosen[done]] = true;
            run.shown = e.output;
        } else {
            conclude(chosen[done], e.kind == 'p' ? PASSED : SKIPPED, e.seconds, e.output, NULL);
        }
        done++;
    }
    close(ends[0]);
    if (child > 0) exited = reap(child, &status, TEST_TIME_LIMIT);
    if (child > 0 && !exited) {
        end_child(child);
        killed = true;
        exited = reap(child, &status, GRACE);
    }
    bool good = exited && !killed && WIFEXITED(status) &&
                (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == TEST_SKIPPED);
    if (running) {
        blame(chosen[done++], in_words(exited, status, killed));
    } else if (!good || done == 0) {
        char why[512];
        if (done == 0) done = 1; /* the process does not start */
        snprintf(why, sizeof why,
                 "after this case, the last of its process, this ended badly: %s. "
                 "It may be the doing of any case before; --alone tells which",
                 in_words(exited, status, killed));
        blame(chosen[done - 1], why);
    }
    return done > 0;
}

static bool chosen_by(const test_case *c, char **patterns, int count)
{
    bool found = count == 0;
    for (int i = 0; i < count && !found; i++)
        found = fnmatch(patterns[i], c->name, 0) == 0;
    return found;
}

/* Leaves out of the cases what --smoke and --part do not want, and puts them in another order. */
static void select_cases(void)
{
    unsigned part = 0, parts = 1, seed = 0;
    size_t kept = 0;
    if (test_option("smoke", NULL) != NULL) {
        for (size_t i = 0; i < run.count; i++)
            if (run.cases[i]->smoke) run.cases[kept++] = run.cases[i];
        run.count = kept == 0 && run.count > 0 ? 1 : kept;
    }
    if (sscanf(test_option("part", "1/1"), "%u/%u", &part, &parts) == 2 && part >= 1 &&
        part <= parts) {
        /* Cases of one file lie side by side and want the same things, so a part is cut out in one
         * piece. */
        size_t from = run.count * (part - 1) / parts, to = run.count * part / parts;
        memmove(run.cases, run.cases + from, (to - from) * sizeof *run.cases);
        run.count = to - from;
    }
    bool shuffle = sscanf(test_option("shuffle", ""), "%u", &seed) == 1;
    if (!shuffle && test_option("reverse", NULL) == NULL) return;
    for (size_t i = run.count; i-- > 1;) {
        seed = seed * 1103515245u + 12345u;
        size_t other = shuffle ? (seed >> 8) % (i + 1) : run.count - 1 - i;
        if (!shuffle && other >= i) break;
        const test_case *swapped = run.cases[i];
        run.cases[i] = run.cases[other];
        run.cases[other] = swapped;
    }
}

static void drop_option(const char *option)
{
    int left = 0;
    for (int i = 0; i < option_count; i++)
        if (strcmp(option_list[i], option) != 0) option_list[left++] = option_list[i];
    option_count = left;
}

static int run_many(char **patterns, int pattern_count)
{
    unsigned counts[FAILED + 1] = {0};
    size_t total = 0, together = 0;
    bool alone = test_option("alone", NULL) != NULL;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c))
        total++;
    size_t *chosen = calloc(total + 1, sizeof *chosen);
    run.cases = calloc(total + 1, sizeof(test_case *));
    run.outcomes = calloc(total + 1, sizeof *run.outcomes);
    run.alone = calloc(total + 1, sizeof *run.alone);
    run.output = -1;
    run.quiet = test_option("quiet", NULL) != NULL;
    if (chosen == NULL || run.cases == NULL || run.outcomes == NULL || run.alone == NULL) return 2;
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c))
        if (chosen_by(c, patterns, pattern_count)) run.cases[run.count++] = c;
    if (run.count == 0) {
        fprintf(stderr, "no case matches\n");
        return 2;
    }
    select_cases();
    for (size_t i = 0; i < run.count; i++)
        run.alone[i] = alone || run.cases[i]->own || run.cases[i]->faults;
    drop_option("--batch"); /* a case that starts this program again runs one case */
    if (raw_vk_preload != NULL) raw_vk_preload();

    do {
        together = 0;
        for (size_t i = 0; i < run.count; i++)
            if (run.outcomes[i] == PENDING && !run.alone[i]) chosen[together++] = i;
    } while (together > 0 && run_together(chosen, together));
    for (size_t i = 0; i < run.count; i++)
        if (run.outcomes[i] == PENDING) run_alone(i);
    free(chosen);

    for (size_t i = 0; i < run.count; i++)
        counts[run.outcomes[i]]++;
    if (pattern_count == 0 && !run.quiet) print_marks(false);
    int status = verdict(counts[PASSED], counts[SKIPPED], counts[FAILED]);
    /* Of a part, every case may be skipped. */
    return test_option("part", NULL) != NULL && counts[FAILED] == 0 ? 0 : status;
}

static int check_results(void)
{
    unsigned passed = 0, skipped = 0, missing = 0, total = 0;
    for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
        char buffer[TEST_PATH_MAX], text[8] = "";
        const char *path = result_path(buffer, c->name);
        FILE *file = path != NULL ? fopen(path, "r") : NULL;
        total++;
        if (file == NULL) {
            missing++;
            continue;
        }
        if (fgets(text, sizeof text, file) == NULL) text[0] = '\0';
        fclose(file);
        passed += strcmp(text, "pass\n") == 0;
        skipped += strcmp(text, "skip\n") == 0;
    }
    if (missing > 0) printf("%u of %u cases left no result\n", missing, total);
    return verdict(passed, skipped, total - passed - skipped - missing);
}

int main(int argc, char **argv)
{
    char **patterns = calloc((size_t)argc + 1, sizeof *patterns);
    int pattern_count = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    option_list = calloc((size_t)argc + 1, sizeof *option_list);
    if (option_list == NULL || patterns == NULL) return 2;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) == 0)
            option_list[option_count++] = argv[i];
        else
            patterns[pattern_count++] = argv[i];
    }
    bool times = test_option("list-times", NULL) != NULL;
    int status = 0;
    if (times || test_option("list", NULL) != NULL) {
        for (const test_case *c = next_case(NULL); c != NULL; c = next_case(c)) {
            if (times)
                printf("%s %u %s\n", c->name, time_limit(c),
                       c->faults ? "faults"
                       : c->own  ? "own"
                                 : "shared");
            else
                printf("%s\n", c->name);
        }
    } else if (test_option("marks", NULL) != NULL) {
        print_marks(true);
    } else if (test_option("check-not-all-skipped", NULL) != NULL) {
        status = check_results();
    } else if (pattern_count == 1 && strpbrk(patterns[0], "*?[") == NULL &&
               test_option("batch", NULL) == NULL) {
        const test_case *c = find_case(patterns[0]);
        status = c != NULL ? run_case(c) : 2;
    } else {
        status = run_many(patterns, pattern_count);
    }
    free(patterns);
    return status;
}
