# What the scripts of this folder share; each sources it.
# SPDX-License-Identifier: MIT
# shellcheck shell=sh
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
undo=:
trap 'eval "$undo"; rm -rf "$work"' EXIT
export LC_ALL=C NODEVICE_SELECT=1

# Says what failed and the end of its log, and ends the script with 2: nothing is known then.
unknown() {
    echo "nothing is known: $1" >&2
    tail -n 20 "$work/log" >&2
    exit 2
}

# Installs packages of Debian 12 where that version is not installed: package=version ...
debian12() {
    wanted=
    for pin; do
        [ "$(dpkg-query -W -f '${db:Status-Status} ${Version}' "${pin%%=*}" 2>/dev/null)" = "installed ${pin#*=}" ] ||
            wanted="$wanted $pin"
    done
    [ -n "$wanted" ] || return 0
    # shellcheck disable=SC2086 # a list of words
    { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install $wanted; } \
        >"$work/log" 2>&1 || unknown "apt-get cannot install$wanted"
}

# Unpacks packages of bookworm-backports below $work/root, without installing them: package=version ...
backports() {
    mkdir -p "$work/apt/lists/partial" "$work/apt/archives/partial" "$work/debs"
    mirror=$(sed -n 's/^URIs: *//p; s/^deb \(\[.*\] \)*\(http[^ ]*\) .*/\2/p' /etc/apt/sources.list.d/debian.sources \
        /etc/apt/sources.list 2>/dev/null | head -n 1)
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm-backports main" >"$work/apt/list"
    cat >"$work/apt/conf" <<END
APT::Sandbox::User "root"; Dir::Etc::SourceList "$work/apt/list"; Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/apt/lists"; Dir::Cache "$work/apt";
END
    (cd "$work/debs" && export APT_CONFIG="$work/apt/conf" && apt-get -qq update && apt-get -qq download "$@") >"$work/log" 2>&1 ||
        unknown "apt-get cannot download $*"
    for deb in "$work"/debs/*.deb; do dpkg -x "$deb" "$work/root"; done
}

# Chooses Debian 12's lavapipe and brings a compiler.
lavapipe22() {
    debian12 gcc=4:12.2.0-3 libvulkan-dev=1.3.239.0-1 glslang-tools=12.0.0-2 mesa-vulkan-drivers=22.3.6-1+deb12u2
    export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
}

# Chooses the lavapipe of bookworm-backports and brings a compiler.
lavapipe25() {
    lavapipe22
    backports mesa-vulkan-drivers=25.0.7-2~bpo12+1 libdrm2=2.4.123-1~bpo12+1
    lib=$work/root/usr/lib/x86_64-linux-gnu
    sed "s|\"library_path\": \"[^\"]*\"|\"library_path\": \"$lib/libvulkan_lvp.so\"|" \
        "$work/root/usr/share/vulkan/icd.d/lvp_icd.json" >"$work/lvp25.json"
    export VK_DRIVER_FILES="$work/lvp25.json" LD_LIBRARY_PATH="$lib"
}

# Chooses Chromium's SwiftShader, as npm's package of a headless Chromium brings it, and brings a compiler.
swiftshader147() {
    debian12 gcc=4:12.2.0-3 libvulkan-dev=1.3.239.0-1 glslang-tools=12.0.0-2
    command -v npm >/dev/null || debian12 npm=9.2.0~ds1-1
    (cd "$work" && npm pack --silent @sparticuz/chromium@147.0.0 && tar xf sparticuz-chromium-147.0.0.tgz package/bin/swiftshader.tar.br &&
        node -e 'process.stdin.pipe(require("zlib").createBrotliDecompress()).pipe(process.stdout)' \
            <package/bin/swiftshader.tar.br | tar x) >"$work/log" 2>&1 || unknown "npm cannot bring SwiftShader"
    export VK_DRIVER_FILES="$work/vk_swiftshader_icd.json"
}

# Brings packages of npm to $work/node_modules: name@version ...
npm_modules() {
    command -v npm >/dev/null || debian12 npm=9.2.0~ds1-1
    (cd "$work" && npm install --ignore-scripts --no-audit --no-fund "$@") >"$work/log" 2>&1 || unknown "npm cannot bring $*"
}

# Compiles standard input to $work/NAME; vk.h and shaders' headers are found: NAME, gcc's arguments ...
compile() {
    name=$1
    shift
    gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -O1 -I"$here" -I"$work" -x c - -x none -o "$work/$name" "$@" 2>"$work/log" ||
        unknown "gcc does not compile $name"
}

# Compiles a compute shader from standard input to $work/NAME.h with the array NAME: NAME.
shader() {
    cat >"$work/$1.comp"
    glslangValidator -V --target-env vulkan1.1 --vn "$1" -o "$work/$1.h" "$work/$1.comp" >"$work/log" || unknown "glslangValidator does not compile $1"
    sed -i '1i #include <stdint.h>' "$work/$1.h"
}

# Starts a screen of its own, without a window manager.
screen() {
    debian12 xvfb=2:21.1.7-3+deb12u13
    Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>"$work/display" >"$work/log" 2>&1 &
    undo="kill $! || :; $undo"
    for _ in $(seq 100); do [ -s "$work/display" ] || sleep 0.2; done
    DISPLAY=:$(cat "$work/display")
    export DISPLAY LIBGL_ALWAYS_SOFTWARE=1
}

# Brings GStreamer with its OpenGL elements, which draw by llvmpipe on a screen of their own.
gstreamer122() {
    debian12 gstreamer1.0-tools=1.22.0-2+deb12u1 gstreamer1.0-plugins-base=1.22.0-3+deb12u7 gstreamer1.0-gl=1.22.0-3+deb12u7 \
        libgstreamer-gl1.0-0=1.22.0-3+deb12u7 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2
    screen
    export GST_GL_PLATFORM=egl GST_GL_WINDOW=x11 GST_GL_API=opengl3
    unset EGL_PLATFORM
}

# Brings moderngl, which draws by llvmpipe without a screen.
moderngl57() {
    debian12 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2 libegl1=1.6.0-1 libgl1=1.6.0-1 \
        python3-moderngl=5.7.4-1+b1 python3-numpy=1:1.24.2-1+deb12u1
    export EGL_PLATFORM=surfaceless LIBGL_ALWAYS_SOFTWARE=1
}

# Brings PyOpenGL, and a module `context` that makes a context of llvmpipe's current, without a screen.
pyopengl316() {
    debian12 libgl1-mesa-dri=22.3.6-1+deb12u2 libegl-mesa0=22.3.6-1+deb12u2 libegl1=1.6.0-1 libgl1=1.6.0-1 libopengl0=1.6.0-1 \
        python3-opengl=3.1.6+dfsg-3 python3-numpy=1:1.24.2-1+deb12u1
    export PYOPENGL_PLATFORM=egl EGL_PLATFORM=surfaceless LIBGL_ALWAYS_SOFTWARE=1
    cat >"$work/context.py" <<'PY'
from OpenGL.EGL import *

display = eglGetDisplay(EGL_DEFAULT_DISPLAY)
eglInitialize(display, EGLint(), EGLint())
eglBindAPI(EGL_OPENGL_API)
config = (EGLConfig * 1)()
eglChooseConfig(display, (EGLint * 3)(EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_NONE), config, 1, EGLint())
eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, eglCreateContext(display, config[0], EGL_NO_CONTEXT, None))
PY
}

# Brings PyOpenCL and pocl, and a module `pocl` with a queue on it.
pocl31() {
    debian12 python3-pyopencl=2022.3.1-2.1 pocl-opencl-icd=3.1-3+deb12u1 python3-numpy=1:1.24.2-1+deb12u1
    export PYOPENCL_NO_CACHE=1 POCL_CACHE_DIR="$work/pocl"
    cat >"$work/pocl.py" <<'PY'
import pyopencl

platform = next(p for p in pyopencl.get_platforms() if "Portable" in p.name)
context = pyopencl.Context(platform.get_devices())
queue = pyopencl.CommandQueue(context)
PY
}

# Runs the body of a GDScript from standard input without a screen; what it prints is in $work/seen.
godot32() {
    debian12 godot3-server=3.2.3-stable-1+b3
    { printf 'extends SceneTree\nfunc _init():\n' && sed 's/^/\t/; s/    /\t/g' && printf '\tquit()\n'; } >"$work/seen.gd"
    (cd "$work" && HOME="$work" LC_ALL=en_US godot3-server --no-window -s seen.gd) 2>"$work/log" | sed '/^Godot Engine/d; /^ *$/d' >"$work/seen"
}

# Runs a Python program from standard input on llvmpipe, and on zink, which draws by lavapipe; what it prints is in $work/seen.
zink22() {
    pyopengl316
    debian12 mesa-vulkan-drivers=22.3.6-1+deb12u2 libvulkan1=1.3.239.0-1
    export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
    { printf 'from context import *\nfrom OpenGL.GL import *\n' && cat; } >"$work/seen.py"
    : >"$work/seen"
    for driver in llvmpipe zink; do
        { echo "$driver:" && GALLIUM_DRIVER=$driver /usr/bin/python3 "$work/seen.py" 2>"$work/log"; } >>"$work/seen" || unknown "PyOpenGL on $driver"
    done
}

# Compiles standard input for Windows and runs it in Debian 12's Wine on lavapipe, in a prefix and on a screen of its own.
wine8() {
    debian12 gcc-mingw-w64-x86-64-posix=12.2.0-14+deb12u1+25.2+b1 wine64=8.0~repack-4 libwine=8.0~repack-4 \
        mesa-vulkan-drivers=22.3.6-1+deb12u2 libgl1-mesa-dri=22.3.6-1+deb12u2
    x86_64-w64-mingw32-gcc -Wall -Wextra -O1 -I"$here" -x c - -o "$work/program.exe" -ld3d12 -ld3d11 -ld3d9 -ldxguid \
        -ld3dcompiler_47 -lwindowscodecs -lole32 -luuid 2>"$work/log" ||
        unknown "mingw does not compile the program"
    export WINEPREFIX="$work/prefix" WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml=;winemenubuilder.exe,winedbg.exe=d'
    export VK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.x86_64.json
    screen
    undo="/usr/lib/wine/wineserver64 -k || :; $undo"
    # Without RpcSs Wine does not wait 10 s for it, now and then.
    { /usr/lib/wine/wine64 wineboot -i && /usr/lib/wine/wine64 reg add 'HKLM\System\CurrentControlSet\Services\RpcSs' \
        /v Start /t REG_DWORD /d 4 /f && /usr/lib/wine/wineserver64 -k; } </dev/null >>"$work/log" 2>&1 || unknown "Wine's prefix"
    /usr/lib/wine/wineserver64 -w
    /usr/lib/wine/wine64 "$work/program.exe" </dev/null 2>>"$work/log" | tr -d '\r' >"$work/seen"
}

# Compares what was seen with what is recorded, and ends the script with 1 if it has changed: recorded text, seen text.
same() {
    if [ "$1" != "$2" ]; then
        printf 'changed. Recorded:\n%s\nSeen now:\n%s\n' "$1" "$2" >&2
        exit 1
    fi
    printf 'still so:\n%s\n' "$2"
}
