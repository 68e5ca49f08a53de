#!/bin/sh
# What a user gets: build the wheel, install it in a new environment, and run every command in an
# empty folder far from the checkout. Needs nothing from the network but the package index.
#
#     scripts/check_wheel.sh [PYTHON]
set -eu
cd "$(dirname "$0")/.."
root=$PWD
python=${1:-python3}
work=$(mktemp -d)
unset PYTHONPATH  # the wheel is to be found, not the checkout
trap 'rm -rf "$work"' EXIT

say() { echo "wheel: $*" >&2; }
fail() { say "$*"; exit 1; }

# Runs a command that has to succeed; what it says is shown only if it does not.
runs() {
    "$@" >"$work/said" 2>&1 && { say "ok    ${*##*/bin/}"; return; }
    cat "$work/said" >&2
    fail "FAILED ${*##*/bin/}"
}

# Runs a command that has to exit with 2 and to name an extra.
names_extra() {
    extra=$1; shift
    code=0
    "$@" >"$work/said" 2>&1 || code=$?
    if [ "$code" = 2 ] && grep -qF "pip install \"nearsym[$extra]\"" "$work/said"; then
        say "ok    without [$extra]: ${*##*/bin/}"
        return
    fi
    cat "$work/said" >&2
    fail "FAILED exit code $code, and it has to be 2 and to name nearsym[$extra]: ${*##*/bin/}"
}

# From a copy: a build folder of the checkout may hold files that the package no longer has.
mkdir "$work/source" "$work/empty"
cp -r pyproject.toml README.md LICENSE src "$work/source"
find "$work/source" -name __pycache__ -prune -exec rm -rf {} +
rm -rf "$work"/source/src/*.egg-info
"$python" -m venv "$work/venv"
pip="$work/venv/bin/python -m pip --disable-pip-version-check"
say "building"
$pip wheel -qq "$work/source" --no-deps --wheel-dir "$work/wheel"
wheel=$(ls "$work"/wheel/nearsym-*.whl)

say "installing $(basename "$wheel")"
$pip install -qq --constraint "$root/constraints.txt" "$wheel"
cd "$work/empty"
nearsym=$work/venv/bin/nearsym
runs "$nearsym" --help
runs "$nearsym" tasks --json
runs "$nearsym" train craft --preset smoke --frames 600 --out craft
runs "$nearsym" eval craft --episodes 2
runs "$nearsym" audit craft --samples 100
runs "$nearsym" bench layers --quick
runs "$nearsym" study regret --scale smoke --seeds 1 --workers 2
for shell in bash zsh fish; do runs "$nearsym" --print-completion $shell; done
names_extra dmc "$nearsym" train cartpole-swingup --preset smoke --obs state
names_extra trading "$nearsym" train trading --preset smoke
names_extra trading "$nearsym" data show
names_extra cluster "$nearsym" study regret --scale smoke --seeds 2 --cluster auto
names_extra onnx "$nearsym" export craft policy.onnx
names_extra plots "$nearsym" audit craft --samples 100 --plot where.png
names_extra plots "$nearsym" eval craft --episodes 1 --video film.mp4

say "installing the extras"
$pip install -qq --constraint "$root/constraints.txt" "$wheel[all]"
runs "$nearsym" train cartpole-swingup --preset smoke --obs state --out cartpole
runs "$nearsym" train --resume cartpole --frames 2400
runs "$nearsym" eval craft --episodes 1 --video film.mp4
runs "$nearsym" audit cartpole --samples 100
runs "$nearsym" audit craft --samples 100 --plot where.png
runs "$nearsym" train trading --preset smoke --out trading
runs "$nearsym" data show
runs "$nearsym" export cartpole policy.onnx
runs "$work/venv/bin/python" "$root/examples/run_onnx.py" policy.onnx
runs "$work/venv/bin/python" -c 'import nearsym; nearsym.Run("craft").plot("curve.png")'

$pip show --files nearsym | sed '1,/^Files:/d' >"$work/files"
grep -q nearsym/__init__.py "$work/files" || fail "FAILED pip does not list the package's files"
if grep -v -E '^  (nearsym/|nearsym-[^/]*\.dist-info/|\.\./\.\./\.\./bin/nearsym$)' "$work/files" ||
    grep -E '/(tests?|test_[^/]*\.py)' "$work/files"; then
    fail "FAILED the wheel holds more than the package (above)"
fi
say "ok    the package, and nothing else"
