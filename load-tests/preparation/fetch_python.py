"""Fetches the Python files of a distribution's wheel, a few MB of some hundred:

  fetch_python.py NAME VERSION DIRECTORY"""

import io
import json
import sys
import urllib.request
import zipfile

name, version, directory = sys.argv[1:]


class Remote(io.RawIOBase):
    """A file on a server, of which only what is read is fetched."""

    def __init__(self, url, size):
        self.url, self.size, self.position = url, size, 0

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        return self.position

    def seek(self, offset, whence=io.SEEK_SET):
        self.position = offset + (0, self.position, self.size)[whence]
        return self.position

    def readinto(self, buffer):
        end = min(self.position + len(buffer), self.size)
        if self.position >= end:
            return 0
        request = urllib.request.Request(self.url, headers={"Range": f"bytes={self.position}-{end - 1}"})
        with urllib.request.urlopen(request) as answer:
            if answer.status != 206:
                raise SystemExit(f"{self.url} is not served in parts")
            data = answer.read()
        buffer[: len(data)] = data
        self.position += len(data)
        return len(data)


def wheel():
    request = urllib.request.Request(
        f"https://pypi.org/simple/{name}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(request) as answer:
        files = json.load(answer)["files"]
    wheels = [file for file in files
              if file["filename"].startswith(f"{name}-{version}-") and file["filename"].endswith(".whl")]
    wheels.sort(key=lambda file: "x86_64" not in file["filename"])
    if not wheels:
        raise SystemExit(f"there is no wheel of {name} {version}")
    return wheels[0]["url"]


def size(url):
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        return int(answer.headers["Content-Length"])


url = wheel()
archive = zipfile.ZipFile(io.BufferedReader(Remote(url, size(url)), buffer_size=4 << 20))
for entry in archive.infolist():
    if entry.filename.endswith((".py", "METADATA", ".jinja")):
        archive.extract(entry, directory)
