package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import io.kvasir.sim.http.HttpExchange;
import io.kvasir.sim.http.HttpServer;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** vLLM's HTTP surface: reads requests and hands the work to the {@link Desk}. */
final class HttpApi implements HttpServer.Handler {
  private static final String JSON = "application/json";
  private static final int COMPLETION_TOKENS = 16;

  private final SimSettings settings;
  private final PromptReader prompts;
  private final Desk desk;
  private final Operations operations;
  private final FaultInjector faults;
  private final Embeddings embeddings;
  private final EncoderCache encoders;
  private volatile boolean drains;

  HttpApi(SimSettings settings, ModelText text, Desk desk, Operations operations, FaultInjector faults,
      EncoderCache encoders) {
    this.settings = settings;
    this.prompts = new PromptReader(settings, text);
    this.desk = desk;
    this.operations = operations;
    this.faults = faults;
    this.encoders = encoders;
    this.embeddings = new Embeddings(desk);
  }

  /** Whether what is new is refused. */
  void drain(boolean on) {
    drains = on;
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    boolean anthropic = exchange.path().startsWith("/v1/messages");
    try {
      if (drains && (exchange.path().startsWith("/v1/") || exchange.path().equals("/health"))) {
        throw ApiError.of(503, "Service Unavailable");
      }
      switch (exchange.method()) {
        case "GET", "HEAD" -> operations.get(exchange);
        case "POST" -> post(exchange);
        default -> throw ApiError.of(405, "Method Not Allowed");
      }
    } catch (ApiError e) {
      exchange.reply(e.status(), JSON, bytes(anthropic ? anthropicError(e) : openAiError(e)));
    }
  }

  private void post(HttpExchange exchange) throws IOException, ApiError {
    String path = exchange.path();
    Fault.Kind fault = path.startsWith("/v1/") ? faults.next() : null;
    failEarly(exchange, fault);
    switch (path) {
      case "/v1/chat/completions" -> generate(exchange, fault, this::chat);
      case "/v1/completions" -> generate(exchange, fault, this::complete);
      case "/v1/responses" -> generate(exchange, fault, this::respond);
      case "/v1/messages" -> generate(exchange, fault, this::message);
      case "/v1/messages/count_tokens" -> {
        int[] prompt = prompts.messages(Body.parse(exchange.body()));
        reply(exchange, object().put("input_tokens", prompt.length));
      }
      case "/v1/embeddings" -> embed(exchange, Body.parse(exchange.body()));
      case "/tokenize" -> {
        Body body = Body.parse(exchange.body());
        lora(body); // or it names no model that is served
        reply(exchange, prompts.tokenized(body));
      }
      case "/detokenize" -> reply(exchange, prompts.detokenized(Body.parse(exchange.body())));
      default -> operations.post(exchange);
    }
  }

  /** One of the APIs that generate. */
  private interface Generator {
    void answer(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError;
  }

  private void generate(HttpExchange exchange, Fault.@Nullable Kind fault, Generator api)
      throws IOException, ApiError {
    Body body = Body.parse(exchange.body());
    try {
      api.answer(exchange, body, fault);
    } catch (ApiError e) {
      desk.refused(exchange, body);
      throw e;
    }
  }

