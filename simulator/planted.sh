#!/usr/bin/env bash
# Plants each fault of simulator/planted alone in a copy of the tree, builds the simulator from it,
# and prints a row of a table: after how many commands, seeds and seconds it was found. It may take
# as many seconds as the first argument says, ten minutes unless it is given. Further arguments are
# the numbers of patches.
set -euo pipefail
cd "$(dirname "$0")/.."
limit=${1:-600}
shift || true
copy=$PWD/target/planted
# A target of its own: cargo tells packages apart by their places within a workspace, and would take
# what a fault was planted in for the real one.
export CARGO_TARGET_DIR=$copy/target
# Nobody measures here; link-time optimisation would take most of the time.
export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
mkdir -p "$copy"
# Only what differs is copied, so that little is built again; a fault that an interrupted run left in
# is taken out so.
git ls-files | while read -r file; do
  cmp --silent "$file" "$copy/$file" || cp --parents "$file" "$copy"
done
there() { find "$copy" -path "$CARGO_TARGET_DIR" -prune -o -type f -printf '%P\n' | sort; }
comm -13 <(git ls-files | sort) <(there) | while read -r file; do rm "$copy/$file"; done
# The copy is not taken for a part of the repository.
export GIT_CEILING_DIRECTORIES=$PWD/target
patches=("$PWD"/simulator/planted/*.patch)
cd "$copy"
found=0 missed=0
echo "| fault | commands | seeds | seconds | found as |"
echo "|---|---|---|---|---|"
for patch in "${patches[@]}"; do
  name=$(basename "$patch" .patch)
  if [ $# -gt 0 ] && [[ " $* " != *" ${name%%-*} "* ]]; then continue; fi
  git apply "$patch"
  built=0
  said=$(cargo build --quiet --release -p simulator 2>&1) || built=$?
  git apply --reverse "$patch"
  if [ "$built" != 0 ]; then
    printf '%s does not compile:\n%s\n' "$name" "$said" >&2
    exit 1
  fi
  cp "$CARGO_TARGET_DIR/release/simulator" "$copy/planted"
  began=$(date +%s%N)
  if said=$("$copy/planted" --for "$limit" --unshortened 2> /dev/null); then
    missed=$((missed + 1))
    echo "| $name | | | $limit | not found |"
    continue
  fi
  found=$((found + 1))
  tenths=$((($(date +%s%N) - began) / 100000000))
  read -r commands seeds < <(sed -n 's/^found with \([0-9]*\) commands of \([0-9]*\) seeds.*/\1 \2/p' <<< "$said")
  what=$(sed -n 's/^seed [0-9]*, step [0-9]*: //p' <<< "$said" | head -n 1 | cut -c 1-70)
  echo "| $name | $commands | $seeds | $((tenths / 10)).$((tenths % 10)) | ${what//|/ } |"
done
echo "$found found, $missed missed"
[ "$missed" -eq 0 ]
