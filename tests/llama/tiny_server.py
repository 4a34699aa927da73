"""A genuine llama.cpp server on this machine, over a tiny model with random weights that is made on the spot.

    python tiny_server.py FOLDER PORT        (needs: pip install xllamacpp gguf numpy)

What the model says is noise. What is genuine is the server: its chat endpoint, its grammars made of JSON schemas, its streams and
its errors. So it proposes what no sane model would, in the form that it was asked for. It ends when its standard input does.
"""
import sys
from pathlib import Path

import gguf
import numpy as np


def write_model(out: Path, embd=64, layers=1, heads=4, ff=128, ctx=32768, seed=0) -> None:
    "Write a llama model with random weights. Its words are single printable signs, so that noise stays valid text."
    rng = np.random.default_rng(seed)
    w = gguf.GGUFWriter(out, "llama")
    w.add_name("tiny-random"); w.add_context_length(ctx); w.add_embedding_length(embd); w.add_block_count(layers)
    w.add_feed_forward_length(ff); w.add_head_count(heads); w.add_head_count_kv(heads)
    w.add_rope_dimension_count(embd // heads); w.add_layer_norm_rms_eps(1e-5); w.add_file_type(gguf.LlamaFileType.ALL_F32)
    kind = gguf.TokenType
    tokens = [("<unk>", 0.0, kind.UNKNOWN), ("<s>", 0.0, kind.CONTROL), ("</s>", 0.0, kind.CONTROL)]
    tokens += [(f"<0x{b:02X}>", 0.0, kind.UNUSED if b >= 0x80 else kind.BYTE) for b in range(256)]
    tokens += [("\u2581", -1.0, kind.NORMAL), *((chr(c), -2.0 - c / 100, kind.NORMAL) for c in range(33, 127)), ("<|im_start|>", 0.0, kind.CONTROL), ("<|im_end|>", 0.0, kind.CONTROL)]
    w.add_vocab_size(len(tokens)); w.add_tokenizer_model("llama"); w.add_tokenizer_pre("default")
    w.add_token_list([t.encode() for t, _, _ in tokens]); w.add_token_scores([s for _, s, _ in tokens]); w.add_token_types([int(k) for _, _, k in tokens])
    w.add_bos_token_id(1); w.add_eos_token_id(2); w.add_unk_token_id(0); w.add_add_bos_token(True); w.add_add_space_prefix(False)
    w.add_chat_template("{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
    noise, ones = (lambda *shape: (rng.standard_normal(shape) * 0.05).astype(np.float32)), np.ones(embd, np.float32)
    w.add_tensor("token_embd.weight", noise(len(tokens), embd)); w.add_tensor("output_norm.weight", ones); w.add_tensor("output.weight", noise(len(tokens), embd))
    for i in range(layers):
        for name, shape in {"attn_q": (embd, embd), "attn_k": (embd, embd), "attn_v": (embd, embd), "attn_output": (embd, embd), "ffn_gate": (ff, embd), "ffn_up": (ff, embd), "ffn_down": (embd, ff)}.items():
            w.add_tensor(f"blk.{i}.{name}.weight", noise(*shape))
        for name in ("attn_norm", "ffn_norm"): w.add_tensor(f"blk.{i}.{name}.weight", ones)
    w.write_header_to_file(); w.write_kv_data_to_file(); w.write_tensors_to_file(); w.close()


if __name__ == "__main__":
    import xllamacpp
    model = Path(sys.argv[1]) / "tiny.gguf"
    write_model(model)
    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = str(model), 32768, 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1               # two spinning threads on two cores take a thousand times as long
    params.hostnames, params.port, params.warmup, params.ui = ["127.0.0.1"], int(sys.argv[2]), False, False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
