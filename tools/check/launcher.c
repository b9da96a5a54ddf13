/* SPDX-License-Identifier: MIT */
/* culvert-check: runs a program with the two observers, and prints what they found. */
#include "tree.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBRARY "libculvert-check.so"
#define LAYER   "VK_LAYER_CULVERT_check"

static void usage(FILE *out)
{
    fputs(
        "usage: culvert-check [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
        "\n"
        "Runs PROGRAM and finds what is wrong between CUDA and Vulkan: descriptors, sizes, devices,\n"
        "semaphores, the order of work, and lifetimes. The program stays as it is.\n"
        "\n"
        "  --json FILE          also writes the findings to FILE, as JSON\n"
        "  --sarif FILE         also writes them to FILE, as SARIF 2.1.0\n"
        "  --trace FILE         writes a timeline of both sides to FILE, which Perfetto opens\n"
        "  --trace-limit N      megabytes of it for each process (256)\n"
        "  --text FILE          writes the report to FILE instead of stderr\n"
        "  --stuck N            seconds of waiting in a call after which a wait that nothing can end is\n"
        "                       told (10; 0: only at the end of the program), or in which the program\n"
        "                       has to end after a SIGTERM or SIGHUP before it is killed\n"
        "  --end-stuck          ends the program then (SIGABRT)\n"
        "  --strict             also tells what the specifications forbid and no driver is known to mind:\n"
        "                       barriers to external queue families, layouts, and untrue dedication\n"
        "  --fast               does not judge the order of accesses, class (e)\n"
        "  --error-exitcode N   exit status when something was found (99)\n"
        "  --help, --version\n"
        "\n"
        "Exit status: the program's own where nothing was found; 128 + N if signal N ended it; 125 if\n"
        "culvert-check itself failed. Without a GPU: culvert-soft-run culvert-check PROGRAM.\n",
        out);
}

static int fail(const char *text, const char *what)
{
    fprintf(stderr, "culvert-check: %s%s%s\n", text, what[0] != '\0' ? ": " : "", what);
    return 125;
}

/* The first of the two places beside this program that has the file; `out` gets its path. */
static bool find_beside(const char *bin, const char *const places[2], const char *file,
                        char out[PATH_MAX], bool directory)
{
    for (int i = 0; i < 2; i++) {
        char path[PATH_MAX], real[PATH_MAX];
        const int length = snprintf(path, sizeof path, "%s/%s/%s", bin, places[i], file);
        if (length < 0 || (size_t)length >= sizeof path || realpath(path, real) == NULL) continue;
        (void)snprintf(out, PATH_MAX, "%s", directory ? dirname(real) : real);
        return true;
    }
    return false;
}

static bool put_first(const char *name, const char *value)
{
    const char *before = getenv(name);
    const bool has = before != NULL && before[0] != '\0';
    const size_t size = strlen(value) + (has ? strlen(before) : 0) + 2;
    char *text = malloc(size);
    if (text == NULL) return false;
    (void)snprintf(text, size, "%s%s%s", value, has ? ":" : "", has ? before : "");
    const bool put = setenv(name, text, 1) == 0;
    free(text);
    return put;
}

/* Where in the source a place is: "function at file:line". False: binutils or the module's debug
 * information is not there. */
static bool find_source(const char *module, unsigned long offset, char *out, size_t size)
{
    int ends[2];
    char address[32], function[8192] = "", line[512] = ""; /* C++ has long names */
    /* The call is before the address to which it returns. */
    (void)snprintf(address, sizeof address, "0x%lx", offset > 0 ? offset - 1 : 0);
    if (pipe(ends) != 0) return false;
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_WRONLY);
        (void)unsetenv("LD_PRELOAD");
        (void)dup2(ends[1], STDOUT_FILENO);
        if (null >= 0) (void)dup2(null, STDERR_FILENO);
        (void)close(ends[0]);
        (void)execlp("addr2line", "addr2line", "-f", "-e", module, address, (char *)NULL);
        _exit(127);
    }
    (void)close(ends[1]);
    FILE *answer = fdopen(ends[0], "r");
    const bool read = answer != NULL && fgets(function, sizeof function, answer) != NULL &&
                      fgets(line, sizeof line, answer) != NULL;
    if (answer != NULL)
        fclose(answer);
    else
        (void)close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {
    }
    function[strcspn(function, "\n")] = line[strcspn(line, "\n")] = '\0';
    char *more = strstr(line, " (discriminator");
    if (more != NULL) *more = '\0';
    if (!read || line[0] == '?' || strstr(line, ":?") != NULL) return false;
    (void)snprintf(out, size, "%.400s at %s", function, line);
    return true;
}

