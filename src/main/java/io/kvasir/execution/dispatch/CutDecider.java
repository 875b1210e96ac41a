package io.kvasir.execution.dispatch;

import io.kvasir.execution.Call;
import io.kvasir.execution.TokenCounter;
import io.kvasir.execution.attempt.RetryPolicy;
import io.kvasir.execution.attempt.RetryState;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.execution.dialect.ClientRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.execution.stream.StitchedStream;
import io.kvasir.http.ApiPath;
import io.kvasir.http.Cancellation;
import org.jspecify.annotations.Nullable;

/** Decides whether a call's stream that was cut is continued. One thread at a time. */
final class CutDecider {
  private final Call call;
  private final RetryPolicy retries;
  private final TokenCounter tokens;
  private final ChatConversion conversion;
  private final Cancellation client;

  /** A decider for the streams of a call, as the client made it. */
  CutDecider(Call call, RetryPolicy retries, TokenCounter tokens, ChatConversion conversion, Cancellation client) {
    this.call = call;
    this.retries = retries;
    this.tokens = tokens;
    this.conversion = conversion;
    this.client = client;
  }

  /**
   * Decides; a continuation is taken from the budget of retries. What was counted of the answer is noted in it.
   *
   * @param stream what the client has
   * @param next the history with the cut
   * @param resumes how often the stream has been continued
   */
  CutDecision decide(StitchedStream stream, RetryState next, int resumes) {
    if (client.isCancelled()) {
      return new CutDecision.ClientCancelled();
    }
    ClientRequest request = ClientRequest.of(call.http().target(), call.http().body());
    if (request == null) {
      return new CutDecision.Refused("body");
    }
    PartialAnswer answer = stream.answer();
    boolean message = request.api() == ApiPath.MESSAGES && answer.hasText();
    String unfit = message ? MessagesContinuation.unsupportedReason(request.members()) : null;
    Continuation continuation =
        message && unfit == null
            ? MessagesContinuation.chat(request, call.decision().model(), conversion)
            : new Continuation(request);
    boolean injected = call.rules().stripUsage();
    boolean usage = (message || continuation.usageRequested()) && !injected;
    if (stream.done() || (answer.finished() && !continuation.hasSeveralAnswers())) {
      return usage && !stream.done() && !answer.hasUsageEvent() && !answer.isReported()
          ? new CutDecision.Refused("usage")
          : new CutDecision.Finished(usage);
    }
    unfit = unfit == null ? unsupportedReason(continuation, answer) : unfit;
    unfit = request.api() == ApiPath.RESPONSES ? unrepeatableReason(request.members(), unfit) : unfit;
    if (unfit != null) {
      return new CutDecision.Refused(unfit);
    }
    // To count is dear: it comes before what is cheap only where it may end the stream.
    boolean mayBeOver = continuation.mayBeOver(answer.mostGenerated());
    String obstacle = mayBeOver ? null : obstacle(next, resumes);
    if (obstacle != null) {
      return new CutDecision.Refused(obstacle);
    }
    ProvenRest rest = ProvenRest.of(call, continuation, answer, injected, tokens, client);
    if (!mayBeOver && (rest == null || client.isCancelled())) {
      retries.releaseResume();
    }
    if (client.isCancelled()) {
      return new CutDecision.ClientCancelled();
    }
    if (rest == null || continuation.isWithoutDefault(answer, rest.generated())) {
      return new CutDecision.Refused("tokens");
    }
    answer.count(rest.generated());
    if (continuation.remainingTokens(rest.generated()) <= 0) {
      return new CutDecision.Finished(usage);
    }
    obstacle = mayBeOver ? obstacle(next, resumes) : null;
    return obstacle != null
        ? new CutDecision.Refused(obstacle)
        : new CutDecision.Continued(continuation, rest, injected, next);
  }

  /**
   * Whether the request allows its stream to be continued, whatever that says. Reads the request. Any thread.
   *
   * @param hasText whether the client has some text
   */
  boolean permits(boolean hasText) {
    ClientRequest request = ClientRequest.of(call.http().target(), call.http().body());
    if (request == null) {
      return false;
    }
    return switch (request.api()) {
      case MESSAGES -> !hasText || MessagesContinuation.unsupportedReason(request.members()) == null;
      case RESPONSES -> unrepeatableReason(request.members(), hasText ? "text" : null) == null;
      case null, default -> new Continuation(request).unsupportedReason(hasText, "") == null;
    };
  }

  private static @Nullable String unsupportedReason(Continuation continuation, PartialAnswer answer) {
    String unfit = answer.unsupportedReason();
    return unfit == null ? continuation.unsupportedReason(answer.hasText(), answer.text()) : unfit;
  }

  /**
   * Why a response must not be requested again, for metrics; null when it may.
   *
   * @param begun what of it has begun: it has no request to go on from there
   */
  private static @Nullable String unrepeatableReason(JsonMembers members, @Nullable String begun) {
    return begun != null ? "api"
        : members.value("store").asBoolean(true) || members.hasValue("previous_response_id")
            || members.value("background").asBoolean(false)
        ? "stored"
        : members.value("tools").valueStream().anyMatch(tool -> !tool.path("type").asText().equals("function"))
        ? "tools"
        : null;
  }

  /** Takes the continuation from the budget: null, or why there must be none. */
  private @Nullable String obstacle(RetryState next, int resumes) {
    return resumes >= call.maxResumes() ? "most" : retries.acquireResume(next);
  }
}
