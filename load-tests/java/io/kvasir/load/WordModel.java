package io.kvasir.load;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.enginemodel.CacheGroup;
import io.kvasir.prompt.tokens.Tokenizer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A Llama of one tiny layer as engines load it, with the tokenizer and template of {@code kvasir-demo} and random
 * weights. With a cache group it has another layer, so that engines keep two groups of blocks: for a window a layer
 * that sees no more than that, and for a state it is an LFM2 with a short convolution, which is what vLLM computes on
 * CPUs without compiling kernels. All that it generates is whole words, so that its text is tokenised to what was
 * generated: the next turn of a conversation finds the blocks of the answer before, as with a real model, and a cut
 * answer can be continued. It never ends an answer itself. The weights are in the format of <a
 * href="https://github.com/huggingface/safetensors">safetensors</a>: eight bytes of length, as many of JSON with each
 * tensor's place, and the tensors.
 */
final class WordModel {
  /** Its name. */
  static final String NAME = "kvasir-demo";

  /** Tokens of a prompt and its answer at most. */
  static final int MAX_LENGTH = 8192;

  private static final List<String> FILES = List.of("tokenizer.json", "tokenizer_config.json", "chat_template.jinja");
  private static final int VOCABULARY = 8008;
  private static final int HIDDEN = 64;
  private static final int INTERMEDIATE = 128;
  /** Tokens that a convolution sees. */
  private static final int CONVOLUTION = 3;
  /** How tokenizers of bytes write a space. */
  private static final char SPACE = '\u0120';
  private static final ObjectMapper JSON = new ObjectMapper();

  /** What is there beside it. */
  private static final List<String> ADAPTERS = List.of(NAME + "-sql", NAME + "-legal");

  private static final int ADAPTER_RANK = 8;

  /**
   * What it has beside one layer of full attention.
   *
   * @param group what a second layer needs of the cache, null for no such layer
   * @param drafts whether it has a draft model
   * @param adapters whether it has LoRA adapters
   */
  record Features(@Nullable CacheGroup group, boolean drafts, boolean adapters) {}

  private record Tensor(String name, int[] shape, float[] values) {}

  private WordModel() {}

  /**
   * Writes it into a directory of its name, which is made, and what is to be there beside it; the same bytes each time.
   */
  static Path write(Path work, Features features) throws IOException {
    CacheGroup group = features.group;
    Path directory = Files.createDirectories(work.resolve(NAME));
    Files.writeString(directory.resolve("config.json"), config(group));
    for (String name : FILES) {
      try (InputStream file = WordModel.class.getResourceAsStream("/models/" + NAME + "/" + name)) {
        if (file == null) {
          throw new IOException("there is no " + name + " of " + NAME);
        }
        Files.copy(file, directory.resolve(name));
      }
    }
    BitSet words = words(directory.resolve("tokenizer.json"));
    writeTensors(
        directory.resolve("model.safetensors"),
        switch (group) {
          case null -> llama(words, 1);
          case CacheGroup.SlidingWindow _ -> llama(words, 2);
          case CacheGroup.State _ -> lfm2(words);
        });
    if (features.drafts) {
      writeDraft(directory);
    }
    if (features.adapters) {
      for (int i = 0; i < ADAPTERS.size(); i++) {
        writeAdapter(Files.createDirectories(work.resolve(ADAPTERS.get(i))), i);
      }
    }
    return directory;
  }

  /** Where the adapters of a model in a directory are, by their names. */
  static Map<String, Path> adapters(Path model) {
    return ADAPTERS.stream().collect(Collectors.toMap(name -> name, model::resolveSibling));
  }

  /** Writes an adapter as PEFT does, of the attention's queries and values. */
  private static void writeAdapter(Path directory, int number) throws IOException {
    Files.writeString(
        directory.resolve("adapter_config.json"),
        """
        {"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": "%s", "r": %d, "lora_alpha": 16,
         "lora_dropout": 0.0, "bias": "none", "fan_in_fan_out": false, "modules_to_save": null,
         "target_modules": ["q_proj", "v_proj"]}
        """.formatted(NAME, ADAPTER_RANK));
    Random random = new Random(3 + number);
    List<Tensor> tensors = new ArrayList<>();
    for (String projection : List.of("q", "v")) {
      String name = "base_model.model.model.layers.0.self_attn." + projection + "_proj.lora_";
      tensors.add(random(random, 0.1f, name + "A.weight", ADAPTER_RANK, HIDDEN));
      tensors.add(random(random, 0.1f, name + "B.weight", HIDDEN, ADAPTER_RANK));
    }
    writeTensors(directory.resolve("adapter_model.safetensors"), tensors);
  }

