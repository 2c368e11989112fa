# What the scripts of components.artifacts.builds are made of. For any POSIX sh with git, tar and sha256sum.

set -eu

wrong() { echo "$*" >&2; exit 1; }

# checkout NAME FOLDER URL COMMIT
checkout() {
    [ -d "$2/.git" ] || git init -q "$2" >&2
    # Not every server gives a single commit; then all of it, from which the commit is taken.
    git -C "$2" fetch -q --depth 1 "$3" "$4" 2>/dev/null ||
        git -C "$2" fetch -q --tags "$3" '+refs/heads/*:refs/fetched/*' >&2 ||
        wrong "$1: $3 cannot be fetched."
    git -C "$2" checkout -q --force --detach "$4" >&2 || wrong "$1: $3 has no commit $4."
    git -C "$2" clean -qdfx >&2
    echo "source $1 $4"
}

# build NAME LOG COMMAND
build() {
    if ! sh -c "$3" </dev/null >"$2" 2>&1; then
        tail -n 40 "$2" >&2
        wrong "Build $1 failed; all it said is in $2 on the builder."
    fi
}

# at_commit FOLDER COMMIT
at_commit() {
    found=$(git -C "$1" rev-parse HEAD 2>/dev/null) || wrong "$1 is no git repository, and should be one at $2."
    [ "$found" = "$2" ] || wrong "$1 is at $found and not at $2: the command took another version than is asked for."
}

# unrejected FOLDER
unrejected() {
    [ -d "$1" ] || wrong "there is no folder $1."
    rejected=$(find "$1" -name '*.rej' | head -n 3 | tr '\n' ' ')
    [ -z "$rejected" ] || wrong "patches were not applied and the command went on: $rejected"
}

# product PATH [END OF A NAME THAT THE TARBALL HAS]...
product() {
    path=$1
    shift
    [ -s "$path" ] || wrong "$path did not come out, or is empty."
    if [ $# -gt 0 ]; then
        names=$(tar -tf "$path") || wrong "$path is no tarball that can be read."
        for end in "$@"; do
            printf '%s\n' "$names" | awk -v end="$end" '
                length($0) >= length(end) && substr($0, length($0) - length(end) + 1) == end { found = 1 }
                END { exit !found }' || wrong "$path has no $end."
        done
    fi
    sum=$(sha256sum "$path")
    echo "file ${sum%% *} $path"
}

# pushed NAME REFERENCE
pushed() {
    digest=$(skopeo inspect --format '{{.Digest}}' "docker://$2" 2>/dev/null) || digest=
    if [ -z "$digest" ]; then
        # After a push docker knows it too.
        digest=$(docker image inspect --format '{{range .RepoDigests}}{{println .}}{{end}}' "$2" 2>/dev/null |
            sed -n "s|^${2%:*}@||p" | head -n 1)
    fi
    case $digest in
    sha256:????????????????????????????????????????????????????????????????) echo "image $1 ${2%:*}@$digest" ;;
    *) wrong "image $1 is not in the registry as $2, or neither skopeo nor docker can tell its digest." ;;
    esac
}
