/* SPDX-License-Identifier: MIT */
/* Destroys that wait. */
#include "cuda/watch.h"

#include "cuda/context.h"

static const uint64_t SECOND = 1000000000;
enum { MOST_NAMED = 4 }; /* semaphores in one message */

bool culvi_watch_init(culv_device *device)
{
    culvi_watchman *man = &device->watchman;
    culvi_mutex_init(&man->lock);
    return culvi_condition_init(&man->changed);
}

/* A child process has neither the thread nor, perhaps, the lock. */
static bool is_here(const culvi_watchman *man)
{
    return !man->started || culvi_worker_exists(&man->worker);
}

void culvi_watch_end(culv_device *device)
{
    culvi_watchman *man = &device->watchman;
    if (!is_here(man)) return;
    if (man->started) {
        culvi_mutex_lock(&man->lock);
        man->stop = true;
        culvi_condition_wake_all(&man->changed);
        culvi_mutex_unlock(&man->lock);
        culvi_worker_join(&man->worker);
    }
    culvi_condition_destroy(&man->changed);
    culvi_mutex_destroy(&man->lock);
}

/* Semaphores ----------------------------------------------------------------------------------- */

/* Does one thing with the notes of `man`, unless this is a child process. */
#define WITH_NOTES(device, man, statement)                                                         \
    culvi_watchman *man = &(device)->watchman;                                                     \
    if (is_here(man)) CULVI_LOCKED(&man->lock, statement)

void culvi_wait_note_add(culv_device *device, culvi_wait_note *note)
{
    WITH_NOTES(device, man, CULVI_LIST_ADD(man->notes, note));
}

void culvi_wait_note_remove(culv_device *device, culvi_wait_note *note)
{
    WITH_NOTES(device, man, CULVI_LIST_REMOVE(note));
}

void culvi_wait_note_set_counter(culv_device *device, culvi_wait_note *note,
                                 bool (*counter)(void *context, uint64_t *out), void *context)
{
    WITH_NOTES(device, man, note->counter = counter; note->context = context);
}

void culvi_wait_note_leave(culv_device *device, culvi_wait_note *note, bool leaving)
{
    WITH_NOTES(device, man, note->leaving = leaving);
}

void culvi_wait_note_each(culv_device *device, void (*visit)(culvi_wait_note *note, void *context),
                          void *context)
{
    WITH_NOTES(
        device, man, for (culvi_wait_note *note = man->notes; note != NULL; note = note->next) {
            if (!note->leaving) visit(note, context);
        });
}

void culvi_wait_note_forget(culv_device *device, const void *context)
{
    WITH_NOTES(
        device, man, for (culvi_wait_note *note = man->notes; note != NULL; note = note->next) {
            if (note->context == context) note->counter = NULL;
        });
}

/* What is said of a wait. */
typedef enum suspicion { UNSUSPECTED, PERHAPS, CERTAIN } suspicion;

/* Whether a stream may still be waiting for what a note says. */
static suspicion suspect(const culvi_wait_note *note, uint64_t *counter)
{
    uint64_t value = atomic_load_explicit(&note->value, memory_order_relaxed);
    if (value == 0) return UNSUSPECTED;
    if (!note->timeline) return PERHAPS;
    if (note->counter != NULL && note->counter(note->context, counter))
        return *counter < value ? CERTAIN : UNSUSPECTED;
    return PERHAPS;
}

static void add_note(culvi_text *text, const culvi_wait_note *note, suspicion how, uint64_t counter)
{
    char stream[40];
    culvi_stream_name((CUstream)(void *)atomic_load_explicit(&note->stream, memory_order_relaxed),
                      stream);
    const uint64_t value = atomic_load_explicit(&note->value, memory_order_relaxed);
    culvi_text_add(text, "%s %s ", stream, how == CERTAIN ? "waits for" : "was told to wait for");
    culvi_text_add_named(text, note->timeline ? "semaphore" : "binary semaphore", note->label);
    if (!note->timeline) return;
    culvi_text_add(text, " to reach %" PRIu64 ", ", value);
    if (how == CERTAIN)
        culvi_text_add(text, "and it is at %" PRIu64, counter);
    else
        culvi_text_add(text,
                       "whose counter Culvert cannot read: CUDA was told to signal it with %" PRIu64
                       ", and %" PRIu64 " was reported",
                       atomic_load_explicit(note->signaled, memory_order_relaxed),
                       atomic_load_explicit(note->noted, memory_order_relaxed));
}

