package io.kvasir.doctor.exam;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
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
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Clock;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The router's own way from the prompts of one model to tokens, loaded from the files of its configuration.
 * Thread-safe: engines of the model are compared one after another, each by the rules of its version.
 */
public final class ModelPrompts {
  private static final long MEMO_BYTES = 1 << 20;
  private static final String TEXT =
      "It's 7:45, isn't it?  naïve café, Привет, 你好世界, 👩‍💻\n\tx = 1234567  # ½";

  private final ModelConfig config;
  private final @Nullable Prompts prompts;
  private final @Nullable String failure;
  private @Nullable EngineVersion version;

  /** Loads a model's files; that they cannot be loaded is told by {@link #failure}. */
  public ModelPrompts(ModelConfig config) {
    this.config = config;
    Prompts loaded = null;
    String why = null;
    try {
      loaded =
          Prompts.load(
              List.of(config), PromptSettings.ofMemo(MEMO_BYTES), _ -> EngineTokenizer.ofVersion(() -> version),
              Runnable::run,
              Clock.system(ZoneId.systemDefault()), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    } catch (IOException unusable) {
      why = String.valueOf(unusable.getMessage());
    }
    this.prompts = loaded;
    this.failure = why;
  }

  /** The model's configuration. */
  public ModelConfig config() {
    return config;
  }

  /** Why its files cannot be loaded, null when they are. */
  public @Nullable String failure() {
    return failure;
  }

  /**
   * Compares our tokens with an engine's.
   *
   * @param engineVersion as which conversations are prepared
   */
  synchronized TokenExam compare(EngineTokenizer engine, EngineVersion engineVersion) {
    Prompts loaded = prompts;
    if (loaded == null || config.mode() != PromptMode.EXACT) {
      return TokenExam.notCompared(config.name(), failure == null ? "its mode is " + config.mode().label() : failure);
    }
    version = engineVersion;
    loaded.models().forEach(PromptModel::learnEngineVersions);
    ObjectNode text = JsonNodeFactory.instance.objectNode().put("model", config.name()).put("prompt", TEXT);
    ObjectNode chat = JsonNodeFactory.instance.objectNode().put("model", config.name());
    chat.putArray("messages").addObject().put("role", "user").put("content", TEXT);
    try {
      return new TokenExam(
          config.name(), null, difference(loaded, Api.COMPLETIONS, text, engine),
          difference(loaded, Api.CHAT, chat, engine));
    } catch (IOException failed) {
      return TokenExam.notCompared(config.name(), String.valueOf(failed.getMessage()));
    }
  }

  private @Nullable String difference(Prompts loaded, Api api, ObjectNode body, EngineTokenizer engine)
      throws IOException {
    PromptRequest request = new PromptRequest(api, config.name(), body, false, null);
    if (loaded.models().stream().noneMatch(model -> model.isTokenizedAlike(request))) {
      return null;
    }
    int[] ours;
    try {
      ours = loaded.tokens(request, () -> { });
    } catch (RuntimeException refused) {
      return "our template refuses the conversation: " + refused.getMessage();
    }
    if (ours == null) {
      return "there is no chat template";
    }
    int[] theirs = engine.tokenize(body.toString());
    int at = Arrays.mismatch(ours, theirs);
    return at < 0
        ? null
        : "at token %d of %d (ours) and %d (the engine's)".formatted(at, ours.length, theirs.length);
  }
}
