#!/bin/sh
# Installs the load generator wrk as FOLDER/bin/wrk: the one on the PATH, or else Debian's package, unpacked into FOLDER.
# apt keeps its lists in FOLDER, so it needs neither root nor `apt-get update` beforehand.
#
#     sh bench/install_wrk.sh FOLDER
set -eu

rm -rf "$1"
mkdir -p "$1/bin" "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
folder="$(cd "$1" && pwd)"
environment=""

if ! program="$(command -v wrk)"; then
    apt() {
        apt-get -qq -o APT::Sandbox::User=root -o Dir::State::Lists="$folder/apt/lists" \
            -o Dir::Cache="$folder/apt/cache" "$@"
    }
    cd "$folder/apt"
    apt update
    apt download wrk libluajit-5.1-2
    for package in *.deb; do
        dpkg-deb -x "$package" "$folder"
    done
    program="$folder/usr/bin/wrk"
    environment="LD_LIBRARY_PATH='$(echo "$folder"/usr/lib/*-linux-gnu*)' "
fi
cd "$folder"
rm -r apt

cat > "$folder/started" <<WRAPPER
#!/bin/sh
${environment}exec '$program' "\$@"
WRAPPER
chmod +x "$folder/started"
# wrk prints its version, and fails because no URL is given.
"$folder/started" --version | grep '^wrk '
mv "$folder/started" "$folder/bin/wrk"
