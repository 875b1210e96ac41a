package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.GenerationRequest;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.http.SimHttpHandler;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.EngineErrors;
import io.kvasir.sim.json.JsonReply;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.operations.OperationsApi;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.ModelText;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** vLLM's HTTP surface: reads requests and hands the work to the {@link RequestDispatcher}. */
public final class HttpApi implements SimHttpHandler {
  private static final int COMPLETION_TOKENS = 16;

  private final SimSettings settings;
  private final PromptReader prompts;
  private final RequestDispatcher dispatcher;
  private final OperationsApi operations;
  private final FaultInjector faults;
  private final EmbeddingsApi embeddings;
  private final EncoderCache encoders;
  private volatile boolean draining;
  private volatile boolean unaskedUsage;

  /** The surface of an engine with these settings. */
  public HttpApi(SimSettings settings, ModelText text, RequestDispatcher dispatcher, OperationsApi operations,
      FaultInjector faults,
      EncoderCache encoders) {
    this.settings = settings;
    this.prompts = new PromptReader(settings, text);
    this.dispatcher = dispatcher;
    this.operations = operations;
    this.faults = faults;
    this.encoders = encoders;
    this.embeddings = new EmbeddingsApi(dispatcher);
  }

  /** Whether what is new is refused. */
  public void setDraining(boolean on) {
    draining = on;
  }

  /** Whether every stream of chat and completions ends with its usage, asked or not. */
  public void setUnaskedUsage(boolean on) {
    unaskedUsage = on;
  }

  @Override
  public void handle(SimHttpExchange exchange) throws IOException {
    boolean anthropic = exchange.path().startsWith("/v1/messages");
    try {
      if (draining && (exchange.path().startsWith("/v1/") || exchange.path().equals("/health"))) {
        throw EngineApiException.of(503, "Service Unavailable");
      }
      switch (exchange.method()) {
        case "GET", "HEAD" -> {
          exchange.letLaterPass();
          operations.get(exchange);
        }
        case "POST" -> post(exchange);
        default -> throw EngineApiException.of(405, "Method Not Allowed");
      }
    } catch (EngineApiException e) {
      JsonReply.send(exchange, e.status(), anthropic ? anthropicError(e) : openAiError(e));
    }
  }

