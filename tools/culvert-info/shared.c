/* SPDX-License-Identifier: MIT */
/* culvert-info --shared: which servers of Culvert run here, and what they offer. It opens neither
 * CUDA nor Vulkan. */
#include "info.h"

#include "json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA_SHARED = 1, MOST_SERVERS = 1024, MOST_OFFERS = 65536 };
/* A program that works on its frames answers between them. Anybody can listen and say nothing, so
 * all together get a time, and each its share of what is left of it. */
static const uint64_t patience = UINT64_C(500000000), patience_with_all = UINT64_C(3000000000),
                      least = UINT64_C(2000000);

static uint64_t left_till(uint64_t until)
{
    const uint64_t t = clock_now();
    return until > t ? until - t : 0;
}

/* When the time of a server ends, after which `others` are asked. */
static uint64_t turn_of(uint64_t until, size_t others)
{
    uint64_t share = left_till(until) / (others + 1);
    share = share > patience ? patience : share < least ? least : share;
    return clock_now() + share;
}

static const char *kind_key(culv_ipc_kind kind)
{
    static const char *const keys[] = {
        "none",        "vmm",   "vector", "buffer",      "image",      "semaphore",  "ring",
        "cuda_memory", "event", "pool",   "pool_memory", "vmm_fabric", "pool_fabric"};
    return (size_t)kind < sizeof keys / sizeof keys[0] ? keys[kind] : "unknown";
}

static const char *kind_words(culv_ipc_kind kind)
{
    static const char *const names[] = {"nothing",
                                        "VMM memory",
                                        "vector",
                                        "buffer",
                                        "image",
                                        "semaphore",
                                        "ring",
                                        "memory of cuMemAlloc",
                                        "CUDA event",
                                        "memory pool",
                                        "memory of a pool",
                                        "VMM memory by fabric handle",
                                        "memory pool by fabric handle"};
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "something newer";
}

static void describe(const culv_ipc_info *i, char *out, size_t size)
{
    const uint64_t bytes = i->size != 0 ? i->size : i->allocation_size - i->offset;
    text_set(out, size, "%s", kind_words(i->kind));
    if (i->kind == CULV_IPC_RING)
        text_add(out, size, ", slots: %" PRIu32 ", things in each: %" PRIu32, i->num_slots,
                 i->parts);
    else if (i->kind == CULV_IPC_IMAGE)
        text_add(out, size, " of %" PRIu32 " x %" PRIu32 ", VkFormat %d", i->width, i->height,
                 (int)i->format);
    else if (i->allocation_size != 0)
        text_add(out, size, " of %" PRIu64 " bytes", bytes);
    if (i->element_size != 0) text_add(out, size, ", elements of %" PRIu32, i->element_size);
    if (i->element_count != 0) text_add(out, size, ", %" PRIu64 " of them", i->element_count);
    if (i->text[0] != 0) text_add(out, size, ": %s", i->text);
}

/* Adds the offers to the JSON, or prints them. `why`, of TEXT_SIZE, says what
 * the server did not tell. */
static void offers(culv_ipc_client *client, uint64_t until, struct json *json,
                   const struct page *page, char *why)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < count && i < MOST_OFFERS; i++) {
        char text[512];
        culv_ipc_info info = culv_ipc_info_init();
        /* Answers may come faster than they are asked for. */
        if (i > 0 && left_till(until) == 0) {
            text_set(why, TEXT_SIZE, "its time is over after %" PRIu32 " of %" PRIu32 " offers", i,
                     count);
            return;
        }
        if (culv_ipc_client_get_offer(client, i, left_till(until), &info, &count) != CULV_OK) {
            text_set(why, TEXT_SIZE, "%s", culv_last_error_message());
            return;
        }
        if (i >= count) break;
        if (json == NULL) {
            describe(&info, text, sizeof text);
            page_row(page, info.name, text);
            continue;
        }
        json_begin(json, NULL, '{');
        json_string(json, "name", info.name);
        json_text(json, "text", info.text);
        json_string(json, "kind", kind_key(info.kind));
        json_integer(json, "allocation_size", (int64_t)info.allocation_size);
        json_integer(json, "offset", (int64_t)info.offset);
        json_integer(json, "size", (int64_t)info.size);
        json_integer(json, "element_size", info.element_size);
        json_integer(json, "element_count", (int64_t)info.element_count);
        json_integer(json, "width", info.width);
        json_integer(json, "height", info.height);
        json_integer(json, "slots", info.num_slots);
        json_integer(json, "parts", info.parts);
        json_end(json, '}');
    }
}

