package io.kvasir.gateway;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.access.Caller;
import io.kvasir.cell.Cells;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.MessagesTranslation;
import io.kvasir.execution.dialect.Translation;
import io.kvasir.gateway.GateRefusal.Gate;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.http.server.ContentCoding;
import io.kvasir.http.server.Exchange;
import io.kvasir.index.Chain;
import io.kvasir.programs.ProgramMark;
import io.kvasir.programs.ProgramReader;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.PreparationLimiter;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptReason;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.PromptTimes;
import io.kvasir.prompt.Prompts;
import io.kvasir.responses.ResponseLocation;
import io.kvasir.responses.StoredResponses;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Slots;
import java.util.Comparator;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads requests and prepares them for a decision: model, profile, prompt, tokens and what the profile's preparers
 * find. Thread-safe.
 */
final class RequestPreparer {
  private static final int BYTES_PER_TOKEN = 4;
  private static final int IPV6_NETWORK_BYTES = 8;
  private static final int PREPARATION_RETRY_SECONDS = 2;

  private final RequestReader reader = new RequestReader();
  private final Prompts prompts;
  private final ProfileResolver profiles;
  private final CallerIsolation isolation;
  private final Cells cells;
  private final StoredResponses stored;
  private final WebSocketSettings webSockets;
  private final @Nullable ProgramReader programs;
  private final Claims claims;

  RequestPreparer(
      Prompts prompts, ProfileResolver profiles, CallerIsolation isolation, Cells cells, StoredResponses stored,
      WebSocketSettings webSockets, @Nullable ProgramReader programs, Claims claims) {
    this.prompts = prompts;
    this.profiles = profiles;
    this.isolation = isolation;
    this.cells = cells;
    this.stored = stored;
    this.webSockets = webSockets;
    this.programs = programs;
    this.claims = claims;
  }

  /**
   * A request that has been read.
   *
   * @param location where the stored response is that it refers to, null when it refers to none that is known
   * @param model as it names it, or the one it is taken to mean
   * @param context its profile and facts
   * @param forwarded the request as a worker gets it
   * @param unread why nothing is known of its prompt; null where something is, or could be
   */
  record ParsedRequest(
      ApiPath api, ApiRequest request, @Nullable ResponseLocation location, String model,
      RequestContext context, ForwardedRequest forwarded, @Nullable UnreadBody unread) {
    /** One that has been read. */
    ParsedRequest(
        ApiPath api, ApiRequest request, @Nullable ResponseLocation location, String model,
        RequestContext context, ForwardedRequest forwarded) {
      this(api, request, location, model, context, forwarded, null);
    }

    /** The same, of whose prompt nothing is known. */
    ParsedRequest unread(UnreadBody why) {
      return new ParsedRequest(api, request, location, model, context, forwarded, why);
    }
  }

  /**
   * A request that can be decided on.
   *
   * @param profile name of the profile it goes by
   * @param prompt what is known of its prompt, null when it carries none
   */
  record PreparedRequest(DecisionRequest decision, String profile, @Nullable Prompt prompt) {}

  /** Reads a request to an API, whose path may be another than the one it came by. */
  ParsedRequest read(ApiPath api, String path, InboundRequest inbound) throws ApiException, InterruptedException {
    Caller caller = inbound.caller();
    Exchange exchange = inbound.exchange();
    if (!caller.grants().allowsApi(api.label())) {
      throw new ApiException(ApiError.forbidden("This key may not use %s, but %s.".formatted(
          path, String.join(", ", new TreeSet<>(caller.grants().apis())))));
    }
    try (Permit _ = permit(exchange, exchange.cancellation())) {
      return inbound.handover() == null ? parse(api, path, inbound) : parseProxied(api, path, inbound);
    }
  }

