package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpHandler;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.EngineErrors;
import io.kvasir.sim.json.JsonReply;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.operations.OperationsApi;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.AnswerPlanner;
import io.kvasir.sim.text.ModelText;
import io.kvasir.sim.text.TokenLogprobs;
import java.io.IOException;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** vLLM's HTTP surface: reads requests and hands the work to the {@link RequestDispatcher}. */
public final class HttpApi implements SimHttpHandler {
  private static final String JSON = "application/json";
  private static final String GET = "GET";
  private static final String POST = "POST";
  /** Paths whose requests have to say that they are JSON. */
  private static final Set<String> JSON_PATHS = Set.of(
      "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens",
      "/v1/embeddings", "/tokenize", "/detokenize");
  private static final Set<String> GET_PATHS = Set.of("/health", "/version", "/v1/models", "/load", "/server_info");

  private final SimSettings settings;
  private final PromptReader prompts;
  private final RequestDispatcher dispatcher;
  private final OperationsApi operations;
  private final FaultInjector faults;
  private final EmbeddingsApi embeddings;
  private final ModelNames models;
  private final GenerationApi generation;
  private volatile boolean draining;

  /** The surface of an engine with these settings. */
  public HttpApi(SimSettings settings, ModelText text, RequestDispatcher dispatcher, OperationsApi operations,
      FaultInjector faults, EncoderCache encoders, TokenLogprobs logprobs) {
    this.settings = settings;
    this.prompts = new PromptReader(settings, text);
    this.dispatcher = dispatcher;
    this.operations = operations;
    this.faults = faults;
    this.models = new ModelNames(settings);
    this.generation =
        new GenerationApi(settings, prompts, dispatcher, models, encoders, new AnswerPlanner(text), logprobs);
    this.embeddings = new EmbeddingsApi(dispatcher);
  }

  /** Whether what is new is refused. */
  public void setDraining(boolean on) {
    draining = on;
  }

  /** Whether every stream of chat and completions ends with its usage, asked or not. */
  public void setUnaskedUsage(boolean on) {
    generation.setUnaskedUsage(on);
  }

  @Override
  public void handle(SimHttpExchange exchange) throws IOException {
    boolean anthropic = exchange.path().startsWith("/v1/messages");
    try {
      if (draining && (exchange.path().startsWith("/v1/") || exchange.path().equals("/health"))) {
        throw EngineApiException.of(503, "Service Unavailable");
      }
      switch (exchange.method()) {
        case GET, "HEAD" -> {
          checkMethod(JSON_PATHS, exchange, POST);
          exchange.letLaterPass();
          operations.get(exchange);
        }
        case POST -> {
          checkMethod(GET_PATHS, exchange, GET);
          post(exchange);
        }
        default -> {
          checkMethod(JSON_PATHS, exchange, POST);
          checkMethod(GET_PATHS, exchange, GET);
          throw EngineApiException.noRoute();
        }
      }
    } catch (EngineApiException e) {
      switch (e.origin()) {
        case ROUTES -> {
          if (e.param() != null) {
            exchange.addHeader("allow", e.param());
          }
          JsonReply.send(exchange, e.status(), object().put("detail", e.getMessage()));
        }
        case FIELDS -> JsonReply.send(exchange, e.status(), openAiError(e));
        case ENGINE -> JsonReply.send(exchange, e.status(), anthropic ? anthropicError(e) : openAiError(e));
      }
    }
  }

  private static void checkMethod(Set<String> others, SimHttpExchange exchange, String theirs)
      throws EngineApiException {
    if (others.contains(exchange.path())) {
      throw EngineApiException.methodNotAllowed(theirs);
    }
  }

  /** Other than FastAPI, vLLM refuses what does not say that it is JSON as a field that is wrong. */
  private static void checkContentType(SimHttpExchange exchange) throws EngineApiException {
    String type = exchange.header("content-type");
    if (type == null || !type.split(";", 2)[0].equalsIgnoreCase(JSON)) {
      throw EngineApiException.fields("Unsupported Media Type: Only 'application/json' is allowed", null);
    }
  }

