package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.kvasir.http.HttpCallException.Kind;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls.Reply;
import io.kvasir.http.HttpCalls.Request;
import io.kvasir.http.HttpCalls;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** Asks running engines what they are, over HTTP. Thread-safe; waits for the engine. */
public final class EngineInquiry {
  /** vLLM's metrics have some 100 KB, the configuration at its {@code /server_info} less. */
  private static final long MAX_BYTES = 8 << 20;

  /** What engines answer to a page that they do not have, or not for everybody. */
  private static final Set<Integer> NO_SUCH_PAGE = Set.of(400, 401, 403, 404, 405, 501);

  private static final Set<Integer> BUSY = Set.of(429, 500, 503, 504);

  private final HttpCalls calls;
  private final Duration timeout;

  /**
   * An inquiry.
   *
   * @param calls owned by the caller
   * @param timeout of each page; an engine is asked for three after another at most
   */
  public EngineInquiry(HttpCalls calls, Duration timeout) {
    this.calls = calls;
    this.timeout = timeout;
  }

  /**
   * Asks for all that an engine tells.
   *
   * @param url its base URL
   * @param key its API key, null when it needs none
   * @throws HttpCallException when it does not answer, refuses the key, or serves no model; the message says which
   */
  public EngineDescription describe(URI url, @Nullable String key) throws HttpCallException, InterruptedException {
    EngineAnswers answers = answers(url, key);
    EngineKind kind = answers.identity().kind();
    String metrics = switch (kind) {
      // They would be missing where they are read for good.
      case TENSORRT_LLM -> "";
      case VLLM, SGLANG, LLM_D_SIMULATOR, LLAMA_CPP, DYNAMO, UNKNOWN ->
          text(requireNotBusy(await(send(url, "/metrics", key))));
    };
    return DescriptionReader.of(kind).read(answers, metrics);
  }

  /**
   * Asks for the version of vLLM, by two pages where they tell the kind of engine: it is asked again and again.
   *
   * @return null for engines of other kinds
   * @throws HttpCallException as {@link #describe} throws it
   */
  public @Nullable String vllmVersion(URI url, @Nullable String key) throws HttpCallException, InterruptedException {
    CompletableFuture<Reply> models = send(url, "/v1/models", key);
    CompletableFuture<Reply> version = send(url, "/version", key);
    EngineIdentity identity =
        new EngineAnswers(
            url, await(models).requireStatus(200).jsonObject(), page(requireAnswer(await(version)))).identity();
    if (identity.kind() == EngineKind.UNKNOWN) {
      identity = answers(url, key).identity();
    }
    return identity.kind() == EngineKind.VLLM ? identity.version() : null;
  }

  private EngineAnswers answers(URI url, @Nullable String key) throws HttpCallException, InterruptedException {
    CompletableFuture<Reply> models = send(url, "/v1/models", key);
    CompletableFuture<Reply> version = send(url, "/version", key);
    CompletableFuture<Reply> serverInfo = send(url, "/server_info?config_format=json", key);
    CompletableFuture<Reply> eventSources = send(url, "/kv_event_sources", key);
    CompletableFuture<Reply> adminConfig = send(url, "/admin/config", key);
    CompletableFuture<Reply> simulation = send(url, "/sim", key);
    EngineAnswers answers =
        new EngineAnswers(
            url, await(models).requireStatus(200).jsonObject(), page(requireAnswer(await(version))),
            page(requireNotBusy(await(serverInfo))), page(requireNotBusy(await(eventSources))),
            page(await(adminConfig)), page(await(simulation)), MissingNode.getInstance());
    if (answers.mayBeDynamo()) {
      // Newer versions leave the instances out unless they are asked for.
      answers = answers.withHealth(page(requireNotBusy(await(send(url, "/health?instances=true", key)))));
    }
    if (answers.servedModels().stream().allMatch(ServedModel::isAdapter)) {
      throw new HttpCallException(Kind.NOT_JSON, url.resolve("/v1/models") + " names no model");
    }
    return answers;
  }

  /**
   * Whether there is no engine but the server by which a worker of Dynamo tells its status: of endpoints that are ready
   * or not, with the time that it runs (Dynamo, {@code lib/runtime/src/system_status_server.rs}).
   *
   * @throws HttpCallException as {@link #describe} throws it
   */
  boolean isDynamoWorker(URI url, @Nullable String key) throws HttpCallException, InterruptedException {
    Reply health = await(send(url, "/health", key));
    JsonNode page = health.status() == 503 ? json(health) : page(health);
    return page.path("status").asText().matches("(not)?ready") && page.has("uptime") && page.has("endpoints");
  }

  private CompletableFuture<Reply> send(URI url, String path, @Nullable String key) {
    return calls.sendAsync(Request.get(url.resolve(path), timeout).withMaxBytes(MAX_BYTES).withBearer(key));
  }

  private static Reply await(CompletableFuture<Reply> reply) throws HttpCallException, InterruptedException {
    try {
      return reply.get();
    } catch (ExecutionException failed) {
      if (failed.getCause() instanceof HttpCallException known) {
        throw known;
      }
      throw new IllegalStateException(failed);
    }
  }

  /** A reply that has the page, or says that there is none; an engine that is only busy has given no answer. */
  private static Reply requireAnswer(Reply reply) throws HttpCallException {
    return NO_SUCH_PAGE.contains(reply.status()) ? reply : reply.requireStatus(200);
  }

  /** A reply of an engine that is not just overloaded or starting: what such a one leaves out is not missing. */
  private static Reply requireNotBusy(Reply reply) throws HttpCallException {
    return BUSY.contains(reply.status()) ? reply.requireStatus(200) : reply;
  }

  /** A page of JSON; a missing node when the engine has none. */
  private static JsonNode page(Reply reply) {
    return reply.status() == 200 ? json(reply) : MissingNode.getInstance();
  }

  private static JsonNode json(Reply reply) {
    try {
      return reply.json();
    } catch (HttpCallException noJson) {
      return MissingNode.getInstance();
    }
  }

  private static String text(Reply reply) {
    return reply.status() == 200 ? new String(reply.body(), StandardCharsets.UTF_8) : "";
  }
}