  /** Where the draft model of one in a directory is. */
  static Path draft(Path model) {
    return model.resolveSibling(NAME + "-draft");
  }

  /** Writes a draft model beside one, as EAGLE has it: a layer over embeddings and hidden states of the model's. */
  private static void writeDraft(Path model) throws IOException {
    Path directory = Files.createDirectories(draft(model));
    Files.writeString(directory.resolve("config.json"), config(null));
    Random random = new Random(2);
    List<Tensor> tensors = new ArrayList<>();
    tensors.add(random(random, 0.1f, "fc.weight", HIDDEN, 2 * HIDDEN));
    addLayer(tensors, random, "layers.0.");
    tensors.removeIf(tensor -> tensor.name.endsWith("input_layernorm.weight"));
    writeTensors(directory.resolve("model.safetensors"), tensors);
  }

  private static String config(@Nullable CacheGroup group) {
    String own =
        switch (group) {
          case null -> llamaConfig(1, "");
          case CacheGroup.SlidingWindow(int window) ->
              llamaConfig(
                  2, """
                  , "layer_types": ["full_attention", "sliding_attention"], "sliding_window": %d""".formatted(window));
          case CacheGroup.State() ->
              """
              "architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "num_hidden_layers": 2,
               "layer_types": ["conv", "full_attention"], "conv_dim": %1$d, "conv_L_cache": %2$d, "block_dim": %1$d,
               "block_auto_adjust_ff_dim": false, "norm_eps": 1e-5, "tie_word_embeddings": true"""
                  .formatted(HIDDEN, CONVOLUTION);
        };
    return """
        {%s,
         "torch_dtype": "float32", "vocab_size": %d, "hidden_size": %d, "intermediate_size": %d,
         "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": %d,
         "bos_token_id": 8000, "eos_token_id": 8002}
        """
        .formatted(own, VOCABULARY, HIDDEN, INTERMEDIATE, MAX_LENGTH);
  }

  private static String llamaConfig(int layers, String more) {
    return """
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": %d, "head_dim": 32,
         "rms_norm_eps": 1e-5, "hidden_act": "silu", "tie_word_embeddings": false%s"""
        .formatted(layers, more);
  }

  /** The tokens that are a space and a word, and are what the tokenizer makes of that. */
  private static BitSet words(Path tokenizerJson) throws IOException {
    Tokenizer tokenizer = Tokenizer.load(tokenizerJson);
    BitSet words = new BitSet(VOCABULARY);
    for (Map.Entry<String, JsonNode> token : JSON.readTree(tokenizerJson.toFile()).at("/model/vocab").properties()) {
      String text = token.getKey();
      if (text.length() > 2 && text.charAt(0) == SPACE && text.substring(1).chars().allMatch(WordModel::isLetter)) {
        int[] read = tokenizer.encode(" " + text.substring(1), false);
        if (read.length == 1 && read[0] == token.getValue().asInt()) {
          words.set(read[0]);
        }
      }
    }
    return words;
  }

  private static boolean isLetter(int c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
  }

  /** What is no word gets a logit of 0, below the best of some thousand words. */
  private static List<Tensor> llama(BitSet words, int layers) {
    Random random = new Random(1);
    List<Tensor> tensors = new ArrayList<>();
    tensors.add(random(random, 1, "model.embed_tokens.weight", VOCABULARY, HIDDEN));
    for (int i = 0; i < layers; i++) {
      addLayer(tensors, random, "model.layers." + i + ".");
    }
    tensors.add(ones("model.norm.weight", HIDDEN));
    Tensor head = random(random, 3, "lm_head.weight", VOCABULARY, HIDDEN);
    for (int token = words.nextClearBit(0); token < VOCABULARY; token = words.nextClearBit(token + 1)) {
      Arrays.fill(head.values, token * HIDDEN, (token + 1) * HIDDEN, 0);
    }
    tensors.add(head);
    return tensors;
  }