  private void post(SimHttpExchange exchange) throws IOException, EngineApiException {
    String path = exchange.path();
    InjectedFault.Kind fault = path.startsWith("/v1/") ? faults.next() : null;
    failEarly(exchange, fault);
    switch (path) {
      case "/v1/chat/completions" -> generate(exchange, fault, this::chat);
      case "/v1/completions" -> generate(exchange, fault, this::complete);
      case "/v1/responses" -> generate(exchange, fault, this::respond);
      case "/v1/messages" -> generate(exchange, fault, this::message);
      case "/v1/messages/count_tokens" -> {
        int[] prompt = prompts.messages(RequestBody.parse(exchange.body()));
        JsonReply.send(exchange, object().put("input_tokens", prompt.length));
      }
      case "/v1/embeddings" -> embed(exchange, RequestBody.parse(exchange.body()));
      case "/tokenize" -> {
        RequestBody body = RequestBody.parse(exchange.body());
        lora(body); // or it names no model that is served
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

  private void chat(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    String lora = lora(body);
    EncoderCache.ScannedItems items = encoders.scan(body.json());
    if (settings.role() == Role.ENCODE) {
      encode(exchange, body, items);
      return;
    }
    encodeMissing(exchange, items, lora);
    int[] prompt = prompts.chat(new RequestBody(items.body()));
    GenerationRequest request = GenerationRequest.of(body, List.of(prompt), GenerationRequest.maxTokens(body), 0,
        settings.maxModelLen(), lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    ResponseFormat format =
        new CompletionFormat(
            true, id, servedModel(body), now(), request.choices(),
            unaskedUsage || request.response().includeUsage(),
            request.response().returnTokenIds() ? request.prompts() : null);
    dispatcher.dispatch(exchange, body, id, request, format, fault);
  }

  /** An encoder's whole answer: what it made of the items. */
  private void encode(SimHttpExchange exchange, RequestBody body, EncoderCache.ScannedItems items)
      throws IOException, EngineApiException {
    if (items.names().isEmpty()) {
      throw EngineApiException.badRequest("An encoder-only engine needs at least one multimodal item.", "messages");
    }
    encodeMissing(exchange, items, null);
    CompletionFormat format =
        new CompletionFormat(
            true, "chatcmpl-" + requestId(exchange, body), servedModel(body), now(), 1, false, null);
    ResponseFormat.Choice nothing = new ResponseFormat.Choice("", new int[0], GeneratedSequence.FinishReason.STOP);
    JsonNode answer = format.body(List.of(nothing), new Usage(EncoderCache.TOKENS * items.names().size(), 0, null));
    ((ObjectNode) answer).set("ec_transfer_params", EncoderCache.params(items.names()));
    JsonReply.send(exchange, answer);
  }

  private void encodeMissing(SimHttpExchange exchange, EncoderCache.ScannedItems items, @Nullable String lora)
      throws IOException, EngineApiException {
    if (!items.missing().isEmpty()) {
      dispatcher.computeTokens(exchange, EncoderCache.TOKENS * items.missing().size(), lora);
      encoders.recordEncoded(items.missing(), settings.role() == Role.ENCODE);
    }
  }

  private void complete(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    String lora = lora(body);
    List<int[]> several = prompts.prompts(body, "prompt");
    GenerationRequest request = GenerationRequest.of(body, several, body.integer("max_tokens"), COMPLETION_TOKENS,
        settings.maxModelLen(), lora);
    String id = "cmpl-" + requestId(exchange, body);
    ResponseFormat format =
        new CompletionFormat(
            false, id, servedModel(body), now(), several.size() * request.choices(),
            unaskedUsage || request.response().includeUsage(),
            request.response().returnTokenIds() ? several : null);
    dispatcher.dispatch(exchange, body, id, request, format, fault);
  }

  private void respond(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    String named = lora(body);
    // SGLang's has no adapters (0.5.23).
    String lora = settings.http().api() == EngineApi.SGLANG ? null : named;
    int[] prompt = prompts.response(body);
    GenerationRequest request = GenerationRequest.of(body, List.of(prompt), body.integer("max_output_tokens"), 0,
        settings.maxModelLen(), lora);
    JsonNode instructions = body.get("instructions");
    // The header says nothing there.
    String given = body.text("request_id");
    String id = given != null ? given : "resp_" + UUID.randomUUID().toString().replace("-", "");
    ResponseFormat format =
        new ResponsesFormat(
            id, servedModel(body), now(),
            instructions == null ? JsonNodeFactory.instance.nullNode()
                : instructions, request.sampling().maxTokens());
    dispatcher.dispatch(exchange, body, id, request, format, fault);
  }

  private void message(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    String lora = lora(body);
    Integer maxTokens = body.integer("max_tokens");
    if (maxTokens == null) {
      throw EngineApiException.missing("max_tokens");
    }
    int[] prompt = prompts.messages(body);
    GenerationRequest request = GenerationRequest.of(body, List.of(prompt), maxTokens, 0, settings.maxModelLen(), lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    MessagesFormat format = new MessagesFormat(id, servedModel(body), prompt.length, cachedTokensOfMessages());
    dispatcher.dispatch(exchange, body, id, request, format, fault);
  }

  /** SGLang leaves out none; vLLM tells of none too since it tells of any, in 0.24. */
  private CachedTokensUsage cachedTokensOfMessages() {
    return switch (settings.http().api()) {
      case SGLANG -> CachedTokensUsage.FOUND;
      case VLLM -> settings.cachedTokens() == CachedTokensUsage.ALWAYS ? CachedTokensUsage.ALWAYS
          : CachedTokensUsage.NEVER;
      case TENSORRT_LLM, LLM_D, DYNAMO -> CachedTokensUsage.NEVER;
    };
  }

  private void embed(SimHttpExchange exchange, RequestBody body) throws IOException, EngineApiException {
    String lora = lora(body);
    JsonReply.send(
        exchange,
        embeddings.answer(
            exchange, body, prompts.prompts(body, "input"), lora, settings.maxModelLen(),
            "embd-" + requestId(exchange, body), servedModel(body), now()));
  }

  /** The adapter that the request names; null for the base model or when it names none. */
  private @Nullable String lora(RequestBody body) throws EngineApiException {
    String name = body.text("model");
    String model = settings.model().name();
    List<String> loras = settings.model().loras();
    boolean sglang = settings.http().api() == EngineApi.SGLANG;
    if (name == null || name.isEmpty() || name.equals(model) || (sglang && loras.contains(name))) {
      return sglang ? body.text("lora_path") : null;
    }
    // By its name alone SGLang does not know an adapter.
    String adapter = !sglang ? name : name.startsWith(model + ":") ? name.substring(model.length() + 1) : "";
    if (loras.contains(adapter)) {
      return adapter;
    }
    throw EngineApiException.notFound("The model `" + name + "` does not exist.", "model");
  }

  private String servedModel(RequestBody body) throws EngineApiException {
    String name = body.text("model");
    return name == null || name.isEmpty() ? settings.model().name() : name;
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

  private static String requestId(SimHttpExchange exchange, RequestBody body) throws EngineApiException {
    String header = exchange.header("x-request-id");
    if (header != null && !header.isEmpty()) {
      return header;
    }
    String given = body.text("request_id");
    return given != null ? given : UUID.randomUUID().toString().replace("-", "");
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

  private static long now() {
    return System.currentTimeMillis() / 1000;
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
