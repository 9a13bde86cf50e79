"""Builds model.onnx for the onnxruntime peer from the same safetensors.

    python bench/peers/export_onnx.py MODEL_DIR model.onnx

The graph is the one that onnxruntime's own transformer optimiser arrives at
for BERT (fused Attention, SkipLayerNormalization and BiasGelu), so that the
peer is measured at its best; --plain writes standard operators instead.
--token-types gives the graph the third input that the usual exports have, for
callers that pass it (chromadb does).
Outputs the token states; pooling is the caller's, as in the usual exports.
"""

import json
import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

FUSED_DOMAIN = "com.microsoft"


class Graph:
    """Nodes and constants as they are added."""

    def __init__(self, weights, config, fused, token_types):
        self.weights = weights
        self.heads = config["num_attention_heads"]
        self.hidden = config["hidden_size"]
        self.epsilon = config["layer_norm_eps"]
        self.fused = fused
        self.token_types = token_types
        self.nodes = []
        self.constants = {}

    def constant(self, name, array):
        self.constants[name] = numpy_helper.from_array(numpy.ascontiguousarray(array), name)
        return name

    def weight(self, name):
        return self.constant(name, self.weights[name])

    def transposed(self, name):
        return self.constant(name + ".T", self.weights[name].T)

    def add(self, op, inputs, output, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], domain=domain, **attributes))
        return output

    def linear(self, x, prefix, output, bias=True):
        product = self.add("MatMul", [x, self.transposed(prefix + ".weight")], output + ".mm")
        if not bias:
            return product
        return self.add("Add", [product, self.weight(prefix + ".bias")], output)

    def norm(self, x, prefix, output):
        return self.add(
            "LayerNormalization",
            [x, self.weight(prefix + ".weight"), self.weight(prefix + ".bias")],
            output,
            axis=-1,
            epsilon=self.epsilon,
        )

    def residual_norm(self, x, residual, linear, norm, output):
        """LayerNorm(linear(x) + residual)."""
        if not self.fused:
            y = self.linear(x, linear, output + ".dense")
            return self.norm(self.add("Add", [y, residual], output + ".sum"), norm, output)
        y = self.linear(x, linear, output + ".dense", bias=False)
        inputs = [y, residual, norm + ".weight", norm + ".bias", linear + ".bias"]
        for name in inputs[2:]:
            self.weight(name)
        return self.add(
            "SkipLayerNormalization", inputs, output, FUSED_DOMAIN, epsilon=self.epsilon
        )

    def embeddings(self):
        words = self.add(
            "Gather", [self.weight("embeddings.word_embeddings.weight"), "input_ids"], "words"
        )
        types = self.weights["embeddings.token_type_embeddings.weight"]
        rows = self.weights["embeddings.position_embeddings.weight"]
        if self.token_types:
            kinds = self.add("Gather", [self.constant("types", types), "token_type_ids"], "kinds")
            words = self.add("Add", [words, kinds], "words.kinds")
        else:
            rows = rows + types[0]
        shape = self.add("Shape", ["input_ids"], "length", start=1, end=2)
        zero = self.constant("zero", numpy.array([0], dtype=numpy.int64))
        positions = self.add(
            "Slice", [self.constant("positions", rows), zero, shape, zero], "positions.used"
        )
        total = self.add("Add", [words, positions], "embeddings.sum")
        return self.norm(total, "embeddings.LayerNorm", "embeddings")

    def attention(self, x, prefix):
        parts = ["query", "key", "value"]
        if self.fused:
            weight = numpy.concatenate(
                [self.weights[f"{prefix}.self.{part}.weight"].T for part in parts], axis=1
            )
            bias = numpy.concatenate([self.weights[f"{prefix}.self.{part}.bias"] for part in parts])
            inputs = [
                x,
                self.constant(prefix + ".qkv.weight", weight),
                self.constant(prefix + ".qkv.bias", bias),
                "mask",
            ]
            return self.add(
                "Attention", inputs, prefix + ".context", FUSED_DOMAIN, num_heads=self.heads
            )
        width = self.hidden // self.heads
        split = self.constant("split", numpy.array([0, 0, self.heads, width], dtype=numpy.int64))
        join = self.constant("join", numpy.array([0, 0, self.hidden], dtype=numpy.int64))
        heads = {}
        for part in parts:
            y = self.linear(x, f"{prefix}.self.{part}", f"{prefix}.{part}")
            y = self.add("Reshape", [y, split], f"{prefix}.{part}.split")
            order = [0, 2, 3, 1] if part == "key" else [0, 2, 1, 3]
            heads[part] = self.add("Transpose", [y], f"{prefix}.{part}.heads", perm=order)
        scores = self.add("MatMul", [heads["query"], heads["key"]], prefix + ".scores")
        scale = self.constant("scale", numpy.array(width**-0.5, dtype=numpy.float32))
        scores = self.add("Mul", [scores, scale], prefix + ".scaled")
        scores = self.add("Add", [scores, "mask.added"], prefix + ".masked")
        weights = self.add("Softmax", [scores], prefix + ".weights", axis=-1)
        y = self.add("MatMul", [weights, heads["value"]], prefix + ".values")
        y = self.add("Transpose", [y], prefix + ".merged", perm=[0, 2, 1, 3])
        return self.add("Reshape", [y, join], prefix + ".context")

    def inner(self, x, prefix, output):
        if self.fused:
            y = self.linear(x, prefix, output, bias=False)
            return self.add(
                "BiasGelu", [y, self.weight(prefix + ".bias")], output + ".gelu", FUSED_DOMAIN
            )
        return self.add("Gelu", [self.linear(x, prefix, output)], output + ".gelu")

    def mask(self):
        if self.fused:
            self.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)
            return
        axes = self.constant("mask.axes", numpy.array([1, 2], dtype=numpy.int64))
        mask = self.add("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
        mask = self.add("Unsqueeze", [mask, axes], "mask.wide")
        one = self.constant("one", numpy.array(1, dtype=numpy.float32))
        low = self.constant("low", numpy.array(-1e9, dtype=numpy.float32))
        self.add("Mul", [self.add("Sub", [one, mask], "mask.inverse"), low], "mask.added")


def build(directory, fused, token_types):
    config = json.loads((directory / "config.json").read_text())
    graph = Graph(load_file(directory / "model.safetensors"), config, fused, token_types)
    graph.mask()
    x = graph.embeddings()
    for layer in range(config["num_hidden_layers"]):
        prefix = f"encoder.layer.{layer}"
        context = graph.attention(x, prefix + ".attention")
        output = prefix + ".attention.output"
        x = graph.residual_norm(context, x, output + ".dense", output + ".LayerNorm", output + ".y")
        inner = graph.inner(x, prefix + ".intermediate.dense", prefix + ".inner")
        output = prefix + ".output"
        x = graph.residual_norm(inner, x, output + ".dense", output + ".LayerNorm", output + ".y")
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask", "token_type_ids")[: 3 if token_types else 2]
    ]
    states = helper.make_tensor_value_info(x, TensorProto.FLOAT, ["batch", "tokens", graph.hidden])
    body = helper.make_graph(
        graph.nodes, "bert", inputs, [states], initializer=list(graph.constants.values())
    )
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid(FUSED_DOMAIN, 1)]
    model = helper.make_model(body, opset_imports=opsets)
    model.ir_version = 10
    return model


def main() -> None:
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    directory, target = (pathlib.Path(argument) for argument in arguments)
    fused, token_types = "--plain" not in sys.argv, "--token-types" in sys.argv
    onnx.save(build(directory, fused, token_types), target)
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