  /**
   * A proxy's request is for its workers to judge: where it is not what its API wants, it is read like one to an
   * unknown API, and where it cannot be read at all, it is placed by what its outline shows. Only a caller with models
   * or blocks of its own is refused then, as nobody knows what the request would do.
   */
  private ParsedRequest parseProxied(ApiPath api, String path, InboundRequest inbound) throws ApiException {
    Exchange exchange = inbound.exchange();
    try {
      if (exchange.body().length > 0 && ContentCoding.of(exchange.headers()) != ContentCoding.IDENTITY) {
        throw new UnreadBodyException(UnreadBody.CODING, ApiError.of(400, "unsupported_encoding",
            "The request body cannot be read by its Content-Encoding. Send it in gzip, deflate or plain."));
      }
      return parse(api, path, inbound);
    } catch (UnreadBodyException unfit) {
      if (inbound.caller().cacheGroup() != null) {
        throw atPicker(unfit);
      }
      return unfit.why().isReadable() && api != ApiPath.OTHER
          ? parseProxied(ApiPath.OTHER, path, inbound).unread(unfit.why())
          : outlined(api, path, inbound, unfit);
    }
  }

  private ParsedRequest outlined(ApiPath api, String path, InboundRequest inbound, UnreadBodyException unreadable)
      throws ApiException {
    Exchange exchange = inbound.exchange();
    if (!inbound.caller().grants().models().isEmpty()) {
      throw atPicker(unreadable);
    }
    RequestOutline outline = RequestOutline.of(exchange.body());
    RequestOutline.NamedModel named = outline.model();
    ApiRequest request = new ApiRequest(named == null ? null : named.name(), outline.stream(), null, null);
    String model = named == null ? anyModel(inbound.caller()) : named.name();
    return parsed(
        api, request, location(api, path, request, inbound.caller()), model, inbound,
        new ForwardedRequest(exchange.target(), exchange.body(), null)).unread(unreadable.why());
  }

  /** The refusal of a request that came to the picker. */
  private static ApiException atPicker(UnreadBodyException refused) {
    GateRefusal gate = refused.error().refusal();
    return gate == null ? refused : new ApiException(refused.error().refusedBy(gate.atPicker()));
  }

  private ParsedRequest parse(ApiPath api, String path, InboundRequest inbound) throws ApiException {
    Caller caller = inbound.caller();
    Exchange exchange = inbound.exchange();
    ApiRequest request =
        WebSocketRequest.matches(api, inbound)
            ? new ApiRequest(webSocketModel(exchange), false, null, null)
            : reader.read(api, exchange.headers(), exchange.body(), exchange.memory());
    isolation.check(caller, request, exchange.body());
    ResponseLocation location = location(api, path, request, caller);
    String model = request.model() != null ? request.model()
        : location != null ? location.model()
        : anyModel(caller);
    if (!caller.grants().allowsModel(model)) {
      // As one that does not exist: what there is for other callers is theirs to know.
      throw new ApiException(ApiError.unknownModel(model));
    }
    if (isolation.needsChat(caller, api)) {
      // A salt has no place in a request to Anthropic's API.
      Translation translation = new MessagesTranslation(JsonMembers.of(exchange.body()));
      byte[] chat = translation.request();
      ApiRequest translated = reader.read(ApiPath.CHAT, exchange.headers(), chat, exchange.memory());
      return parsed(ApiPath.CHAT, translated, location, model, inbound,
          new ForwardedRequest(ApiPath.CHAT.path(), chat, translation));
    }
    return parsed(api, request, location, model, inbound,
        new ForwardedRequest(exchange.target(), exchange.body(), null));
  }

  private @Nullable String webSocketModel(Exchange exchange) throws ApiException {
    String named = WebSocketRequest.model(exchange.target());
    return named == null ? webSockets.model() : named;
  }

  private ParsedRequest parsed(
      ApiPath api, ApiRequest request, @Nullable ResponseLocation location, String model,
      InboundRequest inbound, ForwardedRequest forwarded)
      throws ApiException {
    CallerIsolation.Salt salt = isolation.isolate(inbound.caller(), api, request);
    RequestContext context = profiles.resolve(api, inbound, request, model);
    return new ParsedRequest(
        api, request, location, model, context, salt == null ? forwarded : forwarded.with(salt.in(forwarded.body())));
  }

