"""Serves a model file as OpenAI and Anthropic do, on a free port of this machine, until standard input
ends. Prints its address.

Usage: server.py MODEL KEY
"""

import sys

import xllamacpp


def main(model, key):
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.api_keys = [key]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.warmup = False
    server = xllamacpp.Server(params)
    print(f"listening at {server.listening_address}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
