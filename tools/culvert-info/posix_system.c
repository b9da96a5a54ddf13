/* SPDX-License-Identifier: MIT */
/* culvert-info: what Linux tells: GPUs on the bus, NVIDIA's kernel module, manifests, libraries,
 * the terminal. */
#include "info.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const struct words words = {
    .cuda = "libcuda.so.1",
    .vulkan = "libvulkan.so.1",
    .soft = "libculvert-soft.so.0",
    .get_loader = "install the Vulkan loader (Debian: libvulkan1) and a Vulkan driver",
    .get_nvidia =
        "install NVIDIA's Vulkan driver (nvidia_icd.json, libGLX_nvidia.so.0); "
        "in a container, start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility,graphics",
    .get_driver =
        "install a Vulkan driver: NVIDIA's, or Mesa's lavapipe (Debian: mesa-vulkan-drivers)",
    .get_lavapipe =
        "install Mesa's lavapipe (Debian: mesa-vulkan-drivers), which the software twin needs",
    .get_cuda = "install NVIDIA's CUDA library, libcuda.so.1 (Debian: libcuda1)",
};

/* The first line of a file without its newline; false when it cannot be read. */
static bool first_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    out[0] = '\0';
    if (file == NULL) return false;
    bool ok = fgets(out, (int)size, file) != NULL;
    fclose(file);
    out[strcspn(out, "\n")] = '\0';
    return ok;
}

static int count_nvidia_gpus(void)
{
    static const char root[] = "/sys/bus/pci/devices";
    DIR *dir = opendir(root);
    if (dir == NULL) return -1;
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        char path[512], vendor[32], class[32];
        if (entry->d_name[0] == '.') continue;
        text_set(path, sizeof path, "%s/%s/vendor", root, entry->d_name);
        if (!first_line(path, vendor, sizeof vendor)) continue;
        text_set(path, sizeof path, "%s/%s/class", root, entry->d_name);
        if (!first_line(path, class, sizeof class)) continue;
        /* PCI base class 03: display controllers, data-center GPUs (0302) among them. */
        if (strcmp(vendor, "0x10de") == 0 && strncmp(class, "0x03", 4) == 0) count++;
    }
    closedir(dir);
    return count;
}

static void read_kernel_module(struct system_info *out)
{
    char line[512];
    if (!first_line("/proc/driver/nvidia/version", line, sizeof line)) return;
    out->nvidia_kernel_open = strstr(line, "Open Kernel Module") != NULL;
    text_set(out->nvidia_kernel_version, sizeof out->nvidia_kernel_version, "unknown");
    char *rest = NULL;
    for (char *word = strtok_r(line, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        size_t digits = strspn(word, "0123456789");
        if (digits == 0 || word[digits] != '.') continue;
        text_set(out->nvidia_kernel_version, sizeof out->nvidia_kernel_version, "%s", word);
        return;
    }
}

/* The directories that the Vulkan loader documents for Linux, without XDG's. */
static void find_nvidia_icd(char *out, size_t size)
{
    static const char *const dirs[] = {"/etc/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d",
                                       "/usr/local/share/vulkan/icd.d", "/usr/share/vulkan/icd.d"};
    for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
        DIR *dir = opendir(dirs[i]);
        if (dir == NULL) continue;
        for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
            if (strncmp(entry->d_name, "nvidia", 6) == 0)
                text_set(out, size, "%s/%s", dirs[i], entry->d_name);
        closedir(dir);
    }
}

/* Fabric handles need an IMEX channel besides the driver's support: the character device's major,
 * and a channel's file. (CUDA programming guide, "Virtual memory management", IMEX channels.) */
