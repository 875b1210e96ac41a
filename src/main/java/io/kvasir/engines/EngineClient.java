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
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * The client of running engines: asks one for the pages that tell what it is, over HTTP, and vLLM for the rest by its
 * gRPC where it has that. Thread-safe; waits for the engine.
 */
public final class EngineClient {
  /** vLLM's metrics have some 100 KB, the configuration at its {@code /server_info} less. */
  private static final long MAX_BYTES = 8 << 20;

  /** What engines answer to a page that they do not have, or not for everybody. */
  private static final Set<Integer> NO_SUCH_PAGE = Set.of(400, 401, 403, 404, 405, 501);

  private static final Set<Integer> BUSY = Set.of(429, 500, 503, 504);

  /** The pages that an engine of which nothing is known is asked for. */
  private static final Set<EnginePage> TELLING = Set.copyOf(EnumSet.complementOf(EnumSet.of(EnginePage.HEALTH)));

  private final HttpCalls calls;
  private final VllmControl control;
  private final Duration timeout;

  /**
   * A client.
   *
   * @param calls owned by the caller, whose certificates are shown over gRPC, too
   * @param timeout of each page that has no more time ({@link EnginePage#timeoutFactor}); an engine is asked for five
   *     after another at most
   */
  public EngineClient(HttpCalls calls, Duration timeout) {
    this.calls = calls;
    this.control = new VllmControl(calls.tls(), timeout);
    this.timeout = timeout;
  }

  /**
   * Asks for all that an engine tells over HTTP.
   *
   * @param url its base URL
   * @param key its API key, null when it needs none
   * @throws HttpCallException when it does not answer, refuses the key, or serves no model; the message says which
   */
  public EngineDescription describe(URI url, @Nullable String key) throws HttpCallException, InterruptedException {
    return describe(EngineAddress.of(url), key, null);
  }

  /**
   * Asks for all that an engine tells; again, as long as it is what it was, only for the pages that it has.
   *
   * @param key its API key, null when it needs none
   * @param known what it was when it was asked last, null to have it asked for whatever an engine may have
   * @throws HttpCallException as above; also when it is to be asked over gRPC and does not answer there
   */
  public EngineDescription describe(EngineAddress engine, @Nullable String key, @Nullable EngineIdentity known)
      throws HttpCallException, InterruptedException {
    EnginePages pages = pages(engine.url(), key, known == null ? TELLING : known.pages());
    return known == null || pages.identity().equals(known)
        ? described(pages, engine, key)
        : describe(engine, key, null);
  }

  private EngineDescription described(EnginePages pages, EngineAddress engine, @Nullable String key)
      throws HttpCallException, InterruptedException {
    EngineKind kind = pages.identity().kind();
    String metrics = switch (kind) {
      // They would be missing where they are read for good.
      case TENSORRT_LLM -> "";
      case VLLM, SGLANG, LLM_D_SIMULATOR, LLAMA_CPP, DYNAMO, UNKNOWN ->
          text(requireNotBusy(await(send(pages.url(), LoadGauge.ALL_METRICS, key))));
    };
    PageReader reader = PageReader.of(kind);
    EngineDescription description = reader.read(pages, metrics);
    Integer port = engine.grpcPort();
    return port == null || kind != EngineKind.VLLM || description.isEnough()
        ? description
        : reader.read(pages.with(control.query(engine, port)), metrics).withGrpcPort(port);
  }

  /**
   * Asks for the kind of engine and its version, by two pages where they tell both: it is asked again and again.
   *
   * @param known what it was when it was asked last, null when it was not
   * @throws HttpCallException as {@link #describe} throws it
   */
  public EngineIdentity identity(URI url, @Nullable String key, @Nullable EngineIdentity known)
      throws HttpCallException, InterruptedException {
    if (known != null && known.kind() != EngineKind.VLLM) {
      EngineIdentity again = pages(url, key, known.pages()).identity();
      if (again.equals(known)) {
        return known;
      }
    }
    EngineIdentity identity = pages(url, key, Set.of(EnginePage.VERSION)).identity();
    return identity.version() == null ? pages(url, key, TELLING).identity() : identity;
  }

  /** Asks for the models and some other pages, all at once. */
  private EnginePages pages(URI url, @Nullable String key, Set<EnginePage> asked)
      throws HttpCallException, InterruptedException {
    CompletableFuture<Reply> models = send(url, "/v1/models", key);
    Map<EnginePage, CompletableFuture<Reply>> replies = new EnumMap<>(EnginePage.class);
    asked.forEach(page -> replies.put(page, send(url, page, key)));
    JsonNode named = await(models).requireStatus(200).jsonObject();
    Map<EnginePage, JsonNode> others = new EnumMap<>(EnginePage.class);
    for (Map.Entry<EnginePage, CompletableFuture<Reply>> reply : replies.entrySet()) {
      put(others, reply.getKey(), await(reply.getValue()));
    }
    EnginePages pages = new EnginePages(url, named, others, null);
    if (pages.mayBeDynamo() && !asked.contains(EnginePage.HEALTH)) {
      put(others, EnginePage.HEALTH, await(send(url, EnginePage.HEALTH, key)));
      pages = new EnginePages(url, named, others, null);
    }
    if (pages.servedModels().stream().allMatch(ServedModel::isAdapter)) {
      throw new HttpCallException(Kind.NOT_JSON, url.resolve("/v1/models") + " names no model");
    }
    return pages;
  }

  /** Puts in a page that the engine has; an engine that is only busy is not taken for one without it. */
  private static void put(Map<EnginePage, JsonNode> pages, EnginePage page, Reply reply) throws HttpCallException {
    JsonNode read = page(switch (page) {
      case VERSION -> requireAnswer(reply);
      case SERVER_INFO, EVENT_SOURCES, HEALTH -> requireNotBusy(reply);
      case ADMIN_CONFIG, SIMULATION -> reply;
    });
    if (!read.isMissingNode()) {
      pages.put(page, read);
    }
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

  /** The text of a page, for whatever it is; empty where the engine has none. */
  String textOrNone(URI url, String path, @Nullable String key) throws InterruptedException {
    try {
      return text(await(send(url, path, key)));
    } catch (HttpCallException none) {
      return "";
    }
  }

  private CompletableFuture<Reply> send(URI url, EnginePage page, @Nullable String key) {
    return send(url, page.target(), key, timeout.multipliedBy(page.timeoutFactor()));
  }

  private CompletableFuture<Reply> send(URI url, String path, @Nullable String key) {
    return send(url, path, key, timeout);
  }

  private CompletableFuture<Reply> send(URI url, String path, @Nullable String key, Duration within) {
    return calls.sendAsync(Request.get(url.resolve(path), within).withMaxBytes(MAX_BYTES).withBearer(key));
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
