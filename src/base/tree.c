/* SPDX-License-Identifier: MIT */
/* The tree: a treap, whose priorities are made of the nodes' addresses. */
#include "base/tree.h"

static uint64_t priority(const culvi_tree_node *node)
{
    uint64_t x = (uint64_t)(uintptr_t)node; /* splitmix64's end */
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool is_below(const culvi_tree_node *node, uint64_t major, uint64_t minor)
{
    return node->major < major || (node->major == major && node->minor < minor);
}

static bool is_above(const culvi_tree_node *node, uint64_t major, uint64_t minor)
{
    return node->major > major || (node->major == major && node->minor > minor);
}

/* Returns the place where the tree points to the node. */
static culvi_tree_node **link_of(culvi_tree *tree, const culvi_tree_node *node)
{
    culvi_tree_node *parent = node->parent;
    return parent == NULL ? &tree->root : &parent->child[parent->child[1] == node];
}

/* The node's child on that side takes its place, and the node goes below it. */
static void rotate(culvi_tree *tree, culvi_tree_node *node, int side)
{
    culvi_tree_node *up = node->child[side], *between = up->child[!side];
    *link_of(tree, node) = up;
    up->parent = node->parent;
    up->child[!side] = node;
    node->parent = up;
    node->child[side] = between;
    if (between != NULL) between->parent = node;
}

void culvi_tree_add(culvi_tree *tree, culvi_tree_node *node, uint64_t major, uint64_t minor)
{
    culvi_tree_node *parent = NULL, **link = &tree->root;
    while (*link != NULL) {
        parent = *link;
        link = &parent->child[!is_above(parent, major, minor)];
    }
    *node = (culvi_tree_node){.parent = parent, .major = major, .minor = minor};
    *link = node;
    while (node->parent != NULL && priority(node) > priority(node->parent))
        rotate(tree, node->parent, node->parent->child[1] == node);
}

void culvi_tree_remove(culvi_tree *tree, culvi_tree_node *node)
{
    while (node->child[0] != NULL && node->child[1] != NULL)
        rotate(tree, node, priority(node->child[1]) > priority(node->child[0]));
    culvi_tree_node *child = node->child[node->child[0] == NULL];
    *link_of(tree, node) = child;
    if (child != NULL) child->parent = node->parent;
}

culvi_tree_node *culvi_tree_from(const culvi_tree *tree, uint64_t major, uint64_t minor)
{
    culvi_tree_node *found = NULL;
    for (culvi_tree_node *node = tree->root; node != NULL;) {
        const bool below = is_below(node, major, minor);
        if (!below) found = node;
        node = node->child[below];
    }
    return found;
}

culvi_tree_node *culvi_tree_up_to(const culvi_tree *tree, uint64_t major, uint64_t minor)
{
    culvi_tree_node *found = NULL;
    for (culvi_tree_node *node = tree->root; node != NULL;) {
        const bool above = is_above(node, major, minor);
        if (!above) found = node;
        node = node->child[!above];
    }
    return found;
}

culvi_tree_node *culvi_tree_find(const culvi_tree *tree, uint64_t major, uint64_t minor)
{
    culvi_tree_node *node = culvi_tree_from(tree, major, minor);
    return node != NULL && node->major == major && node->minor == minor ? node : NULL;
}

culvi_tree_node *culvi_tree_next(const culvi_tree_node *node)
{
    if (node->child[1] != NULL) {
        culvi_tree_node *next = node->child[1];
        while (next->child[0] != NULL)
            next = next->child[0];
        return next;
    }
    while (node->parent != NULL && node->parent->child[1] == node)
        node = node->parent;
    return node->parent;
}
