"""Runs Python clients for tests, each in a process that is forked from this one.

    forks.py SCRIPT SOCKET

Importing an SDK takes a second; forking a process that has imported it takes a hundredth of one. This process imports
SCRIPT and listens on the Unix socket SOCKET. For each connection it forks a client, which

- writes its process id as a line,
- reads a line with a JSON array and calls the script's coroutine `main` with the items, whose standard input and output
  are the connection,
- writes the line `ended` when `main` has returned.

This process ends when its standard input is closed. It then removes the socket with its directory.
"""

import asyncio
import gc
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import traceback


def imported(path):
    spec = importlib.util.spec_from_file_location("client", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(connection, main):
    for stream in (0, 1):
        os.dup2(connection.fileno(), stream)
    connection.close()
    print(os.getpid(), flush=True)
    asyncio.run(main(*json.loads(sys.stdin.readline())))
    print("ended", flush=True)


def main(script, path):
    client = imported(script)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    print("ready", flush=True)
    # Garbage collection in a client would otherwise touch, and so copy, all imported objects.
    gc.freeze()
    # The kernel reaps clients that have ended.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
        connection, _ = listener.accept()
        if os.fork() == 0:
            code = 1
            try:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listener.close()
                run(connection, client.main)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        connection.close()
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


main(*sys.argv[1:])