/* False: it did not tell all. */
static bool one_server(const char *directory, const char *name, uint64_t until, struct json *json,
                       const struct page *page)
{
    char heading[192], why[TEXT_SIZE] = "";
    culv_ipc_client *client = NULL;
    culv_ipc_client_desc d = culv_ipc_client_desc_init();
    d.name = name;
    d.directory = directory;
    if (culv_ipc_client_connect(NULL, &d, left_till(until), &client) != CULV_OK)
        text_set(why, sizeof why, "%s", culv_last_error_message());
    const int32_t pid = culv_ipc_client_server_pid(client);
    if (json == NULL) {
        text_set(heading, sizeof heading, client != NULL ? "%s (process %d)" : "%s", name,
                 (int)pid);
        page_heading(page, heading);
        if (client != NULL) offers(client, until, NULL, page, why);
        if (why[0] != 0) page_row(page, "not told", why);
    } else {
        json_begin(json, NULL, '{');
        json_string(json, "name", name);
        if (client != NULL)
            json_integer(json, "pid", pid);
        else
            json_null(json, "pid");
        json_begin(json, "offers", '[');
        if (client != NULL) offers(client, until, json, NULL, why);
        json_end(json, ']');
        json_text(json, "why", why);
        json_end(json, '}');
    }
    culv_ipc_client_destroy(&client);
    return why[0] == 0;
}

bool print_shared(const char *directory, bool as_json, FILE *out)
{
    size_t count = 0;
    char(*names)[CULV_IPC_NAME_SIZE] = must_alloc(MOST_SERVERS, sizeof *names);
    if (culv_ipc_find_servers(directory, names, MOST_SERVERS, &count) != CULV_OK) {
        fprintf(stderr, "culvert-info: %s\n", culv_last_error_message());
        free(names);
        return false;
    }
    if (count > MOST_SERVERS) count = MOST_SERVERS;
    const uint64_t until = clock_now() + patience_with_all;
    if (as_json) {
        struct json json = {out, 0, true};
        json_begin(&json, NULL, '{');
        json_integer(&json, "schema", SCHEMA_SHARED);
        json_string(&json, "culvert_version", culv_version_string());
        json_text(&json, "directory", directory != NULL ? directory : "");
        json_begin(&json, "servers", '[');
        for (size_t i = 0; i < count; i++)
            (void)one_server(directory, names[i], turn_of(until, count - i - 1), &json, NULL);
        json_end(&json, ']');
        json_end(&json, '}');
    } else {
        char verdict[256];
        const struct page page = page_open(out);
        text_set(verdict, sizeof verdict, "%zu server%s of Culvert %s%s", count,
                 count == 1 ? "" : "s",
                 directory != NULL ? "with a socket in " : "with an abstract socket here",
                 directory != NULL ? directory : "");
        page_verdict(&page, count > 0 ? STYLE_GOOD : STYLE_PLAIN, verdict);
        size_t untold = 0;
        for (size_t i = 0; i < count; i++)
            untold += !one_server(directory, names[i], turn_of(until, count - i - 1), NULL, &page);
        if (untold > 0)
            fprintf(out,
                    "\n%zu of %zu did not tell all they offer. Each has half a second, and all "
                    "together three.\n",
                    untold, count);
    }
    free(names);
    return true;
}
