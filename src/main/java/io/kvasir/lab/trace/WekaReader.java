package io.kvasir.lab.trace;

import io.kvasir.routing.Hashing;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Coding agents' sessions in WEKA's format (callanjfox/kv-cache-tester, {@code docs/trace_replay_tester.md}; AIPerf's
 * {@code weka_trace}): one JSON object each with {@code id}, {@code block_size} and {@code requests}, each with a time
 * {@code t} in seconds from the session's start, {@code in} and {@code out} tokens, {@code hash_ids}, and where known
 * {@code think_time} and {@code api_time} in seconds. A {@code subagent} among them has requests of its own.
 *
 * <p>A request waits for the answer to the one before it, and then for its think time; without one, for what lies
 * between the two less the time of the answer. An agent's first request waits for the request before it in the
 * session, and the session's next one for the last of the agent. Ids belong to a session unless {@code hash_id_scope}
 * is {@code global}. Sessions have no times of their own: one begins after the other at a constant distance.
 */
final class WekaReader implements RecordReader {
  /** Between the beginnings of two agents' sessions. */
  static final double START_GAP_MS = 12_000;

  private int sessions;

  @Override
  public void read(TraceRecord record, List<TraceLine> lines) {
    double blockSize = record.number("block_size", 0);
    if (blockSize < 1) {
      throw record.fault("block_size", "the tokens in a block");
    }
    String id = record.name("id", "");
    if (id.isEmpty()) {
      throw record.fault("id", "the session's name");
    }
    boolean global = record.name("hash_id_scope", "local").equals("global");
    long scope = global ? 0 : Hashing.mix(Hashing.of(id));
    Session session = new Session(id, (int) blockSize, scope, START_GAP_MS * sessions++, lines, lines.size());
    session.add(record.records("requests"), 0, null, 0);
  }

  /** A session of which requests are added to {@code lines}, where there were {@code before}. */
  private record Session(String id, int blockSize, long scope, double startMs, List<TraceLine> lines, int before) {
    /**
     * Adds requests that follow one another.
     *
     * @param offset seconds at which their times begin
     * @param after the request that the first of them follows; null for none
     * @param endedSeconds when that one was answered
     * @return the last of them, {@code after} when there are none
     */
    @Nullable String add(List<TraceRecord> requests, double offset, @Nullable String after, double endedSeconds) {
      String last = after;
      double ended = endedSeconds;
      for (TraceRecord request : requests) {
        double at = offset + request.number("t", 0);
        if (request.name("type", "").equals("subagent")) {
          List<TraceRecord> own = request.records("requests");
          boolean relative = !own.isEmpty() && own.getFirst().number("t", at) < at;
          last = add(own, relative ? at : 0, last, ended);
          ended = Math.max(ended, at + request.number("duration_ms", 0) / 1e3);
        } else {
          String name = id + "#" + (lines.size() - before);
          lines.add(line(request, name, last, Math.max(0, at - ended)));
          last = name;
          ended = at + request.number("api_time", 0);
        }
      }
      return last;
    }

    private TraceLine line(TraceRecord request, String name, @Nullable String after, double gapSeconds) {
      long[] ids = request.ids("hash_ids");
      for (int i = 0; i < ids.length; i++) {
        ids[i] ^= scope;
      }
      double thought = request.number("think_time", gapSeconds);
      int input = request.tokens("in");
      return new TraceLine(
          startMs,
          input,
          request.tokens("out"),
          ids,
          input,
          blockSize,
          new TraceLine.Turn(name, after, null),
          "",
          after == null ? -1 : Math.max(0, thought * 1e3));
    }
  }
}