static void read_imex(char *out, size_t size)
{
    static const char root[] = "/dev/nvidia-caps-imex-channels";
    FILE *file = fopen("/proc/devices", "r");
    bool major = false;
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        major = major || strstr(line, "nvidia-caps-imex-channels") != NULL;
    if (file != NULL) fclose(file);
    if (!major) {
        text_set(out, size, "no IMEX channel: /proc/devices has no nvidia-caps-imex-channels");
        return;
    }
    DIR *dir = opendir(root);
    bool found = false;
    bool allowed = false;
    for (struct dirent *entry = dir != NULL ? readdir(dir) : NULL; entry != NULL;
         entry = readdir(dir)) {
        char path[512];
        if (strncmp(entry->d_name, "channel", 7) != 0) continue;
        text_set(path, sizeof path, "%s/%s", root, entry->d_name);
        found = true;
        allowed = allowed || access(path, R_OK) == 0;
    }
    if (dir != NULL) closedir(dir);
    if (!found)
        text_set(
            out, size,
            "no IMEX channel: %s has none; "
            "the administrator makes one (nvidia-modprobe, or the module parameter NVreg_CreateImexChannel0=1)",
            root);
    else if (!allowed)
        text_set(out, size, "no IMEX channel: those in %s are not readable for this user", root);
}

void system_read(struct system_info *out)
{
    out->nvidia_gpus = count_nvidia_gpus();
    read_kernel_module(out);
    find_nvidia_icd(out->nvidia_icd, sizeof out->nvidia_icd);
    read_imex(out->imex, sizeof out->imex);
    iommu_read(out);
}

void *library_open(const char *name, char *why, size_t size)
{
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library != NULL) return library;
    const char *error = dlerror();
    if (error != NULL)
        text_set(why, size, "%s", error);
    else
        text_set(why, size, "%s was not found", name);
    return NULL;
}

void *library_loaded(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE | RTLD_NOLOAD);
}

void *library_symbol(void *library, const char *name)
{
    return dlsym(library, name);
}

void library_path(void *library, char *out, size_t size)
{
    struct link_map *map = NULL;
    out[0] = '\0';
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == NULL || map->l_name == NULL) return;
    char *real = realpath(map->l_name, NULL);
    text_set(out, size, "%s", real != NULL ? real : map->l_name);
    free(real);
}

/* "…/libcuda.so.580.159.04" names its release, "…/libcuda.so.1" does not. */
void library_release(const char *path, char *out, size_t size)
{
    static const char stem[] = "libcuda.so.";
    const char *at = strstr(path, stem);
    if (at == NULL || strchr(at + strlen(stem), '.') == NULL) return;
    text_set(out, size, "%s", at + strlen(stem));
}

uint64_t clock_now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
}

