# Set-up shared by the scripts beside it; sourced by them, after `cd` to the repository's root.
# SPDX-License-Identifier: MIT
# shellcheck shell=bash

# What each purpose needs of Debian 12. PACKAGE=COMMAND: any command of that name will do.
packages_build="gcc=gcc g++=g++ cmake=cmake ninja-build=ninja pkg-config=pkg-config glslang-tools=glslangValidator libvulkan-dev
    libvulkan-volk-dev libpng-dev libglfw3-dev libegl-dev libgl-dev python3=python3 python3-pycparser"
# The software twin: lavapipe and the Vulkan loader, llvmpipe and EGL.
packages_soft="libvulkan1 mesa-vulkan-drivers libegl1 libegl-mesa0 libgl1-mesa-dri"
packages_test="binutils=readelf vulkan-validationlayers libgl1 xvfb=Xvfb xauth=xauth xdotool=xdotool x11-apps=xwd
    python3-numpy python3-pytest python3-moderngl"
# What a change must pass besides: formats, headers, a build for Windows.
packages_ci="git=git clang-format=clang-format mypy libdlpack-dev abigail-tools=abidiff
    gcc-mingw-w64-x86-64-posix=x86_64-w64-mingw32-gcc g++-mingw-w64-x86-64-posix=x86_64-w64-mingw32-g++ mingw-w64-x86-64-dev
    directx-headers-dev libibverbs-dev libopenmpi-dev openmpi-bin=mpirun iproute2=ip ffmpeg=ffmpeg"
# The zip for Windows.
packages_windows="cmake=cmake ninja-build=ninja python3=python3 libvulkan-dev libvulkan-volk-dev llvm=llvm-dlltool
    gcc-mingw-w64-x86-64-posix=x86_64-w64-mingw32-gcc g++-mingw-w64-x86-64-posix=x86_64-w64-mingw32-g++ mingw-w64-x86-64-dev"
packages_fuzz="clang=clang libclang-rt-dev"
packages_clients="mpv=mpv gstreamer1.0-tools=gst-launch-1.0 gstreamer1.0-plugins-base gstreamer1.0-plugins-bad gstreamer1.0-gl"
# The long tier besides.
packages_long="clang=clang lld=lld-link llvm=llvm-dlltool wine64 libplacebo-dev doxygen=doxygen tcl=tclsh debootstrap=debootstrap
    clang-tidy=clang-tidy chromium-common libvtk9-dev linux-headers-amd64 make=make rustc=rustc bindgen=bindgen mono-mcs=mcs
    python3-sdl2 python3-pyglet python3-vispy $packages_clients"
# scripts/release, for what it makes on this machine; what it makes in bare roots brings its own.
packages_release="gcc=gcc cmake=cmake ninja-build=ninja libvulkan-dev python3=python3 python3-pycparser binutils=objdump git=git"
packages_root="debootstrap=debootstrap" # scripts/bare-root
packages_bundle="python3=python3 binutils=readelf libegl1 libglvnd0 libx11-6 libxext6"

say() { printf '== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

package_missing() { # PACKAGE[=COMMAND]
    [[ $1 == *=* ]] && command -v "${1#*=}" >/dev/null && return 1
    ! dpkg-query -W -f '${db:Status-Abbrev}\n' "${1%%=*}" 2>/dev/null | grep -q '^ii'
}

# Runs a command with all that it says in LOG. Every ten seconds it tells how long that has taken, and the log's last line.
watched() { # LOG COMMAND...
    local log=$1 ticker status=0
    shift
    : >"$log"
    (
        since=$SECONDS
        while sleep 10 >/dev/null 2>&1 && kill -0 $$ 2>/dev/null; do
            printf '   %3d s: %.90s\n' $((SECONDS - since)) "$(tail -n 1 "$log" | tr -d '\r')"
        done
    ) &
    ticker=$!
    "$@" >"$log" 2>&1 || status=$?
    kill $ticker 2>/dev/null || true
    wait $ticker 2>/dev/null || true
    return $status
}

# Installs what is missing of these packages, and nothing when nothing is.
need_packages() {
    local entry missing=() root=()
    for entry in "$@"; do
        if package_missing "$entry"; then missing+=("${entry%%=*}"); fi
    done
    [ ${#missing[@]} -eq 0 ] && return

    local by_hand="apt-get install --no-install-recommends -y ${missing[*]}"
    [ -z "${CULVERT_NO_APT:-}" ] || [ "$CULVERT_NO_APT" = 0 ] ||
        die "packages are missing, and CULVERT_NO_APT forbids installing them. As root: $by_hand"
    command -v apt-get >/dev/null || die "packages are missing and there is no apt-get; on Debian 12: $by_hand"
    if [ "$(id -u)" -ne 0 ]; then
        root=(sudo)
        [ -t 0 ] || root=(sudo -n)
        "${root[@]}" true 2>/dev/null ||
            die "packages are missing, and neither root nor sudo is to be had. As root: $by_hand"
    fi
    root+=(env DEBIAN_FRONTEND=noninteractive)

    say "installing, with what they need (build/apt.log): ${missing[*]}"
    # Without lists, or with lists that are too old, the first try fails; then they are fetched.
    watched build/apt.log "${root[@]}" apt-get install --no-install-recommends -y -q "${missing[@]}" ||
        { watched build/apt.log "${root[@]}" apt-get update -q &&
            watched build/apt.log "${root[@]}" apt-get install --no-install-recommends -y -q "${missing[@]}"; } ||
        { tail -n 20 build/apt.log >&2; die "installing failed (build/apt.log). As root: $by_hand"; }
}

# A version manager's python3 is a script that looks for one each time, and tests start it thousands of times.
plain_python() {
    local directory
    directory=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))') || return 0
    [ ! -x "$directory/python3" ] || [ "$(command -v python3)" = "$directory/python3" ] || PATH=$directory:$PATH
}

# A CUDA toolkit is needed for kernels that NVIDIA's GPUs run; it cannot come from Debian's archive, whose is too old.
have_cuda() {
    local dir
    for dir in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda; do
        [ -n "$dir" ] && [ -f "$dir/include/cuda.h" ] && return
    done
    return 1
}
need_cuda() {
    have_cuda || die "kernels for NVIDIA's GPUs need NVIDIA's CUDA toolkit, 12.8 or newer (no GPU or driver):
https://developer.nvidia.com/cuda-downloads, and CUDA_HOME if it is not in /usr/local/cuda."
}
like_cuda() {
    have_cuda || say "no CUDA toolkit: kernels are built for the software twin alone"
}

cores() { nproc 2>/dev/null || echo 2; }

# build DIR CMAKE_ARGUMENTS...: configures and builds ($build_target alone, if that is set: names), quietly unless it fails.
build() {
    local dir=$1
    shift
    mkdir -p "$dir"
    # A cache of other sources, or of another generator, cannot be reused.
    if [ -f "$dir/CMakeCache.txt" ] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$dir/CMakeCache.txt"; then
        rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
    fi
    watched "$dir/configure.log" cmake -S . -B "$dir" "$@" ||
        { tail -n 40 "$dir/configure.log" >&2; die "configuring failed ($dir/configure.log)"; }
    # shellcheck disable=SC2086 # a list of words
    watched "$dir/build.log" cmake --build "$dir" --parallel "$(cores)" ${build_target:+--target $build_target} ||
        { grep -E -A 6 '^FAILED|error:|undefined reference|^ninja: ' "$dir/build.log" | head -n 80 >&2; die "building failed ($dir/build.log)"; }
}