  private void chat(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError {
    String lora = lora(body);
    EncoderCache.Seen seen = encoders.see(body.json());
    if (settings.role() == Role.ENCODE) {
      encode(exchange, body, seen);
      return;
    }
    encodeMissing(exchange, seen, lora);
    int[] prompt = prompts.chat(new Body(seen.body()));
    Job job = Job.of(body, List.of(prompt), Job.most(body), 0, settings.modelLen(), lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    AnswerShape shape =
        new CompletionShape(
            true, id, servedModel(body), now(), job.choices(),
            job.includeUsage(), job.tokenIds() ? job.prompts() : null);
    desk.serve(exchange, body, id, job, shape, fault);
  }

  /** An encoder's whole answer: what it made of the items. */
  private void encode(HttpExchange exchange, Body body, EncoderCache.Seen seen) throws IOException, ApiError {
    if (seen.names().isEmpty()) {
      throw ApiError.badRequest("An encoder-only engine needs at least one multimodal item.", "messages");
    }
    encodeMissing(exchange, seen, null);
    CompletionShape shape =
        new CompletionShape(
            true, "chatcmpl-" + requestId(exchange, body), servedModel(body), now(), 1, false, null);
    AnswerShape.Choice nothing = new AnswerShape.Choice("", new int[0], Generation.Finish.STOP);
    JsonNode answer = shape.whole(List.of(nothing), new Usage(EncoderCache.TOKENS * seen.names().size(), 0, null));
    ((ObjectNode) answer).set("ec_transfer_params", EncoderCache.params(seen.names()));
    reply(exchange, answer);
  }

  private void encodeMissing(HttpExchange exchange, EncoderCache.Seen seen, @Nullable String lora)
      throws IOException, ApiError {
    if (!seen.missing().isEmpty()) {
      desk.compute(exchange, EncoderCache.TOKENS * seen.missing().size(), lora);
      encoders.encoded(seen.missing(), settings.role() == Role.ENCODE);
    }
  }

  private void complete(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError {
    String lora = lora(body);
    List<int[]> several = prompts.several(body, "prompt");
    Job job = Job.of(body, several, body.integer("max_tokens"), COMPLETION_TOKENS, settings.modelLen(), lora);
    String id = "cmpl-" + requestId(exchange, body);
    AnswerShape shape =
        new CompletionShape(
            false, id, servedModel(body), now(), several.size() * job.choices(),
            job.includeUsage(), job.tokenIds() ? several : null);
    desk.serve(exchange, body, id, job, shape, fault);
  }

  private void respond(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError {
    String lora = lora(body);
    int[] prompt = prompts.response(body);
    Job job = Job.of(body, List.of(prompt), body.integer("max_output_tokens"), 0, settings.modelLen(), lora);
    JsonNode instructions = body.get("instructions");
    String id = requestId(exchange, body);
    AnswerShape shape =
        new ResponsesShape(
            id, servedModel(body), now(),
            instructions == null ? JsonNodeFactory.instance.nullNode() : instructions, job.extent().most());
    desk.serve(exchange, body, "resp_" + id, job, shape, fault);
  }

  private void message(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError {
    String lora = lora(body);
    Integer most = body.integer("max_tokens");
    if (most == null) {
      throw ApiError.missing("max_tokens");
    }
    int[] prompt = prompts.messages(body);
    Job job = Job.of(body, List.of(prompt), most, 0, settings.modelLen(), lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    desk.serve(exchange, body, id, job, new MessagesShape(id, servedModel(body), prompt.length), fault);
  }

  private void embed(HttpExchange exchange, Body body) throws IOException, ApiError {
    String lora = lora(body);
    reply(
        exchange,
        embeddings.answer(
            exchange, body, prompts.several(body, "input"), lora, settings.modelLen(),
            "embd-" + requestId(exchange, body), servedModel(body), now()));
  }

  /** The adapter that the request's model names; null for the base model or when it names none. */
  private @Nullable String lora(Body body) throws ApiError {
    String asked = body.text("model");
    if (asked == null || asked.isEmpty() || asked.equals(settings.model())) {
      return null;
    }
    if (settings.loras().contains(asked)) {
      return asked;
    }
    throw ApiError.notFound("The model `" + asked + "` does not exist.", "model");
  }

  private String servedModel(Body body) throws ApiError {
    String asked = body.text("model");
    return asked == null || asked.isEmpty() ? settings.model() : asked;
  }

  private void failEarly(HttpExchange exchange, Fault.@Nullable Kind fault) throws IOException, ApiError {
    if (fault == null) {
      return;
    }
    switch (fault) {
      case STATUS_500 -> throw ApiError.of(500, "Internal server error");
      case STATUS_503 -> throw ApiError.of(503, "Service Unavailable");
      case STATUS_429 -> throw ApiError.of(429, "Too many requests");
      case HANG -> {
        CountDownLatch gone = new CountDownLatch(1);
        exchange.onGone(gone::countDown);
        awaitQuietly(gone);
        throw new IOException("The client left");
      }
      case RESET -> {
        exchange.reset();
        throw new IOException("Reset on purpose");
      }
      case HANG_AFTER_HEAD, HANG_MIDWAY, CUT, NO_END, SLOW, STREAM_ERROR -> { } // later, within the answer
    }
  }

  private static String requestId(HttpExchange exchange, Body body) throws ApiError {
    String header = exchange.header("x-request-id");
    if (header != null && !header.isEmpty()) {
      return header;
    }
    String given = body.text("request_id");
    return given != null ? given : UUID.randomUUID().toString().replace("-", "");
  }

  /** Nested as vLLM's, flat as SGLang's and TensorRT-LLM's. */
  private JsonNode openAiError(ApiError e) {
    if (settings.transfer().dialect().vllm()) {
      ObjectNode answer = EngineFailure.json(e.status(), e.type(), e.getMessage());
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

  private static JsonNode anthropicError(ApiError e) {
    ObjectNode answer = object().put("type", "error");
    answer.putObject("error").put("type", e.type()).put("message", e.getMessage());
    return answer;
  }

  static void reply(HttpExchange exchange, JsonNode answer) throws IOException {
    exchange.reply(200, JSON, bytes(answer));
  }

  private static byte[] bytes(JsonNode json) {
    return json.toString().getBytes(StandardCharsets.UTF_8);
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
