/* SPDX-License-Identifier: MIT */
/* Allowing the software twin. */
#include "base/platform.h"
#include "cuda/driver.h"
#include "culvert/device.h"

#include <stdatomic.h>
#include <string.h>

/* A switch of the process, as CULVERT_SOFT=1 is: it says what this machine may use, and holds no
 * state. */
static atomic_bool allowed;

/* What people write to switch something off; upper case counts as lower case. */
static bool means_off(const char *value)
{
    static const char *const words[] = {"", "0", "off", "no", "false"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = 0;
        while (words[i][at] != '\0' && (value[at] | 0x20) == (words[i][at] | 0x20))
            at++;
        if (words[i][at] == '\0' && value[at] == '\0') return true;
    }
    return false;
}

bool culvi_soft_allowed(void)
{
    if (atomic_load(&allowed)) return true;
    const char *value = culvi_environment("CULVERT_SOFT");
    return value != NULL && !means_off(value);
}

culv_bool culv_soft_enabled(void)
{
    return culvi_soft_allowed() ? 1 : 0;
}

/* The twin, not this library, touches the environment. */
static const char *ask_twin(void *module, const char *function)
{
    const char *(*get)(void) = NULL;
    void *symbol = culvi_module_symbol(module, function);
    memcpy(&get, &symbol, sizeof get);
    return get != NULL ? get() : NULL;
}

static const char *open_and_ask(const char *function)
{
    CULVI_TEXT(text, 1536);
    void *module = culvi_soft_open(&text);
    if (module == NULL) return NULL;
    const char *answer = ask_twin(module, function);
    culvi_module_close(module); /* it stays loaded, and so does the answer */
    return answer;
}

const char *culvi_soft_layer_path(void)
{
    return open_and_ask("culvSoftLayerPath");
}

const char *culvi_soft_add_layer_path(void)
{
    return open_and_ask("culvSoftAddLayerPath");
}

culv_result culv_soft_enable(void)
{
    CULVI_TEXT(text, 1536);
    void *module = culvi_soft_open(&text);
    if (module == NULL)
        return culvi_fail(NULL, NULL, CULV_ERROR_UNSUPPORTED, CULV_REASON_SOFT_MISSING,
                          "software twin: %s", text.data);
    if (!atomic_load(&allowed)) ask_twin(module, "culvSoftAddLayerPath");
    culvi_module_close(module);
    atomic_store(&allowed, true);
    return CULV_OK;
}