  private static void addLayer(List<Tensor> tensors, Random random, String layer) {
    tensors.add(ones(layer + "input_layernorm.weight", HIDDEN));
    tensors.add(ones(layer + "post_attention_layernorm.weight", HIDDEN));
    for (String projection : List.of("q", "k", "v", "o")) {
      tensors.add(random(random, 0.1f, layer + "self_attn." + projection + "_proj.weight", HIDDEN, HIDDEN));
    }
    tensors.add(random(random, 0.1f, layer + "mlp.gate_proj.weight", INTERMEDIATE, HIDDEN));
    tensors.add(random(random, 0.1f, layer + "mlp.up_proj.weight", INTERMEDIATE, HIDDEN));
    tensors.add(random(random, 0.1f, layer + "mlp.down_proj.weight", HIDDEN, INTERMEDIATE));
  }

  /** Its head are its embeddings, so those of what is no word are small: norms make them as large as others. */
  private static List<Tensor> lfm2(BitSet words) {
    Random random = new Random(1);
    List<Tensor> tensors = new ArrayList<>();
    Tensor embeddings = random(random, 1, "model.embed_tokens.weight", VOCABULARY, HIDDEN);
    for (int token = words.nextClearBit(0); token < VOCABULARY; token = words.nextClearBit(token + 1)) {
      for (int i = token * HIDDEN; i < (token + 1) * HIDDEN; i++) {
        embeddings.values[i] *= 0.01f;
      }
    }
    tensors.add(embeddings);
    String convolution = "model.layers.0.conv.";
    tensors.add(random(random, 0.1f, convolution + "in_proj.weight", 3 * HIDDEN, HIDDEN));
    tensors.add(random(random, 1, convolution + "conv.weight", HIDDEN, 1, CONVOLUTION));
    tensors.add(random(random, 0.1f, convolution + "out_proj.weight", HIDDEN, HIDDEN));
    String attention = "model.layers.1.self_attn.";
    for (String projection : List.of("q", "k", "v", "out")) {
      tensors.add(random(random, 0.1f, attention + projection + "_proj.weight", HIDDEN, HIDDEN));
    }
    tensors.add(ones(attention + "q_layernorm.weight", HIDDEN / 2));
    tensors.add(ones(attention + "k_layernorm.weight", HIDDEN / 2));
    for (int i = 0; i < 2; i++) {
      String layer = "model.layers." + i + ".";
      tensors.add(ones(layer + "operator_norm.weight", HIDDEN));
      tensors.add(ones(layer + "ffn_norm.weight", HIDDEN));
      tensors.add(random(random, 0.1f, layer + "feed_forward.w1.weight", INTERMEDIATE, HIDDEN));
      tensors.add(random(random, 0.1f, layer + "feed_forward.w2.weight", HIDDEN, INTERMEDIATE));
      tensors.add(random(random, 0.1f, layer + "feed_forward.w3.weight", INTERMEDIATE, HIDDEN));
    }
    tensors.add(ones("model.embedding_norm.weight", HIDDEN));
    return tensors;
  }

  private static Tensor random(Random random, float deviation, String name, int... shape) {
    float[] values = new float[Arrays.stream(shape).reduce(1, Math::multiplyExact)];
    for (int i = 0; i < values.length; i++) {
      values[i] = (float) random.nextGaussian() * deviation;
    }
    return new Tensor(name, shape, values);
  }

  private static Tensor ones(String name, int count) {
    float[] values = new float[count];
    Arrays.fill(values, 1);
    return new Tensor(name, new int[] {count}, values);
  }

  private static void writeTensors(Path file, List<Tensor> tensors) throws IOException {
    ObjectNode header = JSON.createObjectNode();
    header.putObject("__metadata__").put("format", "pt");
    int from = 0;
    for (Tensor tensor : tensors) {
      ObjectNode place = header.putObject(tensor.name).put("dtype", "F32");
      for (int size : tensor.shape) {
        place.withArray("shape").add(size);
      }
      int to = from + tensor.values.length * Float.BYTES;
      place.putArray("data_offsets").add(from).add(to);
      from = to;
    }
    byte[] json = header.toString().getBytes(StandardCharsets.UTF_8);
    try (OutputStream out = Files.newOutputStream(file)) {
      byte[] length = new byte[Long.BYTES];
      ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).putLong(json.length);
      out.write(length);
      out.write(json);
      for (Tensor tensor : tensors) {
        byte[] values = new byte[tensor.values.length * Float.BYTES];
        ByteBuffer.wrap(values).order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().put(tensor.values);
        out.write(values);
      }
    }
  }
}
