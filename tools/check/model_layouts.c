/* SPDX-License-Identifier: MIT */
/* culvert-check's model: layouts of images that both APIs use.
 *
 * A transition from VK_IMAGE_LAYOUT_UNDEFINED throws away what is in the image. Where the one side
 * wrote before it, and the other side reads after it, that is a finding, as long as nobody can have
 * written in between without being seen: of images that shaders may store to, no queue has run a
 * shader since, and no stream has run a kernel. What is only likely is told of with `strict`. */
#include "model_inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void check_picture_made(check_model *m, check_payload *p, uint64_t image, uint64_t begin,
                        uint64_t size, bool stored)
{
    check_picture_gone(m, p, image);
    check_picture *made = p != NULL ? calloc(1, sizeof *made) : NULL;
    if (made == NULL) return;
    *made = (check_picture){.next = p->pictures,
                            .image = image,
                            .begin = begin,
                            .end = begin + size,
                            .stored = stored,
                            .known = true};
    p->pictures = made;
}

void check_picture_gone(check_model *m, check_payload *p, uint64_t image)
{
    (void)m;
    for (check_picture **link = p != NULL ? &p->pictures : NULL; link != NULL && *link != NULL;
         link = &(*link)->next)
        if ((*link)->image == image) {
            check_picture *gone = *link;
            *link = gone->next;
            free(gone);
            return;
        }
}

void check_pictures_free(check_payload *p)
{
    while (p->pictures != NULL) {
        check_picture *gone = p->pictures;
        p->pictures = gone->next;
        free(gone);
    }
}

static const char *layout_name(uint32_t layout, char number[16])
{
    static const char *const names[] = {"UNDEFINED",
                                        "GENERAL",
                                        "COLOR_ATTACHMENT_OPTIMAL",
                                        "DEPTH_STENCIL_ATTACHMENT_OPTIMAL",
                                        "DEPTH_STENCIL_READ_ONLY_OPTIMAL",
                                        "SHADER_READ_ONLY_OPTIMAL",
                                        "TRANSFER_SRC_OPTIMAL",
                                        "TRANSFER_DST_OPTIMAL",
                                        "PREINITIALIZED"};
    if (layout < sizeof names / sizeof *names) return names[layout];
    if (layout == 1000314000) return "READ_ONLY_OPTIMAL";
    if (layout == 1000314001) return "ATTACHMENT_OPTIMAL";
    (void)snprintf(number, 16, "%" PRIu32, layout);
    return number;
}

/* No work that may write unseen can be between the transition and now. */
static bool nothing_unseen(const check_model *m, const check_picture *i)
{
    for (int agent = 1; agent < CHECK_AGENTS; agent++) {
        const check_agent *a = &m->agents[agent];
        if (a->api == CHECK_VULKAN && !i->stored) continue;
        if (a->last_code > i->clock.at[agent]) return false;
    }
    return true;
}

static void change(check_model *m, check_picture *i, const check_payload *p, int agent,
                   const check_op *op, const check_access *a, const check_clock *clock)
{
    char then[16], now[16];
    if (m->strict && a->acquires && i->known && a->from != CHECK_LAYOUT_UNDEFINED &&
        i->layout != a->from)
        check_find(m, CHECK_LAYOUT_MISMATCH, p, &op->site, i->changed.call ? &i->changed : &p->made,
                   "The barrier acquires an image from VK_QUEUE_FAMILY_EXTERNAL in the layout %s, "
                   "and Vulkan left it in %s.",
                   layout_name(a->from, now), layout_name(i->layout, then));
    i->known = a->whole || (i->known && i->layout == a->layout);
    i->layout = a->layout;
    i->changed = op->site;
    if (a->from != CHECK_LAYOUT_UNDEFINED || !a->whole) return;
    /* What was written by whom, where the order is not sure, is no longer known. */
    i->discarded = i->written && !m->vague && !(i->stored && op->runs_code) &&
                   clock->at[i->writer] >= i->write_at;
    if (!i->discarded) i->written = false;
    i->clock = *clock;
    i->discard = op->site;
    i->discarder = agent;
}

static void use(check_model *m, check_picture *i, check_payload *p, int agent, const check_op *op,
                const check_access *a, const check_clock *clock)
{
    const check_api api = m->agents[agent].api;
    char name[16];
    const bool wrong = a->array && i->known && i->layout != CHECK_LAYOUT_GENERAL;
    if (wrong && !m->strict) m->counts.layouts++;
    if (wrong && m->strict) {
        check_find(
            m, CHECK_LAYOUT_NOT_GENERAL, p, &op->site, i->changed.call ? &i->changed : &p->made,
            "%s uses an image that is in the layout %s.", a->how, layout_name(i->layout, name));
        i->known = false; /* once */
    }
    if (a->kind != CHECK_READ) {
        i->written = true;
        i->discarded = false;
        i->by = api;
        i->writer = agent;
        i->write_at = op->number;
        i->how = a->how;
        i->write = op->site;
        return;
    }
    /* Between two uses by Vulkan it is no matter of both. */
    if (!i->discarded || (api == CHECK_VULKAN && i->by == CHECK_VULKAN)) return;
    const bool likely = api == CHECK_CUDA || a->layout == i->layout;
    if (clock->at[i->discarder] < i->clock.at[i->discarder] || !likely) return;
    if (!nothing_unseen(m, i) && !m->strict) return;
    i->discarded = false;
    check_find(m, CHECK_LAYOUT_DISCARDS, p, &op->site, &i->discard,
               "%s reads what %s wrote, and a transition from VK_IMAGE_LAYOUT_UNDEFINED in between "
               "throws that away.",
               a->how, i->how);
}

void check_judge_layouts(check_model *m, int agent, const check_op *op, const check_access *a,
                         const check_clock *clock)
{
    check_payload *p = a->payload;
    /* What another process does to the image is not seen here. */
    if (p->pictures == NULL || p->unjudged || p->ordered || check_foreign(m, p)) return;
    if (a->kind == CHECK_RELEASE || a->kind == CHECK_ACQUIRE) return;
    for (check_picture *i = p->pictures; i != NULL; i = i->next) {
        if (a->kind == CHECK_LAYOUT) {
            if (i->image == a->image) change(m, i, p, agent, op, a, clock);
        } else if (i->begin < a->end && a->begin < i->end) {
            if (m->agents[agent].api == CHECK_CUDA || i->image == a->image)
                use(m, i, p, agent, op, a, clock);
            else if (a->kind != CHECK_READ) /* another resource in the same bytes */
                i->written = i->discarded = false;
        }
    }
}
