"""Measures onnxruntime (f32, two threads) at what the in-process embedder does:
text in, normalised mean-pooled vector out, tokenizing included.

    python bench/peers/embed_onnxruntime.py MODEL_DIR model.onnx [FIXTURE]

Prints one line of JSON, the keys of crates/embed/examples/embed_bench.rs.
Passages are given in the batch size that suits onnxruntime best of those
tried. With the fixture of reference embeddings, also the least agreement with
it, which shows that the graph is right.
"""

import base64
import json
import pathlib
import statistics
import sys
import time

import numpy
import onnxruntime
from tokenizers import Tokenizer

# The texts of crates/embed/examples/embed_bench.rs: 16 and 128 tokens.
QUERY = "which of my security groups are open to the internet on any port now"
WORDS = "the quick brown fox jumps over the lazy dog while seven grey ships carry cold water".split()
PASSAGE = " ".join((WORDS * 8)[:126])
THREADS = 2
WARM_UP_S = 0.5
QUERIES = 400
PASSAGES = 16
ROUNDS = 24
BATCHES = (1, 4, 16)
TOKEN_LIMIT = 256


class Peer:
    def __init__(self, directory, graph):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(graph), options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.tokenizer.enable_truncation(TOKEN_LIMIT)
        self.tokenizer.enable_padding()

    def embed(self, texts):
        encodings = self.tokenizer.encode_batch_fast(texts)
        ids = numpy.array([encoding.ids for encoding in encodings], dtype=numpy.int64)
        mask = numpy.array([encoding.attention_mask for encoding in encodings], dtype=numpy.int64)
        states = self.session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        weights = mask[:, :, None].astype(numpy.float32)
        means = (states * weights).sum(axis=1) / weights.sum(axis=1)
        return means / numpy.linalg.norm(means, axis=1, keepdims=True)


def query_times(peer):
    started = time.perf_counter()
    while time.perf_counter() - started < WARM_UP_S:
        peer.embed([QUERY])
    times = []
    for _ in range(QUERIES):
        started = time.perf_counter()
        peer.embed([QUERY])
        times.append((time.perf_counter() - started) * 1e3)
    return sorted(times)


def passage_rate(peer, batch):
    best = 0.0
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(0, PASSAGES, batch):
            peer.embed([PASSAGE] * batch)
        best = max(best, PASSAGES / (time.perf_counter() - started))
    return best


def least_agreement(peer, fixture):
    cosines = []
    for case in json.loads(fixture.read_text())["cases"]:
        reference = numpy.frombuffer(base64.b64decode(case["embedding"]), dtype="<f4")
        cosines.append(float(peer.embed([case["text"]])[0] @ reference))
    return min(cosines)


def main() -> None:
    directory, graph, *fixture = (pathlib.Path(argument) for argument in sys.argv[1:])
    peer = Peer(directory, graph)
    lengths = [len(encoding.ids) for encoding in map(peer.tokenizer.encode, (QUERY, PASSAGE))]
    assert lengths == [16, 128], lengths
    times = query_times(peer)
    result = {
        "engine": f"onnxruntime {onnxruntime.__version__} f32",
        "query16_p50_ms": statistics.median(times),
        "query16_min_ms": times[0],
    }
    rates = {batch: passage_rate(peer, batch) for batch in BATCHES}
    result["passages128_batch"] = max(rates, key=rates.get)
    result["passages128_per_s"] = max(rates.values())
    if fixture:
        result["least_agreement"] = least_agreement(peer, fixture[0])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
