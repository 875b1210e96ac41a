package io.kvasir.app.init;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import io.kvasir.app.node.StartException;
import io.kvasir.engines.EngineDescription;
import io.kvasir.engines.EngineInquiry;
import io.kvasir.engines.EngineKind;
import io.kvasir.engines.EventPublishing;
import io.kvasir.http.HttpCallException;
import io.kvasir.http.HttpCalls;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** Asks engines what they are, all at the same time, and finds out what they do not tell but show. */
final class EngineSurvey {
  /** Where vLLM and SGLang publish unless told otherwise; rank r at the port + r. */
  private static final int EVENTS_PORT = 5557;

  private final HttpCalls calls;
  private final EngineInquiry inquiry;
  private final @Nullable String key;
  private final Duration timeout;

  /**
   * A survey.
   *
   * @param calls owned by the caller
   * @param key the engines' API key, null when they need none
   * @param timeout of each question
   */
  EngineSurvey(HttpCalls calls, @Nullable String key, Duration timeout) {
    this.calls = calls;
    this.inquiry = new EngineInquiry(calls, timeout);
    this.key = key;
    this.timeout = timeout;
  }

  /**
   * Asks the engines at these URLs.
   *
   * @throws StartException when a URL is none, or an engine cannot be asked; the message has all that are wrong
   */
  List<SurveyedEngine> survey(List<String> urls) throws StartException, InterruptedException {
    List<String> faults = new ArrayList<>();
    Set<URI> engines = new LinkedHashSet<>();
    for (String url : urls) {
      try {
        if (!engines.add(EngineUrl.parse(url))) {
          faults.add(url + " is there twice");
        }
      } catch (IllegalArgumentException wrong) {
        faults.add(String.valueOf(wrong.getMessage()));
      }
    }
    throwAny(faults);
    List<SurveyedEngine> surveyed = new ArrayList<>();
    try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor()) {
      List<EngineDescription> descriptions = descriptions(engines, executor);
      Map<EngineKind, Integer> numbers = new EnumMap<>(EngineKind.class);
      List<Future<SurveyedEngine>> finished = new ArrayList<>();
      for (EngineDescription description : descriptions) {
        EngineKind kind = description.identity().kind();
        String name = prefix(kind) + "-" + (numbers.merge(kind, 1, Integer::sum) - 1);
        finished.add(executor.submit(() -> surveyed(name, description, descriptions)));
      }
      for (Future<SurveyedEngine> engine : finished) {
        surveyed.add(engine.get());
      }
    } catch (ExecutionException impossible) {
      throw new IllegalStateException(impossible);
    }
    return surveyed;
  }

  private List<EngineDescription> descriptions(Set<URI> engines, ExecutorService executor)
      throws StartException, InterruptedException {
    List<Future<EngineDescription>> asked =
        engines.stream().map(url -> executor.submit(() -> inquiry.describe(url, key))).toList();
    List<EngineDescription> descriptions = new ArrayList<>();
    List<String> faults = new ArrayList<>();
    for (Future<EngineDescription> answer : asked) {
      try {
        descriptions.add(answer.get());
      } catch (ExecutionException failed) {
        if (!(failed.getCause() instanceof HttpCallException refused)) {
          throw new IllegalStateException(failed);
        }
        faults.add(refused.getMessage() + remedy(refused));
      }
    }
    throwAny(faults);
    return descriptions;
  }

  private String remedy(HttpCallException failed) {
    if (isTls(failed)) {
      return "; name the authority of the engine's certificate in KVASIR_PODS_TLS_AUTHORITY";
    }
    return switch (failed.kind()) {
      case IO, TIMEOUT -> "; does the engine run, has it loaded its model, and is it reached from here?";
      case STATUS -> String.valueOf(failed.getMessage()).matches(".* answered 40[13]")
          ? key == null
              ? "; give the engine's API key in KVASIR_POD_API_KEY, or its file by --engine-key-file"
              : "; the engine does not accept that API key"
          : "; is that an engine with OpenAI's API?";
      case NOT_JSON, TOO_LARGE -> "; is that an engine with OpenAI's API?";
    };
  }

  private static boolean isTls(HttpCallException failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException) {
        return true;
      }
    }
    return false;
  }

  private SurveyedEngine surveyed(String name, EngineDescription engine, List<EngineDescription> all)
      throws InterruptedException {
    return new SurveyedEngine(name, engine, events(engine, all), tokenizes(engine));
  }

  private EventOrigin events(EngineDescription engine, List<EngineDescription> all) {
    return switch (engine.events()) {
      case EventPublishing.Zmq zmq -> new EventOrigin.Announced(zmq);
      case EventPublishing.Off _ -> new EventOrigin.None("It publishes no cache events; start it with"
          + " --kv-events-config.");
      case EventPublishing.Untold _ -> untold(engine, all);
    };
  }

  private EventOrigin untold(EngineDescription engine, List<EngineDescription> all) {
    if (!publishesAtDefaultPort(engine.identity().kind())) {
      return new EventOrigin.None("It does not tell whether it publishes cache events.");
    }
    String host = engine.url().getHost();
    String endpoint = "tcp://" + host + ":" + EVENTS_PORT;
    if (all.stream().filter(other -> host.equals(other.url().getHost())).count() > 1) {
      return new EventOrigin.None("It does not tell whether it publishes cache events, and as other engines are on the"
          + " same host, whose " + endpoint + " would be is not known.");
    }
    Integer ranks = engine.cache().ranks();
    for (int rank = 0; rank < (ranks == null ? 1 : ranks); rank++) {
      if (!ZmtpGreeting.comesFrom(host, EVENTS_PORT + rank, timeout)) {
        return new EventOrigin.None("It does not tell whether it publishes cache events, and nobody does at tcp://"
            + host + ":" + (EVENTS_PORT + rank) + ", the default.");
      }
    }
    return new EventOrigin.Assumed(endpoint);
  }

  private static boolean publishesAtDefaultPort(EngineKind kind) {
    return switch (kind) {
      case VLLM, SGLANG, LLM_D_SIMULATOR -> true;
      case TENSORRT_LLM, LLAMA_CPP, UNKNOWN -> false;
    };
  }

  private boolean tokenizes(EngineDescription engine) throws InterruptedException {
    byte[] body =
        JsonNodeFactory.instance.objectNode()
            .put("model", engine.baseModels().getFirst().name())
            .put("prompt", "Hello")
            .toString()
            .getBytes(StandardCharsets.UTF_8);
    try {
      HttpCalls.Reply reply =
          calls.send(HttpCalls.Request.post(engine.url().resolve("/tokenize"), body, timeout).withBearer(key));
      return reply.status() == 200 && reply.json().path("tokens").isArray();
    } catch (HttpCallException cannot) {
      return false;
    }
  }

  private static String prefix(EngineKind kind) {
    return switch (kind) {
      case VLLM -> "vllm";
      case SGLANG -> "sglang";
      case TENSORRT_LLM -> "tensorrt";
      case LLM_D_SIMULATOR -> "llmd-sim";
      case LLAMA_CPP -> "llamacpp";
      case UNKNOWN -> "engine";
    };
  }

  private static void throwAny(List<String> faults) throws StartException {
    if (!faults.isEmpty()) {
      throw new StartException(
          faults.size() == 1
              ? faults.getFirst()
              : "engines cannot be asked:\n  " + String.join("\n  ", faults));
    }
  }
}