  /**
   * Finds out what a decision needs. Waits as long as its tokens and the profile's preparers take.
   *
   * @param cancellation of the work for the request
   */
  PreparedRequest prepare(
      ParsedRequest parsed, InboundRequest inbound, PreparationTrace trace, Cancellation cancellation)
      throws ApiException, InterruptedException {
    return prepare(parsed, inbound, promptRequest(parsed, inbound, () -> sender(inbound)), trace, cancellation);
  }

  /**
   * The trace of a request that is prepared.
   *
   * @param id its trace's, null without one
   * @param times where those of its prompt's parts are noted, null for nowhere
   */
  record PreparationTrace(@Nullable String id, @Nullable PromptTimes times) {}

  /** The same for a request that no worker gets. */
  PreparedRequest prepareDryRun(ParsedRequest parsed, InboundRequest inbound)
      throws ApiException, InterruptedException {
    return prepare(
        parsed, inbound, promptRequest(parsed, inbound, null), new PreparationTrace(inbound.traceId(), null),
        inbound.exchange().cancellation());
  }

  private static @Nullable PromptRequest promptRequest(
      ParsedRequest parsed, InboundRequest inbound, @Nullable Supplier<String> sender) {
    Api api = promptApi(parsed.api());
    JsonNode body = parsed.request().body();
    return api == null || body == null
        ? null
        : new PromptRequest(api, parsed.model(), body, inbound.caller().grants().requestTemplates(), sender);
  }

  /**
   * An identity that a client cannot choose: its tenant, else its address, or the network of an IPv6 host, which has as
   * many addresses as it likes.
   */
  private static String sender(InboundRequest inbound) {
    byte[] address = inbound.exchange().client().getAddress();
    return inbound.caller().isIdentified() ? "tenant " + inbound.caller().tenant()
        : HexFormat.of().formatHex(address, 0, Math.min(address.length, IPV6_NETWORK_BYTES));
  }

  private PreparedRequest prepare(
      ParsedRequest parsed, InboundRequest inbound, @Nullable PromptRequest promptRequest, PreparationTrace trace,
      Cancellation cancellation)
      throws ApiException, InterruptedException {
    ApiRequest request = parsed.request();
    RequestContext context = parsed.context();
    Prompt prompt =
        promptRequest == null ? null : prompt(promptRequest, inbound.exchange(), trace.times(), cancellation);
    Chain chain = prompt == null ? Chain.EMPTY : prompt.chain();
    int tokens =
        prompt == null || prompt.tokens() == 0 ? inbound.exchange().body().length / BYTES_PER_TOKEN : prompt.tokens();
    context.facts().setTokenSource(
        () -> promptRequest == null ? null : tokens(promptRequest, inbound.exchange(), cancellation));
    ProgramMark mark = programOf(context.facts());
    PreparedSlots prepared = withProgram(context.prepare(inbound.id(), chain, tokens), mark);
    String profile = context.profile().name();
    DecisionRequest decision =
        new DecisionRequest(
            inbound.id(),
            parsed.model(),
            profile,
            RequestShapes.of(parsed.api(), request.body()),
            new DecisionRequest.Prompt(chain, tokens),
            prepared,
            request.stream(),
            parsed.location() == null
                ? DecisionRequest.Constraints.NONE
                : DecisionRequest.Constraints.excluding(allBut(parsed.location().worker())),
            trace.id(),
            claims.of(inbound, request, context, mark.program()));
    return new PreparedRequest(decision, profile, prompt);
  }

  private ProgramMark programOf(RequestFacts facts) {
    return programs == null ? ProgramMark.NONE : programs.read(facts::header, facts::field, facts.tenant());
  }

  private static PreparedSlots withProgram(PreparedSlots prepared, ProgramMark mark) {
    if (mark.program() == null) {
      return prepared;
    }
    PreparedSlots named = prepared.with(Slots.PROGRAM, mark.program());
    PreparedSlots related = mark.parent() == null ? named : named.with(Slots.PROGRAM_PARENT, mark.parent());
    return mark.last() ? related.with(Slots.PROGRAM_LAST, 1) : related;
  }

