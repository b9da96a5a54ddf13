/* SPDX-License-Identifier: MIT */
/* culvert-info: what Linux tells: GPUs on the bus, NVIDIA's kernel module, manifests, libraries,
 * the terminal. */
#include "info.h"

#include <dirent.h>
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
