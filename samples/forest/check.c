/* SPDX-License-Identifier: MIT */
/* See check.h. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

/* More than the hierarchy can be deep: keys of 64 bits. */
enum { MOST_DEPTH = 65 };

typedef struct step {
    uint64_t node;
    uint32_t depth;
    box within;
} step;

typedef struct check {
    const memory *m;
    node *nodes;
    particle *particles;
    bool *seen_node, *seen_particle;
    uint64_t num_nodes, num_particles;
    step waiting[MOST_DEPTH + 1];
    size_t num_waiting;
    check_result *out;
} check;

/* FNV-1a's way. */
static void add_to_checksum(check *c, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        c->out->checksum = (c->out->checksum ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static bool read(check *c)
{
    const memory *m = c->m;
    c->num_nodes = m->sizes.nodes / sizeof(node);
    c->num_particles = m->sizes.particles / sizeof(particle);
    c->nodes = malloc((size_t)m->sizes.nodes);
    c->particles = malloc((size_t)m->sizes.particles);
    c->seen_node = calloc((size_t)c->num_nodes, sizeof *c->seen_node);
    c->seen_particle = calloc((size_t)c->num_particles, sizeof *c->seen_particle);
    if (!c->nodes || !c->particles || !c->seen_node || !c->seen_particle) {
        report("out of memory for %llu nodes", (unsigned long long)c->num_nodes);
        return false;
    }
    return cuda_ok(m->cu, m->cu->cuMemcpyDtoH(c->nodes, m->shown.nodes, (size_t)m->sizes.nodes),
                   "cuMemcpyDtoH") &&
           cuda_ok(
               m->cu,
               m->cu->cuMemcpyDtoH(c->particles, m->shown.particles, (size_t)m->sizes.particles),
               "cuMemcpyDtoH");
}

/* The index that an address has in a list of Vulkan's, each found once. */
static bool find(uint64_t address, uint64_t list, uint64_t size, uint64_t count, bool *seen,
                 const char *what, uint64_t *index)
{
    *index = (address - list) / size;
    bool fine = address >= list && (address - list) % size == 0 && *index < count && !seen[*index];
    if (fine) return seen[*index] = true;
    report("a pointer in the tree, %#llx, leads to no %s that was not found before",
           (unsigned long long)address, what);
    return false;
}

static bool is_within(const float low[3], const float high[3], const box *b)
{
    for (int i = 0; i < 3; i++)
        if (!(low[i] >= b->low[i] && high[i] <= b->high[i] && low[i] <= high[i])) return false;
    return true;
}

static bool follow(check *c, const step *from, int side)
{
    const node *n = &c->nodes[from->node];
    const tree_link to = n->child[side];
    uint64_t index = 0;
    if (!is_within(n->low[side], n->high[side], &from->within)) {
        report("node %llu has a box that is not within the one above it",
               (unsigned long long)from->node);
        return false;
    }
    if (to & LINK_PARTICLE) {
        if (!find(to - LINK_PARTICLE, c->m->seen.particles, sizeof(particle), c->num_particles,
                  c->seen_particle, "particle", &index))
            return false;
        c->out->particles++;
        add_to_checksum(c, &c->particles[index], sizeof(particle));
        return true;
    }
    if (!find(to, c->m->seen.nodes, sizeof(node), c->num_nodes, c->seen_node, "node", &index))
        return false;
    if (from->depth == MOST_DEPTH) {
        report("the tree is deeper than it can be");
        return false;
    }
    step *next = &c->waiting[c->num_waiting++];
    next->node = index;
    next->depth = from->depth + 1;
    memcpy(next->within.low, n->low[side], sizeof n->low[side]);
    memcpy(next->within.high, n->high[side], sizeof n->high[side]);
    return true;
}

static bool walk(check *c)
{
    c->waiting[0] = (step){.within = {{-1e30f, -1e30f, -1e30f}, {1e30f, 1e30f, 1e30f}}};
    c->num_waiting = 1;
    c->seen_node[0] = true;
    while (c->num_waiting > 0) {
        const step at = c->waiting[--c->num_waiting];
        const node *n = &c->nodes[at.node];
        c->out->nodes++;
        if (at.depth > c->out->depth) c->out->depth = at.depth;
        add_to_checksum(c, n->low, sizeof n->low);
        add_to_checksum(c, n->high, sizeof n->high);
        if (!follow(c, &at, 0) || !follow(c, &at, 1)) return false;
    }
    if (c->out->nodes == c->num_nodes && c->out->particles == c->num_particles) return true;
    report("the tree has %llu of %llu nodes and %llu of %llu particles",
           (unsigned long long)c->out->nodes, (unsigned long long)c->num_nodes,
           (unsigned long long)c->out->particles, (unsigned long long)c->num_particles);
    return false;
}

bool check_tree(const memory *m, check_result *out)
{
    check c = {.m = m, .out = out};
    *out = (check_result){.checksum = UINT64_C(0xcbf29ce484222325)};
    bool fine = read(&c) && walk(&c);
    free(c.nodes);
    free(c.particles);
    free(c.seen_node);
    free(c.seen_particle);
    return fine;
}
