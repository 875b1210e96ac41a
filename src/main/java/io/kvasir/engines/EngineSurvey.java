package io.kvasir.engines;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.MissingNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.grpc.StatusRuntimeException;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * Has an {@link EngineClient} ask an engine what it is, and finds out what it does not tell but shows: whether somebody
 * publishes at the default endpoint, where its load is, and whether it answers {@code /tokenize}. Thread-safe; waits
 * for the engine.
 */
public final class EngineSurvey {
  /** Where vLLM, SGLang and TensorRT-LLM publish unless told otherwise; rank r at the port + r. */
  private static final int EVENTS_PORT = 5557;

  private static final String NO_ENGINE = "; is that an engine with OpenAI's API?";

  private static final String DYNAMO_WORKER = "; a worker of Dynamo tells its status there, and takes no requests: give"
      + " the URL of its frontend, or, so that its cache is seen, start the engine with its own HTTP server (such as"
      + " vllm serve) and give that";

  private final HttpCalls calls;
  private final EngineClient client;
  private final Duration timeout;

  /**
   * A survey.
   *
   * @param calls owned by the caller
   * @param timeout of each question
   */
  public EngineSurvey(HttpCalls calls, Duration timeout) {
    this.calls = calls;
    this.client = new EngineClient(calls, timeout);
    this.timeout = timeout;
  }

  /** Whether no other engine is known on the host of one, so that what is at the default port there is its own. */
  public static boolean isAlone(URI engine, Stream<URI> known) {
    return known.noneMatch(other -> !other.equals(engine) && engine.getHost().equals(other.getHost()));
  }

  /**
   * Asks an engine.
   *
   * @param key its API key, null when it needs none
   * @param alone whether it {@linkplain #isAlone is} on its host
   * @param known what it was when it was asked last, null to have it asked for whatever an engine may have
   * @throws HttpCallException when it cannot be asked; the message says why, and the remedy
   */
  public SurveyedEngine survey(
      EngineAddress address, @Nullable String key, boolean alone, @Nullable EngineIdentity known)
      throws HttpCallException, InterruptedException {
    EngineDescription engine;
    try {
      EngineDescription told = client.describe(address, key, known);
      engine = address.role() == null ? told : GivenRole.taken(told, address.role());
    } catch (HttpCallException failed) {
      HttpCallException remedied =
          new HttpCallException(failed.kind(), failed.getMessage() + remedy(failed, address.url(), key));
      remedied.initCause(failed);
      throw remedied;
    }
    return new SurveyedEngine(name(address.url()), engine, events(engine, alone), address.grpcPort());
  }

  /**
   * Finds out where the load of an engine can be read from.
   *
   * @param key its API key, null when it needs none
   */
  public LoadOrigin load(EngineDescription engine, @Nullable String key) throws InterruptedException {
    return switch (engine.load()) {
      case LoadPublishing.Zmq(LoadFeed feed) -> new LoadOrigin.Pushed(feed);
      case LoadPublishing.Unusable(String why) -> polled(engine, key, why, why);
      case LoadPublishing.Untold _ when engine.identity().kind() == EngineKind.SGLANG -> polled(
          engine, key, "With --load-publish-endpoint auto it is pushed as it changes.",
          "Start it with --enable-metrics, or --load-publish-endpoint auto.");
      case LoadPublishing.Untold _ -> polled(engine, key, null, null);
    };
  }

  private LoadOrigin polled(
      EngineDescription engine, @Nullable String key, @Nullable String remark, @Nullable String without)
      throws InterruptedException {
    return switch (engine.identity().kind()) {
      // TensorRT-LLM gives its figures once, and Dynamo's frontend has none of its engines'.
      case TENSORRT_LLM, DYNAMO -> new LoadOrigin.None(without);
      case VLLM, SGLANG, LLM_D_SIMULATOR, LLAMA_CPP, UNKNOWN -> {
        for (String path : LoadGauge.pages()) {
          if (LoadGauge.isOn(client.textOrNone(engine.url(), path, key))) {
            yield new LoadOrigin.Polled(path, remark);
          }
        }
        yield new LoadOrigin.None(without);
      }
    };
  }

  /** The name of a pod that was given none: its host and port. */
  private static String name(URI url) {
    String host = url.getHost().replaceAll("[^A-Za-z0-9.-]+", "-").replaceFirst("^-", "");
    return url.getPort() < 0 ? host : host + ":" + url.getPort();
  }

  private String remedy(HttpCallException failed, URI url, @Nullable String key) throws InterruptedException {
    if (isTls(failed)) {
      return "; name the authority of the engine's certificate in KVASIR_PODS_TLS_AUTHORITY";
    }
    if (failed.getCause() instanceof StatusRuntimeException) {
      return "; is that its --grpc-port, and is it reached from here? Without one leave grpc-port out";
    }
    return switch (failed.kind()) {
      case IO, TIMEOUT -> "; does the engine run, has it loaded its model, and is it reached from here?";
      case STATUS -> {
        String message = String.valueOf(failed.getMessage());
        if (message.matches(".* answered 40[13]")) {
          yield key == null
              ? "; give the engine's API key in KVASIR_POD_API_KEY, or its file by --engine-key-file"
              : "; the engine does not accept that API key";
        }
        yield message.endsWith(" answered 404") && isDynamoWorker(url, key) ? DYNAMO_WORKER : NO_ENGINE;
      }
      case NOT_JSON, TOO_LARGE -> NO_ENGINE;
    };
  }

