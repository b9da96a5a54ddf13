#!/bin/sh
# use.sh PART: in a bare root of Debian 12 that has /release/dist, and nothing else of Culvert: installs the artefacts of
# that part, builds hello_vulkan and a CMake project against them, runs them on the software twin, uninstalls, and looks
# for what is left. It knows the files of /release alone. The parts autopkgtest and pages run Debian's tests, and the
# commands of the pages, with what is installed; the sources that they read are those of the archive.
# SPDX-License-Identifier: MIT
set -eu
part=$1
here=/release
dist=$here/dist
export DEBIAN_FRONTEND=noninteractive PYTHONDONTWRITEBYTECODE=1 LC_ALL=C.UTF-8
unset CULVERT_SOFT CULVERT_SOFT_PATH VK_ADD_LAYER_PATH VK_LAYER_PATH LD_LIBRARY_PATH CMAKE_PREFIX_PATH PKG_CONFIG_PATH
fail() { echo "FAIL: $part: $*"; exit 1; }
say() { printf '== %s: %s\n' "$part" "$*"; }
one() { # PATTERN: the one file of that name
    # shellcheck disable=SC2086 # a pattern
    set -- $1
    [ $# -eq 1 ] && [ -e "$1" ] || fail "not one file is called $1"
    echo "$1"
}
apt_install() {
    { apt-get update -q && apt-get install -q -y --no-install-recommends "$@"; } >/tmp/apt.log 2>&1 ||
        { tail -n 20 /tmp/apt.log; fail "apt-get install $*"; }
}
# Every file that there is, but for logs, caches and lists.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /release -o -path /culvert -o -path /var/log \
        -o -path /var/cache -o -path /var/lib/apt -o -path /root/.cache -o -path '/var/lib/dpkg/*-old' \) -prune -o -print | sort
}
same() { # the files are those of before
    files >/tmp/after
    diff /tmp/before /tmp/after >/tmp/left
}
before() {
    files >/tmp/before
    [ "$(wc -l </tmp/before)" -gt 5000 ] || fail "this looks at few files"
    # What would be left behind is seen: a file, a link, an empty directory, and one that went.
    for change in "touch /usr/lib/left" "ln -s nowhere /opt/left" "mkdir -p /usr/share/doc/left" "mv /etc/issue /tmp/issue"; do
        $change
        if same; then fail "after '$change' the files look like those of before"; fi
        rm -rf /usr/lib/left /opt/left /usr/share/doc/left
        [ ! -e /tmp/issue ] || mv /tmp/issue /etc/issue
    done
    same || fail "two looks differ"
}
after() {
    same || { head -n 20 /tmp/left; fail "the files are not those of before"; }
    say "uninstalled, and nothing is left"
}
right() { # PROGRAM: hello_vulkan's data is right on the twin
    said=$(cd /tmp && CULVERT_SOFT=1 "$1") || fail "$1 failed"
    echo "$said" | grep -q ': 0 of 32131 pixels are wrong' || fail "$1: $said"
}
# hello EXAMPLES [CMAKE_ARGUMENT...]: its source comes with the artefact, and pkg-config and CMake find the library.
hello() {
    examples=$1
    shift
    rm -rf /tmp/project /tmp/built
    mkdir -p /tmp/project
    say "hello_vulkan by pkg-config"
    # shellcheck disable=SC2046 # several words
    gcc -std=c11 "$examples/hello_vulkan.c" -o /tmp/hello $(pkg-config --cflags --libs culvert vulkan) -lm \
        -Wl,-rpath,"$(pkg-config --variable=libdir culvert)"
    right /tmp/hello
    say "a CMake project"
    cp "$examples/hello_vulkan.c" /tmp/project/
    cp "$examples/hello_cpp.cpp" "$here/project/CMakeLists.txt" /tmp/project/
    cmake -S /tmp/project -B /tmp/built -DCMAKE_BUILD_TYPE=Release "$@" >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail cmake; }
    cmake --build /tmp/built >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "cmake --build"; }
    for program in hello_shared hello_static hello_cpp; do right /tmp/built/$program; done
}
# culvert-check sees hello_vulkan, which hello() has built, and finds nothing wrong.
check() { # COMMAND
    (cd /tmp && CULVERT_SOFT=1 "$1" --text /tmp/said /tmp/hello >/dev/null) || { cat /tmp/said; fail culvert-check; }
    grep -q ' 2 imports into CUDA' /tmp/said && grep -q '^culvert-check: 0 findings' /tmp/said || { cat /tmp/said; fail culvert-check; }
}
manuals() { # DIRECTORY [SUFFIX]
    for program in info check kernels soft-run; do
        [ -s "$1/culvert-$program.1${2-}" ] || fail "culvert-$program has no manual page in $1"
    done
}
# The twin for a program that knows nothing of Culvert.
soft_run() { # COMMAND
    "$1" python3 -c 'import ctypes; print(ctypes.CDLL("libcuda.so.1").cuInit(0))' | grep -qx 0 || fail culvert-soft-run
}
purge() {
    # shellcheck disable=SC2046 # several words
    apt-get purge -q -y $(dpkg-query -W -f '${Package} ${Status}\n' | sed -n 's/^\(\(python3-\|lib\)\{0,1\}culvert[^ ]*\) .*/\1/p') >/tmp/apt.log 2>&1 ||
        { cat /tmp/apt.log; fail purge; }
    apt-get autoremove -q -y --purge >/tmp/apt.log 2>&1
}
unpack_sources() {
    rm -rf /opt/source
    mkdir /opt/source
    tar -xzf "$dist/$(cd "$dist" && ls culvert-*.tar.gz | grep -v -e -linux-)" -C /opt/source --strip-components=1
}
tools="gcc g++ make cmake pkg-config python3 libvulkan-dev mesa-vulkan-drivers"

