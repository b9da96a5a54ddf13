/* SPDX-License-Identifier: MIT */
/* culvert-info: what is known of this machine, and who finds it out. Each part fills its own piece
 * of the report; the printers only read it. */
#ifndef CULVERT_INFO_H_
#define CULVERT_INFO_H_

#include "culvert/culvert.h"

#include "culvert/vulkan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <vulkan/vulkan_core.h>

enum { MAX_LOADER_MESSAGES = 8, TEXT_SIZE = 1024, PCI_VENDOR_NVIDIA = 0x10de };

/* One handle type or feature. Each no has its reason. */
enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };
struct feature {
    const char *key; /* stable: the JSON name */
    const char *label;
    enum answer answer;
    char why[256];         /* why not, or a remark on a yes; "" when there is nothing to say */
    const char *attribute; /* the CUDA attribute that was asked, NULL for other sources */
    int value;             /* what it answered */
};

enum { NUM_SHARE_FEATURES = 6, NUM_CUDA_FEATURES = 15 };

/* What the operating system tells. */
struct system_info {
    int nvidia_gpus; /* NVIDIA display controllers on the PCI bus; -1 where nobody tells */
    char nvidia_kernel_version[64]; /* of the loaded kernel module; "" when none is */
    bool nvidia_kernel_open;        /* the open flavour of the kernel module */
    /* Manifest of NVIDIA's Vulkan driver in the usual directories; "" when none */
    char nvidia_icd[512];
    int iommu_units;  /* that the kernel uses; -1 where sysfs does not tell */
    int iommu_groups; /* 0: none is in use */
    char imex[256];   /* why fabric handles cannot be used; "" when an IMEX channel is there */
};

/* Whether kernels of one GPU reach another one's memory, and how, as the driver says. -1: it does
 * not say. */
struct cuda_pair {
    int from, to; /* ordinals */
    int access, array_access, native_atomics, performance_rank;
};
enum { MAX_PAIRS = 8 * 7 };

/* A CUDA driver library. */
struct cuda_driver {
    culv_driver kind;
    bool asked;           /* the twin is left alone unless allowed */
    bool usable;          /* cuInit succeeded */
    char path[TEXT_SIZE]; /* the file that was loaded; "" when none was */
    /* NVIDIA's driver release, as the file says; "" when it does not */
    char release[64];
    int version; /* cuDriverGetVersion: 13000 is CUDA 13.0 */
    int num_devices;
    int num_pairs; /* of the first eight devices */
    struct cuda_pair pairs[MAX_PAIRS];
    culv_reason reason; /* why it is not usable */
    char why[TEXT_SIZE];
};

/* Where a device is on the bus. */
struct pci_info {
    /* From the root: "pci0000:00 > 0000:00:01.0 > 0000:01:00.0"; "" where sysfs does not tell */
    char path[256];
    int iommu_group; /* -1: none */
};

struct cuda_device {
    culv_driver driver;
    int ordinal;
    int graphics; /* index of the first graphics device that is this one, -1 for none */
    bool opened;
    culv_device_caps caps;
    struct pci_info pci;
    struct feature features[NUM_CUDA_FEATURES];
    culv_reason reason;  /* why it could not be opened */
    char why[TEXT_SIZE]; /* the same in words, or why no graphics device is this one */
};

struct graphics_device {
    culv_vk_candidate match;
    uint32_t index;     /* in the order of vkEnumeratePhysicalDevices */
    uint32_t vendor_id; /* PCI */
    int cuda;           /* index of its CUDA device, -1 for none */
    /* A CUDA device is this one, it could be opened, and both sides have what sharing needs */
    bool reachable;
    culv_reason reason; /* why not */
    char why[TEXT_SIZE];
    struct feature features[NUM_SHARE_FEATURES];
};

struct vulkan_info {
    PFN_vkGetInstanceProcAddr get_proc;
    VkInstance instance;
    char path[TEXT_SIZE]; /* the loader's file; "" when there is none */
    uint32_t version;     /* the loader's; 0 when unknown */
    bool soft_layer;      /* the twin's layer is enabled */
    char why[TEXT_SIZE];  /* why there is no device; "" when there are */
    int num_messages;     /* what the loader complained of */
    char messages[MAX_LOADER_MESSAGES][256];
};

/* What EGL offers for OpenGL, without a screen. */
enum { MAX_OPENGL = 16 };
struct opengl_device {
    char renderer[256], version[128], vendor[128];
    culv_uuid uuid; /* as GL_EXT_memory_object tells it */
    bool has_uuid, memory_fd, semaphore_fd;
    char why[256]; /* why nothing else is known; "" when it is */
};
struct opengl_info {
    int count;
    struct opengl_device devices[MAX_OPENGL];
    char why[256]; /* why there is none */
};

struct variable {
    const char *name;
    char *value; /* NULL when unset */
};

