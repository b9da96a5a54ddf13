/* SPDX-License-Identifier: MIT */
/* culvert-info: laying text out for people. */
#include "info.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 100,
    NARROWEST = 60,
    LABEL_COLUMN = 2,
    TEXT_COLUMN = 17,
    ANSWER_COLUMN = 42,
    REMARK_COLUMN = 47
};

struct page page_open(FILE *out)
{
    struct page page = {out, WIDTH, false, false};
    bool can_colour = false;
    const int columns = terminal_columns(out, &can_colour);
    if (columns < 0) return page;
    page.terminal = true;
    if (columns > 0 && columns < WIDTH)
        page.width = columns > NARROWEST ? (size_t)columns : NARROWEST;
    const char *no_colour = getenv("NO_COLOR"); /* https://no-color.org */
    page.colour = can_colour && (no_colour == NULL || no_colour[0] == '\0');
    return page;
}

static void begin_style(const struct page *page, enum style style)
{
    static const char *const codes[] = {"", "\033[1m", "\033[32m", "\033[33m", "\033[2m"};
    if (page->colour) fputs(codes[style], page->out);
}

static void end_style(const struct page *page, enum style style)
{
    if (page->colour && style != STYLE_PLAIN) fputs("\033[0m", page->out);
}

/* Names and variables come from outside: no control character of theirs reaches a terminal, nor a
 * byte that is one where it is not part of a character (0x80 to 0x9f). */
static void put_word(FILE *out, const char *word, size_t length)
{
    unsigned more = 0; /* bytes of this character that are to come */
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)word[i],
                            before = i > 0 ? (unsigned char)word[i - 1] : 0;
        const bool c1 = c >= 0x80 && c < 0xa0 && (more == 0 || before == 0xc2);
        fputc(c < 0x20 || c == 0x7f || c1 ? '?' : c, out);
        more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc2 ? 1 : c >= 0x80 && more > 0 ? more - 1 : 0;
    }
}

static void put_spaces(FILE *out, size_t count)
{
    fprintf(out, "%*s", (int)count, "");
}

void page_wrap(const struct page *page, size_t column, size_t indent, enum style style,
               const char *text)
{
    bool line_start = true;
    if (column < indent) {
        put_spaces(page->out, indent - column);
        column = indent;
    }
    begin_style(page, style);
    for (const char *at = text; *at != '\0';) {
        size_t gap = strspn(at, " \n\t");
        size_t length = strcspn(at + gap, " \n\t");
        if (length == 0) break;
        if (!line_start && column + 1 + length > page->width) {
            fputc('\n', page->out);
            put_spaces(page->out, indent);
            column = indent;
            line_start = true;
        }
        if (!line_start) {
            fputc(' ', page->out);
            column++;
        }
        put_word(page->out, at + gap, length);
        column += length;
        line_start = false;
        at += gap + length;
    }
    end_style(page, style);
    fputc('\n', page->out);
}

void page_verdict(const struct page *page, enum style style, const char *text)
{
    struct page first = *page;
    if (!page->terminal) first.width = SIZE_MAX / 2;
    page_wrap(&first, 0, 0, style, text);
}

void page_heading(const struct page *page, const char *text)
{
    fputc('\n', page->out);
    page_wrap(page, 0, 0, STYLE_BOLD, text);
}

void page_row(const struct page *page, const char *label, const char *text)
{
    size_t column = LABEL_COLUMN + strlen(label);
    put_spaces(page->out, LABEL_COLUMN);
    fputs(label, page->out);
    if (column >= TEXT_COLUMN) { /* a long name keeps a line of its own */
        fputc('\n', page->out);
        column = 0;
    }
    page_wrap(page, column, TEXT_COLUMN, STYLE_PLAIN, text);
}

void page_answer(const struct page *page, const char *label, const char *answer, enum style style,
                 const char *remark)
{
    size_t column = 4 + strlen(label);
    put_spaces(page->out, 4);
    fputs(label, page->out);
    if (column < ANSWER_COLUMN) put_spaces(page->out, ANSWER_COLUMN - column);
    begin_style(page, style);
    fputs(answer, page->out);
    end_style(page, style);
    if (remark[0] == '\0')
        fputc('\n', page->out);
    else
        page_wrap(page, ANSWER_COLUMN + strlen(answer), REMARK_COLUMN, STYLE_PLAIN, remark);
}