/* Lists the waits that are certainly unanswered. If there are none, it lists those that may be. */
static unsigned add_waits(culvi_text *text, const culvi_watchman *man, suspicion how)
{
    unsigned named = 0;
    for (const culvi_wait_note *note = man->notes; note != NULL; note = note->next) {
        uint64_t counter = 0;
        if (suspect(note, &counter) != how) continue;
        if (named < MOST_NAMED) {
            culvi_text_add(text, "%s", named == 0 ? "" : "; ");
            add_note(text, note, how, counter);
        }
        named++;
    }
    if (named > MOST_NAMED) culvi_text_add(text, "; and %u others", named - MOST_NAMED);
    return named;
}

/* Telling -------------------------------------------------------------------------------------- */

static void add_object(culvi_text *text, const culvi_watch *watch)
{
    culvi_text_add(text, "%s", watch->kind);
    if (watch->label[0] != '\0') culvi_text_add(text, " '%s'", watch->label);
    if (watch->size != 0) culvi_text_add(text, " (%" PRIu64 " bytes)", watch->size);
}

static void tell(culv_device *device, const culvi_watch *watch, uint64_t now)
{
    char stream[40];
    CULVI_TEXT(text, 1500);
    add_object(&text, watch);
    culvi_text_add(&text, ": %s has waited for %" PRIu64 " s. ", watch->deed,
                   (now - watch->begun) / SECOND);
    if (watch->what != NULL) {
        culvi_text_add(&text, "%s. ", watch->what);
    } else if (watch->on_stream) {
        culvi_stream_name(watch->stream, stream);
        culvi_text_add(&text, "It waits until %s has got to its last use. ", stream);
    } else {
        culvi_text_add(
            &text,
            "The driver waits there for all work of the context, and other threads can submit none meanwhile. ");
    }
    if (add_waits(&text, &device->watchman, CERTAIN) == 0 &&
        add_waits(&text, &device->watchman, PERHAPS) == 0)
        culvi_text_add(
            &text,
            "No stream is known to wait for a semaphore: a kernel, a host function or somebody else's wait has not ended");
    culvi_text_add(
        &text,
        ". Submit what signals before you destroy, or pass the stream of the last use, and the call does not wait");
    culvi_log(&device->voice, CULV_LOG_WARNING, "%s", text.data);
}

/* The log's callback is called under the watch's lock, which nobody holds while he waits. */
static void watch_over(void *user)
{
    culv_device *device = user;
    culvi_watchman *man = &device->watchman;
    culvi_mutex_lock(&man->lock);
    while (!man->stop) {
        uint64_t next = UINT64_MAX, now = culvi_now();
        for (culvi_watch *watch = man->watches; watch != NULL; watch = watch->next) {
            if (watch->due <= now) {
                watch->told++;
                tell(device, watch, now);
                watch->due = watch->begun + 10 * (watch->due - watch->begun);
            }
            if (watch->due < next) next = watch->due;
        }
        /* Calls that come are due later than this, unless it has told of all that there are: then
         * the next one wakes it, once. */
        man->until = next;
        culvi_condition_wait(&man->changed, &man->lock, next);
        man->until = 0;
    }
    culvi_mutex_unlock(&man->lock);
}

void culvi_watch_begin(culv_device *device, culvi_watch *watch, const char *label)
{
    culvi_watchman *man = &device->watchman;
    culvi_label_set(watch->label, label);
    if (watch->deed == NULL) watch->deed = "its release";
    watch->told = 0; /* it may have watched another call before */
    watch->armed = culvi_log_wants(&device->voice, CULV_LOG_WARNING) && is_here(man);
    if (!watch->armed) return;
    watch->begun = culvi_now();
    watch->due = watch->begun + SECOND;
    culvi_mutex_lock(&man->lock);
    watch->next = man->watches;
    man->watches = watch;
    if (!man->started)
        atomic_store(&man->started, culvi_worker_start(&man->worker, watch_over, device));
    else if (man->until > watch->due)
        culvi_condition_wake_all(&man->changed);
    culvi_mutex_unlock(&man->lock);
}

void culvi_watch_done(culv_device *device, culvi_watch *watch)
{
    culvi_watchman *man = &device->watchman;
    if (!watch->armed) return;
    culvi_mutex_lock(&man->lock);
    culvi_watch **link = &man->watches;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    culvi_mutex_unlock(&man->lock);
    if (watch->told == 0) return;
    CULVI_TEXT(text, 160);
    add_object(&text, watch);
    culvi_log(&device->voice, CULV_LOG_WARNING, "%s: %s went on after %" PRIu64 " ms", text.data,
              watch->deed, (culvi_now() - watch->begun) / 1000000);
}