/* A line of a call site: "@offset module|text". */
static void print_place(char *line, FILE *out)
{
    char found[1024], *module = NULL;
    const unsigned long offset = strtoul(line + 1, &module, 16);
    char *text = strchr(line, '|');
    if (text == NULL || module == NULL || *module != ' ') return;
    *text++ = '\0';
    text[strcspn(text, "\n")] = '\0';
    fprintf(out, "             %s\n",
            find_source(module + 1, offset, found, sizeof found) ? found : text);
}

/* Copies a report, and counts its lines that begin so. */
static unsigned copy_file(const char *path, FILE *out, const char *begins)
{
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    unsigned count = 0;
    if (in == NULL) return 0;
    while (getline(&line, &room, in) > 0) {
        if (strncmp(line, begins, strlen(begins)) == 0) count++;
        if (line[0] == '@')
            print_place(line, out);
        else
            fputs(line, out);
    }
    free(line);
    fclose(in);
    return count;
}

static void put_escaped(const char *string, FILE *out)
{
    while (*string != '\0') {
        const size_t length = check_utf8(string);
        if (*string == '"' || *string == '\\') fputc('\\', out);
        if (length == 0)
            fputc('?', out);
        else
            fwrite(string, 1, length, out);
        string += length > 0 ? length : 1;
    }
}

/* A write that failed earlier leaves nothing for fclose() to notice. */
static bool close_written(FILE *out)
{
    const bool failed = ferror(out) != 0;
    return fclose(out) == 0 && !failed;
}

static bool write_json(const char *path, const char *lines, const char *program, int status)
{
    FILE *out = fopen(path, "w"), *in;
    char *line = NULL;
    size_t room = 0;
    bool first = true;
    if (out == NULL) return false;
    fputs("{\"program\":\"", out);
    put_escaped(program, out);
    fprintf(out, "\",\"status\":%d,\"findings\":[", status);
    in = fopen(lines, "r");
    while (in != NULL && getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        fprintf(out, "%s\n%s", first ? "" : ",", line);
        first = false;
    }
    fputs("]}\n", out);
    free(line);
    if (in != NULL) fclose(in);
    return close_written(out);
}

static void put_string(FILE *out, const char *string)
{
    fputc('"', out);
    put_escaped(string, out);
    fputc('"', out);
}

/* A call and where it was made: the first place of the program with a line of the source, or else
 * the first place. */
typedef struct sarif_site {
    char call[128], text[1024], file[PATH_MAX];
    unsigned long line; /* 0: not known */
} sarif_site;

static void take_place(sarif_site *site, char *line)
{
    char found[1024], *module = NULL;
    const unsigned long offset = strtoul(line + 1, &module, 16);
    char *text = strchr(line, '|');
    if (text == NULL || module == NULL || *module != ' ' || site->line != 0) return;
    *text++ = '\0';
    if (site->text[0] == '\0') (void)snprintf(site->text, sizeof site->text, "%s", text);
    if (!find_source(module + 1, offset, found, sizeof found)) return;
    char *file = strstr(found, " at /"), *colon = strrchr(found, ':');
    if (file == NULL || colon == NULL || colon < file) return;
    *file = *colon = '\0';
    site->line = strtoul(colon + 1, NULL, 10);
    if (realpath(file + 4, site->file) == NULL)
        (void)snprintf(site->file, sizeof site->file, "%s", file + 4);
    (void)snprintf(site->text, sizeof site->text, "%s", found);
}

static void put_site(FILE *out, const sarif_site *site)
{
    fputs("{\"message\":{\"text\":", out);
    put_string(out, site->call);
    fputs("},\"logicalLocations\":[{\"fullyQualifiedName\":", out);
    put_string(out, site->text);
    fputs("}]", out);
    if (site->line > 0) {
        fputs(",\"physicalLocation\":{\"artifactLocation\":{\"uri\":\"file://", out);
        for (const char *c = site->file; *c != '\0'; c++)
            if (isalnum((unsigned char)*c) || strchr("/-._~", *c) != NULL)
                fputc(*c, out);
            else
                fprintf(out, "%%%02X", (unsigned)(unsigned char)*c);
        fprintf(out, "\"},\"region\":{\"startLine\":%lu}}", site->line);
    }
    fputc('}', out);
}

