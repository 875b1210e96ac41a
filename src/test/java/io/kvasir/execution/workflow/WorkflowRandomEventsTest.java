package io.kvasir.execution.workflow;

import static io.kvasir.execution.workflow.WorkflowFixture.ABORTED;
import static io.kvasir.execution.workflow.WorkflowFixture.FAILED;
import static io.kvasir.execution.workflow.WorkflowFixture.NOT_RETRYABLE;
import static io.kvasir.execution.workflow.WorkflowFixture.buffered;
import static io.kvasir.execution.workflow.WorkflowFixture.retries;
import static io.kvasir.execution.workflow.WorkflowFixture.streaming;
import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.cell.Decision;
import io.kvasir.execution.attempt.AttemptResult;
import io.kvasir.execution.attempt.FailureKind;
import io.kvasir.execution.dialect.EngineRequest;
import io.kvasir.execution.dialect.JsonMembers;
import io.kvasir.execution.dialect.PrefillResult;
import io.kvasir.routing.FailurePolicy;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.RoutingPlan;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Random events in random order, from seeds: whatever happens, every reservation is closed exactly once, the client
 * gets exactly one result, nothing starts after it, and the workflow ends. A failure names its seed.
 */
final class WorkflowRandomEventsTest {
  private static final int WORKFLOWS = 5_000;

  @Test
  void everyReservationIsClosedOnceAndThereIsOneResult() {
    for (int seed = 0; seed < WORKFLOWS; seed++) {
      try {
        new Run(seed).toItsEnd();
      } catch (AssertionError | RuntimeException e) {
        throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
      }
    }
  }

  /** One workflow and the events that may happen next. */
  private static final class Run {
    private final Random random;
    private final WorkflowFixture workflow;
    private final List<Runnable> possible = new ArrayList<>();
    private int workers;
    private int seen;

    Run(int seed) {
      random = new Random(seed);
      Dialect dialect = any(Dialect.values());
      Duration hedge = random.nextBoolean() ? Duration.ofSeconds(1) : null;
      String body = random.nextInt(8) == 0 ? "no JSON" : "{\"prompt\":\"a\"}";
      workflow = new WorkflowFixture(
          dialect, retries(1 + random.nextInt(5), random.nextInt(3)), hedge, random.nextInt(5) > 0, body);
      for (String step : List.of(RoutingPlan.ENCODE, RoutingPlan.PREFILL, RoutingPlan.DECODE, RoutingPlan.WHOLE)) {
        workflow.policies.put(step, any(FailurePolicy.values()));
        if (random.nextInt(4) == 0) {
          workflow.deadlines.put(step, Duration.ofSeconds(1));
        }
      }
    }

    void toItsEnd() {
      if (random.nextInt(4) == 0) {
        workflow.on(new WorkflowEvent.RetryStarted(Duration.ofMillis(random.nextInt(2))));
      } else {
        workflow.start(plan());
      }
      if (random.nextInt(6) == 0) {
        WorkflowEvent end = any(
            new WorkflowEvent.CancelRequested(), new WorkflowEvent.DeadlineExceeded(),
            new WorkflowEvent.NodeStopped(), new WorkflowEvent.InternalFailure(new IllegalStateException("broken")));
        possible.add(() -> workflow.on(end));
      }
      collect();
      for (int events = 0; !possible.isEmpty(); events++) {
        assertThat(events).as("events of one workflow").isLessThan(1000);
        possible.remove(random.nextInt(possible.size())).run();
        collect();
      }
      workflow.assertDone();
    }

    /** The events that the latest effects may lead to. */
    private void collect() {
      List<WorkflowEffect> fresh = workflow.history.subList(seen, workflow.history.size());
      seen = workflow.history.size();
      for (WorkflowEffect effect : fresh) {
        switch (effect) {
          case WorkflowEffect.Decide decide -> possible.add(() -> decide(decide));
          case WorkflowEffect.Preprocess preprocess -> possible.add(() -> preprocess(preprocess));
          case WorkflowEffect.FetchBootstrap _ -> possible.add(() -> workflow.on(
              random.nextBoolean()
                  ? new WorkflowEvent.BootstrapReceived(JsonMembers.empty())
                  : new WorkflowEvent.BootstrapFailed(AttemptResult.Failed.of(FailureKind.BOOTSTRAP, "silent", true))));
          case WorkflowEffect.Schedule(Duration _, WorkflowEvent event) -> possible.add(() -> workflow.on(event));
          case WorkflowEffect.StartStep start -> {
            for (int request = 0; request < start.work().requests(); request++) {
              int number = request;
              possible.add(() -> end(start, number));
            }
          }
          default -> { }
        }
      }
    }

    private void decide(WorkflowEffect.Decide decide) {
      if (random.nextInt(4) == 0) {
        workflow.on(new WorkflowEvent.DecisionReceived(
            decide.query(), new Decision.NoWorker(Decision.NoWorkerReason.NONE_HEALTHY, "none"), 1, null));
        return;
      }
      String[] steps = switch (decide.query()) {
        case DecisionQuery.SingleStep(String name) -> new String[] {name + "@" + worker()};
        case DecisionQuery.DecodeOnly _, DecisionQuery.LastResort _ -> new String[] {"decode@" + worker()};
        case DecisionQuery.FullPlan _, DecisionQuery.Hedge _ -> plan();
      };
      workflow.decided(decide, workflow.planned(steps));
    }

    private void preprocess(WorkflowEffect.Preprocess preprocess) {
      List<EngineRequest> messages = new ArrayList<>();
      if (preprocess.plan().content().current() != null) {
        for (int left = random.nextInt(3); left > 0; left--) {
          messages.add(new EngineRequest("/", new byte[0], Map.of()));
        }
      }
      workflow.on(new WorkflowEvent.PreprocessingReady(
          preprocess.step(), preprocess.plan().content().current(), messages));
    }

    private void end(WorkflowEffect.StartStep start, int request) {
      StepRun run = workflow.state.steps().run(start.run().id());
      boolean aborted = run != null && run.stopped();
      AttemptResult result = switch (random.nextInt(aborted ? 7 : 6)) {
        case 0 -> FAILED;
        case 1 -> NOT_RETRYABLE;
        case 2 -> buffered(400);
        case 3 -> streaming();
        case 4, 5 -> buffered(200);
        default -> ABORTED;
      };
      boolean awaited = start.work() instanceof StepWork.Prefill && !start.plan().dialect().concurrent();
      PrefillResult handed = !awaited ? null : switch (random.nextInt(4)) {
        case 0 -> new PrefillResult.NoBlocks("kept nothing");
        case 1 -> new PrefillResult.FinalAnswer(new byte[0], true);
        default -> new PrefillResult.KvBlocks(JsonMembers.empty());
      };
      workflow.ended(start.run(), request, result, handed);
    }

    private String[] plan() {
      return switch (random.nextInt(4)) {
        case 0 -> new String[] {"whole@" + worker()};
        case 1 -> new String[] {"encode@" + worker(), "prefill@" + worker(), "decode@" + worker()};
        default -> new String[] {"prefill@" + worker(), "decode@" + worker()};
      };
    }

    private String worker() {
      return "w" + workers++;
    }

    @SafeVarargs
    private <T> T any(T... values) {
      return values[random.nextInt(values.length)];
    }
  }
}