  private boolean isDynamoWorker(URI url, @Nullable String key) throws InterruptedException {
    try {
      return client.isDynamoWorker(url, key);
    } catch (HttpCallException silent) {
      return false;
    }
  }

  private static boolean isTls(HttpCallException failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return true;
      }
    }
    return false;
  }

  private EventOrigin events(EngineDescription engine, boolean alone) {
    return switch (engine.events()) {
      case EventPublishing.Zmq zmq -> new EventOrigin.Announced(zmq);
      case EventPublishing.BoundOrDialled(EventPublishing.Zmq zmq) -> bound(zmq);
      case EventPublishing.Withheld _ -> new EventOrigin.None("It is a router itself, and chooses among engines whose"
          + " caches are not seen from here. For decisions by their caches give the engines, each with its own HTTP"
          + " server, in its place.");
      case EventPublishing.Off _ -> new EventOrigin.None("It publishes no cache events; start it with"
          + " --kv-events-config.");
      case EventPublishing.TooMany(int ranks) -> new EventOrigin.None("It names the cache events of " + ranks
          + " data-parallel ranks, and a pod may have " + EngineDescription.MAX_RANKS + ": give the ranks to several"
          + " API servers, such as by --data-parallel-external-lb, and each of these as a pod.");
      case EventPublishing.Unusable(String why) -> new EventOrigin.None(why);
      case EventPublishing.UntoldPorts _ -> new EventOrigin.None("The system chooses the ports of its cache events,"
          + " which vLLM tells since 0.31: take that, or set ports in endpoint and replay_endpoint of its"
          + " --kv-events-config.");
      case EventPublishing.Untold _ -> untold(engine, alone);
    };
  }

  private EventOrigin bound(EventPublishing.Zmq zmq) {
    URI endpoint = URI.create(zmq.endpoint());
    return endpoint.getHost() != null && endpoint.getPort() > 0
            && ZmtpGreeting.comesFrom(endpoint.getHost(), endpoint.getPort(), timeout)
        ? new EventOrigin.Announced(zmq)
        : new EventOrigin.None("It publishes cache events by " + zmq.endpoint() + ", where nobody answers: let the"
            + " router reach that; or, where the engine dials it, set events of the pod with that endpoint and bind ="
            + " true.");
  }

  private EventOrigin untold(EngineDescription engine, boolean alone) {
    if (!publishesAtDefaultPort(engine.identity().kind())) {
      return new EventOrigin.None("It does not tell whether it publishes cache events.");
    }
    String host = engine.url().getHost();
    String endpoint = "tcp://" + host + ":" + EVENTS_PORT;
    if (!alone) {
      return new EventOrigin.None("It does not tell whether it publishes cache events, and as other engines are on the"
          + " same host, whose " + endpoint + " would be is not known." + orGrpc(engine));
    }
    Integer ranks = engine.cache().ranks();
    for (int rank = 0; rank < (ranks == null ? 1 : ranks); rank++) {
      if (!ZmtpGreeting.comesFrom(host, EVENTS_PORT + rank, timeout)) {
        return new EventOrigin.None("It does not tell whether it publishes cache events, and nobody does at tcp://"
            + host + ":" + (EVENTS_PORT + rank) + ", the default." + orGrpc(engine));
      }
    }
    return new EventOrigin.Assumed(endpoint, engine.identity().kind() == EngineKind.TENSORRT_LLM);
  }

  private static String orGrpc(EngineDescription engine) {
    return engine.identity().kind() == EngineKind.VLLM && engine.grpcPort() == null
        ? " Where it has a --grpc-port, give that as grpc-port, and it is asked there."
        : "";
  }

  private static boolean publishesAtDefaultPort(EngineKind kind) {
    return switch (kind) {
      case VLLM, SGLANG, TENSORRT_LLM, LLM_D_SIMULATOR -> true;
      case LLAMA_CPP, DYNAMO, UNKNOWN -> false;
    };
  }

  /**
   * What an engine answers to {@code /tokenize}.
   *
   * @param key its API key, null when it needs none
   * @throws HttpCallException when it does not say now, as while it is busy: what it can do is not known then
   */
  public EngineTokens tokens(EngineDescription engine, @Nullable String key)
      throws HttpCallException, InterruptedException {
    ObjectNode asked = JsonNodeFactory.instance.objectNode().put("prompt", EngineTokens.PROBE);
    EngineKind kind = engine.identity().kind();
    if (kind != EngineKind.TENSORRT_LLM) {
      asked.put("model", engine.baseModels().getFirst().name()).put("add_special_tokens", false);
    }
    byte[] body = asked.toString().getBytes(StandardCharsets.UTF_8);
    HttpCalls.Reply reply =
        calls.send(HttpCalls.Request.post(engine.url().resolve("/tokenize"), body, timeout).withBearer(key));
    if (isForNow(reply.status())) {
      reply.requireStatus(200);
    }
    return reply.status() == 200 ? EngineTokens.of(tokens(reply), kind) : EngineTokens.NONE;
  }

  /** Whether the same may be answered otherwise later: 501 is of servers that have no such route. */
  private static boolean isForNow(int status) {
    return status == 429 || (status >= 500 && status != 501);
  }

  private static JsonNode tokens(HttpCalls.Reply reply) {
    try {
      return reply.json().path("tokens");
    } catch (HttpCallException notJson) {
      return MissingNode.getInstance();
    }
  }
}
