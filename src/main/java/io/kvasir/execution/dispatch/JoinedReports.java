package io.kvasir.execution.dispatch;

import io.kvasir.cell.Outcome;
import io.kvasir.execution.CallListener;
import io.kvasir.execution.Report;
import io.kvasir.execution.stream.PartialAnswer;
import io.kvasir.routing.Worker;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The events and reports of the workers that answer a call one after the other, as those of one. Confined to the thread
 * that relays the answer.
 */
final class JoinedReports implements CallListener {
  private final CallListener listener;
  private boolean continued;
  private boolean hasId;
  private boolean hasFirstToken;
  /** How the first worker, and the last, came to their ends. */
  private @Nullable Report first;
  private @Nullable Report last;
  /** How the worker that was continued last came to its end. */
  private @Nullable Report continuedCut;
  /** How the whole came to its end, where that is another than the last worker's. */
  private @Nullable Report total;

  JoinedReports(CallListener listener) {
    this.listener = listener;
  }

  @Override
  public void waited(long millis) {
    listener.waited(millis);
  }

  @Override
  public void identified(String answerId, Worker worker) {
    if (!continued || !hasId) {
      hasId = true;
      listener.identified(answerId, worker);
    }
  }

  @Override
  public void firstToken() {
    if (!continued || !hasFirstToken) {
      hasFirstToken = true;
      listener.firstToken();
    }
  }

  /** A worker has come to its end. */
  @Override
  public void ended(Report report) {
    last = report;
    if (first == null) {
      first = report;
    }
  }

  /** Another worker is to continue what one has cut. */
  void continues(Report cut) {
    continued = true;
    continuedCut = cut;
  }

  /** The last report is another after all: of an answer that came whole, or of a worker that was not listened to. */
  void replaceLast(Report report) {
    last = report;
  }

  /** How the current worker came to its end. */
  Report last() {
    return Objects.requireNonNull(last, "the stream reported no end");
  }

  /** The stream ends as the last worker that was continued had cut it. */
  void endsAsCut() {
    total = continuedCut;
  }

  /** The client has cancelled after a worker's cut. */
  void endsCancelled(Report cut) {
    total = cut.with(new Outcome.Cancelled());
  }

  /** The current worker has answered the rest, if there were several. */
  void completed(PartialAnswer answer) {
    if (continued && last().outcome() instanceof Outcome.Completed completed) {
      total = joined(last(), completed.ttftMicros(), answer);
    }
  }

  /** There was nothing left of the answer when a worker cut it. */
  void finished(Report cut, PartialAnswer answer) {
    total = joined(cut, Outcome.UNKNOWN, answer);
  }

  /** How the whole came to its end. */
  Report total() {
    return total == null ? last() : total;
  }

  /** Notifies the listener of the whole's end; to be called once. */
  void end() {
    listener.ended(total());
  }

  /** How all went together: the cache is the first worker's, as far as it is known. */
  private Report joined(Report end, long ttftMicros, PartialAnswer answer) {
    Report start = Objects.requireNonNullElse(first, end);
    return new Report(
        end.worker(),
        new Outcome.Completed(answer.promptTokens(), answer.cachedTokens(), answer.generated(), ttftMicros),
        end.tries(),
        start.prediction(),
        new Report.TokenUsage(answer.promptTokens(), answer.cachedTokens(), answer.generated(), answer.generated()),
        new Report.Timing(end.timing().decideNanos(), start.timing().headNanos()));
  }
}
