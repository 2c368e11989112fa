# What a host is like, a line key=value for each fact, on standard output. What cannot be read has no line; nothing is
# judged, and nothing is changed. For any POSIX sh. Needs no root, though without it some lines may be missing.
#
# sh facts.sh [ROOT]    ROOT: where the host's root folder is mounted, without a / at its end; none on the host itself.

root=${1-}

fact() {
    # A value is one line, whatever was read.
    printf '%s=%s\n' "$1" "$(printf '%s' "$2" | tr '\n\r' '  ')"
}

# The first line of a file, as a fact; no line where there is none to be read.
first_line() {
    # Not with `read`: some shells read byte by byte, and files of /proc/sys give nothing after the first.
    line=$(head -n 1 "$2" 2>/dev/null)
    if [ -n "$line" ]; then fact "$1" "$line"; fi
}

# "present" where any of the paths is there, else "absent".
presence() {
    name=$1
    shift
    found=absent
    for path in "$@"; do
        [ -e "$root$path" ] && found=present
    done
    fact "$name" "$found"
}

machine() {
    if [ -r "$root/proc/sys/kernel/arch" ]; then
        first_line arch "$root/proc/sys/kernel/arch"
    else
        fact arch "$(uname -m)"
    fi
    first_line kernel "$root/proc/sys/kernel/osrelease"
    if [ -r "$root/proc/cmdline" ]; then
        # Only what matters here: the rest is nobody's business, and what is printed may be kept.
        fact cmdline "$(tr ' ' '\n' <"$root/proc/cmdline" | grep -e '^virtcca_' -e '^arm_smmu' -e '^vfio' -e '^iommu')"
    fi
    name=$(sed -n 's/^PRETTY_NAME="\{0,1\}\([^"]*\)"\{0,1\}$/\1/p' "$root/etc/os-release" 2>/dev/null)
    [ -n "$name" ] && fact os "$name"
    size=$(awk '$1 == "MemTotal:" { print $2 }' "$root/proc/meminfo" 2>/dev/null)
    [ -n "$size" ] && fact memory_kib "$size"
    count=$(grep -c '^processor' "$root/proc/cpuinfo" 2>/dev/null)
    [ "${count:-0}" -gt 0 ] && fact cpus "$count"
    for node in "$root"/sys/devices/system/node/node[0-9]*; do
        [ -d "$node" ] && fact numa_node "${node##*/node}"
    done
    first_line inotify_instances "$root/proc/sys/fs/inotify/max_user_instances"
    first_line inotify_watches "$root/proc/sys/fs/inotify/max_user_watches"
    first_line overcommit "$root/proc/sys/vm/overcommit_memory"
}

selinux() {
    if [ -r "$root/sys/fs/selinux/enforce" ]; then
        if [ "$(cat "$root/sys/fs/selinux/enforce")" = 1 ]; then fact selinux enforcing; else fact selinux permissive; fi
    elif [ -r "$root/proc/filesystems" ] && ! grep -q selinuxfs "$root/proc/filesystems"; then
        fact selinux disabled
    fi
}

# What runs, of what matters here. The line `processes` says that it could be seen.
processes() {
    [ -r "$root/proc/1/comm" ] || return 0
    fact processes seen
    for entry in "$root"/proc/[0-9]*; do
        if IFS= read -r comm <"$entry/comm"; then
            case $comm in
            containerd | containerd-nydus* | crio | firewalld | k0s | k3s* | kubelet | microk8s* | rke2*) echo "$comm" ;;
            esac
        fi 2>/dev/null
    done | sort -u | while IFS= read -r comm; do fact process "$comm"; done
}

containerd() {
    for path in /usr/local/bin/containerd /usr/bin/containerd; do
        [ -x "$root$path" ] || continue
        # A line as: containerd github.com/containerd/containerd v1.7.27 05044ec0a9a7
        version=$("$root$path" --version </dev/null 2>/dev/null | awk 'NR == 1 { sub(/^v/, "", $3); print $3 }')
        [ -n "$version" ] && fact containerd_version "$path $version"
    done
    config=$root/etc/containerd/config.toml
    if [ ! -e "$config" ]; then
        # A folder that may not be looked into says nothing about what is in it.
        if [ ! -d "$root/etc/containerd" ] || [ -x "$root/etc/containerd" ]; then fact containerd_config absent; fi
    elif [ -r "$config" ]; then
        fact containerd_config present
        containerd_config
    else
        fact containerd_config unreadable
    fi
    if [ -e "$config.bak" ] && [ -r "$config.bak" ] && [ -r "$config" ]; then
        if [ "$(cat "$config")" = "$(cat "$config.bak")" ]; then same=same; else same=differs; fi
        fact containerd_backup "$same"
    elif [ -e "$config.bak" ]; then
        fact containerd_backup differs
    elif [ ! -d "$root/etc/containerd" ] || [ -x "$root/etc/containerd" ]; then
        fact containerd_backup absent
    fi
}