/* culvert-info: the report for people. */

enum { LINE = 2 * TEXT_SIZE };

const char *driver_key(culv_driver driver)
{
    return driver == CULV_DRIVER_SOFT ? "soft" : "nvidia";
}

const char *device_type_key(VkPhysicalDeviceType type)
{
    switch ((int)type) {
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
    case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
    default: return "other";
    }
}

void uuid_text(const culv_uuid *uuid, char out[37])
{
    out[0] = '\0';
    for (int i = 0; i < 16; i++)
        text_add(out, 37, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                 uuid->bytes[i]);
}

void luid_text(const culv_luid *luid, char out[17])
{
    out[0] = '\0';
    for (int i = 0; i < 8; i++)
        text_add(out, 17, "%02x", luid->bytes[i]);
}

static void luid_row(const struct page *page, const culv_luid *luid, uint32_t node_mask)
{
    char text[64], digits[17];
    luid_text(luid, digits);
    text_set(text, sizeof text, "%s, node mask %#x", digits, (unsigned)node_mask);
    page_row(page, "LUID", text);
}

void vulkan_version_text(uint32_t version, char out[32])
{
    text_set(out, 32, "%u.%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
             VK_API_VERSION_PATCH(version));
}

void cuda_version_text(int version, char out[32])
{
    text_set(out, 32, "%d.%d", version / 1000, version % 1000 / 10);
}

static void print_drivers(const struct page *page, const struct report *report, bool verbose)
{
    char line[LINE], version[32];
    const struct vulkan_info *vulkan = &report->vulkan;
    const struct system_info *system = &report->system;
    page_heading(page, "Drivers");
    page_row(page, "Culvert", culv_version_string());

    line[0] = '\0';
    if (vulkan->path[0] != '\0') {
        vulkan_version_text(vulkan->version, version);
        text_add(line, sizeof line, "loader %s, %s", version, vulkan->path);
    }
    if (vulkan->why[0] != '\0')
        text_add(line, sizeof line, "%s%s", line[0] != '\0' ? "; " : "none: ", vulkan->why);
    page_row(page, "Vulkan", line);
    for (int i = 0; verbose && i < vulkan->num_messages; i++)
        page_row(page, i == 0 ? "  loader says" : "", vulkan->messages[i]);

    for (int i = 0; i < 2; i++) {
        const struct cuda_driver *d = &report->drivers[i];
        line[0] = '\0';
        if (d->path[0] != '\0') {
            cuda_version_text(d->version, version);
            text_add(line, sizeof line, "CUDA %s", version);
            if (d->release[0] != '\0')
                text_add(line, sizeof line, ", NVIDIA driver %s", d->release);
            text_add(line, sizeof line, ", %s", d->path);
        }
        if (!d->usable)
            text_add(line, sizeof line, "%s%s",
                     d->path[0] != '\0'   ? "; "
                     : i == 0 || d->asked ? "none: "
                                          : "",
                     d->why);
        page_row(page, i == 0 ? "CUDA" : "Software twin", line);
    }
    if (system->nvidia_kernel_version[0] != '\0')
        text_set(line, sizeof line, "NVIDIA module %s%s", system->nvidia_kernel_version,
                 system->nvidia_kernel_open ? " (open)" : "");
    else
        text_set(line, sizeof line, "no NVIDIA module is seen");
    if (system->nvidia_gpus >= 0)
        text_add(line, sizeof line, "; %d NVIDIA GPU%s on the PCI bus", system->nvidia_gpus,
                 system->nvidia_gpus == 1 ? "" : "s");
    if (system->iommu_groups > 0)
        text_add(line, sizeof line, "; an IOMMU is on (%d groups)", system->iommu_groups);
    else if (system->iommu_groups == 0 || system->iommu_units == 0)
        text_add(line, sizeof line, "; no IOMMU is on");
    page_row(page, "Kernel", line);
}

static void print_features(const struct page *page, const struct feature *features, int count,
                           bool verbose)
{
    static const char *const answers[] = {"?", "no", "yes"};
    static const enum style styles[] = {STYLE_BAD, STYLE_BAD, STYLE_GOOD};
    for (int i = 0; i < count; i++) {
        const struct feature *f = &features[i];
        char remark[512];
        text_set(remark, sizeof remark, "%s", f->why);
        if (verbose && f->attribute != NULL && f->answer != ANSWER_UNKNOWN)
            text_add(remark, sizeof remark, "%s%s=%d", remark[0] != '\0' ? "; " : "",
                     f->attribute + strlen("CU_DEVICE_ATTRIBUTE_"), f->value);
        page_answer(page, f->label, answers[f->answer], styles[f->answer], remark);
    }
}

