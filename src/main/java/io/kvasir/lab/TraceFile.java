package io.kvasir.lab;

import io.kvasir.enginemodel.EngineModel;
import io.kvasir.lab.trace.RecordedTrace;
import io.kvasir.lab.trace.TraceFormat;
import io.kvasir.lab.trace.TraceLine;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A recorded trace, see {@link TraceFormat}, as the requests of a run.
 *
 * <p>Requests with the same timestamp, of a clock too coarse for them, are spread uniformly up to the next timestamp,
 * in their order.
 */
final class TraceFile implements TraceSource {
  private final String name;
  private final WorkloadTrace trace;

  private TraceFile(String name, WorkloadTrace trace) {
    this.name = name;
    this.trace = trace;
  }

  /**
   * Reads a whole trace.
   *
   * @param loop whether turns of a conversation follow the answer before them: the think time of one with a timestamp
   *     is then the time between the two, less that of generating the answer; the time of one with a delay, where it
   *     is to be sent at a time, is that of the turn before, its answer's and the delay
   * @param engine the engine model that gives the time of an answer; null for no time
   * @param format its format; null to recognise it
   * @throws IllegalArgumentException naming the first line that does not fit
   */
  static TraceFile read(Path file, @Nullable TraceFormat format, LoopChoice loop, @Nullable EngineModel engine)
      throws IOException {
    RecordedTrace recorded = RecordedTrace.read(file, format);
    List<LabRequest> requests = requests(recorded.lines(), recorded.blockSize(), loop, engine);
    return new TraceFile(String.valueOf(file.getFileName()), new WorkloadTrace(recorded.blockSize(), requests));
  }

  private static List<LabRequest> requests(
      List<TraceLine> lines, int blockSize, LoopChoice loop, @Nullable EngineModel engine) {
    List<LabRequest> requests = new ArrayList<>();
    int[] parents = Conversations.parents(lines, blockSize);
    String[] sessions = new String[parents.length];
    for (int i = 0; i < parents.length; i++) {
      TraceLine line = lines.get(i);
      int parent = parents[i];
      sessions[i] = parent >= 0 ? sessions[parent] : line.turn().named() ? line.turn().sessionName() : "";
      LabRequest request =
          LabRequest.at(
                  line.arrivalMs(), line.input(), line.output(),
                  BlockHashes.of(Conversations.chain(line, blockSize)), sessions[i])
              .of(line.tenant());
      double answerMs = parent < 0 || engine == null ? 0 : lines.get(parent).output() * engine.stepTime().weightMs();
      requests.add(parent < 0 ? request : turn(request, line, requests.get(parent), parent, answerMs, loop));
    }
    return requests;
  }

  /** A turn that comes after another, whose answer takes {@code answerMs} on an idle engine. */
  private static LabRequest turn(
      LabRequest request, TraceLine line, LabRequest before, int parent, double answerMs, LoopChoice loop) {
    boolean delayed = line.delayMs() >= 0;
    return switch (loop) {
      case TRACE -> delayed ? request.following(parent, line.delayMs()) : request;
      case CLOSED -> {
        double thought = delayed ? line.delayMs() : line.arrivalMs() - before.arrivalMs() - answerMs;
        yield request.following(parent, Math.max(0, thought));
      }
      case OPEN -> delayed ? request.arriving(before.arrivalMs() + answerMs + line.delayMs()) : request;
    };
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WorkloadTrace at(double scale, long seed) {
    List<LabRequest> requests = trace.requests();
    double[] times = spread(requests, new SplittableRandom(seed));
    List<LabRequest> scaled = new ArrayList<>(requests.size());
    for (int i = 0; i < times.length; i++) {
      scaled.add(requests.get(i).arriving(times[i] / scale));
    }
    return new WorkloadTrace(trace.blockSize(), scaled);
  }

  /** The arrival times; requests with the same timestamp are spread up to the next one. */
  private static double[] spread(List<LabRequest> requests, SplittableRandom random) {
    Map<Double, List<Integer>> byTime = new HashMap<>();
    for (int i = 0; i < requests.size(); i++) {
      byTime.computeIfAbsent(requests.get(i).arrivalMs(), _ -> new ArrayList<>()).add(i);
    }
    double[] ticks = byTime.keySet().stream().mapToDouble(Double::doubleValue).sorted().toArray();
    double[] times = new double[requests.size()];
    double gap = ticks.length > 1 ? (ticks[ticks.length - 1] - ticks[0]) / (ticks.length - 1) : 0;
    boolean coarse = times.length >= 2 * ticks.length;
    for (int tick = 0; tick < ticks.length; tick++) {
      List<Integer> simultaneous = byTime.getOrDefault(ticks[tick], List.of());
      double until = tick + 1 < ticks.length ? ticks[tick + 1] - ticks[tick] : gap;
      double[] after = random.doubles(simultaneous.size()).sorted().toArray();
      for (int i = 0; i < after.length; i++) {
        times[simultaneous.get(i)] = ticks[tick] + (coarse ? after[i] * until : 0);
      }
    }
    return times;
  }
}