(cd "$dist" && sha256sum --quiet -c SHA256SUMS) || fail "SHA256SUMS"
case $part in
source)
    # shellcheck disable=SC2086 # a list of words
    apt_install $tools
    before
    archive=$dist/$(cd "$dist" && ls culvert-*.tar.gz | grep -v -e -linux-)
    mkdir /tmp/source
    tar -xzf "$archive" -C /tmp/source --strip-components=1
    cmake -S /tmp/source -B /tmp/build -DCULVERT_SOFT=ON >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail cmake; }
    cmake --build /tmp/build --parallel 2 >/tmp/cmake.log 2>&1 || { tail -n 20 /tmp/cmake.log; fail "cmake --build"; }
    cmake --install /tmp/build --prefix /usr/local >/dev/null
    ldconfig
    hello /usr/local/share/doc/culvert/examples
    xargs rm <"/tmp/build/install_manifest.txt"
    # No manifest has directories: those that are new are empty now.
    files | comm -13 /tmp/before - | sort -r | while read -r path; do [ ! -d "$path" ] || rmdir "$path"; done
    ldconfig
    ;;
linux)
    # shellcheck disable=SC2086
    apt_install $tools
    before
    archive=$(one "$dist/culvert-*-linux-x86_64.tar.gz")
    mkdir -p "/opt/somewhere else"
    tar -xzf "$archive" -C "/opt/somewhere else"
    newest=$(find /opt -type f \( -name '*.so*' -o -perm -u+x \) -exec objdump -T {} + 2>/dev/null | grep -o 'GLIBC_[0-9.]*' |
        sed 's/GLIBC_//' | sort -Vu | tail -n 1)
    [ "$(printf '%s\n' "$newest" 2.31 | sort -V | tail -n 1)" = 2.31 ] || fail "it needs glibc $newest, and should run with 2.31"
    say "it needs glibc $newest"
    mv "/opt/somewhere else/$(basename "$archive" .tar.gz)" /opt/culvert # relocatable: at two places
    mkdir /opt/other
    cp -a /opt/culvert /opt/other/here
    for prefix in /opt/culvert /opt/other/here; do
        PKG_CONFIG_PATH=$prefix/lib/pkgconfig
        export PKG_CONFIG_PATH
        hello "$prefix/share/doc/culvert/examples" -DCMAKE_PREFIX_PATH="$prefix"
        soft_run "$prefix/bin/culvert-soft-run"
        check "$prefix/bin/culvert-check"
        manuals "$prefix/share/man/man1"
        "$prefix/bin/culvert-info" --soft | head -n 1 | grep -q 'software only: ' || fail culvert-info
        CULVERT_SOFT=1 PYTHONPATH=$prefix/lib/python3/dist-packages python3 -c \
            'import culvert; assert "twin" in culvert.Device().name' || fail "import culvert"
    done
    rm -r "/opt/somewhere else" /opt/other /opt/culvert
    ;;