typedef struct sarif_finding {
    char id[64], sentence[600], object[200], process[64], rule[600], source[400];
    sarif_site sites[2]; /* here and before */
    int site;
} sarif_finding;

/* The value of a line that begins so. */
static bool value_of(const char *line, const char *label, char *out, size_t size)
{
    const size_t length = strlen(label);
    if (strncmp(line, label, length) != 0) return false;
    (void)snprintf(out, size, "%s", line + length);
    return true;
}

/* A finding is whole with its last line. A rule is told of once. */
static void put_finding(const sarif_finding *f, const char *mend, FILE *results, FILE *rules,
                        char *ids, size_t size)
{
    char id[72];
    (void)snprintf(id, sizeof id, " %s ", f->id);
    fprintf(results, "%s\n{\"ruleId\":\"%s\",\"level\":\"error\",\"message\":{\"text\":",
            ids[0] != '\0' ? "," : "", f->id);
    char message[1000];
    (void)snprintf(message, sizeof message, "%s%s%s%s%s", f->sentence,
                   f->object[0] != '\0' ? " Object: " : "", f->object,
                   f->process[0] != '\0' ? " Process: " : "", f->process);
    put_string(results, message);
    fputs("},\"locations\":[", results);
    put_site(results, &f->sites[0]);
    if (f->sites[1].call[0] != '\0') {
        fputs("],\"relatedLocations\":[", results);
        put_site(results, &f->sites[1]);
    }
    fputs("]}", results);
    if (strstr(ids, id) != NULL) return;
    fprintf(rules, "%s\n{\"id\":\"%s\",\"shortDescription\":{\"text\":", ids[0] != '\0' ? "," : "",
            f->id);
    put_string(rules, f->rule);
    fputs("},\"fullDescription\":{\"text\":", rules);
    put_string(rules, f->source);
    fputs("},\"help\":{\"text\":", rules);
    put_string(rules, mend);
    fprintf(rules, "},\"helpUri\":\"%s#%s\"}", CHECK_PAGE_URI, f->id);
    if (strlen(ids) + strlen(id) < size) strcat(ids, id);
}

/* The report as SARIF 2.1.0, which services for reviews of code read. */
static bool write_sarif(const char *path, const char *report, int status)
{
    static sarif_finding f;
    char *results = NULL, *rules = NULL, *line = NULL, ids[1024] = "", mend[600];
    size_t room = 0, results_size = 0, rules_size = 0;
    bool sentence = false, made = false;
    FILE *in = fopen(report, "r"), *out = fopen(path, "w");
    FILE *to_results = open_memstream(&results, &results_size);
    FILE *to_rules = open_memstream(&rules, &rules_size);
    if (out == NULL || to_results == NULL || to_rules == NULL) goto close;
    while (in != NULL && getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "culvert-check: (", 16) == 0 && strlen(line) > 19) {
            memset(&f, 0, sizeof f);
            (void)snprintf(f.id, sizeof f.id, "%s", line + 19);
            sentence = true;
        } else if (sentence) {
            (void)snprintf(f.sentence, sizeof f.sentence, "%s", line + strspn(line, " "));
            sentence = false;
        } else if (line[0] == '@') {
            take_place(&f.sites[f.site], line);
        } else if (value_of(line, "  before:  ", f.sites[1].call, sizeof f.sites[1].call)) {
            f.site = 1;
        } else if (value_of(line, "  mend:    ", mend, sizeof mend) && f.id[0] != '\0') {
            put_finding(&f, mend, to_results, to_rules, ids, sizeof ids);
            f.id[0] = '\0';
        } else {
            (void)(value_of(line, "  here:    ", f.sites[0].call, sizeof f.sites[0].call) ||
                   value_of(line, "  object:  ", f.object, sizeof f.object) ||
                   value_of(line, "  process: ", f.process, sizeof f.process) ||
                   value_of(line, "  rule:    ", f.rule, sizeof f.rule) ||
                   value_of(line, "  source:  ", f.source, sizeof f.source));
        }
    }
    (void)fflush(to_results);
    (void)fflush(to_rules);
    fprintf(out,
            "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\","
            "\"runs\":[{\"tool\":{\"driver\":{\"name\":\"culvert-check\",\"version\":\"%s\","
            "\"rules\":[%s]}},\"invocations\":[{\"executionSuccessful\":true,\"exitCode\":%d}],"
            "\"results\":[%s]}]}\n",
            CHECK_VERSION, rules, status, results);
    made = true;
