package io.kvasir.prompt;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.prompt.chat.EngineVersion;
import io.kvasir.prompt.tokens.Samples;
import io.kvasir.prompt.tokens.Tokenizer;
import io.kvasir.telemetry.Metrics;
import io.kvasir.time.NanoClock;
import io.prometheus.metrics.model.registry.PrometheusRegistry;
import java.io.IOException;
import java.time.Clock;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/**
 * An engine of the demo model that renders each message in one line, and nothing of tools or template arguments, as its
 * template does with conversations that have none. It fails or refuses when it is told to. Thread-safe.
 */
final class DemoEngine implements EngineTokenizer {
  static final String ENDING = "<|im_end|>\n<|im_start|>assistant\n";

  private static final Tokenizer TOKENIZER = Samples.demo();
  private static final Prompts US = us();

  /** The bodies of all calls. */
  final List<JsonNode> requests = new CopyOnWriteArrayList<>();
  /** What calls fail with, null when they do not. */
  volatile @Nullable IOException failure;
  /** What follows the last message. */
  volatile String ending = ENDING;
  /** What the engine adds to a message with this text, as if its tokenizer were another for it. */
  volatile String odd = "\0";
  /** Whether it renders as we do. */
  volatile boolean likeUs;
  /** What it says that it is, null when it says nothing. */
  volatile @Nullable EngineVersion version;

  private static Prompts us() {
    try {
      return Prompts.load(
          List.of(ModelConfig.demo("us", 16)), PromptSettings.ofMemo(1 << 20), _ -> null, Runnable::run,
          Clock.systemUTC(), NanoClock.SYSTEM, new Metrics(new PrometheusRegistry()));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Override
  public List<EngineVersion> versions() {
    EngineVersion told = version;
    return told == null ? List.of() : List.of(told);
  }

  @Override
  public int[] tokenize(String jsonBody) throws IOException {
    JsonNode body = Bodies.parse(jsonBody);
    requests.add(body);
    IOException told = failure;
    if (told != null) {
      throw told;
    }
    if (likeUs) {
      return Objects.requireNonNull(US.tokens(new PromptRequest(Api.CHAT, "us", body, false, null), () -> { }));
    }
    if (body.has("prompt")) {
      return TOKENIZER.encode(body.get("prompt").asText(), true);
    }
    StringBuilder text = new StringBuilder();
    for (JsonNode message : body.get("messages")) {
      String content = message.get("content").asText();
      text.append(text.isEmpty() ? "" : "<|im_end|>\n");
      text.append("<|im_start|>").append(message.get("role").asText()).append('\n').append(content);
      text.append(content.contains(odd) ? " and more" : "");
    }
    boolean continued = body.path("continue_final_message").asBoolean();
    String end = continued ? "" : body.get("add_generation_prompt").asBoolean() ? ending : "<|im_end|>\n";
    return TOKENIZER.encode(text + end, false);
  }
}
