package io.kvasir.execution.attempt;

import io.kvasir.cell.LearntEngines.LearntEngine;
import io.kvasir.execution.ExecutionMetrics;
import io.kvasir.execution.ExecutionSettings;
import io.kvasir.execution.Warmup;
import io.kvasir.execution.dialect.ChatConversion;
import io.kvasir.http.client.PodTransport;
import io.kvasir.time.NanoClock;
import io.kvasir.time.Timer;
import java.util.function.Function;

/**
 * What every attempt of a node shares.
 *
 * @param pods how requests reach the workers' pods
 * @param settings the limits
 * @param metrics the metrics of attempts and workflows
 * @param clock measures deadlines and latencies
 * @param timer runs the checks of deadlines
 * @param warmup runs before a worker is sent a prompt
 * @param engines what is known of the engine of a pod, by its name
 * @param conversion makes chats of requests that are split as chats
 * @param usage what engines are used to tell in their answers' usage
 * @param rescue decides on requests of which nothing comes
 */
public record ExecutionServices(
    PodTransport pods,
    ExecutionSettings settings,
    ExecutionMetrics metrics,
    NanoClock clock,
    Timer timer,
    Warmup warmup,
    Function<String, LearntEngine> engines,
    ChatConversion conversion,
    UsageHabits usage,
    Rescue rescue) {
  /** Services that have not seen an answer yet. */
  public ExecutionServices(
      PodTransport pods, ExecutionSettings settings, ExecutionMetrics metrics, NanoClock clock, Timer timer,
      Warmup warmup, Function<String, LearntEngine> engines, ChatConversion conversion, Rescue rescue) {
    this(pods, settings, metrics, clock, timer, warmup, engines, conversion, new UsageHabits(), rescue);
  }

  /** The same for a request that is handed over once, in another way. */
  public ExecutionServices handingOver(PodTransport other) {
    return new ExecutionServices(
        other, settings, metrics, clock, timer, warmup, engines, conversion, usage, Rescue.NONE);
  }
}