static void print_cuda_identity(const struct page *page, const struct cuda_device *d, bool name)
{
    char line[LINE], version[32];
    cuda_version_text((int)d->caps.driver_version, version);
    text_set(line, sizeof line, "%s device %d",
             d->driver == CULV_DRIVER_SOFT ? "software twin's" : "CUDA", d->ordinal);
    if (name) text_add(line, sizeof line, " '%s'", d->caps.name);
    text_add(line, sizeof line, ", CUDA %s, compute capability %u.%u, %.1f GiB, PCI %s%s", version,
             d->caps.compute_major, d->caps.compute_minor,
             (double)d->caps.total_memory / (1024.0 * 1024.0 * 1024.0),
             d->caps.pci_bus_id[0] != '\0' ? d->caps.pci_bus_id : "unknown",
             d->caps.mig_slice ? ", a MIG slice" : "");
    page_row(page, "CUDA", line);
    if (d->pci.path[0] == '\0') return;
    text_set(line, sizeof line, "%s", d->pci.path);
    if (d->pci.iommu_group >= 0)
        text_add(line, sizeof line, ", IOMMU group %d", d->pci.iommu_group);
    page_row(page, "PCI Express", line);
}

static void print_graphics(const struct page *page, const struct report *report,
                           const struct graphics_device *d, bool verbose)
{
    char line[LINE], text[64];
    const culv_vk_candidate *c = &d->match;
    text_set(line, sizeof line, "Vulkan device %u: %s", d->index, c->name);
    page_heading(page, line);
    vulkan_version_text(c->api_version, text);
    text_set(line, sizeof line, "%s%s%s%sVulkan %s, %s", c->driver_name,
             c->driver_info[0] != '\0' ? " " : "", c->driver_info,
             c->driver_name[0] != '\0' || c->driver_info[0] != '\0' ? ", " : "", text,
             c->type == VK_PHYSICAL_DEVICE_TYPE_CPU ? "draws on the CPU"
                                                    : device_type_key(c->type));
    if (c->type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU ||
        c->type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
        c->type == VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU)
        text_add(line, sizeof line, " GPU");
    page_row(page, "Vulkan", line);
    if (d->cuda >= 0 && report->cuda[d->cuda].opened)
        print_cuda_identity(page, &report->cuda[d->cuda],
                            strcmp(report->cuda[d->cuda].caps.name, c->name) != 0);
    uuid_text(&c->uuid, text);
    page_row(page, "UUID", text);
    if (c->luid_valid) luid_row(page, &c->luid, c->node_mask);
    if (c->group_size > 1) {
        text_set(
            line, sizeof line,
            "one of %u linked GPUs; "
            "make the VkDevice of this one alone and say so (culv_vk_device_desc.num_physical_devices = 1)",
            c->group_size);
        page_row(page, "Group", line);
    }
    if (!d->reachable) {
        text_set(line, sizeof line, "%s (%s)", d->why, culv_reason_name(d->reason));
        page_row(page, "Not reachable", line);
        if (!verbose) return;
        if (c->reason_text[0] != '\0' && strcmp(c->reason_text, d->why) != 0)
            page_row(page, "Message", c->reason_text);
    }
    fprintf(page->out, "  From Vulkan into CUDA:\n");
    print_features(page, d->features, NUM_SHARE_FEATURES, verbose);
    if (d->cuda < 0) return;
    fprintf(page->out, "  CUDA's features:\n");
    print_features(page, report->cuda[d->cuda].features, NUM_CUDA_FEATURES, verbose);
}

