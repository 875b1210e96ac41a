package io.kvasir.sim;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.prompt.Api;
import io.kvasir.routing.Role;
import io.kvasir.sim.http.HttpExchange;
import io.kvasir.sim.http.HttpServer;
import io.kvasir.sim.transfer.Dialect;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;

/** vLLM's HTTP surface: reads requests, turns prompts into tokens and hands the work to the {@link Desk}. */
final class HttpApi implements HttpServer.Handler {
  private static final String JSON = "application/json";
  private static final int COMPLETION_TOKENS = 16;

  private final SimSettings settings;
  private final ModelText text;
  private final Desk desk;
  private final Operations operations;
  private final FaultInjector faults;
  private final Embeddings embeddings;
  private final EncoderCache encoders;
  private volatile boolean drains;

  HttpApi(SimSettings settings, ModelText text, Desk desk, Operations operations, FaultInjector faults,
      EncoderCache encoders) {
    this.settings = settings;
    this.text = text;
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
        int[] prompt = messagesPrompt(Body.parse(exchange.body()));
        reply(exchange, object().put("input_tokens", prompt.length));
      }
      case "/v1/embeddings" -> embed(exchange, Body.parse(exchange.body()));
      case "/tokenize" -> tokenize(exchange, Body.parse(exchange.body()));
      case "/detokenize" -> {
        JsonNode tokens = Body.parse(exchange.body()).get("tokens");
        if (tokens == null || !tokens.isArray()) {
          throw ApiError.missing("tokens");
        }
        reply(exchange, object().put("prompt", text.decode(Job.ids(tokens, "tokens"))));
      }
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
    int[] prompt = chatPrompt(new Body(seen.body()));
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
    List<int[]> prompts = prompts(body, "prompt");
    Job job = Job.of(body, prompts, body.integer("max_tokens"), COMPLETION_TOKENS, settings.modelLen(), lora);
    String id = "cmpl-" + requestId(exchange, body);
    AnswerShape shape =
        new CompletionShape(
            false, id, servedModel(body), now(), prompts.size() * job.choices(),
            job.includeUsage(), job.tokenIds() ? prompts : null);
    desk.serve(exchange, body, id, job, shape, fault);
  }

  private void respond(HttpExchange exchange, Body body, Fault.@Nullable Kind fault) throws IOException, ApiError {
    String lora = lora(body);
    if (body.get("input") == null) {
      throw ApiError.missing("input");
    }
    String previous = body.text("previous_response_id");
    if (previous != null) {
      throw ApiError.notFound("Response with id '" + previous + "' not found.", "response_id");
    }
    int[] prompt = text.conversation(Api.RESPONSES, body.json());
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
    int[] prompt = messagesPrompt(body);
    Job job = Job.of(body, List.of(prompt), most, 0, settings.modelLen(), lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    desk.serve(exchange, body, id, job, new MessagesShape(id, servedModel(body), prompt.length), fault);
  }

  private void embed(HttpExchange exchange, Body body) throws IOException, ApiError {
    String lora = lora(body);
    reply(
        exchange,
        embeddings.answer(
            exchange, body, prompts(body, "input"), lora, settings.modelLen(), "embd-" + requestId(exchange, body),
            servedModel(body), now()));
  }

  private void tokenize(HttpExchange exchange, Body body) throws IOException, ApiError {
    lora(body);
    int[] tokens;
    if (body.get("messages") != null) {
      tokens = chatPrompt(body);
    } else {
      String prompt = body.text("prompt");
      if (prompt == null) {
        throw ApiError.missing("prompt");
      }
      tokens = text.encode(prompt, special(body));
    }
    ObjectNode answer = object().put("count", tokens.length).put("max_model_len", settings.modelLen());
    ArrayNode list = answer.putArray("tokens");
    for (int token : tokens) {
      list.add(Integer.toUnsignedLong(token));
    }
    if (body.flag("return_token_strs")) {
      ArrayNode strings = answer.putArray("token_strs");
      for (int token : tokens) {
        strings.add(text.decode(new int[] {token}));
      }
    } else {
      answer.putNull("token_strs");
    }
    reply(exchange, answer);
  }

  private int[] chatPrompt(Body body) throws ApiError {
    JsonNode messages = body.get("messages");
    if (messages == null) {
      throw ApiError.missing("messages");
    }
    if (!messages.isArray()) {
      throw Body.invalid("list_type", "messages", "Input should be a valid list");
    }
    if (body.flag("continue_final_message")
        && (body.get("add_generation_prompt") == null || body.flag("add_generation_prompt"))) {
      throw ApiError.badRequest(
          "Cannot set both `continue_final_message` and `add_generation_prompt` to True.", "continue_final_message");
    }
    JsonNode tokens = body.get("prompt_token_ids");
    if (settings.transfer().dialect() == Dialect.TENSORRT_LLM && tokens != null && tokens.isArray()) {
      return Job.ids(tokens, "prompt_token_ids");
    }
    return text.conversation(Api.CHAT, body.json());
  }

  private int[] messagesPrompt(Body body) throws ApiError {
    if (body.get("messages") == null) {
      throw ApiError.missing("messages");
    }
    return text.conversation(Api.MESSAGES, body.json());
  }

  /** The prompts in {@code field}: a text, several, token ids, or several lists of them. */
  private List<int[]> prompts(Body body, String field) throws ApiError {
    JsonNode given = body.get(field);
    if (given == null) {
      throw ApiError.missing(field);
    }
    boolean special = special(body);
    List<int[]> prompts = new ArrayList<>();
    if (given.isTextual()) {
      prompts.add(text.encode(given.textValue(), special));
    } else if (given.isArray() && !given.isEmpty() && given.get(0).isNumber()) {
      prompts.add(Job.ids(given, field));
    } else if (given.isArray()) {
      for (JsonNode one : given) {
        if (one.isTextual()) {
          prompts.add(text.encode(one.textValue(), special));
        } else if (one.isArray()) {
          prompts.add(Job.ids(one, field));
        } else {
          throw Body.invalid("string_type", field, "Input should be a valid string");
        }
      }
    } else {
      throw Body.invalid("string_type", field, "Input should be a valid string");
    }
    if (prompts.isEmpty() || prompts.stream().anyMatch(prompt -> prompt.length == 0)) {
      throw ApiError.badRequest("Either prompt or prompt_embeds must be provided and non-empty.", field);
    }
    return prompts;
  }

  private static boolean special(Body body) throws ApiError {
    return body.get("add_special_tokens") == null || body.flag("add_special_tokens");
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
