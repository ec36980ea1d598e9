"""What make_table.py cannot find by experiment, each entry with its reason."""

import importlib.util
import re

PARTS = "rotates image patches by parts of a row and column, which are no whole positions"
MEMORY = "rotates the patches of frames kept in memory, whose sizes are not those of a head"
LEARNED = "turns the token in front of its patches by learned angles"
NOTHING = "its attention rotates nothing"
# The parts that hold a text model, the best first.
TEXT_PARTS = ("text_config", "thinker_config", "vlm_config", "decoder_config", "decoder",
              "global_config", "language_config", "encoder_config", "dit_config", "esmc_config")

# Keys without which transformers cannot build the model: they name no shape, or one that every
# released file states.
HEAD = {"head_dim": 128}
EXPERTS = {"n_routed_experts": 4, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1,
           "topk_group": 1}
DROPOUT = {"dropout_rate": 0.0}
NEEDED = {
    "bamba": {"attn_layer_indices": [1]},
    "chameleon": {"vocabulary_map": {"<image>": 4, "IMGIMGA": 5}},
    "cohere_compass_text": {"rope_parameters": {"full_attention": {
        "rope_type": "default", "rope_theta": 10000.0, "mrope_section": [24, 20, 20]}}},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "clip_qkv": 8}},
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 40},
    "diffusion_gemma_text": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 64},
    "dots1": EXPERTS,
    "esm": {"vocab_size": 33, "pad_token_id": 1, "position_embedding_type": "rotary"},
    "glm4v_moe_text": {"head_dim": 128, "rope_parameters": {
        "rope_type": "default", "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]}},
    "granitemoehybrid": {"position_embedding_type": "rope", "layer_types": ["full_attention"] * 32},
    "hunyuan_v1_dense": HEAD,
    "hunyuan_v1_moe": HEAD,
    "lfm2_moe": {"layer_types": ["full_attention"] * 32},
    "ministral": HEAD,
    "moonshine_streaming": {"num_key_value_heads": 8},
    "nemotron": {"num_key_value_heads": 48},
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 64},
    "qwen3_omni_moe_text": HEAD,
    "t5gemma2_decoder": DROPOUT,
    "t5gemma2_text": DROPOUT,
    "zamba2": {"use_mem_rope": True},
}
NEEDED["glm4v_text"] = NEEDED["glm_image_text"] = {"rope_parameters": {
    "rope_type": "default", "partial_rotary_factor": 0.5, "mrope_section": [8, 12, 12]}}

# The file's key of a size where attribute_map does not say it.
KEYS = {"dbrx": {"kv_heads": "attn_config.kv_n_heads"}, "falcon": {"kv_heads": "num_kv_heads"}}
# The file's keys of theta and of the rotated share, as convert_rope_params_to_dict pops them.
NEOX = {"theta": "rotary_emb_base", "share": "rotary_pct"}
NAMES = {"gpt_neox": NEOX, "gpt_neox_japanese": NEOX, "modernbert": {"theta": "global_rope_theta"},
         "modernbert-decoder": {"theta": "global_rope_theta"},
         "minimax_m2": {"rotary_dim": "rotary_dim"},
         # Of its files; 4.57.1 reads it there, 5.23.0 does not.
         "dbrx": {"theta": ["attn_config.rope_theta", "rope_theta"]},
         # Its own partial_rotary_factor, 0.5, goes over the one beside the rope parameters.
         "bamba": {"share": "rope_parameters.partial_rotary_factor"},
         "step3p5": {"share": "partial_rotary_factors"},  # a list, refused
         "glm4_moe_lite": {"rope_head_dim": ["qk_rope_head_dim", "head_dim"]}}
# Keys that transformers fails on, or reads in one of two places, so that no experiment tells.
UNREAD = dict.fromkeys(("codegen", "gptj"), ["partial_rotary_factor"]) | dict.fromkeys(
    "axk1 blt_global_transformer blt_local_decoder blt_local_encoder blt_patcher deepseek_v3 esm "
    "esmc falcon gpt_neox_japanese longcat_flash mistral4 mllama_text_model modernbert "
    "modernbert-decoder olmoe persimmon qwen2_vl_text qwen2_5_vl_text stablelm youtu".split(),
    ["head_dim"])

GLOBAL = {"layer_keys": {"full_attention": {"head_dim": "global_head_dim",
                                            "kv_heads": "num_global_key_value_heads"}},
          "layer_shape": {"full_attention": {"head_dim": 512}}}