struct report {
    struct variable *variables;
    size_t num_variables;
    struct system_info system;
    struct vulkan_info vulkan;
    struct opengl_info opengl;
    struct cuda_driver drivers[2]; /* NVIDIA's, the twin's */
    struct graphics_device *graphics;
    uint32_t num_graphics;
    struct cuda_device *cuda;
    int num_cuda;
    bool reachable;
    char verdict[TEXT_SIZE];
    char hint[TEXT_SIZE]; /* what to try; "" when something is reachable */
};

#if defined(__MINGW32__) && !defined(__clang__)
#    define INFO_PRINTF(f, a) __attribute__((format(gnu_printf, f, a)))
#elif defined(__GNUC__)
#    define INFO_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#    define INFO_PRINTF(f, a)
#endif
/* Text into a fixed array, cut where it is full. */
void text_set(char *out, size_t size, const char *format, ...) INFO_PRINTF(3, 4);
/* The same, behind what is there already. */
void text_add(char *out, size_t size, const char *format, ...) INFO_PRINTF(3, 4);

/* Memory or the end: a report with a hole in it would be a lie. */
void *must_alloc(size_t count, size_t size);

/* verdict.c */
void variables_read(struct report *report);

/* posix_system.c, win32_system.c */
extern const struct words {
    const char *cuda, *vulkan, *soft; /* names of libraries */
    /* What to do where the Vulkan loader is missing, NVIDIA's driver for it, any driver for it;
     * what the twin needs; where CUDA's library is missing although the kernel module is there */
    const char *get_loader, *get_nvidia, *get_driver, *get_lavapipe, *get_cuda;
} words;
void system_read(struct system_info *out);
/* NULL where it cannot be loaded, and `why` says so. It is never unloaded: CUDA drivers keep
 * threads, and drivers behind the Vulkan loader do not all survive it. */
void *library_open(const char *name, char *why, size_t size);
void *library_loaded(const char *name); /* NULL: it is not */
void *library_symbol(void *library, const char *name);
/* The file behind a library; "" when it cannot be told. */
void library_path(void *library, char *out, size_t size);
/* Of a CUDA driver; "" when the file does not say. */
void library_release(const char *path, char *out, size_t size);
uint64_t clock_now(void); /* in nanoseconds, since whenever */
/* -1: it is no terminal; 0: its width is not known. */
int terminal_columns(FILE *out, bool *colour);

/* posix_system.c, win32_system.c */
void iommu_read(struct system_info *out);
void pci_read(const char *bus_id, struct pci_info *out);

/* posix_system.c, win32_system.c; before the process has threads. */
void opengl_read(struct opengl_info *out);
/* The index of the graphics device that has the OpenGL device's UUID; -1: none. */
int opengl_graphics(const struct report *report, const struct opengl_device *device);

/* drivers.c */
void vulkan_open(struct vulkan_info *out);
void vulkan_devices(struct report *report);
void vulkan_close(struct vulkan_info *vulkan);

/* drivers.c: the drivers first, then, once the graphics devices are known, the devices. */
void cuda_drivers(struct report *report);
void cuda_devices(struct report *report);

/* features.c */
void features_of_cuda(const struct system_info *system, const culv_device *device,
                      struct cuda_device *out);
void features_shared(const struct report *report, struct graphics_device *device);
/* Whether CUDA reaches the device, by its features and its CUDA device, and why not. */
void reachability(const struct report *report, struct graphics_device *device);

/* verdict.c */
void verdict_make(struct report *report);

/* text_report.c, json_report.c */
void print_text(const struct report *report, FILE *out, bool verbose);
void print_json(const struct report *report, FILE *out);

/* Names that both printers use. */
const char *driver_key(culv_driver driver); /* "nvidia", "soft" */
const char *device_type_key(VkPhysicalDeviceType type);
void uuid_text(const culv_uuid *uuid, char out[37]);
void luid_text(const culv_luid *luid, char out[17]);
void vulkan_version_text(uint32_t version, char out[32]);
void cuda_version_text(int version, char out[32]);

/* culvert-info: laying text out for people: wrapped lines, columns, and colours where a terminal
 * shows them. */

enum style { STYLE_PLAIN, STYLE_BOLD, STYLE_GOOD, STYLE_BAD, STYLE_DIM };

struct page {
    FILE *out;
    size_t width;
    bool terminal;
    bool colour;
};

struct page page_open(FILE *out);
/* The first line: one line for `head -1` and logs, wrapped on a terminal alone. */
void page_verdict(const struct page *page, enum style style, const char *text);
/* An empty line and a bold one. */
void page_heading(const struct page *page, const char *text);
/* Text from column `indent` on, wrapped there; the cursor is at `column` already. Ends the line. */
void page_wrap(const struct page *page, size_t column, size_t indent, enum style style,
               const char *text);
/* "  label           text", wrapped. */
void page_row(const struct page *page, const char *label, const char *text);
/* "    label                            yes  remark", the remark wrapped. */
void page_answer(const struct page *page, const char *label, const char *answer, enum style style,
                 const char *remark);

/* culvert-info --shared. */

/* Servers with sockets in `directory`; NULL: abstract ones. False, with a message, when they cannot
 * be looked for. */
bool print_shared(const char *directory, bool as_json, FILE *out);

#endif