old)
    # Debian 11, whose glibc is the oldest: everything loads, and tells what else the machine lacks.
    before
    archive=$(one "$dist/culvert-*-linux-x86_64.tar.gz")
    mkdir /opt/culvert
    tar -xzf "$archive" -C /opt/culvert --strip-components=1
    CULVERT_SOFT=1 /opt/culvert/bin/culvert-info --soft >/tmp/said || true
    grep -q '^  Software twin  CUDA 13.0, /opt/culvert/lib/libculvert-soft.so.0' /tmp/said || { cat /tmp/said; fail "culvert-info"; }
    say "the libraries load with $(ldd --version | head -n 1)"
    rm -r /opt/culvert
    ;;
aarch64)
    # Cross-compiled, and run by qemu-user with Mesa's lavapipe for that machine.
    dpkg --add-architecture arm64
    # shellcheck disable=SC2086
    apt_install $tools qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross libvulkan1:arm64 mesa-vulkan-drivers:arm64
    before
    archive=$(one "$dist/culvert-*-linux-aarch64.tar.gz")
    mkdir /opt/culvert
    tar -xzf "$archive" -C /opt/culvert --strip-components=1
    aarch64-linux-gnu-gcc -std=c11 /opt/culvert/share/doc/culvert/examples/hello_vulkan.c -o /tmp/hello \
        $(PKG_CONFIG_PATH=/opt/culvert/lib/pkgconfig pkg-config --cflags --libs culvert) -Wl,-rpath,/opt/culvert/lib \
        -Wl,--allow-shlib-undefined /usr/lib/aarch64-linux-gnu/libvulkan.so.1 -lm
    printf '#!/bin/sh\nVK_DRIVER_FILES=/usr/share/vulkan/icd.d/lvp_icd.aarch64.json exec qemu-aarch64-static /tmp/hello\n' >/tmp/run
    chmod +x /tmp/run
    right /tmp/run
    say "hello_vulkan by qemu-user"
    rm -r /opt/culvert
    ;;
debian)
    release=$(. /etc/os-release && echo "$VERSION_ID")
    # shellcheck disable=SC2086
    apt_install $tools
    before
    apt_install "$dist/debian$release"/*.deb
    hello /usr/share/doc/culvert-doc/examples/samples/hello
    soft_run culvert-soft-run
    check culvert-check
    manuals /usr/share/man/man1 .gz
    culvert-info --soft | head -n 1 | grep -q 'software only: ' || fail culvert-info
    CULVERT_SOFT=1 /usr/bin/python3 -c 'import culvert; assert "twin" in culvert.Device().name' || fail "import culvert"
    purge
    ;;
python)
    # The source archive is built by pip, which asks no index. The wheel needs neither compiler nor headers.
    # shellcheck disable=SC2086
    apt_install $tools python3-venv python3-numpy
    before
    wheel=$(one "$dist/python/culvert-*.whl")
    sources=$(one "$dist/python/culvert-*.tar.gz")
    for package in "$wheel" "$sources"; do
        say "pip install $(basename "$package")"
        python3 -m venv --system-site-packages /opt/venv
        /opt/venv/bin/python -m pip install -q --no-index "$package" >/tmp/pip.log 2>&1 || { cat /tmp/pip.log; fail pip; }
        (cd / && CULVERT_SOFT=1 /opt/venv/bin/python "$here/tensor.py" /opt/venv) || fail "$package"
        /opt/venv/bin/python -m pip uninstall -q -y culvert
        left=$(find /opt/venv -name '*culvert*')
        [ -z "$left" ] || fail "left behind: $left"
        rm -r /opt/venv
    done
    ;;
rust)
    # Rust of Debian 12 (1.63), the crates as a directory of vendored sources, and the library of the Linux archive.
    # shellcheck disable=SC2086
    apt_install $tools rustc cargo
    before
    archive=$(one "$dist/culvert-*-linux-x86_64.tar.gz")
    mkdir /opt/culvert /tmp/vendor
    tar -xzf "$archive" -C /opt/culvert --strip-components=1
    for crate in "$dist"/crates/*.crate; do
        tar -xzf "$crate" -C /tmp/vendor
        printf '{"files":{},"package":"%s"}' "$(sha256sum "$crate" | cut -d' ' -f1)" \
            >"/tmp/vendor/$(basename "$crate" .crate)/.cargo-checksum.json"
    done
    mkdir -p /tmp/rust-project/.cargo /tmp/rust-project/src
    cp "$here/rust/Cargo.toml" /tmp/rust-project/
    cp /tmp/vendor/culvert-[0-9]*/examples/frames.rs /tmp/rust-project/src/main.rs
    printf '[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "/tmp/vendor"\n' \
        >/tmp/rust-project/.cargo/config.toml
    (cd /tmp/rust-project && CARGO_HOME=/tmp/cargo CULVERT_LIB_DIR=/opt/culvert/lib cargo build -q --offline) || fail "cargo build"
    said=$(CULVERT_SOFT=1 LD_LIBRARY_PATH=/opt/culvert/lib /tmp/rust-project/target/debug/uses-culvert) || fail "the Rust program"
    echo "$said" | grep -q '^0 of [0-9]* bytes are wrong' || fail "the Rust program: $said"
    say "$said"
    rm -r /opt/culvert
    ;;
