# Wine for scripts/wine-test and scripts/wine-run; sourced by them. `skip` is theirs.
#
# What has to be in this order, and why:
# - The prefix is made before the server is told to stay (wineserver -p), which needs it.
# - RpcSs is disabled: Wine's explorer waits ten seconds for it each time it starts, and it starts after each pause.
# - The services start here, with no output of their own. A service that starts anew while a program runs would keep
#   that program's output open, and whoever reads that would wait for ever.
# - winedbg stays off: a crash would wait in it until the time limit.
# - Direct3D needs a screen, which is Xvfb's.
# - Textures of Direct3D 12 need a layer: soft/wine/vulkan_layer.c says why, and the host's compiler makes it.
# SPDX-License-Identifier: MIT
# shellcheck shell=bash

find_tool() { command -v "$1" || command -v "/usr/lib/wine/$1" || true; }
wine_path() { printf 'Z:%s' "$1" | tr / '\\'; } # as Windows' programs name it
quiet() { "$@" </dev/null >/dev/null 2>&1; }

# Finds Wine, a screen and a Vulkan driver, or skips. Sets the environment of Wine with this prefix.
wine_find() { # PREFIX
    wine=$(find_tool wine64)
    server=$(find_tool wineserver64)
    [ -n "$server" ] || server=$(find_tool wineserver)
    [ -n "$wine" ] && [ -n "$server" ] || skip "Wine is not installed (Debian: wine64); the Windows half is compiled only"
    command -v Xvfb >/dev/null || skip "Xvfb is not installed (Debian: xvfb), and Wine's Direct3D needs a screen"
    # All of them: where packages of two machines are installed, the loader takes its own.
    icd=$(find /usr/share/vulkan/icd.d -name 'lvp_icd*.json' 2>/dev/null | paste -sd : || true)
    [ -n "$icd" ] || skip "lavapipe is not installed (Debian: mesa-vulkan-drivers), which Wine's Direct3D 12 draws with"
    unset TMPDIR # with it Debian 13's Wine aborts: free(): invalid pointer
    export WINEPREFIX=$1 WINEDEBUG=${CULVERT_WINEDEBUG:--all}
    export WINEDLLOVERRIDES="mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d"
    export VK_ICD_FILENAMES=$icd VK_DRIVER_FILES=$icd LIBGL_ALWAYS_SOFTWARE=1
    screen=
}

# Wine's processes may outlive their server, and `wineserver -w` may wait for ever.
wine_stop() {
    local environment process
    quiet timeout -k 5 30 "$server" -k || true
    quiet timeout -k 5 30 "$server" -w || true
    [ -z "$screen" ] || { kill "$screen" && wait "$screen"; } 2>/dev/null || true
    for environment in /proc/[0-9]*/environ; do
        process=${environment//[!0-9]/}
        [ "$process" != $$ ] && grep -qszFx "WINEPREFIX=$WINEPREFIX" "$environment" || continue
        kill -9 "$process" 2>/dev/null || true
    done
}

# Opens a screen and starts Wine, with a new prefix where there is none.
wine_start() { # DIRECTORY
    mkdir -p "$1"
    rm -f "$1/display"
    Xvfb -displayfd 7 -screen 0 640x480x24 -nolisten tcp 7>"$1/display" >/dev/null 2>&1 &
    screen=$!
    for _ in $(seq 200); do
        [ ! -s "$1/display" ] || break
        sleep 0.1
    done
    [ -s "$1/display" ] || { echo "FAILED: Xvfb opened no screen" >&2; exit 1; }
    DISPLAY=:$(cat "$1/display")
    export DISPLAY
    if [ ! -f "$WINEPREFIX/culvert-made" ]; then
        mkdir -p "$WINEPREFIX"
        quiet timeout 300 "$wine" wineboot -i || { echo "FAILED: Wine makes no prefix" >&2; exit 1; }
        quiet "$wine" reg add 'HKLM\System\CurrentControlSet\Services\RpcSs' /v Start /t REG_DWORD /d 4 /f
        quiet timeout -k 5 30 "$server" -k || true
        quiet timeout -k 5 30 "$server" -w || true
        touch "$WINEPREFIX/culvert-made"
    fi
    quiet "$server" -p
    quiet timeout 300 "$wine" wineboot || { echo "FAILED: Wine does not start" >&2; exit 1; }
}

wine_layer() { # SOURCE DIRECTORY
    mkdir -p "$2"
    cc -shared -fPIC -fvisibility=hidden "$1/soft/wine/vulkan_layer.c" -o "$2/libwine_layer.so" || return 1
    printf '{"file_format_version": "1.1.2", "layer": {"name": "VK_LAYER_CULVERT_wine", "type": "GLOBAL", "library_path": "%s",
        "api_version": "1.3.0", "implementation_version": "1", "description": "Direct3D under Wine"}}\n' \
        "$2/libwine_layer.so" >"$2/wine_layer.json"
}