static void print_lonely_cuda(const struct page *page, const struct cuda_device *d, bool verbose)
{
    char line[LINE], text[64];
    text_set(line, sizeof line, "%s device %d%s%s",
             d->driver == CULV_DRIVER_SOFT ? "Software twin's" : "CUDA", d->ordinal,
             d->opened ? ": " : "", d->opened ? d->caps.name : "");
    page_heading(page, line);
    if (d->opened) {
        print_cuda_identity(page, d, false);
        uuid_text(&d->caps.uuid, text);
        page_row(page, "UUID", text);
        if (d->caps.luid_valid) luid_row(page, &d->caps.luid, d->caps.node_mask);
    }
    page_row(page, d->opened ? "No match" : "Not opened", d->why);
    if (!verbose || !d->opened) return;
    fprintf(page->out, "  CUDA's features:\n");
    print_features(page, d->features, NUM_CUDA_FEATURES, verbose);
}

static void print_pairs(const struct page *page, const struct cuda_driver *d)
{
    char name[64], line[LINE];
    if (d->num_pairs == 0) return;
    page_heading(page, d->kind == CULV_DRIVER_SOFT
                           ? "Kernels of one of the twin's devices in another one's memory"
                           : "Kernels of one GPU in another one's memory");
    for (int i = 0; i < d->num_pairs; i++) {
        const struct cuda_pair *p = &d->pairs[i];
        text_set(name, sizeof name, "%d in %d", p->from, p->to);
        text_set(line, sizeof line, "%s",
                 p->access > 0    ? "reads and writes it"
                 : p->access == 0 ? "does not reach it: copies go through the host"
                                  : "the driver does not say whether it reaches it");
        if (p->access > 0)
            text_add(line, sizeof line, "; native atomics %s; arrays %s; performance rank %d",
                     p->native_atomics > 0 ? "yes" : "no", p->array_access > 0 ? "yes" : "no",
                     p->performance_rank);
        page_row(page, name, line);
    }
}

static void print_opengl(const struct page *page, const struct report *report, bool verbose)
{
    const struct opengl_info *opengl = &report->opengl;
    page_heading(page, "OpenGL");
    if (opengl->count == 0) page_wrap(page, 0, 2, STYLE_PLAIN, opengl->why);
    for (int i = 0; i < opengl->count; i++) {
        const struct opengl_device *d = &opengl->devices[i];
        char line[LINE], label[32];
        const int match = opengl_graphics(report, d);
        if (d->why[0] != '\0' && !verbose && opengl->count > 1) continue;
        text_set(label, sizeof label, "EGL device %d", i);
        if (d->why[0] != '\0') {
            page_row(page, label, d->why);
            continue;
        }
        text_set(line, sizeof line, "%s, OpenGL %s", d->renderer, d->version);
        if (match >= 0)
            text_add(line, sizeof line, ", is Vulkan device %u", report->graphics[match].index);
        else
            text_add(line, sizeof line, ", is no Vulkan device%s",
                     d->has_uuid ? "" : " that it tells of");
        text_add(line, sizeof line, "; %s memory, %s semaphores",
                 d->memory_fd ? "imports" : "cannot import",
                 d->semaphore_fd ? "imports" : "cannot import");
        page_row(page, label, line);
    }
}

static void print_variables(const struct page *page, const struct report *report)
{
    bool any = false;
    page_heading(page, "Environment");
    for (size_t i = 0; i < report->num_variables; i++) {
        const struct variable *v = &report->variables[i];
        char line[LINE];
        if (v->value == NULL) continue;
        any = true;
        text_set(line, sizeof line, "%s=%s", v->name, v->value);
        page_wrap(page, 0, 2, STYLE_PLAIN, line);
    }
    if (!any) page_wrap(page, 0, 2, STYLE_PLAIN, "none of the variables that matter is set");
}

void print_text(const struct report *report, FILE *out, bool verbose)
{
    struct page page = page_open(out);
    page_verdict(&page, report->reachable ? STYLE_GOOD : STYLE_BAD, report->verdict);
    if (report->hint[0] != '\0') {
        char line[LINE];
        text_set(line, sizeof line, "Try: %s.", report->hint);
        page_wrap(&page, 0, 0, STYLE_PLAIN, line);
    }
    print_drivers(&page, report, verbose);
    for (uint32_t i = 0; i < report->num_graphics; i++)
        print_graphics(&page, report, &report->graphics[i], verbose);
    for (int i = 0; i < report->num_cuda; i++)
        if (report->cuda[i].graphics < 0) print_lonely_cuda(&page, &report->cuda[i], verbose);
    for (int i = 0; i < 2; i++)
        print_pairs(&page, &report->drivers[i]);
    print_opengl(&page, report, verbose);
    print_variables(&page, report);
}
