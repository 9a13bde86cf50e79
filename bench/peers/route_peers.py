"""Routing among the catalogue's documents with chromadb, and with onnxruntime
and numpy alone; and onnxruntime's embedding of the query by itself.

    python bench/peers/route_peers.py MODEL_DIR WORK_DIR DOCUMENTS

Prints {"ready": …} when everything is loaded, then answers each line of JSON on
stdin, {"what": "chromadb" | "numpy" | "embedding", "queries": […]}, with one
line: {"times_ms": […], "top": […]}, the time of each query and its best document.

WORK_DIR keeps the graphs and the documents' vectors for the next run.
"""

import hashlib
import json
import pathlib
import shutil
import sys
import time

import chromadb
import numpy
import onnx
import onnxruntime
from chromadb.config import Settings
from chromadb.utils.embedding_functions import ONNXMiniLM_L6_V2

import export_onnx
from embed_onnxruntime import Peer

CANDIDATES = 5
BATCH = 16
ADD_BATCH = 1_000
# Files that chromadb looks for; of these it reads the graph and the tokenizer.
CHROMA_FILES = (
    "config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
    "tokenizer.json",
    "vocab.txt",
)


def graph(model, path, token_types):
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        onnx.save(export_onnx.build(model, fused=True, token_types=token_types), partial)
        partial.rename(path)
    return path


def own_embedding_function(model, work):
    """chromadb's MiniLM as it is, but for where it finds its files: it would
    download them; here are the same weights and tokenizer, and a fused graph
    where its own has standard operators."""
    ONNXMiniLM_L6_V2.DOWNLOAD_PATH = work / "chroma"
    extracted = work / "chroma" / ONNXMiniLM_L6_V2.EXTRACTED_FOLDER_NAME
    graph(model, extracted / "model.onnx", token_types=True)
    for name in CHROMA_FILES:
        if (model / name).exists():
            shutil.copyfile(model / name, extracted / name)
        else:
            (extracted / name).write_text("{}")
    return ONNXMiniLM_L6_V2()


def vectors(peer, texts, work):
    digest = hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
    kept = work / f"vectors-{digest}.npy"
    if kept.exists():
        return numpy.load(kept)
    rows = numpy.zeros((len(texts), 384), dtype=numpy.float32)
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    for start in range(0, len(order), BATCH):
        part = order[start : start + BATCH]
        rows[part] = peer.embed([texts[at] for at in part])
    numpy.save(kept, rows)
    return rows


class Peers:
    def __init__(self, model, work, documents):
        rows = [json.loads(line) for line in documents.read_text(encoding="utf-8").splitlines()]
        self.ids = [row["id"] for row in rows]
        texts = [row["text"] for row in rows]
        self.peer = Peer(model, graph(model, work / "fused.onnx", token_types=False))
        self.rows = vectors(self.peer, texts, work)
        client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
        self.collection = client.create_collection(
            "skills",
            embedding_function=own_embedding_function(model, work),
            configuration={"hnsw": {"space": "cosine"}},
        )
        for start in range(0, len(rows), ADD_BATCH):
            part = slice(start, start + ADD_BATCH)
            self.collection.add(
                ids=self.ids[part], documents=texts[part], embeddings=self.rows[part]
            )

    def chromadb(self, query):
        found = self.collection.query(query_texts=[query], n_results=CANDIDATES)
        return found["ids"][0][0]

    def numpy(self, query):
        scores = self.rows @ self.peer.embed([query])[0]
        best = numpy.argpartition(scores, -CANDIDATES)[-CANDIDATES:]
        best = best[numpy.argsort(-scores[best])]
        return self.ids[best[0]]

    def embedding(self, query):
        self.peer.embed([query])

    def answer(self, what, queries):
        work = {"chromadb": self.chromadb, "numpy": self.numpy, "embedding": self.embedding}[what]
        times, top = [], []
        for query in queries:
            started = time.perf_counter()
            found = work(query)
            times.append((time.perf_counter() - started) * 1e3)
            top.append(found)
        return {"times_ms": times, "top": top}


def main():
    model, work, documents = (pathlib.Path(argument) for argument in sys.argv[1:])
    peers = Peers(model, work, documents)
    engines = {
        "chromadb": f"chromadb {chromadb.__version__}, its MiniLM on onnxruntime {onnxruntime.__version__}",
        "numpy": f"onnxruntime {onnxruntime.__version__} f32 and numpy {numpy.__version__}",
        "embedding": f"onnxruntime {onnxruntime.__version__} f32",
    }
    print(json.dumps({"ready": engines}), flush=True)
    for line in sys.stdin:
        print(json.dumps(peers.answer(**json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
