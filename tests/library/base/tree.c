/* SPDX-License-Identifier: MIT */
/* The ordered tree, beside a table that is searched from one end to the other. */
#define TEST_GROUP "tree."
#include "library.h"

#include "base/tree.h"

enum { ITEMS = 301, KEYS = 97 };

typedef struct item {
    uint64_t major, minor, turn; /* when it was added; 0: it is not in the tree */
    culvi_tree_node node;
} item;

static item items[ITEMS];

static bool is_before(const item *a, const item *b)
{
    if (a->major != b->major) return a->major < b->major;
    if (a->minor != b->minor) return a->minor < b->minor;
    return a->turn < b->turn;
}

/* The least item of the table that is behind `after` (NULL: of all); NULL: there is none. */
static const item *least_behind(const item *after)
{
    const item *least = NULL;
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].turn != 0 && (after == NULL || is_before(after, &items[i])) &&
            (least == NULL || is_before(&items[i], least)))
            least = &items[i];
    return least;
}

static void require_same(const culvi_tree *tree)
{
    const culvi_tree_node *node = culvi_tree_from(tree, 0, 0);
    const item *expected = least_behind(NULL);
    for (; expected != NULL; expected = least_behind(expected)) {
        REQUIRE(node == &expected->node);
        node = culvi_tree_next(node);
    }
    REQUIRE(node == NULL);
}

TEST(model)
{
    culvi_tree tree = {NULL};
    uint32_t seed = 5;
    for (uint64_t turn = 1; turn < 6000; turn++) {
        seed = seed * 1664525u + 1013904223u;
        item *it = &items[(seed >> 8) % ITEMS];
        if (it->turn != 0) {
            culvi_tree_remove(&tree, &it->node);
            it->turn = 0;
        } else {
            it->major = seed >> 12 & 7 ? (seed >> 16) % KEYS : UINT64_MAX;
            it->minor = (seed >> 10) % 3;
            it->turn = turn;
            culvi_tree_add(&tree, &it->node, it->major, it->minor);
        }
        const item key = {.major = (seed >> 20) % KEYS, .minor = (seed >> 9) % 3};
        const item *from = NULL, *up_to = NULL;
        for (const item *at = least_behind(NULL); at != NULL && turn % 16 == 0;
             at = least_behind(at)) {
            const bool above =
                at->major > key.major || (at->major == key.major && at->minor > key.minor);
            const bool same = at->major == key.major && at->minor == key.minor;
            if (from == NULL && (above || same)) from = at;
            if (!above) up_to = at;
        }
        if (turn % 16 != 0) continue;
        require_same(&tree);
        REQUIRE(culvi_tree_from(&tree, key.major, key.minor) ==
                (from != NULL ? &from->node : NULL));
        REQUIRE(culvi_tree_up_to(&tree, key.major, key.minor) ==
                (up_to != NULL ? &up_to->node : NULL));
        const bool there = from != NULL && from->major == key.major && from->minor == key.minor;
        REQUIRE(culvi_tree_find(&tree, key.major, key.minor) == (there ? &from->node : NULL));
    }
    for (size_t i = 0; i < ITEMS; i++)
        if (items[i].turn != 0) culvi_tree_remove(&tree, &items[i].node);
    REQUIRE(tree.root == NULL);
}
