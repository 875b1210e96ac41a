package io.kvasir.sim.text;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.ModelConfig;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptModel;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.PromptSettings;
import io.kvasir.prompt.Prompts;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.ZoneId;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** A model's tokenizer, chat template and end-of-sequence token, from its files. Thread-safe. */
public final class ModelText {
  private static final String MODEL = "served";
  /** The engine makes every prompt's tokens afresh; the least the memory for prefixes can be. */
  private static final long MEMO_BYTES = 1 << 20;

  /** The demo model as engines of a make prepare its prompts, once it was read: all of a process have the same. */
  private static final Map<EngineVersion, ModelText> DEMOS = new ConcurrentHashMap<>();

  private final Tokenizer tokenizer;
  private final Prompts prompts;
  private final int eos;

  /**
   * The model in {@code directory}, or the demo model when that is null.
   *
   * @param engine as which conversations are prepared
   * @throws IOException naming the file that is missing or wrong
   */
  public static ModelText of(@Nullable Path directory, EngineVersion engine) throws IOException {
    if (directory != null) {
      return new ModelText(directory, engine);
    }
    ModelText known = DEMOS.get(engine);
    if (known != null) {
      return known;
    }
    ModelText read = new ModelText(null, engine);
    ModelText first = DEMOS.putIfAbsent(engine, read);
    return first == null ? read : first;
  }

  private ModelText(@Nullable Path directory, EngineVersion engine) throws IOException {
    tokenizer = Tokenizer.of(read(directory, "tokenizer.json"));
    eos = eos(new ObjectMapper().readTree(read(directory, "tokenizer_config.json")));
    String place = directory == null ? "bundled:" + ModelConfig.DEMO : directory.toString();
    ModelConfig config =
        new ModelConfig(MODEL, Set.of(), 1, PromptMode.EXACT, ModelConfig.FileSources.in(place), Map.of(), 0, false);
    prompts =
        Prompts.load(
            List.of(config), PromptSettings.ofMemo(MEMO_BYTES), _ -> EngineTokenizer.ofVersion(() -> engine),
            Runnable::run,
            Clock.system(ZoneId.systemDefault()), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    prompts.models().forEach(PromptModel::learnEngineVersions);
  }

  /** The tokens of {@code text}; with {@code special}, as the tokenizer frames a whole prompt (BOS …). */
  public int[] encode(String text, boolean special) {
    return tokenizer.encode(text, special);
  }

  /** The text of {@code tokens}, special ones included. */
  public String decode(int[] tokens) {
    return tokenizer.decode(tokens);
  }

  /**
   * The prompt of a conversation.
   *
   * @throws EngineApiException when there is no template or it refuses the conversation
   */
  public int[] conversation(Api api, ObjectNode body) throws EngineApiException {
    int[] tokens;
    try {
      tokens = prompts.tokens(new PromptRequest(api, MODEL, body, false, null), () -> { });
    } catch (RuntimeException e) {
      throw EngineApiException.badRequest(String.valueOf(e.getMessage()));
    }
    if (tokens == null || tokens.length == 0) {
      throw EngineApiException.badRequest(
          "The conversation has no prompt: the model has no chat template that can render it.");
    }
    return tokens;
  }

  /** The token that ends an answer. */
  public int eos() {
    return eos;
  }

  private int eos(JsonNode config) throws IOException {
    JsonNode named = config.path("eos_token");
    String end = named.isObject() ? named.path("content").asText() : named.asText();
    int[] ids = end.isEmpty() ? new int[0] : tokenizer.encode(end, false);
    if (ids.length != 1) {
      throw new IOException("tokenizer_config.json: eos_token '" + end + "' is not one token");
    }
    return ids[0];
  }

  private static byte[] read(@Nullable Path directory, String name) throws IOException {
    if (directory != null) {
      return Files.readAllBytes(directory.resolve(name));
    }
    String resource = "/models/" + ModelConfig.DEMO + "/" + name;
    try (InputStream in = ModelText.class.getResourceAsStream(resource)) {
      if (in == null) {
        throw new FileNotFoundException("The resource " + resource + " is missing from the jar");
      }
      return in.readAllBytes();
    }
  }
}