close:
    if (in != NULL) fclose(in);
    if (to_results != NULL) fclose(to_results);
    if (to_rules != NULL) fclose(to_rules);
    if (out != NULL && !close_written(out)) made = false;
    free(results);
    free(rules);
    free(line);
    return made;
}

/* The events of each process are lines of a file that has zeros behind them. One that is not whole
 * was written when the process was killed. */
static bool write_trace(const char *path, const char *directory)
{
    FILE *out = fopen(path, "w");
    DIR *files = opendir(directory);
    const struct dirent *entry;
    char *line = NULL;
    size_t room = 0;
    bool first = true;
    if (out != NULL) fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", out);
    while (files != NULL && (entry = readdir(files)) != NULL) {
        char name[PATH_MAX];
        if (strncmp(entry->d_name, "report.trace.", 13) != 0) continue;
        const int length = snprintf(name, sizeof name, "%s/%s", directory, entry->d_name);
        FILE *in = length > 0 && (size_t)length < sizeof name ? fopen(name, "r") : NULL;
        while (in != NULL && out != NULL && getline(&line, &room, in) > 0 && line[0] == '{') {
            const size_t size = strcspn(line, "\n");
            if (size < 2 || line[size] != '\n' || line[size - 1] != '}') break;
            line[size] = '\0';
            fprintf(out, "%s\n%s", first ? "" : ",", line);
            first = false;
        }
        if (in != NULL) fclose(in);
        (void)unlink(name);
    }
    if (out != NULL) fputs("\n]}\n", out);
    free(line);
    if (files != NULL) (void)closedir(files);
    return out != NULL && fclose(out) == 0;
}

/* What the processes share. Without it each is watched alone. */
static check_region *make_region(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    pthread_mutexattr_t attributes;
    void *map = MAP_FAILED;
    if (fd < 0) return NULL;
    /* A file with holes would end a process when the disk is full. */
    if (posix_fallocate(fd, 0, sizeof(check_region)) == 0)
        map = mmap(NULL, sizeof(check_region), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    if (map == MAP_FAILED) return NULL;
    check_region *r = map;
    r->size = sizeof *r;
    const bool made = pthread_mutexattr_init(&attributes) == 0 &&
                      pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) == 0 &&
                      pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) == 0 &&
                      pthread_mutex_init(&r->lock, &attributes) == 0;
    if (made) r->magic = TREE_MAGIC;
    return r;
}

static void append(const char *to, const char *from)
{
    FILE *in = fopen(from, "r"), *out = fopen(to, "a");
    char part[4096];
    size_t length;
    while (in != NULL && out != NULL && (length = fread(part, 1, sizeof part, in)) > 0)
        (void)fwrite(part, 1, length, out);
    if (in != NULL) fclose(in);
    if (out != NULL) fclose(out);
}

/* Waits that a process left behind, and another one could have ended: those that nobody ended are
 * findings. */
static void look_at_waits(const char *directory, const check_region *r)
{
    DIR *all = opendir(directory);
    const struct dirent *one;
    while (all != NULL && (one = readdir(all)) != NULL) {
        char path[PATH_MAX], report[PATH_MAX];
        unsigned long payload, generation;
        unsigned long long value;
        if (sscanf(one->d_name, "report.unless.%lu.%lu.%llu.", &payload, &generation, &value) != 3)
            continue;
        const char *kind = strrchr(one->d_name, '.');
        if (snprintf(path, sizeof path, "%s/%s", directory, one->d_name) >= PATH_MAX ||
            snprintf(report, sizeof report, "%s/report%s", directory, kind) >= PATH_MAX)
            continue;
        if (r != NULL && check_tree_endless(r, (uint32_t)payload, (uint32_t)generation, value))
            append(report, path);
        (void)unlink(path);
    }
    if (all != NULL) (void)closedir(all);
}