# Lines of TOML without comments; a list that goes over several lines is joined to one.
containerd_config() {
    plain=$(sed 's/^[[:space:]]*#.*$//; s/[[:space:]]#[^"]*$//' "$config" | awk '
        open { text = text " " $0; if ($0 ~ /\]/) { print text; open = 0 } ; next }
        /=[[:space:]]*\[[^]]*$/ { text = $0; open = 1; next }
        { print }
        END { if (open) print text }')
    setting() { printf '%s\n' "$plain" | sed -n "s/^[[:space:]]*$1[[:space:]]*=[[:space:]]*//p" | head -n 1; }
    for key in version disabled_plugins imports disable_snapshot_annotations discard_unpacked_layers; do
        value=$(setting "$key")
        [ -n "$value" ] && fact "config_$key" "$value"
    done
    if printf '%s\n' "$plain" | grep -q '^[[:space:]]*\[proxy_plugins\."\{0,1\}nydus"\{0,1\}\]'; then
        fact config_nydus present
    fi
}

# Left by an earlier installation, or by one that is in use.
installed() {
    presence kata /opt/kata
    first_line kata_version "$root/opt/kata/VERSION"
    presence nydus /etc/systemd/system/nydus-snapshotter.service /opt/confidential-containers
    for entry in "$root"/var/lib/containerd-nydus/*; do
        [ -e "$entry" ] && fact nydus present && break
    done
    presence k3s /etc/rancher/k3s /var/lib/rancher/k3s
    presence rke2 /etc/rancher/rke2 /var/lib/rancher/rke2
    presence k0s /var/lib/k0s
    presence microk8s /var/snap/microk8s
    for spec in "$root"/etc/cdi/*; do
        [ -e "$spec" ] && fact cdi "${spec##*/}"
    done
}

# virtCCA: the module tmm_driver shows memory and state under /sys/kernel/tmm; KVM says in the kernel's log that it
# found the TMM. The log loses its beginning in time, and only a whole one can show that something was not said.
virtcca() {
    presence kvm /dev/kvm
    first_line virtcca_enabled "$root/sys/kernel/tmm/virtcca_enabled"
    if [ -r "$root/sys/kernel/tmm/memory_info" ]; then
        awk '$1 == "numa" && $2 == "node" && ($4 == "size:" || $4 == "free:") {
            sub(/Mi$/, "", $5); print "secure_" substr($4, 1, 4) "_mib=" $3 " " $5
        }' "$root/sys/kernel/tmm/memory_info" 2>/dev/null
    fi
    log=$(dmesg 2>/dev/null)
    for file in /var/log/dmesg /var/log/kern.log /var/log/messages; do
        # The words themselves and the start of a boot, and not the whole file, which may be large.
        [ -r "$root$file" ] && log="$log
$(grep -e 'TMM feature0:' -e ': Linux version ' "$root$file" 2>/dev/null | tail -n 20)"
    done
    feature=$(printf '%s\n' "$log" | sed -n 's/.*TMM feature0: *//p' | tail -n 1)
    [ -n "$feature" ] && fact tmm_feature0 "$feature"
    # Only the running kernel's own log counts as whole: a file may be of another boot.
    if dmesg 2>/dev/null | grep -q 'Linux version '; then fact kernel_log whole; fi
    count=0
    for group in "$root"/sys/kernel/iommu_groups/[0-9]*; do
        [ -d "$group" ] && count=$((count + 1))
    done
    [ -d "$root/sys/kernel/iommu_groups" ] && fact iommu_groups "$count"
    return 0
}

main() {
    fact facts 1
    machine
    selinux
    processes
    containerd
    installed
    virtcca
    # Its absence shows that something cut this short.
    fact end 1
}

# All of it has been read before anything runs, so that nothing can eat the rest of a script that comes on stdin.
main </dev/null
