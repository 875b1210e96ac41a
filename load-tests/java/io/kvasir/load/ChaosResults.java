package io.kvasir.load;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;

/** How requests ended, and of those that were lost the first few in words. Thread-safe. */
final class ChaosResults {
  private static final int NOTES = 20;

  private final Map<ChaosClient.End, LongAdder> ends = new ConcurrentHashMap<>();
  private final Queue<String> lost = new ConcurrentLinkedQueue<>();

  void add(ChaosRequest request, ChaosClient.Verdict verdict) {
    ends.computeIfAbsent(verdict.end(), end -> new LongAdder()).increment();
    if (verdict.end() == ChaosClient.End.LOST && lost.size() < NOTES) {
      lost.add("lost: " + request.api() + " " + verdict.why());
    }
  }

  long count(ChaosClient.End end) {
    LongAdder count = ends.get(end);
    return count == null ? 0 : count.sum();
  }

  long requests() {
    return Arrays.stream(ChaosClient.End.values()).mapToLong(this::count).sum();
  }

  List<String> lost() {
    return new ArrayList<>(lost);
  }

  @Override
  public String toString() {
    return "requests %d complete %d refused %d truncated %d lost %d".formatted(
        requests(), count(ChaosClient.End.COMPLETE), count(ChaosClient.End.REFUSED),
        count(ChaosClient.End.TRUNCATED), count(ChaosClient.End.LOST));
  }
}