/* Why no finding says little; NULL: both sides were watched. */
static const char *unwatched(const check_region *r)
{
    if (r == NULL) return NULL;
    if (r->joined == 0)
        return "Nothing was watched: the program is linked statically or runs with other rights "
               "(setuid), or it was not found";
    return r->saw == 0 ? "Nothing was watched: neither CUDA's driver nor a VkInstance was used"
           : r->saw == TREE_CUDA   ? "Only CUDA was watched: no VkInstance was made"
           : r->saw == TREE_VULKAN ? "Only Vulkan was watched: CUDA's driver was not used"
           : r->saw == (TREE_CUDA | TREE_VULKAN)
               ? "Nothing was judged: no memory and no semaphore went from one API to the other"
               : NULL;
}

static volatile pid_t child;
static unsigned patience; /* --stuck */

/* Whoever ends culvert-check means the program: `timeout` asks in this way. The report is still
 * due. A program that hangs may have a handler that waits for what hangs. */
static void pass_on(int number)
{
    (void)kill(child, number);
    if (patience > 0) (void)alarm(patience);
}

static void end_it(int number)
{
    (void)number;
    (void)kill(child, SIGKILL);
}

static int run(char **command)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, passes = {.sa_handler = pass_on},
                     ends_it = {.sa_handler = end_it};
    struct sigaction interrupt, quit;
    sigset_t ends, before;
    int status = 0;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ends, &before); /* until there is a child */
    (void)sigaction(SIGINT, &ignore, &interrupt);
    (void)sigaction(SIGQUIT, &ignore, &quit);
    child = fork();
    if (child == 0) {
        (void)sigaction(SIGINT, &interrupt, NULL);
        (void)sigaction(SIGQUIT, &quit, NULL);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)execvp(command[0], command);
        fprintf(stderr, "culvert-check: %s: %s\n", command[0], strerror(errno));
        _exit(127);
    }
    if (child < 0) return 125;
    (void)sigaction(SIGALRM, &ends_it, NULL);
    (void)sigaction(SIGTERM, &passes, NULL);
    (void)sigaction(SIGHUP, &passes, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    siginfo_t info;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    /* Its number may be another process's from here on, and the report is still due. */
    (void)sigaction(SIGALRM, &ignore, NULL);
    (void)sigaction(SIGTERM, &ignore, NULL);
    (void)sigaction(SIGHUP, &ignore, NULL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    const char *json = NULL, *sarif = NULL, *text = NULL, *trace = NULL, *trace_limit = "256",
               *stuck = "10", *temporary = getenv("TMPDIR");
    int found_status = 99, at = 1;
    bool fast = false;
    for (; at < argc && argv[at][0] == '-'; at++) {
        const char *o = argv[at];
        if (strcmp(o, "--") == 0) {
            at++;
            break;
        }
        if (strcmp(o, "--help") == 0 || strcmp(o, "-h") == 0) return usage(stdout), 0;
        if (strcmp(o, "--version") == 0) return puts("culvert-check " CHECK_VERSION), 0;
        if (strcmp(o, "--fast") == 0) {
            fast = true;
            continue;
        }
        if (strcmp(o, "--strict") == 0) {
            (void)setenv("CULVERT_CHECK_STRICT", "1", 1);
            continue;
        }
        if (strcmp(o, "--end-stuck") == 0) {
            (void)setenv("CULVERT_CHECK_END_STUCK", "1", 1);
            continue;
        }
        const bool takes = strcmp(o, "--stuck") == 0 || strcmp(o, "--json") == 0 ||
                           strcmp(o, "--text") == 0 || strcmp(o, "--sarif") == 0 ||
                           strcmp(o, "--error-exitcode") == 0 || strcmp(o, "--trace") == 0 ||
                           strcmp(o, "--trace-limit") == 0;
        if (!takes) return fail("there is no such option; see --help", o);
        if (at + 1 >= argc) return fail("the option needs a value", o);
        const char *value = argv[++at];
        if (strcmp(o, "--json") == 0)
            json = value;
        else if (strcmp(o, "--sarif") == 0)
            sarif = value;
        else if (strcmp(o, "--text") == 0)
            text = value;
        else if (strcmp(o, "--trace") == 0)
            trace = value;
        else {
            char *end;
            const bool is_status = strcmp(o, "--error-exitcode") == 0;
            const bool is_limit = strcmp(o, "--trace-limit") == 0;
            const long number = strtol(value, &end, 10);
            if (*end != '\0' || end == value || number < 0 || number > (is_status ? 255 : 86400))
                return fail(is_status  ? "--error-exitcode takes a number from 0 to 255"
                            : is_limit ? "--trace-limit takes a number of megabytes"
                                       : "--stuck takes a number of seconds",
                            value);
            if (is_status)
                found_status = (int)number;
            else if (is_limit)
                trace_limit = value;
            else
                stuck = value;
        }
    }
    if (at >= argc) return usage(stderr), 125;
    patience = (unsigned)strtoul(stuck, NULL, 10);

    static const char *const libraries[2] = {"../lib", CHECK_LIBDIR};
    static const char *const manifests[2] = {"../lib/culvert/explicit_layer.d", CHECK_LAYERDIR};
    char self[PATH_MAX], library[PATH_MAX], layers[PATH_MAX], directory[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0) return fail("it cannot find itself", strerror(errno));
    self[length] = '\0';
    const char *bin = dirname(self);
    if (!find_beside(bin, libraries, LIBRARY, library, false))
        return fail(LIBRARY " is not beside it: install it whole", "");
    if (!find_beside(bin, manifests, "VkLayer_culvert_check.json", layers, true))
        return fail("VkLayer_culvert_check.json is not beside it: install it whole", "");
    if (strpbrk(library, ": ") != NULL)
        return fail("LD_PRELOAD cannot name a path with a space or a colon", library);

    (void)snprintf(directory, sizeof directory, "%s/culvert-check-XXXXXX",
                   temporary != NULL && temporary[0] == '/' ? temporary : "/tmp");
    if (mkdtemp(directory) == NULL) return fail("it cannot make a directory", strerror(errno));
    char prefix[PATH_MAX + 8], text_path[PATH_MAX + 16], json_path[PATH_MAX + 16],
        trace_path[PATH_MAX + 16], tree_path[PATH_MAX + 16];
    (void)snprintf(prefix, sizeof prefix, "%s/report", directory);
    (void)snprintf(text_path, sizeof text_path, "%s.text", prefix);
    (void)snprintf(json_path, sizeof json_path, "%s.json", prefix);
    (void)snprintf(trace_path, sizeof trace_path, "%s.trace", prefix);
    (void)snprintf(tree_path, sizeof tree_path, "%s.tree", prefix);
    check_region *region = make_region(tree_path);
    const char *path_name = getenv("VK_LAYER_PATH") != NULL ? "VK_LAYER_PATH" : "VK_ADD_LAYER_PATH";
    int status = 125, failed = 0;
    if (setenv("CULVERT_CHECK_OUT", prefix, 1) != 0 ||
        (trace != NULL && (setenv("CULVERT_CHECK_TRACE", trace_path, 1) != 0 ||
                           setenv("CULVERT_CHECK_TRACE_LIMIT", trace_limit, 1) != 0)) ||
        setenv("CULVERT_CHECK_STUCK", stuck, 1) != 0 ||
        setenv("CULVERT_CHECK_FAST", fast ? "1" : "0", 1) != 0 ||
        setenv("CULVERT_LOG", "warning", 0) != 0 || /* what Culvert itself warns of */
        !put_first("LD_PRELOAD", library) || !put_first("VK_INSTANCE_LAYERS", LAYER) ||
        !put_first(path_name, layers))
        (void)fail("there is no memory", "");
    else
        status = run(argv + at);

    look_at_waits(directory, region);
    FILE *report = text != NULL ? fopen(text, "w") : stderr;
    if (report == NULL) {
        failed = fail(text, strerror(errno));
        report = stderr;
    }
    const unsigned found = copy_file(text_path, report, "culvert-check: (");
    const char *little = found == 0 ? unwatched(region) : NULL;
    if (little != NULL) fprintf(report, "culvert-check: %s\n", little);
    fprintf(report, "culvert-check: %u finding%s in %s\n", found, found == 1 ? "" : "s", argv[at]);
    if (report != stderr && !close_written(report)) failed = fail(text, strerror(errno));
    if (json != NULL && !write_json(json, json_path, argv[at], status))
        failed = fail(json, strerror(errno));
    if (sarif != NULL && !write_sarif(sarif, text_path, status))
        failed = fail(sarif, strerror(errno));
    if (trace != NULL && !write_trace(trace, directory)) failed = fail(trace, strerror(errno));
    (void)unlink(text_path);
    (void)unlink(json_path);
    (void)unlink(tree_path);
    (void)rmdir(directory);
    return failed != 0 ? failed : found > 0 ? found_status : status;
}
