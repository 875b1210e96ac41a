package io.kvasir.gateway;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.Report;
import io.kvasir.gateway.error.ApiError;
import io.kvasir.gateway.error.ClientCancelled;
import org.jspecify.annotations.Nullable;

/** How a request ended, as its telemetry records it. */
sealed interface RequestEnd {
  /** The answer's status; {@link ClientCancelled#STATUS} where its client did not wait for it. */
  int status();

  /** Whether its client waited for all of the answer. */
  Abort abort();

  /** The kind of error as traces have it, null for none. */
  @Nullable String error();

  /** Whether a client disconnected. */
  enum Abort {
    /** It did not. */
    NONE,
    /** Before there was anything for it. */
    BEFORE_ANSWER,
    /** When it had a part of the answer. */
    WITHIN_ANSWER;

    private static Abort cancelled(boolean begun) {
      return begun ? WITHIN_ANSWER : BEFORE_ANSWER;
    }
  }

  /** Workers had to do with it, whether they answered it, failed it, or lost its client. */
  record Executed(int status, Abort abort, Report report) implements RequestEnd {
    /** The client had what there was for it. */
    static Executed answered(int status, Report report) {
      return new Executed(status, Abort.NONE, report);
    }

    /** The client disconnected; {@code begun} is whether it had a part of the answer. */
    static Executed cancelled(boolean begun, Report report) {
      return new Executed(ClientCancelled.STATUS, Abort.cancelled(begun), report);
    }

    @Override
    public @Nullable String error() {
      return status == ClientCancelled.STATUS ? "client_disconnected"
          : status >= 400 ? Integer.toString(status)
          : report.outcome() instanceof Outcome.Failed ? "worker_failed"
          : null;
    }

    /** Whether the client has all of a worker's answer. */
    boolean isCompleted() {
      return report.outcome() instanceof Outcome.Completed && status < 300;
    }
  }

  /** No worker had to do with it: its answer was kept, or given to an identical request. */
  record FromCache(int status, Abort abort) implements RequestEnd {
    /** The client had the answer. */
    static FromCache answered(int status) {
      return new FromCache(status, Abort.NONE);
    }

    /** The client disconnected; {@code begun} is whether it had a part of the answer. */
    static FromCache cancelled(boolean begun) {
      return new FromCache(ClientCancelled.STATUS, Abort.cancelled(begun));
    }

    @Override
    public @Nullable String error() {
      return null;
    }
  }

  /** The router refused it, or failed on it. */
  record Refused(ApiError cause) implements RequestEnd {
    @Override
    public int status() {
      return cause.status();
    }

    @Override
    public Abort abort() {
      return cause.status() == ClientCancelled.STATUS ? Abort.BEFORE_ANSWER : Abort.NONE;
    }

    @Override
    public String error() {
      return cause.code();
    }
  }
}
