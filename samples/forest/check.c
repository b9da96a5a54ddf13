/* SPDX-License-Identifier: MIT */
/* forest: is the tree that Vulkan walks whole? */
#include "tree.h"

#include <stdlib.h>
#include <string.h>

#include "../common/console.h"

/* More than the hierarchy can be deep: keys of 64 bits. */
enum { MOST_DEPTH = 65 };

typedef struct check {
    const tree *tree;
    node *nodes;
    particle *particles;
    bool *seen_node, *seen_particle;
    tree_check *out;
} check;

/* FNV-1a's way. */
static void add_to_checksum(check *c, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        c->out->checksum = (c->out->checksum ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static bool read(check *c, const culv_cuda_api *cu)
{
    const tree *t = c->tree;
    const size_t nodes = t->num_nodes * sizeof(node),
                 particles = t->num_particles * sizeof(particle);
    c->nodes = malloc(nodes);
    c->particles = malloc(particles);
    c->seen_node = calloc(t->num_nodes, sizeof *c->seen_node);
    c->seen_particle = calloc(t->num_particles, sizeof *c->seen_particle);
    if (!c->nodes || !c->particles || !c->seen_node || !c->seen_particle) {
        report("out of memory for %zu nodes", t->num_nodes);
        return false;
    }
    return cuda_ok(cu, cu->cuMemcpyDtoH(c->nodes, t->nodes, nodes), "cuMemcpyDtoH") &&
           cuda_ok(cu, cu->cuMemcpyDtoH(c->particles, t->particles, particles), "cuMemcpyDtoH");
}

/* The index that an address has in a list, each found once. */
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

static bool is_within(const box *a, const box *b)
{
    for (int i = 0; i < 3; i++)
        if (!(a->low[i] >= b->low[i] && a->high[i] <= b->high[i] && a->low[i] <= a->high[i]))
            return false;
    return true;
}

static bool follow_particle(check *c, tree_link to)
{
    const tree *t = c->tree;
    uint64_t index = 0;
    if (!find(to - LINK_PARTICLE, t->particles, sizeof(particle), t->num_particles,
              c->seen_particle, "particle", &index))
        return false;
    c->out->particles++;
    add_to_checksum(c, &c->particles[index], sizeof(particle));
    return true;
}

static bool follow_node(check *c, tree_link to, uint32_t depth, const box *within)
{
    const tree *t = c->tree;
    uint64_t index = 0;
    if (!find(to, t->nodes, sizeof(node), t->num_nodes, c->seen_node, "node", &index)) return false;
    if (depth == MOST_DEPTH) {
        report("the tree is deeper than it can be");
        return false;
    }
    const node *n = &c->nodes[index];
    c->out->nodes++;
    if (depth > c->out->depth) c->out->depth = depth;
    add_to_checksum(c, n->low, sizeof n->low);
    add_to_checksum(c, n->high, sizeof n->high);
    box own[2];
    for (int side = 0; side < 2; side++) {
        memcpy(own[side].low, n->low[side], sizeof own->low);
        memcpy(own[side].high, n->high[side], sizeof own->high);
        if (!is_within(&own[side], within)) {
            report("node %llu has a box that is not within the one above it",
                   (unsigned long long)index);
            return false;
        }
        if (n->child[side] & LINK_PARTICLE && !follow_particle(c, n->child[side])) return false;
    }
    for (int side = 1; side >= 0; side--) {
        if (!(n->child[side] & LINK_PARTICLE) &&
            !follow_node(c, n->child[side], depth + 1, &own[side]))
            return false;
    }
    return true;
}

static bool walk(check *c)
{
    const box everything = {{-1e30f, -1e30f, -1e30f}, {1e30f, 1e30f, 1e30f}};
    if (!follow_node(c, c->tree->nodes, 0, &everything)) return false;
    if (c->out->nodes == c->tree->num_nodes && c->out->particles == c->tree->num_particles)
        return true;
    report("the tree has %zu of %zu nodes and %zu of %zu particles", c->out->nodes,
           c->tree->num_nodes, c->out->particles, c->tree->num_particles);
    return false;
}

bool tree_is_whole(const tree *t, const culv_cuda_api *cu, tree_check *out)
{
    check c = {.tree = t, .out = out};
    *out = (tree_check){.checksum = UINT64_C(0xcbf29ce484222325)};
    bool fine = read(&c, cu) && walk(&c);
    free(c.nodes);
    free(c.particles);
    free(c.seen_node);
    free(c.seen_particle);
    return fine;
}
