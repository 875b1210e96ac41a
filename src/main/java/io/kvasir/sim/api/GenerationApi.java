package io.kvasir.sim.api;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kvasir.routing.Role;
import io.kvasir.sim.core.AnswerPlan;
import io.kvasir.sim.core.GeneratedSequence;
import io.kvasir.sim.core.GenerationRequest;
import io.kvasir.sim.core.RequestDispatcher;
import io.kvasir.sim.core.ResponseFormat;
import io.kvasir.sim.core.Usage;
import io.kvasir.sim.http.SimHttpExchange;
import io.kvasir.sim.json.EngineApiException;
import io.kvasir.sim.json.JsonReply;
import io.kvasir.sim.json.RequestBody;
import io.kvasir.sim.settings.CachedTokensUsage;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.settings.InjectedFault;
import io.kvasir.sim.settings.SimSettings;
import io.kvasir.sim.text.AnswerPlanner;
import io.kvasir.sim.text.TokenLogprobs;
import java.io.IOException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The four APIs that generate: reads their requests and has them answered in their formats. Thread-safe. */
final class GenerationApi {
  private static final int COMPLETION_TOKENS = 16;
  private static final String MAX_TOKENS = "max_tokens";
  private static final String LOGPROBS = "logprobs";
  private static final String PROMPT_LOGPROBS = "prompt_logprobs";
  private static final String ECHO = "echo";

  private final SimSettings settings;
  private final PromptReader prompts;
  private final RequestDispatcher dispatcher;
  private final ModelNames models;
  private final EncoderCache encoders;
  private final AnswerPlanner planner;
  private final TokenLogprobs logprobs;
  private volatile boolean unaskedUsage;

  GenerationApi(SimSettings settings, PromptReader prompts, RequestDispatcher dispatcher, ModelNames models,
      EncoderCache encoders, AnswerPlanner planner, TokenLogprobs logprobs) {
    this.settings = settings;
    this.prompts = prompts;
    this.dispatcher = dispatcher;
    this.models = models;
    this.encoders = encoders;
    this.planner = planner;
    this.logprobs = logprobs;
  }

  /** Whether every stream of chat and completions ends with its usage, asked or not. */
  void setUnaskedUsage(boolean on) {
    unaskedUsage = on;
  }

  void chat(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    RequestRules.checkChat(body);
    String lora = models.lora(body);
    EncoderCache.ScannedItems items = encoders.scan(body.json());
    if (settings.role() == Role.ENCODE) {
      encode(exchange, body, items);
      return;
    }
    encodeMissing(exchange, items, lora);
    int[] prompt = prompts.chat(new RequestBody(items.body()));
    RequiredOutput output = OutputReader.chat(body.json());
    SamplingReader reader = new SamplingReader(body);
    Integer top = body.flag(LOGPROBS) ? reader.logprobs("top_logprobs", "sample logprobs") : null;
    AnswerHead.Options options = options(
        body, body.flag(LOGPROBS) ? logprobs(body, top == null ? 0 : top) : null,
        reader.logprobs(PROMPT_LOGPROBS, "prompt logprobs"));
    String limit = body.get("max_completion_tokens") != null ? "max_completion_tokens" : MAX_TOKENS;
    GenerationRequest request =
        request(body, List.of(prompt), new Limit(limit, body.integer(limit), 0, "stop"), output, options, lora);
    AnswerHead head = head("chatcmpl-" + requestId(exchange, body), body, options);
    ResponseFormat format = new ChatFormat(head, request.choices(), prompt, output.choice(), echo(body));
    dispatcher.dispatch(exchange, body, head.id(), request, format, fault);
  }

  /** What a chat's answer repeats: the last message, where it is the assistant's. */
  private static String echo(RequestBody body) throws EngineApiException {
    if (!body.flag(ECHO)) {
      return "";
    }
    JsonNode messages = body.json().path("messages");
    JsonNode last = messages.path(messages.size() - 1);
    return last.path("role").asText().equals("assistant") ? last.path("content").asText("") : "";
  }