# benchmarks/configs/model_types.h says what each of these words means.
FULL = {"unrotated": "full"}
NULL = {"unrotated": "full_or_all"}
SLIDING_ONLY = {"unrotated": "full_if_sliding"}
ZERO = {"unrotated": "zero_theta", "layer_thetas": "layer_rope_theta"}
FLAGS = {"unrotated": "flags"}
OLD_LOCAL = {"local_theta": "rope_local_base_freq"}
# What no experiment above asks for: words, layers and the keys that decide.
MORE = {
    "afmoe": FULL, "cohere2": NULL, "cohere2_moe": NULL, "flint": NULL, "kolibri1": SLIDING_ONLY,
    "beam": {"unrotated": "null_parameters"},
    "exaone4": SLIDING_ONLY, "exaone_moe": SLIDING_ONLY,
    "granite_swa": ZERO, "granitemoe_swa": ZERO, "muse_glimmer_text": ZERO, "muse_spark_text": ZERO,
    "llama4_text": FLAGS, "smollm3": FLAGS,
    "gemma4_text": GLOBAL, "gemma4_unified_text": GLOBAL, "diffusion_gemma_text": GLOBAL,
    "embedding_gemma2_text": GLOBAL | {"layer_shape": {"full_attention": {
        "head_dim": 512, "kv_heads": 1}}},
    "gemma3_text": OLD_LOCAL, "gemma3n_text": OLD_LOCAL, "t5gemma2_text": OLD_LOCAL,
    "t5gemma2_decoder": OLD_LOCAL,
    "modernbert": {"local_theta": "local_rope_theta"},
    "modernbert-decoder": {"local_theta": "local_rope_theta"},
    "laguna": {"layer_heads": "num_attention_heads_per_layer"},
    "mimo_v2_flash": {"layer_shape": {"sliding_attention": {"kv_heads": "2 * kv_heads"}}},
    "dots3_note_text": {
        "local_theta": "swa_rope_theta",
        "layer_keys": {"sliding_attention": {
            "heads": "swa_num_attention_heads", "nope_head_dim": "swa_qk_nope_head_dim",
            "rope_head_dim": "swa_qk_rope_head_dim"}},
        "layer_shape": {"sliding_attention": {"heads": 64, "nope_head_dim": 192}}},
    "codegen": {"theta": 10000.0}, "gptj": {"theta": 10000.0},
    "step3p5": {
        "local_theta": "rope_theta",
        "layers": ["full_attention", "sliding_attention"],
        "layer_rope": {kind: {"rope_type": "default", "rope_theta": 10000.0}
                       for kind in ("full_attention", "sliding_attention")},
        "layer_keys": {"sliding_attention": {"heads": "num_sliding_attention_heads"}}},
    "esm": {"rotates_if": {"position_embedding_type": "rotary"}},
    "granitemoehybrid": {"rotates_if": {"position_embedding_type": "rope"}},
    "zamba2": {"rotates_if": {"use_mem_rope": True}},
    "falcon": {"refused_if": {"alibi": True}},
}
# Releases disagree on what a missing key means: 4.57.1 has another default than 5.23.0.
DISPUTED = {
    "rope_theta": ("cohere", "falcon_h1", "kyutai_speech_to_text", "olmo3", "persimmon",
                   "qwen3_vl_text", "qwen3_vl_moe_text"),
    "local_rope_theta": ("modernbert-decoder",),
}
# Types that few layers are not enough for: their lists or patterns count all of them.
ALL_LAYERS = {"gemma3n_text", "granitemoehybrid", "lfm2_moe", "muse_glimmer_text",
              "muse_spark_text", "zamba2"}
