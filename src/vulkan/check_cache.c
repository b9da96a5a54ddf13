/* SPDX-License-Identifier: MIT */
/* What the drivers have told, kept: asking again costs a hash and a comparison. */
#include "vulkan/vk.h"

#include <string.h>

_Static_assert(sizeof(culvi_vk_question) == 8 * 3 + 4 * 20, "no padding, and whole words");

/* FNV-1a over words; never 0, which marks an empty entry. */
static uint32_t hash(const culvi_vk_question *question)
{
    uint32_t words[sizeof *question / sizeof(uint32_t)];
    uint32_t h = 2166136261u;
    memcpy(words, question, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        h = (h ^ words[i]) * 16777619u;
    return h != 0 ? h : 1;
}

/* The entry of a question, or CULVI_VK_ANSWERS. The caller holds the lock. */
static uint32_t find(const culvi_vk_known *known, const culvi_vk_question *question, uint32_t h)
{
    uint32_t i = 0;
    while (i < CULVI_VK_ANSWERS &&
           (known->hashes[i] != h ||
            memcmp(&known->entries[i].question, question, sizeof *question) != 0))
        i++;
    return i;
}

bool culvi_vk_recall(culv_vk_device *vk, const culvi_vk_question *question, culvi_vk_answer *out)
{
    culvi_vk_known *known = &vk->known;
    uint32_t h = hash(question);
    culvi_mutex_lock(&known->lock);
    uint32_t i = find(known, question, h);
    bool found = i < CULVI_VK_ANSWERS;
    if (found) *out = known->entries[i].answer;
    culvi_mutex_unlock(&known->lock);
    return found;
}

void culvi_vk_remember(culv_vk_device *vk, const culvi_vk_question *question,
                       const culvi_vk_answer *answer)
{
    culvi_vk_known *known = &vk->known;
    uint32_t h = hash(question);
    culvi_mutex_lock(&known->lock);
    /* Another thread may have asked the same by now. */
    if (find(known, question, h) == CULVI_VK_ANSWERS) {
        uint32_t i = known->next;
        known->next = (i + 1) % CULVI_VK_ANSWERS;
        known->hashes[i] = h;
        known->entries[i].question = *question;
        known->entries[i].answer = *answer;
    }
    culvi_mutex_unlock(&known->lock);
}