  /** An encoder's whole answer: what it made of the items. */
  private void encode(SimHttpExchange exchange, RequestBody body, EncoderCache.ScannedItems items)
      throws IOException, EngineApiException {
    if (items.names().isEmpty()) {
      throw EngineApiException.badRequest("An encoder-only engine needs at least one multimodal item.", "messages");
    }
    encodeMissing(exchange, items, null);
    AnswerHead head = head("chatcmpl-" + requestId(exchange, body), body, AnswerHead.Options.NONE);
    ResponseFormat format = new ChatFormat(head, 1, new int[0], RequiredOutput.Mode.NONE, "");
    ResponseFormat.Choice nothing = new ResponseFormat.Choice(
        "", null, new int[0], ResponseFormat.End.of(GeneratedSequence.FinishReason.STOP));
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

  void complete(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    RequestRules.checkCompletion(body);
    String lora = models.lora(body);
    List<int[]> several = prompts.prompts(body, "prompt");
    Integer most = body.integer(MAX_TOKENS);
    boolean echoes = body.flag(ECHO);
    boolean alone = echoes && most != null && most == 0;
    SamplingReader reader = new SamplingReader(body);
    Integer top = reader.logprobs(LOGPROBS, "sample logprobs");
    Integer ofPrompt = reader.logprobs(PROMPT_LOGPROBS, "prompt logprobs");
    AnswerHead.Options options = options(
        body, top == null ? null : logprobs(body, top), ofPrompt == null && echoes ? top : ofPrompt);
    Limit limit = new Limit(MAX_TOKENS, alone ? Integer.valueOf(1) : most, COMPLETION_TOKENS, "stop");
    GenerationRequest request = request(body, several, limit, OutputReader.completion(body.json()), options, lora);
    AnswerHead head = head("cmpl-" + requestId(exchange, body), body, options);
    ResponseFormat format =
        new CompletionFormat(
            head, several, several.size() * request.choices(),
            echoes ? new CompletionFormat.Echo(prompts.texts(body, several), alone) : null);
    dispatcher.dispatch(exchange, body, head.id(), request, format, fault);
  }

  void respond(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    RequestRules.checkResponse(body);
    String named = models.lora(body);
    // SGLang's has no adapters (0.5.23).
    String lora = settings.http().api() == EngineApi.SGLANG ? null : named;
    int[] prompt = prompts.response(body);
    boolean told = body.json().path("include").toString().contains("message.output_text.logprobs");
    Integer top = told ? new SamplingReader(body).logprobs("top_logprobs", "sample logprobs") : null;
    LogprobsJson values = told ? logprobs(body, top == null ? 0 : top) : null;
    GenerationRequest request = request(
        body, List.of(prompt), new Limit("max_output_tokens", body.integer("max_output_tokens"), 0, "stop"),
        OutputReader.response(body.json()), new AnswerHead.Options(false, false, values, null), lora);
    // The header says nothing there.
    String given = body.text("request_id");
    String id = given != null ? given : "resp_" + UUID.randomUUID().toString().replace("-", "");
    ResponseFormat format =
        new ResponsesFormat(id, models.name(body), now(), body.json(), request.sampling().maxTokens(), values);
    dispatcher.dispatch(exchange, body, id, request, format, fault);
  }

  void message(SimHttpExchange exchange, RequestBody body, InjectedFault.@Nullable Kind fault)
      throws IOException, EngineApiException {
    RequestRules.checkMessage(body);
    String lora = models.lora(body);
    int[] prompt = prompts.messages(body);
    GenerationRequest request = request(
        body, List.of(prompt), new Limit(MAX_TOKENS, body.integer(MAX_TOKENS), 0, "stop_sequences"),
        OutputReader.message(body.json()), AnswerHead.Options.NONE, lora);
    String id = "chatcmpl-" + requestId(exchange, body);
    MessagesFormat format = new MessagesFormat(id, models.name(body), prompt.length, cachedTokensOfMessages());
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

  /**
   * How long an answer may become, by an API's fields.
   *
   * @param field that has the limit
   * @param most what it says, or null for no limit
   * @param otherwise tokens without a limit; 0 for the whole remaining context
   * @param stopField field that has the stop strings
   */
  private record Limit(String field, @Nullable Integer most, int otherwise, String stopField) {}

  /** What the APIs have in common. */
  private GenerationRequest request(RequestBody body, List<int[]> several, Limit limit, RequiredOutput output,
      AnswerHead.Options options, @Nullable String lora) throws EngineApiException {
    boolean stream = body.flag("stream");
    RequestBody ofStream = body.object("stream_options");
    SamplingReader reader = new SamplingReader(body);
    GeneratedSequence.SamplingParams sampling = reader.read(tokens(several, limit), limit.stopField());
    AnswerPlan plan = output.plan(planner, sampling);
    int choices = reader.choices();
    return new GenerationRequest(
        several,
        choices,
        sampling,
        sampling.maxTokens(),
        plan,
        new GenerationRequest.ResponseOptions(
            stream,
            ofStream.flag("include_usage"),
            ofStream.flag("continuous_usage_stats"),
            options.tokenIds() || options.logprobs() != null,
            options.promptLogprobs() != null),
        new GenerationRequest.CacheScope(lora, body.text("cache_salt"), body.text("session_id")),
        GenerationRequest.noTransfers(several.size() * choices));
  }

  /** As vLLM, cuts a limit to what the context has left, and refuses what no context could hold. */
  private int tokens(List<int[]> several, Limit limit) throws EngineApiException {
    int context = settings.maxModelLen();
    Integer most = limit.most();
    if (most != null && most > context) {
      throw EngineApiException.parameter(
          limit.field() + "=" + most + " cannot be greater than max_model_len=" + context
              + ". Please request fewer output tokens.",
          limit.field(), most);
    }
    int longest = several.stream().mapToInt(prompt -> prompt.length).max().orElse(0);
    if (longest > context) {
      throw EngineApiException.parameter(
          "This model's maximum context length is " + context + " tokens. However, your prompt contains " + longest
              + " input tokens, which exceeds this limit even without any output tokens. Please reduce the length of "
              + "the input prompt.",
          "input_tokens", longest);
    }
    int left = context - longest;
    return most != null ? Math.min(most, left) : limit.otherwise() == 0 ? left : Math.min(limit.otherwise(), left);
  }

  private AnswerHead.Options options(RequestBody body, @Nullable LogprobsJson ofAnswer, @Nullable Integer ofPrompt)
      throws EngineApiException {
    return new AnswerHead.Options(
        unaskedUsage || body.object("stream_options").flag("include_usage"),
        body.flag("return_token_ids"),
        ofAnswer,
        ofPrompt == null ? null : logprobs(body, ofPrompt));
  }

  private LogprobsJson logprobs(RequestBody body, int top) throws EngineApiException {
    return new LogprobsJson(logprobs, top, body.flag("return_tokens_as_token_ids"));
  }

  private AnswerHead head(String id, RequestBody body, AnswerHead.Options options) throws EngineApiException {
    return new AnswerHead(id, models.name(body), now(), options);
  }

  static String requestId(SimHttpExchange exchange, RequestBody body) throws EngineApiException {
    String header = exchange.header("x-request-id");
    if (header != null && !header.isEmpty()) {
      return header;
    }
    String given = body.text("request_id");
    return given != null ? given : UUID.randomUUID().toString().replace("-", "");
  }

  private static long now() {
    return System.currentTimeMillis() / 1000;
  }
}