# Composites that read the fields of a missing part beside it.
FLAT = {"qwen2_vl", "qwen2_5_vl", "paddleocr_vl", "hunyuan_vl", "fuyu"}
# Composites whose text part has another place than TEXT_PARTS says, or rope fields of its own.
PART = {
    "blt": ("global_config", "blt_global_transformer"),
    "musicflamingo": ("text_config", "qwen2"),
    "lasr_ctc": ("encoder_config", "lasr_encoder"),
    "nemotron3_5_transcribe_audio": ("asr_config", "nemotron3_5_transcribe_asr_audio"),
    "nemotron3_diarization": ("audio_config", "nemotron3_diarization_audio"),
}
# Their models hand the rotation the column first.
FLIPPED = {"muse_glimmer_vision", "muse_spark_vision"}
INPUTS = "rotates the input of the projections, not Q and K"
HEADS = "rotates by the index of the head, not of the token"
REFUSED = {
    "clvp_encoder": "rotates the values too, over a size that projection_dim decides",
    "cohere_asr": NOTHING, "canary": NOTHING, "clvp_decoder": "its positions are learned",
    "deepseek_v4": "the last elements of a head turn, and the output turns back",
    "gemma4_vision": "pairs the elements of each half of a head, for rows and for columns",
    "efficientloftr": "rotates by the rows and columns of an image",
    "esmfold2": "rotates atoms by their place in space",
    "hunyuan_vl_text": "its position axes divide the elements of a head, not its pairs",
    "jetmoe": "its query heads belong to the experts that a token is sent to",
    "lightglue": "rotates by a learned function of the coordinates of key points",
    "mistral_large4_text": "scales its frequencies by numbers learned with the weights (alpha)",
    "nanochat": "turns each pair backwards, by minus the angle",
    "neomme": "two position axes, of rows and columns, alternate from pair to pair",
    "neucodec": HEADS, "xcodec2": HEADS,
    "qwen2_5_omni_dit": "rotates the first head of a layer alone",
    "vjepa2": "rotates by frame, row and column of a video patch",
    "wav2vec2-bert": INPUTS, "wav2vec2-conformer": INPUTS, "seamless_m4t": INPUTS,
} | dict.fromkeys(
    "chmv2 dinov3_vit eomt_dinov3 sam3 sam3_lite_text sam3_tracker sam3_vision_model sam3_vit_model "
    "sapiens2".split(), PARTS) | dict.fromkeys(
    "edgetam_video sam2_video sam3_tracker_video sam3_video".split(), MEMORY) | dict.fromkeys(
    ["mlcd", "mlcd_vision_model"], LEARNED) | dict.fromkeys(
    # Their attention calls no rotation; other classes of the same file do.
    "chameleon_vqgan cosmos3_edge_vision deepseek_ocr2_sam_vision_model "
    "edgetam_video_mask_decoder edgetam_video_prompt_encoder emu3_vqgan gemma3n_audio "
    "gemma3n_vision gemma4_audio gemma4_unified_audio gemma4_unified_vision glm5_next_text "
    "glm_image_vision glm_image_vqmodel granite_docling_vision hunyuan_vl_vision idefics_perciever "
    "idefics_vision inkling2_text jamba mllama_vision_model molmo2_adapter molmo2_vision "
    "moonshine_streaming_encoder moshi_depth muse_spark_audio nemotron3_5_asr "
    "nemotron_asr_streaming nemotron_asr_streaming_encoder nemotron_h parakeet_ctc "
    "parakeet_encoder parakeet_rnnt parakeet_tdt phi4_multimodal_audio phi4_multimodal_vision "
    "qwen2_5_omni_audio_encoder qwen2_5_omni_bigvgan qwen3_omni_moe_audio_encoder "
    "sam2_video_mask_decoder sam2_video_prompt_encoder sam3_detr_decoder sam3_detr_encoder "
    "sam3_geometry_encoder sam3_mask_decoder sam3_tracker_video_mask_decoder "
    "sam3_tracker_video_prompt_encoder sapiens2_head unlimited_ocr_sam_vision_model "
    "unlimited_ocr_vision unlimited_ocr_vision_encoder".split(), NOTHING)
# No class of transformers takes these configs alone, or two towers take them: as their code
# says.
GEMMA2 = {"pairing": "half_split", "heads": 8, "kv_heads": 4, "width": 2304, "head_dim": 256,
          "ignores": ["partial_rotary_factor"], "theta": 10000.0, "positions": 8192}
PE = {"pairing": "interleaved", "heads": 14, "kv_heads": 14, "width": 1792, "head_dim": 128,
      "ignores": ["partial_rotary_factor"], "theta": 20000.0, "positions": 10000}
