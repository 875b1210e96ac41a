package io.kvasir.lab;

import com.fasterxml.jackson.databind.JsonNode;
import io.kvasir.routing.Hashing;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A coding agent's session in WEKA's format (callanjfox/kv-cache-tester, {@code docs/trace_replay_tester.md}; AIPerf's
 * {@code weka_trace}): one JSON object with {@code id}, {@code block_size} and {@code requests}, each with a time
 * {@code t} in seconds from the session's start, {@code in} and {@code out} tokens, {@code hash_ids}, and where known
 * {@code think_time} and {@code api_time} in seconds. A {@code subagent} among them has requests of its own.
 *
 * <p>A request waits for the answer to the one before it, and then for its think time; without one, for what lies
 * between the two less the time of the answer. An agent's first request waits for the request before it in the
 * session, and the session's next one for the last of the agent. Ids belong to a session unless {@code hash_id_scope}
 * is {@code global}.
 */
final class WekaTrace {
  /** Sessions have no times of their own: one begins after the other at this distance. */
  private static final double START_GAP_MS = 12_000;

  private final String id;
  private final int blockSize;
  private final long scope;
  private final double startMs;
  private final int number;
  private final List<TraceLine> lines = new ArrayList<>();

  private WekaTrace(String id, int blockSize, long scope, double startMs, int number) {
    this.id = id;
    this.blockSize = blockSize;
    this.scope = scope;
    this.startMs = startMs;
    this.number = number;
  }

  /** Whether a record has this format. */
  static boolean isOne(JsonNode json) {
    return json.path("requests").isArray();
  }

  /**
   * Reads a session.
   *
   * @param number the line it begins in, for faults
   * @param before sessions that were read before it
   */
  static List<TraceLine> read(JsonNode json, int number, int before) {
    int blockSize = json.path("block_size").asInt(0);
    if (blockSize < 1) {
      throw new IllegalArgumentException(
          "line " + number + " has requests and no block_size: give the tokens in a block");
    }
    String id = json.path("id").asText("");
    if (id.isEmpty()) {
      throw new IllegalArgumentException("line " + number + " has requests and no id: give the session one");
    }
    boolean global = json.path("hash_id_scope").asText("local").equals("global");
    long scope = global ? 0 : Hashing.mix(Hashing.of(id));
    WekaTrace trace = new WekaTrace(id, blockSize, scope, before * START_GAP_MS, number);
    trace.add(json.path("requests"), 0, null, 0);
    return trace.lines;
  }

  /**
   * Adds requests that follow one another.
   *
   * @param offset seconds at which their times begin
   * @param after the request that the first of them follows; null for none
   * @param endedSeconds when that one was answered
   * @return the last of them, {@code after} when there are none
   */
  private @Nullable String add(
      JsonNode requests, double offset, @Nullable String after, double endedSeconds) {
    String last = after;
    double ended = endedSeconds;
    for (JsonNode request : requests) {
      double at = offset + request.path("t").asDouble(0);
      if (request.path("type").asText("").equals("subagent")) {
        JsonNode own = request.path("requests");
        boolean relative = own.path(0).path("t").asDouble(at) < at;
        last = add(own, relative ? at : 0, last, ended);
        ended = Math.max(ended, at + request.path("duration_ms").asDouble(0) / 1e3);
      } else {
        String name = id + "#" + lines.size();
        lines.add(line(request, name, last, Math.max(0, at - ended)));
        last = name;
        ended = at + request.path("api_time").asDouble(0);
      }
    }
    return last;
  }

  private TraceLine line(
      JsonNode request, String name, @Nullable String after, double gapSeconds) {
    JsonNode hashes = request.path("hash_ids");
    long[] ids = new long[hashes.size()];
    for (int i = 0; i < ids.length; i++) {
      ids[i] = scope ^ hashes.get(i).asLong();
    }
    double thought = request.path("think_time").asDouble(gapSeconds);
    return new TraceLine(
        startMs,
        TraceLine.positive(request, "in", number),
        TraceLine.positive(request, "out", number),
        ids,
        blockSize,
        new TraceLine.Turn(name, after, null),
        "",
        after == null ? -1 : Math.max(0, thought * 1e3));
  }
}