windows)
    # Cross-compiled from what the zip has: a project finds it, and its sample links the DLL. The test
    # windows.zip runs the zip's programs under Wine.
    apt_install cmake make gcc-mingw-w64-x86-64-posix python3 libvulkan-dev
    before
    zip=$(one "$dist/culvert-*-windows-x86_64.zip")
    mkdir /tmp/zip
    python3 -m zipfile -e "$zip" /tmp/zip
    tree=/tmp/zip/$(basename "$zip" .zip)
    mkdir /tmp/windows-project
    cp "$tree/samples/hello_d3d12.c" "$here/project/CMakeLists.txt" /tmp/windows-project/
    cmake -S /tmp/windows-project -B /tmp/windows -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=x86_64-w64-mingw32-gcc \
        -Dculvert_DIR="$tree/lib/cmake/culvert" >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail cmake; }
    cmake --build /tmp/windows >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "cmake --build"; }
    for program in /tmp/windows/hello.exe "$tree/bin/culvert-info.exe" "$tree/bin/culvert-selftest.exe"; do
        x86_64-w64-mingw32-objdump -p "$program" >/tmp/said
        grep -q 'DLL Name: culvert-0.dll' /tmp/said || fail "$program does not link culvert-0.dll"
        grep 'DLL Name: ' /tmp/said | grep -q -i 'libgcc\|winpthread\|libstdc' && fail "$program needs MinGW's DLLs"
    done
    rm -r /tmp/zip
    ;;
autopkgtest)
    release=$(. /etc/os-release && echo "$VERSION_ID")
    apt_install autopkgtest build-essential
    unpack_sources
    status=0
    autopkgtest --no-built-binaries "$dist/debian$release"/*.deb /opt/source --output-dir /tmp/autopkgtest -- null >/tmp/said 2>&1 || status=$?
    cat /tmp/autopkgtest/summary
    [ $status -eq 0 ] && [ "$(grep -c ' PASS' /tmp/autopkgtest/summary)" -eq "$(grep -c '^Tests: ' /opt/source/debian/tests/control)" ] ||
        { tail -n 60 /tmp/said; fail "autopkgtest ended with $status"; }
    purge
    rm -r /opt/source
    exit 0
    ;;
pages)
    # apt asks its reader; here nobody answers.
    printf 'APT::Get::Assume-Yes "true";\n' >/tmp/apt.conf
    RELEASE=$dist DEBIAN=$(. /etc/os-release && echo "$VERSION_ID") APT_CONFIG=/tmp/apt.conf TMPDIR=/tmp
    export RELEASE DEBIAN APT_CONFIG TMPDIR
    apt_install gcc g++ make cmake pkg-config python3-venv
    unpack_sources
    failed=0
    python3 "$here/pages.py" run /opt/source bare || failed=1
    apt_install jq python3-numpy "$dist/debian$DEBIAN"/*.deb
    python3 "$here/pages.py" run /opt/source packages || failed=1
    purge
    python3 "$here/pages.py" run /opt/source tree || failed=1
    rm -r /opt/source
    [ $failed -eq 0 ] || fail "commands of the pages"
    exit 0
    ;;
*) fail "no such part" ;;
esac
after
