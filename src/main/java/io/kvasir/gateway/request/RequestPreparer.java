package io.kvasir.gateway.request;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.admission.ServiceClass;
import io.kvasir.cell.Cells;
import io.kvasir.cell.DecisionRequest;
import io.kvasir.gateway.body.ApiRequest;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ApiException;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import io.kvasir.http.server.Exchange;
import io.kvasir.index.Chain;
import io.kvasir.programs.ProgramMark;
import io.kvasir.programs.ProgramReader;
import io.kvasir.prompt.Api;
import io.kvasir.prompt.PreparationLimiter.Permit;
import io.kvasir.prompt.Prompt;
import io.kvasir.prompt.PromptMode;
import io.kvasir.prompt.PromptReason;
import io.kvasir.prompt.PromptRequest;
import io.kvasir.prompt.PromptTimes;
import io.kvasir.prompt.Prompts;
import io.kvasir.routing.PreparedSlots;
import io.kvasir.routing.RequestFacts;
import io.kvasir.routing.Slots;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Prepares requests that have been read for a decision: prompt, tokens and what the profile's preparers find.
 * Thread-safe.
 */
public final class RequestPreparer {
  private static final int BYTES_PER_TOKEN = 4;
  private static final int IPV6_NETWORK_BYTES = 8;

  private final Prompts prompts;
  private final PreparationPermits permits;
  private final Cells cells;
  private final @Nullable ProgramReader programs;
  private final Claims claims;

  RequestPreparer(
      Prompts prompts, PreparationPermits permits, Cells cells, @Nullable ProgramReader programs, Claims claims) {
    this.prompts = prompts;
    this.permits = permits;
    this.cells = cells;
    this.programs = programs;
    this.claims = claims;
  }

  /**
   * A request that can be decided on.
   *
   * @param profile name of the profile it goes by
   * @param prompt what is known of its prompt, null when it carries none
   */
  public record PreparedRequest(DecisionRequest decision, String profile, @Nullable Prompt prompt) {}

  /**
   * Finds out what a decision needs. Waits as long as its tokens and the profile's preparers take.
   *
   * @param cancellation of the work for the request
   */
  public PreparedRequest prepare(
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
  public record PreparationTrace(@Nullable String id, @Nullable PromptTimes times) {}

  /** The same for a request that no worker gets. */
  public PreparedRequest prepareDryRun(ParsedRequest parsed, InboundRequest inbound)
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
    PreparedSlots prepared = withProgram(context.prepare(inbound.id(), chain, tokens), mark, context.facts());
    String profile = context.profile().name();
    DecisionRequest decision =
        new DecisionRequest(
            inbound.id(),
            parsed.model(),
            profile,
            RequestShapes.of(parsed.api(), request.body()),
            new DecisionRequest.Prompt(
                chain, tokens, prompt == null ? List.of() : prompt.renditions(),
                (prompt == null ? PromptMode.NONE : prompt.mode()).label()),
            prepared,
            request.stream(),
            parsed.location() == null
                ? DecisionRequest.Constraints.NONE
                : DecisionRequest.Constraints.excluding(allBut(parsed.location().worker())),
            trace.id(),
            claims.of(inbound, request, context, mark.program()));
    return new PreparedRequest(decision, profile, prompt);
  }

  /** How urgent a request is when the workers are full; empty when none ever waits. */
  public String urgency(ParsedRequest parsed, InboundRequest inbound) throws ApiException {
    ServiceClass its = claims.classOf(inbound, parsed.request(), parsed.context());
    return its == null ? "" : its.label();
  }

  private ProgramMark programOf(RequestFacts facts) {
    return programs == null ? ProgramMark.NONE : programs.read(facts::header, facts::field, facts.tenant());
  }

  private PreparedSlots withProgram(PreparedSlots prepared, ProgramMark mark, RequestFacts facts) {
    if (mark.program() == null) {
      String tenant = programs == null ? "" : facts.tenant();
      return tenant.isEmpty() ? prepared : prepared.with(Slots.PROGRAM_TENANT, tenant);
    }
    PreparedSlots named = prepared.with(Slots.PROGRAM, mark.program());
    PreparedSlots related = mark.parent() == null ? named : named.with(Slots.PROGRAM_PARENT, mark.parent());
    return mark.last() ? related.with(Slots.PROGRAM_LAST, 1) : related;
  }

  private Prompt prompt(
      PromptRequest request, Exchange exchange, @Nullable PromptTimes times, Cancellation cancellation)
      throws ApiException, InterruptedException {
    Prompt prompt;
    try (Permit permit = permits.acquire(exchange, cancellation)) {
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
    try (Permit permit = permits.acquire(exchange, cancellation)) {
      return prompts.tokens(request, permit::close);
    } catch (ApiException e) {
      return null;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return null;
    }
  }

  /** How an API's requests carry a prompt, null when they carry none that decides which worker suits them. */
  private static @Nullable Api promptApi(ApiPath api) {
    return switch (api) {
      case CHAT -> Api.CHAT;
      case COMPLETIONS -> Api.COMPLETIONS;
      case RESPONSES -> Api.RESPONSES;
      case MESSAGES -> Api.MESSAGES;
      case EMBEDDINGS -> Api.EMBEDDINGS;
      case CHAT_BATCH, COUNT_TOKENS, TOKENIZE, DETOKENIZE, RERANK, GENERATE, TOKENS, RENDERING, SCORING, MEDIA,
          REALTIME, STORED_RESPONSE, OTHER -> null;
    };
  }

  private Set<String> allBut(String worker) {
    Set<String> others = new HashSet<>(cells.workerIds());
    // A worker that has left the roster took all it stored with it: any other can answer that.
    return others.remove(worker) ? others : Set.of();
  }
}
