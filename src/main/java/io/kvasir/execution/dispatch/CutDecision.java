package io.kvasir.execution.dispatch;

import io.kvasir.execution.attempt.RetryState;

/** What becomes of a stream that its worker cut. */
sealed interface CutDecision {
  /**
   * Another worker is to go on.
   *
   * @param continuation builds its request
   * @param rest what it is to go on from
   * @param usageInjected whether only the router requested the usage of the stream that was cut
   * @param retries the history before its request
   */
  record Continued(Continuation continuation, ProvenRest rest, boolean usageInjected, RetryState retries)
      implements CutDecision {}

  /**
   * Nothing is left to be generated: it only lacks its end.
   *
   * @param withUsage whether the client is to have an event of usage
   */
  record Finished(boolean withUsage) implements CutDecision {}

  /**
   * It ends as it was cut.
   *
   * @param why for metrics
   */
  record Refused(String why) implements CutDecision {}

  /** The client has cancelled meanwhile: the missing rest is no worker's failure. */
  record ClientCancelled() implements CutDecision {}
}
