package io.kvasir.prompt;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The prompt settings of one served model.
 *
 * @param name the model's name in requests
 * @param adapters names of its LoRA adapters, which requests may use instead
 * @param blockSize tokens in an engine's KV block
 * @param mode exact, engine or text
 * @param sources where its files are
 * @param templateKwargs variables of every rendering, as the engine's {@code --default-chat-template-kwargs}
 * @param paritySample share of requests whose tokens are compared with the engine's, 0..1
 * @param requestTemplates whether requests may have a chat template of their own, as with the engine's {@code
 *     --trust-request-chat-template}; the name of one of the model's templates is always allowed
 */
public record ModelConfig(
    String name,
    Set<String> adapters,
    int blockSize,
    PromptMode mode,
    FileSources sources,
    Map<String, Object> templateKwargs,
    double paritySample,
    boolean requestTemplates) {

  /** The name of the bundled model of the demo and the simulator. */
  public static final String DEMO = "kvasir-demo";

  /**
   * Where a model's files are.
   *
   * @param directory directory of its Hugging Face files ({@code tokenizer.json}, {@code tokenizer_config.json}, {@code
   *     chat_template.jinja} …), or {@code bundled:NAME} for a bundled model; null for none
   * @param tokenizer path of another {@code tokenizer.json}, null for the directory's
   * @param chatTemplate path of another chat template, null for the directory's
   */
  public record FileSources(
      @Nullable String directory, @Nullable String tokenizer, @Nullable String chatTemplate) {
    /** A model without files. */
    public static final FileSources NONE = new FileSources(null, null, null);

    /** All files of a directory, or of a bundled model. */
    public static FileSources in(String directory) {
      return new FileSources(directory, null, null);
    }
  }

  /**
   * Checks the ranges.
   *
   * @throws IllegalArgumentException when a field is out of range, naming it
   */
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

  /** The settings of the bundled model in exact mode, under the given name. */
  public static ModelConfig demo(String name, int blockSize) {
    return new ModelConfig(
        name, Set.of(), blockSize, PromptMode.EXACT, FileSources.in("bundled:" + DEMO), Map.of(), 0, false);
  }

  /** The settings of a model without files, in text mode. */
  public static ModelConfig text(String name) {
    return new ModelConfig(name, Set.of(), TextChunks.TOKENS, PromptMode.TEXT, FileSources.NONE, Map.of(), 0, false);
  }

  /** The settings of a model without files, whose engines tokenise its prompts. */
  public static ModelConfig engine(String name) {
    return new ModelConfig(name, Set.of(), TextChunks.TOKENS, PromptMode.ENGINE, FileSources.NONE, Map.of(), 0, false);
  }
}
