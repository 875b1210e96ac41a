package io.kvasir.prompt;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * How the prompts of one served model become chains.
 *
 * @param name as requests name the model
 * @param adapters names of its LoRA adapters, each of which requests may name instead
 * @param blockSize tokens in an engine's KV block
 * @param mode exact, engine or text
 * @param directory where its Hugging Face files are ({@code tokenizer.json}, {@code tokenizer_config.json},
 *     {@code chat_template.jinja} …), or {@code bundled:NAME} for a model that Kvasir brings along; null for none
 * @param tokenizer a {@code tokenizer.json} elsewhere, null for the directory's
 * @param chatTemplate a chat template elsewhere, null for the directory's
 * @param templateKwargs what every rendering is given, as the engine's {@code --default-chat-template-kwargs}
 * @param paritySample share of requests whose tokens are compared with the engine's, 0..1
 */
public record ModelConfig(
    String name,
    Set<String> adapters,
    int blockSize,
    PromptMode mode,
    @Nullable String directory,
    @Nullable String tokenizer,
    @Nullable String chatTemplate,
    Map<String, Object> templateKwargs,
    double paritySample) {

  /** The name of the model of the demo and the simulator. */
  public static final String DEMO = "kvasir-demo";

  /** Refuses what cannot be, naming the field. */
  public ModelConfig {
    if (blockSize < 1) {
      throw new IllegalArgumentException("model " + name + ": block size must be at least 1, is " + blockSize);
    }
    if (mode == PromptMode.NONE) {
      throw new IllegalArgumentException("model " + name + ": mode must be exact, engine or text");
    }
    if (!(paritySample >= 0 && paritySample <= 1)) {
      throw new IllegalArgumentException("model " + name + ": parity sample must be 0..1, is " + paritySample);
    }
    adapters = Set.copyOf(adapters);
    templateKwargs = Map.copyOf(templateKwargs);
  }

  /** The model that Kvasir brings along, exact, under any name. */
  public static ModelConfig demo(String name, int blockSize) {
    return new ModelConfig(name, Set.of(), blockSize, PromptMode.EXACT, "bundled:" + DEMO, null, null, Map.of(), 0);
  }

  /** A model of which nothing is known but its name. */
  public static ModelConfig text(String name) {
    return new ModelConfig(name, Set.of(), TextChunks.TOKENS, PromptMode.TEXT, null, null, null, Map.of(), 0);
  }
}