  private void post(SimHttpExchange exchange) throws IOException, EngineApiException {
    String path = exchange.path();
    InjectedFault.Kind fault = path.startsWith("/v1/") ? faults.next() : null;
    failEarly(exchange, fault);
    if (JSON_PATHS.contains(path)) {
      checkContentType(exchange);
    }
    switch (path) {
      case "/v1/chat/completions" -> generate(exchange, fault, generation::chat);
      case "/v1/completions" -> generate(exchange, fault, generation::complete);
      case "/v1/responses" -> generate(exchange, fault, generation::respond);
      case "/v1/messages" -> generate(exchange, fault, generation::message);
      case "/v1/messages/count_tokens" -> {
        int[] prompt = prompts.messages(RequestBody.parse(exchange.body()));
        ObjectNode answer = object().put("input_tokens", prompt.length);
        answer.putObject("context_management").put("original_input_tokens", prompt.length);
        JsonReply.send(exchange, answer);
      }
      case "/v1/embeddings" -> embed(exchange, RequestBody.parse(exchange.body()));
      case "/tokenize" -> {
        RequestBody body = RequestBody.parse(exchange.body());
        models.lora(body); // or it names no model that is served
        JsonReply.send(exchange, prompts.tokenize(body));
      }
      case "/detokenize" -> JsonReply.send(exchange, prompts.detokenize(RequestBody.parse(exchange.body())));
      default -> {
        exchange.letLaterPass();
        operations.post(exchange);
      }
    }
  }

  /** One of the APIs that generate. */
  private interface GenerateHandler {
    void answer(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
        throws IOException, EngineApiException;
  }

  private void generate(SimHttpExchange exchange, InjectedFault.@Nullable Kind fault, GenerateHandler api)
      throws IOException, EngineApiException {
    RequestBody body = RequestBody.parse(exchange.body());
    try {
      api.answer(exchange, body, fault);
    } catch (EngineApiException e) {
      dispatcher.abandonTransfers(exchange, body);
      throw e;
    }
  }

  private void embed(SimHttpExchange exchange, RequestBody body) throws IOException, EngineApiException {
    String lora = models.lora(body);
    JsonReply.send(
        exchange,
        embeddings.answer(
            exchange, body, prompts.prompts(body, "input"), lora, settings.maxModelLen(),
            "embd-" + GenerationApi.requestId(exchange, body), models.name(body),
            System.currentTimeMillis() / 1000));
  }

  private void failEarly(SimHttpExchange exchange, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    if (fault == null) {
      return;
    }
    exchange.letLaterPass();
    switch (fault) {
      case STATUS_500 -> throw EngineApiException.of(500, "Internal server error");
      case STATUS_503 -> throw EngineApiException.of(503, "Service Unavailable");
      case STATUS_429 -> throw EngineApiException.of(429, "Too many requests");
      case HANG -> {
        CountDownLatch closed = new CountDownLatch(1);
        exchange.onCancelled(closed::countDown);
        awaitQuietly(closed);
        throw new IOException("The client left");
      }
      case RESET -> {
        exchange.reset();
        throw new IOException("Reset on purpose");
      }
      case HANG_AFTER_HEAD, HANG_MIDWAY, CUT, NO_END, SLOW, STREAM_ERROR -> { } // later, within the answer
    }
  }

  /** Nested as vLLM's, flat as SGLang's and TensorRT-LLM's. */
  private JsonNode openAiError(EngineApiException e) {
    if (settings.http().api() == EngineApi.VLLM || settings.http().api() == EngineApi.LLM_D) {
      ObjectNode answer = EngineErrors.json(e.status(), e.type(), e.getMessage());
      ((ObjectNode) answer.get("error")).put("param", e.param());
      return answer;
    }
    return object()
        .put("object", "error")
        .put("message", e.getMessage())
        .put("type", e.type())
        .put("param", e.param())
        .put("code", e.status());
  }

  private static JsonNode anthropicError(EngineApiException e) {
    ObjectNode answer = object().put("type", "error");
    answer.putObject("error").put("type", e.type()).put("message", e.getMessage());
    return answer;
  }

  private static ObjectNode object() {
    return JsonNodeFactory.instance.objectNode();
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