MANUAL = {
    # Of its own complex numbers; the patches' positions begin at 1, and a token behind them has 0.
    "llama4_vision_model": {
        "ignores": ["partial_rotary_factor"], "pairing": "interleaved", "axes": "wh", "heads": 16,
        "kv_heads": "heads", "width": 768, "theta": 10000.0},
    "t5_gemma_module": GEMMA2,
    "pe_audio_video_encoder": PE, "pe_video_encoder": PE,  # the attention of pe_audio_encoder
    "muse_glimmer_assistant": {
        "pairing": "half_split", "heads": 32, "kv_heads": 8, "width": 6656, "head_dim": 128,
        "ignores": ["partial_rotary_factor"], "theta": 500000.0, "positions": 131072},
    "nemotron3_5_transcribe_word_timestamp": {
        "pairing": "half_split", "heads": 16, "kv_heads": 16, "width": 1280, "theta": 10000.0,
        "share": 0.5, "share_alone": 1.0, "positions": 5000},
    # Its indexer wants a mask before it rotates.
    "qwen4_exp_text": {
        "pairing": "half_split", "axes": "interleaved", "sections": [11, 11, 10], "heads": 16,
        "kv_heads": 2, "width": 2048, "head_dim": 256, "theta": 10000.0, "positions": 32768},
    # Its table is made as _init_weight of the position embedding says; rotary_value turns V too.
    "roformer": {"pairing": "interleaved", "heads": 12, "kv_heads": "heads", "width": 768,
                 "ignores": ["head_dim", "num_key_value_heads", "rope_theta"], "theta": 10000.0,
                 "positions": 1536},
    # Of the decoder; the encoder has encoder_num_attention_heads.
    "moonshine": {"pairing": "interleaved", "heads": 8, "kv_heads": "heads", "width": 288,
                  "names": {"heads": ["decoder_num_attention_heads", "num_attention_heads"],
                            "kv_heads": ["decoder_num_key_value_heads", "num_key_value_heads"]},
                  "theta": 10000.0, "share": 0.9, "positions": 512},
}
# Of no release of transformers: their code lies beside the models.
ELSEWHERE = {
    "chatglm": {
        "pairing": "interleaved", "names": {"kv_heads": "multi_query_group_num",
                                            "head_dim": "kv_channels", "positions": "seq_length"},
        "ignores": ["rope_theta"], "kv_heads": 1, "theta": 10000.0, "share": 0.5},
    "qwen": {  # the first Qwen; its early files have n_head and n_embd
        "pairing": "half_split",
        "names": {"heads": ["num_attention_heads", "n_head"], "width": ["hidden_size", "n_embd"],
                  "head_dim": "kv_channels", "theta": "rotary_emb_base", "share": "rotary_pct",
                  "positions": "seq_length"},
        "ignores": ["num_key_value_heads", "rope_theta", "rope_scaling", "rope_parameters"],
        "heads": 32, "kv_heads": "heads", "width": 4096, "head_dim": 128, "theta": 10000.0,
        "not_timed": "beyond seq_length positions: the larger base of use_dynamic_ntk and the "
                     "factor on Q of use_logn_attn, where they are true"},
    # Their text models are of several types from release to release, all of which pair halves. The
    # fields lie beside those of the pictures. A missing one means what that type takes: unknown.
    "minicpmv": {"pairing": "half_split"}, "minicpmo": {"pairing": "half_split"},
    # The other half of a head stays as it is in text.
    "falcon_perception": {
        "pairing": "interleaved",
        "names": {"heads": ["n_heads", "num_attention_heads"],
                  "kv_heads": ["n_kv_heads", "num_key_value_heads"],
                  "width": ["dim", "hidden_size"],
                  "positions": ["max_seq_len", "max_position_embeddings"]},
        "heads": 16, "kv_heads": 8, "head_dim": 128, "theta": 10000.0, "share": 0.5,
        "not_timed": "the second half of each head, which turns by the row and column of a "
                     "picture"}}
# Types whose attention cannot be called alone, with another of the same shape and code.
SAME = {"t5gemma2_decoder": "t5gemma2_text"}


def rotates(model_type, config_class):
    """Whether its config has rope parameters or its modeling file has code that rotates."""
    if any("rope_parameters" in getattr(c, "__annotations__", {}) for c in config_class.__mro__):
        return True
    space = config_class.__module__.replace("configuration_", "modeling_")
    try:
        text = open(importlib.util.find_spec(space).origin).read()
    except (AttributeError, ModuleNotFoundError):
        return False
    return re.search(r"class \w*(Rotary|RoPE|Rope)\w*\(|def (apply|rotate)_\w*(rot|rope)\w*\(",
                     text) is not None


def types(mapping):
    """Every model_type that rotates, looks like it, or has a part that does."""
    own, out = {}, []
    for name in mapping:
        own[name] = rotates(name, mapping[name])

    def any_part(config, depth=0):
        parts = [v for v in vars(config).values() if hasattr(v, "to_dict")]
        return depth < 4 and (own.get(config.model_type, False)
                              or any(any_part(p, depth + 1) for p in parts))

    for name in mapping:
        try:
            if own[name] or any_part(mapping[name](**NEEDED.get(name, {}))):
                out.append(name)
        except Exception:  # noqa: BLE001
            continue
    return sorted(out)
