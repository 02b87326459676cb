#!/bin/sh
# Runs the GPU kit on a machine that has torch and no network, from the wheels of `make gpu-kit`.
set -e
cd "$(dirname "$0")/../.."
site=$(mktemp -d)
python3 -m pip install --quiet --no-index --no-deps --no-compile --target "$site" build/gpu-kit/*.whl
export PYTHONPATH="$PWD:$site"
exec python3 tests/gpu/kit.py "$@"