int terminal_columns(FILE *out, bool *colour)
{
    struct winsize size;
    const int fd = fileno(out);
    if (fd < 0 || !isatty(fd)) return -1;
    const char *terminal = getenv("TERM");
    *colour = terminal != NULL && strcmp(terminal, "dumb") != 0;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/* culvert-info: what stands between GPUs on the bus: IOMMUs, which can break copies between GPUs
 * without an error, and the bridges of PCI Express. */

/* Entries of a directory; -1: there is none. */
static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    if (dir == NULL) return -1;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

void iommu_read(struct system_info *out)
{
    out->iommu_units = count_entries("/sys/class/iommu");
    out->iommu_groups = count_entries("/sys/kernel/iommu_groups");
}

void pci_read(const char *bus_id, struct pci_info *out)
{
    char device[64], path[512], group[512];
    size_t length = strlen(bus_id);
    memset(out, 0, sizeof *out);
    out->iommu_group = -1;
    if (length == 0 || length >= sizeof device || strchr(bus_id, '/') != NULL) return;
    for (size_t i = 0; i <= length; i++)
        device[i] = (char)tolower((unsigned char)bus_id[i]);
    text_set(path, sizeof path, "/sys/bus/pci/devices/%s", device);
    char *real = realpath(path, NULL);
    const char *rest = real != NULL ? strstr(real, "/pci") : NULL;
    while (rest != NULL && *rest == '/') { /* "/pci0000:00/0000:00:01.0/0000:01:00.0" */
        size_t part = strcspn(++rest, "/");
        text_add(out->path, sizeof out->path, "%s%.*s", out->path[0] != '\0' ? " > " : "",
                 (int)part, rest);
        rest += part;
    }
    free(real);
    text_set(path, sizeof path, "/sys/bus/pci/devices/%s/iommu_group", device);
    ssize_t size = readlink(path, group, sizeof group - 1);
    if (size <= 0) return;
    group[size] = '\0';
    const char *number = strrchr(group, '/');
    if (number != NULL) out->iommu_group = atoi(number + 1);
}

/* culvert-info: OpenGL, by EGL, which is opened at run time. A child process asks, so that an
 * OpenGL driver that crashes or hangs costs its rows alone. */

/* Of EGL/egl.h, EGL/eglext.h and GL/glext.h, which a machine that builds this need not have. */
enum {
    EGL_NONE_ = 0x3038,
    EGL_EXTENSIONS_ = 0x3055,
    EGL_OPENGL_API_ = 0x30a2,
    EGL_CONTEXT_MAJOR_VERSION_ = 0x3098,
    EGL_CONTEXT_MINOR_VERSION_ = 0x30fb,
    EGL_PLATFORM_DEVICE_EXT_ = 0x313f,
    GL_VENDOR_ = 0x1f00,
    GL_RENDERER_ = 0x1f01,
    GL_VERSION_ = 0x1f02,
    GL_EXTENSIONS_ = 0x1f03,
    GL_NUM_EXTENSIONS_ = 0x821d,
    GL_DEVICE_UUID_EXT_ = 0x9597
};
typedef void (*any_fn)(void);
static any_fn (*get_proc)(const char *name);

#define PROC(type, name, parameters)                                                               \
    type(*name) parameters;                                                                        \
    do {                                                                                           \
        any_fn found_ = get_proc(#name);                                                           \
        memcpy(&name, &found_, sizeof name);                                                       \
    } while (0)

static void describe(struct opengl_device *out)
{
    PROC(const char *, glGetString, (unsigned));
    PROC(const char *, glGetStringi, (unsigned, unsigned));
    PROC(void, glGetIntegerv, (unsigned, int *));
    PROC(void, glGetUnsignedBytei_vEXT, (unsigned, unsigned, unsigned char *));
    int count = 0;
    bool memory_object = false;
    if (glGetString == NULL || glGetStringi == NULL || glGetIntegerv == NULL) {
        text_set(out->why, sizeof out->why, "EGL knows no glGetString");
        return;
    }
    const char *renderer = glGetString(GL_RENDERER_), *version = glGetString(GL_VERSION_),
               *vendor = glGetString(GL_VENDOR_);
    text_set(out->renderer, sizeof out->renderer, "%s", renderer != NULL ? renderer : "unknown");
    text_set(out->version, sizeof out->version, "%s", version != NULL ? version : "unknown");
    text_set(out->vendor, sizeof out->vendor, "%s", vendor != NULL ? vendor : "unknown");
    glGetIntegerv(GL_NUM_EXTENSIONS_, &count);
    for (int i = 0; i < count; i++) {
        const char *name = glGetStringi(GL_EXTENSIONS_, (unsigned)i);
        if (name == NULL) continue;
        memory_object = memory_object || strcmp(name, "GL_EXT_memory_object") == 0;
        out->memory_fd = out->memory_fd || strcmp(name, "GL_EXT_memory_object_fd") == 0;
        out->semaphore_fd = out->semaphore_fd || strcmp(name, "GL_EXT_semaphore_fd") == 0;
    }
    if (memory_object && glGetUnsignedBytei_vEXT != NULL) {
        glGetUnsignedBytei_vEXT(GL_DEVICE_UUID_EXT_, 0, out->uuid.bytes);
        out->has_uuid = true;
    }
}

static void ask_device(void *device, struct opengl_device *out)
{
    static const int version[] = {EGL_CONTEXT_MAJOR_VERSION_, 4, EGL_CONTEXT_MINOR_VERSION_, 5,
                                  EGL_NONE_};
    PROC(void *, eglGetPlatformDisplayEXT, (unsigned, void *, const int *));
    PROC(unsigned, eglInitialize, (void *, int *, int *));
    PROC(unsigned, eglTerminate, (void *));
    PROC(unsigned, eglBindAPI, (unsigned));
    PROC(void *, eglCreateContext, (void *, void *, void *, const int *));
    PROC(unsigned, eglMakeCurrent, (void *, void *, void *, void *));
    if (eglGetPlatformDisplayEXT == NULL || eglInitialize == NULL || eglTerminate == NULL ||
        eglBindAPI == NULL || eglCreateContext == NULL || eglMakeCurrent == NULL) {
        text_set(out->why, sizeof out->why, "EGL lacks a function that this needs");
        return;
    }
    void *display = eglGetPlatformDisplayEXT(EGL_PLATFORM_DEVICE_EXT_, device, NULL);
    if (display == NULL || !eglInitialize(display, NULL, NULL)) {
        text_set(out->why, sizeof out->why, "EGL cannot open this device (eglInitialize)");
        return;
    }
    void *context =
        eglBindAPI(EGL_OPENGL_API_) ? eglCreateContext(display, NULL, NULL, version) : NULL;
    if (context == NULL || !eglMakeCurrent(display, NULL, NULL, context))
        text_set(out->why, sizeof out->why, "it has no context of OpenGL 4.5 without a screen");
    else
        describe(out);
    (void)eglTerminate(display);
}

static void ask(struct opengl_info *out)
{
    void *library = library_open("libEGL.so.1", out->why, sizeof out->why), *symbol;
    void *devices[MAX_OPENGL];
    int count = 0;
    if (library == NULL) return;
    symbol = library_symbol(library, "eglGetProcAddress");
    memcpy(&get_proc, &symbol, sizeof get_proc);
    if (get_proc == NULL) {
        text_set(out->why, sizeof out->why, "libEGL.so.1 has no eglGetProcAddress");
        return;
    }
    PROC(unsigned, eglQueryDevicesEXT, (int, void **, int *));
    if (eglQueryDevicesEXT == NULL || !eglQueryDevicesEXT(MAX_OPENGL, devices, &count)) {
        text_set(out->why, sizeof out->why, "EGL lists no devices (EGL_EXT_device_enumeration)");
        return;
    }
    if (count == 0) text_set(out->why, sizeof out->why, "EGL has no device");
    for (out->count = 0; out->count < count; out->count++)
        ask_device(devices[out->count], &out->devices[out->count]);
}

void opengl_read(struct opengl_info *out)
{
    int ends[2], status = 0;
    size_t have = 0;
    struct opengl_info *told = must_alloc(1, sizeof *told);
    if (pipe(ends) != 0) {
        text_set(out->why, sizeof out->why, "no pipe: %s", strerror(errno));
        free(told);
        return;
    }
    const pid_t child = fork();
    if (child == 0) {
        const char *at = (const char *)told;
        (void)close(ends[0]);
        (void)setenv("EGL_LOG_LEVEL", "fatal", 0); /* what a driver cannot do is in the rows */
        ask(told);
        while (have < sizeof *told) {
            const ssize_t wrote = write(ends[1], at + have, sizeof *told - have);
            if (wrote <= 0) break;
            have += (size_t)wrote;
        }
        _exit(0);
    }
    (void)close(ends[1]);
    for (const uint64_t until = clock_now() + UINT64_C(10000000000); child > 0;) {
        struct pollfd wait = {.fd = ends[0], .events = POLLIN};
        const uint64_t now = clock_now();
        if (now >= until || have == sizeof *told) break;
        if (poll(&wait, 1, (int)((until - now) / 1000000) + 1) <= 0) continue;
        const ssize_t got = read(ends[0], (char *)told + have, sizeof *told - have);
        if (got <= 0) break;
        have += (size_t)got;
    }
    (void)close(ends[0]);
    if (child > 0) {
        if (have < sizeof *told) (void)kill(child, SIGKILL); /* if it is there still */
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    if (have == sizeof *told)
        *out = *told;
    else
        text_set(out->why, sizeof out->why,
                 child < 0 ? "no process could be started to ask EGL"
                           : "asking EGL crashed, or took more than 10 s");
    free(told);
}
