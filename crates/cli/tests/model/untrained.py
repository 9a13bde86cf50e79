"""Writes a tiny language model that was never trained, as a GGUF file.

It has the architecture of Llama, a vocabulary of bytes and weights by chance from a fixed seed. What it
says means nothing; that it can be made to say it in the form of a schema is what it is for: a server
holds it to a grammar as it holds any other model.
"""

import sys

import gguf
import numpy

WIDTH = 64
LAYERS = 2
HEADS = 4
INNER = 128
CONTEXT = 8192
SPECIAL = ["<unk>", "<s>", "</s>"]
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
)


def vocabulary():
    tokens = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [gguf.TokenType.UNKNOWN, gguf.TokenType.CONTROL, gguf.TokenType.CONTROL]
    kinds += [gguf.TokenType.BYTE] * 256
    return tokens, kinds


def tensors(size):
    chance = numpy.random.default_rng(seed=7)

    def matrix(rows, columns):
        return (chance.standard_normal((rows, columns)) / numpy.sqrt(columns)).astype(numpy.float32)

    ones = numpy.ones(WIDTH, dtype=numpy.float32)
    yield "token_embd.weight", matrix(size, WIDTH)
    yield "output_norm.weight", ones
    yield "output.weight", matrix(size, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        yield f"{block}.attn_norm.weight", ones
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"{block}.{part}.weight", matrix(WIDTH, WIDTH)
        yield f"{block}.ffn_norm.weight", ones
        yield f"{block}.ffn_gate.weight", matrix(INNER, WIDTH)
        yield f"{block}.ffn_up.weight", matrix(INNER, WIDTH)
        yield f"{block}.ffn_down.weight", matrix(WIDTH, INNER)


def write(path):
    tokens, kinds = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("untrained")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in tensors(len(tokens)):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(sys.argv[1])
