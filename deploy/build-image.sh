#!/bin/sh
# Builds the operator's image with buildah and writes it as an OCI archive: `make image`.
#
#     deploy/build-image.sh ARCHIVE [BASE]
#
# BASE is an image (NAME or NAME@DIGEST), or a tar archive of a root file system with Python. Two builds of the same
# tree on the same base give the same digest; NO_CACHE=1 builds all of it anew. Prints the digest, and the size on top of the base; fails if that is
# more than LIMIT_MB.
set -eu

archive=$1 base=${2:-python:3.12-slim}
name=localhost/grove-operator:${TAG:-dev}
limit=${LIMIT_MB:-150}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/grove-testbed/buildah
image() { buildah --root "$cache/storage" --runroot "$cache/run" --storage-driver "${STORAGE_DRIVER:-overlay}" "$@"; }
megabytes() { image images --format '{{.Size}}' "$1" | awk '{print $2 == "GB" ? $1 * 1000 : $2 == "kB" ? $1 / 1000 : $1}'; }

mkdir -p "$cache" "$(dirname "$archive")"

# An archive becomes an image, once: its name has the digest of what is in it.
if [ -f "$base" ]; then
  digest=$(sha256sum "$base" | cut -c 1-12)
  if ! image inspect --type image "localhost/grove-base:$digest" >/dev/null 2>&1; then
    container=$(image from scratch)
    image add --quiet "$container" "$base" / >/dev/null
    image commit --quiet --timestamp 0 "$container" "localhost/grove-base:$digest" >/dev/null
    image rm "$container" >/dev/null
  fi
  base=localhost/grove-base:$digest
fi

# What pip needs to reach its index from this machine, it needs in the build.
set --
for variable in PIP_CERT PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_DEFAULT_TIMEOUT; do
  if value=$(printenv "$variable"); then set -- "$@" --build-arg "$variable=$value"; fi
done
if [ -n "${PIP_CERT:-}" ]; then set -- "$@" --volume "$PIP_CERT:$PIP_CERT:ro"; fi

image build --quiet --layers ${NO_CACHE:+--no-cache} --isolation chroot --network host --timestamp 0 --file deploy/Dockerfile --tag "$name" \
  --build-arg "BASE=$base" --build-arg "VERSION=${VERSION:-unknown}" --build-arg "REVISION=${REVISION:-unknown}" \
  "$@" . >/dev/null
rm -f "$archive"
image push --quiet "$name" "oci-archive:$archive:$name" >/dev/null

added=$(awk "BEGIN {print $(megabytes "$name") - $(megabytes "$base")}")
echo "$name: $(tar --extract --to-stdout --file "$archive" index.json | grep -o 'sha256:[0-9a-f]*'), $added MB on top of $base"
if awk "BEGIN {exit !($added > $limit)}"; then
  echo "That is more than $limit MB: look for what a dependency brought along." >&2
  exit 1
fi