  private Permit permit(Exchange exchange, Cancellation cancellation) throws ApiException, InterruptedException {
    try {
      return prompts.limiter().acquire(exchange.body().length, cancellation);
    } catch (PreparationLimiter.OverloadException e) {
      throw new ApiException(
          ApiError.of(503, "preparation_overload",
              "The router is busy: %s. Try again shortly.".formatted(e.getMessage()))
              .retryAfter(PREPARATION_RETRY_SECONDS)
              .refusedBy(GateRefusal.of(e)));
    } catch (CancellationException e) {
      throw new ApiException(ApiError.CLIENT_LEFT);
    }
  }

  private Prompt prompt(
      PromptRequest request, Exchange exchange, @Nullable PromptTimes times, Cancellation cancellation)
      throws ApiException, InterruptedException {
    Prompt prompt;
    try (Permit permit = permit(exchange, cancellation)) {
      prompt = prompts.prepare(request, permit, times);
    } catch (CancellationException e) {
      throw new ApiException(ApiError.CLIENT_LEFT);
    }
    if (prompt.reason() == PromptReason.REQUEST_TEMPLATE_REFUSED) {
      throw new ApiException(
          ApiError.badField("chat_template", "chat_template_refused", String.valueOf(prompt.detail())));
    }
    return prompt;
  }

  /** The prompt's tokens, computed for a preparer that needs them; null where they are not known in time. */
  private int @Nullable [] tokens(PromptRequest request, Exchange exchange, Cancellation cancellation) {
    try (Permit permit = permit(exchange, cancellation)) {
      return prompts.tokens(request, permit::close);
    } catch (ApiException e) {
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  private @Nullable ResponseLocation location(
      ApiPath api, String path, ApiRequest request, Caller caller) throws ApiException {
    String id = api == ApiPath.STORED_RESPONSE ? ApiPath.storedId(path) : request.previousResponse();
    ResponseLocation location = id == null ? null : stored.find(id);
    if (location != null && !location.tenant().equals(caller.tenant())) {
      throw new ApiException(
          new ApiError(404, "There is no response '%s'.".formatted(id), "id", "response_not_found", null, 0, null));
    }
    return location;
  }

  /** How an API's requests carry a prompt, null when they carry none that decides which worker suits them. */
  private static @Nullable Api promptApi(ApiPath api) {
    return switch (api) {
      case CHAT -> Api.CHAT;
      case COMPLETIONS -> Api.COMPLETIONS;
      case RESPONSES -> Api.RESPONSES;
      case MESSAGES -> Api.MESSAGES;
      case EMBEDDINGS -> Api.EMBEDDINGS;
      case COUNT_TOKENS, TOKENIZE, DETOKENIZE, RERANK, GENERATE, TOKENS, RENDERING, SCORING, MEDIA, REALTIME,
          STORED_RESPONSE, OTHER -> null;
    };
  }

  /** Requests that name no model go to the only one, or to the first by name. */
  private String anyModel(Caller caller) throws ApiException {
    Set<String> models = cells.models();
    if (models.isEmpty()) {
      throw new ApiException(
          ApiError.of(503, "no_workers", "No worker serves any model yet. Try again shortly.")
              .retryAfter(5)
              .refusedBy(new GateRefusal(Gate.WORKERS, "pods", new GateRefusal.Measure(0, 1, "workers"))));
    }
    return models.stream().filter(caller.grants()::allowsModel).min(Comparator.naturalOrder()).orElseThrow(
        () -> new ApiException(ApiError.forbidden("This key may use none of the models that are served.")));
  }

  private Set<String> allBut(String worker) {
    Set<String> others = new HashSet<>(cells.workerIds());
    // A worker that has left the roster took all it stored with it: any other can answer that.
    return others.remove(worker) ? others : Set.of();
  }
}
