package io.kvasir.app.node;

import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.http.client.PodKeys;
import io.kvasir.prompt.EngineTokenizer;
import io.kvasir.prompt.chat.EngineVersion;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A client of {@code POST /tokenize} of whichever pod serves a model. Thread-safe. */
final class HttpTokenizer implements EngineTokenizer {
  /** Ten million tokens have some 70 MB. */
  private static final long MAX_BYTES = 128 << 20;

  /**
   * Statuses that are about the prompt: vLLM also answers 500 and 501 to conversations that it cannot render. 404 and
   * 429, say, are about the engine.
   */
  private static final Set<Integer> REFUSALS = Set.of(400, 413, 422, 500, 501);

  /**
   * Engines tokenise this much in a quarter of the timeout: that a longer prompt takes too long is about the prompt.
   */
  private static final int LONG_PROMPT_BYTES = 256 << 10;

  private final HttpCalls calls;
  private final PodKeys keys;
  private final EngineVersions engines;
  private final String model;
  private final Duration timeout;

  /**
   * A client.
   *
   * @param calls owned by the caller
   * @param keys the API keys of pods
   * @param engines those that there are
   * @param model which they are asked about
   * @param timeout of each call
   */
  HttpTokenizer(HttpCalls calls, PodKeys keys, EngineVersions engines, String model, Duration timeout) {
    this.calls = calls;
    this.keys = keys;
    this.engines = engines;
    this.model = model;
    this.timeout = timeout;
  }

  @Override
  public List<EngineVersion> versions() {
    return engines.of(model);
  }

  @Override
  public int[] tokenize(String jsonBody) throws IOException {
    return tokenize(jsonBody, engines.pod(model));
  }

  @Override
  public int[] tokenize(String jsonBody, EngineVersion engine) throws IOException {
    return tokenize(jsonBody, engines.pod(model, engine));
  }

  private int[] tokenize(String jsonBody, @Nullable URI url) throws IOException {
    if (url == null) {
      throw new IOException("no healthy worker serves the model");
    }
    byte[] body = jsonBody.getBytes(StandardCharsets.UTF_8);
    Request request = Request.post(url.resolve("/tokenize"), body, timeout)
        .withMaxBytes(MAX_BYTES)
        .withBearer(keys.of(url));
    try {
      HttpCalls.Reply reply = calls.send(request);
      if (REFUSALS.contains(reply.status())) {
        throw new RefusedException(request.uri() + " answered " + reply.status());
      }
      return EngineTokenizer.ids(reply.requireStatus(200).json());
    } catch (HttpCallException failed) {
      boolean tooMuch = switch (failed.kind()) {
        case TIMEOUT -> body.length > LONG_PROMPT_BYTES;
        case TOO_LARGE -> true;
        case IO, STATUS, NOT_JSON -> false;
      };
      throw tooMuch ? new RefusedException(String.valueOf(failed.getMessage())) : failed;
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
      throw new IOException("stopped while waiting for " + url, stopped);
    }
  }
}
